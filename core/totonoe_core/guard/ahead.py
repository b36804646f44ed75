"""Prefetched scans: one scan for all vectors of a batch, made before the commands are decided.

The writer decides one Remember after the other, each against all before it. Slots published before
the batch are the same for all of them, so they are scanned for many vectors at once: over the
prefix at an eighth of the cost, in full (`Plain`) at a third, since each vector is read once for
all. Slots that the batch adds are scored for each vector alone (`Cosines`). The caller's
`Selection` leaves out a slot that the batch removes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.domain.records import Status
from totonoe_core.index.arrays import STATUSES, Arrays
from totonoe_core.index.prefix import Prefix

_ACTIVE = STATUSES[Status.ACTIVE]
_MIN = 4
"""Number of vectors from which on one shared scan costs less than separate ones."""

Vector = NDArray[np.float32]
Similarities = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Scanned:
    """Result of `Prefix.reaching` for one vector and all slots that were ACTIVE below `count`."""

    at_least: float
    count: int
    slots: NDArray[np.int64]
    similarity: NDArray[np.float32]


class Plain:
    """Full scans of the vectors of one batch, `SCANNED_AHEAD_MAX` at a time and on demand.

    For the writer's thread, while nothing is published. Parameters are those of `Ahead`.
    """

    def __init__(self, arrays: Arrays, vectors: Sequence[Vector]) -> None:
        self._arrays = arrays
        self._vectors = [vector for vector in vectors if len(vector) == arrays.dimension]
        self._places = {id(vector): place for place, vector in enumerate(self._vectors)}
        self._first = 0
        self._scanned = np.zeros((0, 0), np.float32)

    def of(self, arrays: Arrays, vector: Vector) -> Similarities | None:
        """Return float32 similarities of the published slots in any status; `None` if not scanned.

        `None` also if too few vectors are left, and once the batch replaced the arrays.
        """
        place = self._places.get(id(vector), -1)
        if place < self._first or arrays is not self._arrays:
            return None
        if place >= self._first + len(self._scanned):
            self._scan(place)
        at = place - self._first
        return self._scanned[at] if at < len(self._scanned) else None

    def _scan(self, first: int) -> None:
        vectors = self._vectors[first : first + limits.SCANNED_AHEAD_MAX]
        self._first, self._scanned = first, np.zeros((0, 0), np.float32)
        view = self._arrays.view()
        if len(vectors) < _MIN or view.count > limits.SCANNED_AHEAD_SLOTS_MAX:
            return
        self._scanned = np.empty((len(vectors), view.count), np.float32)
        queries = np.stack(vectors)
        for base, size, chunk in view.parts():
            np.matmul(queries, chunk.vectors[:size].T, out=self._scanned[:, base : base + size])


class Ahead:
    """Scans of the vectors of one batch, `SCANNED_AHEAD_MAX` at a time and on demand.

    For the writer's thread, while nothing is published.

    Parameters
    ----------
    vectors : sequence of float32[dim]
        Finite, unit norm, in the order of later calls, which pass the same objects.
    at_least : float
        Similarity, inclusive.
    """

    def __init__(
        self, arrays: Arrays, prefix: Prefix, vectors: Sequence[Vector], at_least: float
    ) -> None:
        self._arrays, self._prefix = arrays, prefix
        self._at_least = at_least
        # One of another dimension is refused when its turn comes.
        self._vectors = [vector for vector in vectors if len(vector) == arrays.dimension]
        self._places = {id(vector): place for place, vector in enumerate(self._vectors)}
        self._first = 0
        self._scanned: Sequence[Scanned | None] = ()

    def of(self, arrays: Arrays, vector: Vector) -> Scanned | None:
        """Return the result of a scan for one of the vectors; `None` if it needs a scan of its own.

        `None` if too few vectors are left, if too many slots match, and once the batch revived a
        slot or replaced the arrays, which the scan cannot know.
        """
        place = self._places.get(id(vector), -1)
        if place < self._first or arrays is not self._arrays:
            return None
        if place >= self._first + len(self._scanned):
            self._scan(place)
        if any(status == _ACTIVE for status in arrays.pending_status.values()):
            return None
        return self._scanned[place - self._first]

    def _scan(self, first: int) -> None:
        vectors = self._vectors[first : first + limits.SCANNED_AHEAD_MAX]
        self._first, self._scanned = first, [None] * len(vectors)
        view = self._arrays.view()
        if len(vectors) < _MIN:
            return
        alive = view.column("status") == _ACTIVE
        found = self._prefix.reaching_many(
            view, np.stack(vectors), alive, self._at_least, limits.SCANNED_AHEAD_PAIRS_MAX
        )
        self._scanned = [
            None if one is None else Scanned(self._at_least, view.count, *one) for one in found
        ]
