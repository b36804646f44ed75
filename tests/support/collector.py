"""A collector of traces in this process: takes OTLP over gRPC and keeps what came."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from support.waits import wait_until


@dataclass
class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Spans that came, and the bytes that they came in."""

    endpoint: str = ""
    spans: list[Span] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    raw: bytes = b""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def Export(
        self, request: pb.ExportTraceServiceRequest, _: Any
    ) -> pb.ExportTraceServiceResponse:
        """Takes a batch."""
        with self.lock:
            self.raw += request.SerializeToString()
            for spans in request.resource_spans:
                self.resources.append(attributes_of(spans.resource))
                self.spans += [span for scope in spans.scope_spans for span in scope.spans]
        return pb.ExportTraceServiceResponse()

    def calls(self, method: str = "") -> list[Span]:
        """Spans of calls, of one method if it is given, in the order of their beginnings."""
        found = [span for span in [*self.spans] if span.kind == Span.SPAN_KIND_SERVER]
        named = [span for span in found if span.name.endswith(f"/{method}") or not method]
        return sorted(named, key=lambda span: span.start_time_unix_nano)

    def below(self, parent: Span) -> list[Span]:
        """Spans of the stages of a call, in the order of their beginnings."""
        found = [span for span in [*self.spans] if span.parent_span_id == parent.span_id]
        return sorted(found, key=lambda span: (span.start_time_unix_nano, span.end_time_unix_nano))

    def wait_for(self, count: int, method: str = "") -> Sequence[Span]:
        """Waits until so many calls have come, whole: a span comes after those below it."""
        wait_until(lambda: len(self.calls(method)) >= count)
        return self.calls(method)


def attributes_of(span: Any) -> dict[str, Any]:
    return {
        pair.key: getattr(pair.value, str(pair.value.WhichOneof("value")))
        for pair in span.attributes
    }


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port of loopback."""
    collector = Collector()
    server = grpc.server(ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)
    collector.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield collector
    finally:
        server.stop(0).wait()
