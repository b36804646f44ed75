"""Measures of a collection's health for an Audit; those that need no disk. Pure.

None of these figures is an alarm by itself. The fields of `AuditReport` describe each measure and
its limits.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.domain.asking import Query
from totonoe_core.index.arrays import NO_TIME, View
from totonoe_core.joins.cosine import CosinePairs, cosine_pairs

NEAR_DISTANCE_BELOW = 0.10
"""Cosine distance below which 000 proposes a merge."""
ECHO_WINDOW_S = 24 * 3600
DAY_US = 86_400_000_000
_FIRST_BLOCK = 64
_GROWTH = 8
"""Growth of the block size.

A block costs a projection of all slots, and in a store of copies a pair for each of its members and
each slot: the first block is small, the later ones grow quickly.
"""
_SEED = 6


@dataclass(frozen=True, slots=True)
class AuditQuery(Query["AuditReport"]):
    """Query of an Audit: days to look back, and the confidence below which a memory is hidden."""

    agent_id: str
    days: int = 30
    confidence_below: float = 0.3


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two live memories that are near each other."""

    id_a: str
    id_b: str
    distance: float


@dataclass(frozen=True, slots=True)
class AgentWrites:
    """Operations of one agent by kind, most frequent first."""

    agent_id: str
    kind_counts: tuple[tuple[str, int], ...]

    @property
    def operation_count(self) -> int:
        """Number of all operations."""
        return sum(count for _, count in self.kind_counts)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Answer to an `AuditQuery`, of what the caller may see.

    Attributes
    ----------
    active_count : int
        Live memories.
    examined_count, near_count : int
        Memories compared with all live ones, and those of them with one nearer than
        `NEAR_DISTANCE_BELOW` that nobody dismissed. All are compared up to AUDIT_JOINED_MAX live
        memories; of more, AUDIT_SAMPLED drawn evenly. For each of them the answer is exact.
    near_pairs : tuple of NearPair
        The nearest of the pairs that were found, at most AUDIT_SHOWN_MAX.
    never_recalled_count : int
        Live memories that no Recall ever returned.
    contradiction_count, contradictions : int, tuple of (str, str)
        Links of type CONTRADICTS between live ones, each pair once; the first AUDIT_SHOWN_MAX.
    open_question_count : int
        Pairs that are probably the same and of which the caller may read both, at most
        QUESTIONS_COUNTED_MAX.
    faded_count : int
        Live ones whose effective confidence is below `confidence_below`, so that a Recall with
        that `min_confidence` hides them.
    chain_count, longest_chain, longest_chain_id : int, int, str
        Memories that superseded others and still stand; steps of the longest chain, and its end.
    operations_from_us : int
        Operations since then are counted in `agents`: `days` ago, or later if there were more than
        AUDIT_OPERATIONS_MAX.
    agents : tuple of AgentWrites
        Most operations first.
    repeat_count, echo_refused_count : int, int
        Of the kept answers since `repeats_from_us`, at most AUDIT_REPLIES_MAX: Remembers that were
        refused because a memory says the same; and those of equal text which a Recall had given in
        the 24 hours before. A lower bound: of each memory only the last access is known.
    repeats_from_us : int
        `days` ago, or the oldest answer since then that is kept (7 days, of calls with an operation
        id) and was looked at.
    echo_saved_count : int
        Memories of the last `days` whose text equals (in 64 bits of its hash) that of another one
        that a Recall had given in the 24 hours before. A lower bound for the same reason.
    recall_at_k, recall_sampled_count : float, int
        Share of the 10 nearest that the graph finds, for so many of its vectors; (0, 0) if there is
        no graph, so that each search is exact.
    texts : dict of str to str
        The beginnings of the memories that the report names, by id.
    """

    revision: int
    active_count: int
    examined_count: int
    near_count: int
    near_pairs: tuple[NearPair, ...]
    never_recalled_count: int
    contradiction_count: int
    contradictions: tuple[tuple[str, str], ...]
    open_question_count: int
    confidence_below: float
    faded_count: int
    chain_count: int
    longest_chain: int
    longest_chain_id: str
    days: int
    operations_from_us: int
    agents: tuple[AgentWrites, ...]
    repeat_count: int
    repeats_from_us: int
    echo_refused_count: int
    echo_saved_count: int
    recall_at_k: float
    recall_sampled_count: int
    texts: dict[str, str]


@dataclass(frozen=True, slots=True)
class Near:
    """Slots that have a near one, and examples.

    `examined` are int64[m]; `near_count` of them have a near one; `pairs` are (slot, slot,
    distance), nearest first.
    """

    examined: NDArray[np.int64]
    near_count: int
    pairs: tuple[tuple[int, int, float], ...]


def sampled(slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return all slots, or AUDIT_SAMPLED of more than AUDIT_JOINED_MAX; the same each time."""
    if len(slots) <= limits.AUDIT_JOINED_MAX:
        return slots
    return np.sort(np.random.default_rng(_SEED).choice(slots, limits.AUDIT_SAMPLED, replace=False))


