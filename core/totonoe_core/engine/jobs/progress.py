"""Progress streams of one piece of work: the newest message, and its end."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from totonoe_core.base.errors import Quota
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.reembed import Reembedded, ReembedMessage
from totonoe_core.engine.state.futures import fail

_END: tuple[ReembedMessage, ...] = ()


class Watch:
    """One reader's stream. Newer progress replaces unread progress."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: ReembedMessage | None = None
        self._last: ReembedMessage | None = None
        self._over = False
        self._failure: BaseException | None = None
        self._waiting: Future[tuple[ReembedMessage, ...]] | None = None

    @property
    def over(self) -> bool:
        """True if no message follows."""
        return self._over

    def read(self) -> Future[tuple[ReembedMessage, ...]]:
        """Return the next messages, at least one; none at the end. One read at a time."""
        future: Future[tuple[ReembedMessage, ...]] = Future()
        with self._lock:
            self._waiting = future
            self._settle()
        return future

    def leave(self) -> None:
        """End the reader; the work goes on. Idempotent."""
        with self._lock:
            self._over, self._ready, self._last = True, None, None
            self._settle()

    def tell(self, message: ReembedMessage) -> None:
        """Send progress."""
        with self._lock:
            if not self._over:
                self._ready = message
                self._settle()

    def end(self, message: ReembedMessage) -> None:
        """Send the last message."""
        with self._lock:
            if not self._over:
                self._last, self._over = message, True
                self._settle()

    def fail(self, error: BaseException) -> None:
        """End it with an error."""
        with self._lock:
            if not self._over:
                self._failure, self._over = error, True
                self._settle()

    def _settle(self) -> None:
        """Answer the waiting read, if there is an answer. Under the lock."""
        messages = tuple(progress for progress in (self._ready, self._last) if progress is not None)
        if self._waiting is None or not (messages or self._over):
            return
        waiting, self._waiting = self._waiting, None
        if self._failure is not None and not messages:
            fail(waiting, self._failure)
        elif waiting.set_running_or_notify_cancel():
            self._ready = self._last = None
            waiting.set_result(messages or _END)


class Watches:
    """All readers of one piece of work, at most `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._held: list[Watch] = []

    def add(self) -> Watch:
        """Add a reader. Raises `Quota`."""
        made = Watch()
        with self._lock:
            self._held = [watch for watch in self._held if not watch.over]
            if len(self._held) >= self._most:
                raise Quota("QUOTA_EXCEEDED", f"{self._most} streams watch it, the most")
            self._held.append(made)
        return made

    def any(self) -> bool:
        """Return whether a reader waits for more."""
        return any(not watch.over for watch in self._all())

    def tell(self, message: ReembedMessage) -> None:
        """Send progress to all."""
        for watch in self._all():
            watch.tell(message)

    def end(self, message: ReembedMessage) -> None:
        """Send the last message to all."""
        for watch in self._all():
            watch.end(message)

    def fail(self, error: BaseException) -> None:
        """End all with an error."""
        for watch in self._all():
            watch.fail(error)

    def _all(self) -> list[Watch]:
        with self._lock:
            return list(self._held)


def told(applied: Applied) -> ReembedMessage:
    """Return the last message: the result of the operation."""
    (result,) = applied.results
    assert isinstance(result, Reembedded)
    return ReembedMessage(
        done=result,
        operation_id=applied.operation_id,
        revision=applied.revision,
        replayed=applied.replayed,
    )
