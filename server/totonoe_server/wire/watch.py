"""Watch: changes in messages of bounded size."""

from __future__ import annotations

from collections.abc import Iterator

from totonoe.v1 import operations_pb2
from totonoe_core.domain import queries
from totonoe_server.wire.history import operation_to_wire
from totonoe_server.wire.mapping import encoder

PART_BYTES_GOAL = 1024 * 1024
"""Of one message: a memory stays below it, so that none comes near the limit of gRPC."""

memory_change_to_wire = encoder(queries.MemoryChange, operations_pb2.MemoryChange)
link_change_to_wire = encoder(queries.LinkChange, operations_pb2.LinkChange)


def changes_to_wire(
    change: queries.Change, after_revision: int, bytes_goal: int = PART_BYTES_GOAL
) -> Iterator[operations_pb2.WatchResponse]:
    """Yield the messages of one change: one, or several if the change is large.

    Parameters
    ----------
    after_revision : int
        What all but the last message count as sent.
    bytes_goal : int
        A message that reaches it ends with the memory or link that did.
    """
    revision = change.operation.revision
    operation = operation_to_wire(change.operation)
    part = operations_pb2.Change(operation=operation)
    begun = nbytes = part.ByteSize()
    for piece in _pieces(change):
        if nbytes > begun and nbytes + piece.ByteSize() > bytes_goal:
            yield operations_pb2.WatchResponse(revision=after_revision, change=part)
            part, nbytes = operations_pb2.Change(operation=operation), begun
        if isinstance(piece, operations_pb2.MemoryChange):
            part.memories.append(piece)
        else:
            part.links.append(piece)
        nbytes += piece.ByteSize()
    yield operations_pb2.WatchResponse(revision=revision, change=part)


def _pieces(
    change: queries.Change,
) -> Iterator[operations_pb2.MemoryChange | operations_pb2.LinkChange]:
    yield from map(memory_change_to_wire, change.memories)
    yield from map(link_change_to_wire, change.links)
