"""Reads of a collection: recall, history, watch, audit, neighbors, the past."""
