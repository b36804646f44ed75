"""Exports and imports of whole collections."""
