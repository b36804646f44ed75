"""The wire side of `tidy`: a stream of messages up to its end.

Until the first message it is tried again while the daemon is unavailable.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from types import TracebackType
from typing import Any, Self

import grpc
import grpc.aio

from totonoe import status
from totonoe.convert_tidy import decode_event
from totonoe.retry import Attempts
from totonoe.tidy_models import TidyEvent
from totonoe.v1 import tidy_pb2

_PATH = "/totonoe.v1.MemoryService/Tidy"


def _method(channel: Any) -> Any:
    return channel.unary_stream(
        _PATH,
        request_serializer=tidy_pb2.TidyRequest.SerializeToString,
        response_deserializer=tidy_pb2.TidyResponse.FromString,
    )


class Tidying(Iterator[TidyEvent]):
    """Messages of a blocking client's tidy. `close` ends it; what was closed stays closed."""

    def __init__(
        self,
        channel: grpc.Channel,
        request: tidy_pb2.TidyRequest,
        attempts: Attempts,
        address: str,
    ) -> None:
        self._method = _method(channel)
        self._request = request
        self._attempts = attempts
        self._address = address
        self._call: Any = None
        self._begun = False
        self._ended = False

    def __next__(self) -> TidyEvent:
        while not self._ended:
            if self._call is None:
                timeout_s = self._attempts.remaining_s()
                self._call = self._method(self._request, timeout=timeout_s)
            try:
                event = decode_event(next(self._call))
            except StopIteration:
                self._ended = True
            except grpc.RpcError as error:
                self._call = None
                failure = status.from_call(error, self._address)
                wait_s = None if self._begun else self._attempts.wait_s(failure)
                if wait_s is None:
                    self._ended = True
                    raise failure from error
                time.sleep(wait_s)
            else:
                self._begun = True
                return event
        raise StopIteration

    def close(self) -> None:
        """Ends the stream. Safe to call twice."""
        self._ended = True
        if self._call is not None:
            self._call.cancel()

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


async def tidying(
    channel: grpc.aio.Channel, request: tidy_pb2.TidyRequest, attempts: Attempts, address: str
) -> AsyncGenerator[TidyEvent, None]:
    """Messages of an asyncio client's tidy. Leaving it ends the stream."""
    method = _method(channel)
    begun = False
    while True:
        call = method(request, timeout=attempts.remaining_s())
        try:
            async for message in call:
                begun = True
                yield decode_event(message)
            return
        except grpc.RpcError as error:
            failure = status.from_call(error, address)
            wait_s = None if begun else attempts.wait_s(failure)
            if wait_s is None:
                raise failure from error
        finally:
            # A call that is left behind is kept for good.
            call.cancel()
        await asyncio.sleep(wait_s)
