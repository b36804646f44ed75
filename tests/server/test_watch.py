"""Watch: what comes, from where on, how it ends, and who waits for whom."""

from __future__ import annotations

import math
import struct
import threading
from concurrent.futures import Future

import grpc
import pytest

from support.serving import serving
from support.waits import wait_s
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import memory_service_pb2_grpc, types_pb2
from totonoe.v1 import operations_pb2 as op
from totonoe_core.base import errors, limits
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.queries import Change, Changes, ChangeType, LinkChange, MemoryChange
from totonoe_core.domain.records import Fields, Link, LinkType, Memory, Status
from totonoe_core.domain.undo import OperationInfo
from totonoe_server.services import watch as watching
from totonoe_server.wire.watch import changes_to_wire

CREATED, UPDATED, FORGOTTEN = (
    op.CHANGE_TYPE_CREATED,
    op.CHANGE_TYPE_UPDATED,
    op.CHANGE_TYPE_FORGOTTEN,
)


def watch(wire, collection="", agent_id="anna", **rest):
    """A stream of changes."""
    request = op.WatchRequest(collection=collection, agent_id=agent_id, **rest)
    return wire.memory.Watch(request, timeout=30)


def told(message) -> list[tuple[int, str]]:
    """(type, id) of a message's memories."""
    return [(memory.type, memory.memory_id) for memory in message.change.memories]


def take(call, count: int) -> list[op.WatchResponse]:
    """The next changes; heartbeats are passed over."""
    found = []
    while len(found) < count:
        message = next(call)
        if message.HasField("change"):
            found.append(message)
    return found


def begun(wire, collection: str, **rest):
    """A stream from now on, once it has begun."""
    call = watch(wire, collection, **rest)
    assert next(call).HasField("heartbeat")
    return call


def update(wire, collection: str, memory_id: str, agent_id="anna", **fields):
    """An Update of the named fields."""
    request = pb.UpdateRequest(
        collection=collection, agent_id=agent_id, memory_id=memory_id, memory=fields
    )
    request.update_mask.paths.extend(fields)
    return wire.memory.Update(request, timeout=30)


# -- What comes


@pytest.mark.both_stores
def test_changes_come_as_they_are_made(wire):
    name = wire.collection()
    call = begun(wire, name)
    saved = wire.remember("The port is 8080.", name, agent_id="ben", operation_id="op_1")
    update(wire, name, saved.memory_id, importance=5)
    wire.memory.Forget(
        pb.ForgetRequest(collection=name, agent_id="ben", ids=[saved.memory_id], reason="wrong")
    )
    created, updated, forgotten = take(call, 3)
    assert [told(each) for each in (created, updated, forgotten)] == [
        [(CREATED, saved.memory_id)],
        [(UPDATED, saved.memory_id)],
        [(FORGOTTEN, saved.memory_id)],
    ]
    operation = created.change.operation
    assert (operation.operation_id, operation.agent_id, operation.kind) == (
        "op_1",
        "ben",
        "Remember",
    )
    assert created.revision == operation.revision == saved.revision
    assert created.change.memories[0].memory.content == "The port is 8080."
    assert updated.change.memories[0].memory.importance == 5
    assert not forgotten.change.memories[0].HasField("memory")
    assert forgotten.change.operation.reason == "wrong"
    call.cancel()


def test_nothing_comes_for_what_changes_nothing(wire):
    name = wire.collection()
    saved = wire.remember("Only this.", name)
    call = begun(wire, name)
    assert not wire.remember("Only this.", name).saved
    wire.memory.Recall(pb.RecallRequest(collection=name, text="this"))
    wire.memory.Check(pb.CheckRequest(collection=name, memory={"content": "That."}))
    wire.memory.Forget(pb.ForgetRequest(collection=name, ids=[saved.memory_id], dry_run=True))
    other = wire.remember("Something quite different.", name)
    (message,) = take(call, 1)
    assert told(message) == [(CREATED, other.memory_id)]
    assert message.revision == saved.revision + 1
    call.cancel()


