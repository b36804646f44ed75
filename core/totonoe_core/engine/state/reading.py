"""Reads of one collection, on any thread with rows to read."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits, plain
from totonoe_core.base.errors import NotFound
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.decay import effective_confidence
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.queries import (
    FoldedHit,
    GetQuery,
    Gotten,
    Hit,
    ListQuery,
    Namespace,
    NamespacePage,
    NamespacePattern,
    NamespacesQuery,
    Page,
    Recalled,
    RecallQuery,
)
from totonoe_core.domain.records import Memory, Status
from totonoe_core.engine.state import open_questions, paging, sizes, unscored
from totonoe_core.engine.state.comparing import judgement_of
from totonoe_core.engine.state.known import KnownRelations
from totonoe_core.engine.state.sight import may_see
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index import masks
from totonoe_core.index.arrays import KINDS, STATE_KINDS, STATUSES, View
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.index.lexical import names_in
from totonoe_core.rules import validate
from totonoe_core.search.folding import Partners
from totonoe_core.search.newer import Hits, newer_first
from totonoe_core.search.recall import Candidates, RankedSlot, Ranks, rank
from totonoe_core.store.records import LikelyPair
from totonoe_core.store.seam import Rows

_LIST_STEP = 4096
FROM_THE_START = (-(2**62), "")
"""(created us, id) before every memory of a List."""


@dataclass(frozen=True, slots=True)
class EmbeddedQuery:
    """A query with its vector and the number of its model, or the reason why it has none."""

    query: RecallQuery
    vector: NDArray[np.float32] | None
    model_number: int
    degraded: str

    def of(self, model_number: int) -> EmbeddedQuery:
        """Return the query for an index of a model: without the vector if another model made it."""
        if self.vector is None or self.model_number == model_number:
            return self
        return replace(self, vector=None, degraded=_OTHER_MODEL)


_OTHER_MODEL = "the collection got another model meanwhile: found by words alone"


def recall(state: CollectionState, rows: Rows, asked: EmbeddedQuery, now_us: int) -> Recalled:
    """Rank slots and read their rows; memories hidden meanwhile are left out."""
    info = state.published
    revision = info.revision
    # Read once, so that all comparisons use one index, with the vectors of one model.
    index = state.index
    asked = asked.of(index.model_number)
    query, degraded = asked.query, asked.degraded
    view = index.view()

    def read(wanted: list[int]) -> list[Memory]:
        return _shown(state, rows, wanted, query.filter, query.agent_id, revision, now_us)

    diversity = query.diversity or info.diversity
    hits = HitMemories(
        index, query, diversity.enabled, read, known_of(state, index, rows, query.agent_id, now_us)
    )
    ranks = rank(
        index,
        view,
        index.graph,
        query,
        asked.vector,
        diversity,
        info.decay,
        now_us,
        hits.arrange,
        partners_by(rows.questions.among),
    )
    ranked = rows_of(ranks, view)
    shown = hits.of(ranked)
    also = folded(view, ranked.values(), read)
    return recalled(info, revision, ranks, ranked, shown, also, hits.known, degraded, now_us)


def known_of(
    state: CollectionState, index: CollectionIndex, rows: Rows, agent_id: str, now_us: int
) -> KnownRelations:
    """Return what is known now about the memories of an answer to an agent."""

    def read(wanted: list[int]) -> list[Memory]:
        there = [
            state.as_seen(memory, now_us)
            for memory in rows.memories(wanted).values()
            if memory.status is not Status.PURGED and may_see(memory, agent_id)
        ]
        return state.shown(rows, there, agent_id)

    return KnownRelations(index, state.published, rows, read, rows.questions.among)


def partners_by(among: Callable[[list[int]], Iterable[LikelyPair]]) -> Partners:
    """Return the partners of candidates, by the open questions among their rows."""

    def partners(view: View, slots: NDArray[np.int64]) -> Mapping[int, Sequence[int]]:
        rows = view.take("row", slots).tolist()
        slot_of = dict(zip(rows, slots.tolist(), strict=True))
        found: dict[int, list[int]] = {}
        for pair in among(rows):
            low, high = slot_of[pair.low], slot_of[pair.high]
            found.setdefault(low, []).append(high)
            found.setdefault(high, []).append(low)
        return found

    return partners


Also = dict[int, tuple[Memory, ...]]
"""The memories folded under each hit that are shown, by the hit's slot."""


