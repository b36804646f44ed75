"""Operations, versions and undos: wire to models."""

from __future__ import annotations

from totonoe import history_models as models
from totonoe import scalars
from totonoe.convert import decode_duplicate, decode_link, decode_memory
from totonoe.convert_admin import decode_collection
from totonoe.convert_snapshot import decode_holding
from totonoe.enums import UndoConflictKind
from totonoe.scalars import EnumCodec
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import operations_pb2

UNDO_CONFLICT_KIND = EnumCodec(
    UndoConflictKind, operations_pb2.UndoConflictKind, "UNDO_CONFLICT_KIND_"
)


def decode_operation(message: operations_pb2.Operation) -> models.Operation:
    """One committed operation."""
    return models.Operation(
        revision=message.revision,
        operation_id=message.operation_id,
        agent_id=message.agent_id,
        kind=message.kind,
        reason=message.reason,
        time=scalars.decode_time(message.time) if message.HasField("time") else None,
        memory_ids=tuple(message.memory_ids),
        episode_ids=tuple(message.episode_ids),
        link_count=message.link_count,
        settings=message.settings,
        undoes=message.undoes,
        undone_by=message.undone_by,
    )


def decode_operations(answer: operations_pb2.ListOperationsResponse) -> models.OperationPage:
    """Answer of ListOperations."""
    return models.OperationPage(
        revision=answer.revision,
        operations=tuple(decode_operation(one) for one in answer.operations),
        next_page_token=answer.next_page_token,
    )


def _decode_version(message: operations_pb2.Version) -> models.Version:
    return models.Version(
        operation=decode_operation(message.operation),
        memory=decode_memory(message.memory) if message.HasField("memory") else None,
        changed=tuple(message.changed),
        linked=tuple(decode_link(link) for link in message.linked),
        unlinked=tuple(decode_link(link) for link in message.unlinked),
    )


def decode_history(answer: operations_pb2.HistoryResponse) -> models.HistoryPage:
    """Answer of History."""
    return models.HistoryPage(
        revision=answer.revision,
        versions=tuple(_decode_version(one) for one in answer.versions),
        next_page_token=answer.next_page_token,
    )


def _decode_conflict(message: operations_pb2.UndoConflict) -> models.UndoConflict:
    return models.UndoConflict(
        kind=UNDO_CONFLICT_KIND.decode(message.kind),
        memory_id=message.memory_id,
        episode_id=message.episode_id,
        revision=message.revision,
        duplicate=decode_duplicate(message),
        settings=message.settings,
        target_id=message.target_id,
    )


def decode_undone(answer: operations_pb2.UndoResponse) -> models.Undone:
    """Answer of Undo."""
    came_back = answer.HasField("collection")
    return models.Undone(
        revision=answer.revision,
        undone=answer.undone,
        operation=decode_operation(answer.operation),
        memories=tuple(decode_memory(memory) for memory in answer.memories),
        episode_ids=tuple(answer.episode_ids),
        link_count=answer.link_count,
        collection=decode_collection(answer.collection) if came_back else None,
        conflicts=tuple(_decode_conflict(one) for one in answer.conflicts),
        dry_run=answer.dry_run,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_purged(answer: admin_pb.PurgeResponse) -> models.Purged:
    """Answer of Purge."""
    return models.Purged(
        revision=answer.revision,
        purged_ids=tuple(answer.purged_ids),
        missing_ids=tuple(answer.missing_ids),
        version_count=answer.version_count,
        reply_count=answer.reply_count,
        episode_count=answer.episode_count,
        dry_run=answer.dry_run,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
        snapshots=tuple(map(decode_holding, answer.snapshots)),
    )
