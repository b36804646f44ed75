"""Recall: vector search, word search, relevance, diversity. Pure over the index."""
