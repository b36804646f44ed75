"""Operations, versions and what is taken back: wire <-> records."""

from __future__ import annotations

from totonoe.v1 import admin_service_pb2, operations_pb2
from totonoe_core import limits
from totonoe_core.commands import Applied, CollectionInfo, Purge, Purged, Undo, Undone
from totonoe_core.queries import HistoryPage, OperationFilter, OperationPage, Version
from totonoe_core.undo import OperationInfo, UndoConflict
from totonoe_server.codec import CONFLICTS, range_from_wire, time_to_wire
from totonoe_server.codec_answers import duplicate_to_wire
from totonoe_server.codec_memory import field_to_wire, link_to_wire, memory_to_wire
from totonoe_server.codec_policy import collection_to_wire

CONFLICTS_SHOWN_MAX = 1000
"""Of an answer that would be too long to be sent; all of them otherwise."""
_IDS_BYTES = 1024
"""Room for what the answer of an Undo has and that of its dry run has not."""


def operation_to_wire(value: OperationInfo) -> operations_pb2.Operation:
    """One committed operation."""
    return operations_pb2.Operation(
        revision=value.revision,
        operation_id=value.operation_id,
        agent_id=value.agent_id,
        kind=value.kind,
        reason=value.reason,
        time=time_to_wire(value.time_us),
        memory_ids=value.memory_ids,
        episode_ids=value.episode_ids,
        link_count=value.link_count,
        settings=value.settings,
        undoes=value.undoes,
        undone_by=value.undone_by,
    )


def undo_from_wire(request: operations_pb2.UndoRequest) -> Undo:
    """The command of an Undo."""
    return Undo(
        agent_id=request.agent_id,
        revision=request.target_revision,
        operation_id=request.target_operation_id,
        reason=request.reason,
        force=request.force,
        partial=request.partial,
    )


def undone_to_wire(applied: Applied) -> operations_pb2.UndoResponse:
    """Answer of an Undo."""
    (result,) = applied.results
    assert isinstance(result, Undone)
    answer = undo_preview_to_wire(result, applied.revision)
    answer.dry_run = False
    answer.replayed = applied.replayed
    answer.operation_id = applied.operation_id
    return answer


def undo_preview_to_wire(result: Undone, revision: int) -> operations_pb2.UndoResponse:
    """Answer of a dry run of Undo.

    What was done can be taken back, however long the answer: one that could not be sent
    leaves out the memories, which `operation` names, and all but CONFLICTS_SHOWN_MAX conflicts.
    """
    answer = operations_pb2.UndoResponse(
        revision=revision,
        undone=result.undone,
        operation=operation_to_wire(result.operation),
        memories=[memory_to_wire(memory) for memory in result.memories],
        episode_ids=result.episode_ids,
        link_count=result.link_count,
        collection=collection_to_wire(result.collection) if result.collection else None,
        conflicts=[conflict_to_wire(conflict) for conflict in result.conflicts],
        dry_run=True,
    )
    if answer.ByteSize() > limits.MESSAGE_BYTES_MAX - _IDS_BYTES:
        answer.ClearField("memories")
        del answer.conflicts[CONFLICTS_SHOWN_MAX:]
    return answer


def conflict_to_wire(value: UndoConflict) -> operations_pb2.UndoConflict:
    """One thing that keeps an operation from being taken back as a whole."""
    return operations_pb2.UndoConflict(
        kind=CONFLICTS.to_wire(value.kind),
        memory_id=value.memory_id,
        episode_id=value.episode_id,
        revision=value.revision,
        duplicate=duplicate_to_wire(value.duplicate),
        settings=value.settings,
        target_id=value.target_id,
    )


def restored_to_wire(
    info: CollectionInfo, operation_id: str, replayed: bool
) -> operations_pb2.UndoResponse:
    """Answer of an Undo that brought a deleted collection back."""
    return operations_pb2.UndoResponse(
        revision=info.revision,
        undone=True,
        collection=collection_to_wire(info),
        replayed=replayed,
        operation_id=operation_id,
    )


def history_to_wire(value: HistoryPage) -> operations_pb2.HistoryResponse:
    """One page of the versions of a memory."""
    return operations_pb2.HistoryResponse(
        revision=value.revision,
        versions=[version_to_wire(version) for version in value.versions],
        next_page_token=value.next_page_token,
    )


def version_to_wire(value: Version) -> operations_pb2.Version:
    """What a memory was from one operation on."""
    return operations_pb2.Version(
        operation=operation_to_wire(value.operation),
        memory=memory_to_wire(value.memory) if value.memory else None,
        changed=[field_to_wire(name) for name in value.changed],
        linked=[link_to_wire(link) for link in value.linked],
        unlinked=[link_to_wire(link) for link in value.unlinked],
    )


def operations_from_wire(request: operations_pb2.ListOperationsRequest) -> OperationFilter:
    """The conditions of a ListOperations."""
    return OperationFilter(
        agent_ids=tuple(request.agent_ids),
        kinds=tuple(request.kinds),
        time=range_from_wire(request, "time", "time"),
        memory_id=request.memory_id,
        reason_contains=request.reason_contains,
    )


def operations_to_wire(value: OperationPage) -> operations_pb2.ListOperationsResponse:
    """One page of operations."""
    return operations_pb2.ListOperationsResponse(
        revision=value.revision,
        operations=[operation_to_wire(operation) for operation in value.operations],
        next_page_token=value.next_page_token,
    )


def purge_from_wire(request: admin_service_pb2.PurgeRequest) -> Purge:
    """The command of a Purge."""
    return Purge(request.agent_id, tuple(request.ids), request.reason)


def purged_to_wire(applied: Applied) -> admin_service_pb2.PurgeResponse:
    """Answer of a Purge."""
    (result,) = applied.results
    assert isinstance(result, Purged)
    answer = purge_preview_to_wire(result, applied.revision)
    answer.dry_run = False
    answer.replayed = applied.replayed
    answer.operation_id = applied.operation_id
    return answer


def purge_preview_to_wire(result: Purged, revision: int) -> admin_service_pb2.PurgeResponse:
    """Answer of a dry run of Purge."""
    return admin_service_pb2.PurgeResponse(
        revision=revision,
        purged_ids=result.purged_ids,
        missing_ids=result.missing_ids,
        version_count=result.version_count,
        reply_count=result.reply_count,
        episode_count=result.episode_count,
        dry_run=True,
    )
