"""Following the changes of a collection."""
