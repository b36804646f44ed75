"""The stream on which a client makes its single calls, and when a call goes by itself instead.

A call on a stream costs the daemon a third of the transport of one by itself. The stream is opened
behind the second call, and used once the daemon has said that it is open: so neither a daemon that
has no such stream, nor a proxy that holds it up, is ever waited for. A call goes by itself while
there is no stream, while its window is full, and if it is long.

What ends the stream fails its calls only where it would have failed them by themselves: the
connection broke, the daemon stops, the client was closed. Otherwise they are made again by
themselves, with the same operation ids.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import grpc
from google.protobuf.message import Message
from google.rpc import status_pb2
from grpc_status import rpc_status

from totonoe.call import status
from totonoe.call.channel import Connection
from totonoe.call.prepared import method_of, serialize
from totonoe.call.tracing import Metadata
from totonoe.errors import Cancelled, Unavailable
from totonoe.v1 import memory_service_pb2 as pb

CALLS_BEFORE = 1
"""Calls before the stream is opened: a command that makes one call does not pay for it."""
ITEM_BYTES_MAX = 256 * 1024
"""A longer request goes by itself: the others would wait behind it."""
REOPEN_S_MIN, REOPEN_S_MAX = 1.0, 60.0
_TRACEPARENT = "traceparent"

_FORK_S_MAX = 1.0
_SPINNING = "(channel_spin)"
"""End of the name of the thread by which gRPC serves streams."""

W = TypeVar("W")


@cache
def _fields() -> dict[str, str]:
    """Fields of an item by the full names of the requests that they hold."""
    oneof = pb.MultiplexRequest.DESCRIPTOR.oneofs_by_name["call"]
    return {
        kind.full_name: field.name
        for field in oneof.fields
        if (kind := field.message_type) is not None
    }


class ItemFailed(grpc.RpcError):
    """An item failed, in the form in which a call by itself fails."""

    def __init__(self, code: grpc.StatusCode, details: str, trailers: Any = ()) -> None:
        super().__init__(details)
        self._code, self._details, self._trailers = code, details, trailers

    def code(self) -> grpc.StatusCode:
        """See `grpc.Call`."""
        return self._code

    def details(self) -> str:
        """See `grpc.Call`."""
        return self._details

    def trailing_metadata(self) -> Any:
        """See `grpc.Call`."""
        return self._trailers


def _failed(error: status_pb2.Status) -> ItemFailed:
    made = rpc_status.to_status(error)
    return ItemFailed(made.code, made.details, made.trailing_metadata)


def _late() -> ItemFailed:
    return ItemFailed(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")


def outcome(response: Any) -> Message:
    """The answer in a response. Raises `ItemFailed`."""
    kind = response.WhichOneof("outcome")
    if kind == "error":
        raise _failed(response.error)
    answer: Message = getattr(response, kind)
    return answer


class Opening:
    """When the stream is opened, and when again after it failed. Any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls = itertools.count()
        self._from_s = 0.0
        self._wait_s = REOPEN_S_MIN

    def is_due(self) -> bool:
        """Count a call that found no stream; returns whether one is to be opened now."""
        return next(self._calls) >= CALLS_BEFORE and self._clock() >= self._from_s

    def succeeded(self) -> None:
        """The daemon has opened it."""
        self._from_s, self._wait_s = 0.0, REOPEN_S_MIN

    def failed(self) -> None:
        """It ended before the daemon had opened it. The waits double up to REOPEN_S_MAX."""
        self._from_s = self._clock() + self._wait_s
        self._wait_s = min(2 * self._wait_s, REOPEN_S_MAX)


class _Items(Generic[W]):
    """The unanswered items of a stream, and what waits for each of them."""

    def __init__(self, opening: Opening, address: str) -> None:
        self._opening, self._address = opening, address
        self._numbers = itertools.count(1)
        self._waiting: dict[int, W] = {}
        self._window = 0
        self.is_over = False

    def add(self, waiting: W) -> int | None:
        """The number of a new item; `None`: the stream does not take it now."""
        if self.is_over or len(self._waiting) >= self._window:
            return None
        number = next(self._numbers)
        self._waiting[number] = waiting
        return number

    def settled(self, response: Any) -> W | None:
        """The waiting call of a response, if there is one."""
        if response.WhichOneof("outcome") == "opened":
            self._window = response.opened.unanswered_max
            self._opening.succeeded()
            return None
        return self._waiting.pop(response.id, None)

    def left(self) -> list[W]:
        """All calls that still wait when the stream is over."""
        self.is_over = True
        if not self._window:
            self._opening.failed()
        waiting = list(self._waiting.values())
        self._waiting.clear()
        return waiting

    def drop(self, number: int) -> bool:
        """Nothing waits for an item any more; returns whether it has no answer."""
        return self._waiting.pop(number, None) is not None

    def is_failure(self, error: grpc.RpcError | None) -> bool:
        """Whether the end of the stream fails its items as it would fail calls by themselves."""
        if error is None:
            return False
        failure = status.from_call(error, self._address)
        if isinstance(failure, Unavailable):
            return failure.reason != "STREAM_IDLE"
        return isinstance(failure, Cancelled)


