"""Shared ground of every package: errors, limits, clock, ids, plain data as JSON, locks, turns."""
