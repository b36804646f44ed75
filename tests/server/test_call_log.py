"""The line of each call; no text, agent or made-up id is in it, nor in an error, metric or span."""

from __future__ import annotations

import http.client
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor

from support.collector import Collector, collecting
from support.items import check_item
from support.mutating import Requests, methods
from support.waits import wait_s, wait_until
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_server.life.call_log import CallLog

CANARY = "the quince jam of Zanzibar"
SENT = (
    ("x-request-id", CANARY),
    ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("tracestate", f"vendor={CANARY}"),
    ("baggage", f"text={CANARY}"),
)
"""Metadata of each call. All of it comes from the caller, and may hold any text."""
CALL_S = 20.0
WATCH_S = 0.3
FIELDS = ("code", "reason", "ms", "identity", "collection", "revision", "request_id", "method")


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The records of calls so far."""
    said = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    return [entry for entry in said if entry.get("event") == "call"]


@pytest.fixture
def logged(
    open_wire: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> Iterator[tuple[Any, Any]]:
    """A daemon that logs each call, and its lines."""
    caplog.set_level(logging.INFO)
    with open_wire(log_calls="info", metrics_address="0") as wire:
        yield wire, lambda: lines(caplog)


def test_each_call_leaves_one_line(logged: Any, fails: Any) -> None:
    wire, said = logged
    answer = wire.remember("The port is 8080.", "default", agent_id="ann")
    fails(wire.memory.Get, pb.GetRequest(ids=["mem_0000000000000000"]))
    stream = wire.memory.RememberMany(
        iter([pb.RememberManyRequest(items=[{"memory": {"content": "Tea."}}])] * 2), timeout=30
    )
    assert len(list(stream)) == 2
    wait_until(lambda: len(said()) == 3)
    saved, missing, bulk = said()
    assert all(set(FIELDS) <= set(line) for line in said())
    assert (saved["method"], saved["code"], saved["reason"]) == ("Remember", "OK", "")
    assert (saved["collection"], saved["revision"]) == ("default", answer.revision)
    assert saved["identity"] == ""
    assert (missing["code"], missing["reason"]) == ("NOT_FOUND", "MEMORY_NOT_FOUND")
    assert (bulk["method"], bulk["collection"]) == ("RememberMany", "default")
    assert len({line["request_id"] for line in said()}) == 3
    assert saved["ms"] > 0


def test_caller_may_name_its_call_by_metadata(logged: Any) -> None:
    wire, said = logged
    for name in ("job-7", CANARY):
        wire.memory.Recall(pb.RecallRequest(text="x"), metadata=(("x-request-id", name),))
    wait_until(lambda: len(said()) == 2)
    assert said()[0]["request_id"] == "job-7"
    assert CANARY not in str(said())


@pytest.mark.parametrize(
    ("level", "root", "wanted"),
    [("debug", "INFO", False), ("info", "INFO", True), ("error", "WARNING", True)],
)
def test_lines_are_made_only_where_they_are_logged(
    caplog: pytest.LogCaptureFixture, level: str, root: str, wanted: bool
) -> None:
    caplog.set_level(root)
    assert CallLog(level).wanted() is wanted


class Canaries(Requests):
    """Requests whose every text is the canary; `known` has what must be right to get far."""

    def _likelihood(self, field: FieldDescriptor) -> float:
        return 0.9 if field.type == FieldDescriptor.TYPE_STRING else super()._likelihood(field)

    def _value(self, field: FieldDescriptor, depth: int) -> Any:
        if field.type == FieldDescriptor.TYPE_STRING:
            # The keys of maps are ids of memories.
            keyed = field.containing_type.GetOptions().map_entry and field.number == 1
            return self.draw.choice(self.known.get("ids" if keyed else field.name, [CANARY]))
        if field.type == FieldDescriptor.TYPE_BYTES and self.draw.random() < 0.5:
            return CANARY.encode()
        return super()._value(field, depth)


def ask(wire: Any, method: MethodDescriptor, data: bytes) -> str:
    """The status of a call with all that it says, empty if it is OK."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    more = {"timeout": WATCH_S if method.name == "Watch" else CALL_S, "metadata": SENT}
    try:
        if method.client_streaming:
            stream = wire.channel.stream_stream(path)(iter([data]), **more)
        elif method.server_streaming:
            stream = wire.channel.unary_stream(path)(data, **more)
        else:
            wire.channel.unary_unary(path)(data, **more)
            return ""
        for _, message in zip(range(5), stream, strict=False):
            check_item(method, message)
        stream.cancel()
    except grpc.RpcError as error:
        return f"{error.details()} {error.trailing_metadata()}"
    return ""


