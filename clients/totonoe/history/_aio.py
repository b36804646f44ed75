# Made by clients/generate_async.py from calls.py. Do not edit.
"""Calls about the past of a collection: undo, history, operations, purge."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe.call.base import AsyncCalls
from totonoe.call.lazily import history_models as models
from totonoe.enums import SnapshotUse, SnapshotUseWord
from totonoe.memories.models import TimeRange
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import operations_pb2 as operations_pb
from totonoe.wire.scalars import encode_ids


class AsyncHistoryCalls(AsyncCalls):
    """Calls that show the past and take it back."""

    async def undo(
        self,
        target: int | str,
        *,
        reason: str = "",
        force: bool = False,
        partial: bool = False,
        own_only: bool = False,
        dry_run: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Undone:
        """Undoes an operation: all that it touched is again what it was before.

        See `Client.undo`.
        """
        by_revision = isinstance(target, int) and not isinstance(target, bool)
        if not by_revision and not isinstance(target, str):
            got = type(target).__name__
            raise TypeError(f"target: got a {got}, allowed: a revision or an operation id")
        request = self._request(
            operations_pb.UndoRequest,
            target_revision=target if by_revision else None,
            target_operation_id=None if by_revision else target,
            reason=reason,
            force=force,
            partial=partial,
            own_only=own_only,
            dry_run=dry_run,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.Undone, timeout_s)

    async def history(
        self,
        memory_id: str,
        *,
        page_size: int = 100,
        page_token: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.HistoryPage:
        """Returns a page of a memory's versions, newest first, each with its agent and reason.

        See `Client.history`.
        """
        request = self._request(
            operations_pb.HistoryRequest,
            memory_id=memory_id,
            page_size=page_size,
            page_token=page_token,
            collection=collection,
        )
        return await self._run(request, models.HistoryPage, timeout_s)

    async def operations(
        self,
        *,
        agent_ids: Iterable[str] = (),
        kinds: Iterable[str] = (),
        time: TimeRange | None = None,
        memory_id: str = "",
        reason_contains: str = "",
        page_size: int = 100,
        page_token: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.OperationPage:
        """Returns a page of a collection's operations, newest first; `page_size` 1 to 1,000.

        See `Client.operations`.
        """
        request = self._request(
            operations_pb.ListOperationsRequest,
            agent_ids=agent_ids,
            kinds=kinds,
            time=time,
            memory_id=memory_id,
            reason_contains=reason_contains,
            page_size=page_size,
            page_token=page_token,
            collection=collection,
        )
        return await self._run(request, models.OperationPage, timeout_s)

    async def purge(
        self,
        ids: str | Iterable[str],
        *,
        reason: str = "",
        dry_run: bool = False,
        snapshots: SnapshotUseWord = SnapshotUse.LIST,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Purged:
        """Erases the bytes of memories wherever they are stored. Final: there is no undo.

        See `Client.purge`.
        """
        request = self._request(
            admin_pb.PurgeRequest,
            ids=encode_ids(ids, "ids"),
            reason=reason,
            dry_run=dry_run,
            snapshots=snapshots,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.Purged, timeout_s)