def folded(
    view: View, hits: Iterable[RankedSlot], read: Callable[[list[int]], list[Memory]]
) -> Also:
    """Read the memories that hits carry besides themselves, all at once."""
    rows = {
        hit.slot: view.take("row", np.array(best, np.int64)).tolist()
        for hit in hits
        if (best := hit.also[: limits.FOLDED_HITS_MAX])
    }
    if not rows:
        return {}
    shown = {memory.row: memory for memory in read([row for some in rows.values() for row in some])}
    return {slot: tuple(shown[row] for row in some if row in shown) for slot, some in rows.items()}


class HitMemories:
    """Memories of hits, each read once, with what is known about them; sets their final order.

    Parameters
    ----------
    read : callable
        Takes row numbers and returns the memories as the caller may see them, with their links,
        without hidden ones.
    newer : bool
        Whether what replaces another hit is put before it.
    """

    def __init__(
        self,
        index: CollectionIndex,
        query: RecallQuery,
        newer: bool,
        read: Callable[[list[int]], list[Memory]],
        known: KnownRelations,
    ) -> None:
        self._index, self._query, self._newer = index, query, newer
        self._read = read
        self.known = known
        self._shown: dict[int, Memory] = {}

    def of(self, rows: Iterable[int]) -> list[Memory]:
        """Return memories of rows that `arrange` met, in the given order."""
        return [self._shown[row] for row in rows if row in self._shown]

    def arrange(self, view: View, candidates: Candidates, hits: Hits) -> Hits:
        """Return hits with each one after what replaces it, as far as the caller wants that."""
        if not self._newer:
            self._look_at(view.take("row", candidates.slots[[place for place, _ in hits]]).tolist())
            return hits

        def newer_than(slots: NDArray[np.int64]) -> dict[int, list[int]]:
            rows = view.take("row", slots).tolist()
            self._look_at(rows)
            return {
                slot: [self._slot(other, view) for other in newer]
                for slot, row in zip(slots.tolist(), rows, strict=True)
                if row in self._shown and (newer := self.known.newer_than(row))
            }

        def replaces(newer: int, older: int) -> bool:
            new, old = view.take("row", np.array([newer, older], np.int64)).tolist()
            return self.known.replaces(new, old, self._query.text)

        return newer_first(
            candidates.slots, candidates.relevance, hits, self._query.k, newer_than, replaces
        )

    def _look_at(self, rows: list[int]) -> None:
        memories = self._read(rows)
        self._shown |= {memory.row: memory for memory in memories}
        self.known.relate(memories)

    def _slot(self, row: int, view: View) -> int:
        """Return the slot of a row in a view, or -1."""
        slot = self._index.slot_by_row.get(row, -1)
        # Its newest version is not published yet, but an earlier one may be.
        return slot if slot < view.count else self._index.slot_in_view(row, view)


def rows_of(ranks: Ranks, view: View) -> dict[int, RankedSlot]:
    """Return the hits by row number, in their order."""
    slots = np.array([hit.slot for hit in ranks.hits], np.int64)
    ranked: dict[int, RankedSlot] = {}
    for row, hit in zip(view.take("row", slots).tolist(), ranks.hits, strict=True):
        ranked.setdefault(row, hit)
    return ranked


def recalled(
    info: CollectionInfo,
    revision: int,
    ranks: Ranks,
    ranked: Mapping[int, RankedSlot],
    shown: Sequence[Memory],
    also: Also,
    known: KnownRelations,
    degraded: str,
    now_us: int,
) -> Recalled:
    """Return the answer of a Recall, with the ranked memories that may be shown."""
    decay = info.decay
    base = np.array([memory.fields.confidence for memory in shown])
    since = np.array([_since(memory) for memory in shown], np.int64)
    kinds = [(memory.fields.kind, memory.fields.state_kind) for memory in shown]
    rate_of = {pair: decay.rate_of(*pair) for pair in set(kinds)}
    rates = np.array([rate_of[pair] for pair in kinds])
    effective = effective_confidence(base, since, decay, now_us, rates)
    hits = tuple(
        Hit(
            memory=memory,
            relevance=hit.relevance,
            context=hit.context,
            cosine_similarity=hit.cosine_similarity,
            lexical_similarity=hit.lexical_similarity,
            vector_rank=hit.vector_rank,
            lexical_rank=hit.lexical_rank,
            fused_rank=hit.fused_rank,
            diversity=hit.diversity,
            effective_confidence=confidence,
            also=tuple(
                FoldedHit(other, judgement_of(info, memory, other))
                for other in also.get(hit.slot, ())
            ),
            also_count=len(hit.also),
            updated_by=updated_by,
            contradicted_by=contradicted_by,
            outdated=outdated,
        )
        for memory, confidence in zip(shown, effective.tolist(), strict=True)
        for hit in (ranked[memory.row],)
        for updated_by, contradicted_by, outdated in (known.others(memory.row, now_us),)
    )
    return Recalled(
        revision=revision,
        hits=hits,
        arms=ranks.arms,
        degraded_because=degraded,
        vector_search=ranks.vector_search,
        filtered_count=ranks.filtered_count,
    )


