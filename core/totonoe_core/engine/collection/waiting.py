"""Waiting calls for the next revision of a collection, completed once it is on disk."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Executor, Future

from totonoe_core.base import limits
from totonoe_core.base.errors import Quota
from totonoe_core.engine.state.futures import Why, fail, ready, settle, shutting_down


class Waiters:
    """Futures that wait for a revision. Safe from any thread.

    The writer only notes the revision and hands completion over to a pool, one run at a time:
    revisions published meanwhile complete together. The writer's cost does not depend on the number
    of waiting calls.
    """

    def __init__(self, executor: Executor, revision: int) -> None:
        self._executor = executor
        self._revision = revision
        self._lock = threading.Lock()
        self._waiting: dict[Future[int], int] = {}
        self._telling = False
        self._closed: Why | None = None

    def wait(self, after_revision: int) -> Future[int]:
        """Return the newest revision, once it is later than this one. A cancelled future is
        dropped.

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
        """Note that a revision is on disk. For the writer: it never waits for the waiting calls."""
        with self._lock:
            self._revision = revision
            if self._telling or not self._waiting:
                return
            self._telling = True
        # A pool that refuses work belongs to a closing engine: `close` fails the futures.
        with contextlib.suppress(RuntimeError):
            self._executor.submit(self._tell)

    def _tell(self) -> None:
        while True:
            with self._lock:
                revision = self._revision
                due = [future for future, after in self._waiting.items() if after < revision]
                for future in due:
                    del self._waiting[future]
                if not due:
                    self._telling = False
                    return
            for future in due:
                settle(future, lambda: revision)  # noqa: B023 - called at once

    def close(self, why: Why = shutting_down) -> None:
        """Fail waiting calls, and later ones. Idempotent."""
        with self._lock:
            self._closed = self._closed or why
            waiting, self._waiting = list(self._waiting), {}
        for future in waiting:
            fail(future, why())
