"""Dismiss and Undismiss: which pairs are no duplicates, as somebody who read them said.

Nobody is asked about such a pair again until one of the two texts is another. What an agent
said holds for all who see both.
"""

from __future__ import annotations

from totonoe_core import limits
from totonoe_core.commands import Dismiss, Dismissed, Undismiss, Undismissed
from totonoe_core.engine.ledger import Ledger, Operation
from totonoe_core.errors import InvalidArgument
from totonoe_core.records import Dismissal, Memory


def dismiss(ledger: Ledger, operation: Operation, command: Dismiss) -> Dismissed:
    """Keeps that two live memories are no duplicates; once is enough.

    Raises `NotFound`, `Precondition` (NOT_ACTIVE), `InvalidArgument` (SELF_LINK, or LIMIT_EXCEEDED
    for a memory in too many pairs).
    """
    one = ledger.live(command.id_a, command.agent_id)
    other = ledger.live(command.id_b, command.agent_id)
    a, b = _pair(one, other)
    ids = one.id, other.id
    found = ledger.rows.dismissal(a.row, b.row)
    if found is None:
        _check_room(ledger, "id_a", one)
        _check_room(ledger, "id_b", other)
    elif (found.hash_a, found.hash_b) == (a.content_hash, b.content_hash):
        return Dismissed(False, ids)
    made = Dismissal(
        a=a.row,
        b=b.row,
        hash_a=a.content_hash,
        hash_b=b.content_hash,
        agent_id=command.agent_id,
        note=command.reason,
        revision=operation.revision,
    )
    ledger.put_dismissal(operation, made)
    return Dismissed(True, ids)


def undismiss(ledger: Ledger, operation: Operation, command: Undismiss) -> Undismissed:
    """Takes back what was said of a pair, by whomever. Raises `NotFound`, `InvalidArgument`."""
    one = ledger.visible(command.id_a, command.agent_id)
    other = ledger.visible(command.id_b, command.agent_id)
    a, b = _pair(one, other)
    found = ledger.rows.dismissal(a.row, b.row)
    if found is not None:
        ledger.delete_dismissal(operation, found)
    return Undismissed(found is not None, (one.id, other.id))


def _pair(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    """The two in the order of their rows."""
    if one.row == other.row:
        raise InvalidArgument("SELF_LINK", field="id_b", got=other.id, allowed="another memory")
    return (one, other) if one.row < other.row else (other, one)


def _check_room(ledger: Ledger, field: str, memory: Memory) -> None:
    count = ledger.rows.dismissal_count(memory.row)
    if count >= limits.DISMISSALS_PER_MEMORY_MAX:
        raise InvalidArgument(
            "LIMIT_EXCEEDED",
            field=field,
            got=f"{count} dismissed pairs with {memory.id}",
            allowed=f"at most {limits.DISMISSALS_PER_MEMORY_MAX}",
        )
