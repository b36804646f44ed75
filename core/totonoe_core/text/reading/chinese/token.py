"""One word of a Chinese text, and what it is to the grammar by itself."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.chinese.grammar import (
    ADVERBS,
    GRAMMAR,
    HOW_OFTEN,
    LISTS,
    PERSONS,
    PRONOUNS,
    QUANTIFIERS,
    QUESTIONS,
    Kind,
    words,
)
from totonoe_core.text.reading.chinese.words import is_listed, known
from totonoe_core.text.reading.model import PieceType

_BREAKS = frozenset("，。！？；：,.!?;:\n\r…—~～|【】[]{}<>()（）")

_A_NOT_A = re.compile(r"([一-鿿]{1,2})(?:不|没)\1")

_ADJECTIVES = LISTS.words("adjectives")

_RESULTS = "懂清见完好到掉开起动住成上下了着得"

_NOUNS = LISTS.words("nouns")

ABOUT = words("近 约 左右 上下 大概")

VERBS = LISTS.words("verbs")


@dataclass(slots=True)
class Token:
    """One word of the text, with what grammar makes of it."""

    start: int
    end: int
    word: str
    """In simplified script, half width, lower case."""
    kind: Kind
    value: str = ""
    """What the kind needs: the preposition, the modality, the question word's representative."""
    type: PieceType = PieceType.WORD
    tag: str = ""
    """The segmenter's word class."""
    light: bool = False
    existential: bool = True
    """有 without an owner: there is."""
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


def make_token(start: int, end: int, word: str, tag: str) -> Token:
    """A token by the word alone; what depends on the place is `settled`'s."""
    one = _alone(word.lower(), tag)
    return Token(
        start, end, one.word, one.kind, one.value, one.type, one.tag,
        negated=one.negated, modality=one.modality, asks=one.asks,
    )  # fmt: skip


@lru_cache(maxsize=65_536)
def _alone(low: str, tag: str) -> Token:
    """Return the token of a word as it stands in no text."""
    start = end = 0
    if low in QUESTIONS:
        return Token(start, end, QUESTIONS[low], Kind.ASK, asks=True, tag="r")
    if low in PRONOUNS:
        kind = Kind.DETERMINER if low[0] in "这那此该" else Kind.PERSON
        return Token(start, end, PRONOUNS[low], kind)
    if low in ABOUT:
        return Token(start, end, low, Kind.ADJECTIVE)
    if low in QUANTIFIERS:
        adverb = tag[:1] == "d" or QUANTIFIERS[low] in HOW_OFTEN
        kind = Kind.ADVERB if adverb else Kind.DETERMINER
        return Token(start, end, QUANTIFIERS[low], kind, type=PieceType.QUANTIFIER)
    if low in GRAMMAR:
        kind, value = GRAMMAR[low]
        if value == "remember":
            # "Do not forget to" is "remember to".
            return Token(start, end, "记得", kind)
        return Token(start, end, low, kind, value)
    if low in _BREAKS or (len(low) == 1 and unicodedata.category(low)[0] in "PSC"):
        question = Kind.QUESTION if low in "?？" else Kind.BREAK
        return Token(start, end, low, question if low in "?？" else Kind.BREAK)
    if tag[:1] == "v" and (
        (len(low) == 2 and low[0] == low[1])
        or (len(low) == 3 and low[0] == low[2] and low[1] in "一了")
    ):
        return Token(start, end, low[0], Kind.VERB, tag="v")  # 试试, 试一试: no more than 试
    matched = _A_NOT_A.fullmatch(low)
    if matched:
        return Token(start, end, matched.group(1), Kind.VERB, asks=True)
    if (
        len(low) == 3
        and low[1] in "不得"
        and tag[:1] in "vldi"
        and (low[2] in _RESULTS or known(low[0] + low[2]))
    ):
        # 打不开, 打得开: what can be done or not.
        verb = Token(start, end, low[0] + low[2], Kind.VERB, tag="v", modality="can")
        verb.negated = low[1] == "不"
        return verb
    return _content(start, end, low, tag)


def _content(start: int, end: int, word: str, tag: str) -> Token:
    first = tag[:1]
    if word.isascii():
        known = is_listed(word)
        return Token(start, end, word, Kind.NOUN, type=PieceType.WORD if known else PieceType.NAME)
    if tag.startswith("nr") and len(word) > 1:
        return Token(start, end, word, Kind.PERSON, type=PieceType.NAME)
    if tag[:2] in ("ns", "nt", "nz") and len(word) > 1 and not is_listed(word):
        return Token(start, end, word, Kind.NOUN, type=PieceType.NAME)
    kind = Kind.NOUN
    if (first == "v" and tag != "vn") or tag == "vn":
        kind = Kind.VERB
    elif first in ("a", "z") and tag not in ("an", "zg"):
        kind = Kind.ADJECTIVE
    elif first == "d":
        kind = Kind.ADVERB
    elif first == "t":
        kind = Kind.TIME
    elif first in ("l", "i") and len(word) > 2:
        kind = Kind.VERB
    if first == "p" or word in PERSONS or lexicon("zh").key(word) in PERSONS:
        kind = Kind.PERSON
    if kind is not Kind.ADJECTIVE and word in _ADJECTIVES:
        kind = Kind.ADJECTIVE
    if word in _NOUNS:
        kind = Kind.NOUN
    if word in ADVERBS:
        kind = Kind.ADVERB
    if word in VERBS:
        kind = Kind.VERB
    return Token(start, end, word, kind, tag=tag)
