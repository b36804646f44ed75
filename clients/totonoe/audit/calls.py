"""Calls about pairs that are no duplicates, why-nots and audits."""

from __future__ import annotations

from typing import Unpack

from totonoe.call.base import Calls
from totonoe.call.lazily import audit_models as models
from totonoe.enums import RecallModeWord
from totonoe.memories.drafts import FilterFields, Vector
from totonoe.memories.encoding import encode_filter
from totonoe.memories.models import DiversityPolicy
from totonoe.v1 import audit_pb2
from totonoe.v1 import memory_service_pb2 as memory_pb


class AuditCalls(Calls):
    """Calls about pairs, about a memory that does not come, and about a whole collection."""

    def dismiss(
        self,
        id_a: str,
        id_b: str,
        *,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Dismissed:
        """Marks two live memories as no duplicates of each other.

        Searches for duplicates to merge leave the pair out, for all agents that see both, until one
        of the two texts changes.
        """
        request = self._request(
            audit_pb2.DismissRequest,
            id_a=id_a,
            id_b=id_b,
            reason=reason,
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.Dismissed, timeout_s)

    def undismiss(
        self,
        id_a: str,
        id_b: str,
        *,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Undismissed:
        """Takes back a `dismiss` of two memories, whichever agent made it."""
        request = self._request(
            audit_pb2.UndismissRequest,
            id_a=id_a,
            id_b=id_b,
            reason=reason,
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.Undismissed, timeout_s)

    def why_not(
        self,
        memory_id: str,
        text: str = "",
        *,
        vector: Vector = None,
        k: int = 10,
        mode: RecallModeWord | None = None,
        diversity: DiversityPolicy | None = None,
        min_relevance: float = 0.0,
        fold: bool = True,
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> models.WhyNot:
        """Explains why a memory is not among the hits of a recall, or at which place it is.

        Arguments are those of `recall`. Changes nothing, and counts no access. An unknown memory is
        an answer too, not an error.

        Parameters
        ----------
        memory_id : str
            The memory; an external id may stand as `ext:` and the id.
        """
        recall = self._request(
            memory_pb.RecallRequest,
            text=text,
            vector=vector,
            k=k,
            mode=mode,
            diversity=diversity,
            min_relevance=min_relevance,
            fold=fold,
            filter=encode_filter(conditions),
            collection=collection,
        )
        request = self._request(memory_pb.WhyNotRequest, memory_id=memory_id, recall=recall)
        return self._run(request, models.WhyNot, timeout_s)

    def audit(
        self,
        *,
        days: int | None = None,
        confidence_below: float | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Audit:
        """Measures how healthy the collection is, as far as the caller sees it; takes some seconds.

        Parameters
        ----------
        days : int or None
            How far back writes and echoes are counted, 1 to 3,650; `None`: 30.
        confidence_below : float or None
            Effective confidence below which a memory counts as hidden; `None`: 0.3.
        """
        request = self._request(
            audit_pb2.AuditRequest,
            days=days,
            confidence_below=confidence_below,
            collection=collection,
        )
        return self._run(request, models.Audit, timeout_s)
