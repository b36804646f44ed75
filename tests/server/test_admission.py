"""Places of streams: by kind, by connection, and not for those that are left open."""

from __future__ import annotations

import asyncio
import functools
import random
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import grpc
import pytest

from support.waits import wait_s, wait_until
from totonoe import AsyncClient, Client
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import memory_service_pb2_grpc, transfer_pb2
from totonoe_core.base import limits
from totonoe_core.base.errors import Unavailable
from totonoe_core.base.turn import TURN
from totonoe_core.domain import records
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.memories import Remembered
from totonoe_server.access.gate import Gate
from totonoe_server.life import daemon, interceptors
from totonoe_server.life.admission import Admission

GUARD = records.GuardReport(None, records.Method.NONE, 0.0, (), ())


class Open:
    """RememberMany streams that are open and say nothing after one empty message."""

    def __init__(self) -> None:
        self._end = threading.Event()
        self.calls: list[Any] = []

    def stream(self, memory: Any) -> Any:
        def requests() -> Iterator[pb.RememberManyRequest]:
            yield pb.RememberManyRequest()
            self._end.wait(wait_s())

        call = memory.RememberMany(requests(), timeout=wait_s())
        assert len(next(call).results) == 0
        self.calls.append(call)
        return call

    def close(self) -> None:
        self._end.set()
        for call in self.calls:
            call.cancel()


@pytest.fixture
def idle() -> Iterator[Open]:
    made = Open()
    yield made
    made.close()


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch, open_fake: Callable[..., Any]) -> Iterator[Any]:
    """A server with two places for each kind of stream, and as many for a connection."""
    made = functools.partial(interceptors.Interceptor, streams_max=2, peer_streams_max=2)
    monkeypatch.setattr(daemon, "Interceptor", made)
    with open_fake() as wire:
        yield wire


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> interceptors.Interceptor:
    """What stands around the calls of the next server."""
    made = interceptors.Interceptor(Gate(tmp_path))
    monkeypatch.setattr(daemon, "Interceptor", lambda _: made)
    return made


def saved(number: int) -> Applied:
    return Applied("op_1", 1, (Remembered(True, f"mem_{number:016x}", GUARD),))


def another(wire: Any) -> tuple[grpc.Channel, Any]:
    """A second connection to a server."""
    options = (("grpc.use_local_subchannel_pool", 1),)
    channel = grpc.insecure_channel(wire.server.address, options)
    return channel, memory_service_pb2_grpc.MemoryServiceStub(channel)


def test_streams_of_one_kind_keep_out_none_of_another(narrow, fails, idle):
    for _ in range(2):
        idle.stream(narrow.memory)
    assert fails(narrow.memory.RememberMany, iter([])).reason == "OVERLOADED"
    narrow.engine.behave = lambda *_, **__: KeyError("it came through")
    start = transfer_pb2.ImportStart()
    failure = fails(narrow.admin.Import, iter([transfer_pb2.ImportRequest(start=start)]))
    assert failure.reason == "INTERNAL"
    assert fails(narrow.admin.Export, transfer_pb2.ExportRequest()).reason == "INTERNAL"


def test_one_connection_cannot_take_all_places(monkeypatch, open_fake, fails, idle):
    made = functools.partial(interceptors.Interceptor, streams_max=8, peer_streams_max=2)
    monkeypatch.setattr(daemon, "Interceptor", made)
    with open_fake() as wire:
        for _ in range(2):
            idle.stream(wire.memory)
        failure = fails(wire.memory.RememberMany, iter([]))
        assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "OVERLOADED")
        assert failure.retry_delay_ms == limits.RETRY_DELAY_MS
        channel, memory = another(wire)
        with channel:
            idle.stream(memory)


def test_stream_that_is_left_open_is_ended_with_a_reason(
    monkeypatch, open_fake, read_failure, idle
):
    monkeypatch.setattr(limits, "STREAM_IDLE_S_MAX", 0.05)
    with open_fake() as wire, pytest.raises(grpc.RpcError) as caught:
        next(idle.stream(wire.memory))
    failure = read_failure(caught.value)
    assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "STREAM_IDLE")
    assert failure.retry_delay_ms == limits.RETRY_DELAY_MS


