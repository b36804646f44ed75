"""Fitting the verdict to a model: weights, threshold, curve; pure."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from totonoe_core.base import limits
from totonoe_core.domain.calibration import SHIPPED, weights_for
from totonoe_core.domain.records import ModelIdentity
from totonoe_core.domain.weights import Features, Weights
from totonoe_core.guard import calibrate
from totonoe_core.guard.calibrate import HAND, Labelled, calibrated, labelled, threshold
from totonoe_core.guard.probe import LANGUAGES, REPORTED_ONLY, probe_pairs

MODEL = ModelIdentity("toy", "1", "", 4)
CLASSES = 17
PAIRS_MIN = 40


def pair(same: bool, cosine: float, source: str = "one", **shares: float) -> Labelled:
    features = Features(cosine, **shares)
    return Labelled("class", "en", source, same, counts=True, features=features)


def kept(name: str = "class", *, same: bool = False, counts: bool = True) -> Labelled:
    """A pair with a named difference."""
    return Labelled(name, "en", "one", same, counts, None)


def drawn(n: int, cosine_weight: float, near_weight: float, seed: int = 5) -> list[Labelled]:
    """Pairs whose labels are drawn with known weights."""
    generator = np.random.default_rng(seed)
    found = []
    for number in range(n):
        cosine, near = generator.uniform(0.4, 1.0), generator.choice([0.0, 0.2, 0.5])
        z = -6.0 + cosine_weight * cosine + near_weight * near
        same = bool(generator.random() < 1.0 / (1.0 + math.exp(-z)))
        found.append(pair(same, float(cosine), "abc"[number % 3], near=float(near)))
    return found


def test_weights_are_those_that_labels_were_drawn_with() -> None:
    found = calibrate._fit(drawn(3000, 11.0, -9.0), frozenset(calibrate.COEFFICIENTS))
    assert found.cosine == pytest.approx(11.0, rel=0.15)
    assert found.bias == pytest.approx(-6.0, rel=0.2)
    assert found.near == pytest.approx(-9.0, rel=0.25)
    # Nothing was seen of these.
    assert (found.light, found.soft, found.moved) == (HAND.light, HAND.soft, HAND.moved)


def test_sources_have_the_same_say_and_own_pairs_that_of_one_each() -> None:
    rows = [pair(True, 0.9, source) for source in ("one", *"aaa", "one", calibrate.OWN)]
    others = [1.25, *[2.5 / 3] * 3, 1.25]
    assert calibrate._say(rows).tolist() == pytest.approx([*others, 1.0])
    assert calibrate._say(rows[:5]).tolist() == pytest.approx(others)
    assert calibrate._say(rows[5:] * 3).tolist() == [1.0, 1.0, 1.0]


def test_own_pairs_are_counted_and_kept_within_the_budget() -> None:
    rows = drawn(300, 30.0, -4.0)
    alone = calibrated(rows, MODEL, 0.0, None)
    assert (alone.dismissed_count, alone.merged_count) == (0, 0)
    own = [replace(pair(False, 0.999, calibrate.OWN), name="dismissed", language="")]
    own += [replace(pair(True, 0.98, calibrate.OWN), name="merged", language="")] * 2
    found = calibrated([*rows, *own], MODEL, 0.0, None)
    assert (found.dismissed_count, found.merged_count) == (1, 2)
    assert found.calibration.pair_count == 303
    assert found.calibration.weights.at_least > alone.calibration.weights.at_least
    dismissed = next(figures for figures in found.classes if figures.name == "dismissed")
    assert (dismissed.language, dismissed.different_count, dismissed.merged_count) == ("", 1, 0)


def test_weights_have_no_slope_at_the_end() -> None:
    rows = drawn(400, 9.0, -4.0)
    free = frozenset(calibrate.COEFFICIENTS)
    found = calibrate._fit(rows, free)

    def loss(weights: Weights) -> float:
        log_loss = 0.0
        for row, say in zip(rows, calibrate._say(rows), strict=True):
            p = row.features.probability(weights) if row.features else 0.0
            log_loss -= say * math.log(p if row.same else 1.0 - p)
        pulls = {"bias": calibrate._FREE, "cosine": calibrate._FREE}
        for name in calibrate.COEFFICIENTS:
            pull = pulls.get(name, calibrate._HELD)
            log_loss += pull / 2 * (getattr(weights, name) - getattr(HAND, name)) ** 2
        return log_loss

    values = {name: getattr(found, name) for name in calibrate.COEFFICIENTS}
    least = loss(found)
    for name, value in values.items():
        for step in (-0.01, 0.01):
            moved = Weights(**(values | {name: value + step}), at_least=0.9)
            assert loss(moved) >= least - 1e-6, name


def test_weights_of_the_wrong_sign_become_nothing() -> None:
    # The less alike, the more often a duplicate: no model says so, chance may.
    rows = [pair(cosine < 0.8, cosine) for cosine in np.linspace(0.6, 1.0, 600).tolist()]
    assert calibrate._fit(rows, frozenset({"bias", "cosine"})).cosine == 0.0


@pytest.mark.parametrize("rows", [[], [pair(True, 0.9)], [pair(False, 0.9)] * 3, [kept()]])
def test_weights_of_too_little_are_finite(rows: list[Labelled]) -> None:
    found = calibrated(rows, MODEL, 0.005, None)
    for name in (*calibrate.COEFFICIENTS, "at_least"):
        assert math.isfinite(getattr(found.calibration.weights, name))


def test_weights_are_the_same_whatever_the_order() -> None:
    rows = drawn(300, 9.0, -4.0)
    again = calibrated(rows[::-1], MODEL, 0.05, None)
    assert calibrated(rows, MODEL, 0.05, None) == again


def test_weights_stay_the_start_s_where_fitting_does_not_hold_on_other_sources() -> None:
    # What "one" says of light words, "two" denies: whoever learns from one is wrong on the other.
    rows = [
        pair(same, 0.9 if same else 0.5, source, light=light)
        for source, wrong in (("one", False), ("two", True))
        for same in (False, True)
        for light in ((0.0, 0.3) if same is wrong else (0.0,))
    ] * 5
    assert calibrate.fitted_weights(rows, 0.0) == HAND


def test_weights_of_another_scale_of_cosines_are_fitted() -> None:
    # A model whose restatements lie at 0.3 and whose other pairs lie at 0.1.
    rows = [
        pair(same, (0.3 if same else 0.1) + step / 1000, source)
        for source in "abc"
        for same in (False, True)
        for step in range(40)
    ]
    found = calibrated(rows, MODEL, 0.005, None).calibration
    assert found.weights != HAND
    assert (found.false_merge_rate, found.duplicate_recall) == (0.0, 1.0)


def shares(p: list[float], same: list[bool], at_least: float) -> tuple[float, float]:
    """False merges and recall, counted one by one."""
    different = [value for value, label in zip(p, same, strict=True) if not label]
    alike = [value for value, label in zip(p, same, strict=True) if label]
    return (
        sum(other >= at_least for other in different) / max(1, len(different)),
        sum(value >= at_least for value in alike) / max(1, len(alike)),
    )


@pytest.mark.parametrize("seed", range(20))
def test_threshold_keeps_the_budget_with_the_highest_recall(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 60))
    p = generator.choice([-1.0, math.inf, *generator.random(8)], n)
    same = generator.random(n) < 0.5
    budget = float(generator.choice([0.0, 0.05, 0.2]))
    at_least = threshold(p, same, budget)
    merges, recall = shares(p.tolist(), same.tolist(), at_least)
    possible = [
        shares(p.tolist(), same.tolist(), other)
        for other in (*p[np.isfinite(p) & (p >= 0.5)].tolist(), 1.0)
    ]
    within = [found for found in possible if found[0] <= budget]
    assert 0.5 <= at_least <= 1.0
    if within:
        assert merges <= budget
        assert recall == max(found[1] for found in within)
    else:
        assert merges == min(found[0] for found in possible)


def test_threshold_is_an_even_chance_at_least() -> None:
    assert threshold(np.array([0.1, 0.3]), np.array([False, True]), 0.0) == 0.5


def test_figures_count_by_class_and_leave_out_what_is_only_told() -> None:
    rows = [
        *[pair(True, 0.95)] * 6,
        *[pair(False, 0.3)] * 4,
        *[kept()] * 90,
        Labelled("same words", "en", "one", same=True, counts=True, features=None, merged=True),
        *[kept("told", same=True, counts=False)] * 5,
    ]
    found = calibrated(rows, MODEL, 0.005, 7)
    made = found.calibration
    assert (made.model, made.false_merge_budget, made.created_us) == (MODEL, 0.005, 7)
    assert made.pair_count == 101
    assert (made.false_merge_rate, made.duplicate_recall) == (0.0, 1.0)
    by_name = {figures.name: figures for figures in found.classes}
    assert (by_name["class"].same_count, by_name["class"].found_count) == (6, 6)
    assert (by_name["class"].different_count, by_name["class"].merged_count) == (94, 0)
    assert (by_name["told"].same_count, by_name["told"].found_count) == (5, 0)
    assert by_name["same words"].found_count == 1


def test_curve_rises_in_threshold_falls_in_both_rates_and_holds_what_was_chosen() -> None:
    found = calibrated(drawn(900, 9.0, -4.0), MODEL, 0.01, None)
    thresholds = [point.at_least for point in found.curve]
    assert 2 < len(thresholds) <= limits.CURVE_POINTS_MAX
    assert thresholds == sorted(set(thresholds))
    for name in ("false_merge_rate", "duplicate_recall"):
        values = [getattr(point, name) for point in found.curve]
        assert values == sorted(values, reverse=True), name
    chosen = found.calibration
    [point] = [item for item in found.curve if item.at_least == chosen.weights.at_least]
    assert point.false_merge_rate == chosen.false_merge_rate <= 0.01
    assert point.duplicate_recall == chosen.duplicate_recall


def test_pairs_are_read_as_the_guard_reads_them() -> None:
    assert labelled("Ann manages Bob", "ann manages Bob!", 0.5, True).merged
    reworded = labelled("Ann manages Bob", "Bob is managed by Ann", 0.9, True)
    assert reworded.features is not None
    assert (reworded.features.cosine, reworded.merged) == (0.9, False)
    other = labelled("The port is 8080", "The port is 8081", 0.99, False)
    assert (other.features, other.merged) == (None, False)


def test_shipped_weights_are_for_the_bundled_model_alone() -> None:
    [shipped] = SHIPPED
    assert weights_for(None, shipped.model) is shipped.weights
    assert weights_for(None, MODEL) is not shipped.weights
    assert 0.5 <= shipped.weights.at_least <= 1.0
    assert shipped.false_merge_rate <= shipped.false_merge_budget


def test_probe_set_has_every_class_in_every_language() -> None:
    pairs = probe_pairs()
    assert len({pair.id for pair in pairs}) == len(pairs)
    names = {pair.name for pair in pairs}
    assert len(names) == CLASSES
    assert names > REPORTED_ONLY
    for language in LANGUAGES:
        for name in names:
            found = [pair for pair in pairs if (pair.language, pair.name) == (language, name)]
            assert len(found) >= PAIRS_MIN, (language, name)
            assert all(pair.id.startswith(f"{language}-{name}-") for pair in found)
