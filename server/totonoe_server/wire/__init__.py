"""Translate between the contract's messages and the core's dataclasses."""
