"""Snapshots on the wire."""

from __future__ import annotations

from collections.abc import Sequence

from totonoe.v1 import admin_service_pb2, snapshot_pb2
from totonoe_core.commands import Applied, Purged
from totonoe_core.snapshots import (
    ListedSnapshot,
    Restored,
    Snapshot,
    SnapshotCreated,
    SnapshotDeleted,
    SnapshotHolding,
    SnapshotPage,
    SnapshotStats,
    SnapshotUse,
)
from totonoe_server.codec import EnumTable, time_to_wire
from totonoe_server.codec_operations import purge_preview_to_wire, purged_to_wire
from totonoe_server.codec_policy import collection_to_wire, model_to_wire

USES = EnumTable(snapshot_pb2.SnapshotUse, SnapshotUse, "SNAPSHOT_USE_")


def snapshot_to_wire(value: Snapshot, collection_now: str = "") -> snapshot_pb2.Snapshot:
    """One snapshot."""
    return snapshot_pb2.Snapshot(
        id=value.id,
        collection=value.collection,
        collection_uid=value.collection_uid,
        current_collection=collection_now,
        name=value.name,
        comment=value.comment,
        created_time=time_to_wire(value.created_us),
        revision=value.revision,
        active_count=value.active_count,
        total_count=value.total_count,
        file_bytes=value.file_bytes,
        sha256=value.sha256,
        model=model_to_wire(value.model),
        scheduled=value.scheduled,
        rewrite_count=value.rewrite_count,
        purged_count=value.purged_count,
    )


def created_to_wire(value: SnapshotCreated) -> snapshot_pb2.CreateSnapshotResponse:
    """Answer of CreateSnapshot."""
    return snapshot_pb2.CreateSnapshotResponse(
        snapshot=snapshot_to_wire(value.snapshot, value.snapshot.collection),
        replayed=value.replayed,
        operation_id=value.operation_id,
    )


def listed_to_wire(value: SnapshotPage) -> snapshot_pb2.ListSnapshotsResponse:
    """One page of snapshots."""
    return snapshot_pb2.ListSnapshotsResponse(
        snapshots=[_listed(one) for one in value.snapshots], next_page_token=value.next_page_token
    )


def _listed(one: ListedSnapshot) -> snapshot_pb2.Snapshot:
    return snapshot_to_wire(one.snapshot, one.collection_now)


def deleted_to_wire(value: SnapshotDeleted) -> snapshot_pb2.DeleteSnapshotResponse:
    """Answer of DeleteSnapshot."""
    return snapshot_pb2.DeleteSnapshotResponse(
        snapshot=snapshot_to_wire(value.snapshot),
        replayed=value.replayed,
        operation_id=value.operation_id,
    )


def restored_snapshot_to_wire(value: Restored) -> snapshot_pb2.RestoreSnapshotResponse:
    """Answer of RestoreSnapshot."""
    answer = snapshot_pb2.RestoreSnapshotResponse(
        snapshot=snapshot_to_wire(value.snapshot),
        restored=value.restored,
        confirmation_token=value.confirmation_token,
        purged_again_count=value.purged_again_count,
        replayed=value.replayed,
        operation_id=value.operation_id,
    )
    if value.collection is not None:
        answer.collection.CopyFrom(collection_to_wire(value.collection))
        answer.revision = value.collection.revision
    if value.confirmation_token or value.replaced_uid:
        answer.replaced.revision = value.replaced_revision
        answer.replaced.active_count = value.replaced_active_count
    return answer


def use_from_wire(request: admin_service_pb2.PurgeRequest) -> SnapshotUse:
    """What a Purge does about snapshots."""
    return USES.from_wire(request.snapshots, "snapshots", unset=SnapshotUse.LIST)


def purged_with_snapshots_to_wire(
    done: Applied | tuple[int, Purged], holding: Sequence[SnapshotHolding]
) -> admin_service_pb2.PurgeResponse:
    """Answer of a Purge, or of its dry run."""
    if isinstance(done, Applied):
        answer = purged_to_wire(done)
    else:
        revision, result = done
        answer = purge_preview_to_wire(result, revision)
    answer.snapshots.extend(
        snapshot_pb2.HoldingSnapshot(
            snapshot=snapshot_to_wire(one.snapshot),
            memory_count=one.memory_count,
            rewritten=one.rewritten,
            deleted=one.deleted,
        )
        for one in holding
    )
    return answer


def snapshot_stats_to_wire(value: SnapshotStats) -> snapshot_pb2.SnapshotStats:
    """Figures of snapshots."""
    return snapshot_pb2.SnapshotStats(
        count=value.count,
        file_bytes=value.file_bytes,
        newest_time=time_to_wire(value.newest_us or None),
        scheduled_count=value.scheduled_count,
        failed_count=value.failed_count,
    )
