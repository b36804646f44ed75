"""EndSession, CleanUpDuplicates and Decay over the real engine, as any client sees them."""

from __future__ import annotations

import grpc
import pytest

from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import cleanup_pb2 as pb
from totonoe.v1 import memory_service_pb2, operations_pb2, types_pb2
from totonoe_core.domain.cleanup import THRESHOLDS, Measure

SAID = (
    "the gripper holds cups at the blue station",
    "the gripper holds cups at the blue station firmly",
    "the gripper holds cups at the blue station firmly today",
)


def live(wire, collection):
    """Ids of the live memories."""
    request = memory_service_pb2.ListRequest(collection=collection)
    return [memory.id for memory in wire.memory.List(request, timeout=10).memories]


def undone(wire, collection, operation_id):
    request = operations_pb2.UndoRequest(collection=collection, target_operation_id=operation_id)
    return wire.memory.Undo(request, timeout=10).undone


def test_end_session_supersedes_tells_why_and_is_undone(wire):
    collection = wire.collection()
    ids = [
        wire.remember(
            text, collection, force=True, session_id="s", confidence=0.5 + at / 10, category="grip"
        ).memory_id
        for at, text in enumerate(SAID)
    ]
    request = pb.EndSessionRequest(
        collection=collection, session_id="s", operation_id="e1", dry_run=True
    )
    told = wire.memory.EndSession(request, timeout=10)
    assert (told.dry_run, told.superseded_count, told.operation_id) == (True, 2, "")
    assert live(wire, collection) == ids
    request.dry_run = False
    done = wire.memory.EndSession(request, timeout=10)
    assert (done.dry_run, done.replayed, done.operation_id) == (False, False, "e1")
    assert done.revision == told.revision + 1
    assert (done.merged_groups, done.superseded_count, done.consolidatable_count) == (1, 2, 3)
    assert done.compression_ratio == pytest.approx(2 / 3)
    assert 0.5 < done.avg_similarity < 1.0
    (group,) = done.groups
    assert (group.kept_id, group.snippet, group.category) == (ids[2], SAID[2], "grip")
    assert [memory.memory_id for memory in group.superseded] == [ids[1], ids[0]]
    assert {memory.kept_id for memory in group.superseded} == {ids[2]}
    assert done.decay.live_count == 1
    assert sum(done.decay.band_counts) == 1
    assert [point.days for point in done.decay.survival] == [7, 30, 90, 180, 365]
    again = wire.memory.EndSession(request, timeout=10)
    assert (again.replayed, again.groups) == (True, done.groups)
    page = wire.memory.ListOperations(
        operations_pb2.ListOperationsRequest(collection=collection, kinds=["EndSession"]),
        timeout=10,
    )
    assert [operation.reason for operation in page.operations] == ["end of session"]
    assert undone(wire, collection, "e1")
    assert live(wire, collection) == ids


def test_clean_up_tells_first_and_supersedes_when_it_is_told_to(wire, fails):
    collection = wire.collection(blast={"rows_min": 2, "percent": 0})
    ids = [
        wire.remember("the same", collection, force=True, confidence=0.9 - at / 10).memory_id
        for at in range(4)
    ]
    request = pb.CleanUpDuplicatesRequest(collection=collection, operation_id="c1")
    told = wire.memory.CleanUpDuplicates(request, timeout=10)
    assert (told.applied, told.more_count, len(told.duplicates)) == (False, 1, 2)
    assert (told.blast.closing, told.blast.allowed, told.blast.over) == (2, 2, False)
    request.apply = True
    request.operation_id = "c2"
    done = wire.memory.CleanUpDuplicates(request, timeout=10)
    assert (done.applied, done.more_count, done.operation_id) == (True, 1, "c2")
    assert [
        (duplicate.memory_id, duplicate.kept_id, duplicate.similarity)
        for duplicate in done.duplicates
    ] == [
        (ids[1], ids[0], 1.0),
        (ids[2], ids[0], 1.0),
    ]
    assert live(wire, collection) == [ids[0], ids[3]]
    request.operation_id = "c3"
    failure = fails(wire.memory.CleanUpDuplicates, request)
    assert failure.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert failure.reason == "BLAST_RADIUS"
    counts = {"closing": "1", "today": "2", "allowed": "2"}
    assert failure.details == counts | {"collection": collection}
    assert f"blast.rows_min of collection {collection!r} is 3" in failure.message
    assert undone(wire, collection, "c2")
    assert live(wire, collection) == ids


