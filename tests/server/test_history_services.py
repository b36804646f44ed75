"""Undo, history, the past, forget and purge over the real engine, as any client sees them."""

from __future__ import annotations

import time

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import operations_pb2 as ops
from totonoe.v1 import types_pb2

TEXTS = ("The pump is on.", "Ada likes green tea.", "Rain fell in April.", "Bob moved to Oslo.")


def contents(wire, collection, **rest):
    """Texts of the live memories."""
    page = wire.memory.List(pb.ListRequest(collection=collection, **rest), timeout=10)
    return [memory.content for memory in page.memories]


def undo(wire, collection, **rest):
    return wire.memory.Undo(ops.UndoRequest(collection=collection, **rest), timeout=10)


@pytest.fixture
def filled(wire):
    """A collection with four memories, and their ids."""
    collection = wire.collection()
    return collection, [wire.remember(text, collection, agent_id="ann").memory_id for text in TEXTS]


# -- Undo


@pytest.mark.both_stores
def test_undo_of_a_forget_brings_memory_and_links_back_and_undo_of_it_takes_them(wire, filled):
    collection, ids = filled
    wire.memory.Link(pb.LinkRequest(collection=collection, source_id=ids[0], target_id=ids[1]))
    request = pb.ForgetRequest(
        collection=collection, agent_id="ann", ids=ids[:1], reason="too old", operation_id="f1"
    )
    forgotten = wire.memory.Forget(request, timeout=10)
    dry = undo(wire, collection, target_operation_id="f1", agent_id="ann", dry_run=True)
    assert (dry.dry_run, dry.undone, dry.revision) == (True, True, forgotten.revision)
    assert TEXTS[0] not in contents(wire, collection)
    done = undo(wire, collection, target_operation_id="f1", agent_id="ann", operation_id="u1")
    assert (done.undone, done.operation.kind, done.operation.reason) == (True, "Forget", "too old")
    assert [memory.id for memory in done.memories] == ids[:1]
    assert done.link_count == 1
    assert contents(wire, collection) == list(TEXTS)
    again = undo(wire, collection, target_operation_id="f1", agent_id="ann", operation_id="u1")
    assert again.replayed
    assert again.revision == done.revision
    undo(wire, collection, target_revision=done.revision, agent_id="ann")
    assert contents(wire, collection) == list(TEXTS[1:])


def test_undo_with_a_conflict_is_aborted_and_partial_takes_the_rest_back(wire, fails, filled):
    collection, ids = filled
    forgotten = wire.memory.Forget(pb.ForgetRequest(collection=collection, ids=ids[:2]), timeout=10)
    back = undo(wire, collection, target_revision=forgotten.revision)
    wire.memory.Forget(pb.ForgetRequest(collection=collection, ids=ids[:1]), timeout=10)
    request = ops.UndoRequest(collection=collection, target_revision=forgotten.revision)
    failure = fails(wire.memory.Undo, request)
    assert (failure.code, failure.reason) == (grpc.StatusCode.ABORTED, "UNDO_CONFLICT")
    assert failure.details["conflict_count"] == "2"
    request.dry_run = True
    conflicts = wire.memory.Undo(request, timeout=10).conflicts
    assert {shown.memory_id for shown in conflicts} == set(ids[:2])
    assert {shown.kind for shown in conflicts} == {ops.UNDO_CONFLICT_KIND_UNDONE_ALREADY}
    assert {shown.revision for shown in conflicts} == {back.revision}
    # What the first Undo did can be taken back of the other memory alone.
    request = ops.UndoRequest(collection=collection, target_revision=back.revision)
    assert fails(wire.memory.Undo, request).details["conflict_count"] == "1"
    request.partial = True
    answer = wire.memory.Undo(request, timeout=10)
    assert [memory.id for memory in answer.memories] == [ids[1]]
    (conflict,) = answer.conflicts
    assert (conflict.kind, conflict.memory_id) == (ops.UNDO_CONFLICT_KIND_CHANGED, ids[0])


