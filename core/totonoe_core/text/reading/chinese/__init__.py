"""Reads Chinese: `read.read` is the way in."""
