"""Changes: wire to models."""

from __future__ import annotations

from totonoe import watch_models as models
from totonoe.convert import decode_link, decode_memory
from totonoe.convert_history import decode_operation
from totonoe.enums import ChangeType
from totonoe.scalars import EnumCodec
from totonoe.v1 import operations_pb2

CHANGE_TYPE = EnumCodec(ChangeType, operations_pb2.ChangeType, "CHANGE_TYPE_")


def decode_event(message: operations_pb2.WatchResponse) -> models.WatchEvent:
    """One message of a Watch."""
    change = _decode_change(message.change) if message.HasField("change") else None
    return models.WatchEvent(message.revision, change)


def _decode_change(message: operations_pb2.Change) -> models.Change:
    return models.Change(
        operation=decode_operation(message.operation),
        memories=tuple(
            models.MemoryChange(
                type=CHANGE_TYPE.decode(one.type),
                memory_id=one.memory_id,
                memory=decode_memory(one.memory) if one.HasField("memory") else None,
            )
            for one in message.memories
        ),
        links=tuple(
            models.LinkChange(one.source_id, decode_link(one.link), one.removed)
            for one in message.links
        ),
    )
