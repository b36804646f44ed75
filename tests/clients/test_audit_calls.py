"""Dismissals, why-nots and audits: what is sent and read, in both clients."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from support.scripted import answering, scripted
from totonoe import DiversityPolicy, Status
from totonoe.enums import WhyNotOutcome
from totonoe.v1 import audit_pb2 as audit_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import types_pb2

Call = Callable[..., Any]
STAMP = Timestamp(seconds=1_767_225_600)


@pytest.mark.parametrize("name", ["dismiss", "undismiss"])
def test_dismissals_send_both_ids_and_read_whether_anything_changed(call: Call, name: str) -> None:
    kind = name.capitalize()
    request_type = getattr(audit_pb, f"{kind}Request")
    answer = getattr(audit_pb, f"{kind}Response")(
        revision=4, changed=True, memory_ids=["mem_1", "mem_2"], operation_id="op_1"
    )
    requests: list[Any] = []
    with scripted(**{kind: answering(answer, requests)}) as address:
        told = call(
            address, name, "mem_1", "mem_2", reason="no", operation_id="op_1", collection="c",
            options={"agent_id": "anna"},
        )  # fmt: skip
        call(address, name, "mem_1", "mem_2")
    assert requests[0] == request_type(
        collection="c", operation_id="op_1", agent_id="anna", id_a="mem_1", id_b="mem_2",
        reason="no",
    )  # fmt: skip
    assert requests[1].operation_id.startswith("op_")
    assert (told.revision, told.changed, told.replayed) == (4, True, False)
    assert (told.memory_ids, told.operation_id) == (("mem_1", "mem_2"), "op_1")


def test_why_not_sends_the_recall_and_reads_the_standing(call: Call) -> None:
    answer = pb.WhyNotResponse(
        revision=3,
        outcome=pb.WHY_NOT_OUTCOME_EXCLUDED,
        memory_id="mem_1",
        k=5,
        place=2,
        unmet=[pb.UnmetCondition(name="tags", asked="a", held="b, c")],
        status=types_pb2.STATUS_SUPERSEDED,
        superseded_by="mem_2",
        confidence=0.8,
        effective_confidence=0.5,
        lexical=pb.ArmStanding(similarity=0.25, rank=7, depth=50, candidate=True),
        missing_words=["loud"],
        fused_rank=3,
        candidate_count=9,
        passing_count=11,
        diversity=pb.DIVERSITY_EFFECT_LOWERED,
        near_id="mem_3",
        near_similarity=0.97,
        budget="kind",
        vector_search="exact",
        degraded_because="busy",
    )
    requests: list[pb.WhyNotRequest] = []
    with scripted(WhyNot=answering(answer, requests)) as address:
        told = call(
            address, "why_not", "mem_1", "pump", vector=[1.0], k=5, mode="vector",
            diversity=DiversityPolicy(enabled=False), collection="c", tags=["a"],
            options={"agent_id": "anna"},
        )  # fmt: skip
    assert requests == [
        pb.WhyNotRequest(
            memory_id="mem_1",
            recall=pb.RecallRequest(
                collection="c", agent_id="anna", text="pump", vector=b"\x00\x00\x80\x3f", k=5,
                mode=pb.RECALL_MODE_VECTOR, filter=types_pb2.Filter(tags=["a"]),
                diversity=types_pb2.DiversityPolicy(enabled=False), fold=True,
            ),
        )
    ]  # fmt: skip
    assert told.outcome is WhyNotOutcome.EXCLUDED
    assert (told.memory_id, told.k, told.place, told.fused_rank) == ("mem_1", 5, 2, 3)
    assert [(condition.name, condition.asked, condition.held) for condition in told.unmet] == [
        ("tags", "a", "b, c")
    ]
    assert (told.status, told.superseded_by) == (Status.SUPERSEDED, "mem_2")
    assert (told.confidence, told.effective_confidence) == (0.8, 0.5)
    assert told.vector is None
    assert (told.lexical.similarity, told.lexical.rank) == (0.25, 7)
    assert (told.lexical.depth, told.lexical.candidate) == (50, True)
    assert (told.missing_words, told.candidate_count, told.passing_count) == (("loud",), 9, 11)
    assert (told.diversity, told.near_id, told.near_similarity) == ("lowered", "mem_3", 0.97)
    assert (told.budget, told.vector_search, told.degraded_because) == ("kind", "exact", "busy")


def test_why_not_of_what_is_not_there_has_no_standing(call: Call) -> None:
    answer = pb.WhyNotResponse(outcome=pb.WHY_NOT_OUTCOME_NOT_THERE, memory_id="mem_1", k=10)
    with scripted(WhyNot=answering(answer)) as address:
        told = call(address, "why_not", "mem_1", "pump")
    assert told.outcome == "not_there"
    assert (told.status, told.diversity, told.vector, told.lexical) == (None, None, None, None)


def test_audit_sends_what_was_said_and_reads_every_figure(call: Call) -> None:
    answer = audit_pb.AuditResponse(
        revision=9,
        active_count=30,
        examined_count=20,
        near_count=5,
        near_distance_below=0.1,
        near_pairs=[audit_pb.NearPair(id_a="mem_1", id_b="mem_2", distance=0.05)],
        never_recalled_count=7,
        contradiction_count=2,
        contradictions=[audit_pb.ContradictingPair(id_a="mem_3", id_b="mem_4")],
        confidence_below=0.2,
        faded_count=3,
        chain_count=4,
        longest_chain=6,
        longest_chain_id="mem_5",
        days=7,
        operations_from_time=STAMP,
        agents=[
            audit_pb.AgentWrites(agent_id="anna", operation_count=2, kind_counts={"Remember": 2})
        ],
        repeat_count=8,
        echo_refused_count=1,
        echo_saved_count=2,
        recall_at_k=0.99,
        recall_sampled_count=32,
    )
    requests: list[audit_pb.AuditRequest] = []
    with scripted(Audit=answering(answer, requests)) as address:
        told = call(address, "audit", days=7, confidence_below=0.0, options={"agent_id": "anna"})
        call(address, "audit", collection="c")
    assert requests == [
        audit_pb.AuditRequest(agent_id="anna", days=7, confidence_below=0.0),
        audit_pb.AuditRequest(collection="c"),
    ]
    assert requests[0].HasField("confidence_below")
    assert (told.revision, told.active_count, told.examined_count) == (9, 30, 20)
    assert (told.near_count, told.near_share, told.near_distance_below) == (5, 0.25, 0.1)
    (pair,) = told.near_pairs
    assert (pair.id_a, pair.id_b, pair.distance) == ("mem_1", "mem_2", 0.05)
    assert (told.never_recalled_count, told.faded_count, told.confidence_below) == (7, 3, 0.2)
    assert (told.contradiction_count, told.contradictions) == (2, (("mem_3", "mem_4"),))
    assert (told.chain_count, told.longest_chain, told.longest_chain_id) == (4, 6, "mem_5")
    assert (told.days, told.operations_from_time) == (7, datetime(2026, 1, 1, tzinfo=UTC))
    (agent,) = told.agents
    assert (agent.agent_id, agent.operation_count) == ("anna", 2)
    assert agent.kind_counts == {"Remember": 2}
    assert (told.repeat_count, told.echo_refused_count, told.echo_saved_count) == (8, 1, 2)
    assert (told.recall_at_k, told.recall_sampled_count) == (0.99, 32)


def test_audit_of_nothing_has_a_share_of_nothing(call: Call) -> None:
    with scripted(Audit=answering(audit_pb.AuditResponse())) as address:
        told = call(address, "audit")
    assert (told.near_share, told.operations_from_time) == (0.0, None)
