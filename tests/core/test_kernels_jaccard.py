"""The Jaccard kernels against sets in plain Python, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support import oracles
from totonoe_core.kernels import jaccard
from totonoe_core.text.tokens import token_hashes, whitespace_tokens


def as_set(values) -> np.ndarray:
    return np.array(sorted(values), np.uint64)


def as_csr(rows):
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    values = np.concatenate([as_set(row) for row in rows] or [as_set(())])
    return indptr, values.astype(np.uint64)


def run_scan(rows, mask, query, threshold):
    indptr, values = as_csr(rows)
    chosen = np.flatnonzero(mask).astype(np.int32)
    # Nothing is known of them: each may hold the whole query.
    shared = np.full(len(chosen), len(query), np.int32)
    out_rows = np.full(len(chosen), -1, np.int32)
    out = np.full(len(chosen), np.nan)
    count = jaccard.rows_above(
        indptr, values, chosen, shared, 0, as_set(query), threshold, out_rows, out
    )
    assert (out_rows[count:] == -1).all(), "places past the count are untouched"
    return list(zip(out_rows[:count].tolist(), out[:count].tolist(), strict=True))


# The top of the range too: as a signed or float number it would change its order.
elements = st.integers(0, 12).map(lambda n: 2**64 - 1 - n if n % 3 == 0 else n)
sets = st.frozensets(elements, max_size=10)


@settings(deadline=None, max_examples=50)
@given(a=sets, b=sets)
@example(a=frozenset(), b=frozenset())
@example(a=frozenset({0, 2**64 - 1}), b=frozenset({2**63, 2**64 - 1}))
def test_jaccard_pair_any_sets_equals_twin(a, b):
    assert jaccard.jaccard_pair(as_set(a), as_set(b)) == oracles.jaccard(a, b)


def test_jaccard_pair_both_empty_is_no_evidence():
    assert jaccard.jaccard_pair(as_set(()), as_set(())) == 0.0


@settings(deadline=None, max_examples=50)
@given(
    rows=st.lists(sets, max_size=12),
    mask_bits=st.integers(0, 2**12 - 1),
    query=sets,
    threshold=st.sampled_from((0.0, 0.25, 1 / 3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.9)),
)
def test_rows_above_any_rows_equals_twin(rows, mask_bits, query, threshold):
    mask = np.array([mask_bits >> row & 1 for row in range(len(rows))], np.uint8)
    expected = oracles.jaccard_above(rows, mask, query, threshold)
    assert run_scan(rows, mask, query, threshold) == expected


@pytest.mark.parametrize("size", [7, 10, 20, 30, 70])
def test_rows_above_similarity_equal_to_threshold_is_left_out(size):
    shared = size * 7 // 10
    rows = [range(shared), range(shared + 1)]
    threshold = shared / size
    assert run_scan(rows, np.ones(2, np.uint8), range(size), threshold) == [
        (1, (shared + 1) / size)
    ]


def test_rows_above_long_rows_equals_twin():
    generator = np.random.default_rng(97)
    rows = [frozenset(generator.integers(0, 60, 40).tolist()) for _ in range(60)]
    query = rows[11] | {1000}
    mask = np.ones(60, np.uint8)
    for threshold in (0.3, 0.4, 0.9):
        expected = oracles.jaccard_above(rows, mask, query, threshold)
        assert expected
        assert run_scan(rows, mask, query, threshold) == expected


def test_rows_above_all_masked_finds_nothing():
    assert run_scan([{1, 2}], np.zeros(1, np.uint8), {1, 2}, 0.0) == []


def test_rows_above_empty_query_or_row_finds_nothing():
    assert run_scan([set(), {1}], np.ones(2, np.uint8), set(), 0.0) == []
    assert run_scan([set(), {1}], np.ones(2, np.uint8), {1}, 0.0) == [(1, 1.0)]


def test_rows_above_read_only_arrays_give_the_same():
    rows = [{1, 2, 3}, {2, 3}, {9}]
    indptr, values = as_csr(rows)
    query = as_set({1, 2, 3, 4})
    chosen, shared = np.array([2, 1, 0], np.int32), np.array([0, 1, 2], np.int32)
    for array in (indptr, values, query, chosen, shared):
        array.flags.writeable = False
    out_rows, out = np.empty(3, np.int32), np.empty(3)
    assert jaccard.rows_above(indptr, values, chosen, shared, 1, query, 0.4, out_rows, out) == 2
    assert out_rows[:2].tolist() == [1, 0], "in the order of the rows asked about"
    assert out[:2].tolist() == [0.5, 0.75]
    assert jaccard.jaccard_pair(query, values[:3]) == 0.75


def test_jaccard_pair_example_of_document_002_gives_its_formula():
    # DESIGN §10: the source says these three cluster above 0.50; its own tokenizer says not so.
    first, second, third = (
        token_hashes(whitespace_tokens(text))
        for text in (
            "grip_force=12.5N works for cups",
            "12.5N grip force optimal for cylinders",
            "force 12.5N best for cup grasping",
        )
    )
    assert jaccard.jaccard_pair(first, second) == 0.0
    assert jaccard.jaccard_pair(first, third) == 0.0
    assert jaccard.jaccard_pair(second, third) == 0.25
