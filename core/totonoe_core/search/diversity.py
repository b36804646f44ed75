"""Spreading the answers: maximal marginal relevance and budgets for groups.

Carbonell and Goldstein, "The Use of MMR" (1998); budgets as in 004, layer A. Diversity
comes last and only reorders: a group over its budget waits until the others are served,
and takes the places that are then still free.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from totonoe_core.queries import DiversityEffect

NEAR_FROM = 0.8
"""Nearness below this costs nothing: what is merely about the same is often the rest of the
answer. Measured (docs/quality.md)."""

STRENGTH_SHARE_MIN = 0.5
"""Nobody passes a candidate more than twice as strong. Ranks alone do not tell the third of three
good ones from the third where only two are any good."""


def spread(
    relevance: NDArray[np.float64],
    strength: NDArray[np.float64],
    vectors: NDArray[np.float32],
    groups: Sequence[tuple[NDArray[np.int64], float]],
    mmr_lambda: float,
    k: int,
) -> tuple[list[int], list[DiversityEffect]]:
    """Picks k of n candidates.

    Parameters
    ----------
    relevance : float64[n]
        Descending, positive.
    strength : float64[n]
        How well each fits the query by its own measure, 0..1.
    vectors : float32[n, dim]
        Unit vectors.
    groups : sequence of (int64[n], float)
        A group code for each candidate (negative: in no group), and the share of the k
        places that one group may take while others wait.
    mmr_lambda : float
        Weight of relevance against nearness to what is picked already; nearness counts from
        NEAR_FROM on.

    Returns
    -------
    picked : list of int
        Places of the candidates, in their new order.
    effects : list of DiversityEffect
        What became of each picked one.
    """
    n = len(relevance)
    k = min(k, n)
    relative = relevance / relevance[0] if n else relevance
    nearest = np.zeros(n)
    waiting = np.ones(n, np.bool_)
    limits = [max(1, math.ceil(share * k)) for _, share in groups]
    taken: list[dict[int, int]] = [{} for _ in groups]
    blocked = np.zeros(n, np.bool_)
    was_blocked = np.zeros(n, np.bool_)
    picked: list[int] = []
    for _ in range(k):
        open_ = waiting & ~blocked
        if not open_.any():
            open_ = waiting
        first = int(np.argmax(open_))
        open_ = open_ & (strength >= STRENGTH_SHARE_MIN * strength[first])
        repeats = np.maximum(0.0, nearest - NEAR_FROM) / (1.0 - NEAR_FROM)
        gain = np.where(open_, mmr_lambda * relative - (1.0 - mmr_lambda) * repeats, -np.inf)
        best = int(np.argmax(gain))
        if blocked.any():
            # Who would have come first but for the budget is told so.
            ahead = waiting & blocked & (np.arange(n) < best)
            was_blocked |= ahead
        picked.append(best)
        waiting[best] = False
        np.maximum(nearest, vectors @ vectors[best], out=nearest)
        for number, (codes, _) in enumerate(groups):
            code = int(codes[best])
            if code < 0:
                continue
            taken[number][code] = taken[number].get(code, 0) + 1
            if taken[number][code] >= limits[number]:
                blocked |= codes == code
    effects = []
    for place, candidate in enumerate(picked):
        if candidate > place:
            effect = DiversityEffect.RAISED
        elif candidate == place:
            effect = DiversityEffect.NONE
        elif was_blocked[candidate]:
            effect = DiversityEffect.OVER_BUDGET
        else:
            effect = DiversityEffect.LOWERED
        effects.append(effect)
    return picked, effects
