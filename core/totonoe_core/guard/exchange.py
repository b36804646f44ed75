"""Two words that changed places: "tabs over spaces" and "spaces over tabs" say two things.

Seen in the words alone, so in any language. Of 906 such pairs among labelled notes, 902 say
different things. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from totonoe_core.text.reading.model import Span
from totonoe_core.text.reading.read import READ_CHARS_MAX

Exchange = tuple[tuple[Span, Span], tuple[Span, Span]]
# Scripts without spaces: each character by itself.
_TOKENS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_WORDS_MAX, _CHARACTERS_MAX = 2, 4
"""Length of what changes places. Longer stretches are clauses, which may stand in any order."""


def exchanged(own: str, other: str) -> Exchange | None:
    """Return the two places of short stretches in which alone two texts differ, else `None`.

    Each place is a span of the own text and one of the other: what stands first in one of them
    stands last in the other. `None` for texts of more than `READ_CHARS_MAX` characters.
    """
    if max(len(own), len(other)) > READ_CHARS_MAX:
        return None
    # Most pairs end here.
    here, there = _TOKENS.findall(own), _TOKENS.findall(other)
    if len(here) != len(there):
        return None
    here, there = [word.casefold() for word in here], [word.casefold() for word in there]
    if here == there or sorted(here) != sorted(there):
        return None
    first, last = 0, len(here)
    while here[first] == there[first]:
        first += 1
    while here[last - 1] == there[last - 1]:
        last -= 1
    longest = _CHARACTERS_MAX if _UNSPACED.search(own) else _WORDS_MAX
    sizes = _swapped(here[first:last], there[first:last], longest)
    if sizes is None:
        return None
    begin, end = sizes
    return (
        (_span(own, first, begin), _span(other, first, end)),
        (_span(own, last - end, end), _span(other, last - begin, begin)),
    )


def _span(text: str, first: int, size: int) -> Span:
    """Return the span of some tokens of a text, by the number of the first."""
    found = list(islice(_TOKENS.finditer(text), first, first + size))
    return found[0].start(), found[-1].end()


def _swapped(here: Sequence[str], there: Sequence[str], longest: int) -> tuple[int, int] | None:
    """Return the sizes of a beginning and an end whose exchange makes one of the other."""
    size = len(here)
    return next(
        (
            (begin, end)
            for begin in range(1, longest + 1)
            for end in range(1, longest + 1)
            if begin + end < size
            and here[:begin] == there[size - begin :]
            and here[size - end :] == there[:end]
            and here[begin : size - end] == there[end : size - begin]
        ),
        None,
    )
