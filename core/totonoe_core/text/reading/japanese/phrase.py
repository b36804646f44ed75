"""A phrase of a Japanese text, as grammar sees it."""

from __future__ import annotations

from typing import Final

from totonoe_core.text.reading.japanese.grammar import AROUND, TIMES
from totonoe_core.text.reading.japanese.words import Word
from totonoe_core.text.reading.model import FunctionKind, FunctionWord, PieceType

THING: Final = "thing"
PREDICATE: Final = "predicate"
MANNER: Final = "manner"

COUNTS: Final = frozenset((PieceType.QUANTITY, PieceType.NUMBER))
"""Figures that may count what stands beside them."""


class Phrase:
    """A thing with its case, or a predicate with what its tail says.

    Attributes
    ----------
    words : list of Word
        The compound; the last is what the phrase is about.
    sort : str
        `THING`, `PREDICATE` or `MANNER`.
    case : str
        Case particle of a thing ("が", "に", "の", "" for none).
    topic : bool
        Marked by は or も.
    link : str
        How a predicate goes on: "" (ends a sentence), rel (before a noun), te, if, because, but,
        quote, noun (made a noun).
    aspects : tuple of FunctionWord
        How a predicate goes on: ている, てしまう.
    until : int
        Offset behind its function words; 0 if it has none.
    owned : bool
        Of something, which is more than this: 箱の色.
    """

    # Most stay as they are: defaults of the class cost nothing to set.
    case = link = modality = role = ""
    until = 0
    topic = negated = passive = past = asks = orders = be = owned = False
    aspects: tuple[FunctionWord, ...] = ()
    limit: Word | None = None
    head: Phrase | None = None

    def __init__(self, words: list[Word], sort: str) -> None:
        self.words = words
        self.sort = sort
        self.args: list[Phrase] = []


def aspect(word: Word, key: str) -> FunctionWord:
    """Return the aspect that a word says: 使用中 has the ている of 使っている."""
    return FunctionWord(word.start, word.end, key, FunctionKind.RELATION)


def is_time(phrase: Phrase) -> bool:
    """Whether the phrase says when."""
    word = phrase.words[-1]
    if word.value is not None:
        return word.value.type in (PieceType.DATE, PieceType.TIME)
    return word.normal in TIMES or word.key in AROUND
