"""Marks with a meaning of their own: operators, emoji, signs of code.

A reader drops everything that is neither word nor value. Most of that is format, but `==` is not
`!=`, ★★ is not ★★★★, and ☑ milk ☐ bread is not ☐ milk ☑ bread.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from totonoe_core.text.reading.model import VALUES, Piece

# Operators, alone or in a row. `!` only as a negation, `#` only after a letter, `*` only between
# words. Not `-`, `/` and `|`, which also separate words, nor `&` and `~`, which stand for words.
_OPERATORS = re.compile(r"[+=<>^\\≤≥≠¬±×÷²³⁰¹⁴-⁹]|!(?=[\w(=*])|(?<=[A-Za-z])#|(?<=\w)\*(?=\w)")
_REACH = 2
_MODIFIERS = re.compile("[\ufe00-\ufe0f\u200d\U0001f3fb-\U0001f3ff]")


def marks(text: str, pieces: Iterable[Piece]) -> tuple[str, str]:
    """Return operators and symbols outside of values, each in their order.

    Parameters
    ----------
    pieces : iterable of Piece
        Of the text: marks inside a value are compared with the value.
    """
    kept = list(text)
    begin, end = len(text), 0
    for piece in pieces:
        begin, end = min(begin, piece.start), max(end, piece.end)
        if piece.type in VALUES:
            kept[piece.start : piece.end] = " " * (piece.end - piece.start)
    # An operator before or after all pieces frames the text: a list mark, a tag, a heading.
    operators = "".join(_OPERATORS.findall("".join(kept[max(0, begin - _REACH) : end + _REACH])))
    if text.isascii():
        return operators, ""
    rest = "".join(kept)
    symbols = "".join(
        mark for mark in _MODIFIERS.sub("", rest) if unicodedata.category(mark) == "So"
    )
    return operators, symbols


def same_marks(own: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether the marks of two texts agree.

    An operator that only one text has is a difference; an emoji that only one has is decoration.
    """
    (own_operators, own_symbols), (other_operators, other_symbols) = own, other
    if own_operators != other_operators:
        return False
    return not (own_symbols and other_symbols) or own_symbols == other_symbols
