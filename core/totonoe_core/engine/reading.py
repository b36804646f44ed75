"""Reads of one collection, on whatever thread has rows to read with."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits, plain, validate
from totonoe_core.decay import effective_confidence
from totonoe_core.engine import paging
from totonoe_core.engine.sight import may_see
from totonoe_core.engine.state import CollectionState
from totonoe_core.errors import NotFound
from totonoe_core.guard.policy import DecayPolicy
from totonoe_core.index import masks
from totonoe_core.index.arrays import KINDS, STATE_KINDS, STATUSES, View
from totonoe_core.queries import Filter, Gotten, Hit, Page, Recalled, RecallQuery
from totonoe_core.records import Memory, Status
from totonoe_core.search.recall import Ranked, Ranks, rank
from totonoe_core.store.reader import Rows

_LIST_STEP = 4096
FROM_THE_START = (-(2**62), "")
"""(created us, id) before all that a List gives."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query with its vector and the number of the model that made it, or why it has none."""

    query: RecallQuery
    vector: NDArray[np.float32] | None
    model_number: int
    degraded: str

    def of(self, model_number: int) -> Asked:
        """The same for an index of a model: without the vector if another one made it."""
        if self.vector is None or self.model_number == model_number:
            return self
        return replace(self, vector=None, degraded=_OTHER_MODEL)


_OTHER_MODEL = "the collection got another model meanwhile: found by words alone"


def recall(state: CollectionState, rows: Rows, asked: Asked, now_us: int) -> Recalled:
    """Ranks slots and reads their rows; what was hidden meanwhile is left out."""
    info = state.published
    revision = info.revision
    # Once: whatever is compared is of one index, which has the vectors of one model.
    index = state.index
    asked = asked.of(index.model_number)
    query, degraded = asked.query, asked.degraded
    view = index.view()
    found = rank(
        index,
        view,
        index.graph,
        query,
        asked.vector,
        query.diversity or info.diversity,
        info.decay,
        now_us,
    )
    ranked = rows_of(found, view)
    read = rows.memories(list(ranked))
    state.check_there(read, ranked)
    memories = {
        row: memory
        for row, memory in _while_chosen(rows, read, query.filter, query.agent_id, revision).items()
        if _still_shown(memory, query.filter, query.agent_id)
    }
    kept = [memories[row] for row in ranked if row in memories]
    shown = state.shown(rows, kept, query.agent_id)
    return recalled(revision, found, ranked, shown, degraded, info.decay, now_us)


def rows_of(found: Ranks, view: View) -> dict[int, Ranked]:
    """The hits by row number, in their order."""
    slots = np.array([one.slot for one in found.hits], np.int64)
    ranked: dict[int, Ranked] = {}
    for row, one in zip(view.take("row", slots).tolist(), found.hits, strict=True):
        ranked.setdefault(row, one)
    return ranked


def recalled(
    revision: int,
    found: Ranks,
    ranked: Mapping[int, Ranked],
    shown: Sequence[Memory],
    degraded: str,
    decay: DecayPolicy,
    now_us: int,
) -> Recalled:
    """The answer of a Recall with the memories that are shown of those that were ranked."""
    base = np.array([memory.fields.confidence for memory in shown])
    since = np.array([_since(memory) for memory in shown], np.int64)
    rates = np.array(
        [decay.rate_of(memory.fields.kind, memory.fields.state_kind) for memory in shown]
    )
    effective = effective_confidence(base, since, decay, now_us, rates)
    hits = tuple(
        Hit(
            memory=memory,
            cosine_similarity=one.cosine_similarity,
            lexical_similarity=one.lexical_similarity,
            vector_rank=one.vector_rank,
            lexical_rank=one.lexical_rank,
            fused_rank=one.fused_rank,
            diversity=one.diversity,
            effective_confidence=float(confidence),
        )
        for memory, confidence in zip(shown, effective, strict=True)
        for one in (ranked[memory.row],)
    )
    return Recalled(
        revision=revision,
        hits=hits,
        arms=found.arms,
        degraded_because=degraded,
        vector_search=found.vector_search,
        filtered_count=found.filtered_count,
    )


def _still_shown(memory: Memory, where: Filter, agent_id: str) -> bool:
    """Whether a row, read after its slot was chosen, has not been hidden meanwhile."""
    if memory.status is Status.PURGED or not may_see(memory, agent_id):
        return False
    return memory.status in (where.statuses or (Status.ACTIVE,))


