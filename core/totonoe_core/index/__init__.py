"""In-memory data of a collection: columnar, derived from the file, rebuilt at any time."""
