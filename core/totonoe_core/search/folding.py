"""Folding of a Recall's candidates that are probably the same into one place.

A group is a star: each folded candidate is directly linked to the shown one. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core.index.arrays import View

Partners = Callable[[View, NDArray[np.int64]], Mapping[int, Sequence[int]]]
"""Takes candidates; returns, by slot, the others among them that it is probably the same as."""


@dataclass(frozen=True, slots=True)
class Folded:
    """Groups of candidates, the best first.

    Attributes
    ----------
    best : int64[n]
        Place of each group's best member among the candidates.
    shown : int64[n]
        Place of its newest member, which is shown.
    also : mapping
        The other slots of a group, best first, by the shown slot.
    """

    best: NDArray[np.int64]
    shown: NDArray[np.int64]
    also: Mapping[int, tuple[int, ...]]


def fold(view: View, slots: NDArray[np.int64], partners: Partners) -> Folded:
    """Fold candidates, given best first: int64[n].

    The best candidate that is in no group yet opens the next one. Shown is the newest of it and its
    partners; the older partners of that one join, so that nothing stands under what is older. A
    memory from a more trusted source counts as newer.
    """
    alone = np.arange(len(slots), dtype=np.int64)
    linked = partners(view, slots)
    if not linked:
        return Folded(alone, alone, {})
    places = {slot: place for place, slot in enumerate(slots.tolist())}
    columns = (view.take(name, slots).tolist() for name in ("source", "created", "row"))
    age = dict(zip(places, zip(*columns, strict=True), strict=True))
    free = set(places)
    best, shown, also = [], [], {}
    for slot, place in places.items():
        if slot not in free:
            continue
        near = [slot, *(other for other in linked.get(slot, ()) if other in free)]
        newest = max(near, key=age.__getitem__)
        others = linked.get(newest, ())
        members = [other for other in others if other in free and age[other] < age[newest]]
        free -= {newest, *members}
        best.append(place)
        shown.append(places[newest])
        if members:
            also[newest] = tuple(sorted(members, key=places.__getitem__))
    return Folded(np.array(best, np.int64), np.array(shown, np.int64), also)
