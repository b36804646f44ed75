"""Replay, the first phase of Consolidate: uses up Recall events and links their memories.

Links are an operation, which Undo reverts. The counts of co-activations and the times of access are
figures, like those of Recall: no operation, and not undone. Nothing private leaks: two memories
gain together only if everybody may see both, or if both are private to one agent.
"""

from __future__ import annotations

import numpy as np

from totonoe_core.base import limits
from totonoe_core.domain.consolidate import EventsReplayed, ReplayEvents
from totonoe_core.domain.records import LinkType, Memory, Status
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.rules.consolidate import coactivated_link, coactivations


def replay(ledger: Ledger, operation: Operation, command: ReplayEvents) -> EventsReplayed:
    """Use up the oldest events, each once. Counts only memories that the caller may see."""
    events = ledger.file.recalls.take_events(command.max_events)
    rows = {row for event in events for row in event.rows}
    memories = {
        row: memory
        for row, memory in ledger.rows.memories(sorted(rows)).items()
        if memory.status is Status.ACTIVE
    }

    def seen(memory: Memory) -> bool:
        return not memory.fields.private or memory.agent_id == command.agent_id

    gained = {
        pair: count
        for pair, count in coactivations(events, memories).items()
        if _may_be_linked(memories[pair[0]], memories[pair[1]])
    }
    counts = ledger.file.recalls.add_coactivations(gained)
    links = ledger.rows.links(sorted({row for pair in gained for row in pair}))
    held = {row: len(found) for row, found in links.items()}
    link_count = 0
    for (low, high), count in counts.items():
        source, target = memories[low], memories[high]
        before = next(
            (link for row, link in links[low] if row == high and link.type is LinkType.COACTIVATED),
            None,
        )
        link = coactivated_link(target.id, before, count, gained[low, high])
        if link is None or link == before:
            continue
        if before is None:
            # Like automatic links of a Remember: hubs get no more, explicit links still fit.
            if max(held[low], held[high]) >= limits.AUTO_LINKS_PER_MEMORY_MAX:
                continue
            held[low] += 1
            held[high] += 1
        ledger.change_link_pair(operation, source, target, link, before)
        link_count += seen(source) and seen(target)
    _refresh(ledger, operation, memories)
    return EventsReplayed(
        replay_events=len(events),
        coactivation_updates=sum(
            count
            for (low, high), count in gained.items()
            if seen(memories[low]) and seen(memories[high])
        ),
        link_updates=link_count,
        refreshed_memories=sum(map(seen, memories.values())),
        revision=operation.revision if link_count else 0,
    )


def _may_be_linked(one: Memory, other: Memory) -> bool:
    if one.fields.private or other.fields.private:
        return one.fields.private is other.fields.private and one.agent_id == other.agent_id
    return True


def _refresh(ledger: Ledger, operation: Operation, memories: dict[int, Memory]) -> None:
    """Set the last access to now, without counting a recall."""
    slots = np.array([ledger.slot_of(memory) for memory in memories.values()], np.int64)
    ledger.index.refresh(slots, operation.now_us)
    counts = ledger.index.arrays.writer_view().take("access_count", slots).tolist()
    ledger.file.recalls.put_access(
        (row, operation.now_us, count) for row, count in zip(memories, counts, strict=True)
    )
