"""CleanUpDuplicates: which memories are equal, and which of them stays."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from support.engines import (
    DAY_US,
    HOUR_US,
    NOON,
    Store,
    contents,
    remember,
    undo,
    update,
)
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.cleanup import CleanedUp, CleanUpDuplicates
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import OperationFilter, OperationsQuery
from totonoe_core.domain.records import Kind, StateKind, Status, TypedKey

COMMAND = CleanUpDuplicates("anna")


def save(store: Store, text: str, **more: Any) -> str:
    return store.save(text, force=True, **more)


def preview(store: Store, command: CleanUpDuplicates = COMMAND) -> CleanedUp:
    return store.preview(command)[1]


def pairs(found: CleanedUp) -> list[tuple[str, str]]:
    return [(memory.memory_id, memory.kept_id) for memory in found.duplicates]


def test_the_most_trusted_stays_then_the_newest(store: Store) -> None:
    old = save(store, "the same", confidence=0.5, created_us=NOON - 3 * DAY_US)
    kept = save(store, "the  same", confidence=0.9, created_us=NOON - 2 * DAY_US)
    new = save(store, "the same", confidence=0.5, created_us=NOON - DAY_US)
    one = save(store, "another", created_us=NOON - 3 * DAY_US)
    other = save(store, "another", created_us=NOON - DAY_US)
    told = preview(store)
    assert sorted(pairs(told)) == sorted([(old, kept), (new, kept), (one, other)])
    assert [store.one(each.memory_id).created_us for each in told.duplicates] == sorted(
        store.one(each.memory_id).created_us for each in told.duplicates
    )
    assert {each.snippet for each in told.duplicates} == {"the same", "another"}
    assert {memory.status for memory in store.list()} == {Status.ACTIVE}
    found = store.do(COMMAND)
    assert found == told
    assert store.one(old).superseded_by == kept
    assert store.one(kept).status is Status.ACTIVE
    assert store.do(COMMAND).duplicates == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"state_kind": StateKind.TASK}),
        ({}, {"payload": {"a": 1}}),
        ({}, {"private": True}),
        ({"key": TypedKey("a", "b")}, {"key": TypedKey("a", "c")}),
        (
            {"kind": Kind.EVENT, "state_kind": StateKind.NONE},
            {"kind": Kind.EVENT, "state_kind": StateKind.NONE},
        ),
        ({"state_kind": StateKind.LONG_MOOD}, {"state_kind": StateKind.LONG_MOOD}),
        ({"category": "gotcha"}, {"category": "gotcha"}),
        ({"confidence": 0.96}, {"confidence": 0.97}),
        ({"perception_type": "sound"}, {"perception_type": "sound"}),
    ],
)
def test_what_differs_or_is_protected_stays(store: Store, one: Any, other: Any) -> None:
    save(store, "the same", **one)
    save(store, "the same", **other)
    assert preview(store).duplicates == ()


def test_case_makes_another_text(store: Store) -> None:
    save(store, "the same")
    save(store, "The same")
    assert preview(store).duplicates == ()


def test_a_protected_one_stays_before_a_more_trusted_one(store: Store) -> None:
    kept = save(store, "the same", category="gotcha", confidence=0.2)
    gone = save(store, "the same", confidence=0.9)
    assert pairs(preview(store)) == [(gone, kept)]


def test_another_agents_private_memories_are_not_looked_at(store: Store) -> None:
    save(store, "the same", agent="ben", private=True)
    save(store, "the same", agent="ben", private=True)
    save(store, "the same")
    assert preview(store).duplicates == ()
    assert len(preview(store, CleanUpDuplicates("ben")).duplicates) == 1


def test_some_at_once_and_the_rest_in_the_next_run(store: Store) -> None:
    store.apply(*[remember("the same", force=True) for _ in range(8)])
    found = store.do(CleanUpDuplicates("anna", limit=3))
    assert (len(found.duplicates), found.more_count) == (3, 4)
    found = store.do(COMMAND)
    assert (len(found.duplicates), found.more_count) == (4, 0)
    (left,) = (memory for memory in store.list() if memory.status is Status.ACTIVE)
    assert {memory.superseded_by for memory in store.list() if memory.id != left.id} == {left.id}


def test_what_is_not_read_is_counted_and_comes_next(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "DOUBLES_READ_MAX", 4)
    store.apply(*[remember(f"text {at % 3}", force=True) for at in range(9)])
    found = preview(store)
    # Of three groups of three the first and one of the second are read.
    assert (len(found.duplicates), found.more_count) == (2, 4)
    total = 0
    for _ in range(5):
        total += len(store.do(COMMAND).duplicates)
    assert total == 6


def test_as_many_as_the_blast_radius_allows_go_and_the_rest_another_day(store: Store) -> None:
    ids = [save(store, "the same") for _ in range(53)]
    told = preview(store)
    assert (told.blast.closing, told.blast.allowed, told.blast.over) == (20, 20, False)
    assert told.more_count == 32
    assert [memory.memory_id for memory in told.duplicates] == ids[:20]
    assert len(store.do(replace(COMMAND, limit=5)).duplicates) == 5
    found = store.do(COMMAND)
    assert [duplicate.memory_id for duplicate in found.duplicates] == ids[5:20]
    assert (found.blast.closing, found.blast.today, found.more_count) == (15, 5, 32)
    # Nothing more may go on this day: what there is is told, and nothing is changed.
    told = preview(store)
    assert (told.blast.closing, told.blast.today, told.blast.over) == (32, 20, True)
    assert len(told.duplicates) == 32
    revision = store.revision
    error = store.refused(COMMAND, errors.Quota)
    assert store.revision == revision
    assert "blast.rows_min of collection 'default' is 52" in str(error)
    store.clock.advance(DAY_US + HOUR_US)
    assert [duplicate.memory_id for duplicate in store.do(COMMAND).duplicates] == ids[20:40]
    store.set(("blast.rows_min", 200))
    assert [duplicate.memory_id for duplicate in store.do(COMMAND).duplicates] == ids[40:52]


def test_undo_brings_exact_doubles_back(store: Store) -> None:
    for _ in range(3):
        save(store, "the same")
    before = contents(store)
    assert len(store.do(COMMAND).duplicates) == 2
    (operation,) = store.read(OperationsQuery("anna", OperationFilter(), 1, "")).operations
    assert (operation.kind, operation.reason) == ("CleanUpDuplicates", "exact duplicates")
    assert store.do(undo(operation.revision)).undone
    assert contents(store) == before
    assert len(store.do(COMMAND).duplicates) == 2


def test_what_changed_since_the_plan_stays(store: Store) -> None:
    ids = [save(store, "the same", confidence=at / 10) for at in (1, 2, 3)]
    reads = store.engine._collections.opened("default").result().reads
    planned = reads.planned(COMMAND).result(wait_s())
    store.do(update(ids[0], importance=5))
    assert pairs(store.do(planned)) == [(ids[1], ids[2])]


def test_which_stays_does_not_depend_on_the_order_of_insertion(store: Store) -> None:
    seeded = random.Random(2)
    saved: dict[str, list[Any]] = {}
    commands, named = [], []
    for number in range(40):
        for at in seeded.sample(range(4), 4):
            created = NOON - (DAY_US if at < 3 else 2 * DAY_US)
            more = {"confidence": 0.1 * (1 + at // 2), "created_us": created}
            commands.append(remember(f"text {number}", force=True, **more))
            named.append((f"text {number}", at))
    for (text, at), answer in zip(named, store.apply(*commands).results, strict=True):
        saved.setdefault(text, []).append((at, answer.memory_id))
    store.set(("blast.rows_min", 1000))
    kept: list[int] = []
    while found := store.do(COMMAND).duplicates:
        kept += [
            at
            for item in found
            for at, memory_id in saved[item.snippet]
            if memory_id == item.kept_id
        ]
    # 2 and 3 are the most trusted, 2 is the newer of them.
    assert kept == [2] * 120


def test_a_replay_is_the_first_answer_without_purged_words(store: Store) -> None:
    ids = [save(store, "the same") for _ in range(2)]
    first = store.apply(COMMAND, operation_id="once")
    save(store, "the same")
    assert store.apply(COMMAND, operation_id="once").results == first.results
    store.do(Purge("anna", tuple(ids)))
    assert store.apply(COMMAND, operation_id="once").results[0].duplicates[0].snippet == ""


@pytest.mark.parametrize("limit", [0, limits.DOUBLES_PER_RUN_MAX + 1])
def test_bad_input_is_named(store: Store, limit: int) -> None:
    with pytest.raises(errors.InvalidArgument):
        store.do(replace(COMMAND, limit=limit))
    with pytest.raises(errors.InvalidArgument):
        preview(store, replace(COMMAND, limit=limit))
