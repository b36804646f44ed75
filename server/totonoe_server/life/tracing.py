"""Traces of calls for OpenTelemetry: a span for each call, and one below it for each stage.

    totonoe.v1.MemoryService/Remember      the parent is the caller's span, by `traceparent`
    ├── queue                              waits for the writer
    ├── decide  totonoe.lacking: vector    no text is equal: it has to be embedded
    ├── embed
    ├── queue
    ├── decide
    └── commit  totonoe.commit.operations: 3

Names and attributes follow the semantic conventions for RPC; those that begin with `totonoe.` are
ours. A span holds what the log line of the call holds, but for the identity: never a text, an
agent, an id of a memory, or the message of an error.

Spans are sent in batches by a thread of their own, over OTLP and gRPC. Calls wait for nothing: the
queue is bounded, and a collector that does not answer costs the spans that do not fit it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from totonoe_core.base import limits
from totonoe_core.base.stages import STAGES, Stages
from totonoe_server.life.call_log import TRACEPARENT, collection_of
from totonoe_server.logger import logger

ENDED_S_MAX = 0.5
"""For the threads that send, once they have to stop."""
FAULTS = frozenset(
    ("UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS")
)
"""Codes that count as errors of a server. The others are the caller's."""
_PROPAGATOR = TraceContextTextMapPropagator()


class Tracing:
    """Makes and sends the spans of one daemon.

    Parameters
    ----------
    endpoint : str
        `http://host:port`, or `https://host:port` for TLS.
    version : str
        Version of the daemon.

    Raises
    ------
    ValueError, RuntimeError
        A variable of OpenTelemetry in the environment is wrong.
    """

    def __init__(self, endpoint: str, version: str) -> None:
        self._exporter = _Reported(
            OTLPSpanExporter(endpoint=endpoint, timeout=limits.TRACE_EXPORT_S_MAX), endpoint
        )
        resource = Resource.create({"service.name": "totonoe", "service.version": version})
        self._provider = TracerProvider(
            # What the environment says of the service wins.
            resource=resource.merge(OTELResourceDetector().detect()),
            # An exit waits for nothing but `close`.
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(
                self._exporter,
                max_queue_size=limits.TRACE_QUEUE_SPANS_MAX,
                max_export_batch_size=limits.TRACE_BATCH_SPANS_MAX,
                schedule_delay_millis=limits.TRACE_DELAY_MS,
            )
        )
        self._tracer = self._provider.get_tracer("totonoe.server", version)
        # From here on it would log each try that fails; ours is one line, see `_Reported`.
        self._others = logging.getLogger("opentelemetry")
        self._level = self._others.level
        self._others.setLevel(logging.CRITICAL)

    def begin(self, path: str, context: Any) -> Traced:
        """Begin the span of a call.

        Parameters
        ----------
        path : str
            Of the method: `/totonoe.v1.MemoryService/Remember`.
        context : grpc.aio.ServicerContext
            Of the call; its metadata may name the caller's span.
        """
        return Traced(self._tracer, path.removeprefix("/"), context)

    def close(self) -> None:
        """Send what waits, for TRACE_FLUSH_S_MAX at most; drop the rest."""
        ending = threading.Thread(target=self._provider.shutdown, name="traces end", daemon=True)
        ending.start()
        ending.join(limits.TRACE_FLUSH_S_MAX)
        if ending.is_alive():
            # What is on its way comes back at once.
            self._exporter.shutdown()
            ending.join(ENDED_S_MAX)
        self._others.setLevel(self._level)


class Traced:
    """The span of one call."""

    def __init__(self, tracer: Tracer, method: str, context: Any) -> None:
        self._tracer = tracer
        self._stages = Stages()
        # One clock for the span and its stages; it never goes back.
        self._zero_ns = time.time_ns() - time.perf_counter_ns()
        self._span: Span = tracer.start_span(
            method,
            context=_PROPAGATOR.extract(_carried(context)),
            kind=SpanKind.SERVER,
            attributes={"rpc.system.name": "grpc", "rpc.method": method},
            start_time=self._at_ns(time.perf_counter()),
        )

    def mark(self) -> None:
        """Mark the stages of the current task's work for this span, if anybody will see them."""
        if self._span.is_recording():
            STAGES.set(self._stages)

    def end(self, code: str, reason: str, request_id: str, request: Any, answer: Any) -> None:
        """End the span, and add those of its stages.

        Parameters
        ----------
        code, reason : str
            Name of the status code; reason of the error, empty for none.
        request, answer : message or None
            The first and the last one of a stream.
        """
        if not self._span.is_recording():
            self._span.end()
            return
        stages = self._stages.close()
        ended_ns = self._at_ns(time.perf_counter())
        attributes: dict[str, str | int] = {
            "rpc.response.status_code": code,
            "totonoe.request_id": request_id,
        }
        if collection := collection_of(request):
            attributes["totonoe.collection"] = collection
        if revision := getattr(answer, "revision", 0):
            attributes["totonoe.revision"] = revision
        if reason:
            attributes["totonoe.reason"] = reason
        if code in FAULTS:
            attributes["error.type"] = code
        if self._stages.left_out_count:
            attributes["totonoe.stages_left_out"] = self._stages.left_out_count
        self._span.set_attributes(attributes)
        if code in FAULTS:
            self._span.set_status(Status(StatusCode.ERROR))
        parent = set_span_in_context(self._span)
        for stage in stages:
            details: dict[str, str | int] = {}
            if stage.lacking:
                details["totonoe.lacking"] = stage.lacking
            if stage.operations_count:
                details["totonoe.commit.operations"] = stage.operations_count
            child = self._tracer.start_span(
                stage.name,
                context=parent,
                attributes=details,
                start_time=self._at_ns(stage.begun_s),
            )
            child.end(self._at_ns(stage.ended_s))
        self._span.end(ended_ns)

    def _at_ns(self, counter_s: float) -> int:
        """A time of `perf_counter` in nanoseconds since 1970."""
        return self._zero_ns + int(counter_s * 1e9)


def _carried(context: Any) -> dict[str, str]:
    """The caller's `traceparent`. Not its `tracestate`, whose text a span would repeat."""
    for key, value in context.invocation_metadata() or ():
        if key == TRACEPARENT and isinstance(value, str):
            return {TRACEPARENT: value}
    return {}


class _Reported(SpanExporter):
    """An exporter that logs one line when the collector takes nothing, and one when it does again.

    Called by one thread at a time.
    """

    def __init__(self, exporter: SpanExporter, endpoint: str) -> None:
        self._exporter = exporter
        self._endpoint = endpoint
        self._lost_count = 0
        self._ended = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch."""
        result = self._exporter.export(spans)
        if result is not SpanExportResult.SUCCESS:
            if not self._lost_count:
                logger.warning("traces are not taken", endpoint=self._endpoint)
            self._lost_count += len(spans)
        elif self._lost_count:
            logger.info("traces are taken again", lost_spans=self._lost_count)
            self._lost_count = 0
        return result

    def shutdown(self) -> None:
        """End it; what is being sent, and what comes later, is dropped. Safe to call twice."""
        if not self._ended:
            self._ended = True
            self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """See `SpanExporter`."""
        return self._exporter.force_flush(timeout_millis)
