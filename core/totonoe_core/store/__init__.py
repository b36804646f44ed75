"""Files: the only room that opens, syncs or renames. See DESIGN.md of the package."""
