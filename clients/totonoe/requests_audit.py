"""Requests about what was found or left out: dismissals, why-nots, audits."""

from __future__ import annotations

from totonoe import audit_models, convert_audit
from totonoe.prepared import ADMIN_SERVICE as _ADMIN
from totonoe.prepared import MEMORY_SERVICE as _MEMORY
from totonoe.prepared import Caller, Prepared, new_operation_id
from totonoe.v1 import audit_pb2
from totonoe.v1 import memory_service_pb2 as memory_pb


class AuditRequests(Caller):
    """What is asked about pairs, about a memory that did not come, and about a collection."""

    def dismiss(
        self, id_a: str, id_b: str, reason: str, operation_id: str, collection: str | None
    ) -> Prepared[audit_models.Dismissed]:
        """Dismiss."""
        request = audit_pb2.DismissRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            id_a=id_a,
            id_b=id_b,
            reason=reason,
        )
        return Prepared(
            _MEMORY + "Dismiss", request, audit_pb2.DismissResponse, convert_audit.decode_dismissed
        )

    def undismiss(
        self, id_a: str, id_b: str, reason: str, operation_id: str, collection: str | None
    ) -> Prepared[audit_models.Undismissed]:
        """Undismiss."""
        request = audit_pb2.UndismissRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            id_a=id_a,
            id_b=id_b,
            reason=reason,
        )
        return Prepared(
            _MEMORY + "Undismiss",
            request,
            audit_pb2.UndismissResponse,
            convert_audit.decode_undismissed,
        )

    def why_not(
        self, memory_id: str, recall: memory_pb.RecallRequest
    ) -> Prepared[audit_models.WhyNot]:
        """WhyNot about a Recall."""
        request = memory_pb.WhyNotRequest(memory_id=memory_id, recall=recall)
        return Prepared(
            _MEMORY + "WhyNot", request, memory_pb.WhyNotResponse, convert_audit.decode_why_not
        )

    def audit(
        self, days: int | None, confidence_below: float | None, collection: str | None
    ) -> Prepared[audit_models.Audit]:
        """Audit."""
        request = audit_pb2.AuditRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            days=days,
            confidence_below=confidence_below,
        )
        return Prepared(
            _ADMIN + "Audit", request, audit_pb2.AuditResponse, convert_audit.decode_audit
        )
