"""Who waits for the next revision of a collection, and is told once it is on disk."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Executor, Future

from totonoe_core import limits
from totonoe_core.engine.futures import Why, fail, ready, settle, shutting_down
from totonoe_core.errors import Quota


class Waiters:
    """Futures of those who wait for a revision. Safe from any thread.

    The writer only notes the revision and hands the telling over to a pool, once at a time:
    what is published meanwhile is told together. However many wait, it costs the writer the same.
    """

    def __init__(self, executor: Executor, revision: int) -> None:
        self._executor = executor
        self._revision = revision
        self._lock = threading.Lock()
        self._waiting: dict[Future[int], int] = {}
        self._telling = False
        self._closed: Why | None = None

    def wait(self, after_revision: int) -> Future[int]:
        """The newest revision, once it is later than this one. A cancelled future is forgotten.

        Raises
        ------
        Quota
            WATCHERS_MAX wait already.
        Unavailable
            The collection is being closed. A future fails so, too.
        """
        with self._lock:
            if self._closed is not None:
                raise self._closed()
            if self._revision > after_revision:
                return ready(self._revision)
            if len(self._waiting) >= limits.WATCHERS_MAX:
                raise Quota(
                    "QUOTA_EXCEEDED",
                    f"{limits.WATCHERS_MAX} watchers wait for changes, the most at once",
                )
            future: Future[int] = Future()
            self._waiting[future] = after_revision
        future.add_done_callback(self._drop)
        return future

    def _drop(self, future: Future[int]) -> None:
        if future.cancelled():
            with self._lock:
                self._waiting.pop(future, None)

    def publish(self, revision: int) -> None:
        """A revision is on disk. For the writer: it never waits for those who wait."""
        with self._lock:
            self._revision = revision
            if self._telling or not self._waiting:
                return
            self._telling = True
        # A pool that takes no more work belongs to an engine that closes: `close` tells them.
        with contextlib.suppress(RuntimeError):
            self._executor.submit(self._tell)

    def _tell(self) -> None:
        while True:
            with self._lock:
                revision = self._revision
                due = [one for one, after in self._waiting.items() if after < revision]
                for one in due:
                    del self._waiting[one]
                if not due:
                    self._telling = False
                    return
            for one in due:
                settle(one, lambda: revision)  # noqa: B023 - called at once

    def close(self, why: Why = shutting_down) -> None:
        """Fails those who wait, and those who come later. Idempotent."""
        with self._lock:
            self._closed = self._closed or why
            waiting, self._waiting = list(self._waiting), {}
        for one in waiting:
            fail(one, why())
