"""The Jaccard join and the grouping against every pair written out."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support import oracles_joins
from totonoe_core.domain.grouping import complete_link
from totonoe_core.index.arrays import CHUNK, Arrays
from totonoe_core.joins import jaccard
from totonoe_core.joins.jaccard import jaccard_pairs, steps_of_sets
from totonoe_core.kernels.joins import STRETCH

THRESHOLDS = (0.0, 0.2, 0.25, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.7, 0.75, 0.9, 0.999)


def as_csr(sets) -> tuple[np.ndarray, np.ndarray]:
    indptr = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return indptr, np.array([value for item in sets for value in sorted(item)], np.uint64)


def collected(stream) -> dict:
    found = {}
    for pairs in stream:
        assert len(pairs.a)
        for a, b, similarity in zip(*(part.tolist() for part in pairs), strict=True):
            assert a < b
            assert (a, b) not in found, "each pair once"
            found[a, b] = similarity
    return found


def joined(sets, similarity_above, **options) -> dict:
    steps = steps_of_sets(*as_csr(sets), similarity_above, **options)
    return collected(step.pairs for step in steps if step.pairs is not None)


# The top of the range too: as a signed or float number it would change its order.
elements = st.integers(0, 14).map(lambda n: 2**64 - 1 - n if n % 3 == 0 else n)


@settings(deadline=None, max_examples=80)
@given(
    sets=st.lists(st.frozensets(elements, max_size=12), max_size=25),
    changed=st.none() | st.sets(st.integers(0, 24)),
    threshold=st.sampled_from(THRESHOLDS),
)
@example(sets=[frozenset()] * 3, changed=None, threshold=0.0)
@example(sets=[frozenset({1})] * 4, changed={2}, threshold=0.0)
def test_join_of_any_sets_with_any_changes_equals_twin(sets, changed, threshold) -> None:
    if changed is not None:
        changed = {row for row in changed if row < len(sets)}
    expected = oracles_joins.jaccard_pairs(sets, threshold, changed)
    assert joined(sets, threshold, changed=changed) == expected


@pytest.mark.parametrize("size", [2, 3, 7, 10, 20, 30, 70])
def test_join_of_similarity_equal_to_the_threshold_leaves_it_out(size: int) -> None:
    for shared in range(1, size):
        sets = [set(range(shared)), set(range(size)), set(range(shared + 1))]
        expected = oracles_joins.jaccard_pairs(sets, shared / size)
        assert (0, 1) not in expected
        assert joined(sets, shared / size) == expected


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.9])
def test_join_of_near_copies_of_zipf_words_equals_twin(threshold: float) -> None:
    rng = np.random.default_rng(97)
    sets: list[set[int]] = []
    for _ in range(150):
        if sets and rng.random() < 0.6:
            base = sets[rng.integers(len(sets))]
            sets.append({word for word in base if rng.random() < 0.9} | {int(rng.zipf(1.3))})
        else:
            sets.append(set(np.minimum(rng.zipf(1.3, rng.integers(0, 60)), 2**40).tolist()))
    expected = oracles_joins.jaccard_pairs(sets, threshold)
    assert expected
    assert joined(sets, threshold) == expected


def test_join_in_small_steps_gives_the_same_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [{1, 2, number % 5, 10 + number % 3} for number in range(60)]
    whole = joined(sets, 0.4)
    monkeypatch.setattr(jaccard, "_PAIRS", 1)
    monkeypatch.setattr(jaccard, "_FIRST_WORK", 1)
    monkeypatch.setattr(jaccard, "_WORK", 7)
    assert joined(sets, 0.4) == whole == oracles_joins.jaccard_pairs(sets, 0.4)


def test_join_with_lists_longer_than_a_stretch_finds_what_is_at_both_ends() -> None:
    # All share one token, so its list holds every row; two and two share another.
    size = STRETCH + 70
    sets = [{0, 10 + row, 10_000 + row // 2} for row in range(size)]
    changed = {0, size - 1}
    expected = {(0, 1): 0.5, (size - 2, size - 1): 0.5}
    assert joined(sets, 0.2, changed=changed) == expected
    everything = joined(sets, 0.1, changed=changed)
    assert len(everything) == 2 * (size - 2) + 1
    assert {pair for pair, similarity in everything.items() if similarity != 0.2} == set(expected)


def test_join_split_by_changes_gives_every_pair_once() -> None:
    # Memories that come in three runs, each joined when it came, are all pairs in the end.
    rng = np.random.default_rng(4)
    sets = [set(rng.integers(0, 12, 6).tolist()) for _ in range(45)]
    found: dict = {}
    for begin in (0, 20, 30):
        end = {0: 20, 20: 30, 30: 45}[begin]
        more = joined(sets[:end], 0.4, changed=range(begin, end))
        assert not found.keys() & more.keys()
        found |= more
    assert found == oracles_joins.jaccard_pairs(sets, 0.4)


def test_join_of_a_view_names_slots_across_chunks() -> None:
    arrays = Arrays(1)
    words = {3: {1, 2, 3}, 5: {1, 2, 3}, CHUNK - 1: {9}, CHUNK: {1, 2, 3, 4}, CHUNK + 2: {9}}
    for slot in range(CHUNK + 3):
        tokens = np.array(sorted(words.get(slot, ())), np.uint64)
        arrays.append({}, np.ones(1, np.float32), tokens)
    arrays.publish()
    every = np.arange(CHUNK + 3)[::-1]
    expected = {
        (3, 5): 1.0, (3, CHUNK): 0.75, (5, CHUNK): 0.75, (CHUNK - 1, CHUNK + 2): 1.0,
    }  # fmt: skip
    assert collected(jaccard_pairs(arrays.view(), every, 0.5)) == expected
    some = np.array([5, 3, CHUNK, 3, CHUNK + 2])
    assert collected(jaccard_pairs(arrays.view(), some, 0.5, changed={3, 1})) == {
        (3, 5): 1.0, (3, CHUNK): 0.75,
    }  # fmt: skip
    assert collected(jaccard_pairs(arrays.view(), every[:0], 0.5)) == {}


def test_join_that_is_stopped_ends_before_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaccard, "_FIRST_WORK", 1)
    stop = threading.Event()
    arrays = Arrays(1)
    for _ in range(50):
        arrays.append({}, np.ones(1, np.float32), np.array([1, 2], np.uint64))
    arrays.publish()
    stream = jaccard_pairs(arrays.view(), np.arange(50), 0.5, stop=stop)
    assert len(next(stream).a)
    stop.set()
    assert list(stream) == []


@settings(deadline=None, max_examples=80)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40),
    order=st.permutations(range(9)),
)
def test_complete_link_of_any_pairs_equals_document_002(pairs, order) -> None:
    groups = complete_link(pairs, order)
    assert groups == oracles_joins.complete_link(pairs, order)
    assert groups == complete_link([(b, a) for a, b in reversed(pairs)], order)


def test_complete_link_of_a_chain_splits_it_by_the_order() -> None:
    chain = [(1, 2), (2, 3)]
    assert complete_link(chain, [1, 2, 3]) == [(1, 2)]
    assert complete_link(chain, [3, 1, 2]) == [(3, 2)]
    assert complete_link(chain, [2, 3, 1]) == [(2, 3)]
    assert complete_link([*chain, (3, 1)], [2, 3, 1]) == [(2, 3, 1)]
    assert complete_link([], [1, 2]) == []
