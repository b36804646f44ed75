"""Which collections are open: each is opened on first use, on a thread of its own, so that
nobody's call waits for another collection's file.

At most COLLECTIONS_OPEN_MAX are open; the one unused for longest makes room.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from totonoe_core import limits
from totonoe_core.engine.collection import Collection
from totonoe_core.engine.futures import shutting_down
from totonoe_core.errors import Unavailable

CLOSE_WAIT_S = 30.0


class Openings:
    """Open collections by name. All methods are safe from any thread.

    Parameters
    ----------
    open_one : callable
        Opens the collection of a name, on a thread of `executor`.
    executor : ThreadPoolExecutor
        Opens and closes; shut down by `stop`.
    """

    def __init__(self, open_one: Callable[[str], Collection], executor: ThreadPoolExecutor) -> None:
        self._open_one = open_one
        self._executor = executor
        self._open: dict[str, Future[Collection]] = {}
        self._leaving: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def opened(self, name: str, check: Callable[[str], None]) -> Future[Collection]:
        """The collection of a name, opened on first use; `check` raises for one there is not."""
        if self._closed:
            raise shutting_down()
        with self._lock:
            found = self._open.pop(name, None)
            if found is not None:
                # Last in the order: the first one is closed when there are too many.
                self._open[name] = found
                return found
            check(name)
            if len(self._open) >= limits.COLLECTIONS_OPEN_MAX:
                self._close_longest_unused()
            opened = self._open[name] = self._executor.submit(self._open_now, name)
        opened.add_done_callback(functools.partial(self._forget_failed, name))
        return opened

    def peek(self, name: str) -> Collection | None:
        """The collection of a name, if it is open."""
        with self._lock:
            opened = self._open.get(name)
        return _ready(opened)

    def all(self) -> list[Future[Collection]]:
        """Every collection that is open or being opened."""
        with self._lock:
            return list(self._open.values())

    def ready(self) -> list[Collection]:
        """Every collection that is open."""
        return [found for one in self.all() if (found := _ready(one)) is not None]

    def leave(self, name: str) -> Future[None]:
        """Lets go of a collection. Who opens the name again waits until the future is done:
        one writer for each file, always. To be given to `left` when it is closed.
        """
        leaving: Future[None] = Future()
        with self._lock:
            self._open.pop(name, None)
            self._leaving[name] = leaving
        return leaving

    def left(self, name: str, leaving: Future[None]) -> None:
        """What `leave` let go of is closed."""
        leaving.set_result(None)
        with self._lock:
            if self._leaving.get(name) is leaving:
                del self._leaving[name]

    def _open_now(self, name: str) -> Collection:
        with self._lock:
            leaving = self._leaving.pop(name, None)
        if leaving is not None:
            # One writer for each file, always.
            leaving.result()
        return self._open_one(name)

    def _close_longest_unused(self) -> None:
        """Makes room for one more. Whoever still holds it is told to try again."""
        for name, opened in self._open.items():
            if (found := _ready(opened)) is not None:
                del self._open[name]
                self._leaving[name] = self._executor.submit(found.close, CLOSE_WAIT_S)
                return
        raise Unavailable(
            "OVERLOADED",
            f"{limits.COLLECTIONS_OPEN_MAX} collections are being opened, the most at once",
            retry_delay_ms=limits.RETRY_DELAY_MS,
        )

    def _forget_failed(self, name: str, opened: Future[Collection]) -> None:
        # The next call tries again.
        if opened.cancelled() or opened.exception() is not None:
            with self._lock:
                if self._open.get(name) is opened:
                    del self._open[name]

    def stop(self) -> bool:
        """Refuses new calls; False if it did so before."""
        with self._lock:
            if self._closed:
                return False
            self._closed = True
        self._executor.shutdown(wait=False, cancel_futures=True)
        for opened in self.all():
            if (found := _ready(opened)) is not None:
                found.stop()
        return True

    def close(self, deadline_s: float) -> None:
        """Lets queued writes finish until then (monotonic clock), and closes the files."""
        self._executor.shutdown(wait=True)
        for opened in self.all():
            if (found := _ready(opened)) is not None:
                found.close(max(0.1, deadline_s - time.monotonic()))


def _ready(opened: Future[Collection] | None) -> Collection | None:
    if opened is None or not opened.done() or opened.cancelled() or opened.exception() is not None:
        return None
    return opened.result()
