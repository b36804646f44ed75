"""Recall events: kept, used up once, and what memories recalled together gain."""

from __future__ import annotations

import contextlib
from typing import Any

import apsw
import pytest

from support.engines import Store, forget, undo, update, vector_of
from support.waits import wait_s
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.consolidate import (
    Consolidated,
    ConsolidateQuery,
    EventsReplayed,
    ReplayEvents,
)
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import OperationFilter, OperationsQuery, RecallQuery
from totonoe_core.domain.records import Link, LinkType
from totonoe_core.store.sqlite.schema import open_reader


def recalled(store: Store, *contents: str, agent: str = "anna", **more: Any) -> list[str]:
    """A Recall whose hits are these memories, in this order."""
    vector = sum(vector_of(text) / (place + 1) for place, text in enumerate(contents))
    query = RecallQuery(agent, vector=vector.tobytes(), k=len(contents), **more)
    return [hit.memory.id for hit in store.recall(query).hits]


def replayed(store: Store, agent: str = "anna", most: int = 100) -> EventsReplayed:
    result: EventsReplayed = store.do(ReplayEvents(agent, most))
    return result


def coactivated(store: Store, memory_id: str, agent: str = "anna") -> dict[str, float]:
    return {
        link.target_id: link.confidence
        for link in store.one(memory_id, agent).links
        if link.type is LinkType.COACTIVATED
    }


def two(store: Store, **more: Any) -> tuple[str, str]:
    return store.save("one", **more), store.save("two", **more)


def test_replay_links_at_the_second_time_and_raises_by_a_tenth(store: Store) -> None:
    a, b = two(store)
    for count, confidence in ((1, None), (2, 0.1), (3, 0.2), (4, 0.3)):
        recalled(store, "one", "two")
        found = replayed(store)
        assert (found.replay_events, found.coactivation_updates) == (1, 1)
        assert found.link_updates == (confidence is not None)
        expected = {} if confidence is None else {b: confidence}
        assert coactivated(store, a) == expected, count
        assert coactivated(store, b) == ({} if confidence is None else {a: confidence})


def test_replay_of_many_events_at_once_ends_where_one_by_one_does(store: Store) -> None:
    a, b = two(store)
    for _ in range(15):
        recalled(store, "one", "two")
    found = replayed(store)
    assert found.coactivation_updates == 15
    assert coactivated(store, a) == {b: 1.0}
    # Nothing is above 1.
    recalled(store, "one", "two")
    assert replayed(store).link_updates == 0


def test_replay_twice_is_replay_once(store: Store) -> None:
    two(store)
    for _ in range(3):
        recalled(store, "one", "two")
    first = replayed(store)
    assert first.replay_events == 3
    revision = store.revision
    assert replayed(store) == EventsReplayed()
    assert store.revision == revision == first.revision


def test_replay_uses_up_the_oldest_first_and_no_more_than_asked(store: Store) -> None:
    two(store)
    for _ in range(5):
        recalled(store, "one", "two")
    assert [replayed(store, most=2).replay_events for _ in range(4)] == [2, 2, 1, 0]


def test_replay_with_an_operation_id_gives_the_first_answer_again(store: Store) -> None:
    two(store)
    recalled(store, "one", "two")
    command = ReplayEvents("anna", 10)
    first = store.apply(command, operation_id="op")
    recalled(store, "one", "two")
    again = store.apply(command, operation_id="op")
    assert (again.results, again.replayed) == (first.results, True)


def test_replay_is_one_operation_that_undo_takes_back(store: Store) -> None:
    a, b = two(store)
    store.do(forget(store.save("three")))
    for _ in range(2):
        recalled(store, "one", "two")
    found = replayed(store)
    page = store.read(OperationsQuery("anna", OperationFilter(), 1, ""))
    (operation,) = page.operations
    assert (operation.kind, operation.revision) == ("Consolidate", found.revision)
    assert operation.reason == "consolidate: recalled together"
    assert operation.link_count == 1
    assert store.do(undo(found.revision)).undone
    assert coactivated(store, a) == coactivated(store, b) == {}
    # The counts are figures and stay: the third time links by what was gained.
    recalled(store, "one", "two")
    replayed(store)
    assert coactivated(store, a) == {b: 0.2}


def test_replay_undone_after_a_raise_brings_the_link_back_as_it_was(store: Store) -> None:
    a, b = two(store)
    for _ in range(3):
        recalled(store, "one", "two")
        last = replayed(store)
    assert coactivated(store, a) == {b: 0.2}
    assert store.do(undo(last.revision)).undone
    assert coactivated(store, a) == {b: 0.1}


