"""Similarities of memories together with their neighbours: turns need their context.

"I went there on Tuesday" answers a question only beside the turn that says where. The neighbours of
a memory are those of its thread that were saved directly before and after it. Only slots that pass
the mask of a Recall count, so that what the caller may not see, what is not live and what the
filter leaves out moves nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from totonoe_core.guard.cosines import similarities64_at
from totonoe_core.index.arrays import View
from totonoe_core.index.lexical import InvertedIndex, hashes_of
from totonoe_core.index.masks import Mask
from totonoe_core.kernels.context import context_into

SHARES = (0.5, 0.25)
"""Share of a neighbour's similarity that counts, by its distance in the thread. Measured
(docs/quality.md)."""

_STEPS = tuple(step for distance in range(1, len(SHARES) + 1) for step in (-distance, distance))
_SHARES = np.repeat(np.array(SHARES), 2)


class Threads:
    """The passing memories of the threads of some slots, in the order in which they were saved.

    Parameters
    ----------
    view : View
    mask : bool[view.count]
        Slots that may be neighbours.
    slots : int64[n]
        Their threads are read; those of no thread have no neighbours.
    """

    def __init__(self, view: View, mask: Mask, slots: NDArray[np.int64]) -> None:
        of_slots = view.take("thread", slots)
        wanted = np.unique(of_slots[of_slots > 0])
        self._order = np.zeros(0, np.int64)
        if not len(wanted):
            return
        threads = view.column("thread")
        # As small numbers, which are sorted without comparing them.
        numbers = np.zeros(int(threads.max()) + 1, np.uint16)
        numbers[wanted] = np.arange(1, len(wanted) + 1)
        order = np.flatnonzero((numbers[threads] > 0) & mask)
        # An updated memory has a newer slot, and still its row.
        order = order[np.argsort(view.take("row", order), kind="stable")]
        self._order = order[np.argsort(numbers[threads[order]], kind="stable")]
        self._threads = threads[self._order]
        self._places = np.full(view.count, -1, np.int64)
        self._places[self._order] = np.arange(len(order))

    def __bool__(self) -> bool:
        """Return whether any slot is in a thread."""
        return len(self._order) > 0

    def near(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the neighbours of n slots: int64[n, 2 * len(SHARES)], -1 for none.

        First the one before, then the one after, then those at the next distance.
        """
        found = np.full((len(slots), len(_STEPS)), -1, np.int64)
        places = self._places[slots]
        for column, step in enumerate(_STEPS):
            others = places + step
            able = (places >= 0) & (others >= 0) & (others < len(self._order))
            able[able] = self._threads[others[able]] == self._threads[places[able]]
            found[able, column] = self._order[others[able]]
        return found

    def with_near(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return slots and their neighbours, ascending, each once."""
        return np.setdiff1d(np.append(slots, self.near(slots)), [-1])


class Context:
    """Similarities of a query to some slots with their neighbours.

    Parameters
    ----------
    slots : int64[n]
        Ascending, each once.
    """

    def __init__(self, view: View, threads: Threads, slots: NDArray[np.int64]) -> None:
        self._view = view
        rest = np.setdiff1d(threads.near(slots), np.append(slots, -1))
        self._rest, self._involved = rest, np.append(slots, rest)
        places = np.full(view.count + 1, -1, np.int32)
        places[self._involved] = np.arange(len(self._involved))
        self._count, self._near = len(slots), places[threads.near(self._involved)]

    def cosines(self, query: NDArray[np.float32], own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return cosines, each raised to a neighbour's by the share of that; 0 at least.

        `own` float64[n] are the cosines of the slots.
        """
        rest = similarities64_at(self._view, query, self._rest)
        # The last place stands for no neighbour.
        every = np.clip(np.concatenate((own, rest, (0.0,))), 0.0, 1.0)
        own = every[: len(own), np.newaxis]
        lent = _SHARES * (every[self._near[: self._count]] - own)
        raised: NDArray[np.float64] = own[:, 0] + np.maximum(lent, 0.0).max(axis=1)
        return raised

    def coverage(
        self, index: InvertedIndex, terms: Mapping[str, float], mask: Mask
    ) -> NDArray[np.float64]:
        """Return the term coverage of the slots, 0..1: see `context_coverage`."""
        return context_coverage(
            index, terms, mask, self._involved, self._count, self._near, _SHARES
        )


def context_coverage(
    index: InvertedIndex,
    terms: Mapping[str, float],
    mask: Mask,
    involved: NDArray[np.int64],
    count: int,
    near: NDArray[np.int32],
    shares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weighted term coverage of some slots, neighbours included in part.

    See `kernels.context.context_into`. `terms` and `mask` are as for `lexical.bm25`; a slot without
    neighbours has the coverage of that to the bit.

    Parameters
    ----------
    involved, count : int64[w], int
        The slots, and after the first `count` those of their neighbours; each once.
    near : int32[w, r]
        Places of each one's neighbours among all, -1 for none; nearness is mutual.
    shares : float64[r]
        What a term of the neighbour in each column counts.

    Returns
    -------
    float64[count]
    """
    heads, sizes, pool = index.find(hashes_of(terms, index.key))
    factors = np.fromiter(terms.values(), np.float64, len(terms))
    longest = int(sizes.max(initial=0))
    slots, counts = np.empty(longest, np.int32), np.empty(longest, np.uint8)
    places = np.full(len(mask), -1, np.int32)
    places[involved] = np.arange(len(involved), dtype=np.int32)
    held, coverage = np.zeros(len(involved)), np.zeros(count)
    passing = mask.view(np.uint8)
    context_into(
        pool, heads, sizes, factors, passing, places, near, shares, slots, counts, held, coverage
    )
    return coverage
