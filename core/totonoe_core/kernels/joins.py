"""Inner loops of the all-pairs joins: fused threshold, re-scoring, prefix-filter probing.

What is exact, and why, stands in `totonoe_core.joins`. Oracles: `tests/support/oracles_joins.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.cosine import similarity64
from totonoe_core.kernels.flags import (
    block_in,
    float64_out,
    int32_in,
    int32_out,
    int64_in,
    int64_out,
    kernel,
    uint8_in,
)
from totonoe_core.kernels.jaccard import ROUNDING, overlap_needed

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
UInt8 = npt.NDArray[np.uint8]
UInt64 = npt.NDArray[np.uint64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

bits_in = types.Array(types.uint64, 2, "C", readonly=True)
bits_out = types.Array(types.uint64, 2, "C")

_STRIDE = 64


@kernel(types.int64(block_in, types.float32, types.int64, int32_out, int32_out))
def pairs_at_least(
    products: Float32, threshold: float, first_column: int, out_rows: Int32, out_columns: Int32
) -> int:
    """Places of a matrix that reach a threshold.

    Parameters
    ----------
    products : float32[m, n]
        Finite.
    threshold : float32
        Inclusive.
    first_column : int64
        Row r is read from column max(0, first_column + r) on; -m or less reads everything, 1 what
        lies above the diagonal.
    out_rows, out_columns : int32[m * n]
        Receive the places, ascending by row, then column.

    Returns
    -------
    int
        How many places were filled.
    """
    found = 0
    size = products.shape[1]
    for row in range(products.shape[0]):
        column = max(0, first_column + row)
        while column < size:
            end = min(size, column + _STRIDE)
            # Counted without a branch first: almost all strides hold nothing.
            hits = 0
            for at in range(column, end):
                hits += products[row, at] >= threshold
            if hits > 0:
                for at in range(column, end):
                    if products[row, at] >= threshold:
                        out_rows[found] = row
                        out_columns[found] = at
                        found += 1
            column = end
    return found


@kernel(types.float32(block_in, types.int64, block_in, types.int64))
def _dot_between(left: Float32, a: int, right: Float32, b: int) -> np.float32:
    total = np.float32(0.0)
    for column in range(left.shape[1]):
        total += left[a, column] * right[b, column]
    return total


@kernel(
    types.int64(
        block_in, block_in, int32_out, int32_out, types.float32, types.float64, float64_out
    ),
    exact=True,
)
def keep_below(
    left: Float32,
    right: Float32,
    rows: Int32,
    columns: Int32,
    at_least: float,
    distance_below: float,
    out_distance: Float64,
) -> int:
    """Drop the pairs whose cosine distance is not below a threshold; `similarity64` decides.

    Parameters
    ----------
    left, right : float32[m, dim], float32[n, dim]
        C order, finite, rows of unit norm or zero.
    rows, columns : int32[p]
        Pairs (row of `left`, row of `right`); those that stay move to the front, in order.
    at_least : float32
        Pairs of a lower float32 similarity are dropped unseen: 1 - distance_below less a slack
        for its rounding.
    distance_below : float64
        Exclusive.
    out_distance : float64[p]
        Receives 1 - `similarity64` of the pairs that stay.

    Returns
    -------
    int
        How many stay.
    """
    kept = 0
    for at in range(rows.shape[0]):
        row, column = rows[at], columns[at]
        if _dot_between(left, row, right, column) < at_least:
            continue
        distance = 1.0 - similarity64(left[row], right[column])
        if distance < distance_below:
            rows[kept] = row
            columns[kept] = column
            out_distance[kept] = distance
            kept += 1
    return kept


@kernel(types.void(int64_in, int32_in, bits_out), exact=True)
def fold_bits(indptr: Int64, ranks: Int32, bits: UInt64) -> None:
    """Each set as a bitmap: token r sets bit r modulo 64 * words.

    Parameters
    ----------
    indptr, ranks : int64[n + 1], int32[nnz]
        Sets in CSR form.
    bits : uint64[n, words]
        Zero; receives the bitmaps. `words` is a power of two.
    """
    words = bits.shape[1]
    for row in range(bits.shape[0]):
        for at in range(indptr[row], indptr[row + 1]):
            bit = ranks[at]
            bits[row, (bit >> 6) & (words - 1)] |= np.uint64(1) << np.uint64(bit & 63)


@kernel(types.int64(types.uint64), exact=True)
def _ones(word: np.uint64) -> int:
    """Bits set in a word (Warren, "Hacker's Delight", §5-1), without a product to overflow."""
    pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    nibbles = (pairs & np.uint64(0x3333333333333333)) + (
        (pairs >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    octets = (nibbles + (nibbles >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    sums = octets + (octets >> np.uint64(8))
    sums = sums + (sums >> np.uint64(16))
    sums = sums + (sums >> np.uint64(32))
    return int(sums & np.uint64(127))


@kernel(
    types.void(int64_in, int32_in, uint8_in, types.float64, int64_out, int32_out, int32_out),
    exact=True,
)
def index_prefixes(
    indptr: Int64,
    ranks: Int32,
    chosen: UInt8,
    similarity_above: float,
    starts: Int64,
    rows: Int32,
    places: Int32,
) -> None:
    """Inverted index over the index prefixes of chosen sets, rows ascending in each list.

    Parameters
    ----------
    indptr, ranks : int64[n + 1], int32[nnz]
        Sets in CSR form, ascending ranks inside a row, rows ascending by size.
    chosen : uint8[n]
        Rows with 0 are left out.
    similarity_above : float64
        In [0, 1).
    starts : int64[tokens + 1]
        Zero; receives where each token's list begins.
    rows, places : int32[nnz]
        Receive the rows, and the token's place in its row.
    """
    share = 2.0 * similarity_above / (1.0 + similarity_above)
    for pass_ in range(2):
        for row in range(chosen.shape[0]):
            begin = indptr[row]
            size = indptr[row + 1] - begin
            if chosen[row] == 0:
                continue
            for at in range(size - overlap_needed(size, share) + 1):
                token = ranks[begin + at]
                if pass_ == 1:
                    rows[starts[token]] = row
                    places[starts[token]] = at
                starts[token + 1 - pass_] += 1
        if pass_ == 0:
            for token in range(starts.shape[0] - 1):
                starts[token + 1] += starts[token]
    # The second pass moved each start to the end of its list: the next one's start.
    for token in range(starts.shape[0] - 1, 0, -1):
        starts[token] = starts[token - 1]
    starts[0] = 0


@kernel(
    types.void(
        int64_in,
        int32_in,
        bits_in,
        uint8_in,
        types.float64,
        int64_out,
        int64_in,
        int32_in,
        int32_in,
        int64_out,
        int64_in,
        int32_in,
        int32_in,
        int32_out,
        int32_out,
        int64_out,
        int32_out,
        int32_out,
        float64_out,
    ),
    exact=True,
)
def probe_rows(
    indptr: Int64,
    ranks: Int32,
    bits: UInt64,
    changed: UInt8,
    similarity_above: float,
    all_from: Int64,
    all_starts: Int64,
    all_rows: Int32,
    all_places: Int32,
    changed_from: Int64,
    changed_starts: Int64,
    changed_rows: Int32,
    changed_places: Int32,
    overlap: Int32,
    candidates: Int32,
    state: Int64,
    out_a: Int32,
    out_b: Int32,
    out_similarity: Float64,
) -> None:
    """Join the next rows with the rows before them; the probing half of PPJoin.

    Parameters
    ----------
    indptr, ranks : int64[n + 1], int32[nnz]
        Sets in CSR form, none empty, ascending ranks inside a row, rows ascending by size.
    bits : uint64[n, words]
        From `fold_bits`.
    changed : uint8[n]
        A changed row probes the index of all rows, another one that of the changed rows.
    similarity_above : float64
        In [0, 1), exclusive.
    all_from, changed_from : int64[tokens]
        First entry of each list that is still long enough; equal to the starts at first. They
        move on with the probing rows, whose sizes grow.
    all_*, changed_*
        From `index_prefixes`.
    overlap : int32[n]
        Zero, and zero again at return.
    candidates : int32[n]
        Scratch.
    state : int64[3]
        Next row to probe (moved on), places filled (set), and how many list entries may be
        read before it returns.
    out_a, out_b, out_similarity : int32[c], int32[c], float64[c]
        Receive rows a < b and their similarity; c >= n.
    """
    share = similarity_above / (1.0 + similarity_above)
    words = bits.shape[1]
    count = 0
    work = 0
    row = state[0]
    total = indptr.shape[0] - 1
    while row < total and work < state[2] and count + row <= out_a.shape[0]:
        begin, end = indptr[row], indptr[row + 1]
        size = end - begin
        found = 0
        least_size = similarity_above * size - ROUNDING
        for place in range(size - overlap_needed(size, similarity_above) + 1):
            token = ranks[begin + place]
            if changed[row] != 0:
                first, last = all_from[token], all_starts[token + 1]
                rows, places = all_rows, all_places
            else:
                first, last = changed_from[token], changed_starts[token + 1]
                rows, places = changed_rows, changed_places
            while first < last and indptr[rows[first] + 1] - indptr[rows[first]] < least_size:
                first += 1
            if changed[row] != 0:
                all_from[token] = first
            else:
                changed_from[token] = first
            for at in range(first, last):
                other = rows[at]
                if other >= row:
                    break
                work += 1
                common = overlap[other]
                if common < 0:
                    continue
                other_size = indptr[other + 1] - indptr[other]
                needed = overlap_needed(size + other_size, share)
                if common == 0:
                    # Bits that differ are tokens that only one of the two sets has.
                    differing = np.int64(0)
                    for word in range(words):
                        differing += _ones(bits[row, word] ^ bits[other, word])
                    if size + other_size - differing < 2 * needed:
                        overlap[other] = -1
                        candidates[found] = other
                        found += 1
                        continue
                    candidates[found] = other
                    found += 1
                rest = min(size - place, other_size - places[at])
                overlap[other] = common + 1 if common + rest >= needed else -1
        for at in range(found):
            other = candidates[at]
            hopeless = overlap[other] < 0
            overlap[other] = 0
            if hopeless:
                continue
            other_end = indptr[other + 1]
            other_size = other_end - indptr[other]
            needed = overlap_needed(size + other_size, share)
            left, right = begin, indptr[other]
            common = 0
            while left < end and right < other_end:
                if common + min(end - left, other_end - right) < needed:
                    break
                x, y = ranks[left], ranks[right]
                common += x == y
                left += x <= y
                right += y <= x
            similarity = common / (size + other_size - common)
            if similarity > similarity_above:
                out_a[count] = other
                out_b[count] = row
                out_similarity[count] = similarity
                count += 1
        row += 1
    state[0] = row
    state[1] = count
