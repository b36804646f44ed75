"""Features of a pair of texts, from which `probability` tells whether they say the same.

Three groups: the texts alone (words, characters, digits, lengths, the cosine), the alignment of
their readings (shares, leftovers, values, roles) and the named differences, counted by kind. A
feature that could not be computed is NaN: without readings the last two groups, without the
bundled model's vectors the cosine. Pure, and symmetric: swapping the texts changes nothing.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, nan

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base.kept import kept
from totonoe_core.domain.records import Evidence, Finding
from totonoe_core.guard.alignment import AlignedPair, Alignment, Tie
from totonoe_core.guard.differences import LIGHT_MAX
from totonoe_core.guard.sentences import equal_back, equal_front
from totonoe_core.guard.traits import Traits
from totonoe_core.text.reading.model import VALUES, Piece, PieceType, Role
from totonoe_core.text.tokens import tokens

_CHARS_MAX = 2_000
"""Of a text, from its beginning: a longer one differs by more than its characters show."""
_PROFILES_KEPT_CHARS = 300_000
_SURFACES_KEPT = 4_096
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
JUDGE_NAMES: tuple[str, ...] = (
    *("judge_log_odds", "judge_same", "judge_one_sided", "judge_exclusive", "judge_compatible"),
    "judge_unrelated",
)
"""Names of what the daemon's own judge says of a pair, in their order; after `NAMES`."""
_LOG_ODDS_MAX = 40.0


@dataclass(frozen=True, slots=True)
class Readings:
    """Two readings and the findings of their comparison."""

    own: Traits
    other: Traits
    aligned: Alignment
    named: Sequence[Evidence]
    marks_agree: bool

    @property
    def certain(self) -> bool:
        """Return whether both readings are certain."""
        return self.own.reading.certain and self.other.reading.certain

    @property
    def weight(self) -> float:
        """Return the weight of all pieces; 1 if they have none."""
        return sum((*self.own.weights, *self.other.weights)) or 1.0


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
    found = _of_texts(*profiles, set_aside, cosine, language)
    if readings is None or not (readings.own.weights and readings.other.weights):
        found += [nan] * (len(NAMES) - len(found))
    else:
        found += _of_readings(own, other, readings)
        kinds = [line.finding for line in readings.named]
        found += [kinds.count(kind) for kind in _COUNTED] if kinds else [0.0] * len(_COUNTED)
    return np.array(found, np.float64)


def judged(same: float, relations: Sequence[float]) -> NDArray[np.float64]:
    """Return what a judge says of a pair, as features.

    Parameters
    ----------
    same : float
        Probability that the texts say the same, 0..1.
    relations : sequence of 6 floats
        Probabilities of same, more, less, exclusive, compatible and unrelated.

    Returns
    -------
    float64[n]
        In the order of `JUDGE_NAMES`.
    """
    log_odds = _LOG_ODDS_MAX if same >= 1.0 else -_LOG_ODDS_MAX
    if 0.0 < same < 1.0:
        log_odds = log(same) - log(1.0 - same)
    as_same, more, less, exclusive, compatible, unrelated = relations
    return np.array([log_odds, as_same, more + less, exclusive, compatible, unrelated], np.float64)


# -- The texts alone


@dataclass(frozen=True, slots=True)
class _Profile:
    """Words, grams, digits and the like of one text, which `features` compares."""

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


@kept(_PROFILES_KEPT_CHARS)
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
    # Interned: most texts have the same few thousand of them, and many are kept.
    found = [sys.intern(text[at : at + size]) for at in range(len(text) - size + 1)]
    return frozenset(found or ([text] if text else []))


def _of_texts(
    own: _Profile, other: _Profile, set_aside: float, cosine: float, language: str
) -> list[float]:
    fewer, more = _sorted(len(own.text), len(other.text))
    found = [cosine, set_aside, _share(fewer, more), log(1.0 + fewer)]
    found += [language == known for known in _LANGUAGES]
    found.append(language not in _LANGUAGES)
    common = len(own.words & other.words)
    words = _sorted(len(own.words), len(other.words))
    found += [_share(common, sum(words) - common), *(_share(common, count) for count in words)]
    found += [min(count - common, 12) for count in words]
    for here, there in ((own.bigrams, other.bigrams), (own.trigrams, other.trigrams)):
        both = len(here & there)
        found.append(_share(2 * both, len(here) + len(there)))
        found.append(_share(both, min(len(here), len(there))))
    common = _common(own.digits, other.digits)
    fewest, most = _sorted(sum(own.digits.values()), sum(other.digits.values()))
    found += [fewest - common, most - fewest, common]
    found += [abs(own.denials - other.denials), own.asks != other.asks]
    capitals = own.capitals or other.capitals
    found.append(len(own.capitals ^ other.capitals) if capitals else nan)
    found.append(_share(equal_front(own.text, other.text), fewer))
    found.append(_share(equal_back(own.text, other.text), fewer))
    return found


def _common(here: Mapping[str, int], there: Mapping[str, int]) -> int:
    """Return how many elements two multisets have in common."""
    return sum([min(count, there[key]) for key, count in here.items() if key in there])


def _share(part: float, whole: float) -> float:
    return part / whole if whole else nan


# -- The readings


