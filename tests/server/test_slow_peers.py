"""Peers that take their time: the daemon hangs up in time, and serves others meanwhile."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import grpc
import pytest

from support.http2 import (
    ACK,
    DATA,
    END_HEADERS,
    GOAWAY,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    PING,
    PREFACE,
    SETTINGS,
    UNREADING,
    Frame,
    Peer,
    call_headers,
    frame,
    hello,
    message,
    settings,
)
from support.waits import wait_s, wait_until
from totonoe_core.base import limits
from totonoe_server.life.connections import options
from totonoe_server.life.process import collections_open_max, connections_max
from totonoe_server.life.unread import CALL_BYTES
from totonoe_server.tools.testing import RunningServer, running_server

LIST = "/totonoe.v1.MemoryService/List"
PEERS = 20
CONNECTIONS_MAX = 60
UNREAD_CALLS = 6
"""Empty answers that one caller may leave unread here."""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """A daemon that waits for nobody long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "HANDSHAKE_S_MAX", 1)
        patch.setattr(limits, "KEEPALIVE_S", 1)
        patch.setattr(limits, "KEEPALIVE_ANSWER_S_MAX", 1)
        patch.setattr(limits, "CONNECTION_IDLE_S_MAX", 6)
        patch.setattr(limits, "STREAM_IDLE_S_MAX", 1)
        patch.setattr(limits, "CONNECTIONS_MAX", CONNECTIONS_MAX)
        patch.setattr(
            limits, "UNREAD_ANSWER_BYTES_MAX", UNREAD_CALLS * CALL_BYTES + CALL_BYTES // 2
        )
        with running_server() as server:
            yield server


def trickle(peer: Peer, data: bytes) -> None:
    """Send a byte at a time, for as long as the daemon takes them."""
    for at in range(len(data)):
        if not peer.send(data[at : at + 1]):
            return
        time.sleep(0.1)


def reads(peer: Peer, answer: Callable[[Frame], bytes]) -> list[bytes]:
    """Read until the daemon hangs up; returns why, as its GOAWAYs say it."""
    said = []
    for got in peer.frames(wait_s()):
        if got.kind == GOAWAY:
            said.append(got.payload[8:])
        if not got.flags & ACK and got.kind in (PING, SETTINGS):
            peer.send(answer(got))
    return said


def polite(got: Frame) -> bytes:
    return frame(got.kind, got.payload if got.kind == PING else b"", 0, ACK)


def no_pings(got: Frame) -> bytes:
    return b"" if got.kind == PING else polite(got)


@pytest.mark.parametrize("first", [b"", PREFACE[:7], PREFACE], ids=["nothing", "half", "preface"])
def test_half_open_connections_are_closed_while_others_are_served(
    server: RunningServer, first: bytes
) -> None:
    with ExitStack() as stack, server.client() as client:
        peers = [stack.enter_context(Peer(server.address)) for _ in range(PEERS)]
        for peer in peers:
            peer.send(first)
        assert client.list().revision >= 0
        assert all(peer.wait_closed() for peer in peers)


def test_preface_of_a_byte_at_a_time_is_cut_off(server: RunningServer) -> None:
    with Peer(server.address) as peer:
        thread = threading.Thread(target=trickle, args=(peer, hello() + bytes(600)))
        thread.start()
        with server.client() as client:
            assert client.list().revision >= 0
        assert peer.wait_closed()
        thread.join(wait_s())
        assert not thread.is_alive()


def test_peer_that_answers_no_ping_is_closed_before_it_is_idle(server: RunningServer) -> None:
    with Peer(server.address) as peer:
        peer.send(hello())
        assert b"ping_timeout" in reads(peer, no_pings)
        assert peer.closed


def test_peer_that_never_takes_our_settings_is_closed(server: RunningServer) -> None:
    with Peer(server.address) as peer:
        peer.send(hello())
        assert b"settings_timeout" in reads(peer, lambda _: b"")
        assert peer.closed


def test_peer_that_makes_no_call_is_closed_and_a_client_comes_back(server: RunningServer) -> None:
    with server.client() as client, Peer(server.address) as peer:
        client.list()
        peer.send(hello())
        assert b"connection idle" in reads(peer, polite)
        assert peer.closed
        # The client's connection was as idle.
        assert client.list().revision >= 0


@pytest.mark.parametrize("path", [LIST, "/totonoe.v1.MemoryService/Watch"])
def test_call_whose_request_trickles_ends_with_a_reason(server: RunningServer, path: str) -> None:
    with Peer(server.address) as peer, server.client() as client:
        peer.send(hello())
        streams = [peer.next_stream() for _ in range(PEERS)]
        for stream in streams:
            begun = frame(HEADERS, call_headers(path), stream, END_HEADERS)
            peer.send(begun + frame(DATA, message(b"", length=1000), stream))
        for stream in streams:
            peer.send(frame(DATA, b"\0", stream))
        assert client.list().revision >= 0
        end = peer.end_of(streams[0])
        assert end.status == grpc.StatusCode.UNAVAILABLE.value[0]
        assert "too long" in end.headers["grpc-message"]


def test_caller_who_reads_no_answers_gets_no_more_until_it_does(server: RunningServer) -> None:
    with Peer(server.address) as peer, server.client() as client:
        peer.send(hello(*UNREADING))
        unread = [peer.call_unread(LIST, message(b"")) for _ in range(UNREAD_CALLS)]
        refused = peer.end_of(peer.call(LIST, message(b"")))
        assert refused.status == grpc.StatusCode.UNAVAILABLE.value[0]
        assert "unread" in refused.headers["grpc-message"]
        assert client.list().revision >= 0
        peer.send(settings((INITIAL_WINDOW_SIZE, 65_535)))
        assert peer.end_of(unread[-1]).status == 0
        wait_until(lambda: peer.end_of(peer.call(LIST, message(b""))).status == 0)


def test_connections_over_the_limit_are_closed_and_places_come_back(
    server: RunningServer,
) -> None:
    with ExitStack() as stack:
        opened = [stack.enter_context(Peer(server.address)) for _ in range(CONNECTIONS_MAX + PEERS)]
        over = opened[CONNECTIONS_MAX:]
        assert all(peer.wait_closed() for peer in over)

    def served() -> bool:
        try:
            with Peer(server.address) as peer:
                peer.send(hello())
                return peer.end_of(peer.call(LIST, message(b""))).status == 0
        except OSError:
            return False

    wait_until(served)


def test_connections_and_collections_leave_files_to_one_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {"soft": 1024}
    monkeypatch.setattr(limits, "CONNECTIONS_MAX", 5000)
    monkeypatch.setattr("resource.getrlimit", lambda _: (found["soft"], 10**6))
    assert connections_max() == 640
    assert collections_open_max() == 23
    left = 1024 - connections_max() - collections_open_max() * limits.FILES_PER_COLLECTION_MAX
    assert left >= 1024 // 8
    found["soft"] = 16
    assert (connections_max(), collections_open_max()) == (10, 1)
    found["soft"] = 10**6
    assert connections_max() == 5000
    assert collections_open_max() == limits.COLLECTIONS_OPEN_MAX
    assert ("grpc.max_allowed_incoming_connections", 5000) in options()


def test_client_that_vanishes_without_a_word_is_forgotten(server: RunningServer) -> None:
    host, _, port = server.address.rpartition(":")
    for _ in range(PEERS):
        gone = socket.create_connection((host, int(port)), wait_s())
        gone.sendall(hello() + frame(HEADERS, call_headers(LIST), 1, END_HEADERS))
        gone.close()
    with server.client() as client:
        assert client.list().revision >= 0