def test_undo_of_what_repeats_another_memory_asks_for_force(wire, filled):
    collection, ids = filled
    forgotten = wire.memory.Forget(pb.ForgetRequest(collection=collection, ids=ids[:1]), timeout=10)
    second = wire.remember(TEXTS[0], collection)
    refused = undo(wire, collection, target_revision=forgotten.revision)
    assert (refused.undone, refused.revision) == (False, second.revision)
    (conflict,) = refused.conflicts
    assert conflict.kind == ops.UNDO_CONFLICT_KIND_DUPLICATE
    assert conflict.duplicate.memory_id == second.memory_id
    assert undo(wire, collection, target_revision=forgotten.revision, force=True).undone
    assert contents(wire, collection).count(TEXTS[0]) == 2


def test_undo_of_settings_shows_them_as_they_are(wire):
    collection = wire.collection(description="first")
    changed = wire.admin.UpdateCollection(
        admin_pb.UpdateCollectionRequest(
            name=collection, collection={"description": "second"},
            update_mask={"paths": ["description"]},
        ),
        timeout=10,
    )  # fmt: skip
    done = undo(wire, collection, target_revision=changed.revision)
    assert (done.collection.description, done.operation.settings) == ("first", True)
    got = wire.admin.GetCollection(admin_pb.GetCollectionRequest(name=collection), timeout=10)
    assert got.collection.description == "first"


def test_undo_brings_a_deleted_collection_back_once(wire, fails, filled):
    collection, _ = filled
    wire.admin.DeleteCollection(
        admin_pb.DeleteCollectionRequest(name=collection, operation_id="d1"), timeout=20
    )
    request = ops.UndoRequest(
        collection=collection, operation_id="u1", target_operation_id="d1", dry_run=True
    )
    assert fails(wire.memory.Undo, request).reason == "COLLECTION_NOT_FOUND"
    request.dry_run = False
    done = wire.memory.Undo(request, timeout=20)
    assert (done.undone, done.collection.name, done.replayed) == (True, collection, False)
    assert contents(wire, collection) == list(TEXTS)
    assert wire.memory.Undo(request, timeout=20).replayed
    request.operation_id = "u2"
    assert fails(wire.memory.Undo, request).reason == "COLLECTION_EXISTS"
    request.target_operation_id = "d2"
    assert fails(wire.memory.Undo, request).reason == "OPERATION_NOT_FOUND"


# -- History and operations


def test_history_tells_versions_newest_first(wire, filled):
    collection, ids = filled
    for category, valid in (("a", 1), ("b", 2)):
        request = pb.UpdateRequest(
            collection=collection, agent_id="bob", memory_id=ids[0], reason=f"now {category}",
            memory={"category": category, "valid_from_time": {"seconds": valid}},
            update_mask={"paths": ["category", "valid_from_time"]},
        )  # fmt: skip
        wire.memory.Update(request, timeout=10)
    wire.memory.Link(pb.LinkRequest(collection=collection, source_id=ids[1], target_id=ids[0]))
    wire.memory.Forget(pb.ForgetRequest(collection=collection, ids=ids[:1]), timeout=10)
    request = ops.HistoryRequest(collection=collection, memory_id=ids[0], page_size=3)
    page = wire.memory.History(request, timeout=10)
    assert [version.operation.kind for version in page.versions] == ["Forget", "Link", "Update"]
    forgot, linked, updated = page.versions
    assert forgot.changed == ["status"]
    assert forgot.memory.status == types_pb2.STATUS_FORGOTTEN
    assert [link.target_id for link in forgot.unlinked] == ids[1:2]
    assert [link.target_id for link in linked.linked] == ids[1:2]
    assert not linked.HasField("memory")
    assert set(updated.changed) == {"category", "valid_from_time"}
    assert (updated.memory.category, updated.operation.reason) == ("b", "now b")
    assert updated.operation.agent_id == "bob"
    request.page_token = page.next_page_token
    rest = wire.memory.History(request, timeout=10)
    assert [version.operation.kind for version in rest.versions] == ["Update", "Remember"]
    assert (rest.versions[1].memory.content, rest.next_page_token) == (TEXTS[0], "")


