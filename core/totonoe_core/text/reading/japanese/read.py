"""Reader of Japanese: words, phrases, their parts, and the pieces that come of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache

from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.japanese.function_words import function_words
from totonoe_core.text.reading.japanese.parts import assign
from totonoe_core.text.reading.japanese.phrase import Phrase
from totonoe_core.text.reading.japanese.phrases import phrases
from totonoe_core.text.reading.japanese.words import Tag, Word, words
from totonoe_core.text.reading.model import Piece, PieceType, Reading, Role

_LIGHT = 0.3


def read(text: str) -> Reading:
    """Pieces of a Japanese text.

    Pure and deterministic, linear in the length of the text.
    """
    found, left = phrases(_asides_last(words(text)))
    found = assign(found)
    names = _head_names(found)
    pieces: list[Piece] = []
    for phrase in found:
        _emit(phrase, names, pieces)
    pieces.sort(key=_start)
    return Reading(
        "ja",
        tuple(pieces),
        asks=any(phrase.asks for phrase in found),
        orders=any(phrase.orders for phrase in found),
        certain=bool(pieces),
        function_words=function_words(found, left),
    )


def _asides_last(words: list[Word]) -> list[Word]:
    """Return the words, those in brackets behind all others: what stands around is one sentence."""
    outside: list[Word] = []
    inside: list[Word] = []
    depth = 0
    for word in words:
        if word.surface in ("）", ")"):
            depth = max(depth - 1, 0)
            continue
        depth += word.surface in ("（", "(")
        (inside if depth else outside).append(word)
    return outside + inside


def _start(piece: Piece) -> int:
    return piece.start


def _head_names(phrases: list[Phrase]) -> dict[int, str]:
    """Return what heads are called, by identity: by key, and by number if the key stands twice.

    赤い車が白い車を追う has two cars, and red belongs to the one that follows.
    """
    names: dict[int, str] = {}
    seen: Counter[str] = Counter()
    for phrase in phrases:
        key = phrase.words[-1].key
        seen[key] += 1
        names[id(phrase)] = key if seen[key] == 1 else f"{key}:{seen[key]}"
    return names


@lru_cache(maxsize=65_536)
def _relations(key: str) -> tuple[frozenset[str], frozenset[str], float]:
    lists = lexicon("ja")
    return lists.near(key), lists.opposites(key), _LIGHT if key in lists.light else 1.0


def _emit(phrase: Phrase, names: dict[int, str], pieces: list[Piece]) -> None:
    # A light verb that was dropped is nobody's head any more.
    head = names.get(id(phrase.head), "")
    own = names[id(phrase)]
    *parts, last = phrase.words
    for part, of in zip(parts, phrase.words[1:], strict=True):
        _piece(part, Role.MODIFIER, own if of is last else of.key, pieces)
    tense = "past" if phrase.past and phrase.link != "rel" else ""
    role = phrase.role
    if role == Role.MODIFIER and phrase.head is not None and len(phrase.head.words) > 1:
        head = phrase.head.words[0].key  # 師匠の兄弟弟子 is no 兄弟の師匠弟子
    _piece(
        last,
        role,
        "" if role == Role.PREDICATE else head,
        pieces,
        phrase.negated,
        phrase.modality,
        tense,
    )
    if phrase.owned and not parts:
        pieces[-1] = replace(pieces[-1], weight=1.0)
    if (limit := phrase.limit) is not None:
        only = Piece(limit.start, limit.end, "だけ", PieceType.QUANTIFIER, Role.MODIFIER, own)
        pieces.append(only)


def _piece(
    word: Word,
    role: str,
    head: str,
    pieces: list[Piece],
    negated: bool = False,
    modality: str = "",
    tense: str = "",
) -> None:
    kind = PieceType.WORD
    near, opposites, weight = _relations(word.key)
    if word.value is not None:
        kind = word.value.type
        near, opposites, weight = frozenset(), frozenset(), 1.0
    elif word.tag == Tag.NAME:
        kind = PieceType.NAME
        near = opposites = frozenset()
    elif word.tag == Tag.QUANTIFIER:
        kind = PieceType.QUANTIFIER
    pieces.append(
        Piece(
            word.start, word.end, word.key, kind, role, head, negated, modality, tense,
            near, opposites, weight,
        )
    )  # fmt: skip
