"""Inner loops of the all-pairs joins: fused threshold, re-scoring, prefix-filter probing.

`totonoe_core.joins` says why the results are exact. Oracles: `tests/support/oracles_joins.py`.
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
    uint64_in,
)
from totonoe_core.kernels.jaccard import ROUNDING, overlap_needed

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
UInt8 = npt.NDArray[np.uint8]
UInt64 = npt.NDArray[np.uint64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Index = tuple[Int64, Int32, UInt64, Int64]

bits_in = types.Array(types.uint64, 2, "C", readonly=True)
bits_out = types.Array(types.uint64, 2, "C")
uint64_out = types.Array(types.uint64, 1, "C")
window_out = types.Array(types.int64, 2, "C")

_STRIDE = 64
STRETCH = 1024
"""List entries that are compared before the passing ones are checked."""
_CLOSE_LOOK = 32
"""Cost of a close look at a pair, in list entries."""


@kernel(types.int64(block_in, types.float32, types.int64, int32_out, int32_out))
def pairs_at_least(
    products: Float32, threshold: float, first_column: int, out_rows: Int32, out_columns: Int32
) -> int:
    """Find the places of a matrix that reach a threshold.

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
        Number of places filled.
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
        Number of pairs that stay.
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
    """Write each set as a bitmap: token r sets bit r modulo 64 * words.

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
    """Count the bits of a word (Warren, "Hacker's Delight", §5-1), without a product."""
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
    types.void(
        int64_in, int32_in, uint64_in, uint8_in, types.float64, int64_out, int32_out, uint64_out
    ),
    exact=True,
)
def index_prefixes(
    indptr: Int64,
    ranks: Int32,
    folded: UInt64,
    chosen: UInt8,
    similarity_above: float,
    starts: Int64,
    rows: Int32,
    words: UInt64,
) -> None:
    """Build an inverted index over the index prefixes of chosen sets, rows ascending in each list.

    Parameters
    ----------
    indptr, ranks : int64[n + 1], int32[nnz]
        Sets in CSR form, ascending ranks inside a row, rows ascending by size.
    folded : uint64[n]
        Each set as one word, from `fold_bits`.
    chosen : uint8[n]
        Rows with 0 are left out.
    similarity_above : float64
        In [0, 1).
    starts : int64[tokens + 1]
        Zero; receives where each token's list begins.
    rows, words : int32[size], uint64[size]
        Receive the rows and, beside them, their words: what reads a list reads one stretch of
        memory. `size` is that of `prefix_total`.
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
                    words[starts[token]] = folded[row]
                starts[token + 1 - pass_] += 1
        if pass_ == 0:
            for token in range(starts.shape[0] - 1):
                starts[token + 1] += starts[token]
    # The second pass moved each start to the end of its list: the next one's start.
    for token in range(starts.shape[0] - 1, 0, -1):
        starts[token] = starts[token - 1]
    starts[0] = 0


@kernel(types.int64(int64_in, uint8_in, types.float64), exact=True)
def prefix_total(indptr: Int64, chosen: UInt8, similarity_above: float) -> int:
    """Return the number of entries that `index_prefixes` makes of the same arguments."""
    share = 2.0 * similarity_above / (1.0 + similarity_above)
    total = 0
    for row in range(chosen.shape[0]):
        size = indptr[row + 1] - indptr[row]
        if chosen[row] != 0:
            total += size - overlap_needed(size, share) + 1
    return total


@kernel(
    types.int64(
        uint64_in, int32_in, types.int64, types.int64, types.uint64, types.int64, int32_out
    ),
    exact=True,
)
def _nearly_equal(
    words: UInt64, rows: Int32, first: int, last: int, word: np.uint64, most: int, out: Int32
) -> int:
    """Find rows first..last of a list, at most `STRETCH`, with at most `most` differing bits.

    `out` is int32[2 * STRETCH]: its first places receive the rows.
    """
    # Two loops without a branch: the first runs on many words at once, the second only counts.
    for at in range(last - first):
        out[STRETCH + at] = _ones(words[first + at] ^ word)
    count = 0
    for at in range(last - first):
        out[count] = rows[first + at]
        count += out[STRETCH + at] <= most
    return count


