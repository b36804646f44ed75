"""CleanUpDuplicates: supersedes live memories that equal another one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.domain.blast import refuse_over
from totonoe_core.domain.cleanup import CleanedUp, CleanUpDuplicates, DoublesPlan, ReplacedMemory
from totonoe_core.domain.decay import recalled_lately
from totonoe_core.domain.keeping import protected
from totonoe_core.domain.records import Memory, StateKind
from totonoe_core.engine.commands import planning
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index import masks
from totonoe_core.index.arrays import STATE_KINDS
from totonoe_core.index.collection_index import key_hash, payload_hash
from totonoe_core.store.seam import Rows
from totonoe_core.text.normalize import refusing_form, snippet

_Key = tuple[object, ...]


def plan(
    state: CollectionState, rows: Rows, command: CleanUpDuplicates, now_us: int
) -> DoublesPlan:
    """Find doubles, the oldest first.

    Reads the texts of at most DOUBLES_READ_MAX memories, of the oldest doubles; the number of those
    left over is counted by hashes.
    """
    index, view = state.index, state.index.view()
    mask = planning.live(index, view, command.agent_id)
    mask &= masks.compared(index, view)
    mask &= view.column("state_kind") != STATE_KINDS[StateKind.LONG_MOOD]
    slots = np.flatnonzero(mask)
    _, codes, counts = np.unique(
        view.take("text_hash", slots), return_inverse=True, return_counts=True
    )
    slots = slots[counts[codes] > 1]
    group = _groups(
        [
            view.take(name, slots)
            for name in ("text_hash", "payload_hash", "key_hash", "state_kind", "private", "source")
        ]
    )
    sizes = np.bincount(group, minlength=1)
    double = np.flatnonzero(sizes[group] > 1)
    # Whole groups, by their oldest member.
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
    replaced: list[tuple[ReplacedMemory, Memory, Memory]] = []
    for same in members.values():
        (_, kept), *others = sorted(same, key=lambda item: _rank(item[1]))
        replaced += [
            (_replaced(memory, kept, lately[slot]), memory, kept)
            for slot, memory in others
            if not protected(memory.fields)
        ]
    replaced.sort(key=lambda item: (item[1].created_us, item[1].id))
    taken = replaced[: command.limit]
    unread = order[limits.DOUBLES_READ_MAX :]
    left = len(unread) - len(np.setdiff1d(group[unread], group[chosen]))
    return DoublesPlan(
        duplicates=tuple(memory for memory, _, _ in taken),
        more_count=len(replaced) - len(taken) + left,
        seen=planning.seen(memory for _, *both in taken for memory in both),
    )


def preview(
    state: CollectionState, rows: Rows, command: CleanUpDuplicates, now_us: int
) -> CleanedUp:
    """Return the answer that a CleanUpDuplicates would give."""
    planned = plan(state, rows, command, now_us)
    return _fitted(state, rows, planned.duplicates, planned.more_count, now_us)


def apply(ledger: Ledger, operation: Operation, command: CleanUpDuplicates) -> CleanedUp:
    """Supersede memories that are unchanged since the plan, as many as the blast radius allows.

    Raises `Quota` (BLAST_RADIUS) if it allows nothing more today.
    """
    planned = command.plan
    assert planned is not None
    memories = planning.unchanged(ledger, planned.seen)
    replaced = tuple(
        memory
        for memory in planned.duplicates
        if {memory.memory_id, memory.kept_id} <= memories.keys()
    )
    answer = _fitted(ledger.state, ledger.rows, replaced, planned.more_count, operation.now_us)
    refuse_over(answer.blast, ledger.state.info.name)
    for memory in answer.duplicates:
        ledger.supersede(operation, memories[memory.memory_id], memory.kept_id)
    return answer


def _fitted(
    state: CollectionState,
    rows: Rows,
    replaced: tuple[ReplacedMemory, ...],
    more_count: int,
    now_us: int,
) -> CleanedUp:
    """Return the oldest doubles, as many as the blast radius allows, and how many are left."""
    blast = planning.blast_of(state, rows, len(replaced), now_us).fitted()
    left = len(replaced) - blast.closing
    return CleanedUp(replaced[: blast.closing], more_count + left, blast)


def _groups(columns: Iterable[NDArray[np.generic]]) -> NDArray[np.int64]:
    """Number rows, equal for rows that are equal in all columns: int64[n]."""
    out: NDArray[np.int64] | None = None
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        if out is not None:
            # Renumbered before the next column, so that no product of two counts overflows.
            _, codes = np.unique(out * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
        out = codes.astype(np.int64)
    assert out is not None
    return out


def _equal(memory: Memory) -> _Key:
    """Return the key of equal memories: full text and source, payload and key as in the guard."""
    fields = memory.fields
    return (
        refusing_form(memory.content),
        fields.state_kind,
        payload_hash(fields),
        key_hash(fields.key),
        fields.private,
        fields.source,
    )


def _rank(memory: Memory) -> tuple[object, ...]:
    """Return a key that sorts the memory to keep first (docs/sources.md, 002, "Batch Cleanup")."""
    fields = memory.fields
    return (not protected(fields), -fields.confidence, -memory.created_us, memory.id)


def _replaced(memory: Memory, kept: Memory, recalled: bool) -> ReplacedMemory:
    text = snippet(memory.content, limits.SNIPPET_CHARS)
    return ReplacedMemory(memory.id, kept.id, 1.0, text, recalled)
