"""The wire side of `remember_many`: one stream, opened again when it breaks.

What has no answer is sent again on the new stream, with the same operation
ids. Answers are waited for one at a time, each with its own time limit, because a stream
that lives as long as its input cannot have one deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sequence
from typing import Any

import grpc

from totonoe.call import status, tracing
from totonoe.call.base import AsyncCalls, Calls
from totonoe.call.channel import Connection
from totonoe.call.prepared import method_of, serialize
from totonoe.call.retry import Attempts, RetryPolicy
from totonoe.errors import DeadlineExceeded, TotonoeError
from totonoe.memories.bulk import AsyncItems, Items, Settled, Window, ended_early
from totonoe.memories.drafts import Draft
from totonoe.memories.models import ItemResult, Remembered
from totonoe.v1 import memory_service_pb2 as memory_pb
from totonoe.wire.exceptions import from_item
from totonoe.wire.mapping import decoder


def _late(timeout_s: float) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"no answer to a message of the stream within {timeout_s:g} s",
        code="DEADLINE_EXCEEDED",
        reason="DEADLINE_PASSED",
    )


def _method(channel: Connection) -> Any:
    method = method_of(memory_pb.RememberManyRequest)
    return channel.stream_stream(
        method.path,
        request_serializer=serialize,
        response_deserializer=method.answer.FromString,
    )


class Stream:
    """A RememberMany stream of the blocking client.

    Parameters
    ----------
    channel : Connection
        Connection.
    window : Window
        What is on its way.
    retry : RetryPolicy
        How often a stream that breaks without an answer in between is opened again.
    timeout_s : float
        Seconds to wait for each answer, tries included.
    address : str
        For error messages.
    metadata : tuple of (str, str)
        Goes with each opening of the stream.
    """

    def __init__(
        self,
        channel: Connection,
        window: Window,
        retry: RetryPolicy,
        timeout_s: float,
        address: str,
        metadata: tracing.Metadata,
    ) -> None:
        self._method = _method(channel)
        self._metadata = metadata
        self._window = window
        self._retry = retry
        self._timeout_s = timeout_s
        self._address = address
        self._outgoing: queue.SimpleQueue[memory_pb.RememberManyRequest | None] | None = None
        self._call: Any = None

    def send(self, message: memory_pb.RememberManyRequest) -> None:
        """Hands a message over; gRPC's own thread sends it. The window bounds the queue."""
        if self._outgoing is None:
            self._open()
        else:
            self._outgoing.put(message)

    def receive(self) -> memory_pb.RememberManyResponse:
        """The answer to the oldest unanswered message.

        Raises
        ------
        TotonoeError
            If the stream failed and may not be, or could not be, opened again.
        """
        attempts = Attempts(self._retry, self._timeout_s)
        while True:
            try:
                return self._next(attempts)
            except grpc.RpcError as error:
                failure: TotonoeError = status.from_call(error, self._address)
                wait_s = attempts.wait_s(failure)
                if wait_s is None:
                    raise failure from error
                self.close()
                time.sleep(wait_s)
                self._open()

    def _next(self, attempts: Attempts) -> memory_pb.RememberManyResponse:
        """Waits for one answer. The blocking API has no time limit per message: a timer
        cancels the call, and the flag tells this from other cancellations."""
        late = threading.Event()
        call = self._call

        def give_up() -> None:
            late.set()
            call.cancel()

        remaining_s = attempts.remaining_s()
        timer = threading.Timer(remaining_s, give_up) if remaining_s is not None else None
        if timer:
            timer.daemon = True
            timer.start()
        try:
            answer: memory_pb.RememberManyResponse = next(call)
        except StopIteration:
            raise ended_early() from None
        except grpc.RpcError:
            if late.is_set():
                raise _late(self._timeout_s) from None
            raise
        finally:
            if timer:
                timer.cancel()
        return answer

    def _open(self) -> None:
        outgoing: queue.SimpleQueue[memory_pb.RememberManyRequest | None] = queue.SimpleQueue()
        for message in self._window.unanswered():
            outgoing.put(message)
        requests: Iterator[memory_pb.RememberManyRequest | None] = iter(outgoing.get, None)
        self._call = self._method(requests, metadata=self._metadata)
        self._outgoing = outgoing

    def close(self) -> None:
        """Ends the stream and the thread that feeds it. Safe to call twice."""
        if self._outgoing is not None:
            self._outgoing.put(None)
            self._call.cancel()
            self._outgoing = None


