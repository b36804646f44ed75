"""Undo, History, ListOperations and Purge."""

from __future__ import annotations

from totonoe.v1 import admin_service_pb2, operations_pb2
from totonoe_core.base import limits
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.memories import Purge, Purged
from totonoe_core.domain.queries import HistoryPage, OperationFilter, OperationPage, Version
from totonoe_core.domain.undo import OperationInfo, Undo, UndoConflict, Undone
from totonoe_server.wire.encoding import length_of
from totonoe_server.wire.mapping import HEADER, answer_or_preview, decoder, encoder
from totonoe_server.wire.memories import field_to_wire
from totonoe_server.wire.policy import collection_to_wire

CONFLICTS_SHOWN_MAX = 1000
"""Of an answer that would be too long to be sent; all of them otherwise."""
_IDS_BYTES = 1024
"""Room for what the answer of an Undo has and that of its dry run has not."""


operation_to_wire = encoder(OperationInfo, operations_pb2.Operation)
conflict_to_wire = encoder(UndoConflict, operations_pb2.UndoConflict)
undo_from_wire = decoder(
    operations_pb2.UndoRequest,
    Undo,
    names={"revision": "target_revision", "operation_id": "target_operation_id"},
    without=("dry_run",),
)
_undone_to_wire = encoder(
    Undone, operations_pb2.UndoResponse, given=("revision", "dry_run"), without=HEADER[1:]
)


def undone_to_wire(applied: Applied) -> operations_pb2.UndoResponse:
    """Return the answer of an Undo."""
    (result,) = applied.results
    assert isinstance(result, Undone)
    answer = undo_preview_to_wire(result, applied.revision)
    answer.dry_run = False
    answer.replayed = applied.replayed
    answer.operation_id = applied.operation_id
    return answer


def undo_preview_to_wire(result: Undone, revision: int) -> operations_pb2.UndoResponse:
    """Return the answer of a dry run of Undo.

    Every operation can be undone, however long the answer: an answer that could not be sent
    leaves out the memories, which `operation` names, and all but CONFLICTS_SHOWN_MAX conflicts.
    """
    answer = _undone_to_wire(result, revision=revision, dry_run=True)
    if length_of(answer) > limits.MESSAGE_BYTES_MAX - _IDS_BYTES:
        answer.ClearField("memories")
        del answer.conflicts[CONFLICTS_SHOWN_MAX:]
    return answer


def restored_to_wire(
    info: CollectionInfo, operation_id: str, replayed: bool
) -> operations_pb2.UndoResponse:
    """Return the answer of an Undo that brought a deleted collection back."""
    return operations_pb2.UndoResponse(
        revision=info.revision,
        undone=True,
        collection=collection_to_wire(info),
        replayed=replayed,
        operation_id=operation_id,
    )


version_to_wire = encoder(
    Version,
    operations_pb2.Version,
    computed={"changed": lambda value: [field_to_wire(name) for name in value.changed]},
)
history_to_wire = encoder(HistoryPage, operations_pb2.HistoryResponse)
operations_from_wire = decoder(
    operations_pb2.ListOperationsRequest,
    OperationFilter,
    without=("agent_id", "page_size", "page_token"),
)
operations_to_wire = encoder(OperationPage, operations_pb2.ListOperationsResponse)
purge_from_wire = decoder(admin_service_pb2.PurgeRequest, Purge, without=("dry_run", "snapshots"))
purged_to_wire = answer_or_preview(Purged, admin_service_pb2.PurgeResponse, without=("snapshots",))
