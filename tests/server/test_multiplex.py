"""Multiplex: an item ends as the call by itself does; order, window, ends of items and streams."""

from __future__ import annotations

import functools
import re
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from google.rpc import code_pb2

from support.access import add_identity, with_token
from support.items import Stream
from support.waits import wait_until
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.base import limits
from totonoe_core.domain import records
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.memories import Remembered
from totonoe_server.access import book as entries
from totonoe_server.access.book import Book
from totonoe_server.access.gate import Gate
from totonoe_server.access.grants import parse_grant
from totonoe_server.access.identities import Identity, Limits
from totonoe_server.life import daemon, interceptors, multiplex
from totonoe_server.tools.testing import running_server

GUARD = records.GuardReport(None, records.Method.NONE, 0.0, (), ())
STREAMS = 500
UNKNOWN = "mem_" + "0" * 16
MADE = re.compile(r"(mem|op)_[0-9a-f]+")
TIMES = re.compile(r"_time \{[^}]*\}")


def saved(name: str = "mem_0123456789abcdef") -> Applied:
    return Applied("op_1", 1, (Remembered(True, name, GUARD),))


def remember(content: str = "A text.", **rest: Any) -> pb.RememberRequest:
    return pb.RememberRequest(memory={"content": content}, **rest)


def vector(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


GOOD: list[Callable[..., Any]] = [
    lambda **on: remember("The port is 8080.", **on),
    lambda **on: remember("The port is 8080.", **on),
    lambda **on: remember("The port is 8081.", operation_id="one", **on),
    lambda **on: remember("The port is 8081.", operation_id="one", **on),
    lambda **on: pb.CheckRequest(memory={"content": "The port is 8080."}, **on),
    lambda **on: pb.RecallRequest(text="port", k=3, no_touch=True, **on),
    lambda **on: pb.RecallRequest(text="nothing of it", min_relevance=0.9, **on),
    lambda **on: pb.UpdateRequest(
        memory_id="ID", memory={"importance": 5}, update_mask={"paths": ["importance"]}, **on
    ),
    lambda **on: pb.ForgetRequest(ids=["ID"], dry_run=True, **on),
    lambda **on: pb.ForgetRequest(ids=["ID", UNKNOWN], reason="tidy", **on),
]
BAD: list[Any] = [
    pb.RememberRequest(),
    remember("x" * 40_000),
    remember("a\0b"),
    remember("A text.", agent_id="ann\nbob"),
    remember("A text.", collection="No Such"),
    remember("A text.", collection="no-such"),
    remember("A text.", operation_id="a\r\n"),
    remember("A text.", on_update=99),
    pb.RememberRequest(memory={"content": "A text.", "vector": vector(1.0, float("nan"))}),
    pb.CheckRequest(),
    pb.CheckRequest(memory={"content": "A text."}, cosine_distance_below=3.0),
    pb.RecallRequest(),
    pb.RecallRequest(text="a", k=1001),
    pb.RecallRequest(text="a", mode=9),
    pb.RecallRequest(vector=b"\0\0\0\0"),
    pb.UpdateRequest(memory_id=UNKNOWN, memory={"importance": 2}),
    pb.UpdateRequest(
        memory_id=UNKNOWN, memory={"importance": 2}, update_mask={"paths": ["importance"]}
    ),
    pb.ForgetRequest(),
    pb.ForgetRequest(ids=[UNKNOWN]),
    pb.ForgetRequest(ids=["nonsense"]),
]


def by_itself(wire: Any, request: Any, metadata: Any = ()) -> Any:
    name = type(request).__name__.removesuffix("Request")
    return getattr(wire.memory, name)(request, timeout=30, metadata=metadata)


@pytest.fixture
def stream(wire: Any) -> Iterator[Stream]:
    with Stream(wire.channel) as made:
        yield made


@pytest.fixture
def items(fake: Any) -> Iterator[Stream]:
    """A stream to an engine that does what the test says."""
    with Stream(fake.channel) as made:
        yield made


def answers_of(ask: Callable[[Any], Any], collection: str) -> list[str]:
    """What a sequence of requests is answered, without what differs from run to run."""
    found, first = [], ""
    for make in GOOD:
        request = make(collection=collection, agent_id="ann")
        if getattr(request, "memory_id", "") == "ID":
            request.memory_id = first
        if "ID" in getattr(request, "ids", ()):
            request.ids[0] = first
        answer = ask(request)
        first = first or answer.memory_id
        text = TIMES.sub("time", MADE.sub(r"\1", str(answer)))
        found.append(text.replace(collection, "c"))
    return found


def test_items_are_answered_as_calls_by_themselves(wire: Any, stream: Stream) -> None:
    alone = answers_of(functools.partial(by_itself, wire), wire.collection())
    assert answers_of(stream.ask, wire.collection()) == alone


@pytest.mark.parametrize("request_", BAD, ids=lambda request: type(request).__name__)
def test_bad_items_fail_as_calls_by_themselves(
    wire: Any, stream: Stream, read_failure: Any, request_: Any
) -> None:
    with pytest.raises(grpc.RpcError) as alone:
        by_itself(wire, request_)
    with pytest.raises(grpc.RpcError) as caught:
        stream.ask(request_)
    failure = read_failure(caught.value)
    assert failure == read_failure(alone.value)
    assert failure.reason
    # The stream goes on.
    assert stream.ask(pb.CheckRequest(memory={"content": "Another text."})).would_save


def test_bug_in_an_item_is_internal_and_ends_no_stream(
    fake: Any, items: Stream, read_failure: Any
) -> None:
    fake.engine.behave = lambda *_, **__: KeyError("secret")
    with pytest.raises(grpc.RpcError) as caught:
        items.ask(remember())
    failure = read_failure(caught.value)
    assert failure.reason == "INTERNAL"
    assert "secret" not in failure.message
    fake.engine.behave = lambda *_, **__: saved()
    assert items.ask(remember()).saved


def test_items_are_answered_as_they_are_done(fake: Any, items: Stream) -> None:
    slow: Future[Any] = Future()
    fake.engine.behave = lambda *_, **__: slow
    first = items.send(remember("slow"))
    wait_until(lambda: fake.engine.calls)
    fake.engine.behave = lambda *_, **__: saved()
    assert items.ask(remember("quick")).saved
    slow.set_result(saved())
    assert items.response(first).remember.saved


def test_items_beyond_the_window_are_refused_and_the_others_answered(
    fake: Any, items: Stream
) -> None:
    slow: Future[Any] = Future()
    fake.engine.behave = lambda *_, **__: slow
    assert items.window == limits.MULTIPLEX_UNANSWERED_MAX
    inside = [items.send(remember()) for _ in range(items.window)]
    refused = items.response(items.send(remember())).error
    assert refused.code == code_pb2.UNAVAILABLE
    assert any(b"OVERLOADED" in detail.value for detail in refused.details)
    slow.set_result(saved())
    assert all(items.response(number).remember.saved for number in inside)
    assert items.ask(remember()).saved


def test_item_that_is_cancelled_is_taken_back_and_answered_once(fake: Any, items: Stream) -> None:
    waiting: Future[Any] = Future()
    fake.engine.behave = lambda *_, **__: waiting
    number = items.send(remember())
    wait_until(lambda: fake.engine.calls)
    for _ in range(2):
        items.put(pb.MultiplexRequest(id=number, cancel=True))
    items.put(pb.MultiplexRequest(id=77, cancel=True))
    assert items.response(number).error.code == code_pb2.CANCELLED
    assert waiting.cancelled()
    fake.engine.behave = lambda *_, **__: saved()
    assert items.ask(remember()).saved
    items.put(None)
    assert list(items.call) == []


def test_item_ends_at_its_deadline_and_the_others_go_on(fake: Any, items: Stream) -> None:
    waiting: list[Future[Any]] = [Future(), Future()]
    fake.engine.behave = lambda *_, **__: waiting[len(fake.engine.calls) - 1]
    late, patient = items.send(remember(), timeout_s=0.05), items.send(remember(), timeout_s=500)
    ended = items.response(late).error
    assert ended.code == code_pb2.DEADLINE_EXCEEDED
    assert any(b"DEADLINE_PASSED" in detail.value for detail in ended.details)
    waiting[-1].set_result(saved())
    assert items.response(patient).remember.saved


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (pb.MultiplexRequest(id=1), "MISSING_FIELD"),
        (pb.MultiplexRequest(id=1, check={}, timeout_s=-1), "OUT_OF_RANGE"),
        (pb.MultiplexRequest(id=1, check={}, timeout_s=float("nan")), "OUT_OF_RANGE"),
    ],
)
def test_item_that_is_no_call_is_refused(stream: Stream, message: Any, reason: str) -> None:
    stream.put(message)
    (info, *_) = stream.response(1).error.details
    assert reason.encode() in info.value
    assert stream.ask(pb.CheckRequest(memory={"content": "A text."})).would_save


