"""What is dumped of an index and loaded again is what would be made of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.indexes import DIMENSION, assert_same_index, random_index, random_memory
from totonoe_core.domain.policy import Tokenizer
from totonoe_core.domain.records import Status
from totonoe_core.index import arrays as arrays_module
from totonoe_core.index import dump as dumping
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.index.dump import IndexCut


class Held:
    """A dump in memory; arrays must be asked for in their order."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._taken = 0

    def put(self, name: str, blocks: Any) -> None:
        assert name not in self.arrays
        self.arrays[name] = np.concatenate(list(blocks))

    def shape(self, name: str) -> tuple[int, ...]:
        return self.arrays[name].shape

    def take(self, name: str, parts: Any) -> None:
        assert list(self.arrays)[self._taken] == name
        self._taken += 1
        array, at = self.arrays[name], 0
        for part in parts:
            assert part.dtype == array.dtype
            assert part.flags.c_contiguous
            part[...] = array[at : at + len(part)]
            at += len(part)
        assert at == len(array)


def held(index: CollectionIndex) -> Held:
    found = Held()
    dumping.dump(index, IndexCut.of(index), found)
    return found


def loaded(index: CollectionIndex) -> CollectionIndex:
    return dumping.load(held(index), index.arrays.dimension, index.tokenizer)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays_module, "CHUNK", 16)


@pytest.mark.parametrize("seed", range(6))
def test_loaded_index_equals_one_made_of_the_rows(seed: int) -> None:
    live, memories = random_index(seed, prefix=seed % 2 == 0)
    fresh = CollectionIndex(live.arrays.dimension, Tokenizer.SCRIPT_AWARE)
    for memory, features in memories.values():
        fresh.add(memory, features)
    fresh.publish()
    back = loaded(live)
    assert_same_index(back, fresh, seed)
    rows = back.view().column("row")
    for memory, _ in memories.values():
        assert rows[back.slot_by_id.get(memory.id)] == memory.row


@pytest.mark.parametrize("seed", range(3))
def test_memories_that_are_added_at_once_are_as_if_added_one_by_one(seed: int) -> None:
    known = [random_memory(np.random.default_rng(seed), row) for row in range(1, 40)]
    newer = [random_memory(np.random.default_rng(seed + 9), row, 1) for row in range(1, 70, 2)]
    single, several = (CollectionIndex(DIMENSION, Tokenizer.SCRIPT_AWARE) for _ in range(2))
    for memories in (known, [], newer):
        several.add_all([(*memory, several.slot_by_row.get(memory[0].row)) for memory in memories])
        several.publish()
        for memory, features in memories:
            single.add(memory, features, single.slot_by_row.get(memory.row))
            single.publish()
    assert_same_index(several, single, seed)
    assert several.retired_count() == single.retired_count() == 20


@pytest.mark.parametrize("seed", range(3))
def test_loaded_index_goes_on_as_one_that_was_never_dumped(seed: int) -> None:
    live, _ = random_index(seed, prefix=True)
    back = loaded(live)
    more_live, memories = random_index(seed, index=live, begin=500)
    more_back, _ = random_index(seed, index=back, begin=500)
    assert_same_index(more_back, more_live, seed)
    assert memories


def test_nothing_of_what_is_purged_or_retired_is_dumped() -> None:
    live, memories = random_index(3)
    gone = next(memory for memory, _ in memories.values() if memory.fields.session_id)
    slot = live.slot_by_row[gone.row]
    session = "a session of its own"
    live.arrays.sessions.code(session)
    vector = live.view().vectors(np.array([slot]))[0].copy()
    tokens = live.view().tokens(slot).copy()
    live.set_status(slot, Status.PURGED, 9)
    live.publish()
    live.purge(gone.id)
    data = b"".join(array.tobytes() for array in held(live).arrays.values())
    assert vector.tobytes() not in data
    assert session.encode() not in data
    only = [
        token for token in tokens if token.tobytes() in data and not _held_by_others(live, token)
    ]
    assert not only
    assert loaded(live).slot_by_row.get(gone.row) is None


def _held_by_others(index: CollectionIndex, token: Any) -> bool:
    view = index.view()
    return any(token in view.tokens(slot) for slot in range(view.count))


@pytest.mark.parametrize("seed", range(3))
def test_compacted_index_is_the_same_and_keeps_access(seed: int) -> None:
    live, _ = random_index(seed)
    slots = live.slot_by_row.slots()[::3]
    live.touch(slots, 77)
    assert live.retired_count() > 0
    compact = dumping.compacted(live)
    assert compact.retired_count() == 0
    assert compact.access() == live.access()
    assert_same_index(compact, live, seed)


def test_empty_index_is_loaded_as_one() -> None:
    index = CollectionIndex(8, Tokenizer.SCRIPT_AWARE)
    back = loaded(index)
    assert back.view().count == 0
    assert len(back.slot_by_row) == 0
    random_index(1, index=back)
    assert back.view().count > 0


def test_names_that_no_memory_has_any_more_are_left_out() -> None:
    live, _ = random_index(5)
    live.arrays.categories.code("unused")
    back = loaded(live)
    assert live.arrays.categories.find("unused") > 0
    assert back.arrays.categories.find("unused") == -1
    assert back.arrays.categories.find("") == 0