def test_decay_reports_and_closes_what_it_is_told_to(wire):
    collection = wire.collection()
    ids = [
        wire.remember(f"memory number {at}", collection, confidence=at / 10).memory_id
        for at in range(1, 6)
    ]
    request = pb.DecayRequest(collection=collection, operation_id="d1")
    told = wire.memory.Decay(request, timeout=10)
    assert (told.dry_run, told.HasField("blast"), len(told.closed)) == (True, False, 0)
    assert (told.report.live_count, told.report.threshold, told.report.below_count) == (5, 0.3, 2)
    request.close_below = 0.25
    request.dry_run = True
    dry = wire.memory.Decay(request, timeout=10)
    assert (dry.dry_run, [memory.memory_id for memory in dry.closed]) == (True, ids[:2])
    request.dry_run = False
    done = wire.memory.Decay(request, timeout=10)
    assert (done.dry_run, done.operation_id, done.blast.closing) == (False, "d1", 2)
    assert [memory.memory_id for memory in done.closed] == ids[:2]
    assert done.closed[0].confidence == pytest.approx(0.1)
    assert not done.closed[0].HasField("last_access_time")
    got = wire.memory.Get(
        memory_service_pb2.GetRequest(collection=collection, ids=ids[:1]), timeout=10
    ).memories[0]
    assert got.status == types_pb2.STATUS_CLOSED
    assert got.HasField("valid_to_time")
    assert undone(wire, collection, "d1")
    assert live(wire, collection) == ids


def test_thresholds_of_the_contract_are_those_of_the_engine():
    # The comment of EndSessionRequest.threshold, docs and clients name them.
    assert THRESHOLDS == {Measure.JACCARD: 0.50, Measure.COSINE: 0.85, Measure.VERDICT: 0.75}


def test_blast_and_rates_of_kinds_are_settings_like_the_others(wire, fails):
    collection = wire.collection(decay={"task_rate_per_day": 0.5})

    def shown():
        request = admin_pb.GetCollectionRequest(name=collection)
        return wire.admin.GetCollection(request, timeout=10).collection

    def change(paths, **settings):
        return admin_pb.UpdateCollectionRequest(
            name=collection, collection=settings, update_mask={"paths": paths}
        )

    assert (shown().blast.rows_min, shown().blast.percent) == (20, 1.0)
    assert shown().decay.task_rate_per_day == 0.5
    assert not shown().decay.HasField("fact_rate_per_day")
    wire.admin.UpdateCollection(
        change(["blast", "decay.task_rate_per_day"], blast={"rows_min": 3}), timeout=10
    )
    assert (shown().blast.rows_min, shown().blast.percent) == (3, 1.0)
    assert not shown().decay.HasField("task_rate_per_day")
    for paths, settings in (
        (["blast.percent"], {"blast": {"percent": 101}}),
        (["blast.rows_min"], {"blast": {"rows_min": -1}}),
        (["decay.event_rate_per_day"], {"decay": {"event_rate_per_day": 2}}),
    ):
        failure = fails(wire.admin.UpdateCollection, change(paths, **settings))
        assert (failure.reason, failure.details["field"]) == ("OUT_OF_RANGE", paths[0])


BAD = {
    "a session without its id": ("EndSession", {}, "MISSING_FIELD"),
    "an agent without its id": ("EndSession", {"by": "GROUP_BY_AGENT"}, "MISSING_FIELD"),
    "an agent with a session": (
        "EndSession",
        {"by": "GROUP_BY_AGENT", "agent_id": "a", "session_id": "s"},
        "OUT_OF_RANGE",
    ),
    "an unknown measure": ("EndSession", {"session_id": "s", "measure": 99}, "UNKNOWN_ENUM"),
    "an unknown grouping": ("EndSession", {"session_id": "s", "by": 99}, "UNKNOWN_ENUM"),
    "a threshold of 1": ("EndSession", {"session_id": "s", "threshold": 1}, "OUT_OF_RANGE"),
    "a threshold NaN": (
        "EndSession",
        {"session_id": "s", "threshold": float("nan")},
        "OUT_OF_RANGE",
    ),
    "a NUL in a session": ("EndSession", {"session_id": "s\0"}, "NUL_IN_TEXT"),
    "a long session": ("EndSession", {"session_id": "s" * 257}, "LIMIT_EXCEEDED"),
    "too many doubles": ("CleanUpDuplicates", {"limit": 201}, "OUT_OF_RANGE"),
    "doubles below none": ("CleanUpDuplicates", {"limit": -1, "apply": True}, "OUT_OF_RANGE"),
    "a long reason": ("CleanUpDuplicates", {"reason": "x" * 1025}, "LIMIT_EXCEEDED"),
    "confidence over 1": ("Decay", {"close_below": 1.5}, "OUT_OF_RANGE"),
    "confidence NaN": ("Decay", {"close_below": float("nan")}, "OUT_OF_RANGE"),
    "too many to close": ("Decay", {"limit": 1001}, "OUT_OF_RANGE"),
    "an unknown collection": ("Decay", {"collection": "nothing"}, "COLLECTION_NOT_FOUND"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(wire, fails, name):
    method, request, reason = BAD[name]
    failure = fails(getattr(wire.memory, method), getattr(pb, f"{method}Request")(**request))
    assert failure.reason == reason
