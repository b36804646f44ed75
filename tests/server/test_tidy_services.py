"""RecordTurn, Tidy and ApplyTidyPlan over the wire, and a plan's two forms."""

from __future__ import annotations

import json
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import operations_pb2, tidy_pb2, types_pb2
from totonoe_core.base import limits
from totonoe_core.domain.records import StateKind
from totonoe_core.domain.tidy import TidyOp, TidyUpdate
from totonoe_core.rules import tidy_plan
from totonoe_server.wire import scalars
from totonoe_server.wire.tidy import updates_from_wire

CODES = grpc.StatusCode
UNKNOWN_ID = "mem_0123456789abcdef"


def tidy(wire: Any, collection: str, **rest: Any) -> dict[str, list[Any]]:
    """The messages of a Tidy, by what they are; the last must be its end."""
    request = tidy_pb2.TidyRequest(collection=collection, **rest)
    messages = list(wire.memory.Tidy(request, timeout=60))
    found: dict[str, list[Any]] = {"progress": [], "doubles": [], "cluster": [], "done": []}
    for message in messages:
        kind = message.WhichOneof("message")
        found[kind].append(getattr(message, kind))
    assert messages[-1].WhichOneof("message") == "done"
    assert len(found["done"]) == 1
    return found


def doubles(wire: Any, collection: str, text: str, count: int = 2, **fields: Any) -> list[str]:
    return [wire.remember(text, collection, force=True, **fields).memory_id for _ in range(count)]


def apply_plan(wire: Any, collection: str, *updates: dict[str, Any], **rest: Any) -> Any:
    text = json.dumps({"state_updates": updates})
    request = tidy_pb2.ApplyTidyPlanRequest(collection=collection, plan_json=text, **rest)
    return wire.memory.ApplyTidyPlan(request, timeout=30)


def status_of(wire: Any, collection: str, memory_id: str) -> Any:
    request = pb.GetRequest(collection=collection, ids=[memory_id])
    return wire.memory.Get(request, timeout=30).memories[0].status


def test_tidy_tells_first_and_closes_only_when_asked(wire):
    collection = wire.collection()
    old, new = doubles(wire, collection, "The stove is off.")
    told = tidy(wire, collection)
    assert [list(item.closed_ids) for item in told["doubles"]] == [[old]]
    assert told["doubles"][0].kept.id == new
    assert told["doubles"][0].cluster_id == ""
    assert [step.phase for step in told["progress"]] == [tidy_pb2.TIDY_PHASE_DOUBLES]
    (done,) = told["done"]
    assert (done.dry_run, done.closed, done.operation_id) == (True, True, "")
    assert (dict(done.read_counts), dict(done.closed_counts)) == ({"fact": 2}, {"fact": 1})
    assert (done.merged_count, done.complete, done.more) == (1, True, False)
    assert (done.blast_allowed, done.blast_today) == (20, 0)
    assert status_of(wire, collection, old) == types_pb2.STATUS_ACTIVE
    (done,) = tidy(wire, collection, apply=True, operation_id="op_t")["done"]
    assert (done.dry_run, done.closed, done.replayed) == (False, True, False)
    assert done.seconds >= 0.0
    assert status_of(wire, collection, old) == types_pb2.STATUS_CLOSED
    again = tidy(wire, collection, apply=True, operation_id="op_t")
    assert again["done"][0].replayed
    assert again["doubles"][0].cluster_id
    undone = wire.memory.Undo(
        operations_pb2.UndoRequest(collection=collection, target_operation_id="op_t")
    )
    assert undone.undone
    assert status_of(wire, collection, old) == types_pb2.STATUS_ACTIVE


def test_more_groups_than_one_read_are_all_told(wire):
    collection = wire.collection()
    texts = {f"Said twice, number {number}." for number in range(20)}
    for text in sorted(texts):
        doubles(wire, collection, text)
    told = tidy(wire, collection)
    assert {item.kept.content for item in told["doubles"]} == texts