def test_replay_refreshes_and_counts_no_access(store: Store) -> None:
    a, _ = two(store)
    recalled(store, "one", "two")
    store.clock.advance(1_000_000)
    assert replayed(store).refreshed_memories == 2
    now = store.one(a)
    assert now.access_count == 1
    assert now.last_access_us is not None and now.last_access_us >= store.clock.now_us
    store.reopen()
    assert store.one(a).last_access_us == now.last_access_us


def test_replay_leaves_other_links_of_the_two_alone(store: Store) -> None:
    a, b = two(store)
    before = store.one(a).links
    for _ in range(2):
        recalled(store, "one", "two")
    replayed(store)
    assert set(before) == {
        link for link in store.one(a).links if link.type is not LinkType.COACTIVATED
    }
    assert Link(b, LinkType.COACTIVATED, 0.1) in store.one(a).links


# -- what is an event


def test_recall_that_does_not_touch_is_no_event(store: Store) -> None:
    two(store)
    recalled(store, "one", "two", touch=False)
    assert replayed(store).replay_events == 0


def test_events_survive_a_restart(store: Store) -> None:
    two(store)
    recalled(store, "one", "two")
    store.reopen()
    assert replayed(store).replay_events == 1


def test_events_over_the_bound_fall_out_the_oldest_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    two(store)
    store.save("three")
    monkeypatch.setattr(limits, "RECALL_EVENTS_KEPT_MAX", 2)
    recalled(store, "one", "three")
    for _ in range(2):
        recalled(store, "one", "two")
    assert replayed(store).replay_events == 2
    with contextlib.closing(open_reader(store.file())) as connection:
        assert _count(connection, "recall_event") == 0
        assert _count(connection, "coactivation") == 1


def _count(connection: apsw.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").get)


def test_replay_skips_what_is_no_longer_live(store: Store) -> None:
    a, b = two(store)
    for _ in range(2):
        recalled(store, "one", "two")
    store.do(forget(b))
    found = replayed(store)
    assert (found.replay_events, found.coactivation_updates) == (2, 0)
    assert coactivated(store, a) == {}


def test_purge_takes_the_counts_of_a_memory(store: Store) -> None:
    a, _ = two(store)
    recalled(store, "one", "two")
    replayed(store)
    recalled(store, "one", "two")
    store.do(Purge("anna", (a,)))
    assert replayed(store).coactivation_updates == 0
    with contextlib.closing(open_reader(store.file())) as connection:
        assert _count(connection, "coactivation") == 0


# -- private memories


def test_replay_links_private_memories_of_one_agent_and_tells_nobody_else(store: Store) -> None:
    a, b = two(store, private=True)
    for _ in range(2):
        recalled(store, "one", "two")
    found = replayed(store, "bert")
    assert (found.coactivation_updates, found.link_updates, found.refreshed_memories) == (0, 0, 0)
    assert found.revision == 0
    assert coactivated(store, a) == {b: 0.1}
    where = OperationFilter(kinds=("Consolidate",))
    for agent, count in (("anna", 1), ("bert", 0)):
        page = store.read(OperationsQuery(agent, where, 10, ""))
        assert len(page.operations) == count


def test_replay_links_no_private_memory_with_a_public_one(store: Store) -> None:
    a, b = store.save("one", private=True), store.save("two")
    for _ in range(3):
        recalled(store, "one", "two")
    assert replayed(store).coactivation_updates == 0
    assert coactivated(store, a) == coactivated(store, b) == {}


def test_replay_judges_privacy_by_what_holds_now(store: Store) -> None:
    a, b = two(store)
    for _ in range(3):
        recalled(store, "one", "two")
    store.do(update(a, private=True))
    assert replayed(store).coactivation_updates == 0
    assert coactivated(store, b) == {}


# -- with the call


def test_consolidate_tells_what_the_replay_did(store: Store) -> None:
    two(store)
    for _ in range(2):
        recalled(store, "one", "two")
    run = store.engine.consolidate("default", "op", ConsolidateQuery("anna")).result(wait_s())
    last = None
    while messages := run.read().result(wait_s()):
        last = messages[-1].told
    assert isinstance(last, Consolidated)
    expected = EventsReplayed(2, 2, 1, 2, store.revision)
    assert (last.replay, last.operation_id, last.replayed) == (expected, "op", False)


def test_replay_of_too_many_is_refused(store: Store) -> None:
    with pytest.raises(InvalidArgument, match="max_replay_events"):
        replayed(store, most=limits.REPLAY_EVENTS_MAX + 1)


def test_hub_takes_no_more_links(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = two(store)
    monkeypatch.setattr(limits, "AUTO_LINKS_PER_MEMORY_MAX", len(store.one(a).links))
    for _ in range(3):
        recalled(store, "one", "two")
    assert replayed(store).link_updates == 0
    assert coactivated(store, a) == coactivated(store, b) == {}
