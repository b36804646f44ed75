"""Near pairs of one collection for one agent: joins, filters, and the messages on pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.base.clock import Clock
from totonoe_core.domain.consolidate import ConsolidateQuery, MergeCandidate, MergeCluster
from totonoe_core.domain.records import Memory, Status, Verdict
from totonoe_core.engine.state.comparing import judgement_at
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index import masks
from totonoe_core.index.arrays import RETIRED, STATE_KINDS, STATUSES
from totonoe_core.index.collection_index import text_hash
from totonoe_core.joins.cosine import cosine_steps, pair_count
from totonoe_core.joins.jaccard import jaccard_steps
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.kernels.jaccard import jaccard_pair
from totonoe_core.rules import consolidate
from totonoe_core.rules.consolidate import Nearest, Pair, keeper
from totonoe_core.store.reader import ReaderPool, Rows
from totonoe_core.text.normalize import snippet

_HOUR_US = 3_600_000_000
_SCORED_AT_ONCE = 4096
_ROUGHLY = 1e-4
"""Error bound of a distance in float32."""

Slots = NDArray[np.int64]


class PairSearch:
    """The second phase of one Consolidate. One thread at a time.

    Attributes
    ----------
    revision : int
        Revision of its view, or an earlier one.
    scanned_count, total_count : int
        Pairs compared so far, and in all; once for each join.
    pair_count : int
        Valid pairs found, kept or not.
    memory_count : int
        Memories compared.
    """

    def __init__(
        self,
        state: CollectionState,
        readers: ReaderPool,
        query: ConsolidateQuery,
        clock: Clock,
    ) -> None:
        self._state = state
        self._readers = readers
        self._query = query
        # Before the view: later memories are then reported twice rather than left out.
        self.revision = state.published.revision
        self._info = state.published
        self._index = state.index
        self._view = self._index.view()
        self._now_us = clock()
        self._limit = query.max_merge_candidates or limits.MERGE_CANDIDATES_MAX
        self._nearest = Nearest(self._limit, np.zeros(0, np.int64))
        self._verdicts: dict[Pair, Verdict] = {}
        self.scanned_count = self.total_count = self.pair_count = self.memory_count = 0

    @property
    def newest_revision(self) -> int:
        """The collection's newest revision now."""
        return self._state.published.revision

    # -- The joins

    def steps(self) -> Iterator[list[Pair]]:
        """Search for pairs; yield, after each product, those among the nearest so far."""
        view, query = self._view, self._query
        live = masks.of_status(view, (Status.ACTIVE,))
        live &= masks.readable(view, self._index.arrays.agents.find(query.agent_id))
        live &= masks.compared(self._index, view)
        state_kind = view.column("state_kind")
        groups = [np.flatnonzero(live & (state_kind == code)) for code in STATE_KINDS.values()]
        groups = [slots for slots in groups if len(slots) > 1]
        self.memory_count = int(np.count_nonzero(live))
        self._nearest = Nearest(self._limit, self._ranks(np.flatnonzero(live)))
        recent = np.ones(view.count, np.bool_)
        if query.window_hours:
            since_us = self._now_us - int(query.window_hours * _HOUR_US)
            recent = view.column("created") >= since_us
        changed = self._changed()
        joins = [(slots, *_narrower(slots, recent, changed)) for slots in groups]
        each = [pair_count(len(slots), len(some)) for slots, some, _ in joins]
        self.total_count = sum(each) * (1 if query.jaccard_above is None else 2)
        yield []
        for slots, some, either in joins:
            steps = cosine_steps(view, slots, query.distance_below, changed=some.tolist())
            for step in steps:
                self.scanned_count += step.looked_count
                found = step.pairs
                yield [] if found is None else self._take(found.a, found.b, found.distance, either)
        if query.jaccard_above is None:
            return
        for (slots, some, either), pairs in zip(joins, each, strict=True):
            before = self.scanned_count
            for share in jaccard_steps(view, slots, query.jaccard_above, changed=some.tolist()):
                # Later rows are compared with all before them.
                self.scanned_count = before + int(pairs * share.done**2)
                found_by_words = share.pairs
                if found_by_words is None:
                    yield []
                else:
                    yield self._take_by_words(found_by_words.a, found_by_words.b, either)
            self.scanned_count = before + pairs

    def _ranks(self, slots: Slots) -> NDArray[np.int64]:
        """Return the place of each slot's id among the ids of all of them."""
        bits = self._view.take("id_bits", slots)
        if bits.all():
            order = np.argsort(bits)
        else:  # an id of another form, which the column does not hold
            rows = self._view.take("row", slots).tolist()
            with self._readers.rows() as read:
                ids = {row: memory.id for row, memory in read.memories(rows).items()}
            order = np.array(sorted(range(len(rows)), key=lambda at: ids[rows[at]]), np.int64)
        rank = np.zeros(self._view.count, np.int64)
        rank[slots[order]] = np.arange(len(slots))
        return rank

    def _changed(self) -> NDArray[np.bool_] | None:
        """Return the slots changed after the caller's revision; `None` if the caller names none."""
        if not self._query.since_revision:
            return None
        with self._readers.rows() as rows:
            changed = rows.rows_after(self._query.since_revision)
        mask: NDArray[np.bool_] = np.isin(self._view.column("row"), changed)
        return mask

    def _take(
        self,
        a: Slots,
        b: Slots,
        distance: NDArray[np.float64],
        either: NDArray[np.bool_] | None,
    ) -> list[Pair]:
        if either is not None:
            counts = either[a] | either[b]
            a, b, distance = a[counts], b[counts], distance[counts]
        self.pair_count += len(a)
        return self._nearest.add(a, b, distance, self._asked_out)

    def _take_by_words(self, a: Slots, b: Slots, either: NDArray[np.bool_] | None) -> list[Pair]:
        """Take pairs that the words found and the distance did not."""
        new: list[Pair] = []
        for begin in range(0, len(a), _SCORED_AT_ONCE):
            one, other = a[begin : begin + _SCORED_AT_ONCE], b[begin : begin + _SCORED_AT_ONCE]
            left, right = self._view.vectors(one), self._view.vectors(other)
            rough = 1.0 - np.einsum("ij,ij->i", left, right)
            distance = rough.astype(np.float64)
            # Exact where it matters: at the other join's threshold, and for kept pairs.
            decides = rough < max(self._query.distance_below, self._nearest.bound) + _ROUGHLY
            for at in np.flatnonzero(decides).tolist():
                distance[at] = 1.0 - similarity64(left[at], right[at])
            by_words = distance >= self._query.distance_below
            new += self._take(one[by_words], other[by_words], distance[by_words], either)
        kept = set(self._nearest.kept())
        return [pair for pair in new if pair in kept]

    def _asked_out(self, pairs: Sequence[Pair]) -> set[Pair]:
        with self._readers.rows() as rows:
            return self._out(rows, pairs)

    def _out(self, read: Rows, pairs: Sequence[Pair]) -> set[Pair]:
        """Return the pairs that are no candidates: dismissed, or with a side that is not live."""
        slots = np.array(pairs, np.int64)
        status = self._view.take("status", slots.ravel()).reshape(-1, 2)
        live = np.isin(status, (STATUSES[Status.ACTIVE], RETIRED))
        gone = {pair for pair, sides in zip(pairs, live.tolist(), strict=True) if not all(sides)}
        rows = self._view.take("row", slots.ravel()).reshape(-1, 2).tolist()
        by_rows = {(a, b): pair for (a, b), pair in zip(rows, pairs, strict=True)}
        return gone | {by_rows[one] for one in read.dismissed(by_rows)}

    # -- Messages on pairs

    def kept(self) -> list[Pair]:
        """Return the nearest pairs, nearest first."""
        return self._nearest.kept()

    def candidates(self, pairs: Sequence[Pair]) -> Iterator[MergeCandidate]:
        """Yield candidates of pairs, without those that have changed or were dismissed."""
        with self._readers.rows() as rows:
            memories = self._memories(rows, pairs)
            out = self._out(rows, pairs) if pairs else set()
        # Without the connection: comparing texts takes long.
        for pair in pairs:
            if pair not in out and memories.keys() >= set(pair):
                yield self._candidate(pair, memories[pair[0]], memories[pair[1]])

    def _memories(self, rows: Rows, pairs: Sequence[Pair]) -> dict[int, Memory]:
        """Return memories by slot, with their access count, if unchanged since the slot."""
        slots = np.array(sorted({slot for pair in pairs for slot in pair}), np.int64)
        numbers = self._view.take("row", slots).tolist()
        hashes = self._view.take("text_hash", slots).tolist()
        read = rows.memories(numbers)
        found = {}
        for slot, row, hashed in zip(slots.tolist(), numbers, hashes, strict=True):
            memory = read.get(row)
            if memory is None or memory.status is not Status.ACTIVE:
                continue
            if memory.fields.private and memory.agent_id != self._query.agent_id:
                continue
            if text_hash(memory.content_hash) != hashed:
                continue
            newest = self._index.slot_by_row.get(row, slot)
            count = int(self._index.arrays.writer_view().value("access_count", newest))
            found[slot] = replace(memory, access_count=count)
        return found

    def _candidate(self, pair: Pair, one: Memory, other: Memory) -> MergeCandidate:
        view, info = self._view, self._info
        slot_a, slot_b = pair
        slots = np.array(pair, np.int64)
        similarity = similarity64(*view.vectors(slots))
        jaccard = jaccard_pair(view.tokens(slot_a), view.tokens(slot_b))
        a, b = sorted((one, other), key=lambda memory: (memory.created_us, memory.id))
        by_vectors = bool(view.has_vector(slots).all())
        judgement = judgement_at(
            info, b.content, a.content, similarity if by_vectors else jaccard, by_vectors
        )
        self._verdicts[pair] = judgement.verdict
        keep, because = keeper(a, b, judgement.verdict)
        return MergeCandidate(
            memory_a_id=a.id,
            memory_b_id=b.id,
            revision_a=a.revision,
            revision_b=b.revision,
            distance=1.0 - similarity,
            jaccard_similarity=jaccard,
            judgement=judgement,
            keep_id=keep.id,
            keep_because=because,
            snippet_a=snippet(a.content, limits.CANDIDATE_SNIPPET_CHARS),
            snippet_b=snippet(b.content, limits.CANDIDATE_SNIPPET_CHARS),
        )

    def clusters(self) -> list[MergeCluster]:
        """Return groups among the kept pairs."""
        kept = self._nearest.kept()
        for _ in self.candidates([pair for pair in kept if pair not in self._verdicts]):
            """It notes the verdict."""
        with self._readers.rows() as rows:
            memories = self._memories(rows, kept)
            out = self._out(rows, kept) if kept else set()
        pairs = [
            (memories[a].row, memories[b].row, self._verdicts[a, b])
            for a, b in kept
            if (a, b) not in out and (a, b) in self._verdicts and a in memories and b in memories
        ]
        return consolidate.clusters(pairs, list(memories.values()))


def _narrower(
    slots: Slots, recent: NDArray[np.bool_], changed: NDArray[np.bool_] | None
) -> tuple[Slots, NDArray[np.bool_] | None]:
    """Narrow the slots to compare, and the mask that one side of a pair must meet."""
    some = slots[recent[slots]]
    if changed is None:
        return some, None
    others = slots[changed[slots]]
    return (some, changed) if len(some) <= len(others) else (others, recent)
