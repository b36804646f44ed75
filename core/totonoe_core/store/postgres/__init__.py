"""The store on PostgreSQL: many daemons over one database."""