def test_links_come_with_the_operation(wire):
    name = wire.collection()
    a = wire.remember("Rain falls.", name).memory_id
    b = wire.remember("Shoes are leather.", name).memory_id
    call = begun(wire, name)
    wire.memory.Link(
        pb.LinkRequest(
            collection=name, source_id=a, target_id=b, type=types_pb2.LINK_TYPE_CAUSES, note="so"
        )
    )
    (message,) = take(call, 1)
    (link,) = message.change.links
    assert (link.source_id, link.link.target_id, link.link.note, link.removed) == (
        a,
        b,
        "so",
        False,
    )
    call.cancel()


def test_stream_goes_on_where_another_ended(wire):
    name = wire.collection()
    ids = [wire.remember(f"Note {word}.", name).memory_id for word in ("alpha", "beta", "gamma")]
    call = watch(wire, name, after_revision=0)
    first = take(call, 2)
    call.cancel()
    rest = watch(wire, name, after_revision=first[-1].revision)
    assert [
        change.memory_id for each in (*first, *take(rest, 1)) for change in each.change.memories
    ] == (ids)
    rest.cancel()


def test_every_watcher_gets_everything_in_order(wire):
    name = wire.collection()
    seen: dict[int, list[int]] = {number: [] for number in range(4)}
    calls = [begun(wire, name, agent_id=f"agent {number}") for number in seen]

    def follow(number: int) -> None:
        seen[number] += [each.revision for each in take(calls[number], 40)]

    def write(number: int) -> None:
        for turn in range(10):
            request = pb.RememberRequest(
                collection=name, force=True, memory={"content": f"Writer {number}, turn {turn}."}
            )
            wire.memory.Remember(request, timeout=30)

    work = [(follow, number) for number in seen] + [(write, number) for number in seen]
    threads = [threading.Thread(target=call, args=(number,)) for call, number in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(wait_s())
    assert all(revisions == list(range(1, 41)) for revisions in seen.values())
    for call in calls:
        call.cancel()


def test_what_turns_private_is_forgotten_for_others(wire):
    name = wire.collection()
    memory_id = wire.remember("Seen by all.", name, agent_id="anna").memory_id
    own, other = begun(wire, name), begun(wire, name, agent_id="ben")
    update(wire, name, memory_id, private=True)
    update(wire, name, memory_id, importance=5)
    update(wire, name, memory_id, private=False)
    assert [told(each) for each in take(own, 3)] == [[(UPDATED, memory_id)]] * 3
    assert [told(each) for each in take(other, 2)] == [
        [(FORGOTTEN, memory_id)],
        [(CREATED, memory_id)],
    ]
    own.cancel()
    other.cancel()


def test_filter_holds_for_before_and_after(wire):
    name = wire.collection()
    call = begun(wire, name, filter={"tags": ["deploy"]})
    memory_id = wire.remember("Lunch is at noon.", name).memory_id
    update(wire, name, memory_id, tags=["deploy"])
    update(wire, name, memory_id, tags=["food"])
    assert [told(each) for each in take(call, 2)] == [[(UPDATED, memory_id)]] * 2
    call.cancel()


# -- Heartbeats


def test_heartbeats_come_in_silence_and_say_where_it_stands(wire, monkeypatch):
    monkeypatch.setattr(watching, "HEARTBEAT_S_MIN", 0.01)
    name = wire.collection()
    call = watch(wire, name, heartbeat_s=0.05, filter={"tags": ["never"]})
    for _ in range(3):
        message = next(call)
        assert message.HasField("heartbeat") and message.revision == 0
    wire.remember("Not asked for.", name)
    while next(call).revision != 1:
        pass
    call.cancel()


def test_heartbeat_ends_what_there_was_without_a_silence(wire):
    name = wire.collection()
    for text in ("The kiln is hot.", "Ducks swim on the pond."):
        wire.remember(text, name)
    call = watch(wire, name, after_revision=0, heartbeat_s=300)
    messages = [next(call) for _ in range(3)]
    assert [(message.WhichOneof("event"), message.revision) for message in messages] == [
        ("change", 1),
        ("change", 2),
        ("heartbeat", 2),
    ]
    wire.remember("Rain fell in April.", name)
    assert next(call).HasField("change")
    call.cancel()


# -- What it refuses


@pytest.mark.parametrize("heartbeat_s", [0.5, 301.0, -1.0, math.nan, math.inf])
def test_heartbeat_out_of_range(wire, fails, heartbeat_s):
    failure = fails(wire.memory.Watch, op.WatchRequest(heartbeat_s=heartbeat_s))
    assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
    assert (failure.reason, failure.details["field"]) == ("OUT_OF_RANGE", "heartbeat_s")


def test_revision_to_come(wire, fails):
    name = wire.collection()
    failure = fails(wire.memory.Watch, op.WatchRequest(collection=name, after_revision=7))
    assert failure.code is grpc.StatusCode.OUT_OF_RANGE
    assert failure.reason == "REVISION_OUT_OF_RANGE"
    assert failure.details["newest"] == "0"


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"after_revision": -1}, "OUT_OF_RANGE"),
        ({"filter": {"kinds": [99]}}, "UNKNOWN_ENUM"),
        ({"filter": {"min_importance": 9}, "after_revision": 0}, "OUT_OF_RANGE"),
        ({"filter": {"tags": ["x"] * 101}}, "LIMIT_EXCEEDED"),
        ({"collection": "no such"}, "BAD_NAME"),
    ],
)
def test_requests_that_are_wrong(wire, fails, request_, reason):
    failure = fails(wire.memory.Watch, op.WatchRequest(**request_))
    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, reason)


