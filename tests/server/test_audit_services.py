"""Dismissals, WhyNot and Audit over the real engine, as any client sees them."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import grpc
import pytest

from support.waits import wait_s
from totonoe.v1 import audit_pb2 as audit
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import operations_pb2 as ops
from totonoe.v1 import types_pb2


@pytest.fixture
def pair(wire):
    """A collection with two near memories, and their ids."""
    collection = wire.collection()
    ids = [
        wire.remember(text, collection).memory_id
        for text in ("The pump in hall 4 is hot.", "The pump in hall 5 is hot.")
    ]
    return collection, ids


def why_not(wire, memory_id: str, collection: str, **recall):
    request = pb.WhyNotRequest(
        memory_id=memory_id, recall=pb.RecallRequest(collection=collection, **recall)
    )
    return wire.memory.WhyNot(request, timeout=10)


def test_dismiss_is_done_once_and_undo_takes_it_back(wire, pair):
    collection, ids = pair
    request = audit.DismissRequest(
        collection=collection, agent_id="anna", id_a=ids[0], id_b=ids[1], reason="two halls",
        operation_id="d1",
    )  # fmt: skip
    done = wire.memory.Dismiss(request, timeout=10)
    assert (done.changed, list(done.memory_ids), done.operation_id) == (True, ids, "d1")
    again = wire.memory.Dismiss(request, timeout=10)
    assert (again.replayed, again.changed) == (True, True)
    request.operation_id = "d2"
    same = wire.memory.Dismiss(request, timeout=10)
    assert (same.replayed, same.changed, same.revision) == (False, False, done.revision)
    listed = wire.memory.ListOperations(
        ops.ListOperationsRequest(collection=collection, kinds=["Dismiss"]), timeout=10
    )
    (operation,) = listed.operations
    assert (list(operation.memory_ids), operation.reason) == (ids, "two halls")
    undone = wire.memory.Undo(
        ops.UndoRequest(collection=collection, target_operation_id="d1"), timeout=10
    )
    assert undone.undone
    answer = wire.memory.Undismiss(
        audit.UndismissRequest(collection=collection, id_a=ids[0], id_b=ids[1]), timeout=10
    )
    assert not answer.changed


def test_undismiss_takes_back_what_another_said(wire, pair):
    collection, ids = pair
    said = audit.DismissRequest(collection=collection, agent_id="anna", id_a=ids[0], id_b=ids[1])
    wire.memory.Dismiss(said, timeout=10)
    request = audit.UndismissRequest(
        collection=collection, agent_id="ben", id_a=ids[1], id_b=ids[0]
    )
    answer = wire.memory.Undismiss(request, timeout=10)
    assert (answer.changed, list(answer.memory_ids)) == (True, [ids[1], ids[0]])


def test_pairs_that_are_none_are_refused(wire, pair, fails):
    collection, ids = pair
    twice = audit.DismissRequest(collection=collection, id_a=ids[0], id_b=ids[0])
    failure = fails(wire.memory.Dismiss, twice)
    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "SELF_LINK")
    unknown = audit.UndismissRequest(
        collection=collection, id_a=ids[0], id_b="mem_0123456789abcdef"
    )
    failure = fails(wire.memory.Undismiss, unknown)
    assert (failure.code, failure.reason) == (grpc.StatusCode.NOT_FOUND, "MEMORY_NOT_FOUND")


def test_why_not_tells_place_ranks_and_words(wire, pair):
    collection, ids = pair
    told = why_not(wire, ids[0], collection, text="hot pump in hall 5", k=2)
    assert told.outcome == pb.WHY_NOT_OUTCOME_CAME
    assert (told.place, told.k, told.memory_id) == (2, 2, ids[0])
    assert (told.status, told.passing_count) == (types_pb2.STATUS_ACTIVE, 2)
    assert list(told.missing_words) == ["5"]
    assert told.vector.candidate
    assert (told.lexical.rank, told.lexical.depth) == (2, 50)
    assert told.diversity == pb.DIVERSITY_EFFECT_NONE


def test_why_not_names_the_condition_and_lays_diversity_over_the_collections(wire, pair):
    collection, ids = pair
    told = why_not(
        wire, ids[0], collection, text="hot pump", filter={"min_confidence": 0.9, "tags": ["x"]},
        diversity={"enabled": False}, mode=pb.RECALL_MODE_LEXICAL,
    )  # fmt: skip
    assert told.outcome == pb.WHY_NOT_OUTCOME_EXCLUDED
    assert {condition.name: (condition.asked, condition.held) for condition in told.unmet} == {
        "tags": ("x", ""),
        "min_confidence": ("0.9", "0.8"),
    }
    assert not told.HasField("vector")
    assert (told.confidence, told.effective_confidence) == (0.8, 0.8)


def test_why_not_of_what_is_not_there_is_an_answer(wire, pair):
    collection, _ = pair
    hers = wire.remember("Her secret.", collection, agent_id="berta", private=True).memory_id
    told = why_not(wire, hers, collection, text="secret", agent_id="anna")
    assert told.outcome == pb.WHY_NOT_OUTCOME_NOT_THERE
    assert told == pb.WhyNotResponse(
        revision=told.revision, outcome=told.outcome, memory_id=hers, k=10
    )
    own = why_not(wire, hers, collection, text="secret", agent_id="berta")
    assert own.outcome == pb.WHY_NOT_OUTCOME_CAME


def test_why_not_of_the_past_is_refused(wire, pair, fails):
    collection, ids = pair
    recall = pb.RecallRequest(collection=collection, text="pump", as_of={"revision": 1})
    request = pb.WhyNotRequest(memory_id=ids[0], recall=recall)
    failure = fails(wire.memory.WhyNot, request)
    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "OUT_OF_RANGE")
    assert failure.details["field"] == "recall.as_of"


def test_audit_tells_figures_with_their_defaults(wire, pair):
    collection, ids = pair
    wire.memory.Link(
        pb.LinkRequest(
            collection=collection, source_id=ids[0], target_id=ids[1],
            type="LINK_TYPE_CONTRADICTS",
        ),
        timeout=10,
    )  # fmt: skip
    told = wire.admin.Audit(audit.AuditRequest(collection=collection), timeout=30)
    assert (told.active_count, told.examined_count, told.never_recalled_count) == (2, 2, 2)
    assert (told.near_distance_below, told.confidence_below, told.days) == (0.1, 0.3, 30)
    assert [(contradiction.id_a, contradiction.id_b) for contradiction in told.contradictions] == [
        tuple(ids)
    ]
    assert told.contradiction_count == 1
    (agent,) = told.agents
    assert (agent.agent_id, agent.operation_count) == ("", 3)
    assert dict(agent.kind_counts) == {"Remember": 2, "Link": 1}
    assert told.HasField("operations_from_time")
    all_hidden = audit.AuditRequest(collection=collection, confidence_below=0.0, days=7)
    told = wire.admin.Audit(all_hidden, timeout=30)
    assert (told.confidence_below, told.faded_count, told.days) == (0.0, 0, 7)


def test_audit_of_nonsense_is_refused(wire, fails):
    for request, field in (
        (audit.AuditRequest(days=-1), "days"),
        (audit.AuditRequest(confidence_below=2.0), "confidence_below"),
    ):
        failure = fails(wire.admin.Audit, request)
        assert (failure.reason, failure.details["field"]) == ("OUT_OF_RANGE", field)


def test_audit_that_is_cancelled_is_cancelled_in_the_engine(fake):
    future, called, ended = Future(), threading.Event(), threading.Event()
    future.add_done_callback(lambda _: ended.set())

    def behave(*_):
        called.set()
        return future

    fake.engine.behave = behave
    call = fake.admin.Audit.future(audit.AuditRequest(), timeout=30)
    assert called.wait(wait_s())
    call.cancel()
    assert ended.wait(wait_s())
    assert future.cancelled()
