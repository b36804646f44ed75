"""Items of Multiplex streams: sent by hand, and answers as calls by themselves give them."""

from __future__ import annotations

import queue
from types import TracebackType
from typing import Any, Self

import grpc
from google.protobuf.descriptor import MethodDescriptor

from support.waits import wait_s
from totonoe.call.multiplex import outcome
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import memory_service_pb2_grpc

FIELDS = {
    field.message_type.full_name: field.name
    for field in pb.MultiplexRequest.DESCRIPTOR.oneofs_by_name["call"].fields
}
"""Fields of an item by the full names of their requests."""


class Stream:
    """An open Multiplex stream."""

    def __init__(self, channel: grpc.Channel, metadata: Any = ()) -> None:
        self._outgoing: queue.SimpleQueue[Any] = queue.SimpleQueue()
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self.call = stub.Multiplex(
            iter(self._outgoing.get, None), timeout=wait_s(120), metadata=metadata
        )
        self._count = 0
        self._early: dict[int, Any] = {}
        self.window = next(self.call).opened.unanswered_max

    def send(self, request: Any = None, **fields: Any) -> int:
        """Sends an item; returns its number."""
        self._count += 1
        item = pb.MultiplexRequest(id=self._count, **fields)
        if request is not None:
            getattr(item, FIELDS[request.DESCRIPTOR.full_name]).CopyFrom(request)
        self.put(item)
        return self._count

    def put(self, message: Any) -> None:
        """Sends a message; `None` ends the sending."""
        self._outgoing.put(message)

    def response(self, number: int) -> Any:
        """The response to an item; others that come before it are kept."""
        while number not in self._early:
            found = next(self.call)
            self._early[found.id] = found
        return self._early.pop(number)

    def ask(self, request: Any, **fields: Any) -> Any:
        """The answer to a request; raises `grpc.RpcError`."""
        return outcome(self.response(self.send(request, **fields)))

    def close(self) -> None:
        self._outgoing.put(None)
        self.call.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def check_item(method: MethodDescriptor, data: bytes) -> None:
    """Raise `grpc.RpcError` if the message of a stream says that an item failed."""
    if method.name == "Multiplex":
        response = pb.MultiplexResponse.FromString(data)
        if response.WhichOneof("outcome") == "error":
            outcome(response)
