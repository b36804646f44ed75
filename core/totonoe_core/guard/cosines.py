"""Similarities of memories to one vector, computed only as far as the guard needs them.

Small collections are scored in full, once. With a prefix, one prefix scan finds all slots that
reach the lowest similarity at which the policy reads, shows, links or refuses. Where a policy shows
what is too far for such a scan, the graph nominates these neighbours. `similarity64` decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from totonoe_core.guard.prefetched import PrefetchedScan, Similarities
from totonoe_core.index.arrays import View
from totonoe_core.index.chunks import by_chunk
from totonoe_core.index.hnsw import Graph
from totonoe_core.index.prefix import SLACK, Prefix, Reaching
from totonoe_core.index.selection import Selection
from totonoe_core.kernels.cosine import dot_rows, similarity64_rows

PRUNES_FROM = 0.65
"""Below this similarity the prefix scan rules out too few rows.

For one vector among 100,000 it then costs more than a search of the graph, and for each of 32 more
than two thirds of a full product.
"""
_EF = 64
"""The graph's ef for neighbours, which are only shown and linked.

At 100,000 it finds 99.4 % of the nearest five for 0.17 ms, where Recall's finds all for 0.45.
"""
_OVERFETCH = (16, 112)
"""Extra slots to request from the graph, and a larger number if that is not enough.

Some of its slots are dead or not visible. The cost grows with the number.
"""


def suffices(prefix: Prefix | None, graph: Graph | None, near_from: float) -> bool:
    """Return whether no slot has to be scored in full.

    A prefix scan reaches as far as `near_from`, or the graph nominates what is farther.
    """
    if prefix is None or not prefix.built:
        return False
    return near_from >= PRUNES_FROM or bool(graph and graph.count)


def similarities(view: View, query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the float32 similarity of every slot: one matrix-vector product for each chunk."""
    out = np.empty(view.count, np.float32)
    for base, size, chunk in view.parts():
        np.dot(chunk.vectors[:size], query, out=out[base : base + size])
    return out


def similarities_from(view: View, query: NDArray[np.float32], first: int) -> NDArray[np.float32]:
    """Return the float32 similarity of every slot from `first` on: float32[view.count - first]."""
    out = np.empty(max(0, view.count - first), np.float32)
    for base, size, chunk in view.parts():
        begin = max(first - base, 0)
        if begin < size:
            where = slice(base + begin - first, base + size - first)
            np.dot(chunk.vectors[begin:size], query, out=out[where])
    return out


