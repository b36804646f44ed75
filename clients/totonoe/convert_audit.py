"""Dismissals, why-nots and audits: wire to models."""

from __future__ import annotations

from totonoe import audit_models as models
from totonoe.convert import DIVERSITY_EFFECT, STATUS, decode_optional_time
from totonoe.enums import WhyNotOutcome
from totonoe.scalars import EnumCodec
from totonoe.v1 import audit_pb2, memory_service_pb2

OUTCOME = EnumCodec(WhyNotOutcome, memory_service_pb2.WhyNotOutcome, "WHY_NOT_OUTCOME_")


def decode_dismissed(answer: audit_pb2.DismissResponse) -> models.Dismissed:
    """Answer of Dismiss."""
    return models.Dismissed(
        revision=answer.revision,
        changed=answer.changed,
        memory_ids=tuple(answer.memory_ids),
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_undismissed(answer: audit_pb2.UndismissResponse) -> models.Undismissed:
    """Answer of Undismiss."""
    return models.Undismissed(
        revision=answer.revision,
        changed=answer.changed,
        memory_ids=tuple(answer.memory_ids),
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_why_not(answer: memory_service_pb2.WhyNotResponse) -> models.WhyNot:
    """Answer of WhyNot."""
    return models.WhyNot(
        revision=answer.revision,
        outcome=OUTCOME.decode(answer.outcome),
        memory_id=answer.memory_id,
        k=answer.k,
        place=answer.place,
        unmet=tuple(models.UnmetCondition(one.name, one.asked, one.held) for one in answer.unmet),
        status=STATUS.decode(answer.status) if answer.status else None,
        superseded_by=answer.superseded_by,
        confidence=answer.confidence,
        effective_confidence=answer.effective_confidence,
        vector=_arm(answer.vector) if answer.HasField("vector") else None,
        lexical=_arm(answer.lexical) if answer.HasField("lexical") else None,
        missing_words=tuple(answer.missing_words),
        fused_rank=answer.fused_rank,
        candidate_count=answer.candidate_count,
        passing_count=answer.passing_count,
        diversity=DIVERSITY_EFFECT.decode(answer.diversity) if answer.diversity else None,
        near_id=answer.near_id,
        near_similarity=answer.near_similarity,
        budget=answer.budget,
        vector_search=answer.vector_search,
        degraded_because=answer.degraded_because,
    )


def _arm(one: memory_service_pb2.ArmStanding) -> models.ArmStanding:
    return models.ArmStanding(one.similarity, one.rank, one.depth, one.candidate)


def decode_audit(answer: audit_pb2.AuditResponse) -> models.Audit:
    """Answer of Audit."""
    return models.Audit(
        revision=answer.revision,
        active_count=answer.active_count,
        examined_count=answer.examined_count,
        near_count=answer.near_count,
        near_distance_below=answer.near_distance_below,
        near_pairs=tuple(
            models.NearPair(one.id_a, one.id_b, one.distance) for one in answer.near_pairs
        ),
        never_recalled_count=answer.never_recalled_count,
        contradiction_count=answer.contradiction_count,
        contradictions=tuple((one.id_a, one.id_b) for one in answer.contradictions),
        confidence_below=answer.confidence_below,
        faded_count=answer.faded_count,
        chain_count=answer.chain_count,
        longest_chain=answer.longest_chain,
        longest_chain_id=answer.longest_chain_id,
        days=answer.days,
        operations_from_time=decode_optional_time(answer, "operations_from_time"),
        agents=tuple(
            models.AgentWrites(one.agent_id, one.operation_count, dict(one.kind_counts))
            for one in answer.agents
        ),
        repeat_count=answer.repeat_count,
        echo_refused_count=answer.echo_refused_count,
        echo_saved_count=answer.echo_saved_count,
        recall_at_k=answer.recall_at_k,
        recall_sampled_count=answer.recall_sampled_count,
    )
