"""Marks with a meaning of their own: operators, emoji, signs of code.

A reader drops everything that is neither word nor value. Most of that is format, but `==` is not
`!=`, ★★ is not ★★★★, and ☑ milk ☐ bread is not ☐ milk ☑ bread.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from totonoe_core.text.reading.model import VALUES, Piece, Span

# Operators, alone or in a row. `!` only as a negation, `#` only after a letter, `*` only between
# words, a quotation mark only by itself. Not `-`, `/`, `|` and `&`, which also separate words.
_OPERATORS = re.compile(
    r"[+=<>^\\≤≥≠¬±×÷√²³⁰¹⁴-⁹←-↓∧∨❌🚫⛔]|!(?=[\w(=*])|(?<=[A-Za-z])#|(?<=\w)\*(?=\w)"
    r"|&&|\|\||~~|(?<!\S)[\"'`](?!\w)"
)
_ARROWS = str.maketrans("→←", "><")
# What joins two words, by itself: one text may leave it out, but not exchange it.
_JOINTS = re.compile(r"(?<=\s)[-–/|&](?=\s)")
_REACH = 2
_WORDS_BESIDE = re.compile(r"\S{0,20}\s?\S{0,20}")
_MODIFIERS = re.compile("[\ufe00-\ufe0f\u200d\U0001f3fb-\U0001f3ff]")


def marks(text: str, pieces: Iterable[Piece]) -> tuple[str, str, str]:
    """Return operators, joints and symbols outside of values, each in their order.

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
    inside = "".join(kept[max(0, begin - _REACH) : end + _REACH])
    operators = "".join(_OPERATORS.findall(inside)).translate(_ARROWS)
    joints = "".join(_JOINTS.findall(inside))
    if text.isascii():
        return operators, joints, ""
    rest = _MODIFIERS.sub("", "".join(kept))
    if not any(map(_is_symbol, rest)):
        return operators, joints, ""
    # With the operators between them: ○ tea × milk.
    symbols = "".join(mark for mark in rest if _is_symbol(mark) or _OPERATORS.fullmatch(mark))
    return operators, joints, symbols


def places(text: str, pieces: Sequence[Piece]) -> tuple[int, ...]:
    """Return for each symbol or operator that stands alone the number of pieces before it."""
    if text.isascii():
        return ()
    ends = [piece.end for piece in pieces]
    return tuple(
        bisect_right(ends, at)
        for at, mark in enumerate(text)
        if _is_symbol(mark) or _OPERATORS.fullmatch(mark)
    )


def first_difference(own: str, other: str) -> tuple[Span, Span] | None:
    """Return the spans of the first marks that differ, with the words around; `None` if none do.

    The span is (0, 0) in a text that has no mark there.
    """
    here, there = _marks_of(own), _marks_of(other)
    while here and there and own[here[0]] == other[there[0]]:
        del here[0], there[0]
    while here and there and own[here[-1]] == other[there[-1]]:
        del here[-1], there[-1]
    if not here and not there:
        return None
    return _around(own, here), _around(other, there)


def _marks_of(text: str) -> list[int]:
    operators = {match.start() for match in _OPERATORS.finditer(text)}
    return sorted(operators | {at for at, mark in enumerate(text) if _is_symbol(mark)})


def _around(text: str, places: Sequence[int]) -> Span:
    if not places:
        return 0, 0
    before, behind = text[: places[0]], text[places[0] :]
    left, right = (next(_WORDS_BESIDE.finditer(side)).end() for side in (before[::-1], behind))
    return places[0] - left, places[0] + right


def _is_symbol(mark: str) -> bool:
    return unicodedata.category(mark) == "So"


def same_marks(own: tuple[str, str, str], other: tuple[str, str, str]) -> bool:
    """Return whether the marks of two texts agree.

    An operator that only one text has is a difference; an emoji that only one has is decoration,
    and a joint may be a comma or a word in the other.
    """
    (own_operators, *own_rest), (other_operators, *other_rest) = own, other
    if own_operators != other_operators:
        return False
    return all(
        not (here and there) or here == there
        for here, there in zip(own_rest, other_rest, strict=True)
    )
