"""Calls about snapshots."""

from __future__ import annotations

from totonoe.call.base import Calls
from totonoe.call.lazily import snapshots_models as models
from totonoe.v1 import snapshot_pb2


class SnapshotCalls(Calls):
    """Calls about snapshots."""

    def create_snapshot(
        self,
        *,
        name: str = "",
        comment: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.SnapshotCreated:
        """Creates a snapshot: a copy of a collection at one revision, while others write.

        It takes a second for some 100 MB; say a `timeout_s` that is long enough. The daemon goes on
        after it: `stats().snapshots.running` says how far it is, and the same call with the same
        `operation_id` gives the answer.

        Parameters
        ----------
        name : str
            1 to 64 of a-z, 0-9, `_`, `.`, `-`; once in its collection. Empty: none.
        comment : str
            At most 1,024 bytes.
        """
        request = self._request(
            snapshot_pb2.CreateSnapshotRequest,
            name=name,
            comment=comment,
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.SnapshotCreated, timeout_s)

    def list_snapshots(
        self,
        collection: str = "",
        *,
        page_size: int = 100,
        page_token: str = "",
        timeout_s: float | None = None,
    ) -> models.SnapshotPage:
        """Returns a page of snapshots, newest first; `page_size` 1 to 1,000.

        Of the collection that has a name now, or (empty) of all, deleted ones too.
        """
        request = self._request(
            snapshot_pb2.ListSnapshotsRequest,
            collection=collection,
            page_size=page_size,
            page_token=page_token,
        )
        return self._run(request, models.SnapshotPage, timeout_s)

    def delete_snapshot(
        self, snapshot_id: str, *, operation_id: str = "", timeout_s: float | None = None
    ) -> models.SnapshotDeleted:
        """Deletes a snapshot for good."""
        request = self._request(
            snapshot_pb2.DeleteSnapshotRequest, snapshot_id=snapshot_id, operation_id=operation_id
        )
        return self._run(request, models.SnapshotDeleted, timeout_s)

    def restore_snapshot(
        self,
        snapshot_id: str,
        collection: str,
        *,
        confirmation_token: str = "",
        operation_id: str = "",
        timeout_s: float | None = None,
    ) -> models.SnapshotRestored:
        """Restores a snapshot as a collection, after a check of its file.

        Under a name that is free it is restored at once. For one that is taken nothing changes:
        the answer says what would be replaced, and has the token that confirms it. `undo` of the
        operation takes it back. The daemon goes on after `timeout_s`:
        `stats().snapshots.running` says how far it is, and the same call with the same
        `operation_id` gives the answer.

        Parameters
        ----------
        collection : str
            The name. It must be given.
        confirmation_token : str
            From the answer to the same call without it.

        Raises
        ------
        StaleRevision
            NOT_CONFIRMED: the collection changed since the token was given.
        DataLoss
            The snapshot's file is damaged.
        """
        request = self._request(
            snapshot_pb2.RestoreSnapshotRequest,
            snapshot_id=snapshot_id,
            collection=collection,
            confirmation_token=confirmation_token,
            operation_id=operation_id,
        )
        return self._run(request, models.SnapshotRestored, timeout_s)
