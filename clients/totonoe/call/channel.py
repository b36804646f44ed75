"""The daemon's address, and the connection to it."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from totonoe.call.places import PLACES_MAX, Places
from totonoe.errors import ClientClosed

DEFAULT_ADDRESS = "127.0.0.1:7766"
ADDRESS_VARIABLE = "TOTONOE_ADDRESS"
SOCKET_NAME = "totonoe.sock"
TLS_SCHEME = "https://"
_PROBE_S = 1.0
_CONNECT_MS_MAX = 2_000
MESSAGE_BYTES_MAX = 16 * 1024 * 1024
FRAME_BYTES_MAX = 64

_HOST_PORT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):(?P<port>[0-9]{1,5})\Z")


def resolve_address(address: str | None) -> str:
    """The address to dial: the one given, else the environment's, else the default.

    The default is the Unix socket of this user's daemon where one answers, else a loopback port.

    Parameters
    ----------
    address : str or None
        `host:port`, `[ipv6]:port`, `https://host:port` (TLS) or `unix:/path`.

    Raises
    ------
    ValueError
        If it has none of these forms.
    """
    # The daemon reads the same variable, and may listen on several addresses: the first will do.
    # Of a port for each of several daemons, too.
    listening = os.environ.get(ADDRESS_VARIABLE, "").partition(",")[0].strip()
    listening = re.sub(r"(:[0-9]+)-[0-9]+\Z", r"\1", listening)
    chosen = address or listening or own_socket() or DEFAULT_ADDRESS
    if chosen.startswith("unix:") and len(chosen) > len("unix:"):
        return chosen
    match = _HOST_PORT.match(chosen.removeprefix(TLS_SCHEME))
    if match is None or not 1 <= int(match["port"]) <= 65535:
        raise ValueError(
            f"address: got {chosen!r}, allowed: host:port, https://host:port or unix:/path"
        )
    return chosen


def resolve_addresses(address: str | None) -> tuple[str, ...]:
    """The addresses to dial: of a text with commas each one, else that of `resolve_address`.

    They are of daemons that share a store. `TOTONOE_ADDRESS` names one daemon: of several, which
    are its own, the first is taken.

    Raises
    ------
    ValueError
        As `resolve_address`, or there are more than PLACES_MAX, or one is there twice.
    """
    if address is None or "," not in address:
        return (resolve_address(address),)
    parts = [part.strip() for part in address.split(",")]
    if len(parts) > PLACES_MAX or len(set(parts)) < len(parts) or "" in parts:
        raise ValueError(
            f"address: got {len(parts)} addresses, allowed: 1 to {PLACES_MAX} different ones, "
            "with commas"
        )
    return tuple(map(resolve_address, parts))


def own_socket() -> str:
    """The address of the Unix socket of this user's daemon; empty if none answers there."""
    path = default_data_dir() / SOCKET_NAME
    try:
        found = path.lstat()
        # Another user's socket would be given what is meant for this user's daemon.
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
            return ""
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_PROBE_S)
            probe.connect(str(path))
    except OSError:
        return ""
    return f"unix:{path}"


def default_data_dir() -> Path:
    """The data directory of a daemon that was started without options."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "totonoe"
    state = os.environ.get("XDG_STATE_HOME", "").strip()
    return (Path(state) if state else Path.home() / ".local" / "state") / "totonoe"


def channel_options(several: bool = False) -> list[tuple[str, int]]:
    """gRPC channel options, the same for both clients.

    With `several` daemons one that does not answer is left for another one soon, within the 30 s
    that a call has by default.
    """
    return [
        *([("grpc.min_reconnect_backoff_ms", _CONNECT_MS_MAX)] if several else []),
        ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
        # The longest answer, and what is around one that comes over a stream.
        ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX + FRAME_BYTES_MAX),
        # The daemon accepts pings every 10 s; gRPC's default of a server is 300 s.
        ("grpc.keepalive_time_ms", 12_000 if several else 30_000),
        ("grpc.keepalive_timeout_ms", 5_000 if several else 10_000),
        ("grpc.http2.max_pings_without_data", 0),
        # A daemon that starts is found about as soon as a call is tried again (`RetryPolicy`).
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1_000),
        # A daemon is near: a proxy for the web must not be asked for it.
        ("grpc.enable_http_proxy", 0),
    ]


class Connection:
    """A channel of either gRPC client that says clearly when it is used after its end.

    Parameters
    ----------
    channels : sequence of grpc.Channel or of grpc.aio.Channel
        What makes the calls: one for each daemon.
    metadata : tuple of (str, str)
        Goes with each call.

    Attributes
    ----------
    places : Places
        The daemons by their numbers. A call goes to the next one unless it says to which.
    """

    def __init__(self, channels: Sequence[Any], metadata: tuple[tuple[str, str], ...] = ()) -> None:
        self._channels = channels
        self._metadata = metadata
        self.places = Places(len(channels))
        self._closed = False

    def unary_unary(self, *args: Any, **options: Any) -> Callable[..., Any]:
        """As of the channel; raises `ClientClosed`, when it is made and when it is called."""
        return self._method("unary_unary", args, options)

    def unary_stream(self, *args: Any, **options: Any) -> Callable[..., Any]:
        """As `unary_unary`."""
        return self._method("unary_stream", args, options)

    def stream_stream(self, *args: Any, **options: Any) -> Callable[..., Any]:
        """As `unary_unary`."""
        return self._method("stream_stream", args, options)

    def close(self) -> Any:
        """Ends the channels and their calls. Safe to call twice.

        Of asyncio's what it returns is to be awaited.
        """
        self._closed = True
        closing = [channel.close() for channel in self._channels]
        return asyncio.gather(*closing) if closing[0] is not None else None

    def _method(
        self, kind: str, made_of: tuple[Any, ...], made_with: dict[str, Any]
    ) -> Callable[..., Any]:
        self._check()
        methods: dict[int, Callable[..., Any]] = {}

        def call(
            *args: Any,
            metadata: tuple[tuple[str, str], ...] = (),
            place: int | None = None,
            **options: Any,
        ) -> Any:
            self._check()
            at = self.places.pick() if place is None else place
            if at not in methods:
                methods[at] = getattr(self._channels[at], kind)(*made_of, **made_with)
            method = methods[at]
            try:
                return method(*args, metadata=(*self._metadata, *metadata), **options)
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
