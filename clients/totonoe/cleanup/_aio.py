# Made by clients/generate_async.py from calls.py. Do not edit.
"""Calls that clean up by rule: ends of sessions, exact duplicates, decay."""

from __future__ import annotations

from totonoe.call.base import AsyncCalls
from totonoe.call.lazily import cleanup_models as models
from totonoe.enums import GroupByWord, MeasureWord
from totonoe.v1 import cleanup_pb2


class AsyncCleanupCalls(AsyncCalls):
    """Calls that clean up by rule. Each run is one operation, which `undo` takes back.

    No rule takes what is protected: categories `constraint`, `postmortem` and `gotcha`, confidence
    from 0.95 on, memories with a perception type, logs and long moods, and other agents' private
    memories.
    """

    async def end_session(
        self,
        session_id: str = "",
        *,
        by: GroupByWord | None = None,
        measure: MeasureWord | None = None,
        threshold: float | None = None,
        dry_run: bool = False,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.SessionEnded:
        """Merges memories that a session said several times over into one each.

        See `Client.end_session`.
        """
        request = self._request(
            cleanup_pb2.EndSessionRequest,
            session_id=session_id,
            by=by,
            measure=measure,
            threshold=threshold,
            dry_run=dry_run,
            reason=reason,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.SessionEnded, timeout_s)

    async def clean_up_duplicates(
        self,
        *,
        apply: bool = False,
        limit: int = 200,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.CleanedUp:
        """Finds live memories that are equal in text, state kind, payload and key.

        See `Client.clean_up_duplicates`.
        """
        request = self._request(
            cleanup_pb2.CleanUpDuplicatesRequest,
            apply=apply,
            limit=limit,
            reason=reason,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.CleanedUp, timeout_s)

    async def decay(
        self,
        *,
        close_below: float | None = None,
        dry_run: bool = False,
        limit: int = 1000,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Decayed:
        """Reports faded confidence and, with `close_below`, closes the memories below that value.

        See `Client.decay`.
        """
        request = self._request(
            cleanup_pb2.DecayRequest,
            close_below=close_below,
            dry_run=dry_run,
            limit=limit,
            reason=reason,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.Decayed, timeout_s)