def test_id_of_an_unanswered_item_ends_the_stream(
    fake: Any, items: Stream, read_failure: Any
) -> None:
    slow: Future[Any] = Future()
    fake.engine.behave = lambda *_, **__: slow
    number = items.send(remember())
    items.put(pb.MultiplexRequest(id=number, remember=remember()))
    # What was begun is answered first.
    wait_until(lambda: len(fake.engine.calls) == 1)
    slow.set_result(saved())
    assert items.response(number).remember.saved
    with pytest.raises(grpc.RpcError) as caught:
        next(items.call)
    failure = read_failure(caught.value)
    assert (failure.reason, failure.details["field"]) == ("OUT_OF_RANGE", "id")


def test_client_that_vanishes_takes_its_items_back(fake: Any, items: Stream) -> None:
    waiting: Future[Any] = Future()
    fake.engine.behave = lambda *_, **__: waiting
    items.send(remember())
    wait_until(lambda: fake.engine.calls)
    items.close()
    wait_until(waiting.cancelled)


def test_items_are_counted_and_logged_under_their_calls(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, open_wire: Any, caplog: Any
) -> None:
    guard = interceptors.Interceptor(Gate(tmp_path))
    monkeypatch.setattr(daemon, "Interceptor", lambda _: guard)
    caplog.set_level("INFO")
    with open_wire(log_calls="info") as wire, Stream(wire.channel) as stream:
        assert stream.ask(remember(), request_id="job-7").saved
        with pytest.raises(grpc.RpcError):
            stream.ask(pb.ForgetRequest(ids=[UNKNOWN]))
        wait_until(lambda: guard.figures.ended["NOT_FOUND"])
        assert guard.figures.refused["MEMORY_NOT_FOUND"] == 1
        assert set(guard.figures.methods["Remember"].seconds) == {"OK"}
        assert guard.figures.methods["Multiplex"].now == 1
    logged = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    said = {entry["method"]: entry for entry in logged if entry["event"] == "call"}
    assert said["Remember"]["request_id"] == "job-7"
    assert said["Forget"]["reason"] == "MEMORY_NOT_FOUND"