def similarities_at(
    view: View, query: NDArray[np.float32], slots: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the float32 similarity of ascending slots to a query."""
    out = np.empty(len(slots), np.float32)
    for where, rows, chunk in by_chunk(view, slots):
        dot_rows(chunk.vectors, rows, query, out[where])
    return out


def similarities64_at(
    view: View, query: NDArray[np.float32], slots: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the float64 similarity of ascending slots to a query."""
    out = np.empty(len(slots), np.float64)
    for where, rows, chunk in by_chunk(view, slots):
        similarity64_rows(chunk.vectors, rows, query, out[where])
    return out


class Cosines:
    """Similarities of a view's slots to one query.

    Parameters
    ----------
    visible : Selection
        Every mask that is asked for lies within this one.
    near_from : float
        Lowest similarity that `nearest` is asked for; above 1 if it is not called.
    prefix, graph : Prefix, Graph or None
        Of the view's arrays. All slots are scored unless the prefix is built and reaches as far as
        `near_from`, or the graph is built too.
    scanned : PrefetchedScan or None
        Result of a prefetched scan for this query.
    known : float32[count] or None
        Similarities of the first slots, if a prefetched scan scored all.
    """

    def __init__(
        self,
        view: View,
        query: NDArray[np.float32],
        visible: Selection,
        near_from: float,
        prefix: Prefix | None,
        graph: Graph | None,
        scanned: PrefetchedScan | None = None,
        known: Similarities | None = None,
    ) -> None:
        self._view = view
        self._query = query
        self._visible, self._near_from = visible, near_from
        self._prefix, self._graph, self._scanned = prefix, graph, scanned
        self._known = known
        self._sparse = suffices(prefix, graph, near_from)
        self._all: NDArray[np.float32] | None = None
        self._reaching: tuple[float, Reaching] | None = None
        self._exactly = (np.zeros(0, np.int64), np.zeros(0, np.float64))

    def best(self, mask: Selection, at_least: float) -> tuple[int, float | None]:
        """Return the slot of a mask with the highest similarity (the lowest of equal ones), and it.

        (-1, None) if the mask is empty, or if a pruned scan proved that nothing in it reaches
        `at_least`. From `at_least` on the answer is that of the full scan: the best has a float32
        similarity within SLACK of its own, so the scan found it, and with it every possible better
        one.
        """
        if self._sparse and at_least > 1.0 + SLACK:
            return -1, None
        pruned = self._sparse and at_least >= PRUNES_FROM
        slots, rough = self._pruned(mask, at_least) if pruned else self._plain(mask)
        if not len(slots):
            return -1, None
        # The best slot by float64 lies within the slack of the best by float32.
        slots = slots[rough >= rough.max() - np.float32(SLACK)]
        # Cached: successive masks mostly share their best slots, and a vector may have many copies.
        if not np.array_equal(slots, self._exactly[0]):
            self._exactly = slots, similarities64_at(self._view, self._query, slots)
        exactly = self._exactly[1]
        at = int(np.argmax(exactly))
        if pruned and exactly[at] < at_least:
            return -1, None
        return int(slots[at]), float(exactly[at])

    def reaching(
        self, mask: Selection, at_least: float, limit: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the nearest slots of a mask that reach a similarity, nearest first, ties by slot.

        Exact at any size: at most `limit`, with float64 similarities.
        """
        pruned = self._sparse and at_least >= PRUNES_FROM
        least = np.float32(at_least - SLACK)
        slots, rough = self._pruned(mask, at_least) if pruned else self._plain_from(mask, least)
        if len(slots) > limit:
            # Every one of the nearest by float64 lies within the slack of them by float32.
            least = max(least, np.partition(rough, -limit)[-limit] - np.float32(2 * SLACK))
        slots = slots[rough >= least]
        exactly = similarities64_at(self._view, self._query, slots)
        order = np.lexsort((slots, -exactly))[:limit]
        order = order[exactly[order] >= at_least]
        return slots[order], exactly[order]

    def _pruned(self, mask: Selection, at_least: float) -> Reaching:
        """Return slots of a mask that may reach a similarity, and their float32 similarities."""
        if self._reaching is None or self._reaching[0] > at_least:
            if self._scanned is not None and self._scanned.at_least <= at_least:
                self._reaching = self._scanned.at_least, self._since(self._scanned)
            else:
                assert self._prefix is not None
                if self._near_from >= PRUNES_FROM:
                    at_least = min(at_least, self._near_from)
                asked_about = self._visible.all()
                found = self._prefix.reaching(self._view, self._query, asked_about, at_least)
                self._reaching = at_least, found
        slots, rough = self._reaching[1]
        asked = mask.at(slots)
        return slots[asked], rough[asked]

    def _since(self, scanned: PrefetchedScan) -> Reaching:
        """Return the slots of a prefetched scan, and later slots that reach its similarity."""
        rough = similarities_from(self._view, self._query, scanned.count)
        new = np.flatnonzero(rough >= np.float32(scanned.at_least - SLACK))
        slots = np.concatenate([scanned.slots, new + scanned.count])
        return slots, np.concatenate([scanned.similarity, rough[new]])

    def _scored(self) -> NDArray[np.float32]:
        """Return the float32 similarity of every slot, computed once."""
        if self._all is None:
            if self._known is None:
                self._all = similarities(self._view, self._query)
            else:
                new = similarities_from(self._view, self._query, len(self._known))
                self._all = np.concatenate([self._known, new])
        return self._all

    def _plain(self, mask: Selection) -> Reaching:
        """Return slots of a mask and their float32 similarities."""
        slots = np.flatnonzero(mask.all())
        return slots, self._scored()[slots]

    def _plain_from(self, mask: Selection, least: np.float32) -> Reaching:
        """Return slots of a mask whose float32 similarity is at least `least`.

        The mask is evaluated for them alone: one over all slots costs more than their scores.
        """
        scored = self._scored()
        slots = np.flatnonzero(scored >= least)
        slots = slots[mask.at(slots)]
        return slots, scored[slots]

    def nearest(self, visible: Selection, limit: int, at_least: float) -> NDArray[np.int64]:
        """Return at most `limit` nearest slots of a mask that reach a similarity, ascending.

        Exact, up to slots within the slack below it, unless neither the prefix scan nor a full one
        is affordable: then the graph nominates them, if enough of its slots are visible.
        """
        least = np.float32(at_least - SLACK)
        if self._sparse and at_least >= PRUNES_FROM:
            slots, rough = self._pruned(visible, at_least)
        else:
            found = self._nominated(visible, limit) if self._sparse else None
            slots, rough = found or self._plain_from(visible, least)
        slots, rough = slots[rough >= least], rough[rough >= least]
        if len(slots) > limit:
            slots = np.sort(slots[np.argpartition(-rough, limit - 1)[:limit]])
        return slots

    def nominated(self, mask: Selection, limit: int, at_least: float) -> NDArray[np.int64]:
        """Return slots as `nearest` does, but only as near as needs no scan of its own."""
        if self._sparse and not (self._graph and self._graph.count):
            at_least = max(at_least, self._near_from)
        return self.nearest(mask, limit, at_least)

    def _nominated(self, visible: Selection, limit: int) -> Reaching | None:
        """Return visible slots that the graph nominates, and all that it lacks yet; ascending."""
        assert self._graph is not None
        for more in _OVERFETCH:
            found = self._graph.search(self._query, limit + more, _EF)
            if found is None:
                return None
            slots, first_unindexed = found
            slots = np.sort(slots[slots < min(first_unindexed, self._view.count)])
            slots = slots[visible.at(slots)]
            # The tail does not count towards `limit`: its slots were not chosen for nearness.
            if len(slots) < limit and len(slots) < np.count_nonzero(
                visible.all()[:first_unindexed]
            ):
                continue
            # Slots of the tail are contiguous: one product, no gathering of rows.
            tail = np.flatnonzero(visible.since(first_unindexed))
            rough = similarities_at(self._view, self._query, slots)
            rough_tail = similarities_from(self._view, self._query, first_unindexed)[tail]
            slots = np.concatenate([slots, tail + first_unindexed])
            return slots, np.concatenate([rough, rough_tail])
        return None
