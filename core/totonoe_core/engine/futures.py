"""Chaining `concurrent.futures`, so that no thread waits for another one's work."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")


def settle(future: Future[A], work: Callable[[], A]) -> None:
    """Runs `work` and gives its result or exception to a future that still waits."""
    if future.done():
        return
    try:
        result = work()
    except BaseException as error:
        if not future.done():
            future.set_exception(error)
    else:
        if not future.done():
            future.set_result(result)


def then(first: Future[A], step: Callable[[A], Future[B]]) -> Future[B]:
    """The future of `step` on the result of `first`; a failure of either is its failure.

    Cancelling it cancels what is under way, as far as that can still be cancelled.
    """
    out: Future[B] = Future()
    current: list[Future[Any]] = [first]

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
            second = step(done.result())
        except BaseException as error:
            if not out.done():
                out.set_exception(error)
            return
        current[0] = second
        second.add_done_callback(second_done)
        if out.cancelled():
            second.cancel()

    def cancelled(done: Future[B]) -> None:
        if done.cancelled():
            current[0].cancel()

    out.add_done_callback(cancelled)
    first.add_done_callback(first_done)
    return out


def ready(value: A) -> Future[A]:
    """A future that is done."""
    future: Future[A] = Future()
    future.set_result(value)
    return future
