"""Spans of calls, as a collector gets them: shape, times, parents; faults of the collector."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace.export import SpanExportResult

from support.collector import Collector, attributes_of, collecting
from support.engines import vector_at, vector_of
from support.judges import ChatServer
from support.waits import wait_s, wait_until
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import questions_pb2
from totonoe_core.base import limits
from totonoe_server.life import config, tracing
from totonoe_server.life.daemon import StartupError
from totonoe_server.life.tracing import Tracing
from totonoe_server.tools.testing import running_server

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
WRITTEN = ["queue", "decide", "embed", "queue", "decide", "commit"]
CALLS_AT_ONCE = 8
DIMENSION = 384


@pytest.fixture(scope="module")
def traced(open_wire: Callable[..., Any]) -> Iterator[tuple[Any, Collector]]:
    """A daemon that sends its spans, and who takes them."""
    with collecting() as collector, open_wire(tracing_endpoint=collector.endpoint) as wire:
        yield wire, collector


@pytest.fixture
def spans(traced: tuple[Any, Collector]) -> Callable[..., list[Span]]:
    """Makes a call; returns the span of the call, and those below it."""
    _, collector = traced

    def of(method: str, work: Callable[[], Any], count: int = 1) -> list[Span]:
        before = len(collector.calls(method))
        work()
        span = collector.wait_for(before + count, method)[-1]
        return [span, *collector.below(span)]

    return of


def holds(parent: Span, children: list[Span]) -> None:
    """The parent lasts from before the first child until after the last; they are its own."""
    for child in children:
        assert child.trace_id == parent.trace_id
        assert parent.start_time_unix_nano <= child.start_time_unix_nano
        assert child.start_time_unix_nano <= child.end_time_unix_nano
        assert child.end_time_unix_nano <= parent.end_time_unix_nano


def test_new_memory_is_embedded_between_two_decisions(traced: Any, spans: Any) -> None:
    wire, collector = traced
    name = wire.collection()
    call, *stages = spans("Remember", lambda: wire.remember("The port is 8080.", name))
    assert call.name == "totonoe.v1.MemoryService/Remember"
    assert [stage.name for stage in stages] == WRITTEN
    assert [attributes_of(stage).get("totonoe.lacking") for stage in stages] == [
        *(None, "vector", None, None, None, None)
    ]
    assert attributes_of(stages[-1]) == {"totonoe.commit.operations": 1}
    said = attributes_of(call)
    assert said.pop("totonoe.request_id")
    assert said == {
        "rpc.system.name": "grpc",
        "rpc.method": "totonoe.v1.MemoryService/Remember",
        "rpc.response.status_code": "OK",
        "totonoe.collection": name,
        "totonoe.revision": 1,
    }
    assert (call.kind, call.parent_span_id) == (Span.SPAN_KIND_SERVER, b"")
    holds(call, stages)
    assert sum(stage.end_time_unix_nano - stage.start_time_unix_nano for stage in stages) <= (
        call.end_time_unix_nano - call.start_time_unix_nano
    )
    assert collector.resources[0]["service.name"] == "totonoe"


def test_refused_text_is_decided_once_and_not_embedded(traced: Any, spans: Any) -> None:
    wire, _ = traced
    name = wire.collection()
    wire.remember("The port is 8080.", name)
    call, *stages = spans("Remember", lambda: wire.remember("The port is  8080.", name), 2)
    assert [stage.name for stage in stages] == ["queue", "decide", "commit"]
    holds(call, stages)


def test_recall_embeds_its_text_and_reads(traced: Any, spans: Any) -> None:
    wire, _ = traced
    request = pb.RecallRequest(text="which port was it again")
    call, *stages = spans("Recall", lambda: wire.memory.Recall(request, timeout=30))
    assert [stage.name for stage in stages] == ["embed", "queue", "read"]
    holds(call, stages)
    # The same text has its vector now.
    _, *again = spans("Recall", lambda: wire.memory.Recall(request, timeout=30))
    assert [stage.name for stage in again] == ["queue", "read"]


def test_judge_is_a_stage_between_two_decisions() -> None:
    base, chat = vector_of("base", DIMENSION), ChatServer()
    judge = {"judge": "openai", "judge_url": chat.url, "judge_model": "small"}
    try:
        with (
            collecting() as collector,
            running_server(tracing_endpoint=collector.endpoint, **judge) as server,
            server.client() as client,
        ):
            client.remember("The neighbour has a loud dog", vector=base)
            client.remember("The neighbour has a loud puppy", vector=vector_at(base, 0.9))
            call = collector.wait_for(2)[-1]
            stages = collector.below(call)
    finally:
        chat.close()
    assert [stage.name for stage in stages] == [
        *("queue", "decide", "judge", "queue", "decide", "commit")
    ]
    assert attributes_of(stages[1]) == {"totonoe.lacking": "opinion"}
    holds(call, stages)


def test_error_of_the_caller_is_named_and_is_no_fault(traced: Any, spans: Any, fails: Any) -> None:
    wire, _ = traced
    request = pb.GetRequest(ids=["mem_0123456789abcdef"])
    call, *stages = spans("Get", lambda: fails(wire.memory.Get, request))
    said = attributes_of(call)
    assert said["rpc.response.status_code"] == "NOT_FOUND"
    assert said["totonoe.reason"] == "MEMORY_NOT_FOUND"
    assert "error.type" not in said
    assert call.status == Status()
    assert not call.events
    holds(call, stages)


def test_bug_is_an_error_without_words(open_fake: Any, fails: Any) -> None:
    with collecting() as collector, open_fake(tracing_endpoint=collector.endpoint) as fake:
        fails(fake.memory.Get, pb.GetRequest(ids=["mem_0123456789abcdef"]))
        (call,) = collector.wait_for(1)
    assert call.status == Status(code=Status.STATUS_CODE_ERROR)
    said = attributes_of(call)
    assert (said["error.type"], said["totonoe.reason"]) == ("INTERNAL", "INTERNAL")
    assert not call.events


def test_call_that_is_refused_at_the_door_has_a_span_without_stages(
    traced: Any, spans: Any, fails: Any
) -> None:
    wire, _ = traced
    raw = wire.channel.unary_unary("/totonoe.v1.MemoryService/Link")
    call, *stages = spans("Link", lambda: fails(raw, b"\xff\xff"))
    assert attributes_of(call)["totonoe.reason"] == "MALFORMED_MESSAGE"
    assert stages == []


def test_stream_is_one_span(traced: Any, spans: Any) -> None:
    wire, _ = traced
    message = pb.RememberManyRequest(items=[{"memory": {"content": "Tea."}}] * 3)
    call, *stages = spans(
        "RememberMany", lambda: list(wire.memory.RememberMany(iter([message] * 2), timeout=30))
    )
    assert stages == []
    assert attributes_of(call)["totonoe.collection"] == "default"


def test_calls_at_once_have_children_of_their_own(traced: Any) -> None:
    wire, collector = traced
    name = wire.collection()
    before = len(collector.calls("Remember"))
    threads = [
        threading.Thread(target=wire.remember, args=(f"Fact number {number}.", name))
        for number in range(CALLS_AT_ONCE)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(wait_s())
    calls = collector.wait_for(before + CALLS_AT_ONCE, "Remember")[before:]
    assert len({call.trace_id for call in calls}) == CALLS_AT_ONCE
    for call in calls:
        stages = collector.below(call)
        assert [stage.name for stage in stages] == WRITTEN
        holds(call, stages)


def test_caller_that_names_its_span_is_the_parent(traced: Any, spans: Any) -> None:
    wire, _ = traced
    sent = (("traceparent", f"00-{TRACE}-{SPAN}-01"), ("tracestate", "vendor=words"))
    call, *stages = spans(
        "List", lambda: wire.memory.List(pb.ListRequest(), timeout=30, metadata=sent)
    )
    assert (call.trace_id.hex(), call.parent_span_id.hex()) == (TRACE, SPAN)
    # A text that the caller made up; who sampled by it finds the flag in `traceparent`.
    assert call.trace_state == ""
    holds(call, stages)


def test_wrong_parent_is_none(traced: Any, spans: Any) -> None:
    wire, _ = traced
    sent = (("traceparent", f"00-{'0' * 32}-words-01"),)
    call, *_ = spans("List", lambda: wire.memory.List(pb.ListRequest(), timeout=30, metadata=sent))
    assert call.parent_span_id == b""


def test_call_that_its_caller_does_not_sample_has_no_span_and_no_stages(
    traced: Any, spans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire, collector = traced
    marked: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(tracing, "STAGES", type("Marked", (), {"set": marked.append}))
        unsampled = (("traceparent", f"00-{TRACE}-{SPAN}-00"),)
        wire.memory.ListQuestions(questions_pb2.ListQuestionsRequest(), metadata=unsampled)
    assert marked == []
    # A later one is sent after it would have been.
    spans("List", lambda: wire.memory.List(pb.ListRequest(), timeout=30))
    assert collector.calls("ListQuestions") == []


def test_log_and_span_name_the_call_alike(open_wire: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with (
        collecting() as collector,
        open_wire(tracing_endpoint=collector.endpoint, log_calls="info") as wire,
    ):
        wire.memory.List(pb.ListRequest(), metadata=(("x-request-id", "job-7"),))
        wire.memory.List(pb.ListRequest())
        calls = collector.wait_for(2)
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    logged = [line["request_id"] for line in lines if line["event"] == "call"]
    assert [attributes_of(call)["totonoe.request_id"] for call in calls] == logged
    assert logged[0] == "job-7"


def test_what_waits_is_sent_at_the_end(open_wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TRACE_DELAY_MS", 3_600_000)
    monkeypatch.setattr(limits, "TRACE_FLUSH_S_MAX", int(wait_s()))
    with collecting() as collector:
        with open_wire(tracing_endpoint=collector.endpoint) as wire:
            wire.memory.List(pb.ListRequest())
            assert collector.spans == []
        assert [span.name for span in collector.calls()] == ["totonoe.v1.MemoryService/List"]


def test_collector_that_is_down_fails_no_call_and_is_one_line(
    open_wire: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each batch that is not taken the spans are lost; the calls never hear of it."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(limits, "TRACE_DELAY_MS", 1)
    monkeypatch.setattr(limits, "TRACE_EXPORT_S_MAX", 1)
    monkeypatch.setattr(limits, "TRACE_QUEUE_SPANS_MAX", 4)
    monkeypatch.setattr(limits, "TRACE_BATCH_SPANS_MAX", 2)
    with collecting() as collector:
        endpoint = collector.endpoint
    with open_wire(tracing_endpoint=endpoint) as wire:
        for number in range(30):
            assert wire.remember(f"Fact number {number}.").saved
        wait_until(lambda: "traces are not taken" in caplog.text)
        assert wire.remember("The last fact.").saved
    said = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    lost = [line for line in said if line["event"] == "traces are not taken"]
    assert [line["endpoint"] for line in lost] == [endpoint]
    # Nothing of the packages' own, which would be a line for each try.
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]


def test_collector_that_comes_back_is_one_line_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    failed, taken = SpanExportResult.FAILURE, SpanExportResult.SUCCESS
    results = [failed, failed, taken, taken]
    exporter: Any = type("Exporter", (), {"export": lambda *_: results.pop(0)})()
    reported = tracing._Reported(exporter, "http://h:1")
    spans: Any = [object(), object()]
    assert [reported.export(spans) for _ in range(4)] == [failed, failed, taken, taken]
    said = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    assert [line["event"] for line in said] == ["traces are not taken", "traces are taken again"]
    assert said[1]["lost_spans"] == 4


def test_end_does_not_wait_for_a_collector_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The exporter hangs until it is shut down; `close` gives it its time, then ends it."""
    hanging = threading.Event()

    class Hanging:
        def __init__(self, **_: Any) -> None:
            self.ended = threading.Event()

        def export(self, _: Any) -> Any:
            hanging.set()
            self.ended.wait(wait_s())
            return SpanExportResult.FAILURE

        def shutdown(self) -> None:
            self.ended.set()

        def force_flush(self, _: int = 0) -> bool:
            return True

    monkeypatch.setattr(tracing, "OTLPSpanExporter", Hanging)
    monkeypatch.setattr(limits, "TRACE_FLUSH_S_MAX", 1)
    made = Tracing("http://h:1", "0")
    context = type("Context", (), {"invocation_metadata": lambda _: ()})()
    made.begin("/totonoe.v1.MemoryService/List", context).end("OK", "", "r", None, None)
    made.close()
    assert hanging.is_set()
    assert made._exporter._ended


