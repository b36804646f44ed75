"""BM25 over the postings of a query's terms. Oracle: `tests/support/oracles_joins.py`."""

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

K1 = 1.2
B = 0.75


@kernel(
    types.void(
        uint8_in,
        int64_in,
        int32_in,
        float64_in,
        int32_in,
        uint8_in,
        int32_out,
        uint8_out,
        float64_out,
        float64_out,
    ),
    exact=True,
)
def bm25_into(
    pool: UInt8,
    heads: Int64,
    limits: Int32,
    factors: Float64,
    term_counts: Int32,
    mask: UInt8,
    slots: Int32,
    counts: UInt8,
    weight: Float64,
    coverage: Float64,
) -> None:
    """BM25 weight, and share of the query's idf, of every slot.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), §3, with the idf
    log(1 + (N - df + 0.5) / (df + 0.5)), which is never negative. N, df and the mean length are
    those of the slots that pass the mask. Every posting is read: a term that most slots hold
    weighs little, not nothing. Floating-point operations keep their order, so slots of equal
    terms get equal bits.

    Parameters
    ----------
    pool : uint8[p]
        As `append_postings` writes it.
    heads, limits : int64[m], int32[m]
        First slice and number of postings of each distinct term of the query; limit 0 for a
        term without any, which still counts in the coverage.
    factors : float64[m]
        Factor of each term's idf, above 0.
    term_counts : int32[n]
        Number of terms of each slot.
    mask : uint8[n]
        Slots with 0 get nothing.
    slots, counts : int32[max(limits)], uint8[max(limits)]
        Scratch.
    weight, coverage : float64[n]
        Zero; receive the sums. `coverage` is in [0, 1].
    """
    live, length = 0, 0
    for slot in range(mask.shape[0]):
        live += mask[slot] != 0
        length += np.int64(term_counts[slot]) * (mask[slot] != 0)
    live = max(1, live)
    mean = max(1.0, length / live)
    total = 0.0
    for term in range(limits.shape[0]):
        found = read_postings(pool, heads[term], limits[term], mask, slots, counts)
        idf = factors[term] * np.log1p((live - found + 0.5) / (found + 0.5))
        total += idf
        for at in range(found):
            slot = slots[at]
            count = np.float64(counts[at])
            share = 1.0 - B + B * term_counts[slot] / mean
            weight[slot] += idf * count * (K1 + 1.0) / (count + K1 * share)
            coverage[slot] += idf
    if total > 0.0:
        for slot in range(mask.shape[0]):
            coverage[slot] /= total
