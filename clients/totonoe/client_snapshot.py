"""Calls of the blocking client about snapshots."""

from __future__ import annotations

from totonoe import snapshot_models
from totonoe.calls import Calls


class SnapshotCalls(Calls):
    """What a blocking client asks about snapshots."""

    def create_snapshot(
        self,
        *,
        name: str = "",
        comment: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> snapshot_models.SnapshotCreated:
        """Keeps a copy of a collection, of one revision, while others write.

        It takes a second for some 100 MB; say a `timeout_s` that is long enough.

        Parameters
        ----------
        name : str
            1 to 64 of a-z, 0-9, `_`, `.`, `-`; once in its collection. Empty: none.
        comment : str
            At most 1,024 bytes.
        """
        prepared = self._requests.create_snapshot(name, comment, operation_id, collection)
        return self._run(prepared, timeout_s)

    def list_snapshots(
        self,
        collection: str = "",
        *,
        page_size: int = 100,
        page_token: str = "",
        timeout_s: float | None = None,
    ) -> snapshot_models.SnapshotPage:
        """One page of snapshots, newest first; `page_size` 1 to 1,000.

        Of the collection that has a name now, or (empty) of all, deleted ones too.
        """
        prepared = self._requests.list_snapshots(collection, page_size, page_token)
        return self._run(prepared, timeout_s)

    def delete_snapshot(
        self, snapshot_id: str, *, operation_id: str = "", timeout_s: float | None = None
    ) -> snapshot_models.SnapshotDeleted:
        """Deletes a snapshot for good."""
        return self._run(self._requests.delete_snapshot(snapshot_id, operation_id), timeout_s)

    def restore_snapshot(
        self,
        snapshot_id: str,
        collection: str,
        *,
        confirmation_token: str = "",
        operation_id: str = "",
        timeout_s: float | None = None,
    ) -> snapshot_models.SnapshotRestored:
        """Makes a collection of a snapshot, whose file is looked through first.

        Under a name that is free it is restored at once. For one that is taken nothing changes:
        the answer says what would be replaced, and has the token that confirms it. `undo` of the
        operation takes it back.

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
        prepared = self._requests.restore_snapshot(
            snapshot_id, collection, confirmation_token, operation_id
        )
        return self._run(prepared, timeout_s)
