"""Export and Import over the wire."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import grpc
import pytest

from support.transfers import file_of, objects, records
from support.waits import wait_s
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as memory_pb
from totonoe.v1 import operations_pb2, types_pb2
from totonoe.v1 import transfer_pb2 as pb
from totonoe_core.base import limits
from totonoe_core.domain.transfer import ExportChunk, ImportProgress

Failure = Wire = Any
TEXTS = ("Zanzibar is an island.", "The pump is hot.", "Ada likes tea.")


@pytest.fixture(name="collection")
def _collection(wire: Wire) -> str:
    name: str = wire.collection(description="a place")
    for number, text in enumerate(TEXTS):
        wire.remember(text, name, external_id=f"e{number}", agent_id="anna")
    return name


def export(wire: Wire, collection: str, **more: Any) -> bytes:
    request = pb.ExportRequest(collection=collection, **({"agent_id": "anna"} | more))
    return b"".join(item.data for item in wire.admin.Export(request, timeout=30))


def start(collection: str, **more: Any) -> pb.ImportRequest:
    values: dict[str, Any] = {"collection": collection, "agent_id": "anna"} | more
    return pb.ImportRequest(start=pb.ImportStart(**values))


def pieces(data: bytes, size: int = 1000) -> Iterator[pb.ImportRequest]:
    for at in range(0, len(data), size):
        yield pb.ImportRequest(data=data[at : at + size], last=at + size >= len(data))


def import_(wire: Wire, collection: str, data: bytes, **more: Any) -> list[pb.ImportResponse]:
    requests = [start(collection, **more), *pieces(data)]
    return list(wire.admin.Import(iter(requests), timeout=30))


@pytest.mark.both_stores
def test_export_and_import_as_is_over_the_wire(wire: Wire, collection: str) -> None:
    request = pb.ExportRequest(collection=collection, agent_id="anna", include_vectors=True)
    messages = list(wire.admin.Export(request, timeout=30))
    data = b"".join(message.data for message in messages)
    assert {message.revision for message in messages} == {3}
    assert (messages[-1].record_count, messages[-1].memory_count) == (len(records(data)), 3)
    other = wire.collection()
    answers = import_(wire, other, data, as_is=True, operation_id="once")
    assert [response.done for response in answers] == [False] * (len(answers) - 1) + [True]
    assert {response.operation_id for response in answers} == {"once"}
    last = answers[-1]
    assert (last.saved_count, last.operation_count, last.vectors_used) == (3, 1, True)
    assert (last.header.collection, last.header.revision) == (collection, 3)
    assert last.header.HasField("time")
    assert records(export(wire, other, include_vectors=True)) == records(data)
    found = wire.admin.GetCollection(admin_pb.GetCollectionRequest(name=other))
    assert found.collection.description == "a place"
    undone = wire.memory.Undo(
        operations_pb2.UndoRequest(
            collection=other, agent_id="anna", target_operation_id="once/1", dry_run=True
        )
    )
    assert undone.operation.kind == "Import"
    assert len(undone.memories) == 3


def test_export_of_some_statuses(wire: Wire, collection: str) -> None:
    one = wire.memory.List(memory_pb.ListRequest(collection=collection)).memories[0]
    wire.memory.Forget(
        memory_pb.ForgetRequest(collection=collection, agent_id="anna", ids=[one.id])
    )
    data = export(wire, collection, statuses=[types_pb2.STATUS_FORGOTTEN])
    assert [line.get("id") for line in objects(data)[1:-1]] == [one.id]


def test_import_through_the_guard_tells_what_was_not_saved(wire: Wire, collection: str) -> None:
    lines = objects(export(wire, collection))
    lines[2]["importance"] = 9
    other = wire.collection()
    held = wire.remember(TEXTS[0], other, agent_id="anna").memory_id
    wire.remember("Something else.", other, external_id="e2")
    answers = import_(wire, other, file_of(lines))
    last = answers[-1]
    assert (last.done, last.saved_count, last.failed_count, last.existing_count) == (True, 0, 1, 1)
    assert dict(last.refused_counts) == {"exact": 1}
    items = {item.line: item for answer in answers for item in answer.items}
    assert (items[2].duplicate_of, items[2].method, items[2].similarity) == (held, "exact", 1.0)
    assert (items[3].error.reason, items[3].memory_id) == ("BAD_IMPORT", lines[2]["id"])
    assert items[3].error.details["field"] == "importance"
    assert items[4].error.reason == "EXTERNAL_ID_EXISTS"


@pytest.mark.parametrize("as_is", [False, True])
def test_import_of_a_cut_file_is_bad(
    wire: Wire, collection: str, fails: Callable[..., Failure], as_is: bool
) -> None:
    data = export(wire, collection)
    requests = [start(wire.collection(), as_is=as_is), *pieces(data[:-100])]
    failure = fails(wire.admin.Import, iter(requests))
    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_IMPORT")
    assert failure.details["field"] in ("line", "record")
    assert failure.details["line"] == str(len(objects(data)))
    assert TEXTS[0] not in failure.message


def test_import_that_stops_without_its_last_piece_is_cut(
    wire: Wire, collection: str, fails: Callable[..., Failure]
) -> None:
    data = export(wire, collection)
    other = wire.collection()
    failure = fails(
        wire.admin.Import, iter([start(other, as_is=True), pb.ImportRequest(data=data[:-10])])
    )
    assert failure.reason == "BAD_IMPORT"
    listed = wire.memory.List(memory_pb.ListRequest(collection=other, agent_id="anna"))
    assert list(listed.memories) == []


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([pb.ImportRequest(data=b"x")], "MISSING_FIELD"),
        ([start("", operation_id="x" * 120)], "LIMIT_EXCEEDED"),
        ([start("nowhere")], "COLLECTION_NOT_FOUND"),
        ([start(""), start("")], "MISSING_FIELD"),
        ([start(""), pb.ImportRequest(data=b"x" * (limits.IMPORT_CHUNK_BYTES_MAX + 1))],
         "LIMIT_EXCEEDED"),
        ([start(""), pb.ImportRequest(data=b"{}\n")], "BAD_IMPORT"),
    ],
)  # fmt: skip
def test_import_messages_that_cannot_be(
    wire: Wire, fails: Callable[..., Failure], messages: list[Any], reason: str
) -> None:
    assert fails(wire.admin.Import, iter(messages)).reason == reason


def test_import_of_nothing_ends(wire: Wire) -> None:
    assert list(wire.admin.Import(iter(()), timeout=30)) == []


def test_export_of_what_is_not_there(wire: Wire, fails: Callable[..., Failure]) -> None:
    assert fails(wire.admin.Export, pb.ExportRequest(collection="nowhere")).reason == (
        "COLLECTION_NOT_FOUND"
    )
    request = pb.ExportRequest(statuses=[types_pb2.STATUS_UNSPECIFIED])
    assert fails(wire.admin.Export, request).reason == "UNKNOWN_ENUM"


class Held:
    """An export or import that answers once, then waits for ever."""

    def __init__(self) -> None:
        self.left = threading.Event()
        self.waiting = threading.Event()
        self._first = True

    def read(self) -> Future[Any]:
        return self._answer(ExportChunk(1, b"{}\n", 0, 0))

    def feed(self, data: bytes, last: bool) -> Future[Any]:
        assert not last, data
        return self._answer(ImportProgress(1, "op"))

    def _answer(self, first: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self._first:
            self._first = False
            future.set_result(first)
        else:
            self.waiting.set()
        return future

    def leave(self) -> None:
        self.left.set()


@pytest.fixture(params=["Export", "Import"])
def held(request: pytest.FixtureRequest, open_fake: Callable[..., Any]) -> Iterator[Any]:
    """A stream that got its first answer, and the engine's side of it, which waits."""
    with open_fake() as wire:
        one, hold = Held(), threading.Event()
        wire.engine.behave = lambda *_: one

        def requests() -> Iterator[pb.ImportRequest]:
            yield from (start(""), pb.ImportRequest(data=b"x"))
            hold.wait(wait_s())

        if request.param == "Export":
            call = wire.admin.Export(pb.ExportRequest(), timeout=30)
        else:
            call = wire.admin.Import(requests(), timeout=30)
        next(call)
        assert one.waiting.wait(wait_s())
        yield wire, call, one
        hold.set()


def test_stream_that_is_cancelled_is_left(held: Any) -> None:
    _, call, one = held
    call.cancel()
    assert one.left.wait(wait_s())


def test_stream_ends_when_the_daemon_stops(held: Any, read_failure: Callable[..., Failure]) -> None:
    wire, call, one = held
    stopping = threading.Thread(target=wire.server.stop)
    stopping.start()
    with pytest.raises(grpc.RpcError) as caught:
        next(call)
    stopping.join(wait_s())
    assert read_failure(caught.value).reason == "SHUTTING_DOWN"
    assert one.left.is_set()