def test_a_day_takes_as_many_as_may_go_and_then_apply_fails(wire, fails):
    collection = wire.collection()
    doubles(wire, collection, "Far too often.", 25)
    (done,) = tidy(wire, collection, limit=3)["done"]
    assert (done.more, done.closed_counts["fact"]) == (True, 3)
    (done,) = tidy(wire, collection, apply=True, limit=3)["done"]
    assert (done.closed, done.more, done.closed_counts["fact"]) == (True, True, 3)
    (done,) = tidy(wire, collection, apply=True)["done"]
    assert (done.closed, done.more, done.closed_counts["fact"]) == (True, True, 17)
    (done,) = tidy(wire, collection)["done"]
    assert (done.over_blast_radius, done.closed, done.closed_counts["fact"]) == (True, False, 4)
    request = tidy_pb2.TidyRequest(collection=collection, apply=True)
    failure = fails(wire.memory.Tidy, request)
    assert (failure.code, failure.reason) == (CODES.RESOURCE_EXHAUSTED, "BLAST_RADIUS")
    assert failure.details["collection"] == collection
    assert f"blast.rows_min of collection {collection!r} is 24" in failure.message
    request.limit = 1001
    failure = fails(wire.memory.Tidy, request)
    assert (failure.code, failure.reason) == (CODES.INVALID_ARGUMENT, "OUT_OF_RANGE")


def test_near_states_are_clusters_with_what_a_plan_needs(wire):
    collection = wire.collection()
    one = wire.remember("The cat sleeps on the sofa.", collection, force=True).memory_id
    other = wire.remember("The cat sleeps on the sofa today.", collection, force=True).memory_id
    found = tidy(wire, collection, plan=True, distance_below=0.5)
    (cluster,) = found["cluster"]
    assert cluster.state_kind == types_pb2.STATE_KIND_FACT
    assert {member.memory.id for member in cluster.members} == {one, other}
    assert all(member.memory.revision for member in cluster.members)
    (pair,) = cluster.pairs
    assert 0.0 < pair.distance < 0.5
    (done,) = found["done"]
    assert (done.plan_read_count, done.cluster_count, done.next_page_token) == (2, 1, "")
    phases = [step.phase for step in found["progress"]]
    assert phases[0] == tidy_pb2.TIDY_PHASE_NEIGHBORS
    assert tidy_pb2.TIDY_PHASE_CLUSTERS in phases


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"plan": True, "distance_below": 0.0}, "OUT_OF_RANGE"),
        ({"plan": True, "distance_below": 0.9}, "OUT_OF_RANGE"),
        ({"plan": True, "clusters_max": -1}, "OUT_OF_RANGE"),
        ({"plan": True, "page_token": "x"}, "BAD_PAGE_TOKEN"),
        ({"reason": "x" * 2000}, "LIMIT_EXCEEDED"),
        ({"agent_id": "x" * 300}, "LIMIT_EXCEEDED"),
        ({"collection": "nothing-here"}, "COLLECTION_NOT_FOUND"),
    ],
)
def test_tidy_request_is_refused(wire, fails, request_, reason):
    assert fails(wire.memory.Tidy, tidy_pb2.TidyRequest(**request_)).reason == reason


def test_turns_are_counted_and_the_tenth_tidies(wire):
    collection = wire.collection(tidy={"enabled": True, "every_turns": 2})
    old, _ = doubles(wire, collection, "Twice.")
    began = []
    for number in range(1, 13):
        request = tidy_pb2.RecordTurnRequest(collection=collection, agent_id="anna")
        request.operation_id = f"turn-{number}"
        answer = wire.memory.RecordTurn(request, timeout=30)
        assert (answer.turn, answer.replayed) == (number, False)
        again = wire.memory.RecordTurn(request, timeout=30)
        assert again.replayed
        again.replayed = False
        assert again == answer
        began.append(answer.began)
    assert began == [number in (10, 12) for number in range(1, 13)]
    assert status_of(wire, collection, old) == types_pb2.STATUS_CLOSED
    (stats,) = wire.admin.Stats(admin_pb.StatsRequest(collection=collection)).collections
    assert (stats.tidy.turn_count, stats.tidy.closed_count) == (12, 1)
    assert 1 <= stats.tidy.run_count <= 2


