"""Open collections: opened on first use, closed when idle or when memory is short.

    use      counts a call in; its collection is open until it is given back
    sweep    closes idle collections, and the longest unused ones over the budget
    retire   ends a deleted collection: no new calls, closed once the running ones are over

No call waits for another collection's file: files are opened and closed on threads of their own. A
collection in use is never closed: calls that run or wait for a change, queued writes, runs of
Consolidate, a purge being cleaned up. If as many as allowed are in use, a call to another one waits
until one of them is free.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from totonoe_core.base import limits, plain
from totonoe_core.base.errors import Unavailable
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.queries import OpenFigures
from totonoe_core.engine.collection.collection import Collection
from totonoe_core.engine.state.futures import Why, fail, settle, shutting_down, then

T = TypeVar("T")
Monotonic = Callable[[], float]

CLOSE_WAIT_S = 30.0
"""Longest wait of a deletion for the calls that still run on the collection."""
_UNTIL_CLOSED_S = 24 * 3600.0
"""Time limit for closing a file; a call that reopens it waits, since a file has one writer."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Opening:
    """A collection that is open, being opened, or waits to be opened."""

    name: str
    future: Future[Collection] = field(default_factory=Future)
    use_count: int = 0
    used_s: float = 0.0
    """Time when it was last given back."""
    nbytes: int = 0
    told: bool = False
    """True once we warned that this collection alone exceeds the memory budget."""
    given_back: Future[None] | None = None
    """For a retired one: done when no call uses it any more."""
    retired_s: float = 0.0

    def ready(self) -> Collection | None:
        """Return the collection, if it is open."""
        future = self.future
        if not future.done() or future.cancelled() or future.exception() is not None:
            return None
        return future.result()


@dataclass(slots=True, eq=False)
class _Closing:
    """A collection that is being closed."""

    collection: Collection | None
    closed: Future[None]
    keep_info: bool


