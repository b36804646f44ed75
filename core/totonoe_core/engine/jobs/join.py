"""Near pairs among some slots of one view, found a product at a time, once for all who ask.

    Question   what a Consolidate asks, whoever asks it
    Scope      what one caller may see at one moment, and what its question narrows it to
    Join       the pairs of a question, among public slots or with one side among a caller's own

A Join over public slots reads nothing that is private, so every caller may share it. Its pairs are
those of any later scope in which its slots still stand as they were (`serves`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.consolidate import ConsolidateQuery
from totonoe_core.domain.records import Status
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.guard.verdict import Comparison
from totonoe_core.index import masks
from totonoe_core.index.arrays import RETIRED, STATE_KINDS, STATUSES, View
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.index.masks import Mask
from totonoe_core.joins.cosine import cosine_steps, pair_count
from totonoe_core.joins.jaccard import jaccard_steps
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.rules.consolidate import Near, Nearest, Pair
from totonoe_core.store.seam import ReaderPool, Rows

_HOUR_US = 3_600_000_000
_SCORED_AT_ONCE = 4096
_ROUGHLY = 1e-4
"""Error bound of a distance in float32."""

Slots = NDArray[np.int64]
_READ_FOR_EACH = 8
"""Near pairs that are read for each that is answered: of the nearest, many certainly differ."""


@dataclass(frozen=True, slots=True)
class Question:
    """The part of a ConsolidateQuery that does not depend on its caller; `limit` pairs are kept."""

    distance_below: float
    jaccard_above: float | None
    window_hours: float
    since_revision: int
    limit: int

    @classmethod
    def of(cls, query: ConsolidateQuery) -> Question:
        """Return the question of a query."""
        return cls(
            query.distance_below,
            query.jaccard_above,
            query.window_hours,
            query.since_revision,
            min(
                (query.max_merge_candidates or limits.MERGE_CANDIDATES_MAX) * _READ_FOR_EACH,
                limits.MERGE_CANDIDATES_MAX,
            ),
        )


class Scope:
    """Holds the view of a caller on a collection at one moment. Immutable.

    Attributes
    ----------
    revision : int
        Revision of the view, or an earlier one.
    live : bool[n]
        Slots that are compared, public and the caller's own.
    public : bool[n]
        Those that everybody sees.
    narrow : list of bool[n]
        Each pair needs a side in each of them: created in the window, changed since a revision.
    """

    def __init__(
        self, state: CollectionState, readers: ReaderPool, query: ConsolidateQuery, now_us: int
    ) -> None:
        # Before the view: later memories are then reported twice rather than left out.
        self.revision = state.published.revision
        self.info: CollectionInfo = state.published
        self.index: CollectionIndex = state.index
        self.view: View = self.index.view()
        view = self.view
        live = masks.of_status(view, (Status.ACTIVE,))
        live &= masks.compared(self.index, view)
        self.public: Mask = live & (view.column("private") == 0)
        self.live: Mask = live & masks.readable(view, self.index.arrays.agents.find(query.agent_id))
        self.narrow: list[Mask] = []
        if query.window_hours:
            since_us = now_us - int(query.window_hours * _HOUR_US)
            self.narrow.append(view.column("created") >= since_us)
        if query.since_revision:
            with readers.rows() as rows:
                changed = rows.rows_after(query.since_revision)
            self.narrow.append(np.isin(view.column("row"), changed))


class ComparisonCache:
    """Comparisons of pairs, which quote texts. Safe from any thread.

    `turn` counts how often it was emptied: what was read in an earlier turn is not kept.
    """

    def __init__(self) -> None:
        self.turn = 0
        self._by_pair: dict[Pair, Comparison] = {}
        self._lock = threading.Lock()

    def get(self, pair: Pair) -> Comparison | None:
        """Return the comparison of a pair, if it is kept."""
        return self._by_pair.get(pair)

    def put(self, pair: Pair, compared: Comparison, turn: int) -> None:
        """Keep a comparison of texts that were read in a turn."""
        with self._lock:
            if turn == self.turn and len(self._by_pair) < limits.PROVISIONAL_CANDIDATES_MAX:
                self._by_pair[pair] = compared

    def forget(self) -> None:
        """Drop all of them."""
        with self._lock:
            self.turn += 1
            self._by_pair.clear()


class Join:
    """The pairs of a question in a scope. One thread at a time, whoever it belongs to.

    Parameters
    ----------
    among : bool[n]
        Slots to compare.
    own : bool[n], optional
        Each pair needs a side among these.

    Attributes
    ----------
    found : list of Near
        Pairs that were among the nearest when they were found, in the order of finding;
        PROVISIONAL_CANDIDATES_MAX at most.
    nearest : Nearest
        The nearest of all pairs so far.
    rank : int32[n]
        Place of each slot's id among the ids of all slots to compare; set by the first `advance`.
    judged : ComparisonCache
        Comparisons of its pairs.
    scanned_count, total_count : int
        Pairs compared so far, and in all; once for each of the two measures.
    pair_count : int
        Valid pairs found, kept or not.
    """

    def __init__(
        self,
        readers: ReaderPool,
        scope: Scope,
        question: Question,
        among: Mask,
        own: Mask | None = None,
    ) -> None:
        self.question = question
        self.scope = scope
        self.among = among
        self.rank = np.zeros(0, np.int32)
        self.nearest = Nearest(question.limit, self.rank)
        self.found: list[Near] = []
        self.judged = ComparisonCache()
        self.scanned_count = self.total_count = self.pair_count = 0
        self._found_count = 0
        self._readers = readers
        self._needed = scope.narrow if own is None else [own, *scope.narrow]
        self._failure: BaseException | None = None
        self._steps = self._run()

    def serves(self, scope: Scope, question: Question) -> bool:
        """Return whether a search in a later scope would find the same pairs among its slots.

        So it is if nothing that it compared went, left the window or changed since, no pair was
        dismissed, and texts are judged by the same settings.
        """
        mine, size = self.scope, len(self.among)
        if (
            self._failure is not None
            or question != self.question
            or scope.index is not mine.index
            or len(scope.live) < size
            or _judging(scope.info) != _judging(mine.info)
            or bool((self.among & ~scope.live[:size]).any())
        ):
            return False
        narrow = zip(mine.narrow, scope.narrow, strict=True)
        if any(bool(((before != now[:size]) & self.among).any()) for before, now in narrow):
            return False
        with self._readers.rows() as rows:
            return not rows.dismissals_changed(mine.revision)

    def advance(self) -> bool:
        """Compute one product; return false if there was none left.

        Raises again what ended it before.
        """
        if self._failure is not None:
            raise self._failure
        try:
            return next(self._steps, None) is not None
        except BaseException as error:
            self._failure = error
            raise

    def _run(self) -> Iterator[bool]:
        """Search for pairs; yield after each product."""
        view, question = self.scope.view, self.question
        live = np.flatnonzero(self.among)
        self.rank = self._ranks(live)
        self.nearest = Nearest(question.limit, self.rank)
        state_kind = view.take("state_kind", live)
        groups = [live[state_kind == code] for code in STATE_KINDS.values()]
        joins = [(slots, *_narrowest(slots, self._needed)) for slots in groups if len(slots) > 1]
        joins = [join for join in joins if len(join[1])]
        each = [pair_count(len(slots), len(some)) for slots, some, _ in joins]
        self.total_count = sum(each) * (1 if question.jaccard_above is None else 2)
        yield True
        for slots, some, needed in joins:
            changed = None if len(some) == len(slots) else some.tolist()
            for step in cosine_steps(view, slots, question.distance_below, changed=changed):
                self.scanned_count += step.looked_count
                found = step.pairs
                if found is not None:
                    self._note(self._take(found.a, found.b, found.distance, needed))
                yield True
        if question.jaccard_above is None:
            return
        for (slots, some, needed), pairs in zip(joins, each, strict=True):
            changed = None if len(some) == len(slots) else some.tolist()
            before = self.scanned_count
            for share in jaccard_steps(view, slots, question.jaccard_above, changed=changed):
                # Later rows are compared with all before them.
                self.scanned_count = before + int(pairs * share.done**2)
                by_words = share.pairs
                if by_words is not None:
                    self._take_by_words(by_words.a, by_words.b, needed)
                yield True
            self.scanned_count = before + pairs

    def _ranks(self, slots: Slots) -> NDArray[np.int32]:
        """Return the place of each slot's id among the ids of all of them."""
        bits = self.scope.view.take("id_bits", slots)
        if bits.all():
            order = np.argsort(bits)
        else:  # an id of another form, which the column does not hold
            rows = self.scope.view.take("row", slots).tolist()
            with self._readers.rows() as read:
                ids = {row: memory.id for row, memory in read.memories(rows).items()}
            order = np.array(sorted(range(len(rows)), key=lambda at: ids[rows[at]]), np.int64)
        rank = np.zeros(len(self.among), np.int32)
        rank[slots[order]] = np.arange(len(slots), dtype=np.int32)
        return rank

    def _note(self, near: Near) -> None:
        room = limits.PROVISIONAL_CANDIDATES_MAX - self._found_count
        near = near.some(slice(room))
        if len(near.a):
            self._found_count += len(near.a)
            self.found.append(near)

    def _take(
        self, a: Slots, b: Slots, distance: NDArray[np.float64], needed: Sequence[Mask]
    ) -> Near:
        for mask in needed:
            counts = mask[a] | mask[b]
            a, b, distance = a[counts], b[counts], distance[counts]
        self.pair_count += len(a)
        return self.nearest.add(a, b, distance, self._asked_out)

    def _take_by_words(self, a: Slots, b: Slots, needed: Sequence[Mask]) -> None:
        """Take pairs that the words found and the distance did not."""
        view, below = self.scope.view, self.question.distance_below
        new: list[Near] = []
        for begin in range(0, len(a), _SCORED_AT_ONCE):
            one, other = a[begin : begin + _SCORED_AT_ONCE], b[begin : begin + _SCORED_AT_ONCE]
            left, right = view.vectors(one), view.vectors(other)
            rough = 1.0 - np.einsum("ij,ij->i", left, right)
            distance = rough.astype(np.float64)
            # Exact where it matters: at the other join's threshold, and for kept pairs.
            decides = rough < max(below, self.nearest.bound) + _ROUGHLY
            for at in np.flatnonzero(decides).tolist():
                distance[at] = 1.0 - similarity64(left[at], right[at])
            by_words = distance >= below
            new.append(self._take(one[by_words], other[by_words], distance[by_words], needed))
        kept = set(self.nearest.kept().pairs())
        for near in new:
            still = [at for at, pair in enumerate(near.pairs()) if pair in kept]
            self._note(near.some(still))

    def _asked_out(self, pairs: Sequence[Pair]) -> set[Pair]:
        with self._readers.rows() as rows:
            return no_candidates(self.scope.view, rows, pairs)


