"""Term coverage with what neighbours hold. Oracle: `tests/support/oracles_joins.py`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.flags import (
    float64_in,
    float64_out,
    int32_in,
    int32_out,
    int64_in,
    kernel,
    uint8_in,
)
from totonoe_core.kernels.postings import read_postings, uint8_out

Float64 = npt.NDArray[np.float64]
UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@kernel(
    types.void(
        uint8_in,
        int64_in,
        int32_in,
        float64_in,
        uint8_in,
        int32_in,
        types.Array(types.int32, 2, "C", readonly=True),
        float64_in,
        int32_out,
        uint8_out,
        float64_out,
        float64_out,
    ),
    exact=True,
)
def context_into(
    pool: UInt8,
    heads: Int64,
    limits: Int32,
    factors: Float64,
    mask: UInt8,
    places: Int32,
    near: Int32,
    shares: Float64,
    slots: Int32,
    counts: UInt8,
    held: Float64,
    coverage: Float64,
) -> None:
    """Coverage of memories in which a term of a neighbour counts in part.

    A term counts in full if the memory holds it, else the largest share of a neighbour that holds
    it. The idf, and the order of the operations, are those of `kernels.bm25.bm25_into`: without
    neighbours a memory gets the same bits.

    Parameters
    ----------
    pool, heads, limits, factors, mask : uint8[p], int64[m], int32[m], float64[m], uint8[n]
        As `bm25_into` takes them.
    places : int32[n]
        Place of each slot among the w involved ones, -1 for all others.
    near : int32[w, r]
        Places of each one's neighbours, -1 for none. Nearness is mutual, in the same column or in
        one of the same share.
    shares : float64[r]
        What a term of the neighbour in each column counts, above 0 and below 1.
    slots, counts : int32[max(limits)], uint8[max(limits)]
        Scratch.
    held : float64[w]
        Zero; is zero again afterwards.
    coverage : float64[c]
        Zero; receives the coverage of the first c involved slots, 0 to 1.
    """
    live, size = 0, coverage.shape[0]
    for slot in range(mask.shape[0]):
        live += mask[slot] != 0
    live = max(1, live)
    total = 0.0
    for term in range(limits.shape[0]):
        found = read_postings(pool, heads[term], limits[term], mask, slots, counts)
        idf = factors[term] * np.log1p((live - found + 0.5) / (found + 0.5))
        total += idf
        for at in range(found):
            if places[slots[at]] >= 0:
                held[places[slots[at]]] = 1.0
        # From those that hold it, since most memories are near none.
        for at in range(found):
            place = places[slots[at]]
            for column in range(near.shape[1] if place >= 0 else 0):
                other = near[place, column]
                if other >= 0:
                    held[other] = max(held[other], shares[column])
        for at in range(found):
            place = places[slots[at]]
            if place < 0:
                continue
            if place < size:
                coverage[place] += idf * held[place]
            held[place] = 0.0
            for column in range(near.shape[1]):
                other = near[place, column]
                # One that holds the term has its own turn.
                if other >= 0 and held[other] < 1.0:
                    if other < size:
                        coverage[other] += idf * held[other]
                    held[other] = 0.0
    if total > 0.0:
        for place in range(size):
            coverage[place] /= total
