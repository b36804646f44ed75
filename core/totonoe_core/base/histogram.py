"""Counts of measured values by size, cheap enough for every call."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds for the times of calls, commits and batches."""
SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Upper bounds for the number of operations in a commit."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Values seen so far.

    `counts[i]` values were at most `bounds[i]` and above the bound before; the last count, which
    has no bound, is of those above all bounds. `total` is the sum of all values.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float

    @property
    def count(self) -> int:
        """Number of all values."""
        return sum(self.counts)


class Histogram:
    """Collects values by size. Safe from any thread."""

    __slots__ = ("_bounds", "_counts", "_lock", "_total")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self._total = 0.0
        self._lock = threading.Lock()

    def add(self, value: float) -> None:
        """Count one value."""
        place = bisect_left(self._bounds, value)
        with self._lock:
            self._counts[place] += 1
            self._total += value

    def read(self) -> Distribution:
        """Return the values so far."""
        with self._lock:
            return Distribution(self._bounds, tuple(self._counts), self._total)