def _of_readings(own_text: str, other_text: str, readings: Readings) -> list[float]:
    """Return the features of `_READ`."""
    own, other, aligned = readings.own.reading, readings.other.reading, readings.aligned
    total = readings.weight
    by_tie: tuple[list[AlignedPair], ...] = tuple([] for _ in Tie)
    for pair in aligned.pairs:
        by_tie[pair.tie].append(pair)
    same, near = by_tie[Tie.SAME], by_tie[Tie.NEAR]
    paired = [*same, *near]
    found = [readings.certain, own.asks != other.asks, own.orders != other.orders]
    row: list[float] = [*found, readings.marks_agree]
    row.append(_shared(paired) / total)
    row.append(_shared(same) / total)
    row.append(_weight(near) / total)
    row.append(_weight([pair for pair in same if pair.own.role != pair.other.role]) / total)
    row.append(_weight([pair for pair in aligned.pairs if pair.moved]) / total)
    row += [len(by_tie[tie]) for tie in (Tie.OPPOSITE, Tie.OTHER_VALUE, Tie.REPLACED)]
    row += _of_rest(own_text, other_text, aligned, by_tie[Tie.REPLACED], total)
    row += _of_multisets(readings.own, readings.other)
    row.append(_share(sum([pair.own.role == pair.other.role for pair in paired]), len(paired)))
    partner = {pair.own.key: pair.other.key for pair in paired}
    headed = [pair for pair in paired if pair.own.head and pair.other.head]
    agree = [partner.get(pair.own.head, pair.own.head) == pair.other.head for pair in headed]
    row.append(_share(sum(agree), len(headed)))
    row.append(_predicates_paired(paired, readings))
    fewer, more = _sorted(len(own.pieces), len(other.pieces))
    row += [fewer, fewer / more, len(readings.named)]
    rest = (*aligned.added, *aligned.missing)
    differs = bool(readings.named) or any(piece.weight > LIGHT_MAX for piece in rest)
    row.append(readings.certain and not differs)
    return row


def _of_rest(
    own_text: str,
    other_text: str,
    aligned: Alignment,
    replaced: Sequence[AlignedPair],
    total: float,
) -> list[float]:
    """Return the features of the pieces without a partner that says the same."""
    added, missing = aligned.added, aligned.missing
    sides, rest = (added, missing), (*added, *missing)
    heavy = [[piece for piece in side if piece.weight > LIGHT_MAX] for side in sides]
    row: list[float] = _sorted(*(sum([piece.weight for piece in side]) for side in heavy))
    row.append(sum([piece.weight for piece in rest if piece.weight <= LIGHT_MAX]))
    row += _sorted(*(sum([piece.type in VALUES for piece in side]) for side in sides))
    row += _sorted(*(sum([piece.type is PieceType.NAME for piece in side]) for side in sides))
    row.append(sum([piece.role == Role.PREDICATE for piece in rest]))
    row.append(sum([piece.negated for piece in rest]))
    row.append(sum([piece.type is PieceType.QUANTIFIER for piece in rest]))
    here = [*heavy[0], *(pair.own for pair in replaced)]
    there = [*heavy[1], *(pair.other for pair in replaced)]
    row += _sorted(
        _unexplained(here, own_text, other_text) / total,
        _unexplained(there, other_text, own_text) / total,
    )
    return row


def _of_multisets(own: Traits, other: Traits) -> list[float]:
    """Return how far values, names, denials, modalities and tenses differ, wherever they stand."""
    common = _common(own.values, other.values)
    return [
        min(sum(own.values.values()), sum(other.values.values())) - common,
        common,
        min(sum(own.names.values()), sum(other.names.values())) - _common(own.names, other.names),
        own.denied % 2 != other.denied % 2,
        _differing(own.modalities, other.modalities),
        _differing(own.tenses, other.tenses),
    ]


def _differing(here: Mapping[str, int], there: Mapping[str, int]) -> int:
    """Return how many elements of two multisets have no partner in the other one."""
    return sum(here.values()) + sum(there.values()) - 2 * _common(here, there)


def _predicates_paired(paired: Sequence[AlignedPair], readings: Readings) -> float:
    """Return the share of predicates whose partner says the same."""
    found = sum(
        [(pair.own.role == Role.PREDICATE) + (pair.other.role == Role.PREDICATE) for pair in paired]
    )
    return _share(found, readings.own.predicates + readings.other.predicates)


def _unexplained(pieces: Sequence[Piece], text: str, other_text: str) -> float:
    """Return the weight of pieces, each times the share of its bigrams that the other text lacks.

    "deploy" is explained by "deployment", an abbreviation or a compound by its parts.
    """
    if not pieces:
        return 0.0
    there = _profile(other_text[:_CHARS_MAX]).bigrams
    left = 0.0
    for piece in pieces:
        grams = _surface_grams(text[piece.start : piece.end])
        left += piece.weight * (1.0 - len(grams & there) / len(grams) if grams else 1.0)
    return left


@lru_cache(maxsize=_SURFACES_KEPT)
def _surface_grams(surface: str) -> frozenset[str]:
    return _grams(_APART.sub("", unicodedata.normalize("NFKC", surface).lower()), 2)


def _sorted(one: float, another: float) -> list[float]:
    return [one, another] if one <= another else [another, one]


def _shared(pairs: Iterable[AlignedPair]) -> float:
    return sum([2.0 * min(pair.own.weight, pair.other.weight) for pair in pairs])


def _weight(pairs: Iterable[AlignedPair]) -> float:
    return sum([pair.own.weight + pair.other.weight for pair in pairs])