# -- Identities


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Any]:
    """A daemon with an identity that may read and remember, with limits on `slow`."""
    data_dir = tmp_path / "data"
    token = add_identity(
        data_dir, "ann", "*:read,remember", limits={"slow": Limits(writes_per_s=1.0)}
    )
    with running_server(data_dir) as server, grpc.insecure_channel(server.address) as channel:
        yield SimpleNamespace(data_dir=data_dir, channel=channel, metadata=with_token(token))


def test_stream_without_a_token_is_refused(closed: Any, read_failure: Any) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        Stream(closed.channel)
    assert read_failure(caught.value).reason == "TOKEN_MISSING"


def change(data_dir: Path, made: Callable[[Identity], Identity]) -> None:
    Book(data_dir).change(lambda found: entries.changed(found, "ann", made))


def reason_of(stream: Stream, request: Any, read_failure: Any) -> str:
    try:
        stream.ask(request)
    except grpc.RpcError as error:
        return str(read_failure(error).reason)
    return ""


def test_verb_that_is_taken_away_is_refused_on_an_open_stream(
    closed: Any, read_failure: Any
) -> None:
    with Stream(closed.channel, closed.metadata) as stream:
        assert stream.ask(remember()).saved
        change(closed.data_dir, lambda one: replace(one, grants=(parse_grant("*:read"),)))
        wait_until(lambda: reason_of(stream, remember("Other."), read_failure) == "NOT_GRANTED")
        assert stream.ask(pb.RecallRequest(text="text")).hits


def test_stream_of_an_identity_that_is_revoked_ends(closed: Any, read_failure: Any) -> None:
    with Stream(closed.channel, closed.metadata) as stream:
        assert stream.ask(remember()).saved
        change(closed.data_dir, lambda one: entries.revoked(one, 1))
        with pytest.raises(grpc.RpcError) as caught:
            next(stream.call)
        assert read_failure(caught.value).reason == "TOKEN_REVOKED"


def test_limits_of_an_identity_hold_for_items(closed: Any, read_failure: Any) -> None:
    stub = closed.channel
    with Stream(stub, closed.metadata) as stream:
        reasons = [
            reason_of(stream, remember(f"Text {n}.", collection="slow"), read_failure)
            for n in range(3)
        ]
    assert reasons[0] == "COLLECTION_NOT_FOUND"
    assert "RATE_LIMITED" in reasons