def test_unknown_collection_and_unreadable_bytes(wire, fails):
    assert fails(wire.memory.Watch, op.WatchRequest(collection="nowhere")).reason == (
        "COLLECTION_NOT_FOUND"
    )
    raw = wire.channel.unary_stream("/totonoe.v1.MemoryService/Watch")
    assert fails(raw, b"\xff\xff").reason == "MALFORMED_MESSAGE"


def test_too_many_watchers(monkeypatch, fails):
    monkeypatch.setattr(limits, "WATCHERS_MAX", 1)
    with serving() as server, grpc.insecure_channel(server.address) as channel:
        raw = channel.unary_stream(
            "/totonoe.v1.MemoryService/Watch",
            request_serializer=op.WatchRequest.SerializeToString,
            response_deserializer=op.WatchResponse.FromString,
        )
        first = raw(op.WatchRequest())
        next(first)
        failure = fails(raw, op.WatchRequest())
        assert failure.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert failure.reason == "QUOTA_EXCEEDED"
        first.cancel()


# -- How it ends


NARROW = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 65_536))
"""Little lies on the way, so that a watcher that reads nothing is noticed soon."""


def write_much(wire, count: int) -> str:
    """A collection of long memories."""
    name = wire.collection(client_vector_dimension=2)
    for number in range(count):
        request = pb.RememberRequest(
            collection=name,
            memory={
                "content": f"{number} " + "x" * 30_000,
                "vector": struct.pack("<2f", 1.0, 0.0),
                "kind": types_pb2.KIND_EVENT,
            },
        )
        assert wire.memory.Remember(request, timeout=30).saved
    return name


