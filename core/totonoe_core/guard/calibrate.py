"""Calibration: fits the verdict's weights to a model. Labelled pairs in; weights, curve, figures
out.

    pairs, cosines ──► verdict.compare ──► pairs without a named difference: logistic regression
    p of each, and pairs refused or kept at any p ──► the least p within the budget

Pure and deterministic: Newton's method from the same start, and numbers rounded before use, so that
the last bits of another machine's arithmetic change nothing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.domain.calibration import Calibration, ClassFigures, CurvePoint, Fitted
from totonoe_core.domain.records import ModelIdentity, Verdict
from totonoe_core.domain.weights import EVEN_CHANCE, Features, Weights
from totonoe_core.guard.verdict import Comparison, compare

COEFFICIENTS = tuple(item.name for item in fields(Weights) if item.name != "at_least")
_SHARES = COEFFICIENTS[2:]
OWN = "collection"
"""Source of pairs that were judged in the collection itself."""
_FREE, _HELD = 0.3, 2.0
"""Strength of the pull to the start: for bias and cosine, which the model sets; for the rest."""
_STEPS_MAX = 50
_DIGITS = 4

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A labelled pair, with the verdict's findings.

    Attributes
    ----------
    name, language : str
        Class and language, for the figures.
    source : str
        Origin: weights are checked on sources that they were not fitted to. `OWN` is the collection
        itself.
    same : bool
        True if both say the same.
    counts : bool
        True if it is fitted to and counted, false if only shown.
    features : Features or None
        Set if no difference could be named.
    merged : bool
        True, without features, for a duplicate at any weights: the words are the same.
    """

    name: str
    language: str
    source: str
    same: bool
    counts: bool
    features: Features | None
    merged: bool = False


def labelled(
    a: str,
    b: str,
    cosine: float,
    same: bool,
    *,
    name: str = "",
    language: str = "",
    source: str = "",
    counts: bool = True,
) -> Labelled:
    """Read a pair; `a` is stored and `b` is new."""
    # Any weights will do: features do not depend on them.
    comparison = compare(b, a, cosine, HAND)
    return Labelled(
        name, language, source, same, counts, comparison.features, merged_anyway(comparison)
    )


def merged_anyway(comparison: Comparison) -> bool:
    """Return whether a pair is a duplicate at any weights."""
    return comparison.features is None and comparison.judgement.verdict is Verdict.DUPLICATE


HAND = Weights(bias=-8.0, cosine=14.0, near=-6.0, light=-8.0, soft=-3.0, moved=-1.0, at_least=0.9)
"""Weights set by hand: the start of fitting, and its pull where pairs are few."""


def calibrated(
    pairs: Sequence[Labelled], model: ModelIdentity, budget: float, created_us: int | None
) -> Fitted:
    """Fit weights to a model, and measure them on the pairs, including the collection's own.

    Parameters
    ----------
    pairs : sequence of Labelled
        With the cosines of this model.
    budget : float
        Share of different pairs that may be called duplicates, 0..1.
    """
    counted = [pair for pair in pairs if pair.counts]
    weights = fitted_weights(counted, budget)
    probabilities = probabilities_of(counted, weights)
    same = np.array([pair.same for pair in counted], np.bool_)
    at_least = threshold(probabilities, same, budget)
    point = point_at(probabilities, same, at_least)
    return Fitted(
        Calibration(
            model=model,
            weights=replace(weights, at_least=at_least),
            false_merge_budget=budget,
            false_merge_rate=point.false_merge_rate,
            duplicate_recall=point.duplicate_recall,
            pair_count=len(counted),
            created_us=created_us,
        ),
        curve_of(probabilities, same, at_least),
        class_figures(pairs, replace(weights, at_least=at_least)),
        dismissed_count=sum(pair.source == OWN and not pair.same for pair in counted),
        merged_count=sum(pair.source == OWN and pair.same for pair in counted),
    )


# -- Weights


