"""Chaining of `concurrent.futures`, so that no thread waits for another one's work."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future, InvalidStateError
from contextvars import copy_context
from typing import Any, TypeVar

from totonoe_core.base import limits
from totonoe_core.base.errors import TotonoeError, Unavailable, typed
from totonoe_core.base.stages import STAGES

Why = Callable[[], TotonoeError]
"""Makes the error for refused calls, a new one each time, so that none is raised twice."""
A = TypeVar("A")
B = TypeVar("B")


def fail(future: Future[Any], error: BaseException) -> None:
    """Fail a future, unless it is done or its caller gives up at this moment."""
    if not future.done():
        with contextlib.suppress(InvalidStateError):
            future.set_exception(typed(error))


def settle(future: Future[A], work: Callable[[], A]) -> None:
    """Run `work` and give its result or exception to a future that still waits."""
    if future.done():
        return
    try:
        result = work()
    except BaseException as error:
        fail(future, error)
    else:
        with contextlib.suppress(InvalidStateError):
            future.set_result(result)


def then(first: Future[A], step: Callable[[A], Future[B]]) -> Future[B]:
    """Return the future of `step` on the result of `first`; a failure of either is its failure.

    Cancelling it cancels the second step if that still waits; the first may be shared with
    others (the opening of a collection) and runs to its end. The step runs in the caller's
    context, so that it waits in the caller's turn.
    """
    out: Future[B] = Future()
    context = copy_context()

    def second_done(second: Future[B]) -> None:
        if second.cancelled():
            out.cancel()
        else:
            settle(out, second.result)

    def first_done(done: Future[A]) -> None:
        if done.cancelled() or out.cancelled():
            out.cancel()
            return
        try:
            second = context.run(step, done.result())
        except BaseException as error:
            fail(out, error)
            return
        second.add_done_callback(second_done)
        out.add_done_callback(lambda done: second.cancel() if done.cancelled() else None)

    first.add_done_callback(first_done)
    return out


def submit(executor: Executor, work: Callable[[], A]) -> Future[A]:
    """Run work in a pool. Raises `Unavailable` (SHUTTING_DOWN) if that takes none any more."""
    stages = STAGES.get()
    if stages is not None:
        work = stages.timed(work)
    try:
        return executor.submit(work)
    except RuntimeError as error:
        raise shutting_down() from error


class Stop(threading.Event):
    """An event that is also set when another one is."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        """Return whether to stop."""
        return super().is_set() or self._other.is_set()


def stoppable(
    executor: Executor, stop: threading.Event, work: Callable[[threading.Event], A]
) -> Future[A]:
    """Run work in a pool, with an event that is set when its future is cancelled or `stop` is set.

    Unlike that of `submit`, the future can be cancelled while the work runs.
    """
    out: Future[A] = Future()
    stopping = Stop(stop)
    out.add_done_callback(lambda done: stopping.set() if done.cancelled() else None)
    started = submit(executor, lambda: settle(out, lambda: work(stopping)))
    # A pool that closes drops its queue.
    started.add_done_callback(
        lambda future: fail(out, shutting_down()) if future.cancelled() else None
    )
    return out


def shutting_down() -> Unavailable:
    """Return the error of a call that comes too late."""
    return Unavailable(
        "SHUTTING_DOWN", "the daemon is stopping", retry_delay_ms=limits.RETRY_DELAY_MS
    )


def gathered(futures: Sequence[Future[A]]) -> Future[list[A | BaseException]]:
    """Return the outcomes of all of them, results and failures, in their order."""
    out: Future[list[A | BaseException]] = Future()
    lock, left = threading.Lock(), len(futures)

    def outcome(future: Future[A]) -> A | BaseException:
        if future.cancelled():
            return shutting_down()
        return future.exception() or future.result()

    def done(_: Future[A]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            settle(out, lambda: [outcome(future) for future in futures])

    for future in futures:
        future.add_done_callback(done)
    if not futures:
        out.set_result([])
    return out


def driven(executor: Executor, steps: Generator[Future[Any], Any, A]) -> Future[A]:
    """Run a generator in a pool; no thread waits for the futures that it yields.

    The generator gets each result, or the failure raised, at the `yield`. Cancelling the returned
    future closes the generator at its next `yield`.
    """
    out: Future[A] = Future()

    def go_on(before: Future[Any] | None) -> None:
        def step() -> None:
            if out.cancelled():
                steps.close()
                return
            try:
                if before is None:
                    waiting = next(steps)
                elif before.cancelled():
                    waiting = steps.throw(shutting_down())
                elif (error := before.exception()) is not None:
                    waiting = steps.throw(error)
                else:
                    waiting = steps.send(before.result())
            except StopIteration as end:
                result: A = end.value
                settle(out, lambda: result)
            except BaseException as error:
                fail(out, error)
            else:
                waiting.add_done_callback(go_on)

        try:
            started = submit(executor, step)
        except Unavailable as error:
            fail(out, error)
        else:
            # A pool that closes drops its queue.
            started.add_done_callback(
                lambda future: fail(out, shutting_down()) if future.cancelled() else None
            )

    go_on(None)
    return out


def settled(future: Future[A]) -> Future[Future[A]]:
    """Return a future of the future itself, once it has ended: for steps that need its failure."""
    out: Future[Future[A]] = Future()
    future.add_done_callback(lambda done: settle(out, lambda: done))
    return out


def attempt(work: Callable[[], Future[A]]) -> Future[A]:
    """Return the future of `work`, or one that has failed with its exception."""
    try:
        return work()
    except BaseException as error:
        future: Future[A] = Future()
        future.set_exception(error)
        return future


def ready(value: A) -> Future[A]:
    """Return a future that is done."""
    future: Future[A] = Future()
    future.set_result(value)
    return future
