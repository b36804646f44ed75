"""Rows of collections in tables of SQL, the same for every store that has such tables."""
