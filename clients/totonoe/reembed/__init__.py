"""Giving a collection the vectors of another model."""
