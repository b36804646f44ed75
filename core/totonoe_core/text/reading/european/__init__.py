"""Reads German, French, Spanish, Portuguese, Italian and Russian: `read.read` is the way in."""