def test_slow_watcher_is_cut_while_writers_go_on(monkeypatch, read_failure, open_wire):
    cut = threading.Event()

    def quota(*args, **details):
        cut.set()
        return errors.Quota(*args, **details)

    monkeypatch.setattr(watching, "Quota", quota)
    monkeypatch.setattr(limits, "WATCH_SEND_S_MAX", 0.1)
    with open_wire() as wire, grpc.insecure_channel(wire.server.address, NARROW) as channel:
        name = write_much(wire, 30)
        slow = memory_service_pb2_grpc.MemoryServiceStub(channel)
        call = slow.Watch(op.WatchRequest(collection=name, after_revision=0), timeout=30)
        seen = [next(call).revision]
        assert cut.wait(wait_s())
        assert wire.remember("Written meanwhile.", name, vector=struct.pack("<2f", 0, 1)).saved
        with pytest.raises(grpc.RpcError) as caught:
            for message in call:
                seen.append(message.revision)  # noqa: PERF401 - it ends in an error
        failure = read_failure(caught.value)
        assert failure.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert failure.reason == "WATCH_TOO_SLOW"
        # What was under way when it was cut may have come through.
        after = int(failure.details["after_revision"])
        assert seen == list(range(1, len(seen) + 1)) and after <= len(seen) <= after + 1 < 31
        rest = watch(wire, name, after_revision=after)
        assert [each.revision for each in take(rest, 31 - after)] == list(range(after + 1, 32))
        rest.cancel()


def test_stopping_ends_watchers_at_once(open_wire, read_failure):
    # Without an end of theirs it would take all of this.
    with open_wire(grace_s=1000.0) as wire:
        reading, stuck = begun(wire, ""), begun(wire, "")
        wire.server.stop()
        for call in (reading, stuck):
            with pytest.raises(grpc.RpcError) as caught:
                next(call)
            failure = read_failure(caught.value)
            assert (failure.code, failure.reason) == (
                grpc.StatusCode.UNAVAILABLE,
                "SHUTTING_DOWN",
            )
            assert failure.retry_delay_ms


def test_stopping_does_not_wait_for_one_that_reads_nothing(open_wire):
    with (
        open_wire(grace_s=1000.0) as wire,
        grpc.insecure_channel(wire.server.address, NARROW) as channel,
    ):
        name = write_much(wire, 30)
        stuck = memory_service_pb2_grpc.MemoryServiceStub(channel)
        call = stuck.Watch(op.WatchRequest(collection=name, after_revision=0), timeout=30)
        next(call)
        wire.server.stop()
        call.cancel()


def test_deleted_collection_ends_its_watchers(wire, read_failure, fails):
    name = wire.collection()
    call = begun(wire, name)
    wire.admin.DeleteCollection(admin_pb.DeleteCollectionRequest(name=name))
    with pytest.raises(grpc.RpcError) as caught:
        next(call)
    assert read_failure(caught.value).reason == "COLLECTION_NOT_FOUND"
    assert fails(wire.memory.Watch, op.WatchRequest(collection=name)).reason == (
        "COLLECTION_NOT_FOUND"
    )


def test_deadline_of_the_caller(wire, read_failure):
    call = wire.memory.Watch(op.WatchRequest(), timeout=0.1)
    with pytest.raises(grpc.RpcError) as caught:
        for _ in call:
            pass
    assert read_failure(caught.value).code is grpc.StatusCode.DEADLINE_EXCEEDED


# -- On an engine that does what it is told


def info(revision: int) -> OperationInfo:
    return OperationInfo(revision, f"op_{revision}", "anna", "Remember", "", 1_000_000)


def memory(number: int, content: str = "Words.") -> Memory:
    """A memory as the engine gives it."""
    return Memory(
        row=number,
        id=f"mem_{number}",
        content=content,
        content_hash=b"h",
        vector=b"",
        agent_id="anna",
        fields=Fields(),
        created_us=1_000_000,
        updated_us=1_000_000,
        status=Status.ACTIVE,
        superseded_by="",
        revision=1,
    )


