"""Similarity of unit vectors: exact scans over one block of rows, and the canonical float64.

Similarity is the dot product of two unit-norm float32 vectors: cosine, in [-1, 1] up to rounding; a
zero vector has similarity 0 to everything. The float32 kernels sum in an order that the compiler
chooses (error below 1e-6 at 512 dimensions) and only find candidates; near a threshold
`similarity64` decides, whose order of summation is fixed.

A scan of 100,000 rows of 512 dimensions costs 8 ms of one thread, and BLAS with a selection in
numpy 10 ms. Oracles: `tests/support/oracles.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.flags import (
    block_in,
    block_out,
    float32_in,
    float32_out,
    float64_out,
    int32_in,
    int32_out,
    kernel,
    uint8_in,
)

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]

_UNIT_TOLERANCE = 2.5e-7
"""Deviation of a squared norm from 1 that float32 rounding of a unit vector explains."""


@kernel(types.float32(block_in, types.int64, float32_in))
def _dot(block: Float32, row: int, query: Float32) -> np.float32:
    total = np.float32(0.0)
    for column in range(query.shape[0]):
        total += block[row, column] * query[column]
    return total


@kernel(types.void(block_in, int32_in, float32_in, float32_out))
def dot_rows(block: Float32, rows: Int32, query: Float32, out: Float32) -> None:
    """Compute the similarity of selected rows to a query.

    Parameters
    ----------
    block : float32[n, dim]
        C order, finite, rows of unit norm or zero.
    rows : int32[m]
        Row numbers in [0, n), in any order, repeats allowed. Not checked.
    query : float32[dim]
        Finite, unit norm.
    out : float32[m]
        Receives the similarities in the order of `rows`.
    """
    for at in range(rows.shape[0]):
        out[at] = _dot(block, rows[at], query)


@kernel(types.int64(block_in, uint8_in, float32_in, types.float32, int32_out, float32_out))
def scan_at_least(
    block: Float32,
    mask: UInt8,
    query: Float32,
    threshold: float,
    out_rows: Int32,
    out_similarity: Float32,
) -> int:
    """Find rows of one block whose similarity to the query is at least `threshold`.

    The caller lowers the threshold by its slack for rounding and decides with `similarity64`.

    Parameters
    ----------
    block : float32[n, dim]
        C order, finite, rows of unit norm or zero.
    mask : uint8[n]
        Rows with 0 are left out.
    query : float32[dim]
        Finite, unit norm.
    threshold : float32
        Similarity, inclusive.
    out_rows : int32[n]
        Receives row numbers, ascending, in its first `count` places.
    out_similarity : float32[n]
        Receives their similarities.

    Returns
    -------
    int
        count, how many places were filled.
    """
    count = 0
    for row in range(mask.shape[0]):
        if mask[row] != 0:
            similarity = _dot(block, row, query)
            if similarity >= threshold:
                out_rows[count] = row
                out_similarity[count] = similarity
                count += 1
    return count


@kernel(
    types.int64(
        block_in,
        uint8_in,
        uint8_in,
        float32_in,
        types.float32,
        int32_out,
        float32_out,
        float32_out,
    )
)
def nearest_rows(
    block: Float32,
    mask: UInt8,
    vectored: UInt8,
    query: Float32,
    slack: float,
    out_rows: Int32,
    similarity: Float32,
    heap: Float32,
) -> int:
    """Find the rows of one block that may be among the nearest to a query by `similarity64`.

    Oracle: `nearest_rows` in `tests/support/oracles.py`. Costs one product for each row.

    Parameters
    ----------
    block : float32[n, dim]
        C order, finite, rows of unit norm or zero.
    mask, vectored : uint8[n]
        Rows with 0 in either are left out.
    query : float32[dim]
        Finite, unit norm.
    slack : float32
        A row is found if at most this much is missing to the last of the nearest by float32.
    out_rows : int32[n]
        Receives row numbers, ascending, in its first `count` places.
    similarity : float32[n]
        Scratch.
    heap : float32[limit]
        Scratch; its length is the number of the nearest.

    Returns
    -------
    int
        count, how many places were filled.
    """
    limit, held, seen = heap.shape[0], 0, 0
    if limit == 0:
        return 0
    for row in range(mask.shape[0]):
        if mask[row] == 0 or vectored[row] == 0:
            continue
        value = _dot(block, row, query)
        out_rows[seen], similarity[seen] = row, value
        seen += 1
        if held < limit:
            at = held
            held += 1
            while at > 0 and heap[(at - 1) // 2] > value:
                heap[at] = heap[(at - 1) // 2]
                at = (at - 1) // 2
            heap[at] = value
        elif value > heap[0]:
            at = 0
            while True:
                below = 2 * at + 1
                if below + 1 < limit and heap[below + 1] < heap[below]:
                    below += 1
                if below >= limit or heap[below] >= value:
                    break
                heap[at] = heap[below]
                at = below
            heap[at] = value
    count = 0
    for at in range(seen):
        if held < limit or similarity[at] >= heap[0] - slack:
            out_rows[count] = out_rows[at]
            count += 1
    return count


@kernel(types.float64(float32_in, float32_in), exact=True)
def similarity64(a: Float32, b: Float32) -> float:
    """Return the dot product in float64, summed from the first column to the last.

    This value decides: it has the same bits for a pair in every batch, thread and machine, and the
    same for (a, b) and (b, a).

    Parameters
    ----------
    a, b : float32[dim]
        Finite, unit norm or zero.

    Returns
    -------
    float64
        In [-1, 1] up to rounding of the inputs; not clamped.
    """
    total = 0.0
    for column in range(a.shape[0]):
        total += np.float64(a[column]) * np.float64(b[column])
    return total


@kernel(types.void(block_in, int32_in, float32_in, float64_out), exact=True)
def similarity64_rows(block: Float32, rows: Int32, query: Float32, out: Float64) -> None:
    """Compute `similarity64` of selected rows to a query, bit for bit.

    Parameters
    ----------
    block : float32[n, dim]
        C order, finite, rows of unit norm or zero.
    rows : int32[m]
        Row numbers in [0, n). Not checked.
    query : float32[dim]
        Finite, unit norm or zero.
    out : float64[m]
        Receives the similarities in the order of `rows`.
    """
    count = rows.shape[0]
    # Four sums at once: each waits for its own last addition, and keeps its order.
    for at in range(0, count - 3, 4):
        one, two, three, four = rows[at], rows[at + 1], rows[at + 2], rows[at + 3]
        sum1, sum2, sum3, sum4 = 0.0, 0.0, 0.0, 0.0
        for column in range(query.shape[0]):
            value = np.float64(query[column])
            sum1 += np.float64(block[one, column]) * value
            sum2 += np.float64(block[two, column]) * value
            sum3 += np.float64(block[three, column]) * value
            sum4 += np.float64(block[four, column]) * value
        out[at], out[at + 1], out[at + 2], out[at + 3] = sum1, sum2, sum3, sum4
    for at in range(count - count % 4, count):
        out[at] = similarity64(block[rows[at]], query)


@kernel(types.void(block_in, block_out), exact=True)
def _normalize_into(rows: Float32, out: Float32) -> None:
    for row in range(rows.shape[0]):
        squared = 0.0
        for column in range(rows.shape[1]):
            squared += np.float64(rows[row, column]) * np.float64(rows[row, column])
        norm = np.sqrt(squared)
        if squared == 0.0 or abs(squared - 1.0) <= _UNIT_TOLERANCE:
            norm = 1.0
        for column in range(rows.shape[1]):
            out[row, column] = np.float32(np.float64(rows[row, column]) / norm)


def normalize_rows(rows: Float32) -> Float32:
    """Return rows scaled to unit norm, each by its own float64 norm.

    Parameters
    ----------
    rows : float32[n, dim]
        Finite.

    Returns
    -------
    float32[n, dim]
        A new C-ordered array. A row depends on nothing but itself. Zero rows stay zero, and rows
        whose squared norm is within 2.5e-7 of 1 keep their bits, so doing it twice changes
        nothing.
    """
    source = np.ascontiguousarray(rows, dtype=np.float32)
    out = np.empty_like(source)
    _normalize_into(source, out)
    return out


def unit(vector: Float32) -> Float32:
    """Return one vector scaled to unit norm, float32[dim], with the bits of `normalize_rows`."""
    row: Float32 = normalize_rows(vector[np.newaxis])[0]
    return row
