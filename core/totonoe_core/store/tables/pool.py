"""A few connections that read one collection, lent one by one."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from totonoe_core.base import limits
from totonoe_core.base.errors import Unavailable

_CLOSED_CHECK_S = 0.5


class Closing(Protocol):
    """A connection that can be closed."""

    def close(self) -> object:
        """Close it. Idempotent."""


C = TypeVar("C", bound=Closing)


class Pool(Generic[C]):
    """At most `size` connections that `open_one` opens, each used by one thread at a time."""

    def __init__(self, open_one: Callable[[], C], size: int) -> None:
        self._open_one = open_one
        self._closed = False
        self._idle: queue.LifoQueue[C] = queue.LifoQueue(size)
        # Opened on demand: of thousands of collections most have one reader at a time.
        self._unopened = threading.Semaphore(size)

    def take(self) -> C:
        """Return an idle connection; wait for one if all are busy.

        Raises `Unavailable` once the pool is closed, and what `open_one` raises.
        """
        while not self._closed:
            with contextlib.suppress(queue.Empty):
                return self._idle.get_nowait()
            if self._unopened.acquire(blocking=False):
                try:
                    return self._open_one()
                except BaseException:
                    self._unopened.release()
                    raise
            with contextlib.suppress(queue.Empty):
                return self._idle.get(timeout=_CLOSED_CHECK_S)
        raise Unavailable(
            "SHUTTING_DOWN", "the collection is being closed", retry_delay_ms=limits.RETRY_DELAY_MS
        )

    def give_back(self, connection: C, *, sound: bool) -> None:
        """Take a connection back; close it unless others may use it after this."""
        if sound and not self._closed:
            self._idle.put(connection)
        else:
            connection.close()
            self._unopened.release()

    def close(self) -> None:
        """Close the connections: idle ones now, others when their reader is done."""
        self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()
