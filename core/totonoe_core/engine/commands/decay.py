"""Decay: reports faded memories and, on request, closes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.domain import decay
from totonoe_core.domain.blast import refuse_over
from totonoe_core.domain.cleanup import Decay, Decayed, DecayPlan, FadedMemory
from totonoe_core.domain.decay import DecayReport
from totonoe_core.domain.keeping import protected
from totonoe_core.domain.records import Fields, Memory
from totonoe_core.engine.commands import planning
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index.arrays import View
from totonoe_core.store.seam import Rows
from totonoe_core.text.normalize import snippet

_READ_AT_ONCE = 1000


def report(
    state: CollectionState,
    view: View,
    agent_id: str,
    now_us: int,
    threshold: float = decay.HIDDEN_BELOW,
    without: NDArray[np.int64] | None = None,
) -> DecayReport:
    """Report the fading of live memories that an agent may see, without some slots."""
    index = state.index
    mask = planning.live(index, view, agent_id)
    if without is not None:
        mask[without] = False
    columns = planning.columns_at(state, index, view, np.flatnonzero(mask))
    return decay.report(columns, state.published.decay, now_us, threshold)


def plan(state: CollectionState, rows: Rows, command: Decay, now_us: int) -> DecayPlan:
    """Plan the report and the closing of a Decay: the most faded first, ties by id.

    At most DECAY_READ_MAX of those below are read, since perception types protect and are in the
    rows.
    """
    index, view = state.index, state.index.view()
    threshold = decay.HIDDEN_BELOW if command.close_below is None else command.close_below
    told = report(state, view, command.agent_id, now_us, threshold)
    if command.close_below is None:
        return DecayPlan(told, (), ())
    slots = np.flatnonzero(planning.live(index, view, command.agent_id))
    columns = planning.columns_at(state, index, view, slots)
    effective = columns.effective(state.published.decay, now_us)
    below = np.flatnonzero((effective < command.close_below) & ~columns.protected)
    order = below[np.lexsort((view.take("row", slots[below]), effective[below]))]
    recalled = columns.recalled(now_us)
    faded: list[FadedMemory] = []
    closing: list[Memory] = []
    for start in range(0, min(len(order), limits.DECAY_READ_MAX), _READ_AT_ONCE):
        part = order[start : start + _READ_AT_ONCE]
        at = dict(zip(slots[part].tolist(), part.tolist(), strict=True))
        for slot, memory in planning.read(rows, view, slots[part]):
            if len(closing) < command.limit and not protected(memory.fields):
                number = at[slot]
                last_us = int(columns.last_access_us[number])
                faded.append(
                    FadedMemory(
                        memory.id,
                        memory.fields.confidence,
                        float(effective[number]),
                        last_us if columns.accessed[number] else None,
                        snippet(memory.content, limits.SNIPPET_CHARS),
                        bool(recalled[number]),
                    )
                )
                closing.append(memory)
        if len(closing) >= command.limit:
            break
    return DecayPlan(told, tuple(faded), planning.seen(closing))


def preview(state: CollectionState, rows: Rows, command: Decay, now_us: int) -> Decayed:
    """Return the answer that a Decay would give."""
    planned = plan(state, rows, command, now_us)
    if command.close_below is None:
        return Decayed(planned.report)
    blast = planning.blast_of(state, rows, len(planned.closing), now_us)
    return Decayed(planned.report, planned.closing, blast)


def apply(ledger: Ledger, operation: Operation, command: Decay) -> Decayed:
    """Close memories that are unchanged since the plan, and were not recalled since.

    Raises `Quota` (BLAST_RADIUS) if there are too many.
    """
    planned = command.plan
    assert planned is not None
    if command.close_below is None:
        return Decayed(planned.report)
    state, view = ledger.state, ledger.index.arrays.writer_view()
    memories = planning.unchanged(ledger, planned.seen)
    slots = np.array([ledger.slot_of(memory) for memory in memories.values()], np.int64)
    columns = planning.columns_at(state, ledger.index, view, slots)
    effective = columns.effective(state.info.decay, operation.now_us)
    still = {
        memory_id
        for memory_id, value in zip(memories, effective.tolist(), strict=True)
        if value < command.close_below
    }
    closed = tuple(faded for faded in planned.closing if faded.memory_id in still)
    blast = planning.blast_of(state, ledger.rows, len(closed), operation.now_us)
    refuse_over(blast, state.info.name)
    for faded in closed:
        memory = memories[faded.memory_id]
        ledger.close(operation, memory, _ended(memory.fields, operation.now_us))
    return Decayed(planned.report, closed, blast)


def _ended(fields: Fields, now_us: int) -> Fields:
    """Return fields with their validity ended now, unless it ended before."""
    end_us = now_us if fields.valid_to_us is None else min(fields.valid_to_us, now_us)
    if fields.valid_from_us is not None and fields.valid_from_us >= end_us:
        # Its validity has not begun: a range must not end before it begins.
        end_us = fields.valid_from_us + 1
    return replace(fields, valid_to_us=end_us)
