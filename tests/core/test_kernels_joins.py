"""The join kernels one by one; `test_joins_*` hold what they do together."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracles
from totonoe_core.kernels import jaccard, joins


@pytest.mark.parametrize("shape", [(1, 1), (3, 64), (5, 65), (7, 200), (64, 63)])
@pytest.mark.parametrize("first_column", [-1000, -2, 0, 1, 3])
def test_pairs_at_least_any_shape_equals_numpy(shape: tuple[int, int], first_column: int) -> None:
    products = np.random.default_rng(7).random(shape, np.float32)
    products[:, 0] = 0.9  # exactly on the threshold
    products.flags.writeable = False
    rows, columns = np.full((2, products.size), -1, np.int32)
    for threshold in (0.9, 0.0, 2.0):
        count = joins.pairs_at_least(products, threshold, first_column, rows, columns)
        row, column = np.nonzero(products >= np.float32(threshold))
        keep = column >= np.maximum(0, first_column + row)
        np.testing.assert_array_equal(rows[:count], row[keep])
        np.testing.assert_array_equal(columns[:count], column[keep])


@pytest.mark.parametrize("dimension", [1, 3, 97, 384, 1536])
def test_keep_below_any_dimension_equals_twin(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    left, right = (rng.standard_normal((8, dimension)).astype(np.float32) for _ in range(2))
    for block in (left, right):
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    pairs = [(row, column) for row in range(8) for column in range(8)]
    distances = {
        pair: 1.0 - oracles.ordered_similarity(left[pair[0]], right[pair[1]]) for pair in pairs
    }
    for below in (sorted(distances.values())[20], 0.9, -1.0):
        rows, columns = (np.array(side, np.int32) for side in zip(*pairs, strict=True))
        out = np.empty(len(pairs))
        kept = joins.keep_below(left, right, rows, columns, 1.0 - below - 1e-5, below, out)
        places = zip(rows[:kept].tolist(), columns[:kept].tolist(), strict=True)
        found = dict(zip(places, out[:kept].tolist(), strict=True))
        assert found == {pair: value for pair, value in distances.items() if value < below}


@settings(deadline=None)
@given(a=st.integers(1, 5000), b=st.integers(1, 5000), part=st.integers(0, 99))
def test_overlap_needed_is_never_too_high_and_at_most_one_too_low(a, b, part) -> None:
    above = part / 100
    exact = Fraction(above) / (1 + Fraction(above)) * (a + b)
    least = max(1, exact.__floor__() + 1)
    needed = jaccard.overlap_needed(a + b, above / (1.0 + above))
    assert least - 1 <= needed <= least


@settings(deadline=None)
@given(
    left=st.frozensets(st.integers(0, 3000), max_size=40),
    right=st.frozensets(st.integers(0, 3000), max_size=40),
    words=st.sampled_from((1, 2, 4)),
)
def test_fold_bits_bound_on_common_tokens_holds(left, right, words) -> None:
    indptr = np.array([0, len(left), len(left) + len(right)], np.int64)
    ranks = np.array([*sorted(left), *sorted(right)], np.int32)
    bits = np.zeros((2, words), np.uint64)
    joins.fold_bits(indptr, ranks, bits)
    for row, tokens in enumerate((left, right)):
        wanted = {token % (64 * words) for token in tokens}
        value = sum(int(word) << 64 * at for at, word in enumerate(bits[row].tolist()))
        assert {bit for bit in range(64 * words) if value >> bit & 1} == wanted
    differing = sum(int(word).bit_count() for word in (bits[0] ^ bits[1]).tolist())
    assert 2 * len(left & right) <= len(left) + len(right) - differing


def test_index_prefixes_lists_rows_that_can_be_found() -> None:
    # Sizes 1, 2, 4; above 0.5 a set of 4 needs 3 common tokens with one at least as large.
    indptr = np.array([0, 1, 3, 7], np.int64)
    ranks = np.array([4, 0, 4, 1, 2, 3, 4], np.int32)
    folded = np.array([70, 71, 72], np.uint64)
    for chosen, expected in (
        ([1, 1, 1], [[1], [2], [2], [], [0]]),
        ([1, 1, 0], [[1], [], [], [], [0]]),
        ([0, 0, 0], [[], [], [], [], []]),
    ):
        some = np.array(chosen, np.uint8)
        size = joins.prefix_total(indptr, some, 0.5)
        assert size == sum(map(len, expected))
        starts, rows, words = np.zeros(6, np.int64), np.empty(size, np.int32), np.empty(size, "u8")
        joins.index_prefixes(indptr, ranks, folded, some, 0.5, starts, rows, words)
        bounds = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        assert [rows[begin:end].tolist() for begin, end in bounds] == expected
        assert words.tolist() == folded[rows].tolist()
