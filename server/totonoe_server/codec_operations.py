"""Operations, versions and what is taken back: records -> wire."""

from __future__ import annotations

from totonoe.v1 import operations_pb2
from totonoe_core.commands import OperationInfo
from totonoe_server.codec import time_to_wire


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
