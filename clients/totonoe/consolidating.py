"""The wire side of `consolidate`: a stream that goes on where it broke."""

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
from totonoe.consolidate_models import ConsolidateEvent
from totonoe.convert_consolidate import decode_event
from totonoe.errors import InvalidArgument, TotonoeError, Unavailable
from totonoe.retry import Attempts, RetryPolicy
from totonoe.v1 import consolidate_pb2 as pb

_PATH = "/totonoe.v1.MemoryService/Consolidate"


def _method(channel: Any) -> Any:
    return channel.unary_stream(
        _PATH,
        request_serializer=pb.ConsolidateRequest.SerializeToString,
        response_deserializer=pb.ConsolidateResponse.FromString,
    )


class _Course:
    """What is asked next, what of the answer is new, and whether it goes on after a failure.

    A daemon that was started anew knows no token: then the run begins again, and what was told is
    not told twice. Its first phase has the operation id of the first time.
    """

    def __init__(self, request: pb.ConsolidateRequest, retry: RetryPolicy) -> None:
        self.request = request
        self.done = False
        self._retry = retry
        self._attempts = Attempts(retry, math.inf)
        self._own_token = ""
        self._told: set[tuple[str, ...]] = set()

    def took(self, message: pb.ConsolidateResponse) -> ConsolidateEvent | None:
        """The event of a message; `None`: it was told before."""
        self._attempts = Attempts(self._retry, math.inf)
        self.request.resume_token = self._own_token = message.resume_token
        event = decode_event(message)
        self.done = event.done is not None
        key: tuple[str, ...] | None = None
        if event.candidate is not None:
            key = ("pair", event.candidate.memory_a_id, event.candidate.memory_b_id)
        elif event.cluster is not None:
            key = event.cluster.memory_ids
        if key is None:
            return event
        if key in self._told:
            return None
        self._told.add(key)
        return event

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it goes on; `None`: it does not."""
        token = self.request.resume_token
        gone = isinstance(failure, InvalidArgument) and failure.reason == "BAD_PAGE_TOKEN"
        if gone and token and token == self._own_token:
            self.request.resume_token = self._own_token = ""
            return 0.0
        return self._attempts.wait_s(failure)


def _ended() -> Unavailable:
    return Unavailable("the stream ended before it was through", code="UNAVAILABLE")


class Consolidation(Iterator[ConsolidateEvent]):
    """Events of a blocking client's consolidation. `close`, from any thread, ends it.

    Usable in a `with` statement. An iterator that is dropped closes itself.
    """

    def __init__(
        self,
        channel: grpc.Channel,
        request: pb.ConsolidateRequest,
        retry: RetryPolicy,
        address: str,
    ) -> None:
        self._closed = threading.Event()
        self._call: Any = None
        self._method = _method(channel)
        self._course = _Course(request, retry)
        self._address = address

    def __next__(self) -> ConsolidateEvent:
        while not self._closed.is_set():
            try:
                event = self._course.took(next(self._opened()))
            except StopIteration:
                if self._course.done:
                    self.close()
                    break
                self._go_on(_ended(), None)
            except grpc.RpcError as error:
                if self._closed.is_set():
                    break
                self._go_on(status.from_call(error, self._address), error)
            else:
                if event is not None:
                    return event
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
            self._call = self._method(self._course.request)
            if self._closed.is_set():  # at this very moment, by another thread
                self._call.cancel()
        return self._call

    def close(self) -> None:
        """Ends the stream, and soon the work for it. Safe to call twice."""
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


async def consolidate(
    channel: grpc.aio.Channel,
    request: pb.ConsolidateRequest,
    retry: RetryPolicy,
    address: str,
) -> AsyncGenerator[ConsolidateEvent, None]:
    """Events of an asyncio client's consolidation. Leaving it ends the stream."""
    method, course = _method(channel), _Course(request, retry)
    while True:
        call = method(course.request)
        cause: BaseException | None = None
        try:
            async for message in call:
                event = course.took(message)
                if event is not None:
                    yield event
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
