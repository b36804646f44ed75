"""Calls of the asyncio client about what was done: undo, history, operations."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe import history_models, models
from totonoe.calls import AsyncCalls


class AsyncHistoryCalls(AsyncCalls):
    """What an asyncio client tells of the past and takes back."""

    async def undo(
        self,
        target: int | str,
        *,
        reason: str = "",
        force: bool = False,
        partial: bool = False,
        dry_run: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> history_models.Undone:
        """Takes an operation back; as `Client.undo`."""
        prepared = self._requests.undo(
            target, reason, force, partial, dry_run, operation_id, collection
        )
        return await self._run(prepared, timeout_s)

    async def history(
        self,
        memory_id: str,
        *,
        page_size: int = 100,
        page_token: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> history_models.HistoryPage:
        """One page of what a memory was, newest first; as `Client.history`."""
        prepared = self._requests.history(memory_id, page_size, page_token, collection)
        return await self._run(prepared, timeout_s)

    async def operations(
        self,
        *,
        agent_ids: Iterable[str] = (),
        kinds: Iterable[str] = (),
        time: models.TimeRange | None = None,
        memory_id: str = "",
        reason_contains: str = "",
        page_size: int = 100,
        page_token: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> history_models.OperationPage:
        """One page of the operations of a collection, newest first; as `Client.operations`."""
        prepared = self._requests.operations(
            agent_ids, kinds, time, memory_id, reason_contains, page_size, page_token, collection
        )
        return await self._run(prepared, timeout_s)
