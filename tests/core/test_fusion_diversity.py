"""Fusion and diversity against their definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from support.engines import unit
from totonoe_core.queries import DiversityEffect
from totonoe_core.search.diversity import spread
from totonoe_core.search.fusion import RRF_K, ranks, reciprocal_rank


@pytest.mark.parametrize("seed", range(4))
def test_fusion_sums_weighted_reciprocal_ranks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rankings = [rng.permutation(30)[: rng.integers(0, 30)].astype(np.int64) for _ in range(2)]
    weights = [1.0, float(rng.random())]
    slots, fused = reciprocal_rank(rankings, weights)
    sums: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for place, slot in enumerate(ranking.tolist(), 1):
            sums[slot] = sums.get(slot, 0.0) + weight / (RRF_K + place)
    assert set(slots.tolist()) == set(sums), f"seed {seed}"
    for slot, value in zip(slots.tolist(), fused.tolist(), strict=True):
        assert value == pytest.approx(sums[slot], rel=1e-12)
    pairs = list(zip((-fused).tolist(), slots.tolist(), strict=True))
    assert pairs == sorted(pairs), "best first, ties by slot"


def test_fusion_of_nothing_is_nothing() -> None:
    slots, fused = reciprocal_rank([], [])
    assert (len(slots), len(fused)) == (0, 0)
    empty = np.zeros(0, np.int64)
    assert len(reciprocal_rank([empty, empty], [1.0, 1.0])[0]) == 0


def test_ranks_count_from_one_and_zero_is_absent() -> None:
    ranking = np.array([7, 3, 9], np.int64)
    assert ranks(ranking, np.array([9, 1, 7, 3])).tolist() == [3, 0, 1, 2]


def naive(
    relevance: Sequence[float],
    strength: Sequence[float],
    vectors: np.ndarray,
    groups: Sequence[tuple[Sequence[int], float]],
    mmr_lambda: float,
    k: int,
) -> list[int]:
    """MMR with budgets, one candidate at a time."""
    k = min(k, len(relevance))
    picked: list[int] = []
    for _ in range(k):
        waiting = [one for one in range(len(relevance)) if one not in picked]
        free = []
        for one in waiting:
            full = False
            for codes, share in groups:
                taken = sum(codes[other] == codes[one] for other in picked)
                full |= codes[one] >= 0 and taken >= max(1, math.ceil(share * k))
            if not full:
                free.append(one)
        best, best_gain = -1, -math.inf
        choice = free or waiting
        for one in choice:
            if strength[one] < 0.5 * strength[choice[0]]:
                continue
            nearest = max([0.0, *(float(vectors[one] @ vectors[other]) for other in picked)])
            repeats = max(0.0, nearest - 0.8) / 0.2
            gain = mmr_lambda * relevance[one] / relevance[0] - (1 - mmr_lambda) * repeats
            if gain > best_gain + 1e-9:
                best, best_gain = one, gain
        picked.append(best)
    return picked


@pytest.mark.parametrize("seed", range(12))
def test_spread_picks_as_the_definition_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 25))
    relevance = np.sort(rng.random(count) + 0.1)[::-1].copy()
    vectors = np.array([unit(rng.normal(size=3)) for _ in range(count)])
    strength = rng.random(count)
    groups = [
        (rng.integers(-1, 3, size=count).astype(np.int64), float(rng.choice([0.2, 0.5, 1.0])))
        for _ in range(2)
    ]
    lambda_ = float(rng.choice([0.0, 0.5, 0.9, 1.0]))
    k = int(rng.integers(1, 15))
    picked, effects = spread(relevance, strength, vectors, groups, lambda_, k)
    plain_groups = [(codes.tolist(), share) for codes, share in groups]
    plain = (relevance.tolist(), strength.tolist(), vectors, plain_groups)
    assert picked == naive(*plain, lambda_, k), f"seed {seed}"
    assert len(set(picked)) == len(picked) == len(effects) == min(k, count)
    for place, (one, effect) in enumerate(zip(picked, effects, strict=True)):
        assert (effect is DiversityEffect.RAISED) is (one > place)
        assert (effect is DiversityEffect.NONE) is (one == place)


def test_spread_without_diversity_keeps_the_order() -> None:
    relevance = np.array([1.0, 0.9, 0.8, 0.7])
    vectors = np.tile(unit([1, 0]), (4, 1))
    picked, effects = spread(relevance, relevance, vectors, [], 1.0, 3)
    assert (picked, set(effects)) == ([0, 1, 2], {DiversityEffect.NONE})


def test_spread_serves_a_group_over_budget_last_and_says_so() -> None:
    relevance = np.linspace(1.0, 0.5, 6)
    vectors = np.eye(6, dtype=np.float32)
    codes = np.array([1, 1, 1, 1, 2, 2], np.int64)
    picked, effects = spread(relevance, relevance, vectors, [(codes, 0.5)], 1.0, 6)
    assert picked == [0, 1, 2, 4, 5, 3]
    assert effects[5] is DiversityEffect.OVER_BUDGET
    assert effects[3:5] == [DiversityEffect.RAISED] * 2
    only, _ = spread(relevance[:3], relevance[:3], vectors[:3], [(codes[:3], 0.1)], 1.0, 3)
    assert only == [0, 1, 2], "a budget leaves no place empty"


def test_spread_folds_a_repetition_but_passes_nothing_far_weaker() -> None:
    vectors = np.array([unit([1, 0, 0]), unit([1, 0.05, 0]), unit([0, 0, 1])])
    relevance = np.array([1.0, 0.95, 0.9])
    good = np.array([0.5, 0.5, 0.4])
    assert spread(relevance, good, vectors, [], 0.7, 3)[0] == [0, 2, 1]
    third_is_nothing = np.array([0.5, 0.5, 0.01])
    assert spread(relevance, third_is_nothing, vectors, [], 0.7, 3)[0] == [0, 1, 2]


def test_spread_of_nothing_is_nothing() -> None:
    picked, effects = spread(np.zeros(0), np.zeros(0), np.zeros((0, 4), np.float32), [], 0.9, 5)
    assert (picked, effects) == ([], [])
