"""Forget: what was expected, and what a filter would hide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.engines import (
    EVERY_STATUS,
    HOUR_US,
    Store,
    forget,
    link,
    merge,
    remember,
    undo,
    update,
)
from totonoe_core.base import errors, limits
from totonoe_core.domain.filter import NO_FILTER, Filter
from totonoe_core.domain.memories import Forget, ForgetMatching, Forgotten
from totonoe_core.domain.records import Status, TimeRange


def meeting(store: Store, where: Filter, agent: str = "anna") -> tuple[int, Forgotten, int]:
    found = store.preview(ForgetMatching(agent, where))
    return found.revision, found.answer.forgotten, found.answer.count


def expecting(*named: tuple[str, int], ids: tuple[str, ...] = ()) -> Forget:
    return Forget("anna", ids or tuple(memory_id for memory_id, _ in named), "why", named)


def test_forget_with_the_expected_revisions_hides(store: Store) -> None:
    one, two = store.save("one"), store.save("two")
    answer = store.do(expecting((one, 1), (two, 2)))
    assert [memory.id for memory in answer.memories] == [one, two]
    assert store.one(one).status is Status.FORGOTTEN


def test_forget_of_a_memory_that_changed_is_refused_whole(store: Store) -> None:
    one, two = store.save("one"), store.save("two")
    store.do(update(two, importance=5))
    error = store.refused(expecting((one, 1), (two, 2)), errors.StaleRevision)
    assert two in str(error)
    assert store.one(one).status is Status.ACTIVE
    assert store.revision == 3


def test_forget_of_what_was_forgotten_meanwhile_is_stale_and_not_missing(store: Store) -> None:
    one, two = store.save("one"), store.save("two")
    store.do(forget(one))
    with pytest.raises(errors.StaleRevision):
        store.do(expecting((one, 1), ids=(one, two)))


def test_forget_expects_by_external_id_as_it_was_named(store: Store) -> None:
    store.save("one", external_id="a")
    with pytest.raises(errors.StaleRevision):
        store.do(expecting(("ext:a", 7)))
    assert store.do(expecting(("ext:a", 1))).memories


def test_preview_is_refused_as_the_forget_would_be(store: Store) -> None:
    one = store.save("one")
    with pytest.raises(errors.StaleRevision):
        store.preview(expecting((one, 7)))


def test_filter_shows_what_it_would_hide_and_hides_nothing(store: Store) -> None:
    old = store.save("old", category="a")
    store.clock.advance(1000)
    new = store.save("new", category="a")
    store.save("other", category="b")
    store.do(link(old, new))
    revision, found, count = meeting(store, Filter(categories=("a",)))
    assert (revision, count, found.unlinked_count) == (4, 2, 1)
    assert [memory.id for memory in found.memories] == [old, new]
    assert found.memories[0].links[0].target_id == new
    assert found.memories[0].vector == b""
    assert store.revision == 4
    assert store.one(old).status is Status.ACTIVE


def test_filter_shows_the_oldest_and_counts_all(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [store.save(f"note {number}") for number in range(5)]
    monkeypatch.setattr(limits, "IDS_PER_REQUEST_MAX", 3)
    _, found, count = meeting(store, NO_FILTER)
    assert count == 5
    assert [memory.id for memory in found.memories] == ids[:3]


def test_filter_meets_only_what_is_live_unless_it_says_otherwise(store: Store) -> None:
    gone = store.save("gone")
    store.do(forget(gone))
    assert meeting(store, NO_FILTER)[2] == 0
    for status in (Status.FORGOTTEN, Status.PURGED):
        with pytest.raises(errors.InvalidArgument):
            meeting(store, Filter(statuses=(Status.ACTIVE, status)))


def test_filter_leaves_out_what_is_another_agents(store: Store) -> None:
    store.do(remember("hers", agent="berta", private=True))
    assert meeting(store, NO_FILTER)[1:] == (Forgotten((), (), 0), 0)
    assert meeting(store, NO_FILTER, agent="berta")[2] == 1


def test_list_by_updated_time_knows_changes_of_status_alone(store: Store) -> None:
    """As the rows have it, without opening the collection anew."""
    ids = [store.save(f"text {number}") for number in range(5)]
    steps = [
        forget(ids[0]),
        replace(remember("text 5"), supersede_ids=(ids[1],)),
        merge(ids[2], ids[3]),
        undo(6),
        merge(ids[2], ids[4]),
        forget(ids[4]),
    ]
    for step in steps:
        store.clock.now_us += HOUR_US
        begun_us = store.clock.now_us
        store.apply(step)
        late = replace(EVERY_STATUS, updated=TimeRange(begun_us, None))
        changed = [memory.id for memory in store.list() if memory.updated_us >= begun_us]
        assert [memory.id for memory in store.list(where=late)] == changed != [], step
    found = [memory.id for memory in store.list(where=late)]
    store.reopen()
    assert [memory.id for memory in store.list(where=late)] == found
