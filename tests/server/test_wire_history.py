"""Operations, versions, what is taken back and purged: nothing is lost between wire and records."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2, types_pb2
from totonoe.v1 import operations_pb2 as pb
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain import records
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.memories import Checked, Forget, Purge, Purged
from totonoe_core.domain.policy import Action, RetentionPolicy
from totonoe_core.domain.queries import (
    AsOf,
    Gotten,
    HistoryPage,
    OperationFilter,
    OperationPage,
    Page,
    Recaller,
    Version,
)
from totonoe_core.domain.undo import ConflictKind, OperationInfo, Undo, UndoConflict, Undone
from totonoe_server.wire import answers, memories, policy, scalars
from totonoe_server.wire import history as operations
from totonoe_server.wire.mapping import encoder

OPERATION = OperationInfo(
    revision=7, operation_id="op_7", agent_id="ann", kind="Merge", reason="one is enough",
    time_us=1_500_000, memory_ids=("mem_a", "mem_b"), episode_ids=("ep_a",), link_count=3,
    settings=True, undoes=5, undone_by=9,
)  # fmt: skip
MEMORY = records.Memory(
    1, "mem_a", "text", b"hash", b"\0\0\x80\x3f", "ann", records.Fields(), 1_000_000, 2_000_000,
    records.Status.ACTIVE, "", 6,
)  # fmt: skip
LINK = records.Link("mem_b", records.LinkType.COACTIVATED, 0.25, "why")
DUPLICATE = records.Duplicate("mem_c", "3d ago", "te…", 0.9, records.Method.EXACT)


def sent(message: Any) -> Any:
    """What arrives of a message."""
    return type(message).FromString(message.SerializeToString())


def unset(message: Any, *but: str) -> set[str]:
    """Fields of a message that say nothing, but for those that may."""
    names = {descriptor.name for descriptor, _ in message.ListFields()}
    return set(message.DESCRIPTOR.fields_by_name) - names - set(but)


def test_operation_is_shown_whole():
    shown = sent(operations.operation_to_wire(OPERATION))
    assert unset(shown) == set()
    assert shown.time.ToMicroseconds() == 1_500_000
    for item in fields(OPERATION):
        if item.name not in ("time_us", "memory_ids", "episode_ids"):
            assert getattr(shown, item.name) == getattr(OPERATION, item.name), item.name
    assert (list(shown.memory_ids), list(shown.episode_ids)) == (["mem_a", "mem_b"], ["ep_a"])


# -- Undo


def test_undo_by_revision_and_by_id():
    request = pb.UndoRequest(
        agent_id="ann", target_revision=7, reason="wrong", force=True, partial=True
    )
    expected = Undo("ann", revision=7, reason="wrong", force=True, partial=True)
    assert operations.undo_from_wire(sent(request)) == expected
    request = pb.UndoRequest(agent_id="ann", target_operation_id="op_7")
    assert operations.undo_from_wire(sent(request)) == Undo("ann", operation_id="op_7")


@pytest.mark.parametrize("kind", ConflictKind)
def test_conflict_of_every_kind_is_shown_whole(kind):
    conflict = UndoConflict(kind, "mem_a", "ep_a", "mem_b", True, 8, DUPLICATE)
    shown = sent(operations.conflict_to_wire(conflict))
    assert unset(shown) == set()
    assert pb.UndoConflictKind.Name(shown.kind) == f"UNDO_CONFLICT_KIND_{kind.name}"
    assert (shown.memory_id, shown.episode_id, shown.target_id) == ("mem_a", "ep_a", "mem_b")
    assert (shown.revision, shown.duplicate.memory_id) == (8, "mem_c")


def undone(**rest: Any) -> Undone:
    """An Undo that has something of everything."""
    conflict = UndoConflict(ConflictKind.CHANGED, memory_id="mem_b", revision=8)
    return Undone(True, OPERATION, (MEMORY,), ("ep_a",), 3, None, (conflict,), **rest)


def test_undone_and_its_dry_run_differ_in_what_was_not_done():
    dry = sent(operations.undo_preview_to_wire(undone(), 9))
    assert unset(dry, "collection", "replayed", "operation_id") == set()
    done = sent(operations.undone_to_wire(Applied("op_9", 9, (undone(),), replayed=True)))
    assert unset(done, "collection", "dry_run") == set()
    assert (done.revision, done.replayed, done.operation_id) == (9, True, "op_9")
    for name in ("memories", "conflicts", "episode_ids", "link_count", "operation", "undone"):
        assert getattr(done, name) == getattr(dry, name)


def test_undone_that_could_not_be_sent_leaves_out_the_memories_and_most_conflicts():
    long = replace(MEMORY, content="x" * limits.CONTENT_BYTES_MAX)
    conflicts = tuple(
        UndoConflict(ConflictKind.LINK_END_GONE, "mem_a", target_id=f"mem_{number}")
        for number in range(1500)
    )
    few = replace(undone(), memories=(long,) * 100, conflicts=conflicts)
    answer = operations.undo_preview_to_wire(few, 9)
    assert (len(answer.memories), len(answer.conflicts)) == (100, 1500)
    answer = operations.undo_preview_to_wire(replace(few, memories=(long,) * 600), 9)
    assert (len(answer.memories), len(answer.conflicts)) == (0, operations.CONFLICTS_SHOWN_MAX)
    assert (answer.undone, list(answer.operation.memory_ids)) == (True, ["mem_a", "mem_b"])
    assert answer.ByteSize() < limits.MESSAGE_BYTES_MAX


# -- History and operations


def test_history_page_is_shown_whole():
    changed = ("content", "status", "valid_to_us", "about_time", "superseded_by")
    versions = (
        Version(OPERATION, MEMORY, changed, (LINK,), (LINK,)),
        Version(replace(OPERATION, revision=6), None),
    )
    recallers = (Recaller("ann", 2, 5),)
    page = HistoryPage(9, versions, "more", recallers, other_recall_count=1)
    shown = sent(operations.history_to_wire(page))
    assert unset(shown) == unset(shown.versions[0]) == set()
    names = ["content", "status", "valid_to_time", "about_time", "superseded_by"]
    assert list(shown.versions[0].changed) == names
    assert shown.versions[0].linked[0].type == types_pb2.LINK_TYPE_COACTIVATED
    assert not shown.versions[1].HasField("memory")
    assert [version.operation.revision for version in shown.versions] == [7, 6]


def test_field_of_a_stored_memory_has_its_name_in_the_contract():
    names = {item.name for cls in (records.Fields, records.Memory) for item in fields(cls)}
    shown = {memories.field_to_wire(name) for name in names - {"row", "fields", "model_number"}}
    assert shown == set(types_pb2.Memory.DESCRIPTOR.fields_by_name)


def test_operations_of_every_condition():
    request = pb.ListOperationsRequest(
        agent_ids=["ann", "bob"], kinds=["Forget"], memory_id="mem_a", reason_contains="Old",
        time={"from_time": Timestamp(seconds=1), "to_time": Timestamp(seconds=2)},
    )  # fmt: skip
    assert operations.operations_from_wire(sent(request)) == OperationFilter(
        ("ann", "bob"), ("Forget",), records.TimeRange(1_000_000, 2_000_000), "mem_a", "Old"
    )
    assert operations.operations_from_wire(pb.ListOperationsRequest()) == OperationFilter()


def test_operation_page_is_shown_whole():
    shown = sent(operations.operations_to_wire(OperationPage(9, (OPERATION,), "more")))
    assert unset(shown) == set()
    assert shown.operations[0] == operations.operation_to_wire(OPERATION)


# -- Purge


def test_purge_and_its_answer():
    request = admin_pb.PurgeRequest(agent_id="ann", ids=["mem_b", "mem_a"], reason="asked for")
    assert operations.purge_from_wire(sent(request)) == Purge(
        "ann", ("mem_b", "mem_a"), "asked for"
    )
    result = Purged(("mem_a",), ("mem_b",), 4, 5, 6)
    dry = sent(operations.purged_to_wire(result, 9, None))
    # Snapshots are told by the service, which looks for them.
    assert unset(dry, "replayed", "operation_id") == {"snapshots"}
    assert (dry.version_count, dry.reply_count, dry.episode_count) == (4, 5, 6)
    applied = Applied("op_9", 9, (result,), replayed=True)
    done = sent(operations.purged_to_wire(result, 9, applied))
    assert unset(done, "dry_run") == {"snapshots"}
    assert (list(done.purged_ids), list(done.missing_ids)) == (["mem_a"], ["mem_b"])


# -- The past


def test_as_of_is_a_revision_a_time_or_absent():
    def read(**as_of: Any) -> AsOf | None:
        return scalars.as_of_from_wire(sent(memory_service_pb2.GetRequest(**as_of)))

    assert read() is None
    assert read(as_of={"revision": 0}) == AsOf(0)
    assert read(as_of={"time": Timestamp(seconds=2)}) == AsOf(time_us=2_000_000)
    with pytest.raises(InvalidArgument) as caught:
        read(as_of={})
    assert (caught.value.reason, caught.value.details["field"]) == ("MISSING_FIELD", "as_of")
    with pytest.raises(InvalidArgument) as caught:
        read(as_of={"time": Timestamp(nanos=-1)})
    assert (caught.value.reason, caught.value.details["field"]) == ("BAD_TIME", "as_of.time")


def test_memories_of_the_past_come_with_what_was_meant():
    gotten = Gotten(9, (MEMORY,), ("mem_x",), (("mem_old", "mem_a"),), 4)
    shown = sent(answers.gotten_to_wire(gotten, include_vectors=True))
    assert unset(shown) == set()
    assert (dict(shown.redirects), shown.as_of_revision) == ({"mem_old": "mem_a"}, 4)
    assert shown.memories[0].vector == MEMORY.vector
    page = sent(answers.page_to_wire(Page(9, (MEMORY,), "more", 4), include_vectors=False))
    assert unset(page) == set()
    assert (page.as_of_revision, page.memories[0].vector) == (4, b"")


# -- Remember, Forget and settings


def test_remember_and_check_carry_what_they_supersede():
    for kind in (memory_service_pb2.RememberRequest, memory_service_pb2.CheckRequest):
        actions = {
            "on_update": types_pb2.ACTION_SUPERSEDE,
            "on_refinement": types_pb2.ACTION_LINK,
            "on_contained": types_pb2.ACTION_REFUSE,
        }
        request = kind(memory={"content": "x"}, supersede_ids=["mem_b", "mem_a"], **actions)
        command = memories.remember_from_wire(sent(request))
        assert command.supersede_ids == ("mem_b", "mem_a")
        assert dict(command.actions) == {
            records.Verdict.UPDATE: Action.SUPERSEDE,
            records.Verdict.REFINEMENT: Action.LINK,
            records.Verdict.CONTAINED: Action.REFUSE,
        }


def test_forgotten_match_is_shown_whole():
    match = records.ForgottenMatch("mem_a", "3d ago", "te…", "was wrong", "ann", 7)
    report = records.GuardReport(None, records.Method.EXACT, 1.0, (), (), forgotten=match)
    shown = sent(answers.checked_to_wire(Checked(False, report), revision=1)).forgotten
    assert unset(shown) == set()
    for item in fields(match):
        assert getattr(shown, item.name) == getattr(match, item.name)


def test_outdated_match_is_shown_whole():
    match = records.OutdatedMatch("mem_a", "3d ago", "port 1", "mem_b", "port 2")
    report = records.GuardReport(None, records.Method.NONE, 0.9, (), (), outdated=match)
    shown = sent(answers.checked_to_wire(Checked(False, report), revision=1)).outdated
    assert unset(shown) == set()
    for item in fields(match):
        assert getattr(shown, item.name) == getattr(match, item.name)


def test_expected_revisions_are_equal_commands_in_any_order():
    asked = [("mem_b", 2), ("mem_a", 1)]
    for order in (asked, asked[::-1]):
        request = memory_service_pb2.ForgetRequest(ids=["mem_a", "mem_b"], reason="old")
        for name, revision in order:
            request.expected_revisions[name] = revision
        assert memories.forget_from_wire(sent(request)) == Forget(
            "", ("mem_a", "mem_b"), "old", (("mem_a", 1), ("mem_b", 2))
        )


def test_filter_of_a_forget_needs_a_dry_run_and_stands_alone():
    request = memory_service_pb2.ForgetRequest(filter={"tags": ["x"]}, dry_run=True)
    assert memories.forget_filter_from_wire(sent(request)) == Filter(tags=("x",))
    for wrong, reason, field in (
        ({"dry_run": False}, "MISSING_FIELD", "dry_run"),
        ({"ids": ["mem_a"]}, "LIMIT_EXCEEDED", "ids"),
        ({"expected_revisions": {"mem_a": 1}}, "LIMIT_EXCEEDED", "expected_revisions"),
    ):
        request = memory_service_pb2.ForgetRequest(
            **{"filter": {"tags": ["x"]}, "dry_run": True} | wrong
        )
        with pytest.raises(InvalidArgument) as caught:
            memories.forget_filter_from_wire(request)
        assert (caught.value.reason, caught.value.details["field"]) == (reason, field)


def test_retention_and_refusal_of_the_forgotten_are_settings_like_the_others():
    shown = sent(encoder(RetentionPolicy, types_pb2.RetentionPolicy)(RetentionPolicy(30.5)))
    assert shown.purge_forgotten_days == 30.5
    collection = types_pb2.Collection(
        retention={"purge_forgotten_days": 30.5}, guard={"refuse_forgotten": True}
    )
    for paths, expected in (
        (["retention"], [("retention.purge_forgotten_days", 30.5)]),
        (["retention.purge_forgotten_days"], [("retention.purge_forgotten_days", 30.5)]),
        (["guard.refuse_forgotten"], [("guard.refuse_forgotten", True)]),
    ):
        request = admin_pb.UpdateCollectionRequest(
            collection=collection, update_mask={"paths": paths}
        )
        assert list(policy.changes_from_wire(sent(request)).changes) == expected
    absent = admin_pb.UpdateCollectionRequest(collection={}, update_mask={"paths": ["retention"]})
    assert policy.changes_from_wire(absent).changes == (("retention.purge_forgotten_days", None),)
