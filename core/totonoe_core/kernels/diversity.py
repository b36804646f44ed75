"""Choice of k candidates by maximal marginal relevance and budgets; see `search/diversity.py`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.flags import (
    block_in,
    float64_in,
    int64_in,
    int64_out,
    kernel,
)

Bool = npt.NDArray[np.bool_]
Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

_codes_in = types.Array(types.int64, 2, "C", readonly=True)
_flags_out = types.Array(types.bool_, 2, "C")


@kernel(types.float32(block_in, types.int64, types.int64))
def _dot(block: Float32, one: int, other: int) -> np.float32:
    total = np.float32(0.0)
    for column in range(block.shape[1]):
        total += block[one, column] * block[other, column]
    return total


@kernel(types.void(_codes_in, int64_in, types.int64, int64_in, types.int64, _flags_out))
def _take(codes: Int64, allowed: Int64, best: int, picked: Int64, count: int, full: Bool) -> None:
    """Mark the groups of which the picked ones, `best` the last, now fill the allowed places."""
    for group in range(codes.shape[0]):
        code = codes[group, best]
        taken = 0
        for place in range(count):
            taken += codes[group, picked[place]] == code
        if code >= 0 and taken == allowed[group]:
            for other in range(codes.shape[1]):
                full[group, other] |= codes[group, other] == code


@kernel(
    types.void(
        float64_in,
        block_in,
        _codes_in,
        int64_in,
        types.float64,
        types.float64,
        types.float64,
        int64_out,
        int64_out,
    )
)
def pick(
    relevance: Float64,
    vectors: Float32,
    codes: Int64,
    allowed: Int64,
    mmr_lambda: float,
    near_from: float,
    share_min: float,
    picked: Int64,
    budgets: Int64,
) -> None:
    """Pick candidates one after the other.

    Parameters
    ----------
    relevance : float64[n]
        Descending, at least 0.
    vectors : float32[n, dim]
        Unit vectors.
    codes : int64[groups, n]
        Group of each candidate for each budget, the most important budget first; negative: none.
    allowed : int64[groups]
        Places that one group may take while others wait, at least 1.
    mmr_lambda : float
        Weight of relevance against nearness to picked candidates.
    near_from : float
        Similarity, below 1, from which nearness counts.
    share_min : float
        A candidate that is less relevant than this share of the best waiting one is not open.
    picked : int64[k]
        Receives places of candidates in the order of the choice; k is at most n.
    budgets : int64[n]
        Receives the budget that last kept a candidate waiting that would else have been picked;
        others keep their value.
    """
    n, groups = codes.shape[1], codes.shape[0]
    best_of_all = relevance[0] if n and relevance[0] > 0.0 else 1.0
    waiting, full = np.ones(n, np.bool_), np.zeros((groups, n), np.bool_)
    nearest, compared = np.zeros(n, np.float32), np.zeros(n, np.int64)
    kept = np.empty(n, np.int64)
    first = 0
    for count in range(picked.shape[0]):
        while not waiting[first]:
            first += 1
        end = first
        while end < n and relevance[end] >= share_min * relevance[first]:
            kept[end] = -1 if waiting[end] else groups
            end += 1
        for group in range(groups):
            fits = False
            for candidate in range(first, end):
                fits |= kept[candidate] == -1 and not full[group, candidate]
            if fits:
                for candidate in range(first, end):
                    if kept[candidate] == -1 and full[group, candidate]:
                        kept[candidate] = group
        best, best_gain = -1, 0.0
        for candidate in range(first, end):
            if kept[candidate] != -1:
                continue
            for place in range(compared[candidate], count):
                nearest[candidate] = max(
                    nearest[candidate], _dot(vectors, candidate, picked[place])
                )
            compared[candidate] = count
            repeats = max(0.0, nearest[candidate] - near_from) / (1.0 - near_from)
            gain = mmr_lambda * relevance[candidate] / best_of_all - (1.0 - mmr_lambda) * repeats
            if best < 0 or gain > best_gain:
                best, best_gain = candidate, gain
        # Only those that would have come first without the budget.
        for candidate in range(first, best):
            if 0 <= kept[candidate] < groups:
                budgets[candidate] = kept[candidate]
        picked[count] = best
        waiting[best] = False
        _take(codes, allowed, best, picked, count + 1, full)