def _still_shown(memory: Memory, where: Filter, agent_id: str) -> bool:
    """Return whether a row, read after its slot was chosen, is still visible."""
    if memory.status is Status.PURGED or not may_see(memory, agent_id):
        return False
    return memory.status in (where.statuses or (Status.ACTIVE,))


def _while_chosen(
    rows: Rows, memories: dict[int, Memory], where: Filter, agent_id: str, revision: int
) -> dict[int, Memory]:
    """Return rows by number; those superseded after the revision as they were at it.

    Their successors may be on disk and not visible yet: a caller must see one of both.
    """
    if Status.SUPERSEDED in where.statuses:
        return memories
    late = [
        memory.row
        for memory in memories.values()
        if memory.status is Status.SUPERSEDED
        and memory.revision > revision
        and may_see(memory, agent_id)
    ]
    return memories | rows.history.memories_after(revision, late) if late else memories


def _since(memory: Memory) -> int:
    return memory.created_us if memory.last_access_us is None else memory.last_access_us


def get(state: CollectionState, rows: Rows, query: GetQuery, now_us: int) -> Gotten:
    """Return memories by id in the order of the request. One unknown id alone is `NotFound`."""
    agent_id, ids = query.agent_id, query.ids
    revision = state.published.revision
    found, missing, redirects = [], [], []
    for memory_id in ids:
        memory = state.find(rows, memory_id, agent_id)
        if memory is None:
            missing.append(memory_id)
            continue
        head = state.head(rows, memory, agent_id) if query.follow_superseded else memory
        if head.row != memory.row:
            redirects.append((memory_id, head.id))
        found.append(state.as_seen(head, now_us))
    if missing and len(ids) == 1:
        raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=missing[0])
    shown = tuple(state.shown(rows, found, agent_id))
    return Gotten(revision, shown, tuple(missing), tuple(redirects))


def namespaces(state: CollectionState, query: NamespacesQuery, now_us: int) -> NamespacePage:
    """Return the distinct namespaces of the memories that meet a filter, by columns alone."""
    info, index = state.published, state.index
    view = index.view()
    where = _within(query.filter, query.patterns)
    mask = masks.matching(index, view, where, query.agent_id, info.decay, now_us)
    codes, counts = np.unique(view.column("namespace")[mask], return_counts=True)
    found: Counter[tuple[str, ...]] = Counter()
    for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
        names = names_in(index.arrays.namespaces.name(code))
        if names and all(_meets(names, pattern) for pattern in query.patterns):
            found[names[: query.max_depth or None]] += count
    page = sorted(found)[query.offset : query.offset + query.limit]
    shown = tuple(Namespace(names, found[names]) for names in page)
    return NamespacePage(info.revision, shown, len(found))


def _within(where: Filter, patterns: Sequence[NamespacePattern]) -> Filter:
    """Return a filter that also has the plain first names of a pattern: fewer names are read."""
    heads = [
        tuple(itertools.takewhile(lambda name: name != "*", pattern.names))
        for pattern in patterns
        if not pattern.at_end
    ]
    longest = max(heads, key=len, default=())
    # A prefix that contradicts the filter's own leaves nothing in any case.
    if len(longest) <= len(where.namespace_prefix):
        return where
    if longest[: len(where.namespace_prefix)] != where.namespace_prefix:
        return where
    return replace(where, namespace_prefix=longest)


def _meets(names: tuple[str, ...], pattern: NamespacePattern) -> bool:
    count = len(pattern.names)
    if count > len(names):
        return False
    part = names[len(names) - count :] if pattern.at_end else names[:count]
    return all(asked in ("*", name) for asked, name in zip(pattern.names, part, strict=True))