def known_of(wire: Any) -> dict[str, list[Any]]:
    """Names and ids that are right, of a collection whose memories are canaries."""
    collection = wire.collection()
    ids = [
        wire.remember(f"{CANARY} {word}", collection, agent_id="ann").memory_id
        for word in ("is red", "has 7 jars", "was sold in May")
    ]
    of_memories = (
        *("memory_id", "ids", "id", "id_a", "id_b", "source_id", "target_id", "keep_id"),
        *("remove_ids", "supersede_ids", "distinct_from", "memory_ids", "evidence_ids"),
        "other_id",
    )
    return {
        **dict.fromkeys(of_memories, ids),
        **{name: [""] for name in ("page_token", "operation_id", "confirmation_token")},
        # Of a name and of an id that is wrong, an error says which it was.
        "name": [collection, "another"],
        "snapshot_id": ["snap_0123456789abcdef"],
        "target_operation_id": ["op_0123456789abcdef"],
        "collection": [collection],
        "agent_id": ["ann"],
        "paths": ["content", "importance"],
    }


def metrics_of(wire: Any) -> str:
    with closing(
        http.client.HTTPConnection(wire.server.metrics_address, timeout=wait_s())
    ) as connection:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()


def everything(caplog: pytest.LogCaptureFixture) -> str:
    """All that was logged, by whomever, with what is attached to it."""
    return "\n".join(
        f"{record.getMessage()} {record.msg} {record.args} {record.exc_info} {record.exc_text}"
        for record in caplog.records
    )


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Who takes the spans."""
    with collecting() as made:
        yield made


def untouched(collector: Collector, *names: str) -> None:
    """A span of each call came, and the canary in none: names, attributes, events, status."""
    assert {span.name.partition("/")[2] for span in collector.calls()} >= set(names)
    assert CANARY.encode() not in collector.raw


def test_canary_in_the_texts_of_all_rpcs_is_in_no_log_error_metric_or_trace(
    open_wire: Callable[..., Any], caplog: pytest.LogCaptureFixture, collector: Collector
) -> None:
    caplog.set_level(logging.DEBUG)
    ended: dict[str, set[bool]] = {}
    with open_wire(
        log_calls="info",
        log_level="debug",
        metrics_address="0",
        tracing_endpoint=collector.endpoint,
    ) as wire:
        for seed in range(3):
            requests = Canaries(seed, known_of(wire))
            for method in methods():
                if seed and method.name == "Calibrate":
                    continue  # it takes seconds, each time
                said = ask(wire, method, requests.request(method).SerializeToString())
                assert CANARY not in said, (method.name, said)
                ended.setdefault(method.name, set()).add(not said)
        assert CANARY not in metrics_of(wire)
        names = {descriptor.name for descriptor in methods()}
        wait_until(lambda: {line["method"] for line in lines(caplog)} == names)
        wait_until(lambda: len({span.name for span in collector.calls()}) == len(names))
    assert CANARY not in everything(caplog)
    untouched(collector, *names)
    assert {"queue", "decide", "embed", "commit", "read"} <= {span.name for span in collector.spans}
    assert sum(True in how for how in ended.values()) > len(ended) / 2


def test_canary_in_every_field_and_in_broken_messages_is_in_no_log_metric_or_trace(
    open_wire: Callable[..., Any], caplog: pytest.LogCaptureFixture, collector: Collector
) -> None:
    """An error may name an id or a name that its caller gave; nothing else repeats it."""
    caplog.set_level(logging.DEBUG)
    with open_wire(
        log_calls="info", metrics_address="0", tracing_endpoint=collector.endpoint
    ) as wire:
        requests = Canaries(1, {})
        for method in methods():
            ask(wire, method, requests.request(method).SerializeToString())
            ask(wire, method, requests.damaged(requests.request(method)))
            ask(wire, method, CANARY.encode())
        assert CANARY not in metrics_of(wire)
        names = {descriptor.name for descriptor in methods()}
        wait_until(lambda: len({span.name for span in collector.calls()}) == len(names))
    assert CANARY not in everything(caplog)
    untouched(collector, *names)


def test_canary_in_a_bug_of_any_call_is_in_no_log_error_metric_or_trace(
    open_fake: Callable[..., Any], caplog: pytest.LogCaptureFixture, collector: Collector
) -> None:
    caplog.set_level(logging.DEBUG)
    with open_fake(log_calls="info", tracing_endpoint=collector.endpoint) as fake:
        requests = Canaries(2, {})
        fake.engine.behave = lambda *_, **__: KeyError(CANARY)
        for method in methods():
            said = ask(fake, method, b"")
            assert CANARY not in said
            requests.wild = 0.0
        names = {descriptor.name for descriptor in methods()}
        wait_until(lambda: len({span.name for span in collector.calls()}) == len(names))
    assert CANARY not in everything(caplog)
    untouched(collector, *names)
    assert sum(line["reason"] == "INTERNAL" for line in lines(caplog)) > 10