def test_stream_whose_items_are_being_decided_is_not_idle(monkeypatch, open_fake, guard, idle):
    monkeypatch.setattr(limits, "STREAM_IDLE_S_MAX", 0.5)
    waiting: Future[Applied] = Future()
    with open_fake() as wire:
        wire.engine.behave = lambda *_, **__: waiting
        item = pb.RememberRequest(memory={"content": "a"})
        message = pb.RememberManyRequest(items=[item])
        busy = wire.memory.RememberMany(iter([message]), timeout=wait_s())
        wait_until(lambda: wire.engine.calls)
        idle.stream(wire.memory)  # opened later, and ended before
        wait_until(lambda: guard.figures.ended["UNAVAILABLE"] == 1)
        waiting.set_result(saved(1))
        assert next(busy).results[0].answer.saved


def test_longest_idle_stream_gives_way_where_all_places_are_taken(
    monkeypatch, narrow, read_failure, idle
):
    monkeypatch.setattr(limits, "STREAM_GIVES_WAY_S", 0.0)
    first, second = idle.stream(narrow.memory), idle.stream(narrow.memory)
    channel, memory = another(narrow)
    with channel:
        idle.stream(memory)
        with pytest.raises(grpc.RpcError) as caught:
            next(first)
        assert read_failure(caught.value).reason == "STREAM_IDLE"
        assert second.is_active()


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_client_opens_a_stream_again_that_was_idle(monkeypatch, open_wire, guard, kind):

    monkeypatch.setattr(limits, "STREAM_IDLE_S_MAX", 0.05)
    draw = random.Random(5)

    def slowly() -> Iterator[str]:
        for number in range(3):
            # The input goes on when the stream of its first message was ended.
            wait_until(lambda first=not number: first or guard.figures.ended["UNAVAILABLE"])
            # Nothing alike: this is not about what the guard reads.
            yield from (uuid.UUID(int=draw.getrandbits(128)).hex for _ in range(64))

    async def by_asyncio(address: str) -> list[Any]:
        async with AsyncClient(address) as client:
            return [found async for found in client.remember_many(slowly())]

    with open_wire() as wire:
        if kind == "sync":
            with Client(wire.server.address) as client:
                results = list(client.remember_many(slowly()))
        else:
            results = asyncio.run(by_asyncio(wire.server.address))
        stats = wire.admin.Stats(admin_pb.StatsRequest(collection="default"), timeout=10)
    assert [found.error for found in results] == [None] * 192
    assert [found.index for found in results] == list(range(192))
    assert stats.collections[0].active_count == sum(result.remembered.saved for result in results)


# -- Turns in the writer's queue


def test_calls_of_one_connection_have_flows_of_their_agents_and_streams(open_fake):
    turns: list[tuple[str, str]] = []

    def note(*_: Any, **__: Any) -> Applied:
        turns.append(TURN.get())
        return saved(len(turns))

    item = pb.RememberRequest(memory={"content": "a"})
    with open_fake() as wire:
        wire.engine.behave = note
        wire.memory.Remember(pb.RememberRequest(agent_id="ann", memory={"content": "a"}))
        wire.memory.Remember(pb.RememberRequest(agent_id="ben", memory={"content": "a"}))
        for _ in range(2):
            list(wire.memory.RememberMany(iter([pb.RememberManyRequest(items=[item])])))
        channel, memory = another(wire)
        with channel:
            memory.Remember(pb.RememberRequest(agent_id="ann", memory={"content": "a"}))
    assert len(set(turns)) == 5
    assert [flow for _, flow in turns[:2]] == ["ann", "ben"]
    assert len({peer for peer, _ in turns}) == 2


# -- The bounds alone


def test_places_are_free_again_when_calls_end():
    places = Admission(2, peer_max=1)
    for _ in range(3):
        with places.place("ipv4:1"), places.place("ipv4:2"):
            with pytest.raises(Unavailable), places.place("ipv4:1"):
                pass
            with pytest.raises(Unavailable), places.place("ipv4:3"):
                pass


def test_peers_on_a_unix_socket_are_not_bounded_one_by_one():
    places = Admission(2, peer_max=1)
    with places.place("unix:"), places.place("unix:"):
        assert places._by_peer == {"": 2}


def test_nothing_of_a_peer_is_kept_when_its_calls_are_over():
    places = Admission(2, peer_max=1)
    with places.place("ipv4:1"), places.place("unix:"):
        pass
    assert not places._by_peer
    assert not places._places
