"""How many exports and imports of a collection are under way, and that they end with it."""

from __future__ import annotations

import threading
from collections import Counter

from totonoe_core.engine.futures import Why
from totonoe_core.errors import Quota


class Turn:
    """One of them."""

    def __init__(self, turns: TransferTurns, sort: str) -> None:
        self._turns = turns
        self._sort = sort
        self._ended = threading.Lock()

    def check(self) -> None:
        """Raises why the collection lets nobody go on, if it does not."""
        self._turns.check()

    def end(self) -> None:
        """Gives it back. Idempotent."""
        if self._ended.acquire(blocking=False):
            self._turns.give_back(self._sort)


class TransferTurns:
    """Gives out turns. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._stopped: Why | None = None

    def begin(self, sort: str, at_once_max: int) -> Turn:
        """A turn of a sort. Raises `Quota` if so many are given out."""
        self.check()
        with self._lock:
            if self._counts[sort] >= at_once_max:
                raise Quota(
                    "QUOTA_EXCEEDED", f"{at_once_max} {sort} of the collection are under way"
                )
            self._counts[sort] += 1
        return Turn(self, sort)

    def give_back(self, sort: str) -> None:
        """One of a sort is over."""
        with self._lock:
            self._counts[sort] -= 1

    def any(self) -> bool:
        """Whether any is given out."""
        with self._lock:
            return any(self._counts.values())

    def stop(self, why: Why) -> None:
        """Nobody goes on from now on. Idempotent; the first reason counts."""
        with self._lock:
            self._stopped = self._stopped or why

    def check(self) -> None:
        """Raises why nobody goes on, if so."""
        why = self._stopped
        if why is not None:
            raise why()
