"""Which collections are open: opened on first use, closed when they are idle or memory is short.

    use      counts a call in; its collection is open until it is given back
    sweep    closes what nobody used for a while, and the longest unused over the budget
    retire   a collection that is deleted: no new calls, closed once the running ones are over

Nobody's call waits for another collection's file: files are opened and closed on threads of
their own. A collection in use (calls under way, those who wait for a change among them, writes in
its queue, runs of Consolidate, a purge being cleaned up) is never closed. Where as many as may be
open are in use, who wants one more waits until one of them is not.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from totonoe_core import limits, plain
from totonoe_core.commands import CollectionInfo
from totonoe_core.engine.collection import Collection
from totonoe_core.engine.futures import Why, fail, settle, shutting_down, then
from totonoe_core.errors import Unavailable
from totonoe_core.queries import OpenFigures

T = TypeVar("T")
Monotonic = Callable[[], float]

CLOSE_WAIT_S = 30.0
"""What a deletion waits for the calls that still run on the collection."""
_UNTIL_CLOSED_S = 24 * 3600.0
"""One writer for each file, always: who opens it again waits for its end, however long it takes."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Opening:
    """A collection that is open, being opened, or waits for that."""

    name: str
    future: Future[Collection] = field(default_factory=Future)
    use_count: int = 0
    used_s: float = 0.0
    """When it was last given back."""
    nbytes: int = 0
    told: bool = False
    """Whether the log has it that it is larger than the budget by itself."""
    given_back: Future[None] | None = None
    """Of a retired one: done when nobody uses it any more."""
    retired_s: float = 0.0

    def ready(self) -> Collection | None:
        """The collection, if it is open."""
        future = self.future
        if not future.done() or future.cancelled() or future.exception() is not None:
            return None
        return future.result()