def _judging(info: CollectionInfo) -> tuple[object, ...]:
    return info.guard, info.calibration, info.model


def no_candidates(view: View, read: Rows, pairs: Sequence[Pair]) -> set[Pair]:
    """Return the pairs that are no candidates: dismissed, or with a side that is not live."""
    slots = np.array(pairs, np.int64)
    status = view.take("status", slots.ravel()).reshape(-1, 2)
    live = np.isin(status, (STATUSES[Status.ACTIVE], RETIRED))
    gone = {pair for pair, sides in zip(pairs, live.tolist(), strict=True) if not all(sides)}
    rows = view.take("row", slots.ravel()).reshape(-1, 2).tolist()
    by_rows = {(a, b): pair for (a, b), pair in zip(rows, pairs, strict=True)}
    return gone | {by_rows[pair] for pair in read.dismissed(by_rows)}


def _narrowest(slots: Slots, needed: Sequence[Mask]) -> tuple[Slots, list[Mask]]:
    """Return the fewest slots of which each pair needs one, and what else each pair needs."""
    if not needed:
        return slots, []
    some = [slots[mask[slots]] for mask in needed]
    at = min(range(len(some)), key=lambda number: len(some[number]))
    return some[at], [mask for number, mask in enumerate(needed) if number != at]
