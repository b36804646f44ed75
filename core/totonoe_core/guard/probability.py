"""How probably two texts say the same, and hard differences, which no probability outweighs.

The probability comes from boosted trees over `features`, which `python -m bench.probability_fit`
fits and writes to `same_probability.json`: one fit with the cosine of the bundled model, one
without any cosine; and `make judge-fit` one with what the daemon's own judge says. It is calibrated
to the share of same pairs among those that the guard compares when memories are saved.

A *hard* difference is one in a value, a denial or the like that stands in the same slot of both
texts: in the same part of the sentence, or between the same neighbours. Pure.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib.resources import files
from math import exp, isnan, tanh
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.records import Finding
from totonoe_core.guard.alignment import AlignedPair, Tie
from totonoe_core.guard.features import JUDGE_NAMES, NAMES, Readings
from totonoe_core.guard.forms import may_be_one_time, may_be_one_value
from totonoe_core.kernels.trees import sum_of_trees
from totonoe_core.text.reading.model import Piece, PieceType, Role

FILE = "same_probability.json"
_COSINE, _CERTAIN = NAMES.index("cosine"), NAMES.index("certain")
_JUDGE_LOG_ODDS = JUDGE_NAMES.index("judge_log_odds")
_SUREST = 3.0
_LANGUAGES = {name: NAMES.index(name) for name in ("en", "ja", "zh")}


@dataclass(frozen=True, slots=True)
class Fit:
    """Trees as flat arrays, and the scale that makes their sum a probability.

    p = 1 / (1 + exp(-(slope * sum + offset of the language)))
    """

    arrays: tuple[NDArray[Any], ...]
    slope: float
    offsets: Mapping[str, float]

    def probability(self, features: NDArray[np.float64]) -> float:
        """Return the probability of a row of features."""
        return self.scaled(features, sum_of_trees(features, *self.arrays))

    def scaled(self, features: NDArray[np.float64], total: float) -> float:
        """Return the probability of a sum, for the language of a row of features."""
        language = next((name for name, at in _LANGUAGES.items() if features[at]), "")
        log_odds = self.slope * total + self.offsets[language]
        return 1.0 / (1.0 + exp(-max(-40.0, min(40.0, log_odds))))


@dataclass(frozen=True, slots=True)
class Shipped:
    """The shipped fits.

    Attributes
    ----------
    version : str
        Changes with every fit.
    likely_from : float
        The default of the least probability that counts as likely the same.
    with_cosine, without_cosine : Fit
    with_judge : Fit
        Of the features and of what the daemon's own judge says; its trees add to `base`.
    """

    version: str
    likely_from: float
    with_cosine: Fit
    without_cosine: Fit
    with_judge: Fit


@cache
def shipped() -> Shipped:
    """Return the shipped fits, read once."""
    text = (files(__package__) / FILE).read_text(encoding="utf-8")
    stored = json.loads(text)
    return Shipped(
        stored["version"],
        stored["likely_from"],
        _fit(stored["with_cosine"], stored["features"]),
        _fit(stored["without_cosine"], stored["features"]),
        _fit(stored["with_judge"], stored["features"]),
    )


def _fit(stored: Mapping[str, Any], names: list[str]) -> Fit:
    """Read a fit. Raises ValueError if it uses a feature that is not computed any more."""
    known = (*NAMES, *JUDGE_NAMES)
    places = np.array([*(known.index(name) for name in names), -1], np.int32)
    return Fit(
        (
            np.array(stored["roots"], np.int32),
            places[np.array(stored["feature"], np.int32)],
            np.array(stored["threshold"], np.float64),
            np.array(stored["left"], np.int32),
            np.array(stored["right"], np.int32),
            np.array(stored["missing_left"], np.uint8),
            np.array(stored["value"], np.float64),
        ),
        stored["slope"],
        stored["offsets"],
    )


def same_probability(features: NDArray[np.float64]) -> float:
    """Return how probably two texts say the same, 0..1, by the features of the pair."""
    found = shipped()
    fit = found.without_cosine if isnan(features[_COSINE]) else found.with_cosine
    return fit.probability(features)


def same_probability_judged(features: NDArray[np.float64], judged: NDArray[np.float64]) -> float:
    """Return how probably two texts say the same, 0..1, by their features and by a judge.

    Parameters
    ----------
    features : float64[n]
        In the order of `features.NAMES`.
    judged : float64[m]
        In the order of `features.JUDGE_NAMES`.
    """
    fit, total = shipped().with_judge, base(float(judged[_JUDGE_LOG_ODDS]))
    # Across languages the readings are not compared: nothing is known that the judge did not see.
    if not isnan(features[_CERTAIN]):
        total += sum_of_trees(np.concatenate([features, judged]), *fit.arrays)
    return fit.scaled(features, total)


def base(log_odds: float) -> float:
    """Return what the trees beside a judge add to, for its log odds of *same*.

    The order is the judge's; but however sure it is, they can outweigh it.
    """
    return _SUREST * tanh(log_odds / _SUREST)


# -- Hard differences


class Slot(IntEnum):
    """How surely two pieces stand in the same place of their texts."""

    ANYWHERE = 0
    ONE_SIGN = 1
    """The same part of the sentence, or one common neighbour."""
    IN_PLACE = 2
    """The same part with the same head, or both neighbours in common."""
    BOTH = 3
    """The same part with the same head, and both neighbours in common."""


_HARD: dict[Finding, Slot] = {
    Finding.NUMBER: Slot.BOTH,
    Finding.QUANTITY: Slot.IN_PLACE,
    Finding.DATE: Slot.BOTH,
    Finding.TIME: Slot.IN_PLACE,
    Finding.VERSION: Slot.IN_PLACE,
    Finding.IDENTIFIER: Slot.ONE_SIGN,
    Finding.PATH: Slot.ONE_SIGN,
    Finding.POLARITY: Slot.BOTH,
    Finding.OPPOSITE: Slot.IN_PLACE,
    Finding.QUANTIFIER: Slot.BOTH,
    Finding.ROLE: Slot.ANYWHERE,
}
"""Least slot from which a finding is hard: from where on at least 85 of 100 pairs differ.

