"""The past of a collection: versions, operations, undo, purge."""
