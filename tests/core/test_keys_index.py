"""The vectors of typed keys: nearest slots, a dump and back, keys that go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.indexes import DIMENSION, random_index
from totonoe_core.index import arrays as arrays_module
from totonoe_core.index import dump, dump_checks, keys
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.search import arms


def unit_rows(seed: int, count: int) -> Any:
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def with_keys(seed: int, share: int = 1) -> tuple[CollectionIndex, dict[int, Any]]:
    """A random index, and the vectors that every `share`th of its keys got."""
    index, _ = random_index(seed)
    wanted = list(index.keys.missing(1000))[::share]
    given = dict(zip(wanted, unit_rows(seed + 100, len(wanted)), strict=True))
    index.keys.put(tuple(given), np.array(list(given.values())))
    return index, given


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays_module, "CHUNK", 16)
    monkeypatch.setattr(keys, "BLOCK", 2)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limit", [1, 3, 50])
def test_nearest_slots_are_those_of_a_search_by_hand(seed: int, limit: int) -> None:
    index, given = with_keys(seed, share=1 + seed % 2)
    view, (query,) = index.view(), unit_rows(seed, 1)
    mask = np.random.default_rng(seed).random(view.count) < 0.7
    near = {}
    for slot in np.flatnonzero(mask).tolist():
        own = float(view.vectors(np.array([slot]))[0].astype(np.float64) @ query)
        key = given.get(int(view.value("key_hash", slot)))
        near[slot] = own if key is None else max(own, float(key.astype(np.float64) @ query))
    found, _ = arms.by_vector(view, query, mask, limit, None, index.keys)
    rows = view.column("row")
    expected = sorted(near, key=lambda slot: (-near[slot], rows[slot]))[:limit]
    assert np.allclose(found.similarity, [near[slot] for slot in expected], atol=1e-6)
    assert set(found.slots.tolist()) == set(expected)


def test_dump_holds_the_keys_of_its_slots_with_the_vectors_there_are() -> None:
    index, given = with_keys(2, share=2)
    back = dump.compacted(index)
    held = set(back.view().column("key_hash").tolist()) - {0}
    assert {*back.keys.missing(1000)} == held - set(given)
    known = [key for key in given if key in held]
    assert known and back.keys.missing_count
    hashes, words, vectors = back.keys.held(np.array(known, np.uint64))
    assert [
        np.array_equal(given[int(item)], vector)
        for item, vector in zip(hashes, vectors, strict=True)
    ]
    assert all(np.array_equal(given[int(h)], v) for h, v in zip(hashes, vectors, strict=True))
    assert set(words) <= {f"port of {at}" for at in range(5)}


def test_keys_that_do_not_fit_a_dump_are_refused() -> None:
    hashes, vectors = np.array([3, 5], np.uint64), unit_rows(1, 1)
    dump_checks.check_keys(hashes, ["a", "b"], vectors, DIMENSION)
    for broken in (
        (hashes[[0, 0]], ["a", "b"], vectors, DIMENSION),
        (hashes, ["a"], vectors, DIMENSION),
        (hashes, ["a", 5], vectors, DIMENSION),
        (hashes, {"a": 1}, vectors, DIMENSION),
        (hashes, ["a", "b"], unit_rows(1, 3), DIMENSION),
        (hashes, ["a", "b"], vectors, DIMENSION + 1),
        (hashes, ["a", "b"], vectors[0], DIMENSION),
    ):
        with pytest.raises(dump_checks.Unsound):
            dump_checks.check_keys(*broken)


def named(*hashes: int) -> keys.Keys:
    """Keys of slots in this order."""
    held = keys.Keys()
    for slot, key in enumerate(hashes):
        held.note(slot, key, f"key {key}")
    return held


def test_dropped_key_is_near_nothing_and_a_late_vector_does_not_bring_it_back() -> None:
    held, vectors = named(7, 8, 9), unit_rows(3, 3)
    held.put((7, 8), vectors[:2])
    held.drop(8)
    held.drop(9)
    held.put((8, 9), vectors[1:])
    assert (held.missing_count, held.missing(5)) == (0, {})
    slots = np.arange(3)
    assert held.similarities64_at(vectors[1], slots)[1:].tolist() == [-1.0, -1.0]
    assert not any((block.vectors == vectors[1]).all(axis=1).any() for block in held._blocks)
    held.note(3, 8, "key 8")
    assert held.missing(5) == {8: "key 8"}
    held.put((8,), vectors[1:2])
    assert held.similarities64_at(vectors[1], np.arange(4))[[1, 3]] == pytest.approx([-1, 1])


def test_newest_keys_come_first_and_no_more_than_asked() -> None:
    held = named(*range(1, 9))
    held.put((8, 3), unit_rows(4, 2))
    assert list(held.missing(3)) == [7, 6, 5]
    assert held.missing_count == 6
    beside = held.beside()
    held.note(8, 9, "key 9")
    assert beside.missing_count == 9
    beside.take_from(held)
    assert beside.missing_count == 7


def test_keys_of_few_slots_are_compared_alone_with_the_same_result() -> None:
    index, _ = with_keys(4)
    view, (query,) = index.view(), unit_rows(9, 1)
    everything = np.ones(view.count, np.bool_)
    keyed = np.flatnonzero(view.column("key_hash"))
    few = np.zeros(view.count, np.bool_)
    few[keyed[:3]] = True
    of_all = index.keys.similarities64_at(query, keyed[:3])
    best = keyed[:3][of_all == of_all.max()]
    assert index.keys.nearest(view, query, few, 1).tolist() == best.tolist()
    assert set(best) <= set(index.keys.nearest(view, query, everything, view.count).tolist())
