"""Rules of Consolidate: choice of pairs, of the memory to keep in each pair, and of links to grow.

Pure: no disk, no clock, no threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.domain.consolidate import KeepReason, MergeCluster
from totonoe_core.domain.grouping import complete_link
from totonoe_core.domain.records import TRUST, Link, LinkType, Memory, RecallEvent, Verdict

Pair = tuple[int, int]
_ASKED_AT_ONCE = 256
# -- Phase 2: choice of pairs


class Near(NamedTuple):
    """Some pairs of slots: int64[p] each, and their distance, float64[p]."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    distance: NDArray[np.float64]

    def pairs(self) -> list[Pair]:
        """Return them as tuples."""
        return list(zip(self.a.tolist(), self.b.tolist(), strict=True))

    def some(self, places: slice | list[int]) -> Near:
        """Return those at some places."""
        return Near(self.a[places], self.b[places], self.distance[places])


class Nearest:
    """The nearest pairs of slots so far. Which they are does not depend on the order of adding.

    Parameters
    ----------
    limit : int
        Number of pairs to keep.
    rank : int32[n]
        Place of each slot's id among all ids, by slot.
    """

    def __init__(self, limit: int, rank: NDArray[np.int32]) -> None:
        self._limit = limit
        self._rank = rank
        self._a = np.zeros(0, np.int64)
        self._b = np.zeros(0, np.int64)
        self._distance = np.zeros(0, np.float64)

    @property
    def bound(self) -> float:
        """Distance above which no pair is kept any more."""
        return float(self._distance[-1]) if len(self._distance) == self._limit else np.inf

    def add(
        self,
        a: NDArray[np.int64],
        b: NDArray[np.int64],
        distance: NDArray[np.float64],
        out: Callable[[Sequence[Pair]], Collection[Pair]],
    ) -> Near:
        """Add pairs, each once; return those of them that are kept now, nearest first.

        Ordered by distance, then the lower id, then the higher one. `out(pairs)` returns those that
        are no candidates at any distance; it is called with near pairs only.
        """
        near = np.flatnonzero(distance <= self.bound)
        if not len(near):
            return Near(self._a[:0], self._b[:0], self._distance[:0])
        near = near[self._order(a[near], b[near], distance[near])]
        chosen: list[int] = []
        step = max(self._limit, _ASKED_AT_ONCE)
        for begin in range(0, len(near), step):
            part = near[begin : begin + step].tolist()
            pairs = list(zip(a[part].tolist(), b[part].tolist(), strict=True))
            gone = out(pairs)
            chosen += [at for at, pair in zip(part, pairs, strict=True) if pair not in gone]
            if len(chosen) >= self._limit:
                break
        held = len(self._a)
        self._a = np.concatenate([self._a, a[chosen]])
        self._b = np.concatenate([self._b, b[chosen]])
        self._distance = np.concatenate([self._distance, distance[chosen]])
        order = self._order(self._a, self._b, self._distance)[: self._limit]
        self._a, self._b = self._a[order], self._b[order]
        self._distance = self._distance[order]
        new = order >= held
        return Near(self._a[new], self._b[new], self._distance[new])

    def _order(
        self, a: NDArray[np.int64], b: NDArray[np.int64], distance: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        one, other = self._rank[a], self._rank[b]
        return np.lexsort((np.maximum(one, other), np.minimum(one, other), distance))

    def kept(self) -> Near:
        """Return the pairs that are kept, nearest first."""
        return Near(self._a, self._b, self._distance)


def keeper(a: Memory, b: Memory, verdict: Verdict) -> tuple[Memory, KeepReason]:
    """Choose which of two memories to keep, and why: a total order, independent of their order."""
    same_source = a.fields.source is b.fields.source
    in_detail = verdict in (Verdict.REFINEMENT, Verdict.CONTAINED) and same_source
    if in_detail and len(a.content) != len(b.content):
        return (a if len(a.content) > len(b.content) else b), KeepReason.MORE_DETAIL
    for reason, of_a, of_b in (
        (KeepReason.SOURCE, TRUST[a.fields.source], TRUST[b.fields.source]),
        (KeepReason.CONFIDENCE, a.fields.confidence, b.fields.confidence),
        (KeepReason.ACCESS_COUNT, a.access_count, b.access_count),
        (KeepReason.NEWER, a.created_us, b.created_us),
    ):
        if of_a != of_b:
            return (a if of_a > of_b else b), reason
    return (a if a.id < b.id else b), KeepReason.ID


def clusters(pairs: Iterable[tuple[int, int]], memories: Collection[Memory]) -> list[MergeCluster]:
    """Group memories of which every two are a pair that may be one; pairs are of row numbers."""
    by_row = {memory.row: memory for memory in memories}
    ordered = sorted(memories, key=_wanted)
    groups = complete_link(pairs, [memory.row for memory in ordered])
    return [MergeCluster(tuple(by_row[row].id for row in group)) for group in groups]


def _wanted(memory: Memory) -> tuple[int, float, int, int, str]:
    trust, confidence = TRUST[memory.fields.source], memory.fields.confidence
    return -trust, -confidence, -memory.access_count, -memory.created_us, memory.id


# -- Phase 1: links of memories that were recalled together


def coactivations(
    events: Sequence[RecallEvent], together: Collection[int]
) -> Counter[tuple[int, int]]:
    """Count how often two memories were hits of one event, by (lower row, higher row).

    Counts the first COACTIVATED_HITS_MAX hits of each event, and of those only rows in `together`.
    """
    found: Counter[tuple[int, int]] = Counter()
    wanted = set(together)
    for event in events:
        rows = sorted(wanted.intersection(event.rows[: limits.COACTIVATED_HITS_MAX]))
        found.update(combinations(rows, 2))
    return found


def coactivated_link(target_id: str, before: Link | None, count: int, gained: int) -> Link | None:
    """Return the link of two memories with `count` co-activations, `gained` of them now.

    `None` below two. The link begins at 0.1 and gains 0.1 for each further one, up to 1.
    """
    if count < 2:
        return None
    steps = gained if before is not None else count - 1
    begin = 0.0 if before is None else before.confidence
    confidence = min(1.0, round(begin + 0.1 * steps, 9))
    note = "" if before is None else before.note
    return Link(target_id, LinkType.COACTIVATED, confidence, note)