@dataclass(slots=True, eq=False)
class _Leaving:
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
        After so long without a call a collection is closed; 0: never.
    budget_bytes : int
        What open collections may hold in arrays and graphs; 0: any. One that holds more by itself
        stays open until it is idle.
    monotonic : callable
        Seconds.
    """

    def __init__(
        self,
        open_one: Callable[[str], Collection],
        executor: ThreadPoolExecutor,
        *,
        idle_s: float = 0.0,
        budget_bytes: int = 0,
        monotonic: Monotonic = time.monotonic,
    ) -> None:
        self._open_one = open_one
        self._executor = executor
        self._idle_s = idle_s
        self._budget_bytes = budget_bytes
        self._monotonic = monotonic
        # Reentrant: what ends at once calls back at once.
        self._lock = threading.RLock()
        self._open: dict[str, Opening] = {}
        """In the order of their last use."""
        self._waiting: dict[str, Opening] = {}
        self._retired: list[Opening] = []
        self._leaving: dict[str, _Leaving] = {}
        self._infos: dict[str, str] = {}
        """Settings of those that are not open, which nobody can change; each reader has a token."""
        self._info_reads: dict[str, object] = {}
        self._idle_closed_count = 0
        self._closed = False

    # -- Calls

    def use(self, name: str, check: Callable[[str], None], count: int = 1) -> Opening:
        """The collection of a name for so many calls, opened on first use. Each is given back.

        `check` raises for a collection that there is not.
        """
        with self._lock:
            if self._closed:
                raise shutting_down()
            one = self._open.pop(name, None)
            if one is not None:
                # Last in the order: the first one is closed when there are too many.
                self._open[name] = one
            else:
                one = self._waiting.get(name)
            if one is None:
                check(name)
                one = self._begin(name)
            one.use_count += count
        return one

    def give_back(self, one: Opening, used: bool = True) -> None:
        """A call is over. What was not `used` was only looked at, and is idle as before."""
        with self._lock:
            one.use_count -= 1
            if one.use_count:
                return
            if used:
                one.used_s = self._monotonic()
            retired = one.given_back
            if retired is None and self._waiting:
                self._admit()
        if retired is not None:
            settle(retired, lambda: None)

    def call(
        self, name: str, check: Callable[[str], None], step: Callable[[Collection], Future[T]]
    ) -> Future[T]:
        """The future of a step on a collection, which stays open until it is over."""
        one = self.use(name, check)
        begun: list[Future[T]] = []

        def on(found: Collection) -> Future[T]:
            begun.append(step(found))
            return begun[0]

        def ended(_: Future[T]) -> None:
            # A caller who gave up does not end what is under way.
            if begun:
                begun[0].add_done_callback(lambda _: self.give_back(one))
            else:
                self.give_back(one)

        answer = then(one.future, on)
        answer.add_done_callback(ended)
        return answer

    def use_open(self) -> list[Opening]:
        """Every collection that is open, each to be given back."""
        with self._lock:
            found = [one for one in self._open.values() if one.ready() is not None]
            for one in found:
                one.use_count += 1
        return found

    def ready_ones(self) -> list[Collection]:
        """Every collection that is open. They may be closed meanwhile."""
        with self._lock:
            open_ones = list(self._open.values())
        return [found for one in open_ones if (found := one.ready()) is not None]

    # -- Opening

    def _begin(self, name: str) -> Opening:
        """Opens a collection, or queues it until there is room. Under the lock."""
        one = Opening(name)
        self._forget_info(name)
        if len(self._open) < limits.COLLECTIONS_OPEN_MAX or self._make_room():
            self._open_now(one)
        elif len(self._waiting) < limits.COLLECTIONS_WAITING_MAX:
            one.used_s = self._monotonic()
            self._waiting[name] = one
        else:
            raise _overloaded()
        return one

    def _open_now(self, one: Opening) -> None:
        """Under the lock."""
        self._open[one.name] = one
        one.future.add_done_callback(lambda _: self._ended_opening(one))
        self._run(one.future, lambda: self._opened(one))

    def _opened(self, one: Opening) -> Collection:
        with self._lock:
            leaving = self._leaving.get(one.name)
        if leaving is not None:
            leaving.closed.result()
        found = self._open_one(one.name)
        one.nbytes = found.nbytes()
        return found

    def _ended_opening(self, one: Opening) -> None:
        with self._lock:
            if one.ready() is not None:
                self._fit()
            elif self._open.get(one.name) is one:
                # The next call tries again.
                del self._open[one.name]
            # Whoever wanted it may have given up meanwhile.
            self._admit()

    def _run(self, future: Future[T], work: Callable[[], T]) -> None:
        """Gives a future the result of work on the pool."""
        try:
            task = self._executor.submit(settle, future, work)
        except RuntimeError:
            fail(future, shutting_down())
            return
        # A pool that closes drops what waits in it.
        task.add_done_callback(
            lambda task: fail(future, shutting_down()) if task.cancelled() else None
        )

    def _admit(self) -> None:
        """Opens those that wait, as far as there is room now. Under the lock."""
        while self._waiting and not self._closed:
            if len(self._open) >= limits.COLLECTIONS_OPEN_MAX and not self._make_room():
                return
            one = self._waiting.pop(next(iter(self._waiting)))
            self._open_now(one)

    # -- Closing

    def _make_room(self) -> bool:
        """Closes the longest unused that is not in use, if there is one. Under the lock."""
        for one in self._open.values():
            if self._may_close(one):
                self._close(one)
                return True
        return False

    @staticmethod
    def _may_close(one: Opening) -> bool:
        found = one.ready()
        return one.use_count == 0 and found is not None and not found.busy()

    def _close(self, one: Opening) -> None:
        """Under the lock, after `_may_close`."""
        del self._open[one.name]
        found = one.future.result()
        leaving = self._leave(one.name, found, keep_info=True)
        self._run(leaving.closed, lambda: found.close(_UNTIL_CLOSED_S))

    def _leave(self, name: str, found: Collection | None, keep_info: bool) -> _Leaving:
        """Who opens the name again waits until it is closed. Under the lock.

        Its settings are kept for those who ask while it is closed.
        """
        leaving = self._leaving[name] = _Leaving(found, Future(), keep_info)

        def left(closed: Future[None]) -> None:
            if closed.exception() is not None:
                return  # `close` has to close it
            with self._lock:
                if self._leaving.get(name) is not leaving:
                    return
                del self._leaving[name]
                reopened = name in self._open or name in self._waiting
                if leaving.keep_info and found is not None and not reopened:
                    self._infos[name] = plain.dumps(found.info)

        leaving.closed.add_done_callback(left)
        return leaving

    def _fit(self) -> None:
        """Closes the longest unused until what is open fits into the budget. Under the lock."""
        budget_bytes = self._budget_bytes
        total_bytes = sum(one.nbytes for one in self._open.values())
        if not budget_bytes or total_bytes <= budget_bytes:
            return
        for one in list(self._open.values())[:-1]:
            if total_bytes <= budget_bytes:
                return
            # One that is too large by itself would be read again at its next call, and the next.
            if one.nbytes <= budget_bytes and self._may_close(one):
                self._close(one)
                self._idle_closed_count += 1
                total_bytes -= one.nbytes
        for one in self._open.values():
            if one.nbytes > budget_bytes and not one.told:
                one.told = True
                _log.warning(
                    "collection %r holds %d MB by itself, more than the memory budget of %d MB; "
                    "it stays open until it is idle",
                    one.name,
                    one.nbytes >> 20,
                    budget_bytes >> 20,
                )

    def sweep(self) -> None:
        """Closes what is idle, or too much; fails those who waited too long for room."""
        with self._lock:
            open_ones = list(self._open.values())
        for one in open_ones:
            if (found := one.ready()) is not None:
                one.nbytes = found.nbytes()
        now_s = self._monotonic()
        with self._lock:
            if self._closed:
                return
            for one in list(self._open.values()):
                idle = self._idle_s and now_s - one.used_s >= self._idle_s
                if idle and self._may_close(one):
                    self._close(one)
                    self._idle_closed_count += 1
            self._fit()
            self._admit()
            waiting = list(self._waiting.values())
            late = [one for one in waiting if now_s - one.used_s >= limits.COLLECTION_WAIT_S]
            for one in late:
                del self._waiting[one.name]
            overdue = [one for one in self._retired if now_s - one.retired_s >= CLOSE_WAIT_S]
        for one in late:
            fail(one.future, _overloaded())
        for one in overdue:
            if one.given_back is not None:
                settle(one.given_back, lambda: None)

    def retire(self, name: str, gone: Why) -> Future[None]:
        """Lets go of a collection that is no longer there; done when its file is closed.

        Calls that run end, at most CLOSE_WAIT_S later; those that would wait for a change, and
        runs of Consolidate, fail with `gone` at once. New ones find nothing, or another collection
        of that name, which is opened when this one is closed.
        """
        with self._lock:
            self._forget_info(name)
            one = self._open.pop(name, None)
            if one is None:
                waiting = self._waiting.pop(name, None)
                leaving = self._leaving.get(name)
                if leaving is None:
                    leaving = self._leave(name, None, keep_info=False)
                    leaving.closed.set_result(None)
                leaving.keep_info = False
            else:
                one.retired_s = self._monotonic()
                one.given_back = given_back = Future[None]()
                unused = one.use_count == 0
                self._retired.append(one)
                leaving = self._leave(name, one.ready(), keep_info=False)
                self._admit()
        if one is None:
            if waiting is not None:
                fail(waiting.future, gone())
            return leaving.closed
        if (found := one.ready()) is not None:
            found.end(gone)
        given_back.add_done_callback(
            lambda _: self._run(leaving.closed, lambda: self._close_retired(one, gone))
        )
        if unused:
            settle(given_back, lambda: None)
        return leaving.closed

    def hold(self, name: str, gone: Why) -> tuple[Future[None], Future[None]]:
        """Retires a collection, and lets nobody open its name before it is released.

        Returns what is done when its file is closed, and what `release` takes.
        """
        with self._lock:
            closed = self.retire(name, gone)
            held = self._leave(name, None, keep_info=False).closed
        return closed, held

    def release(self, name: str, held: Future[None]) -> None:
        """Ends a `hold`: the name may lead to another file now."""
        with self._lock:
            self._forget_info(name)
        held.set_result(None)

    def _close_retired(self, one: Opening, gone: Why) -> None:
        with self._lock:
            self._retired.remove(one)
        if (found := one.ready()) is not None:
            found.close(_UNTIL_CLOSED_S, gone)

    # -- Looking on

    def info(self, name: str, read: Callable[[], CollectionInfo]) -> CollectionInfo:
        """Settings of a collection: as it has them open, as it was left, or as they are read."""
        token = object()
        with self._lock:
            one = self._open.get(name)
            if one is not None and (found := one.ready()) is not None:
                return found.info
            kept = self._infos.get(name)
            if kept is None:
                self._info_reads[name] = token
        if kept is not None:
            return plain.loads(CollectionInfo, kept)
        info = read()
        with self._lock:
            # Not if it was opened meanwhile: it may have changed since it was read.
            if self._info_reads.get(name) is token:
                del self._info_reads[name]
                self._infos[name] = plain.dumps(info)
        return info

    def _forget_info(self, name: str) -> None:
        self._infos.pop(name, None)
        self._info_reads.pop(name, None)

    def closed_infos(self) -> list[tuple[str, str]]:
        """Names and settings, as `plain` text, of closed ones, as far as they are known."""
        with self._lock:
            return list(self._infos.items())

    def leaving(self, name: str) -> bool:
        """Whether a collection of this name is being closed."""
        with self._lock:
            return name in self._leaving

    def figures(self) -> OpenFigures:
        """What is open."""
        with self._lock:
            return OpenFigures(
                len(self._open),
                self._idle_closed_count,
                sum(one.nbytes for one in self._open.values()),
                self._budget_bytes,
            )

    # -- The end

    def stop(self) -> bool:
        """Refuses new calls; False if it did so before."""
        with self._lock:
            if self._closed:
                return False
            self._closed = True
            waiting, self._waiting = list(self._waiting.values()), {}
            open_ones = [*self._open.values(), *self._retired]
        self._executor.shutdown(wait=False, cancel_futures=True)
        for one in waiting:
            fail(one.future, shutting_down())
        for one in open_ones:
            if (found := one.ready()) is not None:
                found.stop()
        return True

    def close(self, deadline_s: float) -> None:
        """Lets queued writes finish until then (`time.monotonic`), and closes the files."""
        self._executor.shutdown(wait=True)
        with self._lock:
            open_ones = [one.ready() for one in (*self._open.values(), *self._retired)]
            open_ones += [one.collection for one in self._leaving.values()]
        for found in open_ones:
            if found is not None:
                found.close(max(0.1, deadline_s - time.monotonic()))


def _overloaded() -> Unavailable:
    return Unavailable(
        "OVERLOADED",
        f"{limits.COLLECTIONS_OPEN_MAX} collections are in use, the most at once",
        retry_delay_ms=limits.RETRY_DELAY_MS,
    )
