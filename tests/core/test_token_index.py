"""The token index against Jaccard of every slot, and against the scan, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracles
from totonoe_core.index.arrays import CHUNK, Arrays, View
from totonoe_core.index.token_index import TokenIndex

elements = st.integers(0, 12).map(lambda n: 2**64 - 1 - n if n % 3 == 0 else n)
sets = st.frozensets(elements, max_size=10)
THRESHOLDS = (0.0, 0.25, 1 / 3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.9)


def as_set(values) -> np.ndarray:
    return np.array(sorted(values), np.uint64)


def view_of(rows) -> View:
    arrays = Arrays(1)
    for row in rows:
        arrays.append({}, np.ones(1, np.float32), as_set(row))
    arrays.publish()
    return arrays.view()


def found_by(index, view, query, threshold, mask) -> list[tuple[int, float]]:
    slots, similarity = index.above(view, as_set(query), threshold, mask.astype(np.bool_))
    return list(zip(slots.tolist(), similarity.tolist(), strict=True))


@settings(deadline=None, max_examples=80)
@given(
    rows=st.lists(sets, max_size=14),
    indexed=st.integers(0, 14),
    mask_bits=st.integers(0, 2**14 - 1),
    query=sets,
    threshold=st.sampled_from(THRESHOLDS),
)
def test_above_of_any_rows_and_any_lag_equals_twin(
    rows, indexed, mask_bits, query, threshold
) -> None:
    view, index = view_of(rows), TokenIndex()
    index.catch_up(View(view.chunks, min(indexed, view.count)))
    mask = np.array([mask_bits >> row & 1 for row in range(len(rows))], np.uint8)
    expected = oracles.jaccard_above(rows, mask, query, threshold)
    assert found_by(index, view, query, threshold, mask) == expected


@pytest.mark.parametrize("size", [7, 10, 20, 30, 70])
def test_above_leaves_a_similarity_equal_to_the_threshold_out(size: int) -> None:
    view, index = view_of([range(size - 1), range(size)]), TokenIndex()
    index.catch_up(view)
    found = found_by(index, view, range(size), (size - 1) / size, np.ones(2))
    assert found == [(1, 1.0)]


def test_above_of_common_and_rare_tokens_equals_twin_for_shorter_views_too() -> None:
    rng = np.random.default_rng(3)
    rows = [set(np.minimum(rng.zipf(1.5, 12), 500).tolist()) for _ in range(300)]
    view, index = view_of(rows), TokenIndex()
    index.catch_up(view)
    index.catch_up(view)
    assert index.end == 300
    for query in rows[:20]:
        for count in (300, 120, 0):
            found = found_by(index, View(view.chunks, count), query, 0.4, np.ones(count))
            assert found == oracles.jaccard_above(rows[:count], np.ones(count), query, 0.4)


def test_above_names_slots_of_several_chunks() -> None:
    arrays = Arrays(1)
    for slot in range(CHUNK + 2):
        tokens = as_set({1, 2} if slot in (4, CHUNK - 1, CHUNK + 1) else ())
        arrays.append({}, np.ones(1, np.float32), tokens)
    arrays.publish()
    view, index = arrays.view(), TokenIndex()
    for indexed in (5, CHUNK + 1, CHUNK + 2):
        index.catch_up(View(view.chunks, indexed))
        found = found_by(index, view, {1, 2, 3}, 0.5, np.ones(CHUNK + 2))
        assert found == [(slot, 2 / 3) for slot in (4, CHUNK - 1, CHUNK + 1)]
