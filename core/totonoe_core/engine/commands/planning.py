"""Shared steps of clean-up by rule: candidates, limits, and changes since the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain import blast
from totonoe_core.domain.blast import Blast
from totonoe_core.domain.cleanup import PlannedMemory
from totonoe_core.domain.decay import Columns
from totonoe_core.domain.keeping import PROTECTED_CATEGORIES, PROTECTED_FROM
from totonoe_core.domain.records import Memory, StateKind, Status
from totonoe_core.engine.state.ledger import Ledger
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index import masks
from totonoe_core.index.arrays import NEVER, NO_TIME, STATE_KINDS, View
from totonoe_core.index.collection_index import CollectionIndex, text_hash
from totonoe_core.store.seam import Rows

Mask = NDArray[np.bool_]


def protected(index: CollectionIndex, view: View) -> Mask:
    """Return slots that no rule may take, by columns; perception types are only in the rows."""
    codes = [index.arrays.categories.find(name) for name in sorted(PROTECTED_CATEGORIES)]
    mask: Mask = (
        ~masks.compared(index, view)
        | (view.column("state_kind") == STATE_KINDS[StateKind.LONG_MOOD])
        | (view.column("confidence") >= PROTECTED_FROM)
        | np.isin(view.column("category"), codes)
    )
    return mask


def live(index: CollectionIndex, view: View, agent_id: str) -> Mask:
    """Return live slots that an agent may see, without those that go by themselves."""
    mask = masks.of_status(view, (Status.ACTIVE,))
    mask &= view.column("expires") == NEVER
    return mask & masks.readable(view, index.arrays.agents.find(agent_id))


def columns_at(
    state: CollectionState, index: CollectionIndex, view: View, slots: NDArray[np.int64]
) -> Columns:
    """Return the columns of some slots that decide fading."""
    last_us = view.take("last_access", slots)
    rates = masks.decay_rates(view, state.published.decay)
    return Columns(
        base=view.take("confidence", slots),
        created_us=view.take("created", slots),
        last_access_us=last_us,
        accessed=last_us != NO_TIME,
        protected=protected(index, view)[slots],
        rates=None if rates is None else rates[slots],
    )


def read(
    rows: Rows, view: View, slots: NDArray[np.int64], *, status: Status = Status.ACTIVE
) -> list[tuple[int, Memory]]:
    """Return (slot, memory) of slots, in order, without memories that have changed since."""
    numbers = view.take("row", slots).tolist()
    texts = view.take("text_hash", slots).tolist()
    memories = rows.memories(numbers)
    return [
        (slot, memory)
        for slot, row, text in zip(slots.tolist(), numbers, texts, strict=True)
        if (memory := memories.get(row)) is not None
        and memory.status is status
        and text_hash(memory.content_hash) == text
    ]


def seen(memories: Iterable[Memory]) -> tuple[PlannedMemory, ...]:
    """Return memories as a plan found them, each once."""
    by_row = {
        memory.row: PlannedMemory(memory.id, memory.row, memory.revision) for memory in memories
    }
    return tuple(by_row.values())


def unchanged(ledger: Ledger, found: Sequence[PlannedMemory]) -> Mapping[str, Memory]:
    """Return the memories that are unchanged since the plan, by id."""
    now = ledger.rows.memories([seen.row for seen in found])
    return {
        seen.memory_id: memory
        for seen in found
        if (memory := now.get(seen.row)) is not None
        and memory.revision == seen.revision
        and memory.status is Status.ACTIVE
    }


def blast_of(state: CollectionState, rows: Rows, closing: int, now_us: int) -> Blast:
    """Compare the size of a run by rule with the limits; every such run uses this count.

    `blast.check` describes the day's count.
    """
    today = rows.history.taken_count(blast.OPERATION_KINDS, now_us - blast.DAY_US)
    return blast.check(closing, state.index.arrays.live_count, today, state.info.blast)