def check_page(page_size: int) -> None:
    """Raise `InvalidArgument` for a page size out of range."""
    validate.number(page_size, "page_size", 1, limits.PAGE_SIZE_MAX)


def scan(state: CollectionState, rows: Rows, query: ListQuery, now_us: int) -> Page:
    """Return one page in the order of (created time, id)."""
    agent_id, where, page_size = query.agent_id, query.where, query.page_size
    asked = ("list", plain.dumps(where))
    given = paging.position(query.page_token, (int, str), *asked)
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
                # Its newest version is not published yet, but an earlier one may be.
                slot = index.slot_in_view(row, view)
            if slot >= 0 and mask[slot]:
                wanted.append((row, created_us, memory_id))
        if len(step) < _LIST_STEP:
            break
        position = step[-1][1:]
    page = wanted[:page_size]
    room = sizes.Room()
    memories: list[Memory] = []
    kept = 0
    for start in range(0, len(page), limits.PAGE_ROWS_READ):
        part = [row for row, _, _ in page[start : start + limits.PAGE_ROWS_READ]]
        read = _shown(state, rows, part, where, agent_id, info.revision, now_us)
        shown = {memory.row: memory for memory in read}
        for row in part:
            memory = shown.get(row)
            if memory is not None:
                if not room.takes(sizes.memory_bytes(memory, query.include_vectors)):
                    break
                memories.append(memory)
            kept += 1
        if kept < start + len(part):
            break
    return Page(
        revision=info.revision,
        memories=tuple(memories),
        next_page_token=paging.token(page[kept - 1][1:], *asked) if kept < len(wanted) else "",
    )


def _shown(
    state: CollectionState,
    rows: Rows,
    wanted: Sequence[int],
    where: Filter,
    agent_id: str,
    revision: int,
    now_us: int,
) -> list[Memory]:
    """Return memories of rows chosen by a filter at a revision, without those hidden meanwhile."""
    memories = rows.memories(wanted)
    state.check_there(memories, wanted)
    memories = _while_chosen(rows, memories, where, agent_id, revision)
    seen = {row: state.as_seen(memory, now_us) for row, memory in memories.items()}
    kept = [seen[row] for row in wanted if row in seen and _still_shown(seen[row], where, agent_id)]
    return state.shown(rows, kept, agent_id)


def figures(state: CollectionState, agent_id: str | None) -> dict[str, Any]:
    """Return figures of file and index. For the writer's thread.

    Private memories and their links count for their own agent only; `None` counts all.
    """
    view = state.index.view()
    status, kind, state_kind = (view.column(name) for name in ("status", "kind", "state_kind"))
    counted = status < STATUSES[Status.PURGED]
    hidden_rows: list[int] = []
    if agent_id is not None:
        readable = masks.readable(view, state.index.arrays.agents.find(agent_id))
        hidden_rows = view.column("row")[counted & ~readable].tolist()
        counted &= readable
    live = counted & (status == STATUSES[Status.ACTIVE])
    pairs = kind[live].astype(np.int64) * len(STATE_KINDS) + state_kind[live]
    counts = np.bincount(pairs, minlength=len(KINDS) * len(STATE_KINDS)).tolist()
    names = ["/".join(filter(None, pair)) for pair in itertools.product(KINDS, STATE_KINDS)]
    waiting = unscored.slots(state.index, view, unscored.ranges(state.file.rows))
    recall_at_k, rated_count = state.index.graph.recall_at_k()
    return {
        "revision": state.revision,
        "link_count": state.file.link_count(hidden_rows),
        "hnsw_count": state.index.graph.count,
        "recall_at_k": recall_at_k,
        "recall_rated_count": rated_count,
        "recall_low": state.index.graph.recall_low,
        "array_bytes": state.index.nbytes() + state.past.nbytes(),
        "active_count": int(np.count_nonzero(live)),
        "open_question_count": open_questions.count(state.file.rows, agent_id),
        "unscored_count": int(np.count_nonzero(counted[waiting])),
        "total_count": int(np.count_nonzero(counted)),
        "forgotten_count": int(np.count_nonzero(counted & (status == STATUSES[Status.FORGOTTEN]))),
        "kind_counts": {name: count for name, count in zip(names, counts, strict=True) if count},
    }
