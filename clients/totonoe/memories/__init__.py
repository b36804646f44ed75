"""Memories: saving, finding, reading, changing, linking and forgetting them."""
