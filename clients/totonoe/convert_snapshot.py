"""Snapshots: wire to models."""

from __future__ import annotations

from totonoe import scalars
from totonoe import snapshot_models as models
from totonoe.convert_admin import decode_collection, decode_model
from totonoe.enums import SnapshotUse
from totonoe.scalars import EnumCodec
from totonoe.v1 import snapshot_pb2

SNAPSHOT_USE = EnumCodec(SnapshotUse, snapshot_pb2.SnapshotUse, "SNAPSHOT_USE_")


def decode_snapshot(message: snapshot_pb2.Snapshot) -> models.Snapshot:
    """One snapshot."""
    return models.Snapshot(
        id=message.id,
        collection=message.collection,
        collection_uid=message.collection_uid,
        current_collection=message.current_collection,
        name=message.name,
        comment=message.comment,
        created_time=scalars.decode_time(message.created_time),
        revision=message.revision,
        active_count=message.active_count,
        total_count=message.total_count,
        file_bytes=message.file_bytes,
        sha256=message.sha256,
        model=decode_model(message.model),
        scheduled=message.scheduled,
        rewrite_count=message.rewrite_count,
        purged_count=message.purged_count,
    )


def decode_created(answer: snapshot_pb2.CreateSnapshotResponse) -> models.SnapshotCreated:
    """Answer of CreateSnapshot."""
    return models.SnapshotCreated(
        snapshot=decode_snapshot(answer.snapshot),
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_listed(answer: snapshot_pb2.ListSnapshotsResponse) -> models.SnapshotPage:
    """Answer of ListSnapshots."""
    return models.SnapshotPage(
        snapshots=tuple(map(decode_snapshot, answer.snapshots)),
        next_page_token=answer.next_page_token,
    )


def decode_deleted(answer: snapshot_pb2.DeleteSnapshotResponse) -> models.SnapshotDeleted:
    """Answer of DeleteSnapshot."""
    return models.SnapshotDeleted(
        snapshot=decode_snapshot(answer.snapshot),
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_restored(answer: snapshot_pb2.RestoreSnapshotResponse) -> models.SnapshotRestored:
    """Answer of RestoreSnapshot."""
    replaced = models.ReplacedCollection(answer.replaced.revision, answer.replaced.active_count)
    return models.SnapshotRestored(
        snapshot=decode_snapshot(answer.snapshot),
        restored=answer.restored,
        collection=(
            decode_collection(answer.collection) if answer.HasField("collection") else None
        ),
        replaced=replaced if answer.HasField("replaced") else None,
        confirmation_token=answer.confirmation_token,
        purged_again_count=answer.purged_again_count,
        revision=answer.revision,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_holding(message: snapshot_pb2.HoldingSnapshot) -> models.HoldingSnapshot:
    """A snapshot that a Purge found."""
    return models.HoldingSnapshot(
        snapshot=decode_snapshot(message.snapshot),
        memory_count=message.memory_count,
        rewritten=message.rewritten,
        deleted=message.deleted,
    )
