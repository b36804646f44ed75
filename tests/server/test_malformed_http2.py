"""Bytes that no client library sends: the daemon answers or hangs up, and goes on.

The daemon is a process of its own, so that its memory, threads and descriptors are its own.
"""

from __future__ import annotations

import gzip
import os
import random
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

import totonoe
from support.access import add_identity
from support.daemons import DaemonProcess
from support.http2 import (
    ACK,
    CANCEL,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    MAX_FRAME_SIZE,
    PADDED,
    PING,
    PREFACE,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Peer,
    call_headers,
    frame,
    hello,
    literal,
    message,
    settings,
)
from support.waits import wait_s, wait_until
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_server.access.certificates import Authority
from totonoe_server.tools.testing import running_server

LIST = "/totonoe.v1.MemoryService/List"
WATCH = "/totonoe.v1.MemoryService/Watch"
MANY = "/totonoe.v1.MemoryService/RememberMany"
WHOLE = message(pb.ListRequest().SerializeToString())
SEED = 20_261_124
FLOOD = 5000
HELD_MORE_MAX = 24
RSS_MORE_MAX_KB = 160 * 1024
"""A tenth of what the floods send would be kept if nothing bounded it; caches take some."""
STATUS = {code.value[0]: code for code in grpc.StatusCode}

Header = tuple[bytes, bytes]
OK = grpc.StatusCode.OK
INVALID = grpc.StatusCode.INVALID_ARGUMENT
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
INTERNAL = grpc.StatusCode.INTERNAL
UNIMPLEMENTED = grpc.StatusCode.UNIMPLEMENTED

BODIES: dict[str, tuple[str, bytes, tuple[Header, ...], grpc.StatusCode]] = {
    "whole": (LIST, WHOLE, (), OK),
    "no message": (LIST, b"", (), INVALID),
    "no message to a stream of answers": (WATCH, b"", (), INVALID),
    "no message in a stream": (MANY, b"", (), OK),
    "half a prefix": (LIST, b"\0\0", (), INVALID),
    "prefix longer than the body": (LIST, message(b"abc", length=100), (), INVALID),
    "prefix shorter than the body": (LIST, message(b"abcdef", length=2), (), INVALID),
    "prefix over the limit": (LIST, message(b"abc", length=2**24 + 1), (), EXHAUSTED),
    "prefix of 4 GiB": (LIST, message(b"abc", length=2**32 - 1), (), EXHAUSTED),
    "two messages": (LIST, WHOLE + WHOLE, (), OK),
    "bytes that are no message": (LIST, message(b"\xff" * 40), (), INVALID),
    "compressed without an encoding": (LIST, message(b"abc", compressed=1), (), INTERNAL),
    "compressed garbage": (
        LIST,
        message(b"garbage", compressed=1),
        ((b"grpc-encoding", b"gzip"),),
        UNIMPLEMENTED,
    ),
    "gzip of 64 MiB": (
        LIST,
        message(gzip.compress(bytes(8 << 20)), compressed=1),
        ((b"grpc-encoding", b"gzip"),),
        UNIMPLEMENTED,
    ),
    "unknown encoding": (LIST, WHOLE, ((b"grpc-encoding", b"x"),), INTERNAL),
    "deadline that is no number": (LIST, WHOLE, ((b"grpc-timeout", b"soon"),), INTERNAL),
    "deadline that has passed": (
        LIST,
        WHOLE,
        ((b"grpc-timeout", b"0m"),),
        grpc.StatusCode.DEADLINE_EXCEEDED,
    ),
    "method that is none": ("/x/y", WHOLE, (), UNIMPLEMENTED),
    "path of many letters": ("/" + "x" * 6000, WHOLE, (), UNIMPLEMENTED),
    "path that is not ASCII": ("/\N{SNOWMAN}", WHOLE, (), UNIMPLEMENTED),
    "path that is not UTF-8": ("/\udcf4bc", WHOLE, (), UNIMPLEMENTED),
    "metadata that is not UTF-8": (LIST, WHOLE, ((b"x-note", b"\xff\xfe"),), OK),
    "token that is not UTF-8": (LIST, WHOLE, ((b"authorization", b"Bearer \xff"),), OK),
    "metadata that is no base64": (LIST, WHOLE, ((b"x-bin", b"!!"),), INTERNAL),
}


