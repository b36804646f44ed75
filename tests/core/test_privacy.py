"""Private memories: who may change that, whose place they take, and that nothing names them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.engines import Store, forget, link, merge, remember, undo, update
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.graph import CreateEpisode, DeleteEpisode
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.policy import Action
from totonoe_core.domain.queries import (
    AsOf,
    ChangesQuery,
    GetQuery,
    HistoryQuery,
    OperationFilter,
    OperationsQuery,
)
from totonoe_core.domain.records import LinkType, Memory, Status, TypedKey, Verdict

KEY = TypedKey("api", "port")


def in_place_of(content: str, *ids: str, **more: Any) -> Remember:
    return replace(remember(content, **more), supersede_ids=ids)


def test_only_its_own_agent_makes_a_memory_private_or_public(store: Store) -> None:
    one = store.save("pump")
    error = store.refused(update(one, agent="ben", private=True), errors.NotOwner)
    assert error.reason == "NOT_OWNER"
    assert error.details["memory_id"] == one
    assert store.revision == 1
    assert store.do(update(one, agent="ben", private=False, importance=5)).updated
    assert store.do(update(one, private=True)).memory.fields.private
    assert store.do(update(one, private=False)).updated


class TestPlace:
    """A private memory takes the place of private ones only."""

    def test_private_value_of_a_key_leaves_the_public_one(self, store: Store) -> None:
        public = store.save("port 8080", agent="ben", key=KEY)
        told = store.do(remember("port 9090", key=KEY, private=True))
        assert (told.superseded_ids, told.guard.verdict) == ((), Verdict.UPDATE)
        assert [(link.target_id, link.type) for link in told.links] == [(public, LinkType.UPDATES)]
        assert store.one(public, "ben").status is Status.ACTIVE
        assert store.one(public, "ben").links == ()

    def test_each_value_gives_way_to_one_as_private(self, store: Store) -> None:
        public = store.save("port 1", agent="ben", key=KEY)
        own = store.save("port 2", key=KEY, private=True)
        assert store.do(remember("port 3", key=KEY, private=True)).superseded_ids == (own,)
        told = store.do(remember("port 4", key=KEY))
        assert set(told.superseded_ids[:1]) == {public}, "and all that its agent sees"
        assert len(told.superseded_ids) == 2

    def test_value_that_turns_private_takes_the_place_of_private_ones(self, store: Store) -> None:
        public = store.save("port 1", key=KEY)
        own = store.save("port 2", key=KEY, private=True)
        assert store.do(update(public, private=True)).updated
        assert store.one(own).superseded_by == public

    def test_public_value_takes_the_place_of_an_own_private_one(self, store: Store) -> None:
        own = store.save("port 1", key=KEY, private=True)
        assert store.do(remember("port 2", key=KEY)).superseded_ids == (own,)

    def test_private_value_comes_back_beside_a_public_one(self, store: Store) -> None:
        own = store.save("port 1", key=KEY, private=True)
        store.do(forget(own))
        store.save("port 2", agent="ben", key=KEY)
        assert store.do(undo(2)).undone
        assert store.one(own).status is Status.ACTIVE

    def test_verdict_links_a_private_text_and_supersedes_no_public_one(self, store: Store) -> None:
        policy = ((Verdict.UPDATE, Action.SUPERSEDE),)
        public = store.save("The port is 8080.", agent="ben")
        near = store.one(public, "ben").vector
        text = remember("The port is 9090.", private=True)
        told = store.do(replace(text, actions=policy, vector=near))
        assert (told.saved, told.superseded_ids) == (True, ())
        assert [link.type for link in told.links] == [LinkType.UPDATES]
        again = remember("The port is 7070.", private=True)
        told_again = store.do(replace(again, actions=policy, vector=near))
        assert told_again.superseded_ids == (told.memory_id,)
        assert store.one(public, "ben").status is Status.ACTIVE

    def test_naming_a_public_one_is_refused(self, store: Store) -> None:
        public, own = store.save("pump"), store.save("valve", private=True)
        command = in_place_of("motor", own, public, private=True)
        for call in (store.do, store.check):
            with pytest.raises(errors.InvalidArgument) as caught:
                call(command)
            assert caught.value.reason == "BAD_MERGE"
            assert caught.value.details["field"] == "supersede_ids"
        assert store.do(in_place_of("motor", own, private=True)).superseded_ids == (own,)


def shown(store: Store, memory_id: str, agent: str) -> list[Memory]:
    """One memory as every read shows its newest version."""
    engine, name = store.engine, store.collection
    revision = store.revision
    then = engine.read(name, GetQuery(agent, (memory_id,), as_of=AsOf(revision))).result(wait_s())
    versions = engine.read(name, HistoryQuery(agent, memory_id, 100, "")).result(wait_s()).versions
    told = engine.read(name, ChangesQuery(agent, 0, None)).result(wait_s()).changes
    changed = [
        change.memory for each in told for change in each.memories if change.memory_id == memory_id
    ]
    listed = [memory for memory in store.list(agent) if memory.id == memory_id]
    made = [version.memory for version in versions if version.memory is not None]
    return [store.one(memory_id, agent), *then.memories, *listed, made[0], changed[-1]]


def test_what_took_the_place_of_a_memory_is_not_named_once_it_is_private(store: Store) -> None:
    old = store.save("port 8080", agent="ben", key=KEY)
    new = store.save("port 9090", key=KEY)
    assert {memory.superseded_by for memory in shown(store, old, "ben")} == {new}
    store.do(update(new, private=True))
    assert {memory.superseded_by for memory in shown(store, old, "ben")} == {""}
    assert {memory.superseded_by for memory in shown(store, old, "anna")} == {new}
    # The row still knows it.
    store.do(update(new, private=False))
    assert {memory.superseded_by for memory in shown(store, old, "ben")[:1]} == {new}


def test_evidence_that_is_private_is_not_named(store: Store) -> None:
    secret, public = store.save("secret", private=True), store.save("public")
    unknown = "mem_" + "0" * 16
    one = store.save("claim", evidence_ids=(secret, unknown, public, "ext:name"))
    for memory in shown(store, one, "ben"):
        assert memory.fields.evidence_ids == (unknown, public, "ext:name")
    for memory in shown(store, one, "anna"):
        assert memory.fields.evidence_ids == (secret, unknown, public, "ext:name")
    merged = store.do(merge(public, one, agent="ben"))
    assert secret not in str(merged)
    assert secret in store.one(public).fields.evidence_ids, "it is not lost"


def test_forget_counts_the_links_that_the_agent_sees(store: Store) -> None:
    one, other, secret = store.save("a"), store.save("b"), store.save("c", private=True)
    store.do(link(one, other))
    store.do(link(one, secret))
    assert store.preview(forget(one, agent="ben"))[1].unlinked_count == 1
    assert store.do(forget(one, agent="ben")).unlinked_count == 1
    assert store.one(secret).links == ()


def infos(store: Store, agent: str) -> tuple[dict[int, Any], dict[int, Any]]:
    """Operations by revision, as a list of them and as the changes tell them."""
    engine, name = store.engine, store.collection
    page = engine.read(name, OperationsQuery(agent, OperationFilter(), 1000, "")).result(wait_s())
    changes = engine.read(name, ChangesQuery(agent, 0, None)).result(wait_s()).changes
    listed = {operation.revision: operation for operation in page.operations}
    return listed, {each.operation.revision: each.operation for each in changes}


@pytest.mark.parametrize("agent", ["anna", "ben"])
def test_changes_and_lists_tell_the_same_of_an_operation(store: Store, agent: str) -> None:
    one, two = store.save("a"), store.save("b")
    secret = store.save("c", private=True)
    for pair in ((one, two), (one, secret), (two, secret)):
        store.do(link(*pair))
    made = store.do(CreateEpisode("anna", "all of it", (one, two, secret))).episode
    hidden = store.do(CreateEpisode("anna", "own", (one,), private=True)).episode
    store.do(DeleteEpisode("anna", made.id, "over"))
    store.do(DeleteEpisode("anna", hidden.id, "over too"))
    store.do(update(two, private=True, reason="mine"))
    store.apply(forget(one, two, secret, reason="all"))
    store.do(undo(12, reason="back"))
    store.do(update(two, private=False, reason="ours"))
    listed, told = infos(store, agent)
    # What has nothing for the agent but that something left its sight is in the changes alone.
    assert set(listed) <= set(told)
    assert {revision: told[revision] for revision in listed} == listed
    for revision in set(told) - set(listed):
        assert not (told[revision].reason or told[revision].operation_id)
    assert made.id in listed[7].episode_ids, "also after it was taken away"
    assert (8 in listed) is (agent == "anna")
