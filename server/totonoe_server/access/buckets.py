"""Token buckets, and calls at once: what is left of an identity's limits. Event loop only."""

from __future__ import annotations

import math
from collections.abc import Callable

from totonoe_server.access.errors import RateLimited

_AT_ONCE_DELAY_MS = 100


class Bucket:
    """A rate: `per_s` a second, and as many at once, at least one.

    A message of many items is taken whole while anything is left, and leaves a debt: so one that
    is larger than the bucket passes, too, and the rate holds over time.

    Parameters
    ----------
    name : str
        Of the limit, for the error.
    per_s : float
        Above 0.
    clock : callable
        Monotonic seconds.
    """

    def __init__(self, name: str, per_s: float, clock: Callable[[], float]) -> None:
        self._name, self._per_s, self._clock = name, per_s, clock
        self._size = max(1.0, per_s)
        self._left = self._size
        self._at_s = clock()

    def set_rate(self, per_s: float) -> None:
        """Change the rate. What is left stays, within the new size."""
        self._fill()
        self._per_s, self._size = per_s, max(1.0, per_s)
        self._left = min(self._left, self._size)

    def delay_ms(self) -> int:
        """Milliseconds until something may be taken; 0: now."""
        self._fill()
        if self._left >= 1.0:
            return 0
        return max(1, math.ceil(1000.0 * (1.0 - self._left) / self._per_s))

    def check(self) -> None:
        """Raises `RateLimited` if nothing may be taken now."""
        delay_ms = self.delay_ms()
        if delay_ms:
            raise RateLimited(self._name, self._per_s, delay_ms)

    def take(self, count: int) -> None:
        """Takes so many. Call `check` before."""
        self._left -= count

    def _fill(self) -> None:
        now_s = self._clock()
        # A clock that a test sets back must not empty it.
        self._left = min(self._size, self._left + max(0.0, now_s - self._at_s) * self._per_s)
        self._at_s = now_s


class AtOnce:
    """Calls that run now, at most `most`."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self.most = most
        self.now = 0

    def enter(self) -> None:
        """Counts a call. Raises `RateLimited` if there are as many as there may be."""
        if self.now >= self.most:
            raise RateLimited(self._name, self.most, _AT_ONCE_DELAY_MS)
        self.now += 1

    def leave(self) -> None:
        """A call ended."""
        self.now -= 1