def in_parts(stream: int, block: bytes) -> bytes:
    """A header block as HEADERS and as many CONTINUATION frames as it takes."""
    parts = [block[at : at + 16_000] for at in range(0, len(block), 16_000)]
    frames = [frame(HEADERS, parts[0], stream)]
    frames += [frame(CONTINUATION, part, stream) for part in parts[1:]]
    return b"".join(frames) + frame(CONTINUATION, b"", stream, END_HEADERS)


def random_bytes() -> bytes:
    return random.Random(SEED).randbytes(4000)


FIRST: dict[str, bytes] = {
    "random bytes": random_bytes(),
    "HTTP/1.1": b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
    "TLS to a plain port": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(508),
    "preface of another protocol": PREFACE.replace(b"2.0", b"3.0"),
    "preface and then no SETTINGS": PREFACE + frame(PING, bytes(8)),
    "random bytes behind the preface": hello() + random_bytes(),
    "frame over the limit": hello() + b"\xff\xff\xff\0\0\0\0\0\1",
    "SETTINGS of 3 bytes": hello() + frame(SETTINGS, b"abc"),
    "SETTINGS with a stream": hello() + frame(SETTINGS, b"", 1),
    "frame size under the least": hello((MAX_FRAME_SIZE, 1)),
    "window over 2^31": hello((INITIAL_WINDOW_SIZE, 2**31)),
    "PING of 3 bytes": hello() + frame(PING, b"abc"),
    "CONTINUATION without HEADERS": hello() + frame(CONTINUATION, b"a", 1),
    "HEADERS that are cut by a PING": hello()
    + frame(HEADERS, call_headers(LIST), 1)
    + frame(PING, bytes(8)),
    "window opened by nothing": hello() + frame(WINDOW_UPDATE, bytes(4)),
    "HPACK garbage": hello() + frame(HEADERS, b"\xff" * 50, 1, END_HEADERS | END_STREAM),
    "HPACK table of 2^28 bytes": hello()
    + frame(HEADERS, b"\x3f\xe1\xff\xff\x7f" + call_headers(LIST), 1, END_HEADERS | END_STREAM),
    "padding longer than the frame": hello()
    + frame(HEADERS, b"\xff" + call_headers(LIST)[:20], 1, END_HEADERS | PADDED),
}
"""First bytes after which the daemon hangs up."""

ODD: dict[str, bytes] = {
    "DATA on a stream that never began": hello() + frame(DATA, b"x" * 100, 5),
    "RST_STREAM of a stream that never began": hello() + frame(RST_STREAM, bytes(4), 5),
    "stream with an even number": hello() + frame(HEADERS, call_headers(LIST), 2, END_HEADERS),
    "PUSH_PROMISE": hello() + frame(PUSH_PROMISE, bytes(4), 1, END_HEADERS),
    "frame of an unknown kind": hello() + frame(77, b"abc", 1),
    "no method": hello() + frame(HEADERS, literal(b"a", b"b"), 1, END_HEADERS | END_STREAM),
    "method GET": hello()
    + frame(HEADERS, call_headers(LIST).replace(b"POST", b"GETS"), 1, END_HEADERS | END_STREAM),
    "header name in capitals": hello()
    + frame(HEADERS, call_headers(LIST, (b"UPPER", b"x")), 1, END_HEADERS | END_STREAM),
}
"""Bytes after which the connection may stay or go; others are served in either case."""


def flood_of_resets(peer: Peer) -> None:
    for _ in range(FLOOD):
        stream = peer.next_stream()
        begun = frame(HEADERS, call_headers(LIST), stream, END_HEADERS)
        if not peer.send(begun + frame(RST_STREAM, CANCEL.to_bytes(4, "big"), stream)):
            return


def flood_of_half_calls(peer: Peer) -> None:
    for _ in range(FLOOD):
        if not peer.send(frame(HEADERS, call_headers(LIST), peer.next_stream(), END_HEADERS)):
            return


