"""Waiting for the engine's futures from the event loop, and not for ever."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from concurrent.futures import Future
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from totonoe_core.base import limits
from totonoe_core.base.errors import Unavailable

_T = TypeVar("_T")


class _Wakeups:
    """Ended futures on their way to one event loop.

    What ends together wakes the loop once: `asyncio.wrap_future` writes to the loop's socket for
    each of the 64 answers of a commit, and each time the writer's thread loses the GIL.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ended: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._called = False

    def wrapped(self, future: Future[_T]) -> asyncio.Future[_T]:
        """Return a future of the loop; cancelling it cancels the engine's, if that still waits."""
        out: asyncio.Future[_T] = self._loop.create_future()
        out.add_done_callback(lambda done: future.cancel() if done.cancelled() else None)
        future.add_done_callback(lambda done: self._hand_over(out, done))
        return out

    def _hand_over(self, out: asyncio.Future[_T], done: Future[_T]) -> None:
        """From any thread. Appended first: who finds `_called` set is sure to be taken along."""
        self._ended.append((out, done))
        if not self._called:
            self._called = True
            # A closed loop has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        self._called = False
        while self._ended:
            out, done = self._ended.popleft()
            if out.done():
                continue
            if done.cancelled():
                out.cancel()
            elif (error := done.exception()) is not None:
                out.set_exception(error)
            else:
                out.set_result(done.result())


_WAKEUPS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Wakeups] = WeakKeyDictionary()


def wrapped(future: Future[_T]) -> asyncio.Future[_T]:
    """An engine's future as one of the running loop."""
    loop = asyncio.get_running_loop()
    wakeups = _WAKEUPS.get(loop)
    if wakeups is None:
        wakeups = _WAKEUPS[loop] = _Wakeups(loop)
    return wakeups.wrapped(future)


async def answer_of(future: Future[_T]) -> _T:
    """The result of an engine's future.

    If the call is cancelled meanwhile, a request that still waits in a queue is taken back;
    a started one runs to its end, and nobody hears of it.

    Raises
    ------
    TotonoeError
        What the engine failed with; `Unavailable` (SHUTTING_DOWN) if it dropped the request.
    asyncio.CancelledError
        The call was cancelled.
    """
    try:
        return await wrapped(future)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise shutting_down() from None


def shutting_down() -> Unavailable:
    """The error of a call that came too late, or that the engine dropped unstarted."""
    return Unavailable(
        "SHUTTING_DOWN", "the daemon is stopping", retry_delay_ms=limits.RETRY_DELAY_MS
    )
