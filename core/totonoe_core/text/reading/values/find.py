"""Values in a text: figures, quantities, dates, times, versions, made names, quotations.

Equal meaning gives an equal key, whatever the notation; where two readings of a notation are
possible (03/04/2026), the key keeps the notation, so that nothing is made equal by a guess.
Every expression is bounded and what was read is skipped: the time is linear in the length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values import cjk as cjk_values
from totonoe_core.text.reading.values import spaced as spaced_values
from totonoe_core.text.reading.values.numbered import number_named

# 3.10 is not 3.1 where no unit says that it measures.
_LIKE_A_VERSION = re.compile(r"\d{1,4}\.\d{1,3}0")
_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_WIDTH |= {0x2212: 0x2D, 0xFFE5: 0xA5, 0x2010: 0x2D, 0x2011: 0x2D}
# These mean something else in full width: 〜 ranges are read as they are.
_CJK = frozenset(("ja", "zh", "ko"))


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text: code point offsets, its type (one of `model.VALUES`), its key."""

    start: int
    end: int
    type: PieceType
    key: str


def find_values(text: str, language: str) -> tuple[Value, ...]:
    """Values of a text.

    Parameters
    ----------
    text : str
        Any text.
    language : str
        ISO 639-1 code; "" for what needs no language (figures, ISO dates, made names).

    Returns
    -------
    tuple of Value
        Ascending, not overlapping. Offsets are those of `text`.
    """
    plain = text if text.isascii() else text.translate(_WIDTH)
    scan = cjk_values.scan if language in _CJK else spaced_values.scan
    return tuple(_named(plain, Value(*found)) for found in scan(plain, language))


def _named(text: str, value: Value) -> Value:
    """Return a number that names a thing as an identifier; any other value as it is."""
    if value.type is not PieceType.NUMBER:
        return value
    key = number_named(text, value.start, value.end, value.key)
    if key is None and _LIKE_A_VERSION.fullmatch(text, value.start, value.end):
        return Value(value.start, value.end, PieceType.NUMBER, text[value.start : value.end])
    return value if key is None else Value(value.start, value.end, PieceType.IDENTIFIER, key)