def unread_answers(peer: Peer) -> None:
    peer.send(settings((INITIAL_WINDOW_SIZE, 0)))
    for _ in range(200):
        peer.call(LIST, WHOLE)
    list(peer.frames(0.2))


def sends(data: bytes) -> Callable[[Peer], None]:
    def send(peer: Peer) -> None:
        peer.send(data)

    return send


FLOODS: dict[str, Callable[[Peer], None]] = {
    "PING": sends(frame(PING, bytes(8)) * FLOOD),
    "answers to no PING": sends(frame(PING, bytes(8), 0, ACK) * FLOOD),
    "SETTINGS": sends(settings((INITIAL_WINDOW_SIZE, 1000)) * FLOOD),
    "PRIORITY": sends(frame(PRIORITY, bytes(5), 1) * FLOOD),
    "WINDOW_UPDATE": sends(frame(WINDOW_UPDATE, b"\0\0\0\1") * FLOOD),
    "RST_STREAM (rapid reset)": flood_of_resets,
    "calls without a body": flood_of_half_calls,
    "CONTINUATION with headers": sends(
        frame(HEADERS, call_headers(LIST), 1)
        + frame(CONTINUATION, literal(b"a", b"b" * 1000), 1) * FLOOD
    ),
    "CONTINUATION without headers": sends(
        frame(HEADERS, call_headers(LIST), 1) + frame(CONTINUATION, b"", 1) * FLOOD
    ),
    "empty DATA": sends(
        frame(HEADERS, call_headers(LIST), 1, END_HEADERS) + frame(DATA, b"", 1) * FLOOD
    ),
    "answers that are not read": unread_answers,
}


def held(pid: int) -> int:
    """Descriptors and threads of a process."""
    found = (len(os.listdir(f"/proc/{pid}/{name}")) for name in ("fd", "task"))  # noqa: PTH208
    return sum(found)


def rss_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """After all tests of the file: what it holds, and what it logged."""
    with DaemonProcess(tmp_path_factory.mktemp("http2") / "data") as daemon:
        linux = sys.platform == "linux"
        serves(daemon)
        before = (held(daemon.pid), rss_kb(daemon.pid)) if linux else (0, 0)
        yield daemon
        serves(daemon)
        if linux:
            wait_until(
                lambda: held(daemon.pid) <= before[0] + HELD_MORE_MAX,
                lambda: f"{before[0]} files and threads before, {held(daemon.pid)} now",
            )
            assert rss_kb(daemon.pid) <= before[1] + RSS_MORE_MAX_KB
        log = daemon.log.read_text()
        assert '"level": "error"' not in log
        assert "Traceback" not in log
        assert daemon.stop() == 0


def serves(daemon: DaemonProcess) -> None:
    """Another client is served."""
    with totonoe.Client(daemon.address, timeout_s=wait_s()) as client:
        assert client.health()
        assert client.list(page_size=1).revision >= 0


@pytest.mark.parametrize("name", BODIES)
def test_call_of_any_body_ends_with_its_code(daemon: DaemonProcess, name: str) -> None:
    path, body, headers, expected = BODIES[name]
    with Peer(daemon.address) as peer:
        peer.send(hello())
        end = peer.end_of(peer.call(path, body, *headers))
        assert STATUS.get(end.status) is expected, end
        if expected is INVALID:
            assert "grpc-status-details-bin" in end.headers
        # The connection is whole: the next call on it is answered.
        assert STATUS.get(peer.end_of(peer.call(LIST, WHOLE)).status) is OK


@pytest.mark.parametrize(
    "block",
    [
        call_headers(LIST, (b"a", b"x" * 40_000)),
        call_headers(LIST, *((b"h%d" % n, b"v" * 40) for n in range(1500))),
        call_headers(LIST, *((b"same", b"v" * 100) for _ in range(1000))),
    ],
    ids=["one huge header", "many headers", "one header many times"],
)
def test_header_bomb_is_refused(daemon: DaemonProcess, block: bytes) -> None:
    with Peer(daemon.address) as peer:
        peer.send(hello())
        stream = peer.next_stream()
        peer.send(in_parts(stream, block) + frame(DATA, WHOLE, stream, END_STREAM))
        end = peer.end_of(stream)
        assert STATUS.get(end.status) in (INVALID, EXHAUSTED), end
    serves(daemon)


