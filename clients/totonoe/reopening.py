"""A stream that is opened again where it broke, for both kinds of client.

What it asks, what of the answer is told and whether it goes on is its course's to say:
`watching`, `consolidating`, `tidying` and `reembedding` have one each.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

import grpc
import grpc.aio

from totonoe import status
from totonoe.errors import TotonoeError, Unavailable

Event = TypeVar("Event")


class Course(ABC, Generic[Event]):
    """What a stream is asked for now, and what becomes of what it answers.

    Attributes
    ----------
    path : str
        The method, as it goes over the wire.
    response : type
        Messages of the answer.
    request
        What the next opening asks; `took` and `wait_s` may change it.
    """

    path: ClassVar[str]
    response: ClassVar[Any]
    request: Any

    @abstractmethod
    def took(self, message: Any) -> Event | None:
        """The event of a message that came; `None`: there is nothing to tell."""

    @abstractmethod
    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it is opened again after a failure; `None`: it is not."""

    def unfinished(self) -> TotonoeError | None:
        """The failure that it is if the stream ends now without one; `None`: it is through."""
        return None

    def timeout_s(self) -> float | None:
        """Seconds that the next opening may take to its end; `None`: as long as it takes."""
        return None


def cut_short() -> Unavailable:
    """The failure of a stream that ended without one, and without its last message."""
    return Unavailable("the stream ended before it was through", code="UNAVAILABLE")


def _method(channel: Any, course: Course[Any]) -> Any:
    return channel.unary_stream(
        course.path,
        request_serializer=type(course.request).SerializeToString,
        response_deserializer=course.response.FromString,
    )


class Reopened(Iterator[Event]):
    """Events of a blocking client's stream. `close`, from any thread, ends it.

    Nothing is sent before the first event is asked for. Usable in a `with` statement. An
    iterator that is dropped closes itself.
    """

    def __init__(self, channel: grpc.Channel, course: Course[Event], address: str) -> None:
        self._closed = threading.Event()
        self._call: Any = None
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
                self.close()
                raise failure from cause
            self._closed.wait(wait_s)
        raise StopIteration

    def _opened(self) -> Any:
        if self._call is None:
            self._call = self._method(self._course.request, timeout=self._course.timeout_s())
            if self._closed.is_set():  # at this very moment, by another thread
                self._call.cancel()
        return self._call

    def close(self) -> None:
        """Ends the stream; whoever waits for an event gets none. Safe to call twice."""
        self._closed.set()
        call = self._call
        if call is not None:
            call.cancel()

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
    channel: grpc.aio.Channel, course: Course[Event], address: str
) -> AsyncGenerator[Event, None]:
    """Events of an asyncio client's stream. Leaving it ends the stream."""
    method = _method(channel, course)
    while True:
        call = method(course.request, timeout=course.timeout_s())
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
        await asyncio.sleep(wait_s)
