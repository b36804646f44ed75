"""Prefetched scans: one scan for many vectors of a batch, made before the commands are decided.

The writer decides one Remember after the other, each against all before it. Slots published before
the scan are the same for all of them, so they are scanned for many vectors at once: over the
prefix (`PrefixScans`) at an eighth of the cost, in full (`FullScans`) at a third, since each vector
is read once for all. Slots that were added since are scored for each vector alone (`Cosines`). The
caller's `Selection` leaves out a slot that was removed since.

Jobs that a batch leaves over, because its time is up, come again in the next one: what was scanned
for them still holds, and is kept (`carried`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

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
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class PrefetchedScan:
    """Result of `Prefix.reaching` for one vector and all slots that were ACTIVE below `count`."""

    at_least: float
    count: int
    slots: NDArray[np.int64]
    similarity: NDArray[np.float32]


class _Scans(ABC, Generic[Result]):
    """Scans for the vectors of a batch, `PREFETCHED_MAX` at a time and on demand.

    For the writer's thread.

    Parameters
    ----------
    vectors : sequence of float32[dim]
        Finite, unit norm, in the order of later calls, which pass the same objects.
    """

    def __init__(self, arrays: Arrays, vectors: Sequence[Vector]) -> None:
        self._arrays = arrays
        self._found: dict[int, tuple[Vector, Result | None]] = {}
        self._expect(vectors)

    def _expect(self, vectors: Sequence[Vector]) -> None:
        # One of another dimension is refused when its turn comes.
        self._vectors = [vector for vector in vectors if len(vector) == self._arrays.dimension]
        self._places = {id(vector): place for place, vector in enumerate(self._vectors)}
        self._first = 0

    def carried(self, arrays: Arrays, vectors: Sequence[Vector]) -> Self | None:
        """Return these scans for another batch, if they hold any of its vectors.

        `None` if the arrays were replaced, or if no vector was scanned.
        """
        if arrays is not self._arrays or not any(id(vector) in self._found for vector in vectors):
            return None
        self._expect(vectors)
        return self

    def of(self, arrays: Arrays, vector: Vector) -> Result | None:
        """Return the result of a scan for one of the vectors; `None` if it needs a scan of its own.

        `None` if too few vectors are left, if too many slots match, and once the arrays were
        replaced.
        """
        place = self._places.get(id(vector), -1)
        if place < 0 or arrays is not self._arrays:
            return None
        if id(vector) not in self._found and place >= self._first:
            self._scan_from(place)
        known = self._found.get(id(vector))
        return None if known is None else known[1]

    def _scan_from(self, place: int) -> None:
        """Scan for the next vectors; what was found for those before them is used up."""
        chunk = self._vectors[place : place + limits.PREFETCHED_MAX]
        self._first = place + len(chunk)
        kept = {
            id(vector): self._found[id(vector)] for vector in chunk if id(vector) in self._found
        }
        missing = [vector for vector in chunk if id(vector) not in kept]
        scanned = self._scan(missing) if len(missing) >= _MIN else ()
        # The vectors are kept too, so that no other one takes the id of one of them.
        self._found = kept | {
            id(vector): (vector, found) for vector, found in zip(missing, scanned, strict=False)
        }

    @abstractmethod
    def _scan(self, vectors: Sequence[Vector]) -> Sequence[Result | None]:
        """Scan the published slots for some vectors."""


class FullScans(_Scans[Similarities]):
    """Full scans: float32 similarities of the published slots in any status."""

    def _scan(self, vectors: Sequence[Vector]) -> Sequence[Similarities | None]:
        view = self._arrays.view()
        if view.count > limits.PREFETCHED_SLOTS_MAX:
            return ()
        scanned = np.empty((len(vectors), view.count), np.float32)
        queries = np.stack(vectors)
        for base, size, chunk in view.parts():
            np.matmul(queries, chunk.vectors[:size].T, out=scanned[:, base : base + size])
        return list(scanned)


class PrefixScans(_Scans[PrefetchedScan]):
    """Scans of the prefix for what reaches a similarity, inclusive."""

    def __init__(
        self, arrays: Arrays, prefix: Prefix, vectors: Sequence[Vector], at_least: float
    ) -> None:
        super().__init__(arrays, vectors)
        self._prefix = prefix
        self.at_least = at_least
        self._revived_count = len(arrays.revived)

    def of(self, arrays: Arrays, vector: Vector) -> PrefetchedScan | None:
        """Return as above; `None` also once a slot was revived, which the scan cannot know."""
        revived = len(arrays.revived) != self._revived_count
        revived = revived or any(status == _ACTIVE for status in arrays.pending_status.values())
        return None if revived else super().of(arrays, vector)

    def carried(self, arrays: Arrays, vectors: Sequence[Vector]) -> Self | None:
        """Return as above; `None` also if a slot was revived since."""
        if len(arrays.revived) != self._revived_count:
            return None
        return super().carried(arrays, vectors)

    def _scan(self, vectors: Sequence[Vector]) -> Sequence[PrefetchedScan | None]:
        view = self._arrays.view()
        alive = view.column("status") == _ACTIVE
        found = self._prefix.reaching_many(
            view, np.stack(vectors), alive, self.at_least, limits.PREFETCHED_PAIRS_MAX
        )
        return [
            None if scan is None else PrefetchedScan(self.at_least, view.count, *scan)
            for scan in found
        ]
