"""Calls of the asyncio client about what was found or left out: pairs, why-nots, audits."""

from __future__ import annotations

from typing import Unpack

from totonoe import admin_models, audit_models
from totonoe.calls import AsyncCalls
from totonoe.drafts import FilterFields, Vector
from totonoe.enums import RecallMode


class AsyncAuditCalls(AsyncCalls):
    """What an asyncio client asks about what was found or left out."""

    async def dismiss(
        self,
        id_a: str,
        id_b: str,
        *,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> audit_models.Dismissed:
        """Says that two live memories are no duplicates; as `Client.dismiss`."""
        prepared = self._requests.dismiss(id_a, id_b, reason, operation_id, collection)
        return await self._run(prepared, timeout_s)

    async def undismiss(
        self,
        id_a: str,
        id_b: str,
        *,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> audit_models.Undismissed:
        """Takes back what `dismiss` said of two memories, whoever said it."""
        prepared = self._requests.undismiss(id_a, id_b, reason, operation_id, collection)
        return await self._run(prepared, timeout_s)

    async def why_not(
        self,
        memory_id: str,
        text: str = "",
        *,
        vector: Vector = None,
        k: int = 10,
        mode: RecallMode | str | None = None,
        diversity: admin_models.DiversityPolicy | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> audit_models.WhyNot:
        """Why a memory does not come in a recall, or where it comes; as `Client.why_not`."""
        prepared = self._requests.why_not_recalled(
            memory_id, text, vector, k, mode, diversity, collection, conditions
        )
        return await self._run(prepared, timeout_s)

    async def audit(
        self,
        *,
        days: int | None = None,
        confidence_below: float | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> audit_models.Audit:
        """How healthy the collection is, as far as the caller sees it; as `Client.audit`."""
        prepared = self._requests.audit(days, confidence_below, collection)
        return await self._run(prepared, timeout_s)
