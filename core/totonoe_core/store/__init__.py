"""Files: the only package that opens, syncs and renames. See DESIGN.md of `totonoe_core`."""