def test_a_turn_of_what_is_not_there_is_refused(wire, fails):
    for request in ({"collection": "nothing-here"}, {"agent_id": "x" * 300}):
        failure = fails(wire.memory.RecordTurn, tidy_pb2.RecordTurnRequest(**request))
        assert failure.reason in ("COLLECTION_NOT_FOUND", "LIMIT_EXCEEDED")


def test_a_plan_is_carried_out_and_each_fate_told(wire):
    collection = wire.collection()
    one = wire.remember("The train leaves at nine.", collection).memory_id
    other = wire.remember("A cup stands on the table.", collection).memory_id
    task = wire.remember("Buy stamps.", collection, state_kind=3).memory_id
    third = wire.remember("Rain is forecast for Monday.", collection).memory_id
    answer = apply_plan(
        wire,
        collection,
        {"op": "upsert", "state_id": one, "kind": "fact", "body_text": "The train goes at ten."},
        {"op": "close", "state_id": other},
        {"op": "mark_done", "state_id": task},
        {"op": "upsert", "kind": "summary", "body_text": "Plans for the week in short."},
        {"op": "upsert", "kind": "fact", "body_text": "Rain is forecast for Monday."},
        operation_id="op_p",
        reason="a test",
    )
    fates = [
        tidy_pb2.TIDY_FATE_UPDATED,
        tidy_pb2.TIDY_FATE_CLOSED,
        tidy_pb2.TIDY_FATE_DONE,
        tidy_pb2.TIDY_FATE_INSERTED,
        tidy_pb2.TIDY_FATE_REFUSED,
    ]
    assert [(item.index, item.fate) for item in answer.outcomes] == list(enumerate(fates))
    assert [answer.outcomes[at].memory_id for at in (0, 1, 2, 4)] == [one, other, task, third]
    assert answer.outcomes[4].duplicate.memory_id == third
    assert (answer.merged_count, answer.closed_count, answer.summary_count) == (2, 2, 1)
    request = operations_pb2.ListOperationsRequest(collection=collection, page_size=1)
    (operation,) = wire.memory.ListOperations(request, timeout=30).operations
    assert (operation.kind, operation.reason) == ("ApplyTidyPlan", "tidy plan: a test")
    # The summary of the scope is there now: the next one is its next version.
    grown = {"op": "upsert", "kind": "summary", "body_text": "The week is over."}
    (outcome,) = apply_plan(wire, collection, grown).outcomes
    assert outcome.fate == tidy_pb2.TIDY_FATE_UPDATED
    assert outcome.memory_id == answer.outcomes[3].memory_id


@pytest.mark.parametrize(
    ("update", "code", "reason"),
    [
        ({"op": "shut"}, CODES.INVALID_ARGUMENT, "UNKNOWN_ENUM"),
        ({"op": "close", "state_id": UNKNOWN_ID}, CODES.NOT_FOUND, "MEMORY_NOT_FOUND"),
        ({"op": "close", "state_id": "$own", "kind": "task"}, CODES.INVALID_ARGUMENT, "BAD_PLAN"),
        ({"op": "close", "state_id": "$kept"}, CODES.FAILED_PRECONDITION, "PROTECTED"),
        (
            {"op": "close", "state_id": "$own", "expected_revision": 99},
            CODES.ABORTED,
            "STALE_REVISION",
        ),
    ],
)
def test_a_plan_that_cannot_be_done_is_refused_with_its_code(wire, fails, update, code, reason):
    collection = wire.collection()
    own = wire.remember("A plain statement.", collection).memory_id
    kept = wire.remember("Never do that again.", collection, category="gotcha").memory_id
    named = {"$own": own, "$kept": kept}.get(update.get("state_id"), update.get("state_id"))
    plan = json.dumps({"state_updates": [update | {"state_id": named}]})
    request = tidy_pb2.ApplyTidyPlanRequest(collection=collection, plan_json=plan)
    failure = fails(wire.memory.ApplyTidyPlan, request)
    assert (failure.code, failure.reason) == (code, reason)


