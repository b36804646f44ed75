"""WhyNot on a collection: finds the memory, computes its place, and adds names."""

from __future__ import annotations

from dataclasses import replace

from totonoe_core.domain.records import Memory
from totonoe_core.engine.state.reading import EmbeddedQuery, HitMemories, known_of, partners_by
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index import masks
from totonoe_core.search import why_not
from totonoe_core.search.filters import confidence_now, not_recalled
from totonoe_core.search.why_not import Outcome, WhyNot
from totonoe_core.store.seam import Rows


def explain(
    state: CollectionState,
    rows: Rows,
    memory_id: str,
    asked: EmbeddedQuery,
    now_us: int,
) -> WhyNot:
    """Explain why a memory is missing from a Recall made now, or return its place."""
    info, index = state.published, state.index
    asked = asked.of(index.model_number)
    query = asked.query
    graph, view = index.graph, index.view()
    memory = state.find(rows, memory_id, query.agent_id)
    slot = -1
    if memory is not None:
        slot = index.slot_by_row.get(memory.row, -1)
        if slot >= view.count:
            # Its newest version is not published yet, but an earlier one may be.
            slot = index.slot_in_view(memory.row, view)
    if memory is None or slot < 0:
        return WhyNot(info.revision, memory_id, Outcome.NOT_THERE, query.k)
    memory = state.as_seen(state.shown(rows, [memory], query.agent_id)[0], now_us)
    passing = masks.recalled(index, view, query.filter, query.agent_id, info.decay, now_us)

    def read(wanted: list[int]) -> list[Memory]:
        return state.shown(rows, list(rows.memories(wanted).values()), query.agent_id)

    diversity = query.diversity or info.diversity
    known = known_of(state, index, rows, query.agent_id, now_us)
    hits = HitMemories(index, query, diversity.enabled, read, known)
    standing = why_not.standing(
        index,
        view,
        graph,
        query,
        asked.vector,
        diversity,
        passing,
        slot,
        _read_words(memory),
        hits.arrange,
        partners_by(rows.questions.among),
    )
    near = rows.memories([standing.near_row]).get(standing.near_row)
    return WhyNot(
        revision=info.revision,
        memory_id=memory.id,
        outcome=standing.outcome,
        k=query.k,
        standing=replace(standing, near_row=-1),
        unmet=why_not.conditions(not_recalled(memory, query.filter, info.decay, now_us)),
        status=memory.status,
        superseded_by=memory.superseded_by,
        near_id="" if near is None else near.id,
        confidence=memory.fields.confidence,
        effective_confidence=confidence_now(memory, info.decay, now_us),
        degraded_because=asked.degraded,
    )


def _read_words(memory: Memory) -> str:
    """Return what the words of a query are looked for in: the text, and the typed key."""
    key = memory.fields.key
    return memory.content if key is None else f"{memory.content} {key.subject} {key.attribute}"
