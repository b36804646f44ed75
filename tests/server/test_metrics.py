"""Metrics: what is at /metrics, what its labels hold, and who may hold it up."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.waits import wait_s, wait_until
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import operations_pb2
from totonoe_core.base.histogram import Histogram
from totonoe_core.domain.figures import CollectionFigures
from totonoe_core.domain.records import Status
from totonoe_server.life import metrics
from totonoe_server.life.config import parse_metrics_address
from totonoe_server.life.daemon import StartupError
from totonoe_server.tools.testing import RunningServer, running_server
from totonoe_server.tools.top.command import fetched


def read(address: str, path: str = "/metrics", method: str = "GET") -> tuple[int, str]:
    """Status and body of a request."""
    with closing(http.client.HTTPConnection(address, timeout=wait_s())) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def metrics_address(server: RunningServer) -> str:
    assert server.metrics_address
    return server.metrics_address


@pytest.fixture(scope="module")
def wire(open_wire: Callable[..., Any]) -> Iterator[Any]:
    """A daemon that serves metrics."""
    with open_wire(metrics_address="0") as opened:
        yield opened


def sample(wire: Any) -> Any:
    return fetched(f"http://{metrics_address(wire.server)}/metrics")


def counted(found: Any) -> float:
    """Number of ended calls."""
    return sum(value for _, value in found.all("totonoe_rpc_seconds_count"))


def test_calls_are_counted_by_method_and_code(wire: Any, fails: Any) -> None:
    before = sample(wire)
    collection = wire.collection()
    wire.remember("The port is 8080.", collection)
    wire.remember("The port is 8080.", collection)
    assert fails(wire.memory.Get, pb.GetRequest(ids=["mem_0000000000000000"])).reason
    # A call is counted when its end has been sent.
    wait_until(lambda: counted(sample(wire)) == counted(before) + 4)
    now = sample(wire)

    def grown(name: str, **labels: str) -> float:
        return float(now.one(name, **labels) - before.one(name, **labels))

    assert grown("totonoe_rpc_seconds_count", method="Remember", code="OK") == 2
    assert grown("totonoe_rpc_seconds_sum", method="Remember", code="OK") > 0
    assert grown("totonoe_rpc_seconds_count", method="Get", code="NOT_FOUND") == 1
    assert grown("totonoe_refused_total", reason="MEMORY_NOT_FOUND") == 1
    assert now.one("totonoe_rpc_in_flight", method="Remember") == 0
    new = {"verdict": "new", "band": "different", "action": "saved"}
    assert grown("totonoe_decisions_total", **new) == 1
    double = {"verdict": "duplicate", "band": "certain", "action": "refused"}
    assert grown("totonoe_decisions_total", **double) == 1
    assert grown("totonoe_commit_seconds_count") >= 2
    assert grown("totonoe_commit_operations_sum") >= 2
    assert grown("totonoe_embed_seconds_count") >= 1
    assert now.one("totonoe_memories", collection=collection, status="active") == 1
    assert now.one("totonoe_file_bytes", collection=collection) > 0
    assert now.one("totonoe_writable", collection=collection) == 1
    assert now.one("totonoe_embedder_ready") == 1
    assert now.one("totonoe_disk_free_bytes") > 0


def test_items_of_a_stream_that_fail_are_counted_one_by_one(wire: Any) -> None:
    collection, before = wire.collection(), sample(wire)
    drafts = ["Tea is hot.", "", "a\0b", ""]
    items = [{"collection": collection, "memory": {"content": text}} for text in drafts]
    request = pb.RememberManyRequest(items=items)
    answers = list(wire.memory.RememberMany(iter([request, request]), timeout=30))
    assert sum(len(answer.results) for answer in answers) == 8
    now = sample(wire)
    for reason, count in (("EMPTY_TEXT", 4), ("NUL_IN_TEXT", 2)):
        labels = {"reason": reason}
        found = [dict(item)["reason"] for item, _ in before.all("totonoe_refused_total")]
        earlier = before.one("totonoe_refused_total", **labels) if reason in found else 0
        assert now.one("totonoe_refused_total", **labels) - earlier == count


def test_running_call_is_in_flight_until_it_ends(wire: Any) -> None:
    stream = wire.memory.Watch(operations_pb2.WatchRequest(heartbeat_s=60), timeout=60)
    wait_until(lambda: sample(wire).one("totonoe_rpc_in_flight", method="Watch") == 1)
    stream.cancel()
    wait_until(lambda: sample(wire).one("totonoe_rpc_in_flight", method="Watch") == 0)
    assert sample(wire).one("totonoe_rpc_seconds_count", method="Watch", code="CANCELLED") >= 1


def test_text_is_what_prometheus_reads_and_counts_of_buckets_grow(wire: Any) -> None:
    wire.remember("Any text.", wire.collection())
    status, text = read(metrics_address(wire.server))
    assert status == 200
    families = {metric.name: metric for metric in text_string_to_metric_families(text)}
    buckets = [
        sample.value
        for sample in families["totonoe_rpc_seconds"].samples
        if sample.name.endswith("_bucket")
        and sample.labels["method"] == "Remember"
        and sample.labels["code"] == "OK"
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] > 0
    assert all(family.documentation for family in families.values())


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [("/", "GET", 404), ("/metrics/x", "GET", 404), ("/metrics?x=1", "GET", 200),
     ("/metrics", "POST", 501), ("/metrics", "DELETE", 501)],
)  # fmt: skip
def test_other_paths_and_methods_are_refused(
    wire: Any, path: str, method: str, status: int
) -> None:
    assert read(metrics_address(wire.server), path, method)[0] == status


def test_peers_that_send_nothing_keep_nobody_out_for_long(
    wire: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics._Handler, "timeout", 0.2)
    host, _, port = metrics_address(wire.server).rpartition(":")
    with ExitStack() as stack:
        for _ in range(2 * metrics.REQUESTS_MAX):
            stack.enter_context(socket.create_connection((host, int(port)), timeout=wait_s()))

        def answered() -> bool:
            try:
                return read(metrics_address(wire.server))[0] == 200
            except (OSError, http.client.HTTPException):
                return False  # all places are taken: closed without a word

        wait_until(answered)
    assert sum(thread.name.startswith("Thread-") for thread in threading.enumerate()) < 40


def test_metrics_are_off_unless_asked_for(open_fake: Callable[..., Any]) -> None:
    with open_fake() as fake:
        assert fake.server.metrics_address == ""


def test_taken_port_is_one_line_and_leaves_nothing_behind() -> None:
    before = threading.enumerate()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(StartupError, match=f"Cannot serve metrics on {port}: "),
            running_server(metrics_address=str(port), embedder="none"),
        ):
            pass
    new = set(threading.enumerate()) - set(before)
    assert not [thread for thread in new if thread.name == "metrics"]


def test_failure_while_reading_is_500_without_a_text(
    open_fake: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    with open_fake(metrics_address="0") as fake:
        # The engine of this test answers nothing that could be read.
        status, body = read(metrics_address(fake.server))
        with pytest.raises(grpc.RpcError):
            fake.admin.Stats(admin_pb.StatsRequest(), timeout=10)
    assert status == 500
    assert "KeyError" not in body
    assert "metrics could not be read" in caplog.text


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", None),
        ("9464", ("127.0.0.1", 9464)),
        (":9464", ("127.0.0.1", 9464)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),
        ("[::1]:2", ("::1", 2)),
        ("localhost:3", ("localhost", 3)),
    ],
)
def test_port_alone_is_one_of_loopback(text: str, place: Any) -> None:
    assert parse_metrics_address(text) == place


@pytest.mark.parametrize("text", ["x", "1:2:3", "127.0.0.1:65536", "unix:/x", "[::1]", "a b:1"])
def test_address_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="allowed: host:port"):
        parse_metrics_address(text)


def collection(name: str, size: int, **other: Any) -> CollectionFigures:
    counts = {status: size for status in Status if status is not Status.PURGED}
    figures = CollectionFigures(name, counts, size, 1, 0.0, 0, 0, True)
    return replace(figures, **other)


def test_more_than_100_collections_fold_into_other() -> None:
    hundred = [collection(f"c{number}", number) for number in range(1, 101)]
    assert metrics.folded(hundred) == hundred
    small = [
        collection("a", 0, rated_count=1, missed_share=0.5, checkpoint_us=7),
        collection("b", 0, rated_count=3, missed_share=0.1, checkpoint_us=5, writable=False),
    ]
    shown = metrics.folded([*small, *hundred])
    assert len(shown) == 101
    assert {figures.name for figures in shown[:-1]} == {figures.name for figures in hundred}
    other = shown[-1]
    assert (other.name, other.queue_length, other.rated_count) == ("other", 2, 4)
    assert (other.checkpoint_us, other.writable) == (5, False)
    assert other.missed_share == pytest.approx(0.2)


def test_collection_that_is_called_other_is_counted_with_the_others() -> None:
    shown = metrics.folded([collection("other", 5), collection("a", 1)])
    assert [(figures.name, figures.file_bytes) for figures in shown] == [("a", 1), ("other", 5)]
    many = [collection("other", 500), *(collection(f"c{n}", n) for n in range(1, 102))]
    shown = metrics.folded(many)
    assert [figures.name for figures in shown].count("other") == 1
    assert sum(figures.file_bytes for figures in shown) == sum(
        figures.file_bytes for figures in many
    )


def test_histogram_counts_each_value_once_below_its_bound() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 99.0):
        histogram.add(value)
    read = histogram.read()
    assert (read.counts, read.total, read.count) == ((2, 1, 1), 102.0, 4)


def test_histogram_loses_no_value_of_many_threads() -> None:
    histogram = Histogram()

    def work() -> None:
        for _ in range(5000):
            histogram.add(0.004)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert histogram.read().count == 20_000
