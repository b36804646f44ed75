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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.queries import DiversityEffect
from totonoe_core.kernels.diversity import pick

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
    codes = np.empty((len(groups), n), np.int64)
    for at, (of_group, _) in enumerate(groups):
        codes[at] = of_group
    allowed = np.array([max(1, math.ceil(share * k)) for _, share in groups], np.int64)
    places, budgets = np.empty(k, np.int64), np.full(n, -1, np.int64)
    pick(
        relevance,
        vectors,
        codes,
        allowed,
        mmr_lambda,
        NEAR_FROM,
        RELEVANCE_SHARE_MIN,
        places,
        budgets,
    )
    picked = places.tolist()
    effects = [_effect(place, choice, budgets) for place, choice in enumerate(picked)]
    return Spread(picked, effects, budgets)


def _effect(place: int, candidate: int, budgets: NDArray[np.int64]) -> DiversityEffect:
    if candidate > place:
        return DiversityEffect.RAISED
    if candidate == place:
        return DiversityEffect.NONE
    return DiversityEffect.OVER_BUDGET if budgets[candidate] >= 0 else DiversityEffect.LOWERED