@kernel(
    types.int64(int32_in, types.int64, types.int64, types.int64, types.int64, types.int64),
    exact=True,
)
def _common(ranks: Int32, left: int, end: int, right: int, right_end: int, needed: int) -> int:
    """Return the number of common tokens, or any lower one once `needed` is out of reach."""
    common = 0
    while left < end and right < right_end:
        if common + min(end - left, right_end - right) < needed:
            break
        x, y = ranks[left], ranks[right]
        common += x == y
        left += x <= y
        right += y <= x
    return common


_index = types.Tuple((int64_in, int32_in, uint64_in, window_out))  # type: ignore[no-untyped-call]


@kernel(
    types.void(
        int64_in,
        int32_in,
        uint64_in,
        bits_in,
        uint8_in,
        types.float64,
        _index,
        _index,
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
    folded: UInt64,
    bits: UInt64,
    changed: UInt8,
    similarity_above: float,
    every: Index,
    some: Index,
    seen: Int32,
    scratch: Int32,
    state: Int64,
    out_a: Int32,
    out_b: Int32,
    out_similarity: Float64,
) -> None:
    """Join the next rows with the rows before them; the probing half of PPJoin.

    Nearly all of the time goes into reading lists, and a few entries in a hundred thousand become a
    pair. So an entry costs one word, and only the rest gets a close look.

    Parameters
    ----------
    indptr, ranks : int64[n + 1], int32[nnz]
        Sets in CSR form, none empty, ascending ranks inside a row, rows ascending by size.
    folded, bits : uint64[n], uint64[n, words]
        From `fold_bits`, as one word and as several.
    changed : uint8[n]
        A changed row probes the index of all rows, another one that of the changed rows.
    similarity_above : float64
        In [0, 1), exclusive.
    every, some : (int64[tokens + 1], int32[size], uint64[size], int64[2, tokens])
        The index of all rows and that of the changed ones: three arrays from `index_prefixes`,
        and the part of each list that is long enough and lies before the probing row: from its
        start to its start at first, it moves on with the probing rows, whose sizes grow.
    seen : int32[n]
        -1 at first: the last row that looked at each row closely.
    scratch : int32[2 * STRETCH]
    state : int64[3]
        Next row to probe (moved on), places filled (set), and how much work, in list entries,
        may be done before it returns.
    out_a, out_b, out_similarity : int32[c], int32[c], float64[c]
        Receive rows a < b and their similarity; c >= n.
    """
    share = similarity_above / (1.0 + similarity_above)
    count = 0
    work = 0
    row = state[0]
    total = indptr.shape[0] - 1
    while row < total and work < state[2] and count + row <= out_a.shape[0]:
        starts, rows, words, window = every if changed[row] != 0 else some
        begin, end = indptr[row], indptr[row + 1]
        size = end - begin
        least_size = similarity_above * size - ROUNDING
        # Bits that differ are tokens that only one of two sets has: a + b - 2 * common, which is
        # at most (a + b) * (1 - 2 * share) for a pair that counts, and b <= a.
        most = int(np.floor(2 * size * (1.0 - 2.0 * share) + 2.0 * ROUNDING))
        for place in range(size - overlap_needed(size, similarity_above) + 1):
            token = ranks[begin + place]
            stop = starts[token + 1]
            first, last = window[0, token], window[1, token]
            while last < stop and rows[last] < row:
                last += 1
            while first < last and indptr[rows[first] + 1] - indptr[rows[first]] < least_size:
                first += 1
            window[0, token], window[1, token] = first, last
            work += last - first
            while first < last:
                upto = min(last, first + STRETCH)
                near = _nearly_equal(words, rows, first, upto, folded[row], most, scratch)
                first = upto
                for at in range(near):
                    other = scratch[at]
                    if seen[other] == row:
                        continue
                    seen[other] = row
                    work += _CLOSE_LOOK
                    other_begin, other_end = indptr[other], indptr[other + 1]
                    sizes = size + other_end - other_begin
                    needed = overlap_needed(sizes, share)
                    differing = np.int64(0)
                    for word in range(bits.shape[1]):
                        differing += _ones(bits[row, word] ^ bits[other, word])
                    if sizes - differing < 2 * needed:
                        continue
                    common = _common(ranks, begin, end, other_begin, other_end, needed)
                    similarity = common / (sizes - common)
                    if similarity > similarity_above:
                        out_a[count] = other
                        out_b[count] = row
                        out_similarity[count] = similarity
                        count += 1
        row += 1
    state[0] = row
    state[1] = count
