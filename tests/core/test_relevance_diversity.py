"""Relevance, diversity and the order of updates against their definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from support import spreading
from support.engines import unit
from totonoe_core.domain.queries import DiversityEffect
from totonoe_core.search.diversity import spread
from totonoe_core.search.newer import newer_first
from totonoe_core.search.relevance import ranks, relevance


def test_relevance_is_the_weighted_mean_of_what_ran() -> None:
    cosines, coverage = np.array([0.6, -0.4, 0.0]), np.array([0.3, 0.9, 0.0])
    assert relevance(cosines, coverage) == pytest.approx([0.4, 0.6, 0.0])
    assert relevance(cosines, None).tolist() == [0.6, 0.0, 0.0]
    assert relevance(None, coverage).tolist() == [0.3, 0.9, 0.0]


def test_ranks_count_from_one_and_zero_is_absent() -> None:
    ranking = np.array([7, 3, 9], np.int64)
    assert ranks(ranking, [9, 1, 7, 3]) == [3, 0, 1, 2]


@pytest.mark.parametrize("seed", range(40))
def test_spread_picks_as_the_definition_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 40))
    relevance = np.sort(rng.random(count) + 0.1)[::-1].copy()
    vectors = np.array([unit(rng.normal(size=3)) for _ in range(count)])
    # Of some budgets all candidates share one group, as where all were made in one year.
    groups = [
        (
            rng.integers(-1, int(rng.integers(0, 4)), size=count).astype(np.int64),
            float(rng.choice([0.2, 0.5, 0.9, 1.0])),
        )
        for _ in range(int(rng.integers(0, 5)))
    ]
    lambda_ = float(rng.choice([0.0, 0.5, 0.9, 1.0]))
    k = int(rng.integers(1, 25))
    found = spread(relevance, vectors, groups, lambda_, k)
    again = spread(relevance, vectors, groups, lambda_, k)
    assert (found.picked, found.effects) == (again.picked, again.effects)
    plain_groups = [(codes.tolist(), share) for codes, share in groups]
    plain = (relevance.tolist(), vectors.tolist(), plain_groups)
    picked, kept_waiting = spreading.spread(*plain, lambda_, k)
    assert found.picked == picked, f"seed {seed}"
    over = {number for place in kept_waiting for number in place}
    assert set(np.flatnonzero(found.budgets >= 0).tolist()) == over
    assert len(set(picked)) == len(picked) == len(found.effects) == min(k, count)
    for place, (number, effect) in enumerate(zip(picked, found.effects, strict=True)):
        assert (effect is DiversityEffect.RAISED) is (number > place)
        assert (effect is DiversityEffect.NONE) is (number == place)
        assert (effect is DiversityEffect.OVER_BUDGET) is (number < place and number in over)


def picks(codes: Sequence[Sequence[int]], shares: Sequence[float], k: int) -> list[int]:
    """What engine and twin pick of candidates that differ in rank and groups alone."""
    count = len(codes[0])
    relevance = np.linspace(1.0, 0.9, count)
    vectors = np.eye(count, dtype=np.float32)
    groups = [(np.array(item, np.int64), share) for item, share in zip(codes, shares, strict=True)]
    found = spread(relevance, vectors, groups, 0.7, k)
    plain = [(item, share) for item, share in zip(codes, shares, strict=True)]
    expected, _ = spreading.spread(relevance, vectors.tolist(), plain, 0.7, k)
    assert found.picked == expected
    return found.picked


class TestBudgets:
    """One budget at a time, the most important first; what nobody waiting fits blocks nobody."""

    SAME = (7,) * 20

    def test_a_group_that_all_share_leaves_the_other_budgets_in_force(self) -> None:
        threads = (1,) * 12 + (2,) * 8
        shares = (0.5, 0.5)
        assert picks([self.SAME, threads], shares, 10) == [*range(5), *range(12, 17)]
        assert picks([threads, self.SAME], shares, 10) == [*range(5), *range(12, 17)]

    def test_one_group_alone_takes_all_places(self) -> None:
        assert picks([self.SAME], [0.1], 10) == list(range(10))
        assert picks([self.SAME] * 4, [0.9, 0.9, 0.9, 0.8], 10) == list(range(10))

    def test_where_two_budgets_exclude_each_other_the_more_important_one_holds(self) -> None:
        # Who fits the first budget does not fit the second, and the other way round.
        first = (1, 1, 1, 1, 2, 2)
        second = (5, 5, 6, 6, 5, 5)
        assert picks([first, second], [0.5, 0.5], 4) == [0, 1, 4, 5]
        assert picks([second, first], [0.5, 0.5], 4) == [0, 1, 2, 3]

    def test_the_budget_that_kept_one_waiting_is_named_and_no_other(self) -> None:
        threads = np.array([1, 1, 1, 2], np.int64)
        year = np.zeros(4, np.int64)
        relevance, vectors = np.linspace(1.0, 0.9, 4), np.eye(4, dtype=np.float32)
        found = spread(relevance, vectors, [(year, 0.5), (threads, 0.5)], 0.7, 3)
        assert (found.picked, found.budgets.tolist()) == ([0, 1, 3], [-1, -1, 1, -1])


def test_spread_without_diversity_keeps_the_order() -> None:
    relevance = np.array([1.0, 0.9, 0.8, 0.7])
    vectors = np.tile(unit([1, 0]), (4, 1))
    found = spread(relevance, vectors, [], 1.0, 3)
    assert (found.picked, set(found.effects)) == ([0, 1, 2], {DiversityEffect.NONE})


def test_spread_serves_a_group_over_budget_last_and_says_so() -> None:
    relevance = np.linspace(1.0, 0.5, 6)
    vectors = np.eye(6, dtype=np.float32)
    codes = np.array([1, 1, 1, 1, 2, 2], np.int64)
    found = spread(relevance, vectors, [(codes, 0.5)], 1.0, 6)
    assert found.picked == [0, 1, 2, 4, 5, 3]
    assert found.effects[5] is DiversityEffect.OVER_BUDGET
    assert found.effects[3:5] == [DiversityEffect.RAISED] * 2
    only = spread(relevance[:3], vectors[:3], [(codes[:3], 0.1)], 1.0, 3)
    assert only.picked == [0, 1, 2], "a budget leaves no place empty"


def test_spread_folds_a_repetition_but_passes_nothing_far_weaker() -> None:
    vectors = np.array([unit([1, 0, 0]), unit([1, 0.05, 0]), unit([0, 0, 1])])
    assert spread(np.array([1.0, 0.95, 0.9]), vectors, [], 0.7, 3).picked == [0, 2, 1]
    assert spread(np.array([1.0, 0.95, 0.02]), vectors, [], 0.7, 3).picked == [0, 1, 2]


def test_spread_lets_no_budget_put_an_unrelated_hit_before_a_related_one() -> None:
    relevance = np.array([0.9, 0.8, 0.7, 0.02, 0.01])
    vectors, codes = np.eye(5, dtype=np.float32), np.array([1, 1, 1, 2, 2], np.int64)
    assert spread(relevance, vectors, [(codes, 0.2)], 0.7, 5).picked == [0, 1, 2, 3, 4]


def test_spread_of_nothing_is_nothing() -> None:
    found = spread(np.zeros(0), np.zeros((0, 4), np.float32), [], 0.9, 5)
    assert (found.picked, found.effects) == ([], [])


def arranged(
    hits: Sequence[int],
    k: int,
    updated_by: dict[int, list[int]],
    relevance: Sequence[float] = (1.0,) * 8,
    both_true: Sequence[tuple[int, int]] = (),
) -> list[int]:
    """Places after `newer_first`; slot n is 10 times its place."""
    slots = np.arange(8, dtype=np.int64) * 10
    asked: list[int] = []

    def read(wanted: np.ndarray) -> dict[int, list[int]]:
        asked.extend(wanted.tolist())
        return {
            int(slot): [10 * by for by in updated_by[int(slot) // 10]]
            for slot in wanted
            if int(slot) // 10 in updated_by
        }

    def replaces(newer: int, older: int) -> bool:
        return (newer // 10, older // 10) not in both_true

    plain = [(place, DiversityEffect.NONE) for place in hits]
    found = newer_first(slots, np.array(relevance), plain, k, read, replaces)
    assert len(asked) == len(set(asked)), "each candidate is read at most once"
    moved = [place for place, effect in found if effect is DiversityEffect.NEWER]
    assert all(any(place in by for by in updated_by.values()) for place in moved)
    return [place for place, _ in found]


def test_newer_hit_stands_before_what_it_updates() -> None:
    assert arranged([0, 1, 2], 3, {}) == [0, 1, 2]
    assert arranged([0, 1, 2], 3, {0: [2]}) == [2, 0, 1]
    assert arranged([0, 1, 2], 3, {2: [0]}) == [0, 1, 2]
    assert arranged([0, 1, 2], 3, {0: [1], 1: [2]}) == [2, 1, 0]


def test_newer_candidate_that_was_no_hit_takes_the_place_of_the_last() -> None:
    assert arranged([0], 1, {0: [3]}) == [3]
    assert arranged([0, 1], 2, {0: [3], 3: [5]}) == [5, 3]
    assert arranged([0, 1], 2, {0: [99]}) == [0, 1], "what is no candidate does not come"


def test_newer_hit_that_fits_worse_or_replaces_nothing_stays_where_it_is() -> None:
    fits = [1.0, 0.9, 0.75, 0.74, 0.1, 0.1, 0.1, 0.1]
    assert arranged([0, 1, 2, 3], 4, {0: [2]}, fits) == [2, 0, 1, 3]
    assert arranged([0, 1, 2, 3], 4, {0: [3]}, fits) == [0, 1, 2, 3]
    assert arranged([0, 1], 2, {0: [4]}, fits) == [0, 1]
    assert arranged([0, 1, 2], 3, {0: [1], 1: [2]}, both_true=[(1, 0)]) == [0, 2, 1]


def test_updates_in_a_circle_keep_the_first_hit_that_is_reached() -> None:
    assert arranged([0, 1], 2, {0: [1], 1: [0]}) == [1, 0]
    assert arranged([0, 1, 2], 3, {0: [1], 1: [2], 2: [0]}) == [2, 1, 0]
