"""Dismiss, Undismiss, WhyNot and Audit."""

from __future__ import annotations

from totonoe.v1 import audit_pb2, memory_service_pb2
from totonoe_core.domain.dismissals import Dismiss, Dismissed, Undismiss, Undismissed
from totonoe_core.rules.audit import NEAR_DISTANCE_BELOW, AuditQuery, AuditReport
from totonoe_core.search.why_not import WhyNot
from totonoe_server.wire.mapping import answer, decoder, encoder

dismiss_from_wire = decoder(audit_pb2.DismissRequest, Dismiss)
undismiss_from_wire = decoder(audit_pb2.UndismissRequest, Undismiss)
dismissed_to_wire = answer(Dismissed, audit_pb2.DismissResponse)
undismissed_to_wire = answer(Undismissed, audit_pb2.UndismissResponse)
audit_from_wire = decoder(audit_pb2.AuditRequest, AuditQuery)
audit_to_wire = encoder(
    AuditReport,
    audit_pb2.AuditResponse,
    computed={
        "near_distance_below": lambda _: NEAR_DISTANCE_BELOW,
        "contradictions": lambda value: [
            audit_pb2.ContradictingPair(id_a=first, id_b=other)
            for first, other in value.contradictions
        ],
    },
)
_why_not_to_wire = encoder(
    WhyNot,
    memory_service_pb2.WhyNotResponse,
    names={
        name: f"standing.{name}"
        for name in (
            *("place", "vector", "lexical", "missing_words", "fused_rank", "candidate_count"),
            *("passing_count", "diversity", "near_similarity", "budget", "vector_search"),
            *("relevance", "context"),
        )
    },
)


def why_not_to_wire(value: WhyNot) -> memory_service_pb2.WhyNotResponse:
    """Return the answer of a WhyNot. For a memory that is not there it is nearly empty."""
    answer = _why_not_to_wire(value)
    if value.standing is not None:
        return answer
    return memory_service_pb2.WhyNotResponse(
        revision=answer.revision, outcome=answer.outcome, memory_id=answer.memory_id, k=answer.k
    )
