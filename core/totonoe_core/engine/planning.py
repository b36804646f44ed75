"""What the runs of clean-up by rule share: what they look at, what they may take, what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from totonoe_core import blast
from totonoe_core.blast import Blast
from totonoe_core.cleanup import Seen
from totonoe_core.decay import Columns
from totonoe_core.engine.ledger import Ledger
from totonoe_core.engine.state import CollectionState
from totonoe_core.index import masks
from totonoe_core.index.arrays import KINDS, NO_TIME, STATE_KINDS, STATUSES, View
from totonoe_core.index.collection_index import CollectionIndex, text_hash
from totonoe_core.keeping import PROTECTED_CATEGORIES, PROTECTED_FROM
from totonoe_core.records import Kind, Memory, StateKind, Status
from totonoe_core.store.reader import Rows

Mask = NDArray[np.bool_]


def protected(index: CollectionIndex, view: View) -> Mask:
    """Slots that no rule may take, as far as columns tell: perception types are in the rows."""
    codes = [index.arrays.categories.find(name) for name in sorted(PROTECTED_CATEGORIES)]
    mask: Mask = (
        (view.column("kind") != KINDS[Kind.STATE])
        | (view.column("state_kind") == STATE_KINDS[StateKind.LONG_MOOD])
        | (view.column("confidence") >= PROTECTED_FROM)
        | np.isin(view.column("category"), codes)
    )
    return mask


def live(index: CollectionIndex, view: View, agent_id: str) -> Mask:
    """Live slots that an agent may see."""
    mask = masks.of_status(view, (Status.ACTIVE,))
    return mask & masks.readable(view, index.arrays.agents.find(agent_id))


def columns_at(
    state: CollectionState, index: CollectionIndex, view: View, slots: NDArray[np.int64]
) -> Columns:
    """What fading goes by, of some slots."""
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
    """(slot, memory) of slots, in their order, without those that say something else since."""
    numbers = view.take("row", slots).tolist()
    texts = view.take("text_hash", slots).tolist()
    found = rows.memories(numbers)
    return [
        (slot, memory)
        for slot, row, text in zip(slots.tolist(), numbers, texts, strict=True)
        if (memory := found.get(row)) is not None
        and memory.status is status
        and text_hash(memory.content_hash) == text
    ]


def seen(memories: Iterable[Memory]) -> tuple[Seen, ...]:
    """Memories as a plan found them, each once."""
    by_row = {memory.row: Seen(memory.id, memory.row, memory.revision) for memory in memories}
    return tuple(by_row.values())


def unchanged(ledger: Ledger, found: Sequence[Seen]) -> Mapping[str, Memory]:
    """Those that are as the plan found them, by id."""
    now = ledger.rows.memories([one.row for one in found])
    return {
        one.memory_id: memory
        for one in found
        if (memory := now.get(one.row)) is not None
        and memory.revision == one.revision
        and memory.status is Status.ACTIVE
    }


def blast_of(state: CollectionState, rows: Rows, view: View, closing: int, now_us: int) -> Blast:
    """What a run would take beside what it may.

    `rows` may be ahead of the view by what was committed meanwhile.
    """
    total = sum(
        int(np.count_nonzero(chunk.columns["status"][:size] == STATUSES[Status.ACTIVE]))
        for _, size, chunk in view.parts()
    )
    return blast.check(closing, total, taken_today(rows, now_us), state.info.blast)


def taken_today(rows: Rows, now_us: int) -> int:
    """Memories that operations by rule took in the 24 hours before, but for those taken back."""
    history = rows.history
    done = history.operations_of(blast.OPERATION_KINDS, now_us - blast.DAY_US)
    undone = history.undone_by([one.revision for one in done])
    count = 0
    for one in done:
        if one.revision not in undone:
            before = history.memory_images(one.revision)
            live = [row for row, memory in before.items() if memory.status is Status.ACTIVE]
            after = history.memories_after(one.revision, live)
            count += sum(memory.status is not Status.ACTIVE for memory in after.values())
    return count
