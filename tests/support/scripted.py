"""Services that answer what a test tells them to, over a real connection.

They are scripts of one exchange, not models of the daemon: nothing is stored, and a call
without a script answers UNIMPLEMENTED.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from totonoe.v1 import admin_service_pb2_grpc, memory_service_pb2_grpc

Handler = Callable[[Any, grpc.ServicerContext], Any]


def fail(
    context: grpc.ServicerContext,
    code: str,
    reason: str,
    message: str = "no",
    *,
    domain: str = "totonoe.v1",
    metadata: Mapping[str, str] | None = None,
    retry_delay_s: float | None = None,
) -> None:
    """Ends a call as the contract says errors travel."""
    status = status_pb2.Status(code=code_pb2.Code.Value(code), message=message)
    details: list[Any] = [
        error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata=metadata or {})
    ]
    if retry_delay_s is not None:
        delay = Duration()
        delay.FromMilliseconds(round(retry_delay_s * 1000))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    for detail in details:
        packed = AnyMessage()
        packed.Pack(detail)
        status.details.append(packed)
    context.abort_with_status(rpc_status.to_status(status))


def _servicer(base: type, handlers: Mapping[str, Handler]) -> Any:
    def method(handler: Handler) -> Any:
        return lambda _self, request, context: handler(request, context)

    own = {name: method(handler) for name, handler in handlers.items() if hasattr(base, name)}
    return type("Script", (base,), own)()


@contextmanager
def scripted(address: str = "127.0.0.1:0", **handlers: Handler) -> Iterator[str]:
    """Serves the handlers, by name of the call, and gives the address."""
    server = grpc.server(futures.ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
    memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(
        _servicer(memory_service_pb2_grpc.MemoryServiceServicer, handlers), server
    )
    admin_service_pb2_grpc.add_AdminServiceServicer_to_server(
        _servicer(admin_service_pb2_grpc.AdminServiceServicer, handlers), server
    )
    port = server.add_insecure_port(address)
    server.start()
    try:
        yield address if address.startswith("unix:") else f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


def answering(answer: Any, requests: list[Any] | None = None) -> Handler:
    """A handler that keeps the requests and gives one answer."""

    def handler(request: Any, _context: Any) -> Any:
        if requests is not None:
            requests.append(request)
        return answer

    return handler


def failing(code: str, reason: str, **more: Any) -> Handler:
    """A handler that fails with the message "because"."""
    return lambda _request, context: fail(context, code, reason, "because", **more)
