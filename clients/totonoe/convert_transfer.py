"""Imports: wire to models."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe import status
from totonoe import transfer_models as models
from totonoe.convert import STATUS
from totonoe.scalars import decode_time
from totonoe.v1 import transfer_pb2 as pb


def decode_imported(
    message: pb.ImportResponse, before: Iterable[models.ImportItem] = ()
) -> models.Imported:
    """How far an import is, with what was told before."""
    return models.Imported(
        revision=message.revision,
        operation_id=message.operation_id,
        done=message.done,
        header=_decode_header(message.header) if message.HasField("header") else None,
        line_count=message.line_count,
        record_counts=dict(message.record_counts),
        saved_count=message.saved_count,
        refused_counts=dict(message.refused_counts),
        existing_count=message.existing_count,
        left_out_count=message.left_out_count,
        failed_count=message.failed_count,
        replayed_count=message.replayed_count,
        operation_count=message.operation_count,
        vectors_used=message.vectors_used,
        items=(*before, *map(_decode_item, message.items)),
    )


def _decode_header(message: pb.ImportHeader) -> models.ImportHeader:
    return models.ImportHeader(
        collection=message.collection,
        agent_id=message.agent_id,
        revision=message.revision,
        time=decode_time(message.time) if message.HasField("time") else None,
        model=message.model,
        vectors=message.vectors,
        statuses=tuple(map(STATUS.decode, message.statuses)),
    )


def _decode_item(message: pb.ImportItem) -> models.ImportItem:
    return models.ImportItem(
        line=message.line,
        memory_id=message.memory_id,
        duplicate_of=message.duplicate_of,
        method=message.method,
        similarity=message.similarity,
        error=status.from_item(message.error) if message.HasField("error") else None,
    )