def _while_chosen(
    rows: Rows, found: dict[int, Memory], where: Filter, agent_id: str, revision: int
) -> dict[int, Memory]:
    """Rows by number; those superseded after the revision as they were at it.

    What took their place may be on disk and not in sight yet: nobody shall see neither.
    """
    if Status.SUPERSEDED in where.statuses:
        return found
    late = [
        one.row
        for one in found.values()
        if one.status is Status.SUPERSEDED and one.revision > revision and may_see(one, agent_id)
    ]
    return found | rows.history.memories_after(revision, late) if late else found


def _since(memory: Memory) -> int:
    return memory.created_us if memory.last_access_us is None else memory.last_access_us


def get(
    state: CollectionState, rows: Rows, agent_id: str, ids: Sequence[str], follow_superseded: bool
) -> Gotten:
    """Memories by id in the order asked. One unknown id alone is `NotFound`."""
    revision = state.published.revision
    found, missing, redirects = [], [], []
    for memory_id in ids:
        memory = state.find(rows, memory_id, agent_id)
        if memory is None:
            missing.append(memory_id)
            continue
        head = state.head(rows, memory, agent_id) if follow_superseded else memory
        if head.row != memory.row:
            redirects.append((memory_id, head.id))
        found.append(head)
    if missing and len(ids) == 1:
        raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=missing[0])
    shown = tuple(state.shown(rows, found, agent_id))
    return Gotten(revision, shown, tuple(missing), tuple(redirects))


def check_page(page_size: int) -> None:
    """Raises `InvalidArgument` for a page size out of range."""
    validate.number(page_size, "page_size", 1, limits.PAGE_SIZE_MAX)


def scan(
    state: CollectionState,
    rows: Rows,
    agent_id: str,
    where: Filter,
    page_size: int,
    page_token: str,
    now_us: int,
) -> Page:
    """One page in the order of (created time, id)."""
    asked = ("list", plain.dumps(where))
    given = paging.position(page_token, (int, str), *asked)
    position = FROM_THE_START if given is None else cast(tuple[int, str], given)
    info = state.published
    index = state.index
    view = index.view()
    mask = masks.matching(index, view, where, agent_id, info.decay, now_us)
    wanted: list[tuple[int, int, str]] = []
    # One more than the page tells whether there is a next one.
    while len(wanted) <= page_size:
        step = rows.rows_by_time(position, _LIST_STEP)
        for row, created_us, memory_id in step:
            slot = index.slot_by_row.get(row, -1)
            if slot >= view.count:
                # Its newest version is not published yet; the one before it may be.
                slot = index.slot_in_view(row, view)
            if slot >= 0 and mask[slot]:
                wanted.append((row, created_us, memory_id))
        if len(step) < _LIST_STEP:
            break
        position = step[-1][1:]
    page = wanted[:page_size]
    found = rows.memories([row for row, _, _ in page])
    state.check_there(found, (row for row, _, _ in page))
    found = _while_chosen(rows, found, where, agent_id, info.revision)
    memories = [
        found[row]
        for row, _, _ in page
        if row in found and _still_shown(found[row], where, agent_id)
    ]
    return Page(
        revision=info.revision,
        memories=tuple(state.shown(rows, memories, agent_id)),
        next_page_token=paging.token(page[-1][1:], *asked) if len(wanted) > page_size else "",
    )


def figures(state: CollectionState) -> dict[str, Any]:
    """Figures of file and index. For the writer's thread."""
    view = state.index.view()
    status, kind, state_kind = (view.column(name) for name in ("status", "kind", "state_kind"))
    live = status == STATUSES[Status.ACTIVE]
    pairs = kind[live].astype(np.int64) * len(STATE_KINDS) + state_kind[live]
    counts = np.bincount(pairs, minlength=len(KINDS) * len(STATE_KINDS)).tolist()
    names = ["/".join(filter(None, pair)) for pair in itertools.product(KINDS, STATE_KINDS)]
    recall_at_k, rated_count = state.index.graph.recall_at_k()
    return {
        "revision": state.revision,
        "link_count": state.file.link_count(),
        "hnsw_count": state.index.graph.count,
        "recall_at_k": recall_at_k,
        "recall_rated_count": rated_count,
        "array_bytes": state.index.nbytes() + state.past.nbytes(),
        "active_count": int(np.count_nonzero(live)),
        "total_count": int(np.count_nonzero(status < STATUSES[Status.PURGED])),
        "forgotten_count": int(np.count_nonzero(status == STATUSES[Status.FORGOTTEN])),
        "kind_counts": {name: count for name, count in zip(names, counts, strict=True) if count},
    }
