"""A folder of Markdown files that follows a collection (001, "Workspace Sync")."""
