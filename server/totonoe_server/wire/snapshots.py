"""The calls on snapshots, and the part of a Purge that looks into them."""

from __future__ import annotations

from collections.abc import Sequence

from totonoe.v1 import admin_service_pb2, snapshot_pb2
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.memories import Purged
from totonoe_core.domain.snapshots import (
    ListedSnapshot,
    Restored,
    Snapshot,
    SnapshotCreated,
    SnapshotDeleted,
    SnapshotHolding,
    SnapshotJob,
    SnapshotPage,
    SnapshotStats,
    SnapshotUse,
)
from totonoe_server.wire.history import purged_to_wire
from totonoe_server.wire.mapping import encoder, encodes
from totonoe_server.wire.scalars import EnumTable, time_to_wire

USES = EnumTable(snapshot_pb2.SnapshotUse.DESCRIPTOR, SnapshotUse)

snapshot_to_wire = encoder(Snapshot, snapshot_pb2.Snapshot, without=("current_collection",))


@encodes(ListedSnapshot, snapshot_pb2.Snapshot)
def listed_snapshot_to_wire(value: ListedSnapshot) -> snapshot_pb2.Snapshot:
    """Return a snapshot with the name that its collection has now."""
    message = snapshot_to_wire(value.snapshot)
    message.current_collection = value.collection_now
    return message


def _created(value: SnapshotCreated) -> snapshot_pb2.Snapshot:
    return listed_snapshot_to_wire(ListedSnapshot(value.snapshot, value.snapshot.collection))


created_to_wire = encoder(
    SnapshotCreated, snapshot_pb2.CreateSnapshotResponse, computed={"snapshot": _created}
)
listed_to_wire = encoder(SnapshotPage, snapshot_pb2.ListSnapshotsResponse)
deleted_to_wire = encoder(SnapshotDeleted, snapshot_pb2.DeleteSnapshotResponse)
holding_to_wire = encoder(SnapshotHolding, snapshot_pb2.HoldingSnapshot)
restored_to_wire = encoder(
    Restored,
    snapshot_pb2.RestoreSnapshotResponse,
    names={"revision": "collection.revision"},
    computed={"replaced": lambda value: _replaced(value)},
)
_job_to_wire = encoder(
    SnapshotJob,
    snapshot_pb2.SnapshotJob,
    computed={"begun_time": lambda value: time_to_wire(value.begun_us)},
)
snapshot_stats_to_wire = encoder(
    SnapshotStats,
    snapshot_pb2.SnapshotStats,
    computed={
        "newest_time": lambda value: time_to_wire(value.newest_us or None),
        "running": lambda value: None if value.running is None else _job_to_wire(value.running),
    },
)


def _replaced(value: Restored) -> snapshot_pb2.ReplacedCollection | None:
    """Return the collection that gives way to the snapshot, if there is one."""
    if not (value.confirmation_token or value.replaced_uid):
        return None
    return snapshot_pb2.ReplacedCollection(
        revision=value.replaced_revision, active_count=value.replaced_active_count
    )


def use_from_wire(request: admin_service_pb2.PurgeRequest) -> SnapshotUse:
    """Return what a Purge does about snapshots."""
    return USES.from_wire(request.snapshots, "snapshots", unset=SnapshotUse.LIST)


def purged_with_snapshots_to_wire(
    done: Applied | tuple[int, Purged], holding: Sequence[SnapshotHolding]
) -> admin_service_pb2.PurgeResponse:
    """Return the answer of a Purge, or of its dry run."""
    if isinstance(done, Applied):
        (result,) = done.results
        assert isinstance(result, Purged)
        answer = purged_to_wire(result, done.revision, done)
    else:
        revision, result = done
        answer = purged_to_wire(result, revision, None)
    answer.snapshots.extend(map(holding_to_wire, holding))
    return answer
