"""Score: compares memories that no Remember compared, and links what probably says the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from totonoe_core.base import limits
from totonoe_core.domain.consolidate import Score, Scored
from totonoe_core.domain.records import LinkType, Memory
from totonoe_core.engine.guarding.guarding import Guarding
from totonoe_core.engine.guarding.judging import JudgedNeighbour, NeedsOpinion
from totonoe_core.engine.guarding.likely import link_to
from totonoe_core.engine.guarding.texts import GuardedText
from totonoe_core.engine.state import unscored
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.engine.state.sight import may_see
from totonoe_core.index import masks
from totonoe_core.judging import TextPair


def score(ledger: Ledger, guarding: Guarding, operation: Operation, command: Score) -> Scored:
    """Score the next SCORED_PER_OPERATION memories, each as its own agent would have saved it.

    Fewer if the daemon's own judge is needed: those up to the first whose pairs it did not read
    yet. The answer counts what the caller may read.

    Raises
    ------
    NeedsOpinion
        The first memory has such a pair.
    """
    if not ledger.state.info.guard.asks:
        return Scored()
    view = ledger.index.arrays.writer_view()
    waiting = unscored.slots(ledger.index, view, unscored.ranges(ledger.rows))
    first = waiting[: limits.SCORED_PER_OPERATION].tolist()
    memories = [ledger.by_slot(slot) for slot in first]
    compared = _compared(ledger, guarding, operation, memories)
    memories = memories[: len(compared)]
    now = waiting[: len(compared)]
    found = [
        pair
        for memory, likely in zip(memories, compared, strict=True)
        for pair in _linked(ledger, operation, memory, likely)
    ]
    more = len(waiting) > len(now)
    unscored.drop_to(ledger.file, memories[-1].row if more else None)
    seen = masks.readable(view, ledger.index.arrays.agents.find(command.agent_id))[waiting]
    return Scored(
        scored_count=int(np.count_nonzero(seen[: len(now)])),
        link_count=sum(all(may_see(memory, command.agent_id) for memory in pair) for pair in found),
        left_count=int(np.count_nonzero(seen[len(now) :])),
    )


def _compared(
    ledger: Ledger, guarding: Guarding, operation: Operation, memories: Sequence[Memory]
) -> list[tuple[JudgedNeighbour, ...]]:
    """Return what probably says the same as each memory, up to the first that must wait."""
    # A judge that is paid for each pair is asked about saves only.
    may_ask = operation.may_ask and guarding.has_own_judge
    found: list[tuple[JudgedNeighbour, ...]] = []
    asked: list[TextPair] = []
    for memory in memories:
        try:
            likely = _likely(ledger, guarding, operation, memory, may_ask)
        except NeedsOpinion as needed:
            asked += needed.pairs
            if len(asked) >= limits.JUDGE_PAIRS_PER_SCORE:
                break
        else:
            if not asked:
                found.append(likely)
    if asked and not found:
        raise NeedsOpinion(asked)
    return found


def _likely(
    ledger: Ledger, guarding: Guarding, operation: Operation, memory: Memory, may_ask: bool
) -> tuple[JudgedNeighbour, ...]:
    """Return the memories that probably say the same as one, as its own agent would save it."""
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
    _, neighbours = guarding.by_all(
        text, features, operation.now_us, may_ask, reading=operation.reading
    )
    return neighbours.likely


def _linked(
    ledger: Ledger, operation: Operation, memory: Memory, likely: Sequence[JudgedNeighbour]
) -> list[tuple[Memory, Memory]]:
    """Link a memory to those that probably say the same; return the new pairs."""
    made = []
    for judged in likely:
        other = ledger.by_slot(judged.slot)
        if ledger.file.link_between(memory.row, other.row, LinkType.LIKELY_SAME) is not None:
            continue
        counts = ledger.rows.link_counts((memory.row, other.row))
        if max(counts.values()) < limits.LINKS_PER_MEMORY_MAX:
            ledger.put_link_pair(operation, memory, other, link_to(other.id, judged))
            made.append((memory, other))
    return made
