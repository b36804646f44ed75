"""Score: compares memories that no Remember compared, and links what probably says the same."""

from __future__ import annotations

import numpy as np

from totonoe_core.base import limits
from totonoe_core.domain.consolidate import Score, Scored
from totonoe_core.domain.records import LinkType, Memory
from totonoe_core.engine.guarding.guarding import GuardedText, Guarding
from totonoe_core.engine.guarding.likely import link_to
from totonoe_core.engine.state import unscored
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.engine.state.sight import may_see
from totonoe_core.index import masks


def score(ledger: Ledger, guarding: Guarding, operation: Operation, command: Score) -> Scored:
    """Score the next SCORED_PER_OPERATION memories, each as its own agent would have saved it.

    The answer counts what the caller may read.
    """
    if not ledger.state.info.guard.asks:
        return Scored()
    view = ledger.index.arrays.writer_view()
    waiting = unscored.slots(ledger.index, view, unscored.ranges(ledger.rows))
    now = waiting[: limits.SCORED_PER_OPERATION]
    memories = [ledger.by_slot(slot) for slot in now.tolist()]
    found = [pair for memory in memories for pair in _linked(ledger, guarding, operation, memory)]
    more = len(waiting) > len(now)
    unscored.drop_to(ledger.file, memories[-1].row if more else None)
    seen = masks.readable(view, ledger.index.arrays.agents.find(command.agent_id))[waiting]
    return Scored(
        scored_count=int(np.count_nonzero(seen[: len(now)])),
        link_count=sum(all(may_see(one, command.agent_id) for one in pair) for pair in found),
        left_count=int(np.count_nonzero(seen[len(now) :])),
    )


def _linked(
    ledger: Ledger, guarding: Guarding, operation: Operation, memory: Memory
) -> list[tuple[Memory, Memory]]:
    """Link a memory to those that probably say the same; return the new pairs."""
    text = GuardedText(
        policy=ledger.state.info.guard,
        agent_id=memory.agent_id,
        content=memory.content,
        content_hash=memory.content_hash,
        fields=memory.fields,
        force=False,
        replaced=(ledger.slot_of(memory),),
    )
    features = ledger.features_of(memory)
    _, neighbours = guarding.by_all(text, features, operation.now_us, reading=operation.reading)
    made = []
    for judged in neighbours.likely:
        other = ledger.by_slot(judged.slot)
        if ledger.file.link_between(memory.row, other.row, LinkType.LIKELY_SAME) is not None:
            continue
        counts = (ledger.rows.link_count(one.row) for one in (memory, other))
        if max(counts) < limits.LINKS_PER_MEMORY_MAX:
            ledger.put_link_pair(operation, memory, other, link_to(other.id, judged))
            made.append((memory, other))
    return made