@pytest.mark.parametrize("name", FIRST)
def test_bytes_that_are_no_http2_end_the_connection(daemon: DaemonProcess, name: str) -> None:
    with Peer(daemon.address) as peer:
        peer.send(FIRST[name])
        assert peer.wait_closed()
    serves(daemon)


@pytest.mark.parametrize("name", ODD)
def test_odd_frames_hurt_nobody_else(daemon: DaemonProcess, name: str) -> None:
    with Peer(daemon.address) as peer:
        peer.send(ODD[name])
        serves(daemon)
        for got in peer.frames(0.1):
            assert got.kind != HEADERS or STATUS[2].name.encode() not in got.payload


@pytest.mark.parametrize("name", FLOODS)
def test_flood_hurts_nobody_else(daemon: DaemonProcess, name: str) -> None:
    with Peer(daemon.address) as peer:
        peer.socket.settimeout(2.0)
        peer.send(hello())
        FLOODS[name](peer)
        serves(daemon)


def test_peer_that_is_cut_off_at_any_byte_hurts_nobody(daemon: DaemonProcess) -> None:
    whole = hello() + frame(HEADERS, call_headers(LIST), 1, END_HEADERS)
    whole += frame(DATA, WHOLE, 1, END_STREAM)
    for size in range(1, len(whole), 3):
        with Peer(daemon.address) as peer:
            peer.send(whole[:size])
    serves(daemon)


def test_frames_with_any_flipped_bit_end_without_unknown(daemon: DaemonProcess) -> None:
    draw = random.Random(SEED)
    whole = hello() + frame(HEADERS, call_headers(LIST), 1, END_HEADERS)
    whole += frame(DATA, WHOLE, 1, END_STREAM)
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 3)):
            data[draw.randrange(len(PREFACE), len(data))] ^= 1 << draw.randrange(8)
        with Peer(daemon.address) as peer:
            peer.send(bytes(data))
            assert peer.end_of(1, 0.02).status != grpc.StatusCode.UNKNOWN.value[0]
    serves(daemon)


def test_bytes_that_are_no_tls_or_no_http2_in_it_end_the_connection(tmp_path: Path) -> None:
    authority = Authority.made(tmp_path / "certs")
    pair = authority.server(["127.0.0.2"])
    token = add_identity(tmp_path / "data", "ann", "*:read")
    options = {"tls_cert": str(pair.cert), "tls_key": str(pair.key)}
    plain = (hello(), FIRST["HTTP/1.1"], random_bytes(), FIRST["TLS to a plain port"])
    context = ssl.create_default_context(cafile=str(authority.files.cert))
    context.set_alpn_protocols(["h2"])
    with running_server(tmp_path / "data", address="127.0.0.2:0", **options) as server:
        for data in plain:
            with Peer(server.address) as peer:
                peer.send(data)
                assert peer.wait_closed()
        for name in FIRST:
            with Peer(server.address, context) as peer:
                peer.send(FIRST[name])
                assert peer.wait_closed(), name
        for name in ("no message", "prefix of 4 GiB", "compressed garbage"):
            path, body, headers, expected = BODIES[name]
            with Peer(server.address, context) as peer:
                peer.send(hello())
                # Nobody's bytes are read before their token.
                end = peer.end_of(peer.call(path, body, *headers))
                assert STATUS[end.status] is grpc.StatusCode.UNAUTHENTICATED or (
                    expected is UNIMPLEMENTED and STATUS[end.status] is expected
                )
                proved = (b"authorization", b"Bearer " + token.encode())
                end = peer.end_of(peer.call(path, body, *headers, proved))
                assert STATUS[end.status] is expected
        # Clients that vanish in the middle of a handshake.
        host, _, port = server.address.rpartition(":")
        for _ in range(20):
            with socket.create_connection((host, int(port)), wait_s()) as half:
                half.sendall(FIRST["TLS to a plain port"][:5])
        with totonoe.Client(
            f"https://{server.address}", token=token, ca=authority.files.cert
        ) as hers:
            assert hers.list().revision >= 0