def test_missing_packages_hinder_the_start_in_one_line_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "totonoe_server.life.tracing")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    line = "tracing_endpoint needs packages that are not installed: pip install 'totonoe[otel]'"
    with (
        pytest.raises(StartupError, match=f"^{re.escape(line)}$"),
        running_server(tracing_endpoint="http://127.0.0.1:1"),
    ):
        pass


def test_wrong_variable_of_opentelemetry_hinders_the_start_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "soon")
    with (
        pytest.raises(StartupError, match=r"^Cannot send traces to http://127.0.0.1:1: .*'soon'$"),
        running_server(tracing_endpoint="http://127.0.0.1:1"),
    ):
        pass


def test_environment_names_the_service_and_the_sampler(
    open_wire: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "memories")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    with collecting() as collector, open_wire(tracing_endpoint=collector.endpoint) as wire:
        wire.memory.List(pb.ListRequest())
        sampled = (("traceparent", f"00-{TRACE}-{SPAN}-01"),)
        wire.memory.ListQuestions(questions_pb2.ListQuestionsRequest(), metadata=sampled)
        (call,) = collector.wait_for(1)
    assert call.name == "totonoe.v1.MemoryService/ListQuestions"
    assert {resource["service.name"] for resource in collector.resources} == {"memories"}


@pytest.mark.parametrize(
    "value",
    ["h:4317", "http://h", "http://u:p@h:1", "grpc://h:1", "http://h:0", "http://h:99999"],
)
def test_endpoint_of_another_form_is_refused(value: str) -> None:
    with pytest.raises(config.SettingsError, match="tracing_endpoint: allowed: http://host:port"):
        config.load_settings(tracing_endpoint=value)


def test_daemon_without_the_setting_loads_no_package_for_it() -> None:
    code = (
        "import sys\n"
        "import totonoe_server.life.runner, totonoe_core.engine.factory\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=wait_s()
    )
    assert done.stdout == "[]\n"