def _item(
    number: int, field: str, request: Message, timeout_s: float | None, metadata: Metadata
) -> pb.MultiplexRequest:
    item = pb.MultiplexRequest(id=number, timeout_s=timeout_s or 0.0)
    getattr(item, field).CopyFrom(request)
    for name, value in metadata:
        if name == _TRACEPARENT:
            item.traceparent = value
    return item


def _method(connection: Connection) -> Any:
    method = method_of(pb.MultiplexRequest)
    return connection.stream_stream(
        method.path, request_serializer=serialize, response_deserializer=method.answer.FromString
    )


def _field_of(request: Message, timeout_s: float | None) -> str | None:
    """The field of the item that a request becomes; `None`: it goes by itself."""
    field = _fields().get(request.DESCRIPTOR.full_name)
    if field is None or request.ByteSize() > ITEM_BYTES_MAX:
        return None
    # A deadline that has passed is for gRPC to say.
    return None if timeout_s is not None and timeout_s <= 0 else field


class _Waiting:
    """A thread that waits for an answer."""

    __slots__ = ("_done", "error", "response")

    def __init__(self) -> None:
        self._done = threading.Lock()
        self._done.acquire()
        self.response: Any = None
        self.error: grpc.RpcError | None = None

    def settle(self) -> None:
        """Let the thread go on."""
        self._done.release()

    def wait(self, timeout_s: float | None) -> bool:
        """Wait; returns whether it is settled."""
        return self._done.acquire(timeout=-1 if timeout_s is None else _bounded(timeout_s))


def _bounded(timeout_s: float) -> float:
    return min(timeout_s, threading.TIMEOUT_MAX)


class _Stream:
    """One stream of the blocking client. Any thread."""

    def __init__(self, connection: Connection, opening: Opening, address: str) -> None:
        self._items: _Items[_Waiting] = _Items(opening, address)
        self._lock = threading.Lock()
        # Bounded by the window, and one cancellation for each item.
        self._outgoing: queue.SimpleQueue[pb.MultiplexRequest | None] = queue.SimpleQueue()
        requests: Iterator[pb.MultiplexRequest | None] = iter(self._outgoing.get, None)
        self._call = _method(connection)(requests)
        self._is_dropped = False
        self._reading = threading.Thread(target=self._read, name="totonoe stream", daemon=True)
        self._reading.start()
        _OPEN.add(self)

    @property
    def is_over(self) -> bool:
        """Whether it takes nothing any more."""
        return self._items.is_over

    def answer(
        self, field: str, request: Message, timeout_s: float | None, metadata: Metadata
    ) -> Message | None:
        """See `Multiplexed.answer`."""
        waiting = _Waiting()
        with self._lock:
            number = self._items.add(waiting)
        if number is None:
            return None
        self._outgoing.put(_item(number, field, request, timeout_s, metadata))
        settled = False
        try:
            settled = waiting.wait(timeout_s)
        finally:
            # Given up, by an exception too, which a signal may raise here.
            if not settled:
                self._give_up(number)
        if not settled:
            raise _late()
        if waiting.error is not None:
            raise waiting.error
        return None if waiting.response is None else outcome(waiting.response)

    def _give_up(self, number: int) -> None:
        with self._lock:
            if self._items.drop(number):
                self._outgoing.put(pb.MultiplexRequest(id=number, cancel=True))

    def _read(self) -> None:
        error: grpc.RpcError | None = None
        try:
            for response in self._call:
                with self._lock:
                    waiting = self._items.settled(response)
                if waiting is not None:
                    waiting.response = response
                    waiting.settle()
        except grpc.RpcError as failed:
            error = failed
        finally:
            with self._lock:
                left = self._items.left()
            self._outgoing.put(None)
            is_failure = not self._is_dropped and self._items.is_failure(error)
            for waiting in left:
                waiting.error = error if is_failure else None
                waiting.settle()

    def close(self) -> None:
        """Ends it; what waits fails as cancelled. Safe to call twice."""
        self._items.is_over = True
        self._call.cancel()

    def drop(self) -> None:
        """Ends it, and waits for that a little; what waits is called by itself."""
        self._is_dropped = True
        self.close()
        self._reading.join(_FORK_S_MAX)


_OPEN: WeakSet[_Stream] = WeakSet()


def _drop_streams() -> None:
    """End all streams before a fork: with a thread in it, gRPC would not be usable in the child."""
    streams = [stream for stream in _OPEN if not stream.is_over]
    for stream in streams:
        stream.drop()
    until_s = time.monotonic() + _FORK_S_MAX
    while streams and _spins() and time.monotonic() < until_s:
        time.sleep(0.001)