def test_without_a_plan_or_with_too_much_of_one_it_is_refused(wire, fails):
    many = tidy_pb2.TidyPlan(
        state_updates=[tidy_pb2.TidyUpdate(op=2, state_id=UNKNOWN_ID)]
        * (limits.TIDY_UPDATES_MAX + 1)
    )
    cases = [
        ({}, "MISSING_FIELD"),
        ({"plan": tidy_pb2.TidyPlan()}, "MISSING_FIELD"),
        ({"plan": many}, "LIMIT_EXCEEDED"),
        ({"plan": {"state_updates": [{"state_id": UNKNOWN_ID}]}}, "UNKNOWN_ENUM"),
        ({"plan_json": "{}"}, "MALFORMED_MESSAGE"),
        ({"plan": many, "only": [0] * 500}, "LIMIT_EXCEEDED"),
        (
            {"plan": {"state_updates": [{"op": 2, "state_id": UNKNOWN_ID}]}, "only": [1]},
            "BAD_PLAN",
        ),
        (
            {"plan": {"state_updates": [{"op": 2, "valid_to_ts": Timestamp(nanos=-1)}]}},
            "BAD_TIME",
        ),
    ]
    for request, reason in cases:
        failure = fails(wire.memory.ApplyTidyPlan, tidy_pb2.ApplyTidyPlanRequest(**request))
        assert failure.reason == reason, request


TIMES = st.none() | st.integers(0, 4 * 10**15)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
SHARES = st.none() | st.floats(0.0, 1.0)
UPDATES = st.builds(
    TidyUpdate,
    op=st.sampled_from(TidyOp),
    state_id=st.sampled_from(["", UNKNOWN_ID]),
    kind=st.sampled_from(StateKind),
    body_text=st.text(max_size=20),
    payload=st.dictionaries(st.text(max_size=3), JSON, max_size=3),
    confidence=SHARES,
    salience=SHARES,
    valid_from_us=TIMES,
    valid_to_us=TIMES,
    last_confirmed_us=TIMES,
    reason=st.text(max_size=10),
    evidence_ids=st.lists(st.just(UNKNOWN_ID), max_size=2).map(tuple),
    expected_revision=st.integers(0, 2**62),
)


def in_messages(updates):
    return tidy_pb2.TidyPlan(
        state_updates=[
            tidy_pb2.TidyUpdate(
                op=tidy_pb2.TidyOp.Value(f"TIDY_OP_{update.op.name}"),
                state_id=update.state_id,
                kind=scalars.STATE_KINDS.to_wire(update.kind),
                body_text=update.body_text,
                payload=scalars.struct_to_wire(update.payload),
                confidence=update.confidence,
                salience=update.salience,
                valid_from_ts=scalars.time_to_wire(update.valid_from_us),
                valid_to_ts=scalars.time_to_wire(update.valid_to_us),
                last_confirmed_at=scalars.time_to_wire(update.last_confirmed_us),
                reason=update.reason,
                evidence_event_ids=update.evidence_ids,
                expected_revision=update.expected_revision,
            )
            for update in updates
        ]
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(UPDATES, min_size=1, max_size=3).map(tuple))
def test_a_plan_says_the_same_in_both_forms(updates):
    message = in_messages(updates)
    read = tidy_pb2.TidyPlan.FromString(message.SerializeToString())
    assert updates_from_wire(read) == updates
    text = tidy_plan.dumps(updates_from_wire(read))
    assert tidy_plan.loads(text) == updates


def test_names_of_both_forms_are_the_same():
    message = set(tidy_pb2.TidyUpdate.DESCRIPTOR.fields_by_name) - {"vector"}
    written = json.loads(tidy_plan.dumps([TidyUpdate(TidyOp.CLOSE)]))["state_updates"][0]
    assert set(written) == message
