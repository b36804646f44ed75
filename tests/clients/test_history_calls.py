"""Undo, history, operations, purge, the past: what is sent and read, in both clients."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from support.scripted import answering, scripted
from totonoe import Draft, GuardPolicy, RetentionPolicy, TimeRange
from totonoe.enums import UndoConflictKind
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import operations_pb2 as operations_pb
from totonoe.v1 import snapshot_pb2, types_pb2

Call = Callable[..., Any]
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
STAMP = Timestamp(seconds=1_767_225_600)
DONE = operations_pb.Operation(
    revision=4,
    operation_id="op_f",
    agent_id="anna",
    kind="Forget",
    reason="wrong",
    time=STAMP,
    memory_ids=["mem_1"],
    link_count=2,
    undone_by=9,
)
LINK = types_pb2.Link(target_id="mem_2", type=types_pb2.LINK_TYPE_COACTIVATED, confidence=0.5)
FORGOTTEN = types_pb2.ForgottenMatch(
    memory_id="mem_1", age="3d ago", snippet="s", reason="wrong", agent_id="anna", revision=4
)


# -- undo


def test_undo_takes_a_revision_or_an_operation_id(call: Call) -> None:
    answer = operations_pb.UndoResponse(
        revision=9,
        undone=True,
        operation=DONE,
        memories=[types_pb2.Memory(id="mem_1", status=types_pb2.STATUS_ACTIVE)],
        episode_ids=["ep_1"],
        link_count=2,
        operation_id="op_u",
    )
    requests: list[operations_pb.UndoRequest] = []
    with scripted(Undo=answering(answer, requests)) as address:
        undone = call(
            address, "undo", 4, reason="r", partial=True, operation_id="op_u", collection="notes"
        )
        call(address, "undo", "op_f", force=True, dry_run=True)
    assert requests[0] == operations_pb.UndoRequest(
        collection="notes", operation_id="op_u", target_revision=4, reason="r", partial=True
    )
    assert requests[1].WhichOneof("target") == "target_operation_id"
    assert (requests[1].target_operation_id, requests[1].force, requests[1].dry_run) == (
        "op_f",
        True,
        True,
    )
    assert requests[1].operation_id.startswith("op_")
    assert (undone.undone, undone.revision, undone.operation_id) == (True, 9, "op_u")
    assert undone.operation.time == MOMENT
    assert (undone.operation.kind, undone.operation.undone_by) == ("Forget", 9)
    assert [memory.status for memory in undone.memories] == ["active"]
    assert (undone.episode_ids, undone.link_count, undone.collection) == (("ep_1",), 2, None)


def test_undo_reads_conflicts_and_a_collection_that_came_back(call: Call) -> None:
    conflicts = [
        operations_pb.UndoConflict(
            kind=operations_pb.UNDO_CONFLICT_KIND_CHANGED, memory_id="mem_1", revision=7
        ),
        operations_pb.UndoConflict(
            kind=operations_pb.UNDO_CONFLICT_KIND_DUPLICATE,
            memory_id="mem_2",
            duplicate=types_pb2.Duplicate(memory_id="mem_3", similarity=1.0),
        ),
        operations_pb.UndoConflict(kind=operations_pb.UNDO_CONFLICT_KIND_CHANGED, settings=True),
    ]
    answer = operations_pb.UndoResponse(
        operation=DONE, conflicts=conflicts, collection=types_pb2.Collection(name="notes")
    )
    with scripted(Undo=answering(answer)) as address:
        undone = call(address, "undo", 4)
    changed, repeated, settings = undone.conflicts
    assert (changed.kind, changed.memory_id, changed.revision) == ("changed", "mem_1", 7)
    assert changed.duplicate is None
    assert repeated.kind is UndoConflictKind.DUPLICATE
    assert repeated.duplicate.memory_id == "mem_3"
    assert (settings.settings, settings.memory_id) == (True, "")
    assert undone.collection.name == "notes"


@pytest.mark.parametrize("target", [None, True, 1.5, b"op"])
def test_undo_of_something_else_raises_type_error_before_sending(call: Call, target: Any) -> None:
    with pytest.raises(TypeError, match="target"):
        call("127.0.0.1:1", "undo", target)


# -- history, operations


def test_history_reads_versions_with_links_or_without_memory(call: Call) -> None:
    versions = [
        operations_pb.Version(operation=DONE, unlinked=[LINK]),
        operations_pb.Version(
            operation=DONE,
            memory=types_pb2.Memory(id="mem_1", content="a"),
            changed=["content"],
            linked=[LINK],
        ),
    ]
    requests: list[operations_pb.HistoryRequest] = []
    answer = operations_pb.HistoryResponse(revision=9, versions=versions, next_page_token="t")
    with scripted(History=answering(answer, requests)) as address:
        page = call(address, "history", "mem_1", page_size=2, page_token="s")
    assert requests == [
        operations_pb.HistoryRequest(memory_id="mem_1", page_size=2, page_token="s")
    ]
    assert (page.revision, page.next_page_token) == (9, "t")
    newer, older = page.versions
    assert (newer.memory, newer.unlinked[0].type) == (None, "coactivated")
    assert (older.memory.content, older.changed, len(older.linked)) == ("a", ("content",), 1)


def test_operations_send_who_when_what_why(call: Call) -> None:
    requests: list[operations_pb.ListOperationsRequest] = []
    answer = operations_pb.ListOperationsResponse(revision=9, operations=[DONE])
    with scripted(ListOperations=answering(answer, requests)) as address:
        page = call(
            address,
            "operations",
            agent_ids=["anna"],
            kinds=["Forget"],
            time=TimeRange(MOMENT, None),
            memory_id="mem_1",
            reason_contains="wro",
        )
        call(address, "operations")
    assert requests[0] == operations_pb.ListOperationsRequest(
        agent_ids=["anna"],
        kinds=["Forget"],
        time=types_pb2.TimeRange(from_time=STAMP),
        memory_id="mem_1",
        reason_contains="wro",
        page_size=100,
    )
    assert requests[1] == operations_pb.ListOperationsRequest(page_size=100)
    assert page.operations[0].memory_ids == ("mem_1",)
    assert page.next_page_token == ""


# -- the past, heads of superseded memories


@pytest.mark.parametrize(
    ("as_of", "message"),
    [
        (0, types_pb2.AsOf(revision=0)),
        (7, types_pb2.AsOf(revision=7)),
        (MOMENT, types_pb2.AsOf(time=STAMP)),
    ],
)
def test_as_of_goes_with_every_read(call: Call, as_of: Any, message: types_pb2.AsOf) -> None:
    got: list[pb.GetRequest] = []
    listed: list[pb.ListRequest] = []
    recalled: list[pb.RecallRequest] = []
    with scripted(
        Get=answering(pb.GetResponse(memories=[types_pb2.Memory(id="m")], as_of_revision=7), got),
        List=answering(pb.ListResponse(as_of_revision=7), listed),
        Recall=answering(pb.RecallResponse(as_of_revision=7), recalled),
    ) as address:
        call(address, "get", "m", as_of=as_of)
        found = call(address, "get_many", ["m"], as_of=as_of)
        page = call(address, "list", as_of=as_of)
        call(address, "list_all", as_of=as_of)
        hits = call(address, "recall", "x", as_of=as_of)
    for request in [*got, *listed, *recalled]:
        assert request.as_of == message
        assert request.as_of.WhichOneof("moment") == message.WhichOneof("moment")
    assert (len(got), len(listed), len(recalled)) == (2, 2, 1)
    assert (found.as_of_revision, page.as_of_revision, hits.as_of_revision) == (7, 7, 7)


@pytest.mark.parametrize(
    ("as_of", "error"),
    [(True, TypeError), ("7", TypeError), (datetime(2026, 1, 1), ValueError), (2**63, ValueError)],
)
def test_as_of_that_is_no_moment_raises_before_sending(
    call: Call, as_of: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        call("127.0.0.1:1", "get", "mem_1", as_of=as_of)


def test_get_follows_superseded_on_request(call: Call) -> None:
    requests: list[pb.GetRequest] = []
    answer = pb.GetResponse(memories=[types_pb2.Memory(id="mem_2")], redirects={"mem_1": "mem_2"})
    with scripted(Get=answering(answer, requests)) as address:
        assert call(address, "get", "mem_1", follow_superseded=True).id == "mem_2"
        found = call(address, "get_many", ["mem_1"], follow_superseded=True)
        call(address, "get", "mem_1")
    assert found.redirects == {"mem_1": "mem_2"}
    assert [request.follow_superseded for request in requests] == [True, True, False]
    assert not requests[2].HasField("as_of")


# -- forget by conditions, purge, what was forgotten


def test_forget_by_conditions_is_a_dry_run_whose_answer_can_be_approved(call: Call) -> None:
    requests: list[pb.ForgetRequest] = []
    answer = pb.ForgetResponse(
        forgotten=[types_pb2.Memory(id="mem_1", revision=3)], dry_run=True, matching_count=1200
    )
    with scripted(Forget=answering(answer, requests)) as address:
        preview = call(address, "forget", dry_run=True, tags=["old"])
        ids = [memory.id for memory in preview.forgotten]
        revisions = {memory.id: memory.revision for memory in preview.forgotten}
        call(address, "forget", ids, expected_revisions=revisions)
    assert preview.matching_count == 1200
    assert list(requests[0].filter.tags) == ["old"]
    assert (list(requests[0].ids), requests[0].dry_run) == ([], True)
    assert not requests[1].HasField("filter")
    assert (list(requests[1].ids), dict(requests[1].expected_revisions)) == (
        ["mem_1"],
        {"mem_1": 3},
    )


@pytest.mark.parametrize(("ids", "dry_run"), [((), False), (["mem_1"], True)])
def test_forget_by_conditions_otherwise_raises_before_sending(
    call: Call, ids: Any, dry_run: bool
) -> None:
    with pytest.raises(ValueError, match="conditions"):
        call("127.0.0.1:1", "forget", ids, dry_run=dry_run, tags=["old"])


def test_purge_takes_one_id_or_several(call: Call) -> None:
    requests: list[admin_pb.PurgeRequest] = []
    answer = admin_pb.PurgeResponse(
        revision=8, purged_ids=["mem_1"], version_count=3, reply_count=2, episode_count=1
    )
    with scripted(Purge=answering(answer, requests)) as address:
        purged = call(address, "purge", "mem_1", reason="law", operation_id="op_p")
        call(address, "purge", ["mem_1", "mem_2"], dry_run=True, collection="notes")
    assert requests[0] == admin_pb.PurgeRequest(
        operation_id="op_p",
        ids=["mem_1"],
        reason="law",
        snapshots=snapshot_pb2.SNAPSHOT_USE_LIST,
    )
    assert (list(requests[1].ids), requests[1].dry_run, requests[1].collection) == (
        ["mem_1", "mem_2"],
        True,
        "notes",
    )
    assert purged.purged_ids == ("mem_1",)
    assert (purged.version_count, purged.reply_count, purged.episode_count) == (3, 2, 1)


def test_remember_and_check_tell_what_was_forgotten_before(call: Call) -> None:
    remembered = pb.RememberResponse(memory_id="mem_1", forgotten=FORGOTTEN)
    with scripted(
        Remember=answering(remembered),
        Check=answering(pb.CheckResponse(would_save=True, forgotten=FORGOTTEN)),
    ) as address:
        answer = call(address, "remember", "a")
        checked = call(address, "check", "a")
    assert (answer.saved, answer.duplicate_of) == (False, None)
    assert answer.forgotten == checked.forgotten
    assert (answer.forgotten.reason, answer.forgotten.agent_id) == ("wrong", "anna")
    assert (answer.forgotten.age, answer.forgotten.revision) == ("3d ago", 4)


def test_supersede_ids_go_with_remember_check_and_drafts(call: Call) -> None:
    sent: list[pb.RememberRequest] = []
    checked: list[pb.CheckRequest] = []

    def many(requests: Any, _context: Any) -> Any:
        for request in requests:
            sent.extend(request.items)
            results = [pb.RememberManyResult(answer=pb.RememberResponse()) for _ in request.items]
            yield pb.RememberManyResponse(results=results)

    with scripted(
        Remember=answering(pb.RememberResponse(), sent),
        Check=answering(pb.CheckResponse(), checked),
        RememberMany=many,
    ) as address:
        answer = call(address, "remember", "a", supersede_ids=["mem_1"])
        call(address, "check", "a", supersede_ids=["mem_1"], on_update="supersede")
        call(address, "remember_many", [Draft("a", supersede_ids=["mem_1"])])
    assert answer.forgotten is None
    assert [list(request.supersede_ids) for request in [*sent, *checked]] == [["mem_1"]] * 3
    assert [request.on_update for request in checked] == [types_pb2.ACTION_SUPERSEDE]


def test_collection_says_what_becomes_of_forgotten_memories(call: Call) -> None:
    changed: list[admin_pb.UpdateCollectionRequest] = []
    made: list[admin_pb.CreateCollectionRequest] = []
    settings = types_pb2.Collection(
        guard=types_pb2.GuardPolicy(refuse_forgotten=True),
        retention=types_pb2.RetentionPolicy(purge_forgotten_days=30.0),
    )
    retention, guard = (
        RetentionPolicy(purge_forgotten_days=30.0),
        GuardPolicy(refuse_forgotten=True),
    )
    with scripted(
        UpdateCollection=answering(admin_pb.UpdateCollectionResponse(collection=settings), changed),
        CreateCollection=answering(admin_pb.CreateCollectionResponse(), made),
    ) as address:
        answer = call(address, "update_collection", "notes", guard=guard, retention=retention)
        call(address, "create_collection", "notes", retention=retention)
    assert list(changed[0].update_mask.paths) == [
        "guard.refuse_forgotten",
        "retention.purge_forgotten_days",
    ]
    assert changed[0].collection == settings
    assert made[0].retention == settings.retention
    assert answer.collection.retention == retention
    assert answer.collection.guard.refuse_forgotten is True
