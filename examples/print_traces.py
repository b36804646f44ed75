"""Prints the spans that totonoe sends, as trees: a collector of one file, to look at traces.

    pip install 'totonoe[server,otel]'
    python examples/print_traces.py &
    totonoe serve --tracing-endpoint http://127.0.0.1:4317 &
    totonoe remember "The port is 8080."

It takes spans of OTLP over gRPC on 127.0.0.1:4317, or on the port that it is given. Spans come up
to a second after their call. In place of the daemon any program may send them.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span

HIDDEN = ("rpc.system.name", "rpc.method")
"""Attributes that the name of a span says already."""


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Prints each batch of spans."""

    def Export(
        self, request: pb.ExportTraceServiceRequest, _: grpc.ServicerContext
    ) -> pb.ExportTraceServiceResponse:
        """Takes a batch."""
        spans = [
            span
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        known = {span.span_id for span in spans}
        children = defaultdict(list)
        for span in sorted(spans, key=lambda span: span.start_time_unix_nano):
            # A parent that was sent elsewhere, or earlier, is as good as none.
            children[span.parent_span_id if span.parent_span_id in known else b""].append(span)
        for root in children[b""]:
            print(f"trace {root.trace_id.hex()}")
            show(root, children, root.start_time_unix_nano, "  ")
        sys.stdout.flush()
        return pb.ExportTraceServiceResponse()


def show(span: Span, children: Mapping[bytes, Sequence[Span]], from_ns: int, indent: str) -> None:
    """Prints a span and those below it: when it began, how long it took, its attributes."""
    begun_ms = (span.start_time_unix_nano - from_ns) / 1e6
    took_ms = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6
    said = " ".join(
        f"{pair.key}={value_of(pair.value)}" for pair in span.attributes if pair.key not in HIDDEN
    )
    print(f"{indent}{begun_ms:8.2f} {took_ms:8.2f} ms  {span.name}  {said}".rstrip())
    for child in children.get(span.span_id, ()):
        show(child, children, from_ns, indent + "  ")


def value_of(value: object) -> object:
    """The value of an attribute."""
    return getattr(value, str(value.WhichOneof("value")))  # type: ignore[attr-defined]


def main() -> None:
    """Takes spans until it is stopped."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 4317
    server = grpc.server(ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Collector(), server)
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    print(f"waiting for spans on http://127.0.0.1:{bound}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
