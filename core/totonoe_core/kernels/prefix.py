"""Threshold scan with a bound from a rotated prefix: 32 products rule out most rows.

Rows and query are written in an orthonormal basis whose first LEAD directions carry most of their
length; only the length of the rest is kept. `index/prefix.py` says why no row that reaches the
threshold can be missed. Oracles: `tests/support/oracles.py` (`split`, `rows_at_least`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.cosine import _dot
from totonoe_core.kernels.flags import (
    block_in,
    block_out,
    float32_in,
    float32_out,
    int32_out,
    kernel,
    uint8_in,
)

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]
UInt8 = npt.NDArray[np.uint8]

LEAD = 32
"""Columns of each half of the prefix. A constant of the kernels, so that their loops unroll."""
WIDTH = 2 * LEAD

_UP = 1.0 + 2.0**-22
"""Raises a length by more than its rounding to float32 can lower it."""


@kernel(types.float32(types.float64), exact=True)
def _length(squared: float) -> np.float32:
    """Return an upper bound of the square root of a sum of squares: float32, rounded up."""
    return np.float32(np.sqrt(squared) * _UP)


@kernel(types.void(block_in, block_in, block_out, block_out, float32_out, float32_out))
def split_rows(
    block: Float32,
    basis: Float32,
    out_lead: Float32,
    out_rest: Float32,
    out_lead_residual: Float32,
    out_residual: Float32,
) -> None:
    """Compute coordinates of rows in a basis, and the lengths of the rest.

    Costs 2 * WIDTH * dim products in float64 for each row.

    Parameters
    ----------
    block : float32[n, dim]
        C order, finite.
    basis : float32[64, dim]
        Orthonormal rows, or zero rows where dim is below 64.
    out_lead, out_rest : float32[n, 32]
        Receive the coordinates along the first 32 and the other 32 directions.
    out_lead_residual, out_residual : float32[n]
        Receive |x - (lead as stored, turned back)| and |x - (both as stored, turned back)|:
        summed from the difference itself in float64 and rounded up. One minus the squared
        length of the prefix would cancel to noise where the residual is short.
    """
    dim = block.shape[1]
    left = np.empty(dim, np.float64)
    for row in range(block.shape[0]):
        for column in range(dim):
            left[column] = block[row, column]
        for half in range(2):
            out = out_lead if half == 0 else out_rest
            for at in range(LEAD):
                direction = half * LEAD + at
                total = 0.0
                for column in range(dim):
                    total += left[column] * basis[direction, column]
                out[row, at] = np.float32(total)
                stored = np.float64(out[row, at])
                for column in range(dim):
                    left[column] -= stored * basis[direction, column]
            squared = 0.0
            for column in range(dim):
                squared += left[column] * left[column]
            if half == 0:
                out_lead_residual[row] = _length(squared)
            else:
                out_residual[row] = _length(squared)


@kernel(
    types.int64(
        block_in,
        float32_in,
        block_in,
        float32_in,
        block_in,
        uint8_in,
        float32_in,
        types.float32,
        float32_in,
        types.float32,
        float32_in,
        types.float32,
        types.float32,
        int32_out,
        float32_out,
    )
)
def scan_reaching(
    lead: Float32,
    lead_residual: Float32,
    rest: Float32,
    residual: Float32,
    block: Float32,
    mask: UInt8,
    query_lead: Float32,
    query_lead_residual: float,
    query_rest: Float32,
    query_residual: float,
    query: Float32,
    threshold: float,
    slack: float,
    out_rows: Int32,
    out_similarity: Float32,
) -> int:
    """Find rows of one block whose similarity may reach `threshold`, in up to three checks of each.

    A row goes on while its upper bound is not below threshold - slack: first by 32 coordinates,
    then by 64, last by its float32 similarity.

    Parameters
    ----------
    lead, rest : float32[n, 32]
        Coordinates by `split_rows`, as are the residuals.
    lead_residual, residual : float32[n]
        Lengths left over by 32 and by 64 coordinates.
    block : float32[m, dim]
        C order, the rows themselves, unit norm or zero; m >= n.
    mask : uint8[n]
        Rows with 0 are left out. Its length is the number of rows scanned.
    query_lead, query_lead_residual, query_rest, query_residual : float32[32], float32, ...
        The query, split by the same basis.
    query : float32[dim]
        Finite, unit norm.
    threshold : float32
        Similarity, in [-1, 1].
    slack : float32
        Bound on the errors of the float32 arithmetic and of the basis.
    out_rows : int32[n]
        Receives row numbers, ascending, in its first `count` places.
    out_similarity : float32[n]
        Receives their float32 similarities.

    Returns
    -------
    int
        count, how many places were filled.
    """
    least = threshold - slack
    count = 0
    for row in range(mask.shape[0]):
        along = np.float32(0.0)
        for column in range(LEAD):
            along += lead[row, column] * query_lead[column]
        # Before the mask: nearly every row ends here, and without a branch before it.
        if along + lead_residual[row] * query_lead_residual < least or mask[row] == 0:
            continue
        for column in range(LEAD):
            along += rest[row, column] * query_rest[column]
        if along + residual[row] * query_residual < least:
            continue
        similarity = _dot(block, row, query)
        if similarity >= least:
            out_rows[count] = row
            out_similarity[count] = similarity
            count += 1
    return count


@kernel(
    types.int64(
        block_in,
        float32_in,
        block_in,
        float32_in,
        block_in,
        uint8_in,
        float32_in,
        block_in,
        float32_in,
        block_in,
        types.float32,
        int32_out,
        int32_out,
        float32_out,
    )
)
def keep_reaching(
    along: Float32,
    lead_residual: Float32,
    rest: Float32,
    residual: Float32,
    block: Float32,
    mask: UInt8,
    query_lead_residual: Float32,
    query_rest: Float32,
    query_residual: Float32,
    queries: Float32,
    least: float,
    out_query: Int32,
    out_rows: Int32,
    out_similarity: Float32,
) -> int:
    """Run `scan_reaching` for many queries, given their products with the first 32 coordinates.

    Parameters
    ----------
    along : float32[n, m]
        lead @ query_lead.T: rows by queries. A matrix product of BLAS.
    lead_residual, rest, residual, block, mask
        As `scan_reaching` takes them; n rows.
    query_lead_residual, query_rest, query_residual : float32[m], float32[m, 32], float32[m]
        The queries, split by the same basis.
    queries : float32[m, dim]
        Finite, unit norm.
    least : float32
        Threshold without the slack.
    out_query, out_rows, out_similarity : int32[n * m], int32[n * m], float32[n * m]
        Receive the pairs, by rows and then by queries, in their first `count` places.

    Returns
    -------
    int
        count, how many places were filled.
    """
    count = 0
    for row in range(along.shape[0]):
        # Counted, not branched on: nearly every row ends here.
        far = lead_residual[row]
        reaching = np.int32(0)
        for query in range(along.shape[1]):
            reaching += np.int32(along[row, query] + far * query_lead_residual[query] >= least)
        if reaching == 0 or mask[row] == 0:
            continue
        for query in range(along.shape[1]):
            bound = along[row, query]
            if bound + far * query_lead_residual[query] < least:
                continue
            for column in range(LEAD):
                bound += rest[row, column] * query_rest[query, column]
            if bound + residual[row] * query_residual[query] < least:
                continue
            similarity = _dot(block, row, queries[query])
            if similarity >= least:
                out_query[count] = query
                out_rows[count] = row
                out_similarity[count] = similarity
                count += 1
    return count
