"""Tidying: turns, runs and plans."""
