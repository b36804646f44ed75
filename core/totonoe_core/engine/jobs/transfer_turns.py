"""Count of running exports and imports of a collection, which end with it."""

from __future__ import annotations

import threading
from collections import Counter

from totonoe_core.base.errors import Quota
from totonoe_core.engine.state.futures import Why


class Turn:
    """A running export or import."""

    def __init__(self, turns: TransferTurns, sort: str) -> None:
        self._turns = turns
        self._sort = sort
        self._ended = threading.Lock()

    def check(self) -> None:
        """Raise the reason why the collection stops it, if any."""
        self._turns.check()

    def end(self) -> None:
        """Give the turn back. Idempotent."""
        if self._ended.acquire(blocking=False):
            self._turns.give_back(self._sort)


class TransferTurns:
    """Hands out turns. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._stopped: Why | None = None

    def begin(self, sort: str, at_once_max: int) -> Turn:
        """Take a turn of a sort. Raises `Quota` if too many are taken."""
        self.check()
        with self._lock:
            if self._counts[sort] >= at_once_max:
                raise Quota(
                    "QUOTA_EXCEEDED", f"{at_once_max} {sort} of the collection are under way"
                )
            self._counts[sort] += 1
        return Turn(self, sort)

    def give_back(self, sort: str) -> None:
        """Give back a turn of a sort."""
        with self._lock:
            self._counts[sort] -= 1

    def any(self) -> bool:
        """Return whether any turn is taken."""
        with self._lock:
            return any(self._counts.values())

    def stop(self, why: Why) -> None:
        """Stop all turns from now on. Idempotent; the first reason counts."""
        with self._lock:
            self._stopped = self._stopped or why

    def check(self) -> None:
        """Raise the reason of a stop, if any."""
        why = self._stopped
        if why is not None:
            raise why()
