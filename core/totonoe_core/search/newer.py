"""Order of hits that are joined by `updates`: the newer before the older."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.queries import DiversityEffect

Hits = list[tuple[int, DiversityEffect]]
"""(place among the candidates, effect), best first."""


def newer_first(
    slots: NDArray[np.int64],
    hits: Hits,
    k: int,
    updated_by: Callable[[NDArray[np.int64]], Mapping[int, Sequence[int]]],
) -> Hits:
    """Move a newer hit directly before the one that it updates, for at most k hits.

    A newer candidate that was no hit becomes one, and the last hit is dropped. Where links form a
    circle, the first hit keeps its place.

    Parameters
    ----------
    slots : int64[n]
        The candidates.
    updated_by : callable
        Takes slots and returns, for updated ones, the slots that update them. Each candidate is
        passed at most once.
    """
    newer: dict[int, list[int]] = {}
    unread = [place for place, _ in hits]
    places: dict[int, int] = {}
    while unread:
        updates = updated_by(slots[unread])
        if updates and not places:
            places = {int(slot): place for place, slot in enumerate(slots)}
        for place in unread:
            by = updates.get(int(slots[place]), ())
            newer[place] = sorted(places[slot] for slot in by if slot in places)
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
