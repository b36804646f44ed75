"""Consolidation: links of co-recalled memories, and pairs to merge."""
