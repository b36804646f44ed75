"""Snapshots: creating, listing, deleting and restoring them."""