class Openings:
    """Open collections by name. All methods are safe from any thread.

    Parameters
    ----------
    open_one : callable
        Opens the collection of a name, on a thread of `executor`.
    executor : ThreadPoolExecutor
        Opens and closes; shut down by `stop`.
    idle_s : float
        A collection is closed after so long without a call; 0: never.
    open_max : int
        Collections open at once, at most COLLECTIONS_OPEN_MAX.
    budget_bytes : int
        Limit for the arrays and graphs of open collections; 0: none. A collection that exceeds it
        alone stays open until it is idle.
    monotonic : callable
        Seconds.
    """

    def __init__(
        self,
        open_one: Callable[[str], Collection],
        executor: ThreadPoolExecutor,
        *,
        idle_s: float = 0.0,
        open_max: int = limits.COLLECTIONS_OPEN_MAX,
        budget_bytes: int = 0,
        monotonic: Monotonic = time.monotonic,
    ) -> None:
        self._open_one = open_one
        self._executor = executor
        self._idle_s = idle_s
        self._most = open_max
        self._budget_bytes = budget_bytes
        self._monotonic = monotonic
        # Reentrant: a future that is done calls back at once, under the lock.
        self._lock = threading.RLock()
        self._open: dict[str, Opening] = {}
        """Ordered by last use."""
        self._waiting: dict[str, Opening] = {}
        self._retired: list[Opening] = []
        self._leaving: dict[str, _Closing] = {}
        self._infos: dict[str, str] = {}
        """Settings of closed collections, which nobody can change; each reader has a token."""
        self._info_reads: dict[str, object] = {}
        self._idle_closed_count = 0
        self._closed = False

    # -- Calls

    def use(self, name: str, check: Callable[[str], None], count: int = 1) -> Opening:
        """Count calls into a collection, which is opened on first use. Each must be given back.

        `check` raises if there is no such collection.
        """
        with self._lock:
            if self._closed:
                raise shutting_down()
            opening = self._open.pop(name, None)
            if opening is not None:
                # Last in the order: the first one is closed when there are too many.
                self._open[name] = opening
            else:
                opening = self._waiting.get(name)
            if opening is None:
                check(name)
                opening = self._begin(name)
            opening.use_count += count
        return opening

    def give_back(self, opening: Opening, used: bool = True) -> None:
        """End a call. Without `used` it only looked, and the collection is as idle as before."""
        with self._lock:
            opening.use_count -= 1
            if opening.use_count:
                return
            if used:
                opening.used_s = self._monotonic()
            retired = opening.given_back
            if retired is None and self._waiting:
                self._admit()
        if retired is not None:
            settle(retired, lambda: None)

    def call(
        self, name: str, check: Callable[[str], None], step: Callable[[Collection], Future[T]]
    ) -> Future[T]:
        """Run a step on a collection, which stays open until the step's future is done."""
        opening = self.use(name, check)
        begun: list[Future[T]] = []

        def on(collection: Collection) -> Future[T]:
            begun.append(step(collection))
            return begun[0]

        def ended(_: Future[T]) -> None:
            # A caller that gave up does not end the running call.
            if begun:
                begun[0].add_done_callback(lambda _: self.give_back(opening))
            else:
                self.give_back(opening)

        answer = then(opening.future, on)
        answer.add_done_callback(ended)
        return answer

    def use_open(self) -> list[Opening]:
        """Count a call into every open collection; each must be given back."""
        with self._lock:
            openings = [opening for opening in self._open.values() if opening.ready() is not None]
            for opening in openings:
                opening.use_count += 1
        return openings

    def ready_ones(self) -> list[Collection]:
        """Return every open collection. They may be closed meanwhile."""
        with self._lock:
            open_ones = list(self._open.values())
        return [collection for opening in open_ones if (collection := opening.ready()) is not None]

    # -- Opening

    def _begin(self, name: str) -> Opening:
        """Open a collection, or queue it until there is room. Under the lock."""
        opening = Opening(name)
        self._forget_info(name)
        if len(self._open) < self._open_max or self._make_room():
            self._open_now(opening)
        elif len(self._waiting) < limits.COLLECTIONS_WAITING_MAX:
            opening.used_s = self._monotonic()
            self._waiting[name] = opening
        else:
            raise self._overloaded()
        return opening

    @property
    def _open_max(self) -> int:
        return min(self._most, limits.COLLECTIONS_OPEN_MAX)

    def _overloaded(self) -> Unavailable:
        return Unavailable(
            "OVERLOADED",
            f"{self._open_max} collections are in use, the most at once",
            retry_delay_ms=limits.RETRY_DELAY_MS,
        )

    def _open_now(self, opening: Opening) -> None:
        """Start opening a collection. Under the lock."""
        self._open[opening.name] = opening
        opening.future.add_done_callback(lambda _: self._ended_opening(opening))
        self._run(opening.future, lambda: self._opened(opening))

    def _opened(self, opening: Opening) -> Collection:
        with self._lock:
            leaving = self._leaving.get(opening.name)
        if leaving is not None:
            leaving.closed.result()
        collection = self._open_one(opening.name)
        opening.nbytes = collection.nbytes()
        return collection

    def _ended_opening(self, opening: Opening) -> None:
        with self._lock:
            if opening.ready() is not None:
                self._fit()
            elif self._open.get(opening.name) is opening:
                # The next call tries again.
                del self._open[opening.name]
            # All callers may have given up meanwhile.
            self._admit()

    def _run(self, future: Future[T], work: Callable[[], T]) -> None:
        """Complete a future with the result of work on the pool."""
        try:
            task = self._executor.submit(settle, future, work)
        except RuntimeError:
            fail(future, shutting_down())
            return
        # A pool that closes drops its queue.
        task.add_done_callback(
            lambda task: fail(future, shutting_down()) if task.cancelled() else None
        )

    def _admit(self) -> None:
        """Open waiting collections, as far as there is room now. Under the lock."""
        while self._waiting and not self._closed:
            if len(self._open) >= self._open_max and not self._make_room():
                return
            opening = self._waiting.pop(next(iter(self._waiting)))
            self._open_now(opening)

    # -- Closing

    def _make_room(self) -> bool:
        """Close the longest unused collection that is free, if there is one. Under the lock."""
        for opening in self._open.values():
            if self._may_close(opening):
                self._close(opening)
                return True
        return False

    @staticmethod
    def _may_close(opening: Opening) -> bool:
        collection = opening.ready()
        return opening.use_count == 0 and collection is not None and not collection.busy()

    def _close(self, opening: Opening) -> None:
        """Close a collection. Under the lock, after `_may_close`."""
        del self._open[opening.name]
        collection = opening.future.result()
        leaving = self._leave(opening.name, collection, keep_info=True)
        self._run(leaving.closed, lambda: collection.close(_UNTIL_CLOSED_S))

    def _leave(self, name: str, collection: Collection | None, keep_info: bool) -> _Closing:
        """Mark a collection as closing; calls that open its name again wait. Under the lock.

        Its settings are kept for reads while it is closed.
        """
        leaving = self._leaving[name] = _Closing(collection, Future(), keep_info)

        def left(closed: Future[None]) -> None:
            if closed.exception() is not None:
                return  # `close` closes it
            with self._lock:
                if self._leaving.get(name) is not leaving:
                    return
                del self._leaving[name]
                reopened = name in self._open or name in self._waiting
                if leaving.keep_info and collection is not None and not reopened:
                    self._infos[name] = plain.dumps(collection.info)

        leaving.closed.add_done_callback(left)
        return leaving

    def _fit(self) -> None:
        """Close the longest unused until the open ones fit into the budget. Under the lock."""
        budget_bytes = self._budget_bytes
        total_bytes = sum(opening.nbytes for opening in self._open.values())
        if not budget_bytes or total_bytes <= budget_bytes:
            return
        for opening in list(self._open.values())[:-1]:
            if total_bytes <= budget_bytes:
                return
            # A collection that exceeds the budget alone would be reopened at every call.
            if opening.nbytes <= budget_bytes and self._may_close(opening):
                self._close(opening)
                self._idle_closed_count += 1
                total_bytes -= opening.nbytes
        for opening in self._open.values():
            if opening.nbytes > budget_bytes and not opening.told:
                opening.told = True
                _log.warning(
                    "collection %r holds %d MB by itself, more than the memory budget of %d MB; "
                    "it stays open until it is idle",
                    opening.name,
                    opening.nbytes >> 20,
                    budget_bytes >> 20,
                )

    def sweep(self) -> None:
        """Close idle collections and those over the budget; fail calls that waited too long."""
        with self._lock:
            open_ones = list(self._open.values())
        for opening in open_ones:
            if (collection := opening.ready()) is not None:
                opening.nbytes = collection.nbytes()
        now_s = self._monotonic()
        with self._lock:
            if self._closed:
                return
            for opening in list(self._open.values()):
                idle = self._idle_s and now_s - opening.used_s >= self._idle_s
                if idle and self._may_close(opening):
                    self._close(opening)
                    self._idle_closed_count += 1
            self._fit()
            self._admit()
            waiting = list(self._waiting.values())
            late = [
                opening for opening in waiting if now_s - opening.used_s >= limits.COLLECTION_WAIT_S
            ]
            for opening in late:
                del self._waiting[opening.name]
            overdue = [
                opening for opening in self._retired if now_s - opening.retired_s >= CLOSE_WAIT_S
            ]
        for opening in late:
            fail(opening.future, self._overloaded())
        for opening in overdue:
            if opening.given_back is not None:
                settle(opening.given_back, lambda: None)

    def retire(self, name: str, gone: Why) -> Future[None]:
        """Let go of a collection that no longer exists; done when its file is closed.

        Running calls end, at most CLOSE_WAIT_S later; those that wait for a change, and runs of
        Consolidate, fail with `gone` at once. New calls find nothing, or another collection of that
        name, which is opened when this one is closed.
        """
        with self._lock:
            self._forget_info(name)
            opening = self._open.pop(name, None)
            if opening is None:
                waiting = self._waiting.pop(name, None)
                leaving = self._leaving.get(name)
                if leaving is None:
                    leaving = self._leave(name, None, keep_info=False)
                    leaving.closed.set_result(None)
                leaving.keep_info = False
            else:
                opening.retired_s = self._monotonic()
                opening.given_back = given_back = Future[None]()
                unused = opening.use_count == 0
                self._retired.append(opening)
                leaving = self._leave(name, opening.ready(), keep_info=False)
                self._admit()
        if opening is None:
            if waiting is not None:
                fail(waiting.future, gone())
            return leaving.closed
        if (collection := opening.ready()) is not None:
            collection.end(gone)
        given_back.add_done_callback(
            lambda _: self._run(leaving.closed, lambda: self._close_retired(opening, gone))
        )
        if unused:
            settle(given_back, lambda: None)
        return leaving.closed

    def hold(self, name: str, gone: Why) -> tuple[Future[None], Future[None]]:
        """Retire a collection, and keep its name from being opened until `release`.

        Returns a future that is done when its file is closed, and the token for `release`.
        """
        with self._lock:
            closed = self.retire(name, gone)
            held = self._leave(name, None, keep_info=False).closed
        return closed, held

    def keep_shut(self, name: str) -> Future[None] | None:
        """Keep a closed collection from being opened until `release`; return the token for that.

        Returns `None` if it is open, being opened or being closed.
        """
        with self._lock:
            if name in self._open or name in self._waiting or name in self._leaving:
                return None
            return self._leave(name, None, keep_info=False).closed

    def release(self, name: str, held: Future[None]) -> None:
        """End a `hold` or `keep_shut`: the name may refer to another file now."""
        with self._lock:
            self._forget_info(name)
        held.set_result(None)

    def _close_retired(self, opening: Opening, gone: Why) -> None:
        with self._lock:
            self._retired.remove(opening)
        if (collection := opening.ready()) is not None:
            collection.close(_UNTIL_CLOSED_S, gone)

    # -- Looking on

    def info(self, name: str, read: Callable[[], CollectionInfo]) -> CollectionInfo:
        """Return the settings of a collection: open, as of its closing, or read from the file."""
        token = object()
        with self._lock:
            opening = self._open.get(name)
            if opening is not None and (collection := opening.ready()) is not None:
                return collection.info
            kept = self._infos.get(name)
            if kept is None:
                self._info_reads[name] = token
        if kept is not None:
            return plain.loads(CollectionInfo, kept)
        info = read()
        with self._lock:
            # Not kept if it was opened meanwhile: it may have changed since this read.
            if self._info_reads.get(name) is token:
                del self._info_reads[name]
                self._infos[name] = plain.dumps(info)
        return info

    def _forget_info(self, name: str) -> None:
        self._infos.pop(name, None)
        self._info_reads.pop(name, None)

    def closed_infos(self) -> list[tuple[str, str]]:
        """Return names and settings, as `plain` text, of closed collections, as far as known."""
        with self._lock:
            return list(self._infos.items())

    def leaving(self, name: str) -> bool:
        """Return whether a collection of this name is being closed."""
        with self._lock:
            return name in self._leaving

    def figures(self) -> OpenFigures:
        """Return figures of the open collections."""
        with self._lock:
            return OpenFigures(
                len(self._open),
                self._idle_closed_count,
                sum(opening.nbytes for opening in self._open.values()),
                self._budget_bytes,
            )

    # -- The end

    def stop(self) -> bool:
        """Refuse new calls; return false if that was done before."""
        with self._lock:
            if self._closed:
                return False
            self._closed = True
            waiting, self._waiting = list(self._waiting.values()), {}
            open_ones = [*self._open.values(), *self._retired]
        self._executor.shutdown(wait=False, cancel_futures=True)
        for opening in waiting:
            fail(opening.future, shutting_down())
        for opening in open_ones:
            if (collection := opening.ready()) is not None:
                collection.stop()
        return True

    def close(self, deadline_s: float) -> None:
        """Let queued writes finish until a deadline (`time.monotonic`), and close the files."""
        self._executor.shutdown(wait=True)
        with self._lock:
            open_ones = [opening.ready() for opening in (*self._open.values(), *self._retired)]
            open_ones += [leaving.collection for leaving in self._leaving.values()]
        for collection in open_ones:
            if collection is not None:
                collection.close(max(0.1, deadline_s - time.monotonic()))