def near_duplicates(
    view: View,
    slots: NDArray[np.int64],
    distance_below: float,
    dismissed: NDArray[np.int64],
    stop: threading.Event,
) -> Near:
    """Find the sampled slots that have another one nearer than a distance.

    Parameters
    ----------
    slots : int64[n]
        Slots to compare with, ascending.
    dismissed : int64[d, 2]
        Pairs of slots, in any order, that do not count.
    stop : threading.Event
        Once it is set, the call stops early with a useless answer.

    Notes
    -----
    No slot is joined again once it is known to be near another or alone: a thousand copies of one
    text cost a block of products, not half a million pairs.
    """
    chosen = sampled(slots)
    near = np.zeros(view.count, np.bool_)
    found: list[tuple[float, int, int]] = []
    others, rest, size = slots, chosen, _FIRST_BLOCK
    codes = _codes(dismissed.min(axis=1), dismissed.max(axis=1))
    while len(rest) and not stop.is_set():
        block, rest = rest[:size], rest[size:]
        block = block[~near[block]]
        size *= _GROWTH
        if not len(block):
            continue
        changed = block.tolist()
        for pairs in cosine_pairs(view, others, distance_below, changed=changed, stop=stop):
            one, other, distance = _without(pairs, codes)
            near[one] = near[other] = True
            found += _nearest(one, other, distance)
        found = sorted(found)[: limits.AUDIT_SHOWN_MAX]
        alone = block[~near[block]]
        others = np.setdiff1d(others, alone, assume_unique=True)
    return Near(
        chosen,
        int(np.count_nonzero(near[chosen])),
        tuple((first, other, distance) for distance, first, other in found),
    )


def _codes(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for each pair of slots; slots stay far below 2^31."""
    return (one << 32) | other


def _without(
    pairs: CosinePairs, codes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    if not len(codes):
        return pairs
    kept = ~np.isin(_codes(pairs.a, pairs.b), codes)
    return pairs.a[kept], pairs.b[kept], pairs.distance[kept]


def _nearest(
    one: NDArray[np.int64], other: NDArray[np.int64], distance: NDArray[np.float64]
) -> list[tuple[float, int, int]]:
    order = np.lexsort((other, one, distance))[: limits.AUDIT_SHOWN_MAX]
    return list(
        zip(
            np.maximum(distance[order], 0.0).tolist(),
            one[order].tolist(),
            other[order].tolist(),
            strict=True,
        )
    )


def chains(below: NDArray[np.int64], above: NDArray[np.int64]) -> tuple[int, int, int]:
    """Measure the chains of superseded memories.

    Parameters
    ----------
    below, above : int64[n]
        Rows: `above[i]` superseded `below[i]`; each row is at most once in `below`.

    Returns
    -------
    count, longest, end : int
        Distinct ends of chains; steps of the longest (SUPERSEDED_STEPS_MAX at most are followed)
        and its end, of several the lowest row; (0, 0, -1) if there are none.
    """
    if not len(below):
        return 0, 0, -1
    order = np.argsort(below)
    below, above = below[order], above[order]
    at, steps = above.copy(), np.ones(len(below), np.int64)
    for _ in range(limits.SUPERSEDED_STEPS_MAX):
        place = np.minimum(np.searchsorted(below, at), len(below) - 1)
        goes_on = below[place] == at
        if not goes_on.any():
            break
        at = np.where(goes_on, above[place], at)
        steps += goes_on
    longest = int(steps.max())
    return len(np.unique(at)), longest, int(at[steps == longest].min())


def echoes(
    text_hash: NDArray[np.uint64],
    created_us: NDArray[np.int64],
    last_access_us: NDArray[np.int64],
    since_us: int,
    window_us: int,
) -> int:
    """Count memories created with the text of another one that was recalled just before.

    Parameters
    ----------
    text_hash, created_us, last_access_us : uint64[n], int64[n], int64[n]
        `NO_TIME` as last access means never.
    window_us : int
        Longest time between the recall and the creation.
    """
    recalled = np.flatnonzero(last_access_us != NO_TIME)
    fresh = np.flatnonzero(created_us >= since_us)
    if not len(recalled) or not len(fresh):
        return 0
    _, group = np.unique(text_hash, return_inverse=True)
    began, ended = created_us[fresh] - window_us, created_us[fresh]
    # Times as ranks, so that text and time fit one number.
    times = np.unique(np.concatenate([last_access_us[recalled], began, ended]))

    def keys(of: NDArray[np.int64], time_us: NDArray[np.int64]) -> NDArray[np.int64]:
        return group[of].astype(np.int64) * len(times) + np.searchsorted(times, time_us)

    held = np.sort(keys(recalled, last_access_us[recalled]))
    first = np.searchsorted(held, keys(fresh, began), side="left")
    last = np.searchsorted(held, keys(fresh, ended), side="left")
    return int(np.count_nonzero(last > first))
