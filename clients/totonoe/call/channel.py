"""The daemon's address, and the connection to it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from totonoe.errors import ClientClosed

DEFAULT_ADDRESS = "127.0.0.1:7766"
ADDRESS_VARIABLE = "TOTONOE_ADDRESS"
MESSAGE_BYTES_MAX = 16 * 1024 * 1024

_HOST_PORT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):(?P<port>[0-9]{1,5})\Z")


def resolve_address(address: str | None) -> str:
    """The address to dial: the one given, else the environment's, else the default.

    Parameters
    ----------
    address : str or None
        `host:port`, `[ipv6]:port` or `unix:/path`.

    Raises
    ------
    ValueError
        If it has none of these forms.
    """
    # The daemon reads the same variable, and may listen on several addresses: the first will do.
    listening = os.environ.get(ADDRESS_VARIABLE, "").partition(",")[0].strip()
    chosen = address or listening or DEFAULT_ADDRESS
    if chosen.startswith("unix:") and len(chosen) > len("unix:"):
        return chosen
    match = _HOST_PORT.match(chosen)
    if match is None or not 1 <= int(match["port"]) <= 65535:
        raise ValueError(f"address: got {chosen!r}, allowed: host:port or unix:/path")
    return chosen


def channel_options() -> list[tuple[str, int]]:
    """gRPC channel options, the same for both clients."""
    return [
        ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
        ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
        # The daemon accepts pings every 10 s; gRPC's default of a server is 300 s.
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.http2.max_pings_without_data", 0),
        # A daemon that starts is found about as soon as a call is tried again (`RetryPolicy`).
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1_000),
        # The daemon is on this machine: a proxy for the web must not be asked for it.
        ("grpc.enable_http_proxy", 0),
    ]


class Connection:
    """A channel of either gRPC client that says clearly when it is used after its end.

    Parameters
    ----------
    channel : grpc.Channel or grpc.aio.Channel
        What makes the calls.
    """

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self._closed = False

    def unary_unary(self, *args: Any, **options: Any) -> Callable[..., Any]:
        """As of the channel; raises `ClientClosed`, when it is made and when it is called."""
        return self._method(self._channel.unary_unary, args, options)

    def unary_stream(self, *args: Any, **options: Any) -> Callable[..., Any]:
        """As `unary_unary`."""
        return self._method(self._channel.unary_stream, args, options)

    def stream_stream(self, *args: Any, **options: Any) -> Callable[..., Any]:
        """As `unary_unary`."""
        return self._method(self._channel.stream_stream, args, options)

    def close(self) -> Any:
        """Ends the channel and its calls. Safe to call twice. Of asyncio's it is to be awaited."""
        self._closed = True
        return self._channel.close()

    def _method(
        self, make: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
    ) -> Callable[..., Any]:
        self._check()
        method = make(*args, **options)

        def call(*args: Any, **options: Any) -> Any:
            self._check()
            try:
                return method(*args, **options)
            except ValueError:
                # gRPC's own word for it, if another thread closed it at this very moment.
                self._check()
                raise

        return call

    def _check(self) -> None:
        if self._closed:
            raise ClientClosed(
                "the client is closed: make a new one, or call inside of its `with` block"
            )
