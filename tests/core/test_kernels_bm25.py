"""The postings kernels and BM25 against plain lists."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracles_joins
from totonoe_core.index.lexical import InvertedIndex, bm25
from totonoe_core.kernels import postings as kernels

# Steps between slots about every border of the varint.
STEPS = st.one_of(
    st.integers(1, 3),
    st.sampled_from([63, 64, 65, 127, 128, 8191, 8192, 8193, 2**20, 2**20 + 1]),
)


@settings(deadline=None, max_examples=60)
@given(
    added=st.lists(
        st.tuples(STEPS, st.lists(st.sampled_from("abcde"), max_size=6), st.integers(0, 300)),
        max_size=40,
    )
)
def test_postings_of_any_slots_and_counts_are_read_back(added) -> None:
    index, expected, slot = InvertedIndex(), {}, -1
    for step, terms, repeats in added:
        slot += step
        terms = [*terms, *(["z"] * repeats)]
        assert index.add(slot, terms) == len(terms)
        for term in set(terms):
            expected.setdefault(term, []).append((slot, min(terms.count(term), 255)))
    for term in "abcdez":
        slots, counts = index.posting(term)
        found = list(zip(slots.tolist(), counts.tolist(), strict=True))
        assert found == expected.get(term, [])
    assert len(index) == len(expected)


@pytest.mark.parametrize("seed", range(4))
def test_slots_that_are_added_at_once_are_found_as_if_added_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    key = np.arange(2, dtype=np.uint64)
    single, several = InvertedIndex(key), InvertedIndex(key)
    first = 0
    # From no slot to many terms, so that table and pool grow within a call.
    for count in (0, 1, 3, 400, int(rng.integers(1, 50))):
        sizes = rng.integers(0, 60, count)
        hashes = rng.zipf(1.2, int(sizes.sum())).astype(np.int64) % 9000
        begins = np.concatenate([[0], np.cumsum(sizes)])
        several.add_slots(first, begins, hashes)
        for slot, (begin, end) in enumerate(pairwise(begins.tolist()), first):
            single.add_hashes(slot, hashes[begin:end])
        first += count + 1
    every = np.arange(first, dtype=np.int32)
    expected, found = single.dump(every), several.dump(every)
    assert len(expected.hashes) > 100
    for name, values in expected._asdict().items():
        np.testing.assert_array_equal(getattr(found, name), values, f"{name}, seed {seed}")


def test_posting_longer_than_all_slice_sizes_is_read_back() -> None:
    index = InvertedIndex()
    slots = np.cumsum(1 + np.arange(9000) % 70)
    for slot in slots.tolist():
        index.add(slot, ["x", "x"] if slot % 3 else ["x"])
    found, counts = index.posting("x")
    np.testing.assert_array_equal(found, slots)
    np.testing.assert_array_equal(counts, np.where(slots % 3, 2, 1))


def test_postings_in_the_highest_slots_are_read_back() -> None:
    pool, heads = np.zeros(64, np.uint8), np.full(1, -1, np.int64)
    state, touched = np.zeros(2, np.int64), np.zeros(1, np.int32)
    rest = (np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(1, np.uint8))
    last = np.zeros(1, np.int32)
    for slot, count in ((5, 1), (2**31 - 1, 9)):
        counts = np.array([count], np.int32)
        need = kernels.pool_need(touched, heads, rest[1], rest[2])
        before = int(state[kernels.POOL_END])
        kernels.append_postings(slot, touched, counts, heads, *rest, last, pool, state)
        assert state[kernels.POOL_END] <= before + need
    # A mask that long would be 2 GB: the bytes say it as well.
    value = 2 * (2**31 - 1 - 5) + 1
    expected = [value >> shift & 127 | 128 for shift in (0, 7, 14, 21)] + [value >> 28, 9]
    second = pool[10:16].tolist()
    assert pool[0] == 2 * 6
    assert second == expected
    assert int.from_bytes(pool[6:10].tobytes(), "little") == 10


def test_rehash_and_find_with_colliding_places_find_every_key() -> None:
    # Keys that all want the same place, as the table's size is a power of two.
    hashes = np.arange(20, dtype=np.int64) * 64
    keys, ids = np.zeros(64, np.int64), np.zeros(64, np.int32)
    state, scratch = np.zeros(2, np.int64), np.zeros(20, np.int32)
    touched, counts = np.empty(20, np.int32), np.empty(20, np.int32)
    heads = np.zeros(20, np.int64)
    args = (keys, ids, heads, scratch, touched, counts, state)
    assert kernels.fold_terms(hashes, *args) == 20
    assert state[kernels.TERMS] == 20
    larger, larger_ids = np.zeros(128, np.int64), np.zeros(128, np.int32)
    kernels.rehash(keys, ids, larger, larger_ids)
    wanted = np.concatenate([hashes, [1, -1, 64 * 20]])
    out = np.empty(23, np.int32)
    for table in ((keys, ids), (larger, larger_ids)):
        kernels.find_terms(*table, wanted, out)
        assert out.tolist() == [*range(20), -1, -1, -1]


@pytest.mark.parametrize("seed", range(4))
def test_bm25_of_any_texts_equals_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # From a term that every text holds to some that one holds.
    words = [f"w{number}" for number in range(40)]
    texts = []
    for _ in range(150):
        picked = (rng.zipf(1.4, int(rng.integers(0, 30))) % 40).tolist()
        texts.append([words[at] for at in picked] + ["every"])
    index = InvertedIndex()
    counts = np.array([index.add(slot, terms) for slot, terms in enumerate(texts)], np.int32)
    terms = ["every", *words, "unknown"]
    query = dict(zip(terms, rng.choice([0.2, 1.0], len(terms)).tolist(), strict=True))
    for share in (1.0, 0.6, 0.02):
        mask = rng.random(len(texts)) < share
        weight, coverage = bm25(index, query, counts, mask)
        weights, held = oracles_joins.bm25(texts, mask, query)
        np.testing.assert_allclose(weight, weights, rtol=1e-12)
        np.testing.assert_allclose(coverage, held, rtol=1e-12)


def test_bm25_of_equal_texts_gives_equal_bits() -> None:
    index = InvertedIndex()
    terms = ["a", "b", "b", "c"]
    counts = np.array([index.add(slot, terms) for slot in range(70)], np.int32)
    weight, coverage = bm25(index, dict.fromkeys("cbad", 1.0), counts, np.ones(70, np.bool_))
    assert len(set(weight.tolist())) == 1
    assert len(set(coverage.tolist())) == 1


def test_bm25_of_read_only_arrays_gives_the_same() -> None:
    index = InvertedIndex()
    counts = np.array([index.add(slot, ["a"] * (slot + 1)) for slot in range(9)], np.int32)
    mask = np.ones(9, np.bool_)
    before = bm25(index, {"a": 1.0}, counts, mask)
    for array in (counts, mask):
        array.flags.writeable = False
    np.testing.assert_array_equal(bm25(index, {"a": 1.0}, counts, mask), before)
