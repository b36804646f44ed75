"""Decay on a collection: what is told, what is closed, and how it comes back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.engines import (
    DAY_US,
    FakeClock,
    Store,
    contents,
    opened,
    remember,
    undo,
)
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.cleanup import Decay, Decayed
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import (
    AsOf,
    GetQuery,
    OperationFilter,
    OperationsQuery,
    RecallQuery,
)
from totonoe_core.domain.records import Kind, Memory, StateKind, Status, TimeRange


def preview(store: Store, command: Decay) -> tuple[int, Decayed]:
    return store.preview(command)


def by_text(store: Store) -> dict[str, Status]:
    return {memory.content: memory.status for memory in store.list()}


def test_a_report_changes_nothing(store: Store) -> None:
    ids = [store.save(f"text {number}", confidence=number / 10) for number in range(1, 10)]
    store.clock.advance(30 * DAY_US)
    before = contents(store)
    answer = store.do(Decay("anna"))
    assert (answer.closed, answer.blast) == ((), None)
    assert answer.report.live_count == len(ids)
    assert answer.report.threshold == 0.3
    # 0.99**30 is 0.74: 0.4 is 0.296 now.
    assert answer.report.below_count == 4
    assert answer.report.faded_count == 9
    assert dict(answer.report.survival)[365] == 0
    assert contents(store) == before
    assert preview(store, Decay("anna")) == (store.revision, answer)


def test_what_lies_below_is_closed_now_and_the_most_faded_first(store: Store) -> None:
    store.save("stays", confidence=0.9)
    low = store.save("low", confidence=0.2)
    lower = store.save("lower", confidence=0.1)
    store.clock.advance(40 * DAY_US)
    command = Decay("anna", close_below=0.3)
    revision, told = preview(store, command)
    assert revision == store.revision
    assert by_text(store)["low"] is Status.ACTIVE
    answer = store.do(command)
    assert answer == told
    assert [memory.memory_id for memory in answer.closed] == [lower, low]
    assert answer.closed[1].effective_confidence == pytest.approx(0.2 * 0.99**40)
    assert answer.closed[1].confidence == 0.2
    closed = store.one(low)
    assert closed.status is Status.CLOSED
    assert closed.fields.valid_to_us == closed.updated_us
    assert closed.fields.confidence == 0.2
    assert (answer.blast.closing, answer.blast.allowed, answer.blast.over) == (2, 20, False)
    assert store.do(command).closed == ()
    assert [memory.id for memory in store.list(where=Filter(statuses=(Status.CLOSED,)))]
    # Closed is not live: it is not recalled, and no reason to refuse the same again.
    hits = store.recall(RecallQuery("anna", text="low", k=10)).hits
    assert low not in [hit.memory.id for hit in hits]
    assert store.do(remember("low")).saved


def test_undo_opens_them_again(store: Store) -> None:
    store.save("low", confidence=0.2, valid_to_us=store.clock() + 900 * DAY_US)
    store.save("lower", confidence=0.1)
    store.clock.advance(40 * DAY_US)
    before = contents(store)
    assert len(store.do(Decay("anna", close_below=0.3)).closed) == 2
    operation = store.read(OperationsQuery("anna", OperationFilter(), 1, "")).operations[0]
    assert (operation.kind, operation.reason) == ("Decay", "faded")
    assert store.do(undo(operation.revision)).undone
    assert contents(store) == before


@pytest.mark.parametrize(
    "more",
    [
        {"category": "constraint"},
        {"category": "postmortem"},
        {"category": "gotcha"},
        {"perception_type": "vision"},
        {"confidence": 0.95},
        {"kind": Kind.EVENT, "state_kind": StateKind.NONE},
        {"kind": Kind.AFFECT, "state_kind": StateKind.NONE},
        {"state_kind": StateKind.LONG_MOOD},
    ],
)
def test_what_is_protected_is_never_closed(store: Store, more: dict[str, Any]) -> None:
    store.save("kept", **({"confidence": 0.1} | more))
    store.clock.advance(1000 * DAY_US)
    answer = store.do(Decay("anna", close_below=1.0))
    assert answer.closed == ()
    assert answer.report.below_count == 1
    assert answer.report.protected_count == (0 if "perception_type" in more else 1)


def test_another_agents_private_memories_are_neither_told_nor_closed(store: Store) -> None:
    hidden = store.save("hidden", agent="ben", private=True, confidence=0.1)
    assert store.do(Decay("anna", close_below=0.9)).report.live_count == 0
    assert store.one(hidden, agent="ben").status is Status.ACTIVE
    assert len(store.do(Decay("ben", close_below=0.9)).closed) == 1


def test_over_the_blast_radius_nothing_is_closed(store: Store) -> None:
    store.apply(*[remember(f"text {number}", confidence=0.1) for number in range(6)])
    store.set(("blast.rows_min", 4), ("blast.percent", 10.0))
    command = Decay("anna", close_below=0.3)
    _, told = preview(store, command)
    assert (told.blast.closing, told.blast.allowed, told.blast.over) == (6, 4, True)
    before = contents(store)
    error = store.refused(command, errors.Quota)
    assert error.reason == "BLAST_RADIUS"
    assert contents(store) == before
    # Fewer at once, and then no more that day.
    assert len(store.do(replace(command, limit=3)).closed) == 3
    error = store.refused(replace(command, limit=2), errors.Quota)
    assert error.details["today"] == "3"
    assert len(store.do(replace(command, limit=1)).closed) == 1
    store.clock.advance(2 * DAY_US)
    assert len(store.do(replace(command, limit=2)).closed) == 2


def test_what_was_recalled_since_the_plan_stays(store: Store) -> None:
    one = store.save("one", confidence=0.35)
    other = store.save("two", confidence=0.35)
    store.clock.advance(40 * DAY_US)
    reads = store.engine._collections.opened("default").result().reads
    planned = reads.planned(Decay("anna", close_below=0.3)).result(wait_s())
    assert len(planned.plan.closing) == 2
    assert store.recall(RecallQuery("anna", text="one", k=1, touch=True)).hits[0].memory.id == one
    answer = store.do(planned)
    assert [closed.memory_id for closed in answer.closed] == [other]


def test_recalls_of_the_last_seven_days_are_counted(store: Store) -> None:
    store.save("one", confidence=0.1)
    store.recall(RecallQuery("anna", text="one", k=1, touch=True))
    store.clock.advance(6 * DAY_US)
    (closed,) = preview(store, Decay("anna", close_below=0.3))[1].closed
    assert closed.recalled
    assert closed.last_access_us is not None
    store.clock.advance(2 * DAY_US)
    assert not preview(store, Decay("anna", close_below=0.3))[1].closed[0].recalled


def test_validity_that_ended_or_never_began_stays_in_order(store: Store) -> None:
    now = store.clock()
    ended = store.save("ended", confidence=0.1, valid_to_us=now - DAY_US)
    ahead = store.save("ahead", confidence=0.1, valid_from_us=now + 900 * DAY_US)
    store.do(Decay("anna", close_below=0.3))
    assert store.one(ended).fields.valid_to_us == now - DAY_US
    fields = store.one(ahead).fields
    assert fields.valid_to_us == now + 900 * DAY_US + 1
    assert TimeRange(fields.valid_from_us, fields.valid_to_us)


def test_each_day_or_once_closes_the_same(tmp_path: Path) -> None:
    def run(name: str, days: list[int]) -> dict[str, Status]:
        with opened(tmp_path / name, clock=FakeClock()) as store:
            commands = [remember(f"text {at}", confidence=0.3 + at / 50) for at in range(15)]
            store.apply(*commands)
            begin = store.clock()
            for day in days:
                store.clock.now_us = begin + day * DAY_US
                store.do(Decay("anna", close_below=0.3))
            return by_text(store)

    daily, once = run("daily", list(range(1, 31))), run("once", [30])
    assert daily == once
    assert 0 < list(once.values()).count(Status.CLOSED) < 15


def test_the_same_operation_id_closes_once(store: Store) -> None:
    store.save("one", confidence=0.1)
    command = Decay("anna", close_below=0.3)
    first = store.apply(command, operation_id="once")
    store.save("two", confidence=0.1)
    again = store.apply(command, operation_id="once")
    assert (again.replayed, again.results) == (True, first.results)
    assert by_text(store)["two"] is Status.ACTIVE
    store.do(Purge("anna", (first.results[0].closed[0].memory_id,)))
    assert store.apply(command, operation_id="once").results[0].closed[0].snippet == ""


def test_a_kind_of_its_own_rate_is_filtered_recalled_and_closed_by_it(store: Store) -> None:
    store.set(("decay.task_rate_per_day", 0.5))
    task = store.save("paint the fence", state_kind=StateKind.TASK)
    store.save("fence lore")
    store.clock.advance(5 * DAY_US)
    asked = Filter(min_confidence=0.5)
    assert [memory.content for memory in store.list(where=asked)] == ["fence lore"]
    hits = store.recall(RecallQuery("anna", text="fence", k=2, touch=False)).hits
    shown = {hit.memory.id: hit.effective_confidence for hit in hits}
    assert shown[task] == pytest.approx(0.05)
    (closed,) = store.do(Decay("anna", close_below=0.5)).closed
    assert closed.memory_id == task
    with pytest.raises(errors.InvalidArgument):
        store.set(("decay.task_rate_per_day", 1.5))
    store.set(("decay.task_rate_per_day", None))


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (Decay("anna", close_below=1.1), "close_below"),
        (Decay("anna", close_below=float("nan")), "close_below"),
        (Decay("anna", limit=0), "limit"),
        (Decay("anna", limit=limits.DECAY_CLOSED_MAX + 1), "limit"),
        (Decay("anna", reason="r" * 2000), "reason"),
    ],
)
def test_bad_input_is_named(store: Store, command: Decay, field: str) -> None:
    for call in (store.do, lambda one: preview(store, one)):
        with pytest.raises(errors.InvalidArgument) as caught:
            call(command)
        assert caught.value.details["field"] == field


def test_a_closed_memory_is_as_it_was_for_whoever_looks_back(store: Store) -> None:
    one = store.save("one", confidence=0.1)
    revision = store.revision
    store.do(Decay("anna", close_below=0.3))
    then: Memory = store.read(GetQuery("anna", (one,), as_of=AsOf(revision))).memories[0]
    assert (then.status, then.fields.valid_to_us) == (Status.ACTIVE, None)
    store.reopen()
    assert store.one(one).status is Status.CLOSED
