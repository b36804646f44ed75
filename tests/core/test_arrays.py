"""Slots and their publication: what is decided, what is seen, what is taken back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from support.engines import NOON, vector_of
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.policy import DecayPolicy, Tokenizer
from totonoe_core.domain.records import Fields, Memory, Status, TimeRange, TypedKey
from totonoe_core.index import arrays as arrays_module
from totonoe_core.index import masks
from totonoe_core.index.arrays import CHUNK, NEVER, NO_TIME, SELDOM, STATUSES, Arrays, Names
from totonoe_core.index.collection_index import CollectionIndex, Features, payload_hash
from totonoe_core.index.selection import Selection
from totonoe_core.text.normalize import refusing_hash


def memory(row: int, content: str = "", **fields: object) -> Memory:
    content = content or f"text {row}"
    return Memory(
        row=row,
        id=f"mem_{row:012x}",
        content=content,
        content_hash=refusing_hash(content),
        vector=vector_of(content).tobytes(),
        agent_id="anna",
        fields=Fields(**fields),
        created_us=NOON + row,
        updated_us=NOON + row,
        status=Status.ACTIVE,
        superseded_by="",
        revision=row,
    )


def features(one: Memory) -> Features:
    vector = np.frombuffer(one.vector, np.float32)
    return Features.of(one.content, vector, Tokenizer.SCRIPT_AWARE)


def add(index: CollectionIndex, one: Memory, replaces: int | None = None) -> int:
    return index.add(one, features(one), replaces)


@pytest.fixture
def index() -> CollectionIndex:
    return CollectionIndex(8, Tokenizer.SCRIPT_AWARE)


def seen(index: CollectionIndex, view: object = None) -> list[int]:
    """Rows a reader sees, in the order of their slots."""
    view = view or index.view()
    mask = masks.matching(index, view, Filter(), "anna", DecayPolicy(), NOON)
    return view.column("row")[mask].tolist()


def test_slot_is_seen_after_publish_and_not_before(index: CollectionIndex) -> None:
    add(index, memory(1))
    assert seen(index) == []
    assert index.arrays.writer_view().count == 1
    index.publish()
    assert seen(index) == [1]


def test_status_change_waits_for_publish_but_not_for_the_writer(index: CollectionIndex) -> None:
    slot = add(index, memory(1))
    index.publish()
    index.set_status(slot, Status.FORGOTTEN, NOON + 5)
    assert seen(index) == [1]
    writer = index.arrays.writer_view()
    live = Selection(writer, pending=index.arrays.pending_status)
    assert not live.at(np.array([slot]))[0]
    assert not live.all()[slot]
    assert index.arrays.status(slot) == STATUSES[Status.FORGOTTEN]
    index.publish()
    assert seen(index) == []
    forgotten = Filter(statuses=(Status.FORGOTTEN,))
    assert masks.matching(index, index.view(), forgotten, "anna", DecayPolicy(), NOON)[slot]


def test_time_of_a_status_change_is_seen_with_it(index: CollectionIndex) -> None:
    slot, other = add(index, memory(1)), add(index, memory(2))
    index.publish()
    index.set_status(slot, Status.FORGOTTEN, NOON + 5)
    mark = index.mark()
    index.set_status(slot, Status.ACTIVE, NOON + 7)
    index.set_status(other, Status.ACTIVE, NOON + 7)
    assert index.view().value("updated", slot) == NOON + 1
    index.rollback(mark)
    index.publish()
    assert [index.view().value("updated", number) for number in (slot, other)] == [
        NOON + 5,
        NOON + 2,
    ]
    late = Filter(statuses=(Status.FORGOTTEN,), updated=TimeRange(NOON + 5, None))
    assert masks.matching(index, index.view(), late, "anna", DecayPolicy(), NOON)[slot]
    index.set_status(slot, Status.FORGOTTEN, NOON + 9)
    index.publish()
    assert index.view().value("updated", slot) == NOON + 9, "also where the status stays"


def test_update_shows_each_reader_one_version(index: CollectionIndex) -> None:
    first = add(index, memory(1, "old words"))
    add(index, memory(2))
    index.publish()
    early = index.view()
    second = add(index, memory(1, "new words"), replaces=first)
    assert seen(index) == seen(index, early) == [1, 2]
    index.publish()
    assert seen(index, early) == [1, 2], "a view that was taken before still has the old one"
    assert seen(index) == [2, 1]
    assert index.slot_by_row[1] == second
    assert index.slot_in_view(1, early) == first
    assert index.slot_in_view(3, early) == -1


def test_update_moves_access_figures_on(index: CollectionIndex) -> None:
    first = add(index, memory(1))
    index.publish()
    index.touch(np.array([first, first]), NOON + 9)
    second = add(index, memory(1, "new"), replaces=first)
    index.publish()
    view = index.view()
    assert (view.value("access_count", second), view.value("last_access", second)) == (2, NOON + 9)
    assert index.access() == {1: (NOON + 9, 2)}


def test_rollback_takes_back_to_the_mark_and_no_further(index: CollectionIndex) -> None:
    kept = add(index, memory(1, "kept"))
    index.publish()
    add(index, memory(2, "decided"))
    mark = index.mark()
    add(index, memory(1, "changed"), replaces=kept)
    changed_twice = add(index, memory(1, "changed twice"), replaces=index.slot_by_row[1])
    add(index, memory(3, "new"))
    index.set_status(changed_twice, Status.FORGOTTEN, NOON + 5)
    index.rollback(mark)
    assert [index.slot_by_row.get(row) for row in (1, 2, 3)] == [kept, 1, None]
    assert [index.slot_by_id.get(memory(row).id) for row in (1, 2, 3)] == [kept, 1, None]
    assert len(index.slot_by_row) == 2
    assert index.arrays.pending_status == index.arrays.pending_updated == {}
    for text in ("changed", "changed twice", "new"):
        assert index.slots_with_text(refusing_hash(text)) == ()
    assert index.slots_with_text(refusing_hash("kept")) == (kept,)
    assert index.slots_with_words(features(memory(2, "decided")).canonical) == (1,)
    assert index.view().value("replaced_by", kept) == NEVER
    assert Selection(index.arrays.writer_view()).all().tolist() == [True, True]
    add(index, memory(4, "next"))
    index.publish()
    assert seen(index) == [1, 2, 4]
    assert index.terms.posting("changed")[0].tolist() == []
    assert index.terms.posting("decided")[0].tolist() == [1]


def test_columns_over_chunks_are_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays_module, "CHUNK", 4)
    index = CollectionIndex(8, Tokenizer.SCRIPT_AWARE)
    ones = [memory(row, f"text number {row} " + "word " * (row % 3)) for row in range(1, 12)]
    for other in ones:
        add(index, other)
    index.publish()
    view = index.view()
    assert view.column("row").tolist() == list(range(1, 12))
    slots = np.array([10, 0, 7, 3, 4, 3], np.int64)
    assert view.take("row", slots).tolist() == [11, 1, 8, 4, 5, 4]
    for at, slot in enumerate(slots.tolist()):
        vector = np.frombuffer(ones[slot].vector, np.float32)
        np.testing.assert_array_equal(view.vectors(slots)[at], vector)
        np.testing.assert_array_equal(view.tokens(slot), features(ones[slot]).tokens)
    assert [(base, size) for base, size, _ in view.parts()] == [(0, 4), (4, 4), (8, 3)]


def test_columns_that_no_memory_uses_take_no_memory(index: CollectionIndex) -> None:
    for row in range(1, 4):
        add(index, memory(row))
    index.arrays.publish()
    (chunk,) = index.view().chunks
    shared = {name for name, column in chunk.columns.items() if not column.flags.writeable}
    assert shared == set(SELDOM)
    before, bytes_before = index.view(), chunk.nbytes()
    session = index.view().column("session")
    add(index, memory(4, session_id="one", valid_to_us=NOON))
    add(index, memory(5), replaces=0)
    index.arrays.publish()
    used = {"session", "valid_to", "replaced_by"}
    assert {name for name in SELDOM if chunk.columns[name].flags.writeable} == used
    assert chunk.nbytes() == bytes_before + CHUNK * (4 + 8 + 8)
    assert session.tolist() == before.column("session").tolist() == [0, 0, 0]
    view = index.view()
    assert view.column("session").tolist() == [0, 0, 0, index.arrays.sessions.find("one"), 0]
    assert view.column("valid_to").tolist() == [NO_TIME] * 3 + [NOON, NO_TIME]
    assert view.column("replaced_by").tolist() == [4, NEVER, NEVER, NEVER, NEVER]
    # Two collections share what neither of them uses, and no more.
    other = CollectionIndex(8, Tokenizer.SCRIPT_AWARE)
    add(other, memory(1))
    other.arrays.publish()
    assert other.view().column("session").tolist() == [0]
    with pytest.raises(ValueError, match="read-only"):
        other.view().chunks[0].columns["private"][0] = 1


def test_view_stays_as_it_was_while_more_is_written(index: CollectionIndex) -> None:
    add(index, memory(1, "first words here"))
    index.publish()
    view = index.view()
    tokens, vector = view.tokens(0).copy(), view.vectors(np.array([0])).copy()
    for row in range(2, 600):
        # Enough tokens to make the token array grow a few times.
        add(index, memory(row, " ".join(f"w{row}x{at}" for at in range(10))))
    index.publish()
    assert view.count == 1
    np.testing.assert_array_equal(view.tokens(0), tokens)
    np.testing.assert_array_equal(view.vectors(np.array([0])), vector)


def test_empty_view_has_columns_of_no_length() -> None:
    view = Arrays(8).view()
    assert view.column("row").dtype == np.int64
    assert len(view.column("status")) == 0
    assert view.vectors(np.zeros(0, np.int64)).shape == (0, 8)
    assert list(view.parts()) == []
    assert CHUNK % 2 == 0


def test_names_keep_their_codes_and_the_empty_one_is_zero() -> None:
    names = Names()
    assert [names.code(name) for name in ("", "a", "b", "a")] == [0, 1, 2, 1]
    assert (names.find("b"), names.find("c"), names.name(2)) == (2, -1, "b")


def test_payload_hash_is_of_content_and_not_of_order() -> None:
    def of(payload: dict[str, Any], key: TypedKey | None = None) -> int:
        return payload_hash(Fields(payload=payload, key=key))

    assert of({}) == 0
    assert of({"a": 1, "b": [2]}) == of({"b": [2], "a": 1}) != 0
    assert of({"a": 1}) != of({"a": 2})
    assert of({}, TypedKey("user", "drink")) != of({}, TypedKey("user", "food")) != 0
    assert of({}, TypedKey("user", "drink")) == of({}, TypedKey(" User", "Drink"))


def test_private_slots_are_readable_by_their_agent_only(index: CollectionIndex) -> None:
    add(index, memory(1, private=True))
    add(index, replace(memory(2), agent_id="ben"))
    index.publish()
    view, agents = index.view(), index.arrays.agents
    assert masks.readable(view, agents.find("anna")).tolist() == [True, True]
    assert masks.readable(view, agents.find("ben")).tolist() == [False, True]
    assert masks.readable(view, agents.find("nobody")).tolist() == [False, True]
