"""Changes for watchers: records -> wire, in messages of bounded size."""

from __future__ import annotations

from collections.abc import Iterator

from totonoe.v1 import operations_pb2
from totonoe_core import queries
from totonoe_server.codec import EnumTable
from totonoe_server.codec_memory import link_to_wire, memory_to_wire
from totonoe_server.codec_operations import operation_to_wire

PART_BYTES_GOAL = 1024 * 1024
"""Of one message: a memory stays below it, so that none comes near the limit of gRPC."""

CHANGE_TYPES = EnumTable(operations_pb2.ChangeType, queries.ChangeType, "CHANGE_TYPE_")


def changes_to_wire(
    change: queries.Change, after_revision: int, bytes_goal: int = PART_BYTES_GOAL
) -> Iterator[operations_pb2.WatchResponse]:
    """The messages of one change: one, or several if it is large.

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
    for one in _pieces(change):
        if nbytes > begun and nbytes + one.ByteSize() > bytes_goal:
            yield operations_pb2.WatchResponse(revision=after_revision, change=part)
            part, nbytes = operations_pb2.Change(operation=operation), begun
        if isinstance(one, operations_pb2.MemoryChange):
            part.memories.append(one)
        else:
            part.links.append(one)
        nbytes += one.ByteSize()
    yield operations_pb2.WatchResponse(revision=revision, change=part)


def _pieces(
    change: queries.Change,
) -> Iterator[operations_pb2.MemoryChange | operations_pb2.LinkChange]:
    for memory in change.memories:
        yield operations_pb2.MemoryChange(
            type=CHANGE_TYPES.to_wire(memory.type),
            memory_id=memory.memory_id,
            memory=None if memory.memory is None else memory_to_wire(memory.memory),
        )
    for link in change.links:
        yield operations_pb2.LinkChange(
            source_id=link.source_id, link=link_to_wire(link.link), removed=link.removed
        )
