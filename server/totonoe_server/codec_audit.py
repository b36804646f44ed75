"""Dismissals, WhyNot and Audit: wire <-> records."""

from __future__ import annotations

from totonoe.v1 import audit_pb2, memory_service_pb2
from totonoe_core.audit import NEAR_DISTANCE_BELOW, AuditQuery, AuditReport
from totonoe_core.commands import Applied, Dismiss, Dismissed, Undismiss, Undismissed
from totonoe_core.why_not import ArmStanding, Outcome, WhyNot
from totonoe_server.codec import DIVERSITY_EFFECTS, STATUSES, EnumTable, time_to_wire

OUTCOMES = EnumTable(memory_service_pb2.WhyNotOutcome, Outcome, "WHY_NOT_OUTCOME_")
_QUERY = AuditQuery("")


def dismiss_from_wire(request: audit_pb2.DismissRequest) -> Dismiss:
    """The command of a Dismiss."""
    return Dismiss(request.agent_id, request.id_a, request.id_b, request.reason)


def undismiss_from_wire(request: audit_pb2.UndismissRequest) -> Undismiss:
    """The command of an Undismiss."""
    return Undismiss(request.agent_id, request.id_a, request.id_b, request.reason)


def dismissed_to_wire(applied: Applied) -> audit_pb2.DismissResponse:
    """Answer of a Dismiss."""
    (result,) = applied.results
    assert isinstance(result, Dismissed)
    return audit_pb2.DismissResponse(
        revision=applied.revision,
        changed=result.changed,
        memory_ids=result.memory_ids,
        replayed=applied.replayed,
        operation_id=applied.operation_id,
    )


def undismissed_to_wire(applied: Applied) -> audit_pb2.UndismissResponse:
    """Answer of an Undismiss."""
    (result,) = applied.results
    assert isinstance(result, Undismissed)
    return audit_pb2.UndismissResponse(
        revision=applied.revision,
        changed=result.changed,
        memory_ids=result.memory_ids,
        replayed=applied.replayed,
        operation_id=applied.operation_id,
    )


def why_not_to_wire(value: WhyNot) -> memory_service_pb2.WhyNotResponse:
    """Answer of a WhyNot."""
    answer = memory_service_pb2.WhyNotResponse(
        revision=value.revision,
        outcome=OUTCOMES.to_wire(value.outcome),
        memory_id=value.memory_id,
        k=value.k,
    )
    found = value.standing
    if found is None:
        return answer
    rest = memory_service_pb2.WhyNotResponse(
        place=found.place,
        unmet=[
            memory_service_pb2.UnmetCondition(name=one.name, asked=one.asked, held=one.held)
            for one in value.unmet
        ],
        status=STATUSES.to_wire(value.status),
        superseded_by=value.superseded_by,
        confidence=value.confidence,
        effective_confidence=value.effective_confidence,
        vector=_arm(found.vector),
        lexical=_arm(found.lexical),
        missing_words=found.missing_words,
        fused_rank=found.fused_rank,
        candidate_count=found.candidate_count,
        passing_count=found.passing_count,
        diversity=DIVERSITY_EFFECTS.to_wire(found.diversity),
        near_id=value.near_id,
        near_similarity=found.near_similarity,
        budget=found.budget,
        vector_search=found.vector_search,
        degraded_because=value.degraded_because,
    )
    answer.MergeFrom(rest)
    return answer


def _arm(value: ArmStanding | None) -> memory_service_pb2.ArmStanding | None:
    if value is None:
        return None
    return memory_service_pb2.ArmStanding(
        similarity=value.similarity,
        rank=value.rank,
        depth=value.depth,
        candidate=value.candidate,
    )


def audit_from_wire(request: audit_pb2.AuditRequest) -> AuditQuery:
    """What an Audit is to tell."""
    below = request.confidence_below if request.HasField("confidence_below") else None
    return AuditQuery(
        agent_id=request.agent_id,
        days=request.days or _QUERY.days,
        confidence_below=_QUERY.confidence_below if below is None else below,
    )


def audit_to_wire(value: AuditReport) -> audit_pb2.AuditResponse:
    """Answer of an Audit."""
    return audit_pb2.AuditResponse(
        revision=value.revision,
        active_count=value.active_count,
        examined_count=value.examined_count,
        near_count=value.near_count,
        near_distance_below=NEAR_DISTANCE_BELOW,
        near_pairs=[
            audit_pb2.NearPair(id_a=one.id_a, id_b=one.id_b, distance=one.distance)
            for one in value.near_pairs
        ],
        never_recalled_count=value.never_recalled_count,
        contradiction_count=value.contradiction_count,
        contradictions=[
            audit_pb2.ContradictingPair(id_a=one, id_b=other) for one, other in value.contradictions
        ],
        confidence_below=value.confidence_below,
        faded_count=value.faded_count,
        chain_count=value.chain_count,
        longest_chain=value.longest_chain,
        longest_chain_id=value.longest_chain_id,
        days=value.days,
        operations_from_time=time_to_wire(value.operations_from_us),
        agents=[
            audit_pb2.AgentWrites(
                agent_id=one.agent_id,
                operation_count=one.operation_count,
                kind_counts=dict(one.kind_counts),
            )
            for one in value.agents
        ],
        repeat_count=value.repeat_count,
        echo_refused_count=value.echo_refused_count,
        echo_saved_count=value.echo_saved_count,
        recall_at_k=value.recall_at_k,
        recall_sampled_count=value.recall_sampled_count,
    )
