"""The set of collections: names, open ones, snapshots and restorations."""
