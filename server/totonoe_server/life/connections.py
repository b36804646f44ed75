"""Hold every connection to its limits, on a server that no request can end.

Sizes, times and numbers of connections stand in `options`, all in one place.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import grpc
from grpc import aio
from grpc._cython import cygrpc
from grpc.aio import _server as grpc_aio_server

from totonoe_core.base import limits
from totonoe_server.life.interceptors import CALLS_MAX, Interceptor
from totonoe_server.life.process import connections_max

_S = 1000
"""Milliseconds of a second: gRPC's options of time are in milliseconds."""


def options(shares_ports: bool = False) -> tuple[tuple[str, int], ...]:
    """Return what gRPC is to hold connections to: sizes, times, numbers. All of it stands here."""
    return (
        *_SIZES,
        # Two servers on one port share its calls (the default of gRPC on Linux): only where that
        # is meant.
        ("grpc.so_reuseport", int(shares_ports)),
        # A connection that does not finish TLS and the first frames of HTTP/2 is closed.
        ("grpc.server_handshake_timeout_ms", limits.HANDSHAKE_S_MAX * _S),
        # Calls of one connection; over it the client's library waits.
        ("grpc.max_concurrent_streams", CALLS_MAX),
        ("grpc.max_allowed_incoming_connections", connections_max()),
        # An idle peer is asked whether it is still there. One that vanished is closed soon.
        ("grpc.keepalive_time_ms", limits.KEEPALIVE_S * _S),
        ("grpc.keepalive_timeout_ms", limits.KEEPALIVE_ANSWER_S_MAX * _S),
        # The limit of each ping and of the answer to our settings; else a minute, whatever the
        # option above says.
        ("grpc.http2.ping_timeout_ms", limits.KEEPALIVE_ANSWER_S_MAX * _S),
        ("grpc.http2.settings_timeout", limits.KEEPALIVE_ANSWER_S_MAX * _S),
        ("grpc.keepalive_permit_without_calls", 1),
        # One that is there and makes no call; its library connects again by itself.
        ("grpc.max_connection_idle_ms", limits.CONNECTION_IDLE_S_MAX * _S),
        # Clients ping every 30 s; the default allows one in 300 s and then hangs up.
        ("grpc.http2.min_ping_interval_without_data_ms", limits.PING_INTERVAL_S_MIN * _S),
        ("grpc.http2.max_pings_without_data", 0),
    )


_SIZES = (
    ("grpc.max_receive_message_length", limits.MESSAGE_BYTES_MAX),
    # An answer has its size checked before it is sent; as an item's it has a frame of its own.
    ("grpc.max_send_message_length", limits.MESSAGE_BYTES_MAX + limits.FRAME_BYTES_MAX),
    # None but `identity`: gRPC unpacks a message before it looks at its size, and 16 MiB of gzip
    # hold 16 GiB.
    ("grpc.compression_enabled_algorithms_bitset", 1),
    # A token has 47 characters. Over the second number a call is refused, in between perhaps.
    ("grpc.max_metadata_size", limits.METADATA_BYTES_MAX // 2),
    ("grpc.absolute_max_metadata_size", limits.METADATA_BYTES_MAX),
)


_LISTENERS_OF = "1.85."
"""Releases of grpcio whose inner parts `_Listener` knows."""


class _Listener(cygrpc.AioServer):  # type: ignore[misc]  # Cython declares no types
    """gRPC's listener, but each method takes up its own calls.

    grpcio 1.85 takes up all calls in one task. For each call that task waits anew for the next one
    of every registered method, which costs 40 to 70 us where there are 56 of them. And it
    decodes the path of a call whose method is none that was registered as UTF-8: bytes that are no
    UTF-8 end the task, and with it the port, so that one frame of anybody would stop the daemon.
    Here such calls are answered without their path, by UNIMPLEMENTED as ever. All methods of the
    contract, of health and of reflection are registered.
    """

    def __init__(self, interceptor: Interceptor, shares_ports: bool) -> None:
        held_to = options(shares_ports)
        super().__init__(asyncio.get_running_loop(), None, (), (interceptor,), held_to, None)
        self._interceptor = interceptor
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    def add_registered_method_handlers(self, handlers: Any) -> None:
        """Register methods, by their paths."""
        self._handlers.update(handlers)
        super().add_registered_method_handlers(handlers)

    def _make_request_call_future(self, method_bytes: bytes | None) -> Any:
        """Return a task in place of a future of one call: it answers calls until the stop."""
        return asyncio.get_running_loop().create_task(self._answer(method_bytes))

    async def _answer(self, method_bytes: bytes | None) -> None:
        """Answers calls of a method until the server stops: then gRPC raises what it expects."""
        loop, path = (
            asyncio.get_running_loop(),
            "" if method_bytes is None else method_bytes.decode(),
        )
        known = {path: self._handlers[path]} if path else {}
        interceptors = (self._interceptor,) if path else ()
        resolver = cygrpc._MethodResolver([], known)
        answering: set[asyncio.Task[None]] = set()
        while True:
            if method_bytes is None:
                call = await self._request_call()
            else:
                call = await self._request_registered_call(method_bytes)
            answer = cygrpc._handle_rpc(path, resolver, interceptors, call, loop, False)
            task = loop.create_task(cygrpc._schedule_rpc_coro(answer, call, loop, path))
            answering.add(task)
            task.add_done_callback(answering.discard)


class _Server(grpc_aio_server.Server):
    """The asynchronous server on that listener."""

    def __init__(self, interceptor: Interceptor, shares_ports: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = _Listener(interceptor, shares_ports)


def _hides_metadata(record: logging.LogRecord) -> bool:
    """Whether a record of gRPC may be logged: not that which quotes metadata, a token perhaps."""
    return not str(record.msg).startswith("Invalid encoding on")


def make_server(interceptor: Interceptor, shares_ports: bool = False) -> aio.Server:
    """Return a server with no port and no service yet. Event loop only.

    With `shares_ports` other servers of this user may listen on its ports, too.
    """
    logging.getLogger(cygrpc.__name__).addFilter(_hides_metadata)
    if grpc.__version__.startswith(_LISTENERS_OF):
        return cast(aio.Server, _Server(interceptor, shares_ports))
    # Another release, with another loop: its own must do. The tests send such paths.
    return aio.server(interceptors=(interceptor,), options=options(shares_ports))
