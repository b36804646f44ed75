"""Jaccard similarity of token sets: |A and B| / |A or B|, in [0, 1], and 0 if both are empty.

An empty set is no evidence: with similarity 1 every text of a script the tokenizer does not
know would be a duplicate of every other. Sets are ascending, unique token hashes
(`text.tokens.token_hashes`); many of them form CSR rows `values[indptr[i]:indptr[i + 1]]`.

Oracles: `tests/support/oracles.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.flags import (
    float64_out,
    int32_in,
    int32_out,
    int64_in,
    kernel,
    uint64_in,
)

Float64 = npt.NDArray[np.float64]
UInt64 = npt.NDArray[np.uint64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


ROUNDING = 1e-6
"""Slack on a needed overlap, far above the rounding of a product and far below 1."""


@kernel(types.int64(types.int64, types.float64), exact=True)
def overlap_needed(sizes: int, share: float) -> int:
    """Return the least overlap of sets whose Jaccard similarity is above t, or one fewer.

    common > share * sizes with share = t / (1 + t) and both sizes added, or share = t and the
    size of one. `ROUNDING` makes it at most one too low, never too high.
    """
    return max(1, int(np.floor(share * sizes - ROUNDING)) + 1)


@kernel(types.int64(uint64_in, types.int64, types.int64, uint64_in, types.int64), exact=True)
def _common(values: UInt64, start: int, end: int, query: UInt64, needed: int) -> int:
    """Return the size of the intersection, or -1 as soon as it cannot reach `needed`."""
    common = 0
    left, right = start, 0
    query_size = query.shape[0]
    while left < end and right < query_size:
        if common + min(end - left, query_size - right) < needed:
            return -1
        a, b = values[left], query[right]
        common += a == b
        left += a <= b
        right += b <= a
    return common


@kernel(types.float64(uint64_in, uint64_in), exact=True)
def jaccard_pair(a: UInt64, b: UInt64) -> float:
    """Jaccard similarity of two token sets.

    Parameters
    ----------
    a, b : uint64[n], uint64[m]
        Ascending, unique.

    Returns
    -------
    float64
        In [0, 1]; 0.0 if either is empty.
    """
    common = _common(a, 0, a.shape[0], b, 0)
    union = a.shape[0] + b.shape[0] - common
    return common / union if union > 0 else 0.0


@kernel(
    types.int64(
        int64_in,
        uint64_in,
        int32_in,
        int32_in,
        types.int64,
        uint64_in,
        types.float64,
        int32_out,
        float64_out,
    ),
    exact=True,
)
def rows_above(
    indptr: Int64,
    values: UInt64,
    rows: Int32,
    shared: Int32,
    more: int,
    query: UInt64,
    threshold: float,
    out_rows: Int32,
    out_similarity: Float64,
) -> int:
    """Find those of some rows whose Jaccard similarity to a query is above a threshold.

    docs/sources.md, 002, Layer 2 compares with `>`.

    Parameters
    ----------
    indptr : int64[n + 1]
        Row bounds into `values`; ascending.
    values : uint64[nnz]
        Ascending and unique inside each row.
    rows : int32[m]
        Row numbers in [0, n), in any order. Not checked.
    shared, more : int32[m], int64
        A row has at most `shared` + `more` tokens in common with the query.
    query : uint64[q]
        Ascending, unique; an empty one finds nothing.
    threshold : float64
        In [0, 1).
    out_rows, out_similarity : int32[m], float64[m]
        Receive the rows above the threshold, in the order of `rows`, and their similarities, the
        same bits as `jaccard_pair`.

    Returns
    -------
    int
        count, how many places were filled.
    """
    count = 0
    query_size = query.shape[0]
    share = threshold / (1.0 + threshold)
    for at in range(rows.shape[0]):
        start, end = indptr[rows[at]], indptr[rows[at] + 1]
        size = end - start
        needed = overlap_needed(size + query_size, share)
        if min(size, query_size, shared[at] + more) < needed:
            continue
        common = _common(values, start, end, query, needed)
        if common < 0:
            continue
        similarity = common / (size + query_size - common)
        if similarity > threshold:
            out_rows[count] = rows[at]
            out_similarity[count] = similarity
            count += 1
    return count
