"""Fading confidence against the formula, a memory at a time."""

from __future__ import annotations

import numpy as np
import pytest

from support.engines import DAY_US, NOON
from totonoe_core.decay import effective_confidence
from totonoe_core.guard.policy import DecayPolicy


def expected(base: float, days: float, policy: DecayPolicy) -> float:
    if days <= policy.min_interval_days:
        return base
    return max(min(base, policy.floor), base * (1.0 - policy.rate_per_day) ** days)


def fade(base: float, days: float, policy: DecayPolicy | None = None) -> float:
    since = np.array([NOON - round(days * DAY_US)], np.int64)
    found = effective_confidence(np.array([base]), since, policy or DecayPolicy(), NOON)
    return float(found[0])


@pytest.mark.parametrize("base", [0.0, 0.04, 0.05, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("days", [0, 0.5, 1, 1.001, 7, 30, 90, 180, 365, 36500])
@pytest.mark.parametrize(
    "policy",
    [DecayPolicy(), DecayPolicy(0.0, 0.0, 0.0), DecayPolicy(1.0, 0.0, 0.2), DecayPolicy(0.5, 7, 0)],
)
def test_fading_follows_the_formula(base: float, days: float, policy: DecayPolicy) -> None:
    assert fade(base, days, policy) == pytest.approx(expected(base, days, policy), rel=1e-12)


def test_age_below_zero_counts_as_now() -> None:
    for days in (-0.001, -1, -400, -(10**6)):
        assert fade(0.7, days) == 0.7


def test_fading_never_raises_and_never_falls_below_floor_or_base() -> None:
    rng = np.random.default_rng(5)
    base, days = rng.random(500), rng.random(500) * 2000 - 100
    since = NOON - (days * DAY_US).astype(np.int64)
    policy = DecayPolicy()
    found = effective_confidence(base, since, policy, NOON)
    assert (found <= base).all(), "seed 5"
    assert (found >= np.minimum(base, policy.floor)).all(), "seed 5"
    later = effective_confidence(base, since, policy, NOON + DAY_US)
    assert (later <= found).all(), "seed 5"


def test_fading_asked_often_is_fading_asked_once() -> None:
    """002 writes the result back; fifteen daily runs would take 0.9 below 0.3."""
    for day in range(1, 16):
        fade(0.9, day)
    assert fade(0.9, 15) == pytest.approx(0.9 * 0.99**15, rel=1e-12)


def test_threshold_of_the_source_is_reached_after_109_days() -> None:
    assert fade(0.9, 109) > 0.3 > fade(0.9, 110)
