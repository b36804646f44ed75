"""Export and Import: wire to queries, and what is told to the wire."""

from __future__ import annotations

from totonoe.v1 import transfer_pb2 as pb
from totonoe_core.errors import InvalidArgument
from totonoe_core.transfer import (
    ExportChunk,
    ExportQuery,
    Header,
    ImportItem,
    ImportQuery,
    ImportTold,
)
from totonoe_server import status
from totonoe_server.codec import STATUSES, time_to_wire


def export_from_wire(request: pb.ExportRequest) -> ExportQuery:
    """What an Export is to hold."""
    return ExportQuery(
        agent_id=request.agent_id,
        include_vectors=request.include_vectors,
        statuses=tuple(dict.fromkeys(STATUSES.list_from_wire(request.statuses, "statuses"))),
    )


def chunk_to_wire(chunk: ExportChunk) -> pb.ExportResponse:
    """Some lines."""
    return pb.ExportResponse(
        revision=chunk.revision,
        data=chunk.data,
        record_count=chunk.record_count,
        memory_count=chunk.memory_count,
        damaged_count=chunk.damaged_count,
    )


def start_from_wire(request: pb.ImportRequest) -> pb.ImportStart:
    """The first message. Raises `InvalidArgument` (MISSING_FIELD)."""
    if request.WhichOneof("part") != "start":
        raise InvalidArgument(
            "MISSING_FIELD", field="start", got="data", allowed="the start, in the first message"
        )
    return request.start


def import_from_wire(start: pb.ImportStart) -> ImportQuery:
    """How the lines are to go in."""
    return ImportQuery(agent_id=start.agent_id, as_is=start.as_is, dry_run=start.dry_run)


def piece_from_wire(request: pb.ImportRequest) -> tuple[bytes, bool]:
    """A piece of the file, and whether it is the last. Raises `InvalidArgument`."""
    if request.WhichOneof("part") != "data" and not request.last:
        raise InvalidArgument(
            "MISSING_FIELD", field="data", got="nothing", allowed="a piece of the file"
        )
    return request.data, request.last


def told_to_wire(told: ImportTold) -> pb.ImportResponse:
    """How far an import is."""
    return pb.ImportResponse(
        revision=told.revision,
        operation_id=told.operation_id,
        done=told.done,
        header=None if told.header is None else _header_to_wire(told.header),
        line_count=told.line_count,
        record_counts=told.counts,
        saved_count=told.saved_count,
        refused_counts=told.refused_counts,
        existing_count=told.existing_count,
        left_out_count=told.left_out_count,
        failed_count=told.failed_count,
        replayed_count=told.replayed_count,
        operation_count=told.operation_count,
        vectors_used=told.vectors_used,
        items=map(_item_to_wire, told.items),
    )


def _header_to_wire(header: Header) -> pb.ImportHeader:
    return pb.ImportHeader(
        collection=header.collection,
        agent_id=header.agent_id,
        revision=header.revision,
        time=time_to_wire(header.time_us or None),
        model=header.model_key,
        vectors=header.vectors,
        statuses=[STATUSES.to_wire(one) for one in header.statuses],
    )


def _item_to_wire(item: ImportItem) -> pb.ImportItem:
    return pb.ImportItem(
        line=item.line,
        memory_id=item.memory_id,
        duplicate_of=item.duplicate_of,
        method=item.method,
        similarity=item.similarity,
        error=None if item.error is None else status.item_error_of(item.error),
    )
