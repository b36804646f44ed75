"""Requests about snapshots."""

from __future__ import annotations

from totonoe import convert_snapshot, snapshot_models
from totonoe.prepared import ADMIN_SERVICE as _ADMIN
from totonoe.prepared import Caller, Prepared, new_operation_id
from totonoe.v1 import snapshot_pb2


class SnapshotRequests(Caller):
    """What is asked about snapshots."""

    def create_snapshot(
        self, name: str, comment: str, operation_id: str, collection: str | None
    ) -> Prepared[snapshot_models.SnapshotCreated]:
        """CreateSnapshot."""
        request = snapshot_pb2.CreateSnapshotRequest(
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            collection=self._where(collection),
            name=name,
            comment=comment,
        )
        return Prepared(
            _ADMIN + "CreateSnapshot",
            request,
            snapshot_pb2.CreateSnapshotResponse,
            convert_snapshot.decode_created,
        )

    def list_snapshots(
        self, collection: str, page_size: int, page_token: str
    ) -> Prepared[snapshot_models.SnapshotPage]:
        """ListSnapshots, of all collections if none is named."""
        request = snapshot_pb2.ListSnapshotsRequest(
            collection=collection, page_size=page_size, page_token=page_token
        )
        return Prepared(
            _ADMIN + "ListSnapshots",
            request,
            snapshot_pb2.ListSnapshotsResponse,
            convert_snapshot.decode_listed,
        )

    def delete_snapshot(
        self, snapshot_id: str, operation_id: str
    ) -> Prepared[snapshot_models.SnapshotDeleted]:
        """DeleteSnapshot."""
        request = snapshot_pb2.DeleteSnapshotRequest(
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            snapshot_id=snapshot_id,
        )
        return Prepared(
            _ADMIN + "DeleteSnapshot",
            request,
            snapshot_pb2.DeleteSnapshotResponse,
            convert_snapshot.decode_deleted,
        )

    def restore_snapshot(
        self, snapshot_id: str, collection: str, confirmation_token: str, operation_id: str
    ) -> Prepared[snapshot_models.SnapshotRestored]:
        """RestoreSnapshot."""
        request = snapshot_pb2.RestoreSnapshotRequest(
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            snapshot_id=snapshot_id,
            collection=collection,
            confirmation_token=confirmation_token,
        )
        return Prepared(
            _ADMIN + "RestoreSnapshot",
            request,
            snapshot_pb2.RestoreSnapshotResponse,
            convert_snapshot.decode_restored,
        )
