# Made by clients/generate_async.py from calls.py. Do not edit.
"""Calls about pairs that are no duplicates, why-nots and audits."""

from __future__ import annotations

from typing import Unpack

from totonoe.call.base import AsyncCalls
from totonoe.call.lazily import audit_models as models
from totonoe.enums import RecallModeWord
from totonoe.memories.drafts import FilterFields, Vector
from totonoe.memories.encoding import encode_filter
from totonoe.memories.models import DiversityPolicy
from totonoe.v1 import audit_pb2
from totonoe.v1 import memory_service_pb2 as memory_pb


class AsyncAuditCalls(AsyncCalls):
    """Calls about pairs, about a memory that does not come, and about a whole collection."""

    async def dismiss(
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

        See `Client.dismiss`.
        """
        request = self._request(
            audit_pb2.DismissRequest,
            id_a=id_a,
            id_b=id_b,
            reason=reason,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.Dismissed, timeout_s)

    async def undismiss(
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
        return await self._run(request, models.Undismissed, timeout_s)

    async def why_not(
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

        See `Client.why_not`.
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
        return await self._run(request, models.WhyNot, timeout_s)

    async def audit(
        self,
        *,
        days: int | None = None,
        confidence_below: float | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Audit:
        """Measures how healthy the collection is, as far as the caller sees it; takes some seconds.

        See `Client.audit`.
        """
        request = self._request(
            audit_pb2.AuditRequest,
            days=days,
            confidence_below=confidence_below,
            collection=collection,
        )
        return await self._run(request, models.Audit, timeout_s)
