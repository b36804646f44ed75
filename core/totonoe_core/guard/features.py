"""Features of a pair of texts, from which `probability` tells whether they say the same.

Three groups: the texts alone (words, characters, digits, lengths, the cosine), the alignment of
their readings (shares, leftovers, values, roles) and the named differences, counted by kind. A
feature that could not be computed is NaN: without readings the last two groups, without the
bundled model's vectors the cosine. Pure, and symmetric: swapping the texts changes nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, nan

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.records import Evidence, Finding
from totonoe_core.guard.alignment import Alignment, Pair, Tie
from totonoe_core.guard.differences import LIGHT_MAX
from totonoe_core.text.reading.model import VALUES, Piece, PieceType, Reading, Role
from totonoe_core.text.tokens import tokens

_CHARS_MAX = 2_000
"""Of a text, from its beginning: a longer one differs by more than its characters show."""
_PROFILES_KEPT = 4_096
_LANGUAGES = ("en", "ja", "zh")
_COUNTED = (
    *(Finding.NUMBER, Finding.QUANTITY, Finding.DATE, Finding.TIME, Finding.VERSION),
    *(Finding.IDENTIFIER, Finding.PATH, Finding.QUOTE, Finding.NAME, Finding.QUANTIFIER),
    *(Finding.POLARITY, Finding.OPPOSITE, Finding.ROLE, Finding.ORDER, Finding.MODALITY),
    *(Finding.TENSE, Finding.QUESTION, Finding.SYMBOL, Finding.SUBJECT, Finding.REPLACED),
    *(Finding.CONJUNCTION, Finding.FUNCTION_WORD),
)

_TEXT = (
    *("cosine", "set_aside", "length_ratio", "length_shorter", "en", "ja", "zh", "other"),
    *("words_jaccard", "words_contained", "words_covered", "words_only_fewer", "words_only_more"),
    *("bigrams_dice", "bigrams_contained", "trigrams_dice", "trigrams_contained"),
    *("digits_differ", "digits_one_sided", "digits_common", "denials_differ", "asks_differ"),
    *("capitals_differ", "same_start", "same_end"),
)
_READ = (
    *("certain", "asks", "orders", "marks", "shared", "shared_same", "near", "soft", "moved"),
    *("opposite", "other_value", "replaced", "rest_fewer", "rest_more", "rest_light"),
    *("rest_values_fewer", "rest_values_more", "rest_names_fewer", "rest_names_more"),
    *("rest_predicates", "rest_denied", "rest_quantifiers", "unexplained_fewer"),
    *("unexplained_more", "values_differ", "values_common", "names_differ", "denied_parity"),
    *("modality_differs", "tense_differs", "roles_agree", "heads_agree", "predicate_paired"),
    *("pieces_fewer", "pieces_ratio", "findings", "agree"),
)
NAMES: tuple[str, ...] = (*_TEXT, *_READ, *(f"finding_{kind.value}" for kind in _COUNTED))
"""Names of the features, in their order."""


@dataclass(frozen=True, slots=True)
class Readings:
    """Two readings and the findings of their comparison."""

    own: Reading
    other: Reading
    aligned: Alignment
    named: Sequence[Evidence]
    marks_agree: bool


def features(
    own: str, other: str, set_aside: float, cosine: float, language: str, readings: Readings | None
) -> NDArray[np.float64]:
    """Return the features of a pair.

    Parameters
    ----------
    own, other : str
        The texts without what was set aside as equal at their ends.
    set_aside : float
        Share of both whole texts that was set aside, 0..1.
    cosine : float
        Similarity of the vectors of the whole texts by the bundled model; NaN by any other.
    language : str
        The common language; empty if there is none.
    readings : Readings or None
        `None` if the texts were not read.

    Returns
    -------
    float64[n]
        In the order of `NAMES`.
    """
    profiles = _profile(own[:_CHARS_MAX]), _profile(other[:_CHARS_MAX])
    found = [*_of_texts(*profiles, set_aside, cosine, language)]
    if readings is None or not (readings.own.pieces and readings.other.pieces):
        found += [nan] * (len(NAMES) - len(found))
    else:
        found += _of_readings(own, other, readings)
        kinds = Counter(one.finding for one in readings.named)
        found += [float(kinds[kind]) for kind in _COUNTED]
    return np.array(found, np.float64)


# -- The texts alone


@dataclass(frozen=True, slots=True)
class _Profile:
    """What `features` needs of one text."""

    text: str
    words: frozenset[str]
    bigrams: frozenset[str]
    trigrams: frozenset[str]
    digits: Counter[str]
    denials: int
    capitals: frozenset[str]
    asks: bool


_DIGITS = re.compile(r"\d+(?:[.,:/-]\d+)*")
_CAPITALS = re.compile(r"[A-Z][A-Za-z]+|[A-Z]{2,}")
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|except|unless)\b|n[’']t\b"
    r"|ない|ません|なし|無し|ずに|せず|なく|禁止|不可|以外|不|没|沒|无|無|未|非|别|別に|勿|禁"
)
_APART = re.compile(r"[^\w]+")
_ASKS = re.compile(r"[?？]")


@lru_cache(maxsize=_PROFILES_KEPT)
def _profile(text: str) -> _Profile:
    folded = unicodedata.normalize("NFKC", text)
    lower = folded.lower()
    letters = _APART.sub("", lower)
    return _Profile(
        text=letters,
        words=frozenset(tokens(text)),
        bigrams=_grams(letters, 2),
        trigrams=_grams(letters, 3),
        digits=Counter(_DIGITS.findall(folded)),
        denials=len(_DENIAL.findall(lower)),
        capitals=frozenset(word.lower() for word in _CAPITALS.findall(folded)),
        asks=_ASKS.search(folded) is not None,
    )


def forget_cached() -> None:
    """Empty the caches, which hold words of texts. Called by Purge."""
    _profile.cache_clear()
    _surface_grams.cache_clear()


def _grams(text: str, size: int) -> frozenset[str]:
    return frozenset(text[at : at + size] for at in range(len(text) - size + 1)) or frozenset(
        (text,) if text else ()
    )


def _of_texts(
    own: _Profile, other: _Profile, set_aside: float, cosine: float, language: str
) -> Iterable[float]:
    """Yield the features of `_TEXT`."""
    fewer, more = sorted((len(own.text), len(other.text)))
    yield from (cosine, set_aside, fewer / more if more else nan, log(1.0 + fewer))
    yield from (float(language == one) for one in _LANGUAGES)
    yield float(language not in _LANGUAGES)
    common = len(own.words & other.words)
    words = sorted((len(own.words), len(other.words)))
    yield from (_share(common, sum(words) - common), *(_share(common, count) for count in words))
    yield from (float(min(count - common, 12)) for count in words)
    for here, there in ((own.bigrams, other.bigrams), (own.trigrams, other.trigrams)):
        both = len(here & there)
        yield _share(2 * both, len(here) + len(there))
        yield _share(both, min(len(here), len(there)))
    differing = (own.digits - other.digits).total(), (other.digits - own.digits).total()
    yield from (float(min(differing)), float(max(differing) - min(differing)))
    yield float((own.digits & other.digits).total())
    yield float(abs(own.denials - other.denials))
    yield float(own.asks != other.asks)
    yield float(len(own.capitals ^ other.capitals)) if own.capitals or other.capitals else nan
    yield _share(_equal(own.text, other.text), fewer)
    yield _share(_equal(own.text[::-1], other.text[::-1]), fewer)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else nan


def _equal(own: str, other: str) -> int:
    """Return the number of characters that both texts begin with."""
    count = 0
    for mine, theirs in zip(own, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


# -- The readings


def _of_readings(own_text: str, other_text: str, readings: Readings) -> Iterable[float]:
    """Yield the features of `_READ`."""
    own, other, aligned = readings.own, readings.other, readings.aligned
    total = sum(piece.weight for piece in (*own.pieces, *other.pieces)) or 1.0
    yield float(own.certain and other.certain)
    yield float(own.asks != other.asks)
    yield float(own.orders != other.orders)
    yield float(readings.marks_agree)
    by_tie = {tie: [pair for pair in aligned.pairs if pair.tie is tie] for tie in Tie}
    same, near = by_tie[Tie.SAME], by_tie[Tie.NEAR]
    shared = sum(2.0 * min(pair.own.weight, pair.other.weight) for pair in (*same, *near))
    yield shared / total
    yield sum(2.0 * min(pair.own.weight, pair.other.weight) for pair in same) / total
    yield _weight(near) / total
    yield _weight([pair for pair in same if pair.own.role != pair.other.role]) / total
    yield _weight([pair for pair in aligned.pairs if pair.moved]) / total
    for tie in (Tie.OPPOSITE, Tie.OTHER_VALUE, Tie.REPLACED):
        yield float(len(by_tie[tie]))
    yield from _of_rest(own_text, other_text, readings, total)
    yield from _of_multisets(own, other)
    paired = [*same, *near]
    yield _share(sum(pair.own.role == pair.other.role for pair in paired), len(paired))
    partner = {pair.own.key: pair.other.key for pair in paired}
    headed = [pair for pair in paired if pair.own.head and pair.other.head]
    agree = (partner.get(pair.own.head, pair.own.head) == pair.other.head for pair in headed)
    yield _share(sum(agree), len(headed))
    yield _predicates_paired(paired, own, other)
    fewer, more = sorted((len(own.pieces), len(other.pieces)))
    yield from (float(fewer), fewer / more, float(len(readings.named)))
    rest = (*aligned.added, *aligned.missing)
    differs = bool(readings.named) or any(piece.weight > LIGHT_MAX for piece in rest)
    yield float(own.certain and other.certain and not differs)


def _of_rest(own_text: str, other_text: str, readings: Readings, total: float) -> Iterable[float]:
    """Yield the features of the pieces without a partner that says the same."""
    added, missing = readings.aligned.added, readings.aligned.missing
    sides = (added, missing)
    heavy = [[piece for piece in side if piece.weight > LIGHT_MAX] for side in sides]
    yield from _sorted(sum(piece.weight for piece in side) for side in heavy)
    yield sum(piece.weight for piece in (*added, *missing) if piece.weight <= LIGHT_MAX)
    yield from _sorted(sum(piece.type in VALUES for piece in side) for side in sides)
    yield from _sorted(sum(piece.type is PieceType.NAME for piece in side) for side in sides)
    rest = (*added, *missing)
    yield float(sum(piece.role == Role.PREDICATE for piece in rest))
    yield float(sum(piece.negated for piece in rest))
    yield float(sum(piece.type is PieceType.QUANTIFIER for piece in rest))
    replaced = [pair for pair in readings.aligned.pairs if pair.tie is Tie.REPLACED]
    here = [*heavy[0], *(pair.own for pair in replaced)]
    there = [*heavy[1], *(pair.other for pair in replaced)]
    yield from _sorted(
        (
            _unexplained(here, own_text, other_text) / total,
            _unexplained(there, other_text, own_text) / total,
        )
    )


def _of_multisets(own: Reading, other: Reading) -> Iterable[float]:
    """Yield how far values, names, denials, modalities and tenses differ, wherever they stand."""
    here, there = (
        Counter(piece.key for piece in reading.pieces if piece.type in VALUES)
        for reading in (own, other)
    )
    yield float(min((here - there).total(), (there - here).total()))
    yield float((here & there).total())
    here, there = (
        Counter(piece.key for piece in reading.pieces if piece.type is PieceType.NAME)
        for reading in (own, other)
    )
    yield float(min((here - there).total(), (there - here).total()))
    yield float(sum(p.negated for p in own.pieces) % 2 != sum(p.negated for p in other.pieces) % 2)
    modal, modal_other = (Counter(p.modality for p in r.pieces if p.modality) for r in (own, other))
    yield float(((modal - modal_other) | (modal_other - modal)).total())
    tense, tense_other = (Counter(p.tense for p in r.pieces if p.tense) for r in (own, other))
    yield float(((tense - tense_other) | (tense_other - tense)).total())


def _predicates_paired(paired: Sequence[Pair], own: Reading, other: Reading) -> float:
    """Return the share of predicates whose partner says the same."""
    count = sum(
        piece.role == Role.PREDICATE for reading in (own, other) for piece in reading.pieces
    )
    found = sum(
        (pair.own.role == Role.PREDICATE) + (pair.other.role == Role.PREDICATE) for pair in paired
    )
    return _share(found, count)


def _unexplained(pieces: Iterable[Piece], text: str, other_text: str) -> float:
    """Return the weight of pieces, each times the share of its bigrams that the other text lacks.

    "deploy" is explained by "deployment", an abbreviation or a compound by its parts.
    """
    there = _profile(other_text[:_CHARS_MAX]).bigrams
    left = 0.0
    for piece in pieces:
        grams = _surface_grams(text[piece.start : piece.end])
        left += piece.weight * (1.0 - len(grams & there) / len(grams) if grams else 1.0)
    return left


@lru_cache(maxsize=_PROFILES_KEPT)
def _surface_grams(surface: str) -> frozenset[str]:
    return _grams(_APART.sub("", unicodedata.normalize("NFKC", surface).lower()), 2)


def _sorted(both: Iterable[float]) -> list[float]:
    return sorted(map(float, both))


def _weight(pairs: Iterable[Pair]) -> float:
    return sum(pair.own.weight + pair.other.weight for pair in pairs)