Of the groups kept aside for tuning (bench/judge). Numbers with one sign of their place differ in
meaning in six of ten only ("2 L", "2000 ml"), with two in eight ("a default of 0", "the default 0,
which"), conjunctions in eight.
"""

_DOUBTFUL: dict[Finding, Slot] = {
    Finding.NUMBER: Slot.ONE_SIGN,
    Finding.QUANTITY: Slot.ONE_SIGN,
    Finding.DATE: Slot.ONE_SIGN,
    Finding.TIME: Slot.ONE_SIGN,
    Finding.VERSION: Slot.ONE_SIGN,
    Finding.IDENTIFIER: Slot.ANYWHERE,
    Finding.OPPOSITE: Slot.ONE_SIGN,
    Finding.CONJUNCTION: Slot.IN_PLACE,
    Finding.QUANTIFIER: Slot.IN_PLACE,
    Finding.MODALITY: Slot.BOTH,
}
"""Least slot from which a finding that is not hard is still never refused by a judge."""


def is_doubtful(found: Iterable[tuple[Finding, Slot]]) -> bool:
    """Return whether one of the differences that `placed` found may be one of meaning."""
    return _reaches(found, _DOUBTFUL)


def is_hard(found: Iterable[tuple[Finding, Slot]]) -> bool:
    """Return whether one of the differences that `placed` found is hard."""
    return _reaches(found, _HARD)


def _reaches(found: Iterable[tuple[Finding, Slot]], least: Mapping[Finding, Slot]) -> bool:
    return any(finding in least and slot >= least[finding] for finding, slot in found)


def placed(readings: Readings, own_text: str, other_text: str) -> tuple[tuple[Finding, Slot], ...]:
    """Return the differences that have a place in both texts, each with its slot.

    None if a reading is not certain. ROLE counts only where two names exchanged their parts, and
    no opposite gives them back ("A lends to B", "B borrows from A"). A second denial may cancel the
    first ("only if", "not unless"), and an opposite the other order ("left of", "right of"):
    POLARITY counts only alone, OPPOSITE only where nothing moved. Values that may be one in two
    forms ("15:00", "at 3"), and particles that may be one, have at most one sign of their place,
    identifiers none.
    """
    if not readings.named or not readings.certain:
        return ()
    places = _Places(readings)
    pairs = {((p.own.start, p.own.end), (p.other.start, p.other.end)): p for p in places.pairs}
    cancelled = set()
    if sum(line.finding is Finding.POLARITY for line in readings.named) > 1:
        cancelled.add(Finding.POLARITY)
    if any(pair.moved for pair in places.pairs):
        cancelled.add(Finding.OPPOSITE)
    exchanged = 0
    found: list[tuple[Finding, Slot]] = []
    for line in readings.named:
        pair = pairs.get((line.own, line.other))
        if line.finding is Finding.ROLE:
            exchanged += pair is not None and pair.own.type is PieceType.NAME
        elif line.finding in cancelled:
            continue
        elif pair is not None:
            texts = own_text[slice(*line.own)], other_text[slice(*line.other)]
            found.append((line.finding, _slot(line.finding, pair, texts, places)))
        elif line.own != (0, 0) and line.other != (0, 0):
            found.append((line.finding, places.between(line.own, line.other)))
    given_back = any(line.finding is Finding.OPPOSITE for line in readings.named)
    if exchanged > 1 and not given_back:
        found.append((Finding.ROLE, Slot.BOTH))
    return tuple(found)


_EITHER_WAY = frozenset(("prep:から", "prep:に"))
"""Both name whom something is learned, heard or borrowed from; of gifts they are opposites."""


def _slot(finding: Finding, pair: AlignedPair, texts: tuple[str, str], places: _Places) -> Slot:
    slot, own, other = places.slot(pair), pair.own.key, pair.other.key
    if finding is Finding.OPPOSITE:
        in_two_forms = frozenset((pair.own.role, pair.other.role)) == _EITHER_WAY
    elif finding is Finding.TIME:
        in_two_forms = may_be_one_time(own, texts[0], other, texts[1])
    else:
        in_two_forms = finding in _DOUBTFUL and may_be_one_value(own, other)
    if not in_two_forms:
        return slot
    return Slot.ANYWHERE if finding is Finding.IDENTIFIER else min(slot, Slot.ONE_SIGN)


class _Places:
    """The neighbours of pieces in two aligned readings."""

    def __init__(self, readings: Readings) -> None:
        self.pairs = readings.aligned.pairs
        self._own, self._other = readings.own.reading.pieces, readings.other.reading.pieces
        said = [pair for pair in self.pairs if pair.tie <= Tie.OPPOSITE]
        self._partner = {pair.own.start: pair.other.start for pair in said}
        self._keys = {pair.own.key: pair.other.key for pair in said}

    def slot(self, pair: AlignedPair) -> Slot:
        """Return how surely the pieces of a pair stand in the same place."""
        own, other = pair.own, pair.other
        same_role = own.role == other.role != Role.UNKNOWN
        same_part = same_role and (
            self._keys.get(own.head, own.head) == other.head
            and bool(own.head or own.role == Role.PREDICATE)
        )
        beside = self._common((own.start, own.end), (other.start, other.end))
        if same_part and beside == 2:
            return Slot.BOTH
        if same_part or beside == 2:
            return Slot.IN_PLACE
        return Slot.ONE_SIGN if same_role or beside else Slot.ANYWHERE

    def between(self, own: tuple[int, int], other: tuple[int, int]) -> Slot:
        """Return how surely two stretches without pieces stand in the same place."""
        beside = self._common(own, other)
        return (Slot.ANYWHERE, Slot.ONE_SIGN, Slot.IN_PLACE)[beside]

    def _common(self, own: tuple[int, int], other: tuple[int, int]) -> int:
        """Return how many neighbours, before and after, two stretches have in common."""
        before = _before(self._own, own[0]), _before(self._other, other[0])
        after = _after(self._own, own[1]), _after(self._other, other[1])
        return self._paired(*before) + self._paired(*after)

    def _paired(self, own: int, other: int) -> bool:
        """Return whether two neighbours are paired, or there is none on either side."""
        return other == (self._partner.get(own, -2) if own >= 0 else -1)


_START = attrgetter("start")


def _before(pieces: tuple[Piece, ...], place: int) -> int:
    """Return the start of the last piece that ends before a place; -1 if there is none."""
    at = bisect_right(pieces, place, key=_START) - 1
    while at >= 0 and pieces[at].end > place:
        at -= 1
    return pieces[at].start if at >= 0 else -1


def _after(pieces: tuple[Piece, ...], place: int) -> int:
    """Return the start of the first piece from a place on; -1 if there is none."""
    at = bisect_left(pieces, place, key=_START)
    return pieces[at].start if at < len(pieces) else -1