def test_operations_are_found_by_who_what_when_and_why(wire, filled):
    collection, ids = filled
    request = pb.ForgetRequest(
        collection=collection, agent_id="bob", ids=ids[:2], reason="Out of DATE", operation_id="f1"
    )
    wire.memory.Forget(request, timeout=10)

    def found(**rest):
        answer = wire.memory.ListOperations(
            ops.ListOperationsRequest(collection=collection, **rest), timeout=10
        )
        return [operation.kind for operation in answer.operations]

    assert found() == ["Forget", *["Remember"] * 4]
    assert found(agent_ids=["bob"]) == found(kinds=["Forget"]) == ["Forget"]
    assert found(reason_contains="date") == ["Forget"]
    assert found(memory_id=ids[0]) == ["Forget", "Remember"]
    assert found(time={"to_time": {"seconds": 1}}) == []
    answer = wire.memory.ListOperations(
        ops.ListOperationsRequest(collection=collection, page_size=1), timeout=10
    )
    (operation,) = answer.operations
    assert (operation.operation_id, operation.revision) == ("f1", answer.revision)
    assert set(operation.memory_ids) == set(ids[:2])
    assert answer.next_page_token


def test_private_memories_are_in_nobody_elses_history(wire, fails):
    collection = wire.collection()
    secret = wire.remember("The code is 4711.", collection, agent_id="ann", private=True)
    request = ops.HistoryRequest(collection=collection, agent_id="bob", memory_id=secret.memory_id)
    assert fails(wire.memory.History, request).reason == "MEMORY_NOT_FOUND"
    undoing = ops.UndoRequest(
        collection=collection, agent_id="bob", target_revision=secret.revision
    )
    assert fails(wire.memory.Undo, undoing).reason == "OPERATION_NOT_FOUND"
    listing = ops.ListOperationsRequest(collection=collection, agent_id="bob")
    assert len(wire.memory.ListOperations(listing, timeout=10).operations) == 0
    listing.agent_id = "ann"
    assert len(wire.memory.ListOperations(listing, timeout=10).operations) == 1


# -- The past


@pytest.mark.both_stores
def test_as_of_reads_what_was_there_then(wire, fails, filled):
    collection, ids = filled
    then = {"revision": 2}
    wire.memory.Forget(pb.ForgetRequest(collection=collection, ids=ids[:1]), timeout=10)
    page = wire.memory.List(pb.ListRequest(collection=collection, as_of=then), timeout=10)
    assert ([memory.content for memory in page.memories], page.as_of_revision) == (
        list(TEXTS[:2]),
        2,
    )
    got = wire.memory.Get(
        pb.GetRequest(collection=collection, ids=ids[:1] + ids[3:], as_of=then), timeout=10
    )
    assert got.memories[0].status == types_pb2.STATUS_ACTIVE
    assert (got.missing_ids, got.as_of_revision) == (ids[3:], 2)
    recall = pb.RecallRequest(collection=collection, text=TEXTS[0], as_of=then)
    hits = wire.memory.Recall(recall, timeout=20)
    assert (hits.hits[0].memory.id, hits.as_of_revision) == (ids[0], 2)
    to_come = {"collection": collection, "as_of": {"revision": 99}}
    for failure in (
        fails(wire.memory.Get, pb.GetRequest(ids=ids, **to_come)),
        fails(wire.memory.List, pb.ListRequest(**to_come)),
        fails(wire.memory.Recall, pb.RecallRequest(text="x", **to_come)),
    ):
        assert failure.code is grpc.StatusCode.OUT_OF_RANGE
        assert failure.reason == "REVISION_OUT_OF_RANGE"
    later = Timestamp()
    later.FromSeconds(int(time.time()) + 3600)
    to_come = {"collection": collection, "as_of": {"time": later}}
    for failure in (
        fails(wire.memory.Get, pb.GetRequest(ids=ids, **to_come)),
        fails(wire.memory.List, pb.ListRequest(**to_come)),
        fails(wire.memory.Recall, pb.RecallRequest(text="x", **to_come)),
    ):
        assert failure.code is grpc.StatusCode.OUT_OF_RANGE
        assert failure.reason == "REVISION_OUT_OF_RANGE"
        assert failure.details["field"] == "as_of.time"
    failure = fails(
        wire.memory.Get, pb.GetRequest(collection=collection, ids=ids[3:], as_of={"revision": 2})
    )
    assert (failure.code, failure.reason) == (grpc.StatusCode.NOT_FOUND, "MEMORY_NOT_YET")
    assert failure.details["as_of_revision"] == "2"


