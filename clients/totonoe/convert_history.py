"""Operations, versions and changes: wire to models."""

from __future__ import annotations

from totonoe import history_models, scalars
from totonoe.v1 import operations_pb2


def decode_operation(message: operations_pb2.Operation) -> history_models.Operation:
    """One committed operation."""
    return history_models.Operation(
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