# -- Streams


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, open_fake: Any) -> Iterator[Any]:
    """A server and what stands around its calls."""
    guard = interceptors.Interceptor(Gate(tmp_path))
    monkeypatch.setattr(daemon, "Interceptor", lambda _: guard)
    with open_fake() as wire:
        yield SimpleNamespace(wire=wire, guard=guard)


def connections(wire: Any, count: int) -> list[grpc.Channel]:
    options = (("grpc.use_local_subchannel_pool", 1),)
    return [grpc.insecure_channel(wire.server.address, options) for _ in range(count)]


def test_500_streams_are_served_beside_the_others(guarded: Any) -> None:
    wire = guarded.wire
    wire.engine.behave = lambda *_, **__: saved()
    per_connection = limits.PEER_STREAMS_MAX
    channels = connections(wire, -(-STREAMS // per_connection))
    streams = [Stream(channels[number // per_connection]) for number in range(STREAMS)]
    try:
        numbers = [stream.send(remember()) for stream in streams]
        pairs = zip(streams, numbers, strict=True)
        assert all(stream.response(number).remember.saved for stream, number in pairs)
        assert guarded.guard.figures.methods["Multiplex"].now == STREAMS
        # They take no place of streams of another kind.
        many = pb.RememberManyRequest(items=[remember()])
        assert next(wire.memory.RememberMany(iter([many]), timeout=30)).results[0].answer.saved
    finally:
        for stream in streams:
            stream.close()
        for channel in channels:
            channel.close()


def test_stream_too_many_is_refused_and_an_idle_one_gives_way(
    monkeypatch: pytest.MonkeyPatch, open_fake: Any, read_failure: Any
) -> None:
    monkeypatch.setattr(limits, "MULTIPLEX_STREAMS_MAX", 1)
    with open_fake() as wire, Stream(wire.channel) as first:
        with pytest.raises(grpc.RpcError) as caught:
            Stream(wire.channel)
        assert read_failure(caught.value).reason == "OVERLOADED"
        waiting: Future[Any] = Future()
        wire.engine.behave = lambda *_, **__: waiting
        busy = first.send(remember())
        wait_until(lambda: wire.engine.calls)
        monkeypatch.setattr(limits, "STREAM_GIVES_WAY_S", 1e-9)
        with pytest.raises(grpc.RpcError):
            Stream(wire.channel)
        waiting.set_result(saved())
        assert first.response(busy).remember.saved
        second = opened_soon(wire.channel)
        with pytest.raises(grpc.RpcError) as caught:
            next(first.call)
        assert read_failure(caught.value).reason == "STREAM_IDLE"
        second.close()


def opened_soon(channel: grpc.Channel) -> Stream:
    """A stream, as soon as there is a place."""
    made: list[Stream] = []

    def tried() -> bool:
        try:
            made.append(Stream(channel))
        except grpc.RpcError:
            return False
        return True

    wait_until(tried)
    return made[0]


def test_idle_stream_is_ended_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, open_fake: Any, read_failure: Any
) -> None:
    monkeypatch.setattr(limits, "MULTIPLEX_IDLE_S_MAX", 0.05)
    with open_fake() as wire, Stream(wire.channel) as stream:
        with pytest.raises(grpc.RpcError) as caught:
            next(stream.call)
        assert read_failure(caught.value).reason == "STREAM_IDLE"


def test_stop_answers_what_was_begun_and_ends_the_stream(guarded: Any, read_failure: Any) -> None:
    slow: Future[Any] = Future()
    guarded.wire.engine.behave = lambda *_, **__: slow
    with Stream(guarded.wire.channel) as stream:
        number = stream.send(remember())
        wait_until(lambda: guarded.wire.engine.calls)
        stopping = threading.Thread(target=guarded.wire.server.stop)
        stopping.start()
        wait_until(lambda: guarded.guard.draining)
        slow.set_result(saved())
        assert stream.response(number).remember.saved
        with pytest.raises(grpc.RpcError) as caught:
            next(stream.call)
        assert read_failure(caught.value).reason == "SHUTTING_DOWN"
        stopping.join()


def test_bytes_of_an_answer_in_its_frame_are_the_response() -> None:
    for length in (0, 1, 127, 128, 300, 70_000):
        answer = pb.RecallResponse(degraded_because="x" * length)
        framed = multiplex._framed(2**63, "recall", answer.SerializeToString())
        whole = pb.MultiplexResponse(id=2**63, recall=answer).SerializeToString()
        assert framed == whole
        assert len(framed) - len(answer.SerializeToString()) <= limits.FRAME_BYTES_MAX
