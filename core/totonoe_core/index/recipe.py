"""Version number of the code that turns a text into tokens, terms and hashes.

A checkpoint holds all three and names its recipe. A checkpoint of another recipe is not loaded: the
rows are read instead.
"""

from __future__ import annotations

import unicodedata

RECIPE = 8
"""Raise by one whenever any text may now give other tokens, terms or hashes."""
SOURCES_FINGERPRINT = "d9db37c89537904f"
"""blake2b of the syntax trees that make them (`tests/house/test_recipe.py`). Comments, docstrings
and the names of imported modules do not count."""


def made_by() -> str:
    """Return the recipe and the version of the character tables, as a checkpoint names them."""
    return f"recipe {RECIPE} unicode {unicodedata.unidata_version}"
