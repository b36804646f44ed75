"""Recall: two arms, fusion, diversity. Pure over the index."""
