"""Streams of one piece of work, as each is read: the newest that was told, and its end."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from totonoe_core.commands import Applied
from totonoe_core.engine.futures import fail
from totonoe_core.errors import Quota
from totonoe_core.reembed import Reembedded, ReembedTold

_END: tuple[ReembedTold, ...] = ()


class Watch:
    """What one reader is told. Progress that was not read gives way to newer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: ReembedTold | None = None
        self._last: ReembedTold | None = None
        self._over = False
        self._failure: BaseException | None = None
        self._waiting: Future[tuple[ReembedTold, ...]] | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more is told."""
        return self._over

    def read(self) -> Future[tuple[ReembedTold, ...]]:
        """The next messages, at least one; none: it is over. One read at a time."""
        future: Future[tuple[ReembedTold, ...]] = Future()
        with self._lock:
            self._waiting = future
            self._settle()
        return future

    def leave(self) -> None:
        """The reader goes; the work goes on. Idempotent."""
        with self._lock:
            self._over, self._ready, self._last = True, None, None
            self._settle()

    def tell(self, message: ReembedTold) -> None:
        """Progress."""
        with self._lock:
            if not self._over:
                self._ready = message
                self._settle()

    def end(self, message: ReembedTold) -> None:
        """The last message."""
        with self._lock:
            if not self._over:
                self._last, self._over = message, True
                self._settle()

    def fail(self, error: BaseException) -> None:
        """Ends it by an error."""
        with self._lock:
            if not self._over:
                self._failure, self._over = error, True
                self._settle()

    def _settle(self) -> None:
        """Answers who waits, if there is anything to answer. Under the lock."""
        messages = tuple(one for one in (self._ready, self._last) if one is not None)
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
        """One more reader. Raises `Quota`."""
        made = Watch()
        with self._lock:
            self._held = [one for one in self._held if not one.over]
            if len(self._held) >= self._most:
                raise Quota("QUOTA_EXCEEDED", f"{self._most} streams watch it, the most")
            self._held.append(made)
        return made

    def tell(self, message: ReembedTold) -> None:
        """Progress, to all."""
        for one in self._all():
            one.tell(message)

    def end(self, message: ReembedTold) -> None:
        """The last message, to all."""
        for one in self._all():
            one.end(message)

    def fail(self, error: BaseException) -> None:
        """Ends all by an error."""
        for one in self._all():
            one.fail(error)

    def _all(self) -> list[Watch]:
        with self._lock:
            return list(self._held)


def told(applied: Applied) -> ReembedTold:
    """The last message: what the operation did."""
    (result,) = applied.results
    assert isinstance(result, Reembedded)
    return ReembedTold(
        done=result,
        operation_id=applied.operation_id,
        revision=applied.revision,
        replayed=applied.replayed,
    )
