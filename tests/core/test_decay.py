"""Fading confidence against the formula, a memory at a time."""

from __future__ import annotations

import numpy as np
import pytest

from support.engines import DAY_US, NOON
from totonoe_core.domain.decay import Columns, effective_confidence, report
from totonoe_core.domain.policy import DecayPolicy
from totonoe_core.domain.records import Kind, StateKind


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


def columns(base: list[float], ages_days: list[float], last_days: list[float | None]) -> Columns:
    """Memories so many days old, last accessed so many days ago."""
    count = len(base)
    accessed = np.array([last_day is not None for last_day in last_days])
    last = [0 if last_day is None else NOON - round(last_day * DAY_US) for last_day in last_days]
    return Columns(
        base=np.array(base),
        created_us=np.array([NOON - round(age * DAY_US) for age in ages_days], np.int64),
        last_access_us=np.array(last, np.int64),
        accessed=accessed,
        protected=np.array(base) >= 0.95,
        rates=np.full(count, 0.01),
    )


def test_a_report_counts_what_a_loop_over_memories_counts() -> None:
    seeded = np.random.default_rng(4)
    policy = DecayPolicy()
    base = seeded.uniform(0, 1, 300).tolist()
    ages = seeded.uniform(0, 400, 300).tolist()
    never = seeded.uniform(0, 1, 300)
    last = [
        None if item < 0.3 else age * item for item, age in zip(never.tolist(), ages, strict=True)
    ]
    found = report(columns(base, ages, last), policy, NOON, 0.3)
    days = [age if item is None else item for age, item in zip(ages, last, strict=True)]
    effective = [expected(item, day, policy) for item, day in zip(base, days, strict=True)]
    assert found.live_count == 300
    assert found.band_counts == tuple(
        sum(at / 10 <= value < at / 10 + 0.1 or (at == 9 and value == 1.0) for value in effective)
        for at in range(10)
    )
    assert found.faded_count == sum(value < own for value, own in zip(effective, base, strict=True))
    floors = [
        value <= policy.floor and value < own for value, own in zip(effective, base, strict=True)
    ]
    assert found.at_floor_count == sum(floors) > 0
    assert found.below_count == sum(value < 0.3 for value in effective)
    assert found.protected_count == sum(item >= 0.95 for item in base)
    assert found.recalled_count == sum(item is not None and item <= 7 for item in last) > 0
    for ahead, count in found.survival:
        later = [expected(item, day + ahead, policy) for item, day in zip(base, days, strict=True)]
        assert count == sum(value >= 0.3 for value in later)
    assert [ahead for ahead, _ in found.survival] == [7, 30, 90, 180, 365]


def test_a_year_of_runs_each_hour_each_day_or_once_gives_the_same() -> None:
    """What 002 compounds: its 0.9 is below 0.3 on the 15th day with daily runs."""
    base, since = np.linspace(0.0, 1.0, 21), np.full(21, NOON, np.int64)

    def closed(step_hours: int) -> list[int]:
        """The first hour, in whole days, at which each was found below 0.3."""
        found = np.full(21, -1)
        for hour in range(step_hours, 365 * 24 + 1, step_hours):
            now_us = NOON + hour * DAY_US // 24
            effective = effective_confidence(base, since, DecayPolicy(), now_us)
            found[(found < 0) & (effective < 0.3)] = hour
        return found.tolist()

    hourly, daily, once = closed(1), closed(24), closed(365 * 24)
    assert (
        [number >= 0 for number in hourly]
        == [number >= 0 for number in daily]
        == [number >= 0 for number in once]
    )
    # A daily run sees the same a day late at most: nothing fades faster for being looked at.
    assert all(0 <= late - early < 24 for early, late in zip(hourly, daily, strict=True))
    assert hourly[18] == 2624  # 0.9: 109.3 days


def test_what_is_recalled_weekly_keeps_its_confidence() -> None:
    policy, base = DecayPolicy(), np.array([0.9])
    for week in range(52):
        since = np.array([NOON + week * 7 * DAY_US], np.int64)
        at_recall = effective_confidence(base, since, policy, int(since[0]))
        before_next = effective_confidence(base, since, policy, int(since[0]) + 7 * DAY_US)
        assert at_recall[0] == 0.9
        assert before_next[0] == pytest.approx(0.9 * 0.99**7)


def test_kinds_fade_at_rates_of_their_own() -> None:
    policy = DecayPolicy(task_rate_per_day=0.5, event_rate_per_day=0.0)
    assert policy.rate_of(Kind.STATE, StateKind.TASK) == 0.5
    assert policy.rate_of(Kind.STATE, StateKind.FACT) == 0.01
    assert policy.rate_of(Kind.EVENT, StateKind.NONE) == 0.0
    assert policy.rate_of(Kind.AFFECT, StateKind.NONE) == 0.01
    since = np.full(2, NOON - 10 * DAY_US, np.int64)
    found = effective_confidence(np.full(2, 0.8), since, policy, NOON, np.array([0.01, 0.0]))
    assert found.tolist() == [pytest.approx(0.8 * 0.99**10), 0.8]
