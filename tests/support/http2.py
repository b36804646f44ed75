"""Bytes of HTTP/2 written by hand, for peers that do what no library would do.

Frames are built from their parts (RFC 9113); headers are literals without an index, so that their
bytes are known. Answers are read with the package `hpack`.
"""

from __future__ import annotations

import contextlib
import itertools
import select
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import hpack

from support.waits import wait_s

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 5, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS, PADDED = 0x1, 0x1, 0x4, 0x8
HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 1, 4, 5
CANCEL = 8
UNREADING = ((INITIAL_WINDOW_SIZE, 0), (HEADER_TABLE_SIZE, 0))
"""Settings of a peer that takes headers and no messages."""


def frame(kind: int, payload: bytes = b"", stream: int = 0, flags: int = 0) -> bytes:
    head = len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")
    return head + payload


def settings(*values: tuple[int, int]) -> bytes:
    """A SETTINGS frame of (identifier, value) pairs."""
    return frame(SETTINGS, b"".join(struct.pack(">HI", *pair) for pair in values))


def hello(*values: tuple[int, int]) -> bytes:
    """The first bytes of a well-behaved client."""
    return PREFACE + settings(*values)


def _number(value: int, bits: int, first: int = 0) -> bytes:
    """An integer of HPACK behind the leading bits `first` (RFC 7541, 5.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes((first | value,))
    out, value = bytearray((first | most,)), value - most
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes((*out, value))


def literal(name: bytes, value: bytes) -> bytes:
    """A header as a literal without an index, its strings uncompressed (RFC 7541, 6.2.2)."""
    return b"\0" + _number(len(name), 7) + name + _number(len(value), 7) + value


def call_headers(path: str, *more: tuple[bytes, bytes]) -> bytes:
    """The header block of a gRPC call."""
    named = (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path.encode(errors="surrogateescape")),
        (b":authority", b"localhost"),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
        *more,
    )
    return b"".join(literal(*pair) for pair in named)


def message(body: bytes, *, compressed: int = 0, length: int | None = None) -> bytes:
    """A gRPC message; `length` is what its prefix says, if that is to be wrong."""
    return struct.pack(">BI", compressed, len(body) if length is None else length) + body


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that arrived."""

    kind: int
    flags: int
    stream: int
    payload: bytes


@dataclass(slots=True)
class End:
    """How a stream ended.

    Attributes
    ----------
    headers : dict of str to str
        Headers and trailers; empty if it was reset or the connection was closed.
    reset : int
        Error code of RST_STREAM; -1: none came.
    """

    headers: dict[str, str] = field(default_factory=dict)
    reset: int = -1

    @property
    def status(self) -> int:
        """Number of the gRPC status; -1: there is none."""
        return int(self.headers.get("grpc-status", "-1"))


class Peer:
    """A connection that sends any bytes. Closed by `with`."""

    def __init__(self, address: str, context: ssl.SSLContext | None = None) -> None:
        host, _, port = address.rpartition(":")
        self.socket: Any = socket.create_connection((host, int(port)), wait_s())
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        self._received = bytearray()
        self._decoder = hpack.Decoder()
        self._streams = itertools.count(1, 2)
        self.closed = False
        """Whether the daemon has closed the connection."""

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> bool:
        """Send bytes; false if the daemon has closed the connection, or takes no more."""
        try:
            self.socket.sendall(data)
        except OSError:
            self.closed = True
        return not self.closed

    def next_stream(self) -> int:
        """The number of a new stream."""
        return next(self._streams)

    def frames(self, seconds: float) -> Iterator[Frame]:
        """Frames as they arrive, until the connection is closed or the seconds are over."""
        until_s = time.monotonic() + seconds
        while True:
            while len(self._received) >= 9:
                size = int.from_bytes(self._received[:3], "big")
                if len(self._received) < 9 + size:
                    break
                head = self._received[:9]
                payload = bytes(self._received[9 : 9 + size])
                del self._received[: 9 + size]
                stream = int.from_bytes(head[5:9], "big") & 0x7FFFFFFF
                yield Frame(head[3], head[4], stream, payload)
            if self.closed or not self._receive(until_s - time.monotonic()):
                return

    def _receive(self, seconds: float) -> bool:
        pending = getattr(self.socket, "pending", lambda: 0)()
        # Not `select`, which takes no descriptor from 1,024 on.
        waiting = select.poll()
        waiting.register(self.socket, select.POLLIN)
        if not pending and not waiting.poll(1000 * max(0.0, seconds)):
            return False
        data = b""
        with contextlib.suppress(OSError):
            data = self.socket.recv(65536)
        self.closed = not data
        self._received += data
        return True

    def wait_closed(self, seconds: float | None = None) -> bool:
        """Read until the daemon closes the connection; false if it does not in time."""
        for _ in self.frames(wait_s() if seconds is None else seconds):
            pass
        return self.closed

    def end_of(self, stream: int, seconds: float | None = None) -> End:
        """Read until a stream ends, or the connection is closed."""
        end = End()
        for got in self.frames(wait_s() if seconds is None else seconds):
            if got.kind in (PING, SETTINGS) and not got.flags & ACK:
                self.send(frame(got.kind, got.payload if got.kind == PING else b"", 0, ACK))
            if got.kind == HEADERS:
                found = self._decoder.decode(got.payload, raw=True)
                if got.stream == stream:
                    end.headers.update((k.decode(), v.decode("latin-1")) for k, v in found)
            if got.stream != stream:
                continue
            if got.kind == RST_STREAM:
                end.reset = int.from_bytes(got.payload, "big")
            if got.kind == RST_STREAM or (got.flags & END_STREAM and got.kind in (DATA, HEADERS)):
                break
        return end

    def call(self, path: str, body: bytes, *more: tuple[bytes, bytes]) -> int:
        """Begin a call and send these bytes as all of its body; returns the stream."""
        stream = self.next_stream()
        self.send(
            frame(HEADERS, call_headers(path, *more), stream, END_HEADERS)
            + frame(DATA, body, stream, END_STREAM)
        )
        return stream

    def call_unread(self, path: str, body: bytes, *more: tuple[bytes, bytes]) -> int:
        """Begin a call and wait for the headers of its answer; after a `hello` of UNREADING."""
        stream = self.call(path, body, *more)
        for got in self.frames(wait_s()):
            if got.kind in (PING, SETTINGS) and not got.flags & ACK:
                self.send(frame(got.kind, got.payload if got.kind == PING else b"", 0, ACK))
            if got.kind == HEADERS and got.stream == stream:
                return stream
        raise TimeoutError("no answer came")
