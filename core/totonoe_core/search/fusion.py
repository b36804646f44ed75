"""One order out of several rankings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RRF_K = 5
"""Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet" (2009). Their 60
is for many rankings: with two it lets a middling place in both beat the first in one, and costs
5 points of recall@5 (docs/quality.md)."""


def reciprocal_rank(
    rankings: Sequence[NDArray[np.int64]], weights: Sequence[float]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Slots by the sum of weight / (RRF_K + rank) over the rankings, ties by slot.

    Returns
    -------
    slots : int64[m]
        Every slot of any ranking once, best first.
    fused : float64[m]
        Their sums, descending.
    """
    slots = np.unique(np.concatenate(rankings)) if rankings else np.zeros(0, np.int64)
    fused = np.zeros(len(slots))
    for ranking, weight in zip(rankings, weights, strict=True):
        places = np.searchsorted(slots, ranking)
        fused[places] += weight / (RRF_K + 1.0 + np.arange(len(ranking)))
    order = np.lexsort((slots, -fused))
    return slots[order], fused[order]


def ranks(ranking: NDArray[np.int64], slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rank from 1 of each slot in a ranking; 0 where it is not in it."""
    places = {int(slot): rank for rank, slot in enumerate(ranking, 1)}
    return np.array([places.get(int(slot), 0) for slot in slots], np.int64)
