# Made by clients/generate_async.py from calls.py. Do not edit.
"""Calls about snapshots."""

from __future__ import annotations

from totonoe.call.base import AsyncCalls
from totonoe.call.lazily import snapshots_models as models
from totonoe.v1 import snapshot_pb2


class AsyncSnapshotCalls(AsyncCalls):
    """Calls about snapshots."""

    async def create_snapshot(
        self,
        *,
        name: str = "",
        comment: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.SnapshotCreated:
        """Creates a snapshot: a copy of a collection at one revision, while others write.

        See `Client.create_snapshot`.
        """
        request = self._request(
            snapshot_pb2.CreateSnapshotRequest,
            name=name,
            comment=comment,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.SnapshotCreated, timeout_s)

    async def list_snapshots(
        self,
        collection: str = "",
        *,
        page_size: int = 100,
        page_token: str = "",
        timeout_s: float | None = None,
    ) -> models.SnapshotPage:
        """Returns a page of snapshots, newest first; `page_size` 1 to 1,000.

        See `Client.list_snapshots`.
        """
        request = self._request(
            snapshot_pb2.ListSnapshotsRequest,
            collection=collection,
            page_size=page_size,
            page_token=page_token,
        )
        return await self._run(request, models.SnapshotPage, timeout_s)

    async def delete_snapshot(
        self, snapshot_id: str, *, operation_id: str = "", timeout_s: float | None = None
    ) -> models.SnapshotDeleted:
        """Deletes a snapshot for good."""
        request = self._request(
            snapshot_pb2.DeleteSnapshotRequest, snapshot_id=snapshot_id, operation_id=operation_id
        )
        return await self._run(request, models.SnapshotDeleted, timeout_s)

    async def restore_snapshot(
        self,
        snapshot_id: str,
        collection: str,
        *,
        confirmation_token: str = "",
        operation_id: str = "",
        timeout_s: float | None = None,
    ) -> models.SnapshotRestored:
        """Restores a snapshot as a collection, after a check of its file.

        See `Client.restore_snapshot`.
        """
        request = self._request(
            snapshot_pb2.RestoreSnapshotRequest,
            snapshot_id=snapshot_id,
            collection=collection,
            confirmation_token=confirmation_token,
            operation_id=operation_id,
        )
        return await self._run(request, models.SnapshotRestored, timeout_s)
