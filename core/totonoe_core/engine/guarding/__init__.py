"""The guard on a collection: its comparisons, and the consequences of its report."""
