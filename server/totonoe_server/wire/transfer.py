"""Export and Import: queries, pieces of files and messages of their streams."""

from __future__ import annotations

from totonoe.v1 import transfer_pb2 as pb
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.transfer import (
    ExportChunk,
    ExportQuery,
    Header,
    ImportItem,
    ImportProgress,
    ImportQuery,
)
from totonoe_server import status
from totonoe_server.wire.mapping import decoder, encoder
from totonoe_server.wire.scalars import STATUSES, time_to_wire

export_from_wire = decoder(
    pb.ExportRequest,
    ExportQuery,
    computed={
        # Repeats are folded.
        "statuses": lambda request, _: tuple(
            dict.fromkeys(STATUSES.list_from_wire(request.statuses, "statuses"))
        )
    },
)
chunk_to_wire = encoder(ExportChunk, pb.ExportResponse)
import_from_wire = decoder(pb.ImportStart, ImportQuery)
header_to_wire = encoder(
    Header,
    pb.ImportHeader,
    names={"model": "model_key"},
    computed={"time": lambda value: time_to_wire(value.time_us or None)},
)
item_to_wire = encoder(
    ImportItem,
    pb.ImportItem,
    computed={"error": lambda value: value.error and status.item_error_of(value.error)},
)
told_to_wire = encoder(ImportProgress, pb.ImportResponse, names={"record_counts": "counts"})


def start_from_wire(request: pb.ImportRequest) -> pb.ImportStart:
    """Return the first message. Raises `InvalidArgument` (MISSING_FIELD)."""
    if request.WhichOneof("part") != "start":
        raise InvalidArgument(
            "MISSING_FIELD", field="start", got="data", allowed="the start, in the first message"
        )
    return request.start


def piece_from_wire(request: pb.ImportRequest) -> tuple[bytes, bool]:
    """Return a piece of the file, and whether it is the last. Raises `InvalidArgument`."""
    if request.WhichOneof("part") != "data" and not request.last:
        raise InvalidArgument(
            "MISSING_FIELD", field="data", got="nothing", allowed="a piece of the file"
        )
    return request.data, request.last
