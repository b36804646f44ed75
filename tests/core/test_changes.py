"""What watchers are told of operations, and how they learn of new ones."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from random import Random

import pytest

from support.engines import (
    EVERY_STATUS,
    HOUR_US,
    change,
    forget,
    link,
    opened,
    remember,
    unlink,
    update,
)
from support.timelines import bare
from support.waits import wait_s
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, OutOfRange, Quota, TotonoeError, Unavailable
from totonoe_core.domain.commands import Command
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.memories import Forget, Merge, Purge, Remember, Update
from totonoe_core.domain.queries import Changes, ChangesQuery, ChangeType
from totonoe_core.domain.records import LinkType, Status, TypedKey
from totonoe_core.domain.undo import Undo
from totonoe_core.engine.collection.waiting import Waiters
from totonoe_core.engine.state.recent import RecentOperations

DEAD = (Status.FORGOTTEN, Status.PURGED)


def read(store, after=0, agent="anna", where=None) -> Changes:
    return store.read(ChangesQuery(agent, after, where))


def told(store, after=0, agent="anna", where=None) -> list[tuple[str, str]]:
    """(type, id) of every memory change after a revision."""
    return [
        (memory.type.value, memory.memory_id)
        for each in every(store, after, agent, where)
        for memory in each.memories
    ]


def every(store, after=0, agent="anna", where=None):
    """All changes after a revision, read by read."""
    found = []
    for _ in range(1000):
        answer = read(store, after, agent, where)
        found += answer.changes
        if answer.revision == after:
            return found
        after = answer.revision
    raise AssertionError("changes that do not end")


def follow(held: dict, changes) -> dict:
    """What someone holds who follows the changes."""
    for each in changes:
        for memory in each.memories:
            if memory.memory is None:
                assert memory.type in (ChangeType.FORGOTTEN, ChangeType.PURGED)
                held.pop(memory.memory_id, None)
            else:
                # That what took its place is hidden or shown later is no change of the memory.
                held[memory.memory_id] = replace(memory.memory, superseded_by="")
    return held


def listed(store, agent) -> dict:
    return {
        memory.id: replace(bare(memory, set()), vector=b"")
        for memory in store.list(agent, EVERY_STATUS)
        if memory.status not in DEAD
    }


def test_life_of_a_memory_is_told_in_order(store):
    first = store.save("The port is 8080.", key=TypedKey("api", "port"))
    store.apply(update(first, importance=5))
    second = store.save("The port is 9090.", key=TypedKey("api", "port"))
    store.apply(forget(second, reason="wrong"))
    changes = every(store)
    assert [(memory.type, memory.memory_id) for each in changes for memory in each.memories] == [
        ("created", first),
        ("updated", first),
        ("created", second),
        ("superseded", first),
        ("forgotten", second),
    ]
    created, updated, replaced, forgotten = changes
    assert created.memories[0].memory.fields.importance == 3
    assert updated.memories[0].memory.fields.importance == 5
    superseded = replaced.memories[1].memory
    assert (superseded.status, superseded.superseded_by) == (Status.SUPERSEDED, second)
    assert forgotten.memories[0].memory is None
    info = forgotten.operation
    assert (info.revision, info.agent_id, info.kind, info.reason) == (4, "anna", "Forget", "wrong")
    assert info.memory_ids == (second,)
    assert all(
        memory.memory.vector == b"" for each in changes for memory in each.memories if memory.memory
    )


def test_past_is_told_as_it_was(store):
    first = store.save("Old words.")
    store.apply(update(first, content="Quite other words."))
    created, updated = every(store)
    assert created.memories[0].memory.content == "Old words."
    assert updated.memories[0].memory.content == "Quite other words."
    # The same again from what was kept.
    assert every(store) == [created, updated]


def test_what_changes_nothing_is_not_told(store):
    store.save("Only this.")
    before = store.revision
    assert not store.do(remember("Only this.")).saved
    store.check(remember("Only this, checked."))
    store.preview(forget(store.list()[0].id))
    assert read(store, before) == Changes(before, ())


def test_revisions_without_anything_to_see_move_on(store):
    store.save("A secret.", agent="anna", private=True)
    answer = read(store, agent="ben")
    assert answer == Changes(store.revision, ())


def test_reads_are_bounded_and_go_on(store, monkeypatch):
    monkeypatch.setattr(limits, "CHANGES_PER_READ_MAX", 3)
    ids = [store.save(f"Number {number} of some.") for number in range(7)]
    first = read(store)
    assert (first.revision, len(first.changes)) == (3, 3)
    assert [memory_id for _, memory_id in told(store)] == ids
    monkeypatch.setattr(limits, "CHANGED_MEMORIES_PER_READ_MAX", 2)
    assert read(store).revision == 2
    assert [memory_id for _, memory_id in told(store)] == ids


def test_revision_out_of_range(store):
    store.save("One.")
    with pytest.raises(OutOfRange) as caught:
        read(store, 2)
    assert caught.value.details == {"field": "after_revision", "got": "2", "newest": "1"}
    with pytest.raises(InvalidArgument):
        read(store, -1)


# -- What is private


def test_private_memory_is_told_to_its_agent_only(store):
    mine = store.save("My own.", private=True)
    assert told(store) == [("created", mine)]
    assert told(store, agent="ben") == []


def test_turned_private_is_forgotten_for_others_and_its_past_goes(store):
    one = store.save("Seen by all.")
    at = store.revision
    store.do(update(one, private=True, reason="not for ben"))
    store.do(update(one, importance=1))
    assert told(store) == [("created", one), ("updated", one), ("updated", one)]
    assert told(store, at, "ben") == [("forgotten", one)]
    assert told(store, 0, "ben") == [("forgotten", one)]
    (hidden,) = every(store, 0, "ben")
    assert (hidden.operation.agent_id, hidden.operation.kind) == ("anna", "Update")
    assert not (hidden.operation.reason or hidden.operation.operation_id)
    assert hidden.operation.memory_ids == ()


def test_turned_public_is_created_for_others_without_what_it_was(store):
    one = store.save("First secret words.", private=True)
    store.apply(update(one, private=False, content="Words for all to read."))
    store.apply(update(one, importance=5))
    assert told(store, 0, "ben") == [("created", one), ("updated", one)]
    shown, updated = every(store, 0, "ben")
    assert shown.memories[0].memory.content == "Words for all to read."
    assert not (shown.operation.operation_id or shown.operation.memory_ids)
    assert updated.operation.memory_ids == (one,)


def test_private_memory_that_is_forgotten_says_nothing_to_others(store):
    one = store.save("Seen by all.")
    store.apply(update(one, private=True))
    at = store.revision
    store.apply(forget(one))
    assert told(store, at, "ben") == []
    assert told(store, at) == [("forgotten", one)]


def test_visibility_is_that_of_the_file_while_the_index_lacks_the_memory(store):
    one = store.save("Seen by all.")
    state = store.engine._collections.opened("default").result(wait_s())._state
    del state.index.slot_by_row[1]
    assert told(store, 0, "ben") == [("created", one)]


# -- Links


def test_links_are_told_as_the_source_holds_them(store):
    a, b = store.save("Rain falls."), store.save("The street gets wet.")
    at = store.revision
    store.apply(link(a, b, LinkType.CAUSES, confidence=0.7, note="so"))
    store.apply(link(a, b, LinkType.CAUSES, confidence=0.9))
    store.apply(unlink(a, b))
    made, changed, gone = (each.links for each in every(store, at))
    assert [(item.source_id, item.link.target_id, item.link.type) for item in (*made, *gone)] == [
        (a, b, LinkType.CAUSES)
    ] * 2
    assert (made[0].link.confidence, made[0].link.note, made[0].removed) == (0.7, "so", False)
    assert (changed[0].link.confidence, changed[0].removed) == (0.9, False)
    assert (gone[0].link.confidence, gone[0].removed) == (0.9, True)


def test_forget_tells_the_links_that_it_took(store):
    a, b = store.save("Rain falls."), store.save("The street gets wet.")
    store.apply(link(a, b))
    at = store.revision
    store.apply(forget(a))
    store.apply(link(b, store.save("Snow falls.")))
    first = every(store, at)[0]
    assert [(other.source_id, other.link.target_id, other.removed) for other in first.links] == [
        (a, b, True)
    ]


def test_links_to_what_is_hidden_are_not_told(store):
    a, b = store.save("Rain falls."), store.save("A secret.", private=True)
    at = store.revision
    store.apply(link(a, b))
    assert every(store, at, "ben") == []
    store.apply(update(b, private=False))
    # It was hidden then.
    assert [each.links for each in every(store, at, "ben")] == [()]


# -- Filters


def test_filter_tells_what_met_it_before_or_after(store):
    where = Filter(tags=("deploy",))
    one = store.save("Deploys run on Monday.", tags=("deploy",))
    other = store.save("Lunch is at noon.")
    store.apply(update(other, tags=("deploy",)))
    store.apply(update(other, tags=("food",)))
    store.apply(update(other, tags=("drink",)))
    store.apply(forget(one, other))
    store.set(("description", "words"))
    assert told(store, where=where) == [
        ("created", one),
        ("updated", other),
        ("updated", other),
        ("forgotten", one),
    ]
    assert read(store, where=where).revision == store.revision


def test_confidence_of_a_filter_is_that_of_the_change(store):
    one = store.save("It rains.", confidence=0.9)
    store.clock.advance(10_000 * HOUR_US)
    assert told(store, where=Filter(min_confidence=0.85)) == [("created", one)]


def test_links_of_a_filter_have_an_end_that_meets_it(store):
    a = store.save("Rain falls.", tags=("weather",))
    b, c = store.save("The street gets wet."), store.save("Shoes get wet.")
    at = store.revision
    store.apply(link(a, b))
    store.apply(link(b, c))
    changes = every(store, at, where=Filter(tags=("weather",)))
    assert [
        (other.source_id, other.link.target_id) for each in changes for other in each.links
    ] == [(a, b)]


def test_settings_are_told_without_a_filter(store):
    store.apply(change(("description", "words"), reason="so"))
    (only,) = every(store)
    assert only.operation.settings and only.operation.kind == "UpdateCollection"
    assert (only.memories, only.links) == ((), ())
    assert every(store, where=EVERY_STATUS) == []


# -- What is purged


def test_of_a_purged_memory_only_its_end_is_told(store):
    one, other = store.save("Shared words."), store.save("Other words.")
    store.apply(update(one, importance=5))
    store.apply(link(one, other))
    store.apply(Purge("anna", (one,)))
    for agent in ("anna", "ben"):
        assert told(store, 0, agent) == [("created", other), ("purged", one)]
        assert told(store, 0, agent, Filter(tags=("x",))) == [("purged", one)]
        assert not any(each.links for each in every(store, 0, agent))


def test_purge_of_what_was_always_private_is_told_to_its_agent_only(store):
    one = store.save("Secret words.", private=True)
    store.apply(Purge("anna", (one,)))
    assert told(store) == [("purged", one)]
    assert every(store, 0, "ben") == []


def test_purge_of_what_was_public_once_is_told_to_all_without_its_reason(store):
    one = store.save("Shared words.")
    store.apply(update(one, private=True))
    store.apply(Purge("anna", (one,), "so"))
    assert told(store) == told(store, agent="ben") == [("purged", one)]
    assert every(store)[0].operation.reason == "so"
    (only,) = every(store, 0, "ben")
    assert not (only.operation.reason or only.operation.memory_ids)


# -- The whole


def command_by(random: Random, step: int, agent: str, ids: list[tuple[str, str]], newest: int):
    """Any change of anything, by its owner or not; many are refused."""
    kind = random.randrange(9) if len(ids) > 3 else 0
    if kind < 2:
        key = TypedKey("k", str(random.randrange(3))) if random.random() < 0.3 else None
        private = random.random() < 0.3
        return remember(f"Text {step}.", agent=agent, force=True, private=private, key=key)
    memory_id, owner = random.choice(ids)
    other = random.choice(ids)[0]
    if kind == 2:
        return update(memory_id, agent=owner, private=random.random() < 0.5)
    if kind == 3:
        return update(memory_id, agent=owner, content=f"New text {step}.", force=True)
    if kind == 4:
        purges = random.random() < 0.3
        return Purge(owner, (memory_id,)) if purges else forget(memory_id, agent=owner)
    if kind == 5:
        return link(memory_id, other, agent=owner)
    if kind == 6:
        return Merge(owner, memory_id, (other,), force=True)
    revision = newest if kind == 7 else random.randrange(1, newest + 1)
    return Undo(agent, revision=revision, partial=True, force=True)


@pytest.mark.parametrize("seed", range(3))
def test_followers_from_anywhere_end_with_what_a_list_shows(store, seed):
    random = Random(seed)
    agents = ("anna", "ben")
    ids: list[tuple[str, str]] = []
    held: dict[str, dict] = {agent: {} for agent in agents}
    at = dict.fromkeys(agents, 0)
    done: set[type[Command]] = set()
    for step in range(80):
        agent = random.choice(agents)
        command = command_by(random, step, agent, ids, store.revision)
        try:
            result = store.do(command)
        except TotonoeError:
            continue
        done.add(type(command))
        if isinstance(command, Remember):
            ids.append((result.memory_id, agent))
        if random.random() < 0.1:
            one = random.choice(agents)
            follow(held[one], every(store, at[one], one))
            at[one] = store.revision
    assert {Remember, Update, Forget, Undo, Purge} <= done
    for agent in agents:
        assert follow(held[agent], every(store, at[agent], agent)) == listed(store, agent)
        assert follow({}, every(store, 0, agent)) == listed(store, agent)


def test_undo_of_a_forget_restores(store):
    one = store.save("Shared words.")
    store.apply(forget(one))
    at = store.revision
    store.apply(Undo("anna", revision=at))
    assert told(store, at) == told(store, at, "ben") == [("restored", one)]


# -- Being told


def test_waiting_ends_with_the_next_revision(store):
    store.save("One.")
    assert store.engine.await_change("default", 0).result(wait_s()) == 1
    waiting = store.engine.await_change("default", 1)
    assert not waiting.done()
    store.save("Two.")
    assert waiting.result(wait_s()) == 2
    assert read(store, 1).revision == 2


def test_a_refused_remember_wakes_nobody(store):
    store.save("One.")
    waiting = store.engine.await_change("default", 1)
    assert not store.do(remember("One.")).saved
    waiters = store.engine._collections.opened("default").result(wait_s()).waiters
    assert not waiters._telling and not waiting.done()
    store.save("Two.")
    assert waiting.result(wait_s()) == 2


def test_those_who_wait_are_failed_when_the_collection_closes(tmp_path):
    with opened(tmp_path) as store:
        store.save("One.")
        waiting = store.engine.await_change("default", 1)
    assert isinstance(waiting.exception(wait_s()), Unavailable)
    assert waiting.exception().reason == "SHUTTING_DOWN"


class Pool:
    """An executor that works when it is told to."""

    def __init__(self) -> None:
        self.work = []

    def submit(self, work) -> Future[None]:
        self.work.append(work)
        return Future()


def test_publishing_is_folded_and_done_elsewhere():
    pool = Pool()
    waiters = Waiters(pool, 0)
    first, later = waiters.wait(0), waiters.wait(2)
    waiters.publish(1)
    waiters.publish(2)
    assert len(pool.work) == 1 and not first.done()
    pool.work.pop()()
    assert first.result(0) == 2 and not later.done()
    assert waiters.wait(1).result(0) == 2
    waiters.publish(3)
    pool.work.pop()()
    assert later.result(0) == 3
    waiters.publish(4)
    assert pool.work == []


def test_cancelled_waits_are_forgotten_and_the_rest_is_bounded(monkeypatch):
    monkeypatch.setattr(limits, "WATCHERS_MAX", 2)
    waiters = Waiters(Pool(), 0)
    first = waiters.wait(0)
    waiters.wait(0)
    with pytest.raises(Quota) as caught:
        waiters.wait(0)
    assert caught.value.reason == "QUOTA_EXCEEDED"
    assert first.cancel()
    waiters.wait(0)
    waiters.close()
    with pytest.raises(Unavailable):
        waiters.wait(0)


def test_nobody_misses_a_revision():
    with ThreadPoolExecutor(1) as pool:
        waiters = Waiters(pool, 0)
        seen: list[int] = []

        def wait() -> None:
            after = 0
            while after < 300:
                after = waiters.wait(after).result(wait_s())
                seen.append(after)

        thread = threading.Thread(target=wait)
        thread.start()
        for revision in range(1, 301):
            waiters.publish(revision)
        thread.join(wait_s())
    assert seen[-1] == 300 and seen == sorted(set(seen))


def test_kept_operations_are_bounded_and_go_with_a_purge(store, monkeypatch):
    for number in range(6):
        store.save(f"Number {number} of some.")
    every(store)
    recent = store.engine._collections.opened("default").result(wait_s())._state.recent
    kept = [recent.get(revision) for revision in range(1, 7)]
    assert all(kept)
    monkeypatch.setattr(limits, "CHANGES_KEPT_BYTES_MAX", 2 * kept[0].nbytes())
    small = RecentOperations()
    for item in kept:
        small.put(item, 0)
    assert [small.get(revision) is not None for revision in range(1, 7)] == [False] * 4 + [True] * 2
    small.clear()
    small.put(kept[0], 0)
    assert small.get(1) is None
    small.put(kept[0], small.generation)
    assert small.get(1) is kept[0]