class AsyncStream:
    """A RememberMany stream of the asyncio client: one message at a time on its way.

    The daemon takes up a message when the one before is answered, so that sending ahead
    gains little; and grpc.aio may report a write that fails because the daemon has just ended
    the stream as an internal error, in place of the daemon's own status (grpc#36066). With
    nothing written while the daemon works, its status gets through.

    Parameters
    ----------
    channel : Connection
        Connection.
    retry, timeout_s, address, metadata
        As for `Stream`.
    """

    def __init__(
        self,
        channel: Connection,
        retry: RetryPolicy,
        timeout_s: float,
        address: str,
        metadata: tracing.Metadata,
    ) -> None:
        self._method = _method(channel)
        self._metadata = metadata
        self._retry = retry
        self._timeout_s = timeout_s
        self._address = address
        self._call: Any = None

    async def exchange(
        self, message: memory_pb.RememberManyRequest
    ) -> memory_pb.RememberManyResponse:
        """Sends a message and waits for its answer. Raises as `Stream.receive`."""
        attempts = Attempts(self._retry, self._timeout_s)
        while True:
            try:
                async with asyncio.timeout(attempts.remaining_s()):
                    answer = await self._once(message)
            except TimeoutError:
                raise _late(self._timeout_s) from None
            except grpc.RpcError as error:
                failure = status.unmasked(status.from_call(error, self._address))
                wait_s = attempts.wait_s(failure)
                if wait_s is None:
                    raise failure from error
                self.close()
                await asyncio.sleep(wait_s)
            else:
                if isinstance(answer, memory_pb.RememberManyResponse):
                    return answer
                raise ended_early()  # gRPC's mark for the end

    async def _once(self, message: memory_pb.RememberManyRequest) -> Any:
        if self._call is None:
            self._call = self._method(metadata=self._metadata)
        # A stream that has ended refuses the write; reading tells why it ended.
        with contextlib.suppress(asyncio.InvalidStateError):
            await self._call.write(message)
        return await self._call.read()

    def close(self) -> None:
        """Ends the stream. Calls that are not cancelled are never collected by grpc.aio."""
        if self._call is not None:
            self._call.cancel()
            self._call = None


# -- whole runs


def remember_all(
    calls: Calls, window: Window, items: Items, timeout_s: float | None
) -> Iterator[ItemResult]:
    """Sends items of the blocking client, and gives their results in order."""
    wait_s = calls._limit_s(timeout_s)
    where = calls._caller.where(window.collection) or "default"
    with tracing.begin(memory_pb.RememberManyRequest, calls.address, where) as span:
        stream = Stream(calls._channel, window, calls._retry, wait_s, calls.address, span.metadata)

        def answered() -> Iterator[ItemResult]:
            for result in _results(calls, window.settle(stream.receive()), timeout_s):
                span.settled(result.remembered is not None and result.remembered.saved)
                yield result

        try:
            for item in items:
                window.add(item)
                if window.message_full:
                    stream.send(window.close_message())
                while window.in_flight_full:
                    yield from answered()
            if window.has_open:
                stream.send(window.close_message())
            while window.has_in_flight:
                yield from answered()
        finally:
            stream.close()


def _results(calls: Calls, settled: Settled, timeout_s: float | None) -> Iterator[ItemResult]:
    waited = False
    for sent, result in settled:
        if result.HasField("answer"):
            yield sent.saved(_decode(result))
            continue
        failure = from_item(result.error)
        wait_s = calls._attempts(timeout_s).wait_s(failure)
        if wait_s is None:
            yield sent.failed(failure)
            continue
        if not waited:
            # The delay counts from the answer, which is one for the whole message.
            time.sleep(wait_s)
            waited = True
        try:
            remembered = calls._run(sent.request, Remembered, timeout_s)
        except TotonoeError as error:
            yield sent.failed(error)
        else:
            yield sent.saved(remembered)


async def remember_all_async(
    calls: AsyncCalls, window: Window, items: AsyncItems, timeout_s: float | None
) -> AsyncIterator[ItemResult]:
    """Sends items of the asyncio client, and gives their results in order."""
    wait_s = calls._limit_s(timeout_s)
    where = calls._caller.where(window.collection) or "default"
    with tracing.begin(memory_pb.RememberManyRequest, calls.address, where) as span:
        stream = AsyncStream(calls._channel, calls._retry, wait_s, calls.address, span.metadata)

        async def answered() -> Sequence[ItemResult]:
            answer = await stream.exchange(window.close_message())
            results = await _results_async(calls, window.settle(answer), timeout_s)
            for result in results:
                span.settled(result.remembered is not None and result.remembered.saved)
            return results

        try:
            async for item in _each(items):
                window.add(item)
                if window.message_full:
                    for result in await answered():
                        yield result
            if window.has_open:
                for result in await answered():
                    yield result
        finally:
            stream.close()


async def _results_async(
    calls: AsyncCalls, settled: Settled, timeout_s: float | None
) -> Sequence[ItemResult]:
    waited = False
    results = []
    for sent, result in settled:
        if result.HasField("answer"):
            results.append(sent.saved(_decode(result)))
            continue
        failure = from_item(result.error)
        wait_s = calls._attempts(timeout_s).wait_s(failure)
        if wait_s is None:
            results.append(sent.failed(failure))
            continue
        if not waited:
            # The delay counts from the answer, which is one for the whole message.
            await asyncio.sleep(wait_s)
            waited = True
        try:
            results.append(sent.saved(await calls._run(sent.request, Remembered, timeout_s)))
        except TotonoeError as error:
            results.append(sent.failed(error))
    return results


def _decode(result: memory_pb.RememberManyResult) -> Remembered:
    return decoder(Remembered, memory_pb.RememberResponse)(result.answer)


async def _each(
    items: AsyncItems,
) -> AsyncIterator[str | Draft]:
    """The items of either kind of iterable."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
