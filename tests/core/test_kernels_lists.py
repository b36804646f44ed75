"""Hashes of terms and posting lists against plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracles_joins
from totonoe_core.index.lexical import InvertedIndex, Lists
from totonoe_core.kernels import hashing, posting_lists, postings, slot_map

TEXT = st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass"))


@settings(deadline=None, max_examples=60)
@given(terms=st.lists(TEXT, min_size=1, max_size=8), key=st.binary(min_size=16, max_size=16))
def test_hashes_of_any_terms_equal_twin(terms: list[bytes], key: bytes) -> None:
    out = np.empty(len(terms), np.int64)
    data = np.frombuffer(bytes([hashing.SEPARATOR]).join(terms), np.uint8)
    with np.errstate(over="ignore"):
        hashing.hash_terms(data, np.frombuffer(key, np.uint64), out)
    expected = [oracles_joins.siphash13(term, key) for term in terms]
    assert out.view(np.uint64).tolist() == expected


def test_hash_of_the_published_vector_is_that_of_siphash() -> None:
    # Key 00..0f, message 00..0e; SipHash-1-3 of it as its authors' reference code prints it.
    key, data = bytes(range(16)), bytes(range(15))
    assert oracles_joins.siphash13(data, key) == 0xD320D86D2A519956


@pytest.mark.parametrize("seed", range(4))
def test_lists_of_any_postings_are_written_and_read_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    index, postings = InvertedIndex(), {}
    slot = 0
    with np.errstate(over="ignore"):
        for _ in range(120):
            slot += int(rng.choice([1, 2, 70, 9000]))
            terms = rng.zipf(1.4, 12) % 50
            for term, count in zip(*np.unique(terms, return_counts=True), strict=True):
                postings.setdefault(int(term), []).append((slot, int(count)))
            index.add_hashes(slot, terms.astype(np.int64))
        kept = rng.random(slot - 50) < 0.6
        new_slots = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        lists = index.dump(new_slots)
        expected = oracles_joins.posting_lists(list(postings.values()), new_slots.tolist())
        by_term = {term: item for term, item in zip(postings, expected, strict=True) if item}
        assert sorted(lists.hashes.tolist()) == sorted(by_term), f"seed {seed}"
        ends = np.cumsum(lists.sizes)
        for term, size, end in zip(lists.hashes.tolist(), lists.sizes, ends, strict=True):
            where = slice(end - size, end)
            pairs = zip(lists.slots[where].tolist(), lists.counts[where].tolist(), strict=True)
            assert list(pairs) == by_term[term], f"seed {seed}"
        end = int(np.count_nonzero(kept))
        back = InvertedIndex.load(lists, index.key, end)
        assert posting_lists.lists_need(lists.sizes, lists.slots, lists.counts, end) > 0
        # It goes on: the same postings again behind the others.
        again = np.array(list(by_term), np.int64)
        back.add_hashes(end, again)
        found = back.dump(np.arange(end + 1, dtype=np.int32))
    assert int(found.sizes.sum()) == len(lists.slots) + len(again)
    assert found.hashes.tolist() == lists.hashes.tolist()
    assert found.slots[found.slots < end].tolist() == lists.slots.tolist()
    assert len(back) == len(by_term)


@pytest.mark.parametrize("without_zero", [False, True])
def test_many_slots_at_once_are_found_as_if_put_one_by_one(without_zero: bool) -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(0, 9, 40).astype(np.uint64) << np.uint64(1)
    tables = [
        [np.zeros(128, np.uint32), np.zeros(128, np.int32), np.zeros(60, np.int32)]
        for _ in range(2)
    ]
    taken = slot_map.put_slots(*tables[0], values, 7, without_zero)
    expected = 0
    for at, value in enumerate(values.tolist()):
        if value or not without_zero:
            expected += slot_map.put_slot(*tables[1], value, 7 + at)
    assert taken == expected
    for item, other in zip(*tables, strict=True):
        assert item.tolist() == other.tolist()


@pytest.mark.parametrize(
    ("sizes", "slots", "counts"),
    [
        ([3], [1, 5, 4], [1, 1, 1]),
        ([3], [1, 5, 5], [1, 1, 1]),
        ([3], [-1, 5, 6], [1, 1, 1]),
        ([3], [-(2**31), 5, 6], [1, 1, 1]),
        ([3], [1, 5, 9], [1, 1, 1]),
        ([3], [1, 5, 2**31 - 1], [1, 1, 1]),
        ([3], [1, 5, 6], [1, 0, 1]),
        ([3], [1, 5, 6], [1, 1]),
        ([2], [1, 5, 6], [1, 1, 1]),
        ([4], [1, 5, 6], [1, 1, 1]),
        ([0, 3], [1, 5, 6], [1, 1, 1]),
        ([-1, 3], [1, 5, 6], [1, 1, 1]),
        ([2**31 - 1], [1, 5, 6], [1, 1, 1]),
    ],
)
def test_lists_that_no_index_has_are_refused(
    sizes: list[int], slots: list[int], counts: list[int]
) -> None:
    """Unsorted slots kept `lists_need` in a loop without end."""
    key = np.zeros(2, np.uint64)
    arrays = np.array(sizes, np.int32), np.array(slots, np.int32), np.array(counts, np.uint8)
    assert posting_lists.lists_need(*arrays, 9) == -1
    hashes = np.arange(len(sizes), dtype=np.int64)
    assert InvertedIndex.load(Lists(hashes, *arrays), key, 9) is None


def test_terms_that_come_twice_are_refused() -> None:
    one = np.ones(2, np.int32)
    lists = Lists(np.array([4, 4]), one, one, one.astype(np.uint8))
    assert InvertedIndex.load(lists, np.zeros(2, np.uint64), 9) is None
    lists = Lists(np.array([4]), one, one, one.astype(np.uint8))
    assert InvertedIndex.load(lists, np.zeros(2, np.uint64), 9) is None


def test_reading_any_bytes_ends_within_the_pool_and_the_mask() -> None:
    rng = np.random.default_rng(8)
    mask = np.ones(500, np.uint8)
    slots, counts = np.empty(100, np.int32), np.empty(100, np.uint8)
    for number in range(2000):
        # High bytes: varints that go on.
        data = rng.integers(0, 256, int(rng.integers(1, 80))) | 128 * (number % 2)
        pool = data.astype(np.uint8)
        head = int(rng.integers(-5, 90))
        found = postings.read_postings(pool, head, 100, mask, slots, counts)
        assert 0 <= found <= 100
        assert ((slots[:found] >= 0) & (slots[:found] < 500)).all()
