"""The wire side of `reembed`: a stream that is joined again where it broke."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncGenerator, Iterator
from types import TracebackType
from typing import Any, Self

import grpc
import grpc.aio

from totonoe import status
from totonoe.convert_reembed import decode_event
from totonoe.errors import TotonoeError, Unavailable
from totonoe.prepared import ADMIN_SERVICE
from totonoe.reembed_models import ReembedEvent
from totonoe.retry import Attempts, RetryPolicy
from totonoe.v1 import reembed_pb2 as pb


def _method(channel: Any) -> Any:
    return channel.unary_stream(
        ADMIN_SERVICE + "Reembed",
        request_serializer=pb.ReembedRequest.SerializeToString,
        response_deserializer=pb.ReembedResponse.FromString,
    )


class _Course:
    """Whether it is over, and how long it waits after a failure.

    The same request again joins what is under way, or is told the end of it.
    """

    def __init__(self, retry: RetryPolicy) -> None:
        self.done = False
        self._retry = retry
        self._attempts = Attempts(retry, math.inf)

    def took(self, message: pb.ReembedResponse) -> ReembedEvent:
        """The event of a message."""
        self._attempts = Attempts(self._retry, math.inf)
        event = decode_event(message)
        self.done = event.done is not None
        return event

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it goes on; `None`: it does not."""
        return self._attempts.wait_s(failure)


def _ended() -> Unavailable:
    return Unavailable("the stream ended before it was through", code="UNAVAILABLE")


class Reembedding(Iterator[ReembedEvent]):
    """Events of a re-embedding. `close`, from any thread, ends the telling, not the work.

    Usable in a `with` statement. An iterator that is dropped closes itself.
    """

    def __init__(
        self,
        channel: grpc.Channel,
        request: pb.ReembedRequest,
        retry: RetryPolicy,
        address: str,
    ) -> None:
        self._closed = threading.Event()
        self._call: Any = None
        self._method = _method(channel)
        self._request = request
        self._course = _Course(retry)
        self._address = address

    def __next__(self) -> ReembedEvent:
        while not self._closed.is_set():
            try:
                return self._course.took(next(self._opened()))
            except StopIteration:
                if self._course.done:
                    self.close()
                    break
                self._go_on(_ended(), None)
            except grpc.RpcError as error:
                if self._closed.is_set():
                    break
                self._go_on(status.from_call(error, self._address), error)
        raise StopIteration

    def _go_on(self, failure: TotonoeError, cause: BaseException | None) -> None:
        self._call = None
        wait_s = self._course.wait_s(failure)
        if wait_s is None:
            self.close()
            raise failure from cause
        self._closed.wait(wait_s)

    def _opened(self) -> Any:
        if self._call is None:
            self._call = self._method(self._request)
            if self._closed.is_set():  # at this very moment, by another thread
                self._call.cancel()
        return self._call

    def close(self) -> None:
        """Ends the stream; the work goes on. Safe to call twice."""
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


async def reembed(
    channel: grpc.aio.Channel, request: pb.ReembedRequest, retry: RetryPolicy, address: str
) -> AsyncGenerator[ReembedEvent, None]:
    """Events of an asyncio client's re-embedding. Leaving it ends the telling, not the work."""
    method, course = _method(channel), _Course(retry)
    while True:
        call = method(request)
        cause: BaseException | None = None
        try:
            async for message in call:
                yield course.took(message)
            if course.done:
                return
            failure: TotonoeError = _ended()
        except grpc.RpcError as error:
            failure, cause = status.from_call(error, address), error
        finally:
            # A call that is left behind is kept for good.
            call.cancel()
        wait_s = course.wait_s(failure)
        if wait_s is None:
            raise failure from cause
        await asyncio.sleep(wait_s)
