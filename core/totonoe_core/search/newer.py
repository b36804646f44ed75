"""Order of hits: what replaces another stands before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.queries import DiversityEffect

Hits = list[tuple[int, DiversityEffect]]
"""(place among the candidates, effect), best first."""

NEWER_SHARE_MIN = 0.75
"""Least share of the older one's relevance that a newer one needs to stand before it. Measured
(docs/quality.md)."""


def newer_first(
    slots: NDArray[np.int64],
    relevance: NDArray[np.float64],
    hits: Hits,
    k: int,
    newer_than: Callable[[NDArray[np.int64]], Mapping[int, Sequence[int]]],
    replaces: Callable[[int, int], bool],
) -> Hits:
    """Move a newer hit directly before the one that it replaces, for at most k hits.

    It must fit about as well. A newer candidate that was no hit becomes one, and the last hit is
    dropped. Where links form a circle, the first hit keeps its place.

    Parameters
    ----------
    slots, relevance : int64[n], float64[n]
        The candidates and how well they fit.
    newer_than : callable
        Takes slots and returns, for some of them, the slots that may replace them. Each candidate
        is passed at most once.
    replaces : callable
        Takes a newer slot and an older one; returns whether the newer one replaces it.
    """
    newer: dict[int, list[int]] = {}
    unread = [place for place, _ in hits]
    places: dict[int, int] = {}
    while unread:
        found = newer_than(slots[unread])
        if found and not places:
            places = {int(slot): place for place, slot in enumerate(slots)}
        for place in unread:
            slot = int(slots[place])
            able = (places[by] for by in found.get(slot, ()) if by in places)
            newer[place] = sorted(
                at
                for at in able
                if relevance[at] >= NEWER_SHARE_MIN * relevance[place]
                and replaces(int(slots[at]), slot)
            )
        unread = list(dict.fromkeys(at for by in newer.values() for at in by if at not in newer))
    if not any(newer.values()):
        return hits
    placed: dict[int, DiversityEffect] = {}
    for place, effect in hits:
        path = [] if place in placed else [place]
        while path:
            before = [at for at in newer[path[-1]] if at not in placed and at not in path]
            if before:
                path.append(before[0])
                continue
            at = path.pop()
            placed[at] = DiversityEffect.NEWER if path else effect
    return list(placed.items())[:k]