def test_get_follows_what_was_superseded_to_the_live_one(wire, filled):
    collection, ids = filled
    new = wire.memory.Remember(
        pb.RememberRequest(
            collection=collection, memory={"content": "The pump is off."}, supersede_ids=ids[:1]
        ),
        timeout=10,
    )
    assert new.superseded_ids == ids[:1]
    request = pb.GetRequest(collection=collection, ids=ids[:1], follow_superseded=True)
    got = wire.memory.Get(request, timeout=10)
    assert [memory.id for memory in got.memories] == [new.memory_id]
    assert dict(got.redirects) == {ids[0]: new.memory_id}
    request.follow_superseded = False
    assert wire.memory.Get(request, timeout=10).memories[0].superseded_by == new.memory_id


@pytest.mark.parametrize("by", ["Remember", "RememberMany"])
def test_what_refuses_takes_the_place_and_everybody_hears_of_it(wire, filled, by):
    collection, ids = filled
    more = {"collection": collection, "memory": {"content": TEXTS[0]}, "supersede_ids": ids[1:2]}
    would = wire.memory.Check(pb.CheckRequest(**more), timeout=10)
    assert (would.would_save, list(would.superseded_ids)) == (False, ids[1:2])
    request = pb.RememberRequest(operation_id=f"by {by}", **more)

    def remember():
        if by == "Remember":
            return wire.memory.Remember(request, timeout=10)
        (answer,) = wire.memory.RememberMany(
            iter([pb.RememberManyRequest(items=[request])]), timeout=20
        )
        return answer.results[0].answer

    answer, again = remember(), remember()
    assert (answer.saved, answer.memory_id, answer.replayed) == (False, ids[0], False)
    assert list(answer.superseded_ids) == ids[1:2]
    assert answer.revision == would.revision + 1
    assert (again.replayed, again.revision) == (True, answer.revision)
    assert list(again.superseded_ids) == ids[1:2]
    watch = wire.memory.Watch(
        ops.WatchRequest(collection=collection, after_revision=would.revision), timeout=10
    )
    change = next(item.change for item in watch if item.WhichOneof("event") == "change")
    watch.cancel()
    assert change.operation.operation_id == request.operation_id
    assert undo(wire, collection, target_revision=answer.revision).undone
    got = wire.memory.Get(pb.GetRequest(collection=collection, ids=ids[1:2]), timeout=10)
    assert got.memories[0].status == types_pb2.STATUS_ACTIVE


# -- Forget and Purge


def test_forget_by_filter_shows_what_then_is_forgotten_by_ids_and_revisions(wire, fails, filled):
    collection, ids = filled
    request = pb.ForgetRequest(collection=collection, filter={"agent_ids": ["ann"]}, dry_run=True)
    shown = wire.memory.Forget(request, timeout=10)
    assert (shown.matching_count, [memory.id for memory in shown.forgotten]) == (4, ids)
    assert contents(wire, collection) == list(TEXTS)
    revisions = {memory.id: memory.revision for memory in shown.forgotten}
    stale = pb.ForgetRequest(
        collection=collection, ids=ids, expected_revisions=revisions | {ids[0]: 99}
    )
    failure = fails(wire.memory.Forget, stale)
    assert (failure.code, failure.reason) == (grpc.StatusCode.ABORTED, "STALE_REVISION")
    bound = pb.ForgetRequest(collection=collection, ids=ids, expected_revisions=revisions)
    assert len(wire.memory.Forget(bound, timeout=10).forgotten) == 4
    assert contents(wire, collection) == []


