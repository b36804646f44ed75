"""Reads Japanese: `read.read` is the way in."""
