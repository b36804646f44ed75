"""Calls of the asyncio client that clean up by rule: sessions, exact doubles, what has faded."""

from __future__ import annotations

from totonoe import cleanup_models
from totonoe.calls import AsyncCalls
from totonoe.enums import GroupBy, Measure


class AsyncCleanupCalls(AsyncCalls):
    """What an asyncio client has cleaned up; as `client_cleanup.CleanupCalls`."""

    async def end_session(
        self,
        session_id: str = "",
        *,
        by: GroupBy | str | None = None,
        measure: Measure | str | None = None,
        threshold: float | None = None,
        dry_run: bool = False,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> cleanup_models.SessionEnded:
        """Supersedes what a session said several times over; as `Client.end_session`."""
        prepared = self._requests.end_session(
            session_id, by, measure, threshold, dry_run, reason, operation_id, collection
        )
        return await self._run(prepared, timeout_s)

    async def clean_up_duplicates(
        self,
        *,
        apply: bool = False,
        limit: int = 200,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> cleanup_models.CleanedUp:
        """Finds, or supersedes, exact doubles; as `Client.clean_up_duplicates`."""
        prepared = self._requests.clean_up_duplicates(
            apply, limit, reason, operation_id, collection
        )
        return await self._run(prepared, timeout_s)

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
    ) -> cleanup_models.Decayed:
        """Tells what has faded, or closes it; as `Client.decay`."""
        prepared = self._requests.decay(
            close_below, dry_run, limit, reason, operation_id, collection
        )
        return await self._run(prepared, timeout_s)
