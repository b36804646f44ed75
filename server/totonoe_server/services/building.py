"""Answers are built and encoded off the event loop, where every other call would wait for them.

A read's answer is built by the thread that read it: it is there anyway, and a hand-over costs more
than a short answer. A long one, and what a writer's thread did, goes to a thread of its own, which
gives each peer a turn after the other: an answer of a thousand rows delays those of its caller.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from google.protobuf.message import Message

from totonoe_core.base.fair_pool import FairPool
from totonoe_core.base.turn import TURN, taking
from totonoe_server.access.gate import CALL, Call
from totonoe_server.wire.encoding import message_bytes

A = TypeVar("A")
T = TypeVar("T")

ROWS_BUILT_THERE = 16
"""An answer of more rows is long. As many of the longest memories are built in some 20 ms."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """An answer and its bytes."""

    message: Any
    data: bytes


BUILDERS = FairPool(1, "answers")
"""Of the process: a second thread would only share the GIL. What it builds is of no use after a
stop, so that nobody ends it."""


def run(work: Callable[[], T]) -> Future[T]:
    """Run work on the builders' thread, in the caller's turn and context."""
    return BUILDERS.submit(copy_context().run, work)


def built(
    first: Future[A], to_wire: Callable[[A], Message], *, read: bool = False
) -> Future[Encoded]:
    """Return the future of the answer that `to_wire` makes of a result of the engine.

    Call it on the event loop. Cancelling the future cancels `first`, if that still waits.

    Parameters
    ----------
    read : bool
        The result comes from a thread that may build a short answer. A writer's may not: others
        wait for it.
    """
    call = CALL.get()
    return made(first, lambda value, long: encoded(to_wire(value), call, long=long), read)


def many_built(
    first: Future[tuple[A, ...]], to_wire: Callable[[A], Message]
) -> Future[tuple[Encoded, ...]]:
    """Return the future of the answers of a stream that a piece of it makes; see `built`."""
    call = CALL.get()

    def make(values: tuple[A, ...], long: bool) -> tuple[Encoded, ...]:
        return tuple([encoded(to_wire(value), call, long=long) for value in values])

    return made(first, make, True)


def made(first: Future[A], make: Callable[[A, bool], T], read: bool) -> Future[T]:
    """Return the future of what `make` makes of a result of the engine.

    `make` is told whether the result is long; see `built` for `read`.
    """
    out: Future[T] = Future()
    loop_thread, turn = threading.get_ident(), TURN.get()

    def done(first: Future[A]) -> None:
        if first.cancelled():
            out.cancel()
            return
        error = first.exception()
        if error is not None:
            with suppress(InvalidStateError):
                out.set_exception(error)
            return
        value = first.result()
        long = rows_of(value) > ROWS_BUILT_THERE
        # It may have been done before this callback was added.
        if read and not long and threading.get_ident() != loop_thread:
            _settle(out, lambda: make(value, False))
        else:
            with taking(turn):
                BUILDERS.submit(_settle, out, lambda: make(value, long))

    first.add_done_callback(done)
    out.add_done_callback(lambda ended: first.cancel() if ended.cancelled() else None)
    return out


def encoded(message: Message, call: Call | None, *, long: bool = False) -> Encoded:
    """Return an answer as its caller may have it, with its bytes."""
    if call is not None:
        call.finish(message)
    return Encoded(message, message_bytes(message) if long else message.SerializeToString())


def rows_of(value: Any) -> int:
    """Return how many rows a result has: the items of its longest list, or of one of its parts."""
    if isinstance(value, tuple):
        return max(len(value), sum(map(rows_of, value)))
    if not is_dataclass(value):
        return 0
    most = 0
    kind: Any = type(value)
    for name in _fields_of(kind):
        item = getattr(value, name)
        if isinstance(item, tuple):
            # Not into rows: what hangs on each is bounded. One alone is the result of a command.
            most = max(most, len(item), rows_of(item) if len(item) == 1 else 0)
        elif is_dataclass(item):
            most = max(most, rows_of(item))
    return most


@cache
def _fields_of(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _settle(out: Future[T], work: Callable[[], T]) -> None:
    """Give a future that still waits the result of some work, or its failure."""
    if out.done():
        return
    try:
        result = work()
    except BaseException as error:
        with suppress(InvalidStateError):
            out.set_exception(error)
    else:
        with suppress(InvalidStateError):
            out.set_result(result)


def ready(value: T) -> Future[T]:
    """Return a future that is done."""
    out: Future[T] = Future()
    out.set_result(value)
    return out
