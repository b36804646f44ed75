"""A stream that is opened again where it broke, for both kinds of client.

A `Course` decides what the stream asks, which events the caller gets, and whether the stream goes
on. `watch`, `consolidate`, `tidy` and `reembed` have one each.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import grpc

from totonoe.call import status, tracing
from totonoe.call.channel import Connection
from totonoe.call.prepared import method_of, serialize
from totonoe.errors import TotonoeError, Unavailable

Event = TypeVar("Event")


class Course(ABC, Generic[Event]):
    """The request that opens a stream next, and the handling of its messages and failures.

    Attributes
    ----------
    request
        The message that opens the stream next; `took` and `wait_s` may change it. It says which
        method is called.
    """

    request: Any

    @abstractmethod
    def took(self, message: Any) -> Event | None:
        """Takes a message that came, and returns its event; `None`: the caller gets none."""

    @abstractmethod
    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it is opened again after a failure; `None`: it is not."""

    def unfinished(self) -> TotonoeError | None:
        """The failure of a stream that ends now without one; `None`: the stream is complete."""
        return None

    def timeout_s(self) -> float | None:
        """Seconds that the next opening may take to its end; `None`: as long as it takes."""
        return None


def cut_short() -> Unavailable:
    """The failure of a stream that ended without one, and without its last message."""
    return Unavailable("the stream ended before it was through", code="UNAVAILABLE")


def _method(channel: Connection, course: Course[Any]) -> Any:
    method = method_of(course.request)
    return channel.unary_stream(
        method.path,
        request_serializer=serialize,
        response_deserializer=method.answer.FromString,
    )


class Reopened(Iterator[Event]):
    """Events of a blocking client's stream. `close`, from any thread, ends it.

    Nothing is sent before the first event is asked for. Usable in a `with` statement. An
    iterator that is dropped closes itself.
    """

    def __init__(self, channel: Connection, course: Course[Event], address: str) -> None:
        self._closed = threading.Event()
        self._call: Any = None
        self._span: tracing.Untraced | None = None
        # Of a closed client it raises; what `close` looks at is there by then.
        self._method = _method(channel, course)
        self._course = course
        self._address = address

    def __next__(self) -> Event:
        while not self._closed.is_set():
            cause: grpc.RpcError | None = None
            try:
                event = self._course.took(next(self._opened()))
            except StopIteration:
                failure = self._course.unfinished()
                if failure is None:
                    self.close()
                    break
            except grpc.RpcError as error:
                failure, cause = status.from_call(error, self._address), error
            else:
                if event is not None:
                    return event
                continue
            self._call = None
            if self._closed.is_set():
                break
            wait_s = self._course.wait_s(failure)
            if wait_s is None:
                self._begun().end(failure)
                self.close()
                raise failure from cause
            self._begun().retried()
            self._closed.wait(wait_s)
        raise StopIteration

    def _opened(self) -> Any:
        if self._call is None:
            self._call = self._method(
                self._course.request,
                timeout=self._course.timeout_s(),
                metadata=self._begun().metadata,
            )
            if self._closed.is_set():  # at this very moment, by another thread
                self._call.cancel()
        return self._call

    def _begun(self) -> tracing.Untraced:
        """The span of the stream with all its openings."""
        if self._span is None:
            self._span = tracing.begin(self._course.request, self._address)
        return self._span

    def close(self) -> None:
        """Ends the stream; whoever waits for an event gets none. Safe to call twice."""
        self._closed.set()
        call, span = self._call, self._span
        if call is not None:
            call.cancel()
        if span is not None:
            span.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


async def reopened(
    channel: Connection, course: Course[Event], address: str
) -> AsyncGenerator[Event, None]:
    """Events of an asyncio client's stream. Leaving it ends the stream."""
    method = _method(channel, course)
    with tracing.begin(course.request, address) as span:
        while True:
            call = method(course.request, timeout=course.timeout_s(), metadata=span.metadata)
            failure: TotonoeError | None
            cause: grpc.RpcError | None = None
            try:
                async for message in call:
                    event = course.took(message)
                    if event is not None:
                        yield event
                failure = course.unfinished()
            except grpc.RpcError as error:
                failure, cause = status.from_call(error, address), error
            finally:
                # A call that is left behind is kept for good.
                call.cancel()
            if failure is None:
                return
            wait_s = course.wait_s(failure)
            if wait_s is None:
                raise failure from cause
            span.retried()
            await asyncio.sleep(wait_s)
