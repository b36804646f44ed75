"""Calls of the embedded engine about snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from totonoe_core.base import ids, limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.base.fair_pool import ReadPool
from totonoe_core.domain.collections import Sees, sees_all
from totonoe_core.domain.snapshots import (
    Restored,
    Snapshot,
    SnapshotCreated,
    SnapshotDeleted,
    SnapshotHolding,
    SnapshotPage,
    SnapshotUse,
)
from totonoe_core.engine.catalog.snapshots import Snapshots
from totonoe_core.engine.state import paging, reading
from totonoe_core.engine.state.futures import submit
from totonoe_core.rules import validate


class SnapshotCalls:
    """Part of `EmbeddedEngine`: the calls of `Engine` about snapshots."""

    _searchers: ReadPool
    snapshots: Snapshots

    def create_snapshot(
        self, collection: str, operation_id: str, *, agent_id: str, name: str, comment: str
    ) -> Future[SnapshotCreated]:
        """See `Engine.create_snapshot`."""
        validate.collection_name(collection)
        validate.operation_id(operation_id)
        _check_name(name)
        validate.optional_text(comment, "comment", limits.SNAPSHOT_COMMENT_BYTES_MAX)
        return self.snapshots.create(
            collection, operation_id, agent_id=agent_id, name=name, comment=comment
        )

    def list_snapshots(
        self, collection: str, page_size: int, page_token: str, sees: Sees = sees_all
    ) -> Future[SnapshotPage]:
        """See `Engine.list_snapshots`."""
        if collection:
            validate.collection_name(collection)
        reading.check_page(page_size)
        given = paging.position(page_token, (int, str), "snapshots", collection)

        def work() -> SnapshotPage:
            every = [
                snapshot
                for snapshot in self.snapshots.list(collection)
                if sees(snapshot.snapshot.collection)
            ]
            if given is not None:
                every = [
                    snapshot
                    for snapshot in every
                    if _place(snapshot.snapshot) > (-int(given[0]), given[1])
                ]
            shown, token = every[:page_size], ""
            if len(every) > page_size:
                last = shown[-1].snapshot
                token = paging.token((last.created_us, last.id), "snapshots", collection)
            return SnapshotPage(tuple(shown), token)

        return submit(self._searchers, work)

    def delete_snapshot(
        self, snapshot_id: str, operation_id: str, *, agent_id: str
    ) -> Future[SnapshotDeleted]:
        """See `Engine.delete_snapshot`."""
        _check_id(snapshot_id)
        validate.operation_id(operation_id)
        return self.snapshots.delete(snapshot_id, operation_id, agent_id=agent_id)

    def restore_snapshot(
        self,
        snapshot_id: str,
        collection: str,
        operation_id: str,
        *,
        agent_id: str,
        confirmation_token: str,
    ) -> Future[Restored]:
        """See `Engine.restore_snapshot`."""
        _check_id(snapshot_id)
        validate.collection_name(collection)
        validate.operation_id(operation_id)
        validate.optional_text(
            confirmation_token, "confirmation_token", limits.OPERATION_ID_BYTES_MAX
        )
        return self.snapshots.restore(
            snapshot_id,
            collection,
            operation_id,
            agent_id=agent_id,
            confirmation_token=confirmation_token,
        )

    def purge_snapshots(
        self,
        collection: str,
        agent_id: str,
        memory_ids: Sequence[str],
        use: SnapshotUse,
        *,
        dry_run: bool,
        sees: Sees = sees_all,
    ) -> Future[tuple[SnapshotHolding, ...]]:
        """See `Engine.purge_snapshots`."""
        validate.collection_name(collection)
        validate.count(len(memory_ids), "ids", limits.IDS_PER_REQUEST_MAX)
        return self.snapshots.about_purge(
            collection, agent_id, memory_ids, use, dry_run=dry_run, sees=sees
        )


def _place(snapshot: Snapshot) -> tuple[int, str]:
    """Return a snapshot's place in a list: the newest first."""
    return -snapshot.created_us, snapshot.id


def _check_name(value: str) -> None:
    """Raise `InvalidArgument` for a value that is neither empty nor a name."""
    if value and not ids.COLLECTION_NAME.match(value):
        raise InvalidArgument(
            "BAD_NAME",
            field="name",
            got=repr(value[:80]),
            allowed="empty, or 1 to 64 of a-z 0-9 _ . -, beginning with a letter or digit",
        )


def _check_id(value: str) -> None:
    """Raise `InvalidArgument` for a value that cannot be the id of a snapshot or a file's name."""
    if not ids.SNAPSHOT_ID.match(value):
        raise InvalidArgument(
            "BAD_NAME",
            field="snapshot_id",
            got=repr(value[:80]),
            allowed="`snap_` and 16 hex digits",
        )
