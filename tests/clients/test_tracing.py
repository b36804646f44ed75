"""Spans of both clients: their names, attributes and parents, and what they never hold."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode

from support.collector import collecting
from support.mutating import Requests, methods
from support.scripted import answering, fail, failing, scripted
from support.waits import wait_s
from totonoe import AsyncClient, Client, Draft, errors
from totonoe.call import tracing
from totonoe.call.tracing import CONTENT_VARIABLE, operation_of
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import types_pb2
from totonoe_server.tools.testing import running_server

CANARY = "the quince jam of Zanzibar"
PAGE = Path(__file__).parents[2] / "docs" / "client.md"
SAVED = pb.RememberResponse(saved=True, verdict=types_pb2.VERDICT_UPDATE, memory_id="mem_1")
Spans = Callable[[], list[ReadableSpan]]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    """The application has a tracer provider; gives the spans that have ended."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.delenv(CONTENT_VARIABLE, raising=False)
    return lambda: list(exporter.get_finished_spans())


def said(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def sampled(traceparent: str) -> bool:
    """The lowest bit of the flags says so."""
    return bool(int(traceparent[-2:], 16) & 1)


def parent_of(context: Any) -> str:
    """The caller's span, as a call of a scripted server got it."""
    carried = dict(context.invocation_metadata()).get("traceparent", "")
    return str(carried)


def test_span_of_a_remember_names_operation_store_server_and_outcome(call: Any, spans: Any) -> None:
    with scripted(Remember=answering(SAVED)) as address:
        call(address, "remember", CANARY, collection="notes", tags=[CANARY])
    (span,) = spans()
    host, port = address.split(":")
    assert (span.name, span.kind, span.parent) == ("upsert_memory", SpanKind.CLIENT, None)
    assert said(span) == {
        "gen_ai.operation.name": "upsert_memory",
        "gen_ai.provider.name": "totonoe",
        "gen_ai.memory.store.id": "notes",
        "gen_ai.memory.record.count": 1,
        "rpc.system.name": "grpc",
        "rpc.method": "totonoe.v1.MemoryService/Remember",
        "server.address": host,
        "server.port": int(port),
        "totonoe.saved": True,
        "totonoe.verdict": "update",
    }
    assert span.status.status_code is StatusCode.UNSET
    assert (span.instrumentation_scope.name, span.events) == ("totonoe", ())


def test_span_of_a_recall_counts_what_it_returned(call: Any, spans: Any) -> None:
    hits = [pb.Hit(memory=types_pb2.Memory(id=f"mem_{n}", content=CANARY)) for n in range(3)]
    with scripted(Recall=answering(pb.RecallResponse(hits=hits))) as address:
        call(address, "recall", CANARY)
    (span,) = spans()
    assert span.name == "search_memory"
    assert said(span)["gen_ai.memory.record.count"] == 3
    assert said(span)["gen_ai.memory.store.id"] == "default"
    assert CANARY not in span.to_json()
    with scripted(Recall=answering(pb.RecallResponse())) as address:
        call(address, "recall", CANARY)
    assert said(spans()[1])["gen_ai.memory.record.count"] == 0


def test_span_below_the_applications_own_is_the_parent_of_the_daemons(
    call: Any, spans: Any
) -> None:
    carried: list[str] = []

    def remember(_: Any, context: Any) -> Any:
        carried.append(parent_of(context))
        return SAVED

    tracer = trace.get_tracer("app")
    with scripted(Remember=remember) as address, tracer.start_as_current_span("turn") as turn:
        call(address, "remember", "tea")
    span, own = spans()
    assert (own.name, span.parent.span_id) == ("turn", turn.get_span_context().span_id)
    context = span.context
    assert carried[0].startswith(f"00-{context.trace_id:032x}-{context.span_id:016x}-")
    assert sampled(carried[0])


def test_retries_are_one_span_that_counts_them(call: Any, spans: Any) -> None:
    carried: list[str] = []

    def remember(_: Any, context: Any) -> Any:
        carried.append(parent_of(context))
        if len(carried) < 3:
            fail(context, "UNAVAILABLE", "OVERLOADED", retry_delay_s=0.0)
        return SAVED

    with scripted(Remember=remember) as address:
        call(address, "remember", "tea")
    (span,) = spans()
    assert said(span)["totonoe.retry_count"] == 2
    assert len(carried) == 3
    assert len(set(carried)) == 1


def test_failed_call_has_its_reason_and_not_its_message(call: Any, spans: Any) -> None:
    broken = failing("INTERNAL", "INTERNAL", metadata={"got": CANARY})
    with scripted(Get=broken) as address, pytest.raises(errors.Internal):
        call(address, "get", "mem_0123456789abcdef")
    (span,) = spans()
    assert (span.name, said(span)["error.type"]) == ("get_memory", "INTERNAL")
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert span.events == ()
    assert "because" not in span.to_json()
    assert CANARY not in span.to_json()


def test_daemon_that_is_not_there_is_the_code(call: Any, spans: Any) -> None:
    with scripted() as address:
        pass
    with pytest.raises(errors.Unreachable):
        call(address, "recall", "tea")
    (span,) = spans()
    assert (said(span)["error.type"], said(span)["totonoe.retry_count"]) == ("UNAVAILABLE", 3)


def test_cancelled_task_ends_its_span(spans: Any) -> None:
    asked, answer = threading.Event(), threading.Event()

    async def run(address: str) -> None:
        async with AsyncClient(address) as client:
            task = asyncio.create_task(client.recall("tea"))
            await asyncio.to_thread(asked.wait, wait_s())
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        answer.set()

    def recall(_: Any, _context: Any) -> Any:
        asked.set()
        answer.wait(wait_s())
        return pb.RecallResponse()

    with scripted(Recall=recall) as address:
        asyncio.run(run(address))
    (span,) = spans()
    assert said(span)["error.type"] == "CancelledError"


class Canaries(Requests):
    """Messages whose every text, bytes and name is the canary."""

    def _likelihood(self, field: FieldDescriptor) -> float:
        return 0.9 if field.type == FieldDescriptor.TYPE_STRING else 0.5

    def _value(self, field: FieldDescriptor, depth: int) -> Any:
        if field.type == FieldDescriptor.TYPE_STRING:
            return CANARY
        return super()._value(field, depth)


def test_canary_in_requests_answers_and_errors_of_all_rpcs_is_in_no_span(spans: Any) -> None:
    for seed in range(3):
        messages = Canaries(seed, {})
        for method in methods():
            request = messages._message(method.input_type, 0)
            with (
                pytest.raises(errors.Internal),
                tracing.begin(request, f"unix:/{seed}", CANARY) as span,
            ):
                span.answered(messages._message(method.output_type, 0))
                span.settled(True)
                raise errors.Internal(CANARY, reason="INTERNAL", details={"got": CANARY})
    assert len(spans()) == 3 * len(methods())
    assert not [span.name for span in spans() if CANARY in span.to_json()]


def test_wrong_collection_is_not_shown(call: Any, spans: Any) -> None:
    with scripted(Remember=answering(SAVED)) as address:
        call(address, "remember", "tea", collection=CANARY)
    (span,) = spans()
    assert "gen_ai.memory.store.id" not in said(span)


def test_unix_socket_is_the_server(call: Any, spans: Any, tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s"
    with scripted(address, Remember=answering(SAVED)):
        call(address, "remember", "tea")
    (span,) = spans()
    assert said(span)["server.address"] == f"{tmp_path}/s"
    assert "server.port" not in said(span)


@pytest.mark.parametrize(
    ("value", "shown"),
    [("", False), ("false", False), ("EVENT_ONLY", False), ("true", True), ("SPAN_ONLY", True)],
)
def test_texts_are_shown_only_where_the_variable_asks(
    spans: Any, monkeypatch: pytest.MonkeyPatch, value: str, shown: bool
) -> None:
    monkeypatch.setenv(CONTENT_VARIABLE, value)
    hit = pb.Hit(memory=types_pb2.Memory(id="mem_1", content="The jam is red."))
    with (
        scripted(
            Remember=answering(SAVED), Recall=answering(pb.RecallResponse(hits=[hit]))
        ) as address,
        Client(address) as client,
    ):
        client.remember(CANARY)
        client.recall("which jam")
    remembered, recalled = map(said, spans())
    assert (CANARY in str(remembered)) is shown
    if shown:
        assert remembered["gen_ai.memory.records"] == f'[{{"content": "{CANARY}"}}]'
        assert recalled["gen_ai.memory.query.text"] == "which jam"
        assert (
            recalled["gen_ai.memory.records"] == '[{"content": "The jam is red.", "id": "mem_1"}]'
        )
    else:
        assert "which jam" not in str(recalled)
        assert "The jam is red." not in str(recalled)


def test_stream_is_one_span_that_counts_its_items(call: Any, spans: Any) -> None:
    with running_server() as server:
        items = ["The port is 8080.", Draft("?", importance=9), "The  port is 8080.", CANARY]
        call(server.address, "remember_many", items, collection="default")
    (span,) = spans()
    assert span.name == "upsert_memory"
    assert said(span)["rpc.method"] == "totonoe.v1.MemoryService/RememberMany"
    assert said(span)["gen_ai.memory.record.count"] == 4
    assert said(span)["totonoe.saved_count"] == 2
    assert CANARY not in span.to_json()


def test_stream_that_is_left_has_ended_without_an_error(spans: Any) -> None:
    with running_server() as server, server.client() as client:
        client.remember("tea")
        with client.watch(after_revision=0) as watching:
            next(watching)
        with client.export() as lines:
            next(lines)

        async def leave() -> None:
            async with AsyncClient(server.address) as again:
                stream = again.watch(after_revision=0)
                await anext(stream)
                await stream.aclose()
                exported = again.export()
                await anext(exported)
                await exported.aclose()

        asyncio.run(leave())
    names = [span.name for span in spans()]
    assert names == ["upsert_memory", *["watch_memory", "export_memory"] * 2]
    assert all(span.status.status_code is StatusCode.UNSET for span in spans())


def test_stream_that_fails_has_its_reason(call: Any, spans: Any) -> None:
    broken = failing("OUT_OF_RANGE", "REVISION_OUT_OF_RANGE")
    with scripted(Watch=broken) as address, pytest.raises(errors.OutOfRange):
        call(address, "watch", after_revision=9)
    (span,) = spans()
    assert (span.name, said(span)["error.type"]) == ("watch_memory", "REVISION_OUT_OF_RANGE")


def test_import_is_one_span(call: Any, spans: Any) -> None:
    with running_server() as server, pytest.raises(errors.InvalidArgument):
        call(server.address, "import_file", [b"no line of an export\n"])
    (span,) = spans()
    assert (span.name, said(span)["error.type"]) == ("upsert_memory", "BAD_IMPORT")


def test_trace_goes_from_the_application_through_the_client_to_the_daemons_stages(
    call: Any, spans: Any
) -> None:
    tracer = trace.get_tracer("app")
    with collecting() as collector, running_server(tracing_endpoint=collector.endpoint) as server:
        with tracer.start_as_current_span("turn"):
            call(server.address, "remember", "The port is 8080.")
        (served,) = collector.wait_for(1)
        client, turn = spans()
        assert served.parent_span_id == client.context.span_id.to_bytes(8, "big")
        ids = {span.trace_id for span in [served, *collector.below(served)]}
        assert ids == {turn.context.trace_id.to_bytes(16, "big")}
        assert len(collector.below(served)) == 6
        assert client.start_time <= served.start_time_unix_nano


def test_client_without_a_provider_makes_no_span_and_sends_no_parent(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried: list[str] = []

    def remember(_: Any, context: Any) -> Any:
        carried.append(parent_of(context))
        return SAVED

    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    with scripted(Remember=remember) as address:
        call(address, "remember", "tea")
        monkeypatch.delitem(sys.modules, "opentelemetry.trace")
        call(address, "remember", "tea")
    assert carried == ["", ""]


def test_provider_that_samples_nothing_gets_no_attributes_and_says_so_to_the_daemon(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried: list[str] = []

    def remember(_: Any, context: Any) -> Any:
        carried.append(parent_of(context))
        return SAVED

    monkeypatch.setattr(
        trace, "_TRACER_PROVIDER", TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    )
    monkeypatch.setattr(tracing, "_record_count", lambda *_: pytest.fail("it is for nobody"))
    with scripted(Remember=remember) as address:
        call(address, "remember", "tea")
    assert [sampled(text) for text in carried] == [False]


def test_client_loads_no_package_for_spans() -> None:
    code = (
        "import sys, totonoe, totonoe.aio, totonoe.client, totonoe.cli.main\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=wait_s()
    )
    assert done.stdout == "[]\n"


def test_every_method_has_an_operation_in_the_docs() -> None:
    # The calls on a Multiplex stream have spans; it has none.
    names = {operation_of(method.name) for method in methods() if method.name != "Multiplex"}
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)+", name) for name in names)
    page = PAGE.read_text("utf-8")
    assert {name for name in names if f"`{name}`" not in page} == set()
