"""Consolidate: what is asked and told, which pairs are kept, which memory to keep, and what
memories that were recalled together gain. Pure: no disk, no clock, no threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits
from totonoe_core.joins.grouping import complete_link
from totonoe_core.records import Judgement, Link, LinkType, Memory, RecallEvent, Verdict

Pair = tuple[int, int]
_ASKED_AT_ONCE = 256
DISTANCE_BELOW_MAX = 0.5
"""Of what a pair may be asked for; from there on nearly everything is one."""
JACCARD_ABOVE_MIN, JACCARD_ABOVE_MAX = 0.2, 0.99


@dataclass(frozen=True, slots=True)
class ReplayEvents:
    """Use up the oldest Recall events: what was recalled together is linked."""

    agent_id: str
    max_events: int
    reason: str = "consolidate: recalled together"


@dataclass(frozen=True, slots=True)
class EventsReplayed:
    """Answer to `ReplayEvents`: counts of document 000, of what the caller may see.

    `revision` is that of the operation, 0 if it changed no link.
    """

    replay_events: int = 0
    coactivation_updates: int = 0
    link_updates: int = 0
    refreshed_memories: int = 0
    revision: int = 0


@dataclass(frozen=True, slots=True)
class ConsolidateQuery:
    """Which pairs to look for; see the contract's ConsolidateRequest.

    `window_hours` 0: whenever they were created. `jaccard_above` `None`: pairs by distance only.
    `max_merge_candidates` 0: MERGE_CANDIDATES_MAX. `resume_token`: go on where it was left.
    """

    agent_id: str
    window_hours: float = 24.0
    distance_below: float = 0.10
    jaccard_above: float | None = None
    max_merge_candidates: int = 5
    since_revision: int = 0
    max_replay_events: int = 100
    resume_token: str = ""


class KeepReason(StrEnum):
    """Why one of two memories is the one to keep; the first in which they differ."""

    MORE_DETAIL = "more_detail"
    """The other is contained in it (REFINEMENT): its text is longer."""
    CONFIDENCE = "confidence"
    ACCESS_COUNT = "access_count"
    NEWER = "newer"
    ID = "id"


@dataclass(frozen=True, slots=True)
class MergeCandidate:
    """Two memories that may say the same; nothing was changed.

    `a` is the older one, `judgement` what `b` is to it. `jaccard_similarity` is that of their
    tokens, whichever way they were found. Revisions are those of the rows as they were compared.
    """

    memory_a_id: str
    memory_b_id: str
    revision_a: int
    revision_b: int
    distance: float
    jaccard_similarity: float
    judgement: Judgement
    keep_id: str
    keep_because: KeepReason
    snippet_a: str
    snippet_b: str


@dataclass(frozen=True, slots=True)
class MergeCluster:
    """Memories of which every two are a kept pair that may be one; the one to keep first."""

    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConsolidateProgress:
    """How far it is, in pairs of memories."""

    scanned_count: int
    total_count: int
    per_second: float
    left_s: float


@dataclass(frozen=True, slots=True)
class Consolidated:
    """The end: what was kept, and figures as in document 000.

    `revision` is where the run looked, for the next `since_revision`; `replay` is what the first
    phase did, as operation `operation_id`. `memory_count` were compared; `pair_count` were found.
    """

    revision: int
    candidates: tuple[MergeCandidate, ...]
    memory_count: int
    pair_count: int
    replay: EventsReplayed
    operation_id: str = ""
    replayed: bool = False


Told = ConsolidateProgress | MergeCandidate | MergeCluster | Consolidated


@dataclass(frozen=True, slots=True)
class ConsolidateMessage:
    """One message; `token` goes on after it."""

    token: str
    told: Told


# -- Phase 2: which pairs are kept


class Nearest:
    """The nearest pairs of slots so far. Which they are does not depend on the order of adding.

    Parameters
    ----------
    limit : int
        How many.
    rank : int64[n]
        Place of each slot's id among all ids, by slot.
    """

    def __init__(self, limit: int, rank: NDArray[np.int64]) -> None:
        self._limit = limit
        self._rank = rank
        self._a = np.zeros(0, np.int64)
        self._b = np.zeros(0, np.int64)
        self._distance = np.zeros(0, np.float64)

    @property
    def bound(self) -> float:
        """A distance over which no pair is kept any more."""
        return float(self._distance[-1]) if len(self._distance) == self._limit else np.inf

    def add(
        self,
        a: NDArray[np.int64],
        b: NDArray[np.int64],
        distance: NDArray[np.float64],
        out: Callable[[Sequence[Pair]], Collection[Pair]],
    ) -> list[Pair]:
        """Adds pairs, each once; returns those of them that are kept now, nearest first.

        Ordered by distance, then the lower id, then the higher one. `out` says which of some pairs
        are no candidates whatever their distance; it is asked about near ones only.
        """
        near = np.flatnonzero(distance <= self.bound)
        if not len(near):
            return []
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
        return list(zip(self._a[new].tolist(), self._b[new].tolist(), strict=True))

    def _order(
        self, a: NDArray[np.int64], b: NDArray[np.int64], distance: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        one, other = self._rank[a], self._rank[b]
        return np.lexsort((np.maximum(one, other), np.minimum(one, other), distance))

    def kept(self) -> list[Pair]:
        """The pairs that are kept, nearest first."""
        return list(zip(self._a.tolist(), self._b.tolist(), strict=True))


def keeper(a: Memory, b: Memory, verdict: Verdict) -> tuple[Memory, KeepReason]:
    """Which of two memories to keep, and why: a total order, the same whichever comes first."""
    if verdict is Verdict.REFINEMENT and len(a.content) != len(b.content):
        return (a if len(a.content) > len(b.content) else b), KeepReason.MORE_DETAIL
    for reason, of_a, of_b in (
        (KeepReason.CONFIDENCE, a.fields.confidence, b.fields.confidence),
        (KeepReason.ACCESS_COUNT, a.access_count, b.access_count),
        (KeepReason.NEWER, a.created_us, b.created_us),
    ):
        if of_a != of_b:
            return (a if of_a > of_b else b), reason
    return (a if a.id < b.id else b), KeepReason.ID


def clusters(
    pairs: Iterable[tuple[int, int, Verdict]], memories: Collection[Memory]
) -> list[MergeCluster]:
    """Groups in which every two are a pair that may be one; pairs are of row numbers.

    Two of which one updates or contradicts the other never share a group.
    """
    apart = (Verdict.UPDATE, Verdict.CONTRADICTION)
    by_row = {memory.row: memory for memory in memories}
    ordered = sorted(memories, key=_wanted)
    groups = complete_link(
        ((a, b) for a, b, verdict in pairs if verdict not in apart), [one.row for one in ordered]
    )
    return [MergeCluster(tuple(by_row[row].id for row in group)) for group in groups]


def _wanted(memory: Memory) -> tuple[float, int, int, str]:
    return -memory.fields.confidence, -memory.access_count, -memory.created_us, memory.id


# -- Phase 1: what was recalled together


def coactivations(
    events: Sequence[RecallEvent], together: Collection[int]
) -> Counter[tuple[int, int]]:
    """How often two memories were among the hits of one event, by (lower row, higher row).

    Of each event the first COACTIVATED_HITS_MAX hits; of those the rows in `together` alone.
    """
    found: Counter[tuple[int, int]] = Counter()
    wanted = set(together)
    for event in events:
        rows = sorted(wanted.intersection(event.rows[: limits.COACTIVATED_HITS_MAX]))
        found.update(combinations(rows, 2))
    return found


def coactivated_link(target_id: str, before: Link | None, count: int, gained: int) -> Link | None:
    """The link of two memories with `count` co-activations, `gained` of them now.

    None below two. It begins at 0.1 and gains 0.1 for each further one, up to 1.
    """
    if count < 2:
        return None
    steps = gained if before is not None else count - 1
    begin = 0.0 if before is None else before.confidence
    confidence = min(1.0, round(begin + 0.1 * steps, 9))
    note = "" if before is None else before.note
    return Link(target_id, LinkType.COACTIVATED, confidence, note)