def fitted_weights(pairs: Sequence[Labelled], budget: float) -> Weights:
    """Fit all weights, bias and cosine, or none: the choice with the best results on other sources.

    Each source counts the same, however many pairs it has. `at_least` is the start's.
    """
    rows = [pair for pair in pairs if pair.features is not None]
    # `max` takes the first of equals, which has the fewest fitted weights.
    return _fit(rows, max(_CHOICES, key=lambda free: held_out_recall(pairs, free, budget)))


_CHOICES = (frozenset[str](), frozenset(COEFFICIENTS[:2]), frozenset(COEFFICIENTS))


def held_out_recall(pairs: Sequence[Labelled], free: frozenset[str], budget: float) -> float:
    """Return the duplicates found within the budget, with weights that never saw the pair's source.

    Not the log loss: a few false merges decide the threshold, and a loss hardly shows them.
    """
    found, same = [np.zeros(0)], [np.zeros(0, np.bool_)]
    for source in sorted({pair.source for pair in pairs}):
        rest = [pair for pair in pairs if pair.source != source and pair.features is not None]
        held = [pair for pair in pairs if pair.source == source]
        found.append(probabilities_of(held, _fit(rest, free)))
        same.append(np.array([pair.same for pair in held], np.bool_))
    p, labels = np.concatenate(found), np.concatenate(same)
    return point_at(p, labels, threshold(p, labels, budget)).duplicate_recall


def _fit(rows: Sequence[Labelled], free: frozenset[str]) -> Weights:
    """Fit an L2-regularised logistic regression; a weight of the wrong sign becomes 0 and stays so.

    More similarity never makes a duplicate less likely, a looser wording never more likely.
    """
    start = np.array([getattr(HAND, name) for name in COEFFICIENTS])
    signs = np.array([0.0, 1.0, *(-1.0 for _ in _SHARES)])
    x = _matrix(rows)
    y = np.array([row.same for row in rows], np.float64)
    say = _say(rows)
    weights, open_ = start.copy(), np.array([name in free for name in COEFFICIENTS])
    for _ in COEFFICIENTS:
        weights = _newton(x, y, say, weights, start, open_)
        wrong = open_ & (weights * signs < 0.0)
        if not wrong.any():
            break
        weights[wrong] = 0.0
        open_ &= ~wrong
    values = dict(
        zip(COEFFICIENTS, (round(float(weight), _DIGITS) for weight in weights), strict=True)
    )
    return Weights(**values, at_least=HAND.at_least)


def _newton(
    x: Floats, y: Floats, say: Floats, weights: Floats, start: Floats, open_: NDArray[np.bool_]
) -> Floats:
    """Find the free weights of the least loss.

    Parameters
    ----------
    x : float64[n, 6]
    y, say : float64[n]
        Labels 0 or 1; weight of each row.
    """
    pull = np.where(np.arange(x.shape[1]) < 2, _FREE, _HELD)[open_]
    found = weights.copy()

    def loss(trial: Floats) -> float:
        z = x @ trial
        bend = 0.5 * float((pull * (trial - start)[open_] ** 2).sum())
        return float((say * (np.logaddexp(0.0, z) - y * z)).sum()) + bend

    for _ in range(_STEPS_MAX):
        p = _sigmoid(x @ found)
        slope = x[:, open_].T @ (say * (p - y)) + pull * (found - start)[open_]
        curve = (x[:, open_].T * (say * p * (1.0 - p))) @ x[:, open_] + np.diag(pull)
        step = np.zeros_like(found)
        step[open_] = np.linalg.solve(curve, slope)
        # Halved until it helps: far from the minimum a whole step may overshoot.
        size, before = 1.0, loss(found)
        while loss(found - size * step) > before and size > 1e-6:
            size /= 2.0
        found = found - size * step
        if float(np.abs(step).max()) < 1e-8:
            break
    return found


def _say(rows: Sequence[Labelled]) -> Floats:
    """Return the weight of each pair: the same sum for each source; 1 for the collection's own.

    The weights add up to n. A handful of own pairs must not weigh as much as a source.
    """
    counts: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        counts[row.source] += row.source != OWN
    others = sum(counts.values())
    share = others / max(1, len(counts) - (OWN in counts))
    return np.array([1.0 if row.source == OWN else share / counts[row.source] for row in rows])