class Script:
    """An engine's changes: what each read answers, and then nothing more."""

    def __init__(self, *reads) -> None:
        self.reads = list(reads)
        self.waits: list[Future[int]] = []

    def __call__(self, name, *_, **__):
        if name == "read":
            return self.reads.pop(0)
        if name == "await_change":
            future: Future[int] = Future()
            if self.reads:
                future.set_result(1)
            self.waits.append(future)
            return future
        raise KeyError(name)


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (errors.Corruption("CORRUPT_ROW", "bad"), grpc.StatusCode.DATA_LOSS, "CORRUPT_ROW"),
        (RuntimeError("inside"), grpc.StatusCode.INTERNAL, "INTERNAL"),
    ],
)
def test_errors_in_the_middle_are_typed(fake, read_failure, error, code, reason):
    first = Changes(1, (Change(info(1), (MemoryChange(ChangeType.CREATED, "m", None),), ()),))
    fake.engine.behave = Script(first, error)
    call = watch(fake, after_revision=0)
    assert next(call).revision == 1
    with pytest.raises(grpc.RpcError) as caught:
        next(call)
    failure = read_failure(caught.value)
    assert (failure.code, failure.reason) == (code, reason)


def test_dropped_wait_is_a_shutdown(fake, read_failure):
    script = fake.engine.behave = Script(Changes(0, ()))
    call = watch(fake, after_revision=0)
    next(call)
    script.waits[0].cancel()
    with pytest.raises(grpc.RpcError) as caught:
        next(call)
    assert read_failure(caught.value).reason == "SHUTTING_DOWN"


def test_cancelled_call_takes_its_wait_back(fake):
    script = fake.engine.behave = Script(Changes(0, ()))
    call = watch(fake, after_revision=0)
    next(call)
    cancelled = threading.Event()
    script.waits[0].add_done_callback(lambda _: cancelled.set())
    call.cancel()
    assert cancelled.wait(wait_s())
    assert script.waits[0].cancelled()


def test_large_change_comes_in_parts_of_which_the_last_counts(fake, monkeypatch):
    monkeypatch.setattr(
        watching, "changes_to_wire", lambda one, after: changes_to_wire(one, after, 4_000)
    )
    memories = tuple(
        MemoryChange(ChangeType.CREATED, f"mem_{number}", memory(number, "word " * 300))
        for number in range(5)
    )
    links = tuple(
        LinkChange(f"mem_{number}", Link("mem_0", LinkType.RELATED, 0.5), False)
        for number in range(1, 100)
    )
    fake.engine.behave = Script(Changes(7, (Change(info(7), memories, links),)))
    call = watch(fake, after_revision=4)
    parts = [next(call)]
    while parts[-1].revision != 7:
        parts.append(next(call))
    call.cancel()
    assert len(parts) > 3 and {part.revision for part in parts[:-1]} == {4}
    assert all(part.change.operation.operation_id == "op_7" for part in parts)
    assert all(part.ByteSize() < 4_500 for part in parts)
    assert [m.memory_id for part in parts for m in part.change.memories] == [
        change.memory_id for change in memories
    ]
    assert [m.source_id for part in parts for m in part.change.links] == [
        change.source_id for change in links
    ]


def test_change_without_memories_is_one_message():
    (only,) = changes_to_wire(Change(info(3), (), ()), 1)
    assert (only.revision, only.change.operation.revision) == (3, 3)


def test_default_is_from_the_newest(fake):
    def behave(name, *args, **_):
        if name == "get_collection":
            return CollectionInfo(**{"revision": 12} | _SETTINGS)
        if name == "await_change":
            return Future()
        assert args[1].after_revision == 12
        return Changes(12, ())

    fake.engine.behave = behave
    call = watch(fake)
    assert next(call).revision == 12
    call.cancel()


_SETTINGS = {
    "name": "default",
    "description": "",
    "guard": None,
    "diversity": None,
    "decay": None,
    "model": None,
    "created_us": 0,
    "settings_revision": 0,
}
