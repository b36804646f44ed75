"""A pool of threads that gives each peer a turn after the other.

In a pool that works in the order of arrival, one caller with many long reads makes all others wait
for all of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, InvalidStateError
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from totonoe_core.base import limits
from totonoe_core.base.turn import TURN

P = ParamSpec("P")
T = TypeVar("T")

_Work = tuple[Future[Any], Callable[[], Any]]


class FairPool(Executor):
    """An executor; work waits in the turn of the peer that submits it (`TURN`).

    The threads begin with the first work. They are daemons: whoever has no more use for what they
    do need not end them.

    Parameters
    ----------
    threads_max : int
    name : str
        Of the threads.
    """

    def __init__(self, threads_max: int, name: str) -> None:
        self._threads_max, self._name = threads_max, name
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, deque[_Work]] = OrderedDict()
        self._threads: list[threading.Thread] = []
        self._closed = False
        # One entry for each work that waits, and for each thread in the end. Its `get` is fast.
        self._ready: SimpleQueue[bool] = SimpleQueue()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Return the future of a call. Raises `RuntimeError` after the shutdown."""
        future: Future[T] = Future()
        work = fn if not (args or kwargs) else lambda: fn(*args, **kwargs)
        peer = TURN.get()[0]
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool takes no more work")
            waiting = self._waiting.get(peer)
            if waiting is None:
                waiting = self._waiting[peer] = deque()
            waiting.append((future, work))
            if len(self._threads) < self._threads_max:
                self._begin_thread()
        self._ready.put(True)
        return future

    def _begin_thread(self) -> None:
        name = f"{self._name}_{len(self._threads)}"
        thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self) -> None:
        while self._ready.get():
            with self._lock:
                taken = self._next()
            if taken is not None:
                _do(*taken)
            # It may hold a long answer.
            del taken

    def _next(self) -> _Work | None:
        if not self._waiting:
            return None
        peer, waiting = next(iter(self._waiting.items()))
        taken = waiting.popleft()
        if waiting:
            self._waiting.move_to_end(peer)
        else:
            del self._waiting[peer]
        return taken

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; see `Executor.shutdown`. Idempotent."""
        with self._lock:
            dropped = [call for some in self._waiting.values() for call in some]
            if cancel_futures:
                self._waiting.clear()
            if not self._closed:
                self._closed = True
                for _ in self._threads:
                    self._ready.put(False)
        if cancel_futures:
            for future, _ in dropped:
                future.cancel()
        if wait:
            for thread in self._threads:
                thread.join()


def _do(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:
        with suppress(InvalidStateError):
            future.set_exception(error)
    else:
        with suppress(InvalidStateError):
            future.set_result(result)


class ReadPool(FairPool):
    """A fair pool for reads, with a thread of its own for long ones: short ones never wait for it.

    Attributes
    ----------
    long : FairPool
        For reads of many rows.
    """

    def __init__(self, threads_max: int, name: str) -> None:
        super().__init__(threads_max, name)
        self.long = FairPool(1, f"{name}_long")

    def of(self, rows_max: int) -> FairPool:
        """Return the pool for a read of so many rows at most."""
        return self.long if rows_max > limits.PAGE_ROWS_READ else self

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `FairPool.shutdown`."""
        self.long.shutdown(wait, cancel_futures=cancel_futures)
        super().shutdown(wait, cancel_futures=cancel_futures)