def _spins() -> bool:
    return any(thread.name.endswith(_SPINNING) for thread in threading.enumerate())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_drop_streams)


class Multiplexed:
    """The calls of a blocking client that may go over a stream. Any thread.

    A fork ends the stream; the parent opens another when it calls again. The child must not use the
    client: of 60 children on a busy machine 3 failed or hung, where single calls did not.
    """

    def __init__(self, connection: Connection, address: str) -> None:
        self._connection, self._address = connection, address
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._opening = Opening()
        self._stream: _Stream | None = None

    def answer(
        self, request: Message, timeout_s: float | None, metadata: Metadata
    ) -> Message | None:
        """The answer to a request, over the stream.

        Parameters
        ----------
        timeout_s : float or None
            Seconds that it may take; `None`: no limit.
        metadata : tuple of (str, str)
            Those of the call.

        Returns
        -------
        Message or None
            `None`: it is to be called by itself.

        Raises
        ------
        grpc.RpcError
            The call failed, as it would have by itself.
        """
        field = _field_of(request, timeout_s)
        if field is None:
            return None
        if self._process != os.getpid():
            # The stream, and perhaps a thread that holds the lock, are those of the parent.
            self._begin()
        stream = self._stream
        if stream is None or stream.is_over:
            with self._lock:
                if stream is self._stream and self._opening.is_due():
                    self._stream = _Stream(self._connection, self._opening, self._address)
            return None
        return stream.answer(field, request, timeout_s, metadata)

    def close(self) -> None:
        """Ends the stream. Safe to call twice."""
        if self._stream is not None and self._process == os.getpid():
            self._stream.close()

    def __del__(self) -> None:
        # A client that is dropped, not closed: nothing else would end the thread that reads.
        self.close()


class _AsyncStream:
    """One stream of the asyncio client. Its event loop only."""

    def __init__(self, connection: Connection, opening: Opening, address: str) -> None:
        self._items: _Items[asyncio.Future[Any]] = _Items(opening, address)
        # Bounded by the window, and one cancellation for each item.
        self._outgoing: asyncio.Queue[pb.MultiplexRequest | None] = asyncio.Queue()
        self._call = _method(connection)(self._requests())
        self._reading = asyncio.get_running_loop().create_task(self._read())

    async def _requests(self) -> Any:
        # A task that wrote by itself would end the whole stream when it is cancelled.
        while (message := await self._outgoing.get()) is not None:
            yield message

    @property
    def is_over(self) -> bool:
        """Whether it takes nothing any more."""
        return self._items.is_over

    async def answer(
        self, field: str, request: Message, timeout_s: float | None, metadata: Metadata
    ) -> Message | None:
        """See `AsyncMultiplexed.answer`."""
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        number = self._items.add(waiting)
        if number is None:
            return None
        self._outgoing.put_nowait(_item(number, field, request, timeout_s, metadata))
        try:
            async with asyncio.timeout(timeout_s):
                response = await waiting
        except TimeoutError:
            raise _late() from None
        finally:
            if self._items.drop(number):
                self._outgoing.put_nowait(pb.MultiplexRequest(id=number, cancel=True))
        return None if response is None else outcome(response)

    async def _read(self) -> None:
        error: BaseException | None = None
        try:
            async for response in self._call:
                waiting = self._items.settled(response)
                if waiting is not None and not waiting.done():
                    waiting.set_result(response)
        except grpc.RpcError as failed:
            error = failed if self._items.is_failure(failed) else None
        except asyncio.CancelledError:
            # The client was closed: a call by itself ends so too.
            error = asyncio.CancelledError()
        finally:
            for waiting in self._items.left():
                if waiting.done():
                    continue
                if error is None:
                    waiting.set_result(None)
                elif isinstance(error, asyncio.CancelledError):
                    waiting.cancel()
                else:
                    waiting.set_exception(error)
            self._outgoing.put_nowait(None)
            # A call that is left behind is kept for good.
            self._call.cancel()

    def close(self) -> None:
        """Ends it; what waits is cancelled. Safe to call twice."""
        self._items.is_over = True
        self._call.cancel()


class AsyncMultiplexed:
    """The calls of an asyncio client that may go over a stream. Its event loop only."""

    def __init__(self, connection: Connection, address: str) -> None:
        self._connection, self._address = connection, address
        self._opening = Opening()
        self._stream: _AsyncStream | None = None

    async def answer(
        self, request: Message, timeout_s: float | None, metadata: Metadata
    ) -> Message | None:
        """As `Multiplexed.answer`. Cancelling the task takes the item back."""
        field = _field_of(request, timeout_s)
        if field is None:
            return None
        stream = self._stream
        if stream is None or stream.is_over:
            if self._opening.is_due():
                self._stream = _AsyncStream(self._connection, self._opening, self._address)
            return None
        return await stream.answer(field, request, timeout_s, metadata)

    def close(self) -> None:
        """Ends the stream. Safe to call twice."""
        if self._stream is not None:
            self._stream.close()
