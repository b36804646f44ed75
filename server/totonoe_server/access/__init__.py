"""Decide on each call: its identity, its grants, its limits. Tokens and certificates."""