def _matrix(rows: Iterable[Labelled]) -> Floats:
    made = [
        (1.0, features.cosine, *(getattr(features, name) for name in _SHARES))
        for features in (row.features for row in rows)
        if features is not None
    ]
    return np.array(made, np.float64).reshape(len(made), len(COEFFICIENTS))


def _sigmoid(z: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(z, -40.0, 40.0)))


# -- Threshold, curve, figures


def probabilities_of(pairs: Sequence[Labelled], weights: Weights) -> Floats:
    """Return p of each pair; infinite if refused at any threshold, -1 if never refused."""

    def probability(pair: Labelled) -> float:
        if pair.features is None:
            return math.inf if pair.merged else -1.0
        return -1.0 if pair.features.loose else pair.features.probability(weights)

    return np.array([probability(pair) for pair in pairs], np.float64)


def threshold(probabilities: Floats, same: NDArray[np.bool_], budget: float) -> float:
    """Return the least p, at least 0.5, that keeps false merges within the budget.

    It lies in the middle between two pairs, rounded up; 1 if even certainty merges too many.

    Parameters
    ----------
    probabilities : float64[n]
        As `probabilities_of` gives them; infinite and -1 for pairs that no threshold changes.
    same : bool[n]
    budget : float
        Share of the different pairs, 0..1.
    """
    different = np.sort(probabilities[~same])[::-1]
    allowed = math.floor(budget * len(different) + 1e-9)
    bound = float(different[allowed]) if allowed < len(different) else -1.0
    if bound >= 1.0:
        return 1.0
    above = probabilities[(probabilities > bound) & np.isfinite(probabilities)]
    upper = float(above.min()) if len(above) else 1.0
    scale = 10.0**_DIGITS
    middle = math.ceil(((bound + upper) / 2.0) * scale) / scale
    # If two pairs are closer than the rounding, take the upper one.
    return min(1.0, max(EVEN_CHANCE, middle if bound < middle <= upper else upper))


def point_at(probabilities: Floats, same: NDArray[np.bool_], at_least: float) -> CurvePoint:
    """Measure false merges and found duplicates at a threshold."""
    merged = probabilities >= at_least

    def share(part: NDArray[np.bool_], whole: NDArray[np.bool_]) -> float:
        count = int(np.count_nonzero(whole))
        return int(np.count_nonzero(part & whole)) / count if count else 0.0

    return CurvePoint(at_least, share(merged, ~same), share(merged, same))


def curve_of(
    probabilities: Floats, same: NDArray[np.bool_], at_least: float
) -> tuple[CurvePoint, ...]:
    """Measure rising thresholds, spread evenly over the pairs' own p, with the chosen one."""
    within = np.unique(probabilities[(probabilities >= 0.0) & (probabilities <= 1.0)])
    count = min(len(within), limits.CURVE_POINTS_MAX - 1)
    chosen = within[np.linspace(0, max(0, len(within) - 1), count).astype(np.int64)]
    thresholds = sorted({at_least, *chosen.tolist()})
    return tuple(point_at(probabilities, same, threshold) for threshold in thresholds)


def class_figures(pairs: Sequence[Labelled], weights: Weights) -> tuple[ClassFigures, ...]:
    """Count pairs of each class and language that would be called duplicates."""
    merged = probabilities_of(pairs, weights) >= weights.at_least
    groups: defaultdict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for pair, refused in zip(pairs, merged.tolist(), strict=True):
        groups[pair.language, pair.name].append((pair.same, refused))
    return tuple(
        ClassFigures(
            name=name,
            language=language,
            same_count=sum(same for same, _ in group),
            found_count=sum(same and refused for same, refused in group),
            different_count=sum(not same for same, _ in group),
            merged_count=sum(refused and not same for same, refused in group),
        )
        for (language, name), group in sorted(groups.items())
    )
