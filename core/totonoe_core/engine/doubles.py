"""CleanUpDuplicates: of live memories that are equal one stays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits
from totonoe_core.blast import refuse_over
from totonoe_core.cleanup import CleanedUp, CleanUpDuplicates, DoublesPlan, Replaced
from totonoe_core.decay import recalled_lately
from totonoe_core.engine import planning
from totonoe_core.engine.ledger import Ledger, Operation
from totonoe_core.engine.state import CollectionState
from totonoe_core.index.arrays import KINDS, STATE_KINDS
from totonoe_core.index.collection_index import key_hash, payload_hash
from totonoe_core.keeping import protected
from totonoe_core.records import Kind, Memory, StateKind
from totonoe_core.store.reader import Rows
from totonoe_core.text.normalize import refusing_form, snippet

_Key = tuple[object, ...]


def plan(
    state: CollectionState, rows: Rows, command: CleanUpDuplicates, now_us: int
) -> DoublesPlan:
    """What is double, the oldest first.

    Texts of DOUBLES_READ_MAX memories are read at most, of the oldest doubles; the count of what
    is left goes by hashes.
    """
    index, view = state.index, state.index.view()
    mask = planning.live(index, view, command.agent_id)
    mask &= view.column("kind") == KINDS[Kind.STATE]
    mask &= view.column("state_kind") != STATE_KINDS[StateKind.LONG_MOOD]
    slots = np.flatnonzero(mask)
    _, codes, counts = np.unique(
        view.take("text_hash", slots), return_inverse=True, return_counts=True
    )
    slots = slots[counts[codes] > 1]
    group = _groups(
        [
            view.take(name, slots)
            for name in ("text_hash", "payload_hash", "key_hash", "state_kind", "private")
        ]
    )
    sizes = np.bincount(group, minlength=1)
    double = np.flatnonzero(sizes[group] > 1)
    # Groups whole, by their oldest member.
    row, own = view.take("row", slots[double]), group[double]
    first = np.full(len(sizes), np.iinfo(np.int64).max)
    np.minimum.at(first, own, row)
    order = double[np.lexsort((row, first[own]))]
    chosen = order[: limits.DOUBLES_READ_MAX]
    found = planning.read(rows, view, slots[chosen])
    recalled = recalled_lately(view.take("last_access", slots[chosen]), now_us)
    lately = dict(zip(slots[chosen].tolist(), recalled.tolist(), strict=True))
    members: dict[_Key, list[tuple[int, Memory]]] = {}
    for slot, memory in found:
        members.setdefault(_equal(memory), []).append((slot, memory))
    replaced: list[tuple[Replaced, Memory, Memory]] = []
    for same in members.values():
        (_, kept), *others = sorted(same, key=lambda one: _rank(one[1]))
        replaced += [
            (_replaced(one, kept, lately[slot]), one, kept)
            for slot, one in others
            if not protected(one.fields)
        ]
    replaced.sort(key=lambda one: (one[1].created_us, one[1].id))
    taken = replaced[: command.limit]
    unread = order[limits.DOUBLES_READ_MAX :]
    left = len(unread) - len(np.setdiff1d(group[unread], group[chosen]))
    return DoublesPlan(
        duplicates=tuple(one for one, _, _ in taken),
        more_count=len(replaced) - len(taken) + left,
        seen=planning.seen(memory for _, *both in taken for memory in both),
    )


def preview(
    state: CollectionState, rows: Rows, command: CleanUpDuplicates, now_us: int
) -> CleanedUp:
    """What a CleanUpDuplicates would answer."""
    planned = plan(state, rows, command, now_us)
    count = len(planned.duplicates)
    blast = planning.blast_of(state, rows, count, now_us)
    return CleanedUp(planned.duplicates, planned.more_count, blast)


def apply(ledger: Ledger, operation: Operation, command: CleanUpDuplicates) -> CleanedUp:
    """Supersedes what is as it was planned. Raises `Quota` (BLAST_RADIUS) if it is too much."""
    planned = command.plan
    assert planned is not None
    memories = planning.unchanged(ledger, planned.seen)
    replaced = tuple(
        one for one in planned.duplicates if {one.memory_id, one.kept_id} <= memories.keys()
    )
    blast = planning.blast_of(ledger.state, ledger.rows, len(replaced), operation.now_us)
    refuse_over(blast)
    for one in replaced:
        ledger.supersede(operation, memories[one.memory_id], one.kept_id)
    return CleanedUp(replaced, planned.more_count, blast)


def _groups(columns: Iterable[NDArray[np.generic]]) -> NDArray[np.int64]:
    """A number for each row, the same where all columns are equal: int64[n]."""
    out: NDArray[np.int64] | None = None
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        if out is not None:
            # Small again before the next: no product of two counts overflows.
            _, codes = np.unique(out * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
        out = codes.astype(np.int64)
    assert out is not None
    return out


def _equal(memory: Memory) -> _Key:
    """What equal memories have in common: the text in full, payload and key as the guard does."""
    fields = memory.fields
    return (
        refusing_form(memory.content),
        fields.state_kind,
        payload_hash(fields),
        key_hash(fields.key),
        fields.private,
    )


def _rank(memory: Memory) -> tuple[object, ...]:
    """The one that stays comes first: highest confidence, then newest (002, "Batch Cleanup")."""
    fields = memory.fields
    return (not protected(fields), -fields.confidence, -memory.created_us, memory.id)


def _replaced(memory: Memory, kept: Memory, recalled: bool) -> Replaced:
    text = snippet(memory.content, limits.SNIPPET_CHARS)
    return Replaced(memory.id, kept.id, 1.0, text, recalled)
