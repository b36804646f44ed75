"""Expire: forgets what has expired, as Forget does. Sent by the daemon alone.

It is an operation like others, which Undo takes back: then the memories stay, without expiry. It is
no clean-up by rule, so that the blast radius does not count it, and it purges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from totonoe_core.base import limits
from totonoe_core.domain.expiry import Expire, Expired
from totonoe_core.domain.records import Status
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.engine.state.state import CollectionState


def due(state: CollectionState, now_us: int) -> Iterator[Expire]:
    """Yield the commands that forget what has expired by a time. Writer only."""
    slots = state.index.due(now_us)
    if not slots:
        return
    view = state.index.arrays.writer_view()
    rows = [int(view.value("row", slot)) for slot in slots]
    for begin in range(0, len(rows), limits.EXPIRED_PER_OPERATION_MAX):
        memories = state.file.rows.memories(rows[begin : begin + limits.EXPIRED_PER_OPERATION_MAX])
        if memories:
            yield Expire("", tuple(memory.id for memory in memories.values()))


def expire(ledger: Ledger, operation: Operation, command: Expire) -> Expired:
    """Forget memories and delete their links, those that have still expired by the operation."""
    gone = []
    for memory_id in command.ids:
        slot = ledger.index.slot_by_id.get(memory_id)
        if slot is None:
            continue
        before = ledger.by_slot(slot)
        if ledger.state.has_expired(before, operation.now_us):
            ledger.delete_links(operation, before)
            ledger.replace(operation, before, replace(before, status=Status.FORGOTTEN))
            gone.append(memory_id)
    return Expired(tuple(gone))