def test_forget_of_many_with_revisions_is_replayed(wire):
    collection = wire.collection()
    saved = [wire.remember(f"Item {i} of {i * 17}.", collection) for i in range(17)]
    request = pb.ForgetRequest(
        collection=collection, ids=[item.memory_id for item in saved], operation_id="f1"
    )
    got = wire.memory.Get(pb.GetRequest(collection=collection, ids=request.ids), timeout=10)
    for memory in got.memories:
        request.expected_revisions[memory.id] = memory.revision
    first = wire.memory.Forget(request, timeout=10)
    again = wire.memory.Forget(request, timeout=10)
    assert (first.replayed, again.replayed, len(again.forgotten)) == (False, True, 17)


def test_text_that_was_forgotten_is_saved_with_a_note_or_refused(wire, filled):
    collection, ids = filled
    request = pb.ForgetRequest(
        collection=collection, agent_id="ann", ids=ids[:2], reason="was wrong"
    )
    forgotten = wire.memory.Forget(request, timeout=10)
    checked = wire.memory.Check(
        pb.CheckRequest(collection=collection, memory={"content": TEXTS[0]}), timeout=10
    )
    assert (checked.would_save, checked.forgotten.memory_id) == (True, ids[0])
    saved = wire.remember(TEXTS[0], collection)
    assert saved.saved
    note = saved.forgotten
    assert (note.memory_id, note.reason, note.agent_id) == (ids[0], "was wrong", "ann")
    assert (note.snippet, note.revision) == (TEXTS[0], forgotten.revision)
    wire.admin.UpdateCollection(
        admin_pb.UpdateCollectionRequest(
            name=collection, collection={"guard": {"refuse_forgotten": True}},
            update_mask={"paths": ["guard.refuse_forgotten"]},
        ),
        timeout=10,
    )  # fmt: skip
    refused = wire.remember(TEXTS[1], collection)
    assert (refused.saved, refused.memory_id, refused.HasField("duplicate")) == (
        False, ids[1], False,
    )  # fmt: skip
    assert refused.forgotten.memory_id == ids[1]
    assert wire.remember(TEXTS[1], collection, force=True).saved


def test_purge_takes_a_memory_for_good(wire, fails, filled):
    collection, ids = filled
    request = admin_pb.PurgeRequest(
        collection=collection, ids=ids[:1], operation_id="p1", dry_run=True
    )
    dry = wire.admin.Purge(request, timeout=10)
    assert (dry.dry_run, list(dry.purged_ids)) == (True, ids[:1])
    assert contents(wire, collection) == list(TEXTS)
    request.dry_run = False
    done = wire.admin.Purge(request, timeout=20)
    assert (list(done.purged_ids), done.operation_id, done.dry_run) == (ids[:1], "p1", False)
    assert wire.admin.Purge(request, timeout=10).replayed
    assert contents(wire, collection) == list(TEXTS[1:])
    get = pb.GetRequest(collection=collection, ids=ids[:1])
    assert fails(wire.memory.Get, get).reason == "MEMORY_NOT_FOUND"
    undoing = ops.UndoRequest(collection=collection, target_operation_id="p1")
    failure = fails(wire.memory.Undo, undoing)
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.FAILED_PRECONDITION,
        "NOT_UNDOABLE",
    )


def test_retention_is_shown_changed_and_taken_back_to_never(wire):
    collection = wire.collection(retention={"purge_forgotten_days": 30})

    def shown():
        request = admin_pb.GetCollectionRequest(name=collection)
        return wire.admin.GetCollection(request, timeout=10).collection.retention

    assert shown().purge_forgotten_days == 30
    for days, expected in (({"purge_forgotten_days": 7.5}, 7.5), ({}, 0)):
        wire.admin.UpdateCollection(
            admin_pb.UpdateCollectionRequest(
                name=collection, collection={"retention": days},
                update_mask={"paths": ["retention"]},
            ),
            timeout=10,
        )  # fmt: skip
        assert shown().purge_forgotten_days == expected
