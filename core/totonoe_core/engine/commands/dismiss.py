"""Dismiss and Undismiss: pairs that a caller has read and declared to be no duplicates.

Such a pair is not proposed again until one of the two texts changes. A dismissal by one agent holds
for all who see both.
"""

from __future__ import annotations

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, over_limit
from totonoe_core.domain.dismissals import Dismiss, Dismissed, Undismiss, Undismissed
from totonoe_core.domain.records import Dismissal, Memory
from totonoe_core.engine.state.ledger import Ledger, Operation


def dismiss(ledger: Ledger, operation: Operation, command: Dismiss) -> Dismissed:
    """Record that two live memories are no duplicates; once is enough.

    Raises `NotFound`, `Precondition` (NOT_ACTIVE), `InvalidArgument` (SELF_LINK, or LIMIT_EXCEEDED
    for a memory in too many pairs).
    """
    one = ledger.live(command.id_a, command.agent_id)
    other = ledger.live(command.id_b, command.agent_id)
    changed = put_dismissal(ledger, operation, one, other, command.agent_id, command.reason)
    return Dismissed(changed, (one.id, other.id))


def put_dismissal(
    ledger: Ledger,
    operation: Operation,
    one: Memory,
    other: Memory,
    agent_id: str,
    note: str,
    fields: tuple[str, str] = ("id_a", "id_b"),
) -> bool:
    """Dismiss a pair; return false if it was dismissed before.

    Raises `InvalidArgument` (SELF_LINK, LIMIT_EXCEEDED), which names one of `fields`.
    """
    a, b = _pair(one, other)
    dismissal = ledger.rows.dismissal(a.row, b.row)
    if dismissal is None:
        _check_room(ledger, fields[0], one)
        _check_room(ledger, fields[1], other)
    elif (dismissal.hash_a, dismissal.hash_b) == (a.content_hash, b.content_hash):
        return False
    made = Dismissal(
        a=a.row,
        b=b.row,
        hash_a=a.content_hash,
        hash_b=b.content_hash,
        agent_id=agent_id,
        note=note,
        revision=operation.revision,
    )
    ledger.put_dismissal(operation, made)
    return True


def undismiss(ledger: Ledger, operation: Operation, command: Undismiss) -> Undismissed:
    """Remove the dismissal of a pair, by any agent. Raises `NotFound`, `InvalidArgument`."""
    one = ledger.visible(command.id_a, command.agent_id)
    other = ledger.visible(command.id_b, command.agent_id)
    a, b = _pair(one, other)
    dismissal = ledger.rows.dismissal(a.row, b.row)
    if dismissal is not None:
        ledger.delete_dismissal(operation, dismissal)
    return Undismissed(dismissal is not None, (one.id, other.id))


def _pair(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    """Return the two in the order of their rows."""
    if one.row == other.row:
        raise InvalidArgument("SELF_LINK", field="id_b", got=other.id, allowed="another memory")
    return (one, other) if one.row < other.row else (other, one)


def _check_room(ledger: Ledger, field: str, memory: Memory) -> None:
    count = ledger.rows.dismissal_count(memory.row)
    if count >= limits.DISMISSALS_PER_MEMORY_MAX:
        raise over_limit(
            field, f"{count} dismissed pairs with {memory.id}", limits.DISMISSALS_PER_MEMORY_MAX
        )
