"""Reads English: `read.read` is the way in."""
