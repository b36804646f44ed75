"""The wire side of `watch`: a stream that is opened again where it broke."""

from __future__ import annotations

import asyncio
import math
import sys
import threading
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import grpc
import grpc.aio

from totonoe import status
from totonoe.convert_watch import decode_event
from totonoe.errors import TotonoeError, Unavailable
from totonoe.retry import Attempts, RetryPolicy
from totonoe.v1 import operations_pb2
from totonoe.watch_models import WatchEvent

_PATH = "/totonoe.v1.MemoryService/Watch"


def _method(channel: Any) -> Any:
    return channel.unary_stream(
        _PATH,
        request_serializer=operations_pb2.WatchRequest.SerializeToString,
        response_deserializer=operations_pb2.WatchResponse.FromString,
    )


class Course:
    """From where a watch goes on, and whether and when it does after a failure.

    Until the first message the policy's number of tries holds. After it a watch goes on for as
    long as it is wanted, unless the policy allows one try only.

    Parameters
    ----------
    request : WatchRequest
        Taken over: its `after_revision` follows what was given.
    """

    def __init__(self, request: operations_pb2.WatchRequest, retry: RetryPolicy) -> None:
        self.request = request
        self._retry = retry
        self._attempts = Attempts(retry, math.inf)

    def took(self, message: operations_pb2.WatchResponse) -> WatchEvent:
        """The event of a message that came."""
        self.request.after_revision = message.revision
        patient = self._retry
        if patient.attempts_max > 1:
            patient = replace(patient, attempts_max=sys.maxsize)
        self._attempts = Attempts(patient, math.inf)
        return decode_event(message)

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it goes on; `None`: it does not."""
        if failure.reason == "WATCH_TOO_SLOW":
            # What it did not take it is told again.
            failure = Unavailable(failure.message, code=failure.code, reason=failure.reason)
        return self._attempts.wait_s(failure)


class Watch(Iterator[WatchEvent]):
    """Events of a blocking client's watch. `close`, from any thread, ends it.

    Usable in a `with` statement. An iterator that is dropped closes itself.
    """

    def __init__(self, channel: grpc.Channel, course: Course, address: str) -> None:
        self._method = _method(channel)
        self._course = course
        self._address = address
        self._closed = threading.Event()
        self._call: Any = None

    def __next__(self) -> WatchEvent:
        while not self._closed.is_set():
            try:
                return self._course.took(next(self._opened()))
            except StopIteration:
                self.close()
            except grpc.RpcError as error:
                self._call = None
                if self._closed.is_set():
                    break
                failure = status.from_call(error, self._address)
                wait_s = self._course.wait_s(failure)
                if wait_s is None:
                    self.close()
                    raise failure from error
                self._closed.wait(wait_s)
        raise StopIteration

    def _opened(self) -> Any:
        if self._call is None:
            self._call = self._method(self._course.request)
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


async def watch(
    channel: grpc.aio.Channel, course: Course, address: str
) -> AsyncGenerator[WatchEvent, None]:
    """Events of an asyncio client's watch. Leaving it ends the stream."""
    method = _method(channel)
    while True:
        call = method(course.request)
        try:
            async for message in call:
                yield course.took(message)
            return
        except grpc.RpcError as error:
            failure = status.from_call(error, address)
            wait_s = course.wait_s(failure)
            if wait_s is None:
                raise failure from error
        finally:
            # A call that is left behind is kept for good.
            call.cancel()
        await asyncio.sleep(wait_s)
