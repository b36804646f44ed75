"""Metrics for Prometheus, by HTTP. They are read when asked for, so that calls pay nothing.

Labels are methods, codes, reasons, words of closed sets, and names of collections: never a text, an
id or an agent. Beyond COLLECTIONS_SHOWN_MAX collections, the smaller ones are one, `other`.
"""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from totonoe_core.base import clock
from totonoe_core.base.histogram import Distribution
from totonoe_core.domain.figures import CollectionFigures, EngineFigures
from totonoe_server.access.expiry import Expiring
from totonoe_server.life.addresses import Address
from totonoe_server.life.figures import CallFigures
from totonoe_server.logger import logger, trace_of
from totonoe_server.services.process import Process

COLLECTIONS_SHOWN_MAX = 100
OTHER = "other"
"""Label of all further collections. A collection of this name is counted with them."""
REQUESTS_MAX = 8
"""Requests for metrics at once; further connections are closed."""
REQUEST_S_MAX = 5.0
"""For a peer that sends or reads slowly."""
POLL_S = 0.2
"""Longest time that the end waits for the thread that takes connections."""


class DaemonCollector(Collector):
    """Makes the metrics of one daemon.

    Parameters
    ----------
    calls : CallFigures
    engine : callable
        Returns the engine's figures at once.
    ends_s : callable
        Returns the earliest end of what expires, by its kind, in seconds since 1970.
    data_dir : Path
        The room on its disk is a metric.
    process : Process
    """

    def __init__(
        self,
        calls: CallFigures,
        engine: Callable[[], EngineFigures],
        ends_s: Callable[[], Mapping[Expiring, float]],
        data_dir: Path,
        process: Process,
    ) -> None:
        self._calls = calls
        self._engine = engine
        self._ends_s = ends_s
        self._data_dir = data_dir
        self._process = process

    def describe(self) -> Iterable[Metric]:
        """Announce nothing: registering must not read the engine."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Read all figures now."""
        engine = self._engine()
        named = {"version": self._process.version}
        if self._process.number:
            named["daemon"] = str(self._process.number)
        yield InfoMetricFamily("totonoe", "The daemon.", named)
        yield _gauge(
            "totonoe_start_time_seconds",
            "When it started, in seconds since 1970.",
            self._process.started_us / 1e6,
        )
        yield from _of_calls(self._calls)
        yield from _of_writers(engine)
        yield from _of_embedder(engine)
        yield from _of_collections(folded(engine.collections))
        yield _gauge("totonoe_collections_open", "Open collections.", engine.open.count)
        yield _gauge(
            "totonoe_collections_memory_bytes",
            "Memory of the arrays and graphs of open collections.",
            engine.open.memory_bytes,
        )
        yield _gauge(
            "totonoe_collections_memory_budget_bytes",
            "Memory that open collections may hold; 0: without a limit.",
            engine.open.memory_budget_bytes,
        )
        expiry = GaugeMetricFamily(
            "totonoe_expiry_time_seconds",
            "When the first certificate or identity expires, in seconds since 1970.",
            labels=("what",),
        )
        for kind, end_s in self._ends_s().items():
            expiry.add_metric((kind.value,), end_s)
        yield expiry
        if self._data_dir.exists():
            yield _gauge(
                "totonoe_disk_free_bytes",
                "Room on the disk of the data directory.",
                shutil.disk_usage(self._data_dir).free,
            )


def _of_calls(calls: CallFigures) -> Iterable[Metric]:
    seconds = HistogramMetricFamily(
        "totonoe_rpc_seconds", "Seconds of ended calls.", labels=("method", "code")
    )
    running = GaugeMetricFamily("totonoe_rpc_in_flight", "Calls under way.", labels=("method",))
    # Copies: the event loop goes on meanwhile.
    for method, figures in sorted(dict(calls.methods).items()):
        running.add_metric((method,), figures.now)
        for code, histogram in sorted(dict(figures.seconds).items()):
            _add(seconds, (method, code), histogram.read())
    refused = CounterMetricFamily(
        "totonoe_refused",
        "Calls, and items of RememberMany, that ended with an error, by its reason.",
        labels=("reason",),
    )
    for reason, count in sorted(dict(calls.refused).items()):
        refused.add_metric((reason,), count)
    return (seconds, running, refused)


def _of_writers(engine: EngineFigures) -> Iterable[Metric]:
    decisions = CounterMetricFamily(
        "totonoe_decisions",
        "Decided Remembers, by verdict, band and what was done.",
        labels=("verdict", "band", "action"),
    )
    for decision, count in engine.decisions.items():
        decisions.add_metric((decision.verdict, decision.band, decision.action), count)
    commit = HistogramMetricFamily(
        "totonoe_commit_seconds", "Seconds from the last decision of a group to its commit."
    )
    _add(commit, (), engine.commit_s)
    group = HistogramMetricFamily("totonoe_commit_operations", "Operations in one commit.")
    _add(group, (), engine.commit_operations)
    return (decisions, commit, group)


