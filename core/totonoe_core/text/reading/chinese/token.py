"""One word of a Chinese text, and what it is to the grammar by itself."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache, partial

from totonoe_core.text.reading.chinese.grammar import (
    GRAMMAR,
    PRONOUNS,
    QUANTIFIERS,
    QUESTIONS,
    Kind,
)
from totonoe_core.text.reading.chinese.words import is_listed
from totonoe_core.text.reading.model import PieceType

_BREAKS = frozenset("，。！？；：,.!?;:\n\r…—~～|【】[]{}<>()（）")

_REPEATED = re.compile(r"(.)[一了]?\1")
"""试试, 试一试: no more than 试."""

_RESULTS = "懂清见完好到掉开起动住成上下了着得"

_KINDS = {
    "v": Kind.VERB, "l": Kind.VERB, "i": Kind.VERB,
    "a": Kind.ADJECTIVE, "z": Kind.ADJECTIVE, "an": Kind.NOUN, "zg": Kind.NOUN,
    "d": Kind.ADVERB, "t": Kind.TIME, "p": Kind.PERSON,
}  # fmt: skip
"""Kinds by the class of a word, or the first letter of that."""


@dataclass(slots=True)
class Token:
    """One word of the text, with what grammar makes of it."""

    start: int
    end: int
    word: str
    """In simplified script, half width, lower case."""
    kind: Kind
    value: str = ""
    """Detail of the kind: the preposition, the modality, the question word's representative."""
    type: PieceType = PieceType.WORD
    negated: bool = False
    modality: str = ""
    tense: str = ""
    role: str = ""
    head: Token | None = None
    asks: bool = False
    key: str = ""
    """The word, or the one that stands for its synonyms; set by the reader."""
    in_row: bool = False
    """和 or 、 joins it to the next noun, which has the same part."""


@lru_cache(maxsize=65_536)
def token_of(word: str, tag: str) -> partial[Token]:
    """Return what makes the token of a word from its start and end, before it has a place."""
    if word in QUESTIONS:
        return partial(Token, word=QUESTIONS[word], kind=Kind.ASK, asks=True)
    if word in PRONOUNS:
        kind = Kind.DETERMINER if word[0] in "这那此该" else Kind.PERSON
        return partial(Token, word=PRONOUNS[word], kind=kind)
    if word in QUANTIFIERS:
        kind = Kind.ADVERB if tag[:1] == "d" else Kind.DETERMINER
        return partial(Token, word=QUANTIFIERS[word], kind=kind, type=PieceType.QUANTIFIER)
    if word in GRAMMAR:
        kind, value = GRAMMAR[word]
        return partial(Token, word=word, kind=kind, value=value)
    if word in _BREAKS or (len(word) == 1 and unicodedata.category(word)[0] in "PSC"):
        return partial(Token, word=word, kind=Kind.QUESTION if word in "?？" else Kind.BREAK)
    if tag[:1] == "v" and _REPEATED.fullmatch(word):
        return partial(Token, word=word[0], kind=Kind.VERB)
    if len(word) == 3 and word[1] in "不得" and word[2] in _RESULTS:
        # 打不开, 打得开: what can be done or not.
        verb = partial(Token, word=word[0] + word[2], kind=Kind.VERB, modality="can")
        return partial(verb, negated=word[1] == "不")
    return _content(word, tag)


def _content(word: str, tag: str) -> partial[Token]:
    kind = _KINDS.get(tag) or _KINDS.get(tag[:1], Kind.NOUN)
    name = False
    if word.isascii():
        kind, name = Kind.NOUN, not is_listed(word)
    elif len(word) > 1 and tag.startswith("nr"):
        kind, name = Kind.PERSON, True
    elif len(word) > 1 and tag[:2] in ("ns", "nt", "nz"):
        name = not is_listed(word)
    return partial(Token, word=word, kind=kind, type=PieceType.NAME if name else PieceType.WORD)
