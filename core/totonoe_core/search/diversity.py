"""Diversity of answers: maximal marginal relevance and budgets for groups.

Carbonell and Goldstein, "The Use of MMR" (1998). Diversity comes last and only reorders: a group
over its budget waits until the others are served, and takes the places that are left.

Budgets are ordered by importance. At each place only those waiting candidates count that are at
least half as relevant as the best of them. The first budget narrows them to those that fit it, the
second narrows the rest, and so on. A budget that none of them fits is skipped at that place, and
the others hold: the least important one gives way first. So a group that all waiting candidates
share blocks nobody, and no budget lets an unrelated memory pass a related one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.queries import DiversityEffect

NEAR_FROM = 0.8
"""Similarity below which nearness costs nothing: memories on one topic are often the rest of the
answer. Measured (docs/quality.md).
"""

RELEVANCE_SHARE_MIN = 0.5
"""No candidate passes another that is more than twice as relevant."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Answer of `spread`.

    Attributes
    ----------
    picked : list of int
        Places of the candidates, in their new order.
    effects : list of DiversityEffect
        Effect on each picked one.
    budgets : int64[n]
        For each candidate the group that last kept it waiting, by its place in `groups`, or -1.
    """

    picked: list[int]
    effects: list[DiversityEffect]
    budgets: NDArray[np.int64]


def spread(
    relevance: NDArray[np.float64],
    vectors: NDArray[np.float32],
    groups: Sequence[tuple[NDArray[np.int64], float]],
    mmr_lambda: float,
    k: int,
) -> Spread:
    """Pick k of n candidates.

    Parameters
    ----------
    relevance : float64[n]
        Relevance to the query: descending, at least 0.
    vectors : float32[n, dim]
        Unit vectors.
    groups : sequence of (int64[n], float)
        Budgets, the most important first: a group code for each candidate (negative: in no
        group), and the share of the k places that one group may take while others wait.
    mmr_lambda : float
        Weight of relevance against nearness to picked candidates, which counts from NEAR_FROM on.
    """
    n = len(relevance)
    k = min(k, n)
    relative = relevance / relevance[0] if n and relevance[0] else relevance
    nearest = np.zeros(n)
    waiting = np.ones(n, np.bool_)
    limits = [max(1, math.ceil(share * k)) for _, share in groups]
    taken: list[dict[int, int]] = [{} for _ in groups]
    full: dict[int, NDArray[np.bool_]] = {}
    budgets = np.full(n, -1, np.int64)
    picked: list[int] = []
    for _ in range(k):
        best_waiting = relevance[np.argmax(waiting)]
        open_, kept = _open(waiting & (relevance >= RELEVANCE_SHARE_MIN * best_waiting), full)
        repeats = np.maximum(0.0, nearest - NEAR_FROM) / (1.0 - NEAR_FROM)
        gain = np.where(open_, mmr_lambda * relative - (1.0 - mmr_lambda) * repeats, -np.inf)
        best = int(np.argmax(gain))
        for number, without in kept:
            # Only those that would have come first without the budget.
            budgets[:best][without[:best]] = number
        picked.append(best)
        waiting[best] = False
        np.maximum(nearest, vectors @ vectors[best], out=nearest)
        for number, (codes, _) in enumerate(groups):
            code = int(codes[best])
            if code < 0:
                continue
            taken[number][code] = taken[number].get(code, 0) + 1
            if taken[number][code] == limits[number]:
                full[number] = full.get(number, False) | (codes == code)
    effects = [_effect(place, one, budgets) for place, one in enumerate(picked)]
    return Spread(picked, effects, budgets)


def _open(
    waiting: NDArray[np.bool_], full: Mapping[int, NDArray[np.bool_]]
) -> tuple[NDArray[np.bool_], list[tuple[int, NDArray[np.bool_]]]]:
    """Return the candidates that may be picked now: bool[n]; and those that budgets keep waiting.

    `full` maps a budget's place to the candidates whose group has no place left; absent if none.
    """
    open_, kept = waiting, []
    for number in sorted(full):
        fits = open_ & ~full[number]
        if fits.any():
            kept.append((number, open_ & full[number]))
            open_ = fits
    return open_, kept


def _effect(place: int, candidate: int, budgets: NDArray[np.int64]) -> DiversityEffect:
    if candidate > place:
        return DiversityEffect.RAISED
    if candidate == place:
        return DiversityEffect.NONE
    return DiversityEffect.OVER_BUDGET if budgets[candidate] >= 0 else DiversityEffect.LOWERED