def _of_embedder(engine: EngineFigures) -> Iterable[Metric]:
    embedder = engine.embedder
    if embedder is None:
        return
    batch = HistogramMetricFamily(
        "totonoe_embed_seconds", "Seconds of a batch of texts in an embedding process."
    )
    _add(batch, (), embedder.batch_s)
    yield batch
    yield _gauge(
        "totonoe_embed_queue", "Texts that wait for vectors or get them.", embedder.waiting_count
    )
    yield _gauge(
        "totonoe_embedder_ready", "1 if an embedding process serves.", embedder.state == "ready"
    )
    restarts = CounterMetricFamily(
        "totonoe_embedder_restarts", "Embedding processes that failed.", embedder.restarts_count
    )
    yield restarts


def _of_collections(collections: Sequence[CollectionFigures]) -> Iterable[Metric]:
    def gauge(name: str, text: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(name, text, labels=("collection",))

    memories = GaugeMetricFamily(
        "totonoe_memories", "Memories of open collections.", labels=("collection", "status")
    )
    file_bytes = gauge("totonoe_file_bytes", "Bytes of the file with its log.")
    queue = gauge("totonoe_writer_queue", "Operations that wait for the writer.")
    writable = gauge("totonoe_writable", "1 if the collection takes writes, 0 if it is read-only.")
    missed = gauge(
        "totonoe_recall_missed_ratio",
        "Share of the nearest memories that the graph missed, in sampled searches.",
    )
    age = gauge("totonoe_checkpoint_age_seconds", "Age of the newest checkpoint, if there is one.")
    now_us = clock.system_clock()
    for figures in collections:
        labels = (figures.name,)
        for status, count in figures.memory_counts.items():
            memories.add_metric((figures.name, status.value), count)
        file_bytes.add_metric(labels, figures.file_bytes)
        queue.add_metric(labels, figures.queue_length)
        writable.add_metric(labels, figures.writable)
        if figures.rated_count:
            missed.add_metric(labels, figures.missed_share)
        if figures.checkpoint_us:
            age.add_metric(labels, max(0, now_us - figures.checkpoint_us) / 1e6)
    return (memories, file_bytes, queue, writable, missed, age)


def folded(collections: Sequence[CollectionFigures]) -> list[CollectionFigures]:
    """Return the figures of the largest collections, and those of the others as one."""
    if len(collections) <= COLLECTIONS_SHOWN_MAX and all(
        figures.name != OTHER for figures in collections
    ):
        return list(collections)
    ranked = sorted(
        collections, key=lambda figures: (figures.name == OTHER, -figures.file_bytes, figures.name)
    )
    shown = [figures for figures in ranked[:COLLECTIONS_SHOWN_MAX] if figures.name != OTHER]
    rest = ranked[len(shown) :]
    rated_count = sum(figures.rated_count for figures in rest)
    missed = sum(figures.missed_share * figures.rated_count for figures in rest)
    return [
        *shown,
        CollectionFigures(
            name=OTHER,
            memory_counts={
                status: sum(figures.memory_counts[status] for figures in rest)
                for status in rest[0].memory_counts
            },
            file_bytes=sum(figures.file_bytes for figures in rest),
            queue_length=sum(figures.queue_length for figures in rest),
            missed_share=missed / rated_count if rated_count else 0.0,
            rated_count=rated_count,
            # The oldest: it is the one to look after.
            checkpoint_us=min(
                (figures.checkpoint_us for figures in rest if figures.checkpoint_us), default=0
            ),
            writable=all(figures.writable for figures in rest),
        ),
    ]


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)


def _add(family: HistogramMetricFamily, labels: Sequence[str], distribution: Distribution) -> None:
    """Add a distribution, whose counts are each of their own, as Prometheus wants: summed up."""
    buckets, count = [], 0
    bounds = (*map(repr, distribution.bounds), "+Inf")
    for bound, more in zip(bounds, distribution.counts, strict=True):
        count += more
        buckets.append((bound, float(count)))
    family.add_metric(labels, buckets, distribution.total)


class MetricsServer:
    """Serves the metrics by HTTP, on threads of its own, until `close`.

    Raises
    ------
    OSError
        The address cannot be bound.
    """

    def __init__(self, host: str, port: int, collector: Collector) -> None:
        registry = CollectorRegistry()
        registry.register(collector)
        ProcessCollector(registry=registry)
        kind = _Server6 if ":" in host else _Server
        self._server = kind((host, port), registry)
        self.address = Address(host, self._server.server_port).target
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_S,), name="metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Ends it; waits for no request that is being answered."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    """A thread for each request, of which there are at most REQUESTS_MAX."""

    block_on_close = False

    def __init__(self, address: tuple[str, int], registry: CollectorRegistry) -> None:
        self.registry = registry
        self._places = threading.BoundedSemaphore(REQUESTS_MAX)
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Binds without looking the host's name up, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Takes a connection, or closes it."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers one connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: a peer that hangs up is daily life."""


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    """GET /metrics, and nothing else."""

    timeout = REQUEST_S_MAX
    server_version = "totonoe"
    sys_version = ""

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(404)
            return
        encoder, content_type = choose_encoder(self.headers.get("Accept", ""))
        assert isinstance(self.server, _Server)
        try:
            body = encoder(self.server.registry)
        except Exception as error:
            logger.error("metrics could not be read", **trace_of(error))
            self.send_error(500)
            return
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Logs nothing: a line every few seconds, about nothing that an operator did."""
