"""Reader of Japanese: words, phrases, their parts, and the pieces that come of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache

from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.japanese.function_words import function_words
from totonoe_core.text.reading.japanese.grammar import ONE
from totonoe_core.text.reading.japanese.parts import assign
from totonoe_core.text.reading.japanese.phrase import PREDICATE, Phrase
from totonoe_core.text.reading.japanese.phrases import phrases
from totonoe_core.text.reading.japanese.words import Tag, Word, words
from totonoe_core.text.reading.model import FunctionWord, Piece, PieceType, Reading, Role

_LIGHT = 0.3
_WEEKDAYS = frozenset("月火水木金土日")
_ASIDE_MAX = 60
"""Words between brackets; with more it is no aside but a text."""


def read(text: str) -> Reading:
    """Pieces of a Japanese text.

    Pure and deterministic, linear in the length of the text.
    """
    left: list[FunctionWord] = []
    found = _phrases(words(text), left)
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


def _phrases(found: list[Word], left: list[FunctionWord]) -> list[Phrase]:
    """Phrases with their parts; what stands in brackets belongs to the phrase before it.

    Function words that no phrase holds go to `left`.
    """

    def assigned(of: list[Word]) -> list[Phrase]:
        rows, more = phrases(of)
        left.extend(more)
        return assign(rows)

    if not any(word.tag == Tag.BRACKET for word in found):
        return assigned(found)
    outside: list[Word] = []
    asides: list[tuple[Word, list[Word]]] = []
    at = 0
    while at < len(found):
        word = found[at]
        if word.surface in ("（", "(") and outside:
            end = at + 1
            last = min(len(found), end + _ASIDE_MAX)
            while end < last and found[end].surface not in ("）", ")"):
                end += 1
            if end < last:
                asides.append((outside[-1], found[at + 1 : end]))
                at = end + 1
                continue
        outside.append(word)
        at += 1
    result = assigned(outside)
    owners = {id(word): phrase for phrase in result for word in phrase.words}
    for before, inside in asides:
        owner = owners.get(id(before))
        weekday = len(inside) == 1 and inside[0].surface in _WEEKDAYS and before.value is not None
        for phrase in assigned(inside):
            phrase.light = weekday
            if phrase.head is None:
                phrase.role, phrase.head = Role.MODIFIER, owner
            result.append(phrase)
    return result


def _start(piece: Piece) -> int:
    return piece.start


def _head_names(found: list[Phrase]) -> dict[int, str]:
    """What heads are called, by identity: by key, with part and number if the key stands twice.

    赤い車が白い車を追う has two cars, and red belongs to the one that follows.
    """
    names = {id(phrase): phrase.words[-1].key for phrase in found}
    if len(set(names.values())) == len(found):
        return names
    counts = Counter(names.values())
    seen: Counter[str] = Counter()
    for phrase in found:
        name = names[id(phrase)]
        if counts[name] > 1:
            name = f"{name}:{phrase.role}"
            seen[name] += 1
            if seen[name] > 1:
                name = f"{name}:{seen[name]}"
            names[id(phrase)] = name
    return names


@lru_cache(maxsize=65_536)
def _relations(key: str) -> tuple[frozenset[str], frozenset[str], float]:
    lists = lexicon("ja")
    return lists.near(key), lists.opposites(key), _LIGHT if key in lists.light else 1.0


def _emit(phrase: Phrase, names: dict[int, str], pieces: list[Piece]) -> None:
    # A light verb that was dropped is nobody's head any more.
    head = names.get(id(phrase.head), "") if phrase.head is not None else ""
    own = names[id(phrase)]
    predicate = phrase.sort == PREDICATE
    *parts, last = phrase.words
    for part, of in zip(parts, phrase.words[1:], strict=True):
        object_ = predicate and not phrase.be
        role = Role.PATIENT if object_ else Role.MODIFIER
        _piece(part, role, own if of is last else of.key, pieces)
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
    if phrase.light and pieces[-1].weight > _LIGHT:
        pieces[-1] = replace(pieces[-1], weight=_LIGHT)
    elif phrase.owned and not parts and pieces[-1].weight == _LIGHT:
        pieces[-1] = replace(pieces[-1], weight=1.0)
    if phrase.aspect is not None:
        _piece(phrase.aspect, Role.ADVERB, own, pieces)
    if phrase.limit:
        start = last.end
        pieces.append(Piece(start, start, "だけ", PieceType.QUANTIFIER, Role.MODIFIER, own))


def _piece(
    word: Word,
    role: str,
    head: str,
    pieces: list[Piece],
    negated: bool = False,
    modality: str = "",
    tense: str = "",
) -> None:
    key = word.key
    kind, weight = PieceType.WORD, None
    if word.value is not None:
        kind = word.value.type
        if role in (Role.MODIFIER, Role.ADVERB) and _is_article(word):
            weight = _LIGHT
        near, opposites = frozenset[str](), frozenset[str]()
    else:
        if word.tag == Tag.NAME:
            kind = PieceType.NAME
        elif word.tag == Tag.QUANTIFIER:
            kind = PieceType.QUANTIFIER
        near, opposites, own = _relations(key)
        if word.tag == Tag.NAME:
            near = opposites = frozenset()
        weight = own
    pieces.append(
        Piece(
            word.start, word.end, key, kind, role, head, negated, modality, tense, near, opposites,
            1.0 if weight is None else weight,
        )
    )  # fmt: skip


def _is_article(word: Word) -> bool:
    surface = word.surface
    return len(surface) == 2 and surface[0] in "一1１" and surface[1] in ONE
