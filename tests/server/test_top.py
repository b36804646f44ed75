"""`totonoe top`: figures between two readings of the metrics."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from support.waits import wait_until
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_server.life import config_file
from totonoe_server.tools.top import command
from totonoe_server.tools.top.sample import Between, Sample

TEXT = """# TYPE totonoe info
totonoe_info{{version="1"}} 1.0
# TYPE totonoe_start_time_seconds gauge
totonoe_start_time_seconds {started}
# TYPE totonoe_rpc_in_flight gauge
totonoe_rpc_in_flight{{method="Get"}} 1
# TYPE totonoe_rpc_seconds histogram
totonoe_rpc_seconds_bucket{{method="Get",code="OK",le="0.01"}} {low}
totonoe_rpc_seconds_bucket{{method="Get",code="OK",le="0.1"}} {high}
totonoe_rpc_seconds_bucket{{method="Get",code="OK",le="+Inf"}} {count}
totonoe_rpc_seconds_count{{method="Get",code="OK"}} {count}
totonoe_rpc_seconds_sum{{method="Get",code="OK"}} 1
"""


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("TOTONOE_METRICS_ADDRESS", raising=False)
    monkeypatch.delenv("TOTONOE_CONFIG", raising=False)
    monkeypatch.setattr(config_file, "user_config_path", lambda _: tmp_path)


def reading(time_s: float, low: int, high: int, count: int, started: float = 100.0) -> Sample:
    return Sample.of(TEXT.format(low=low, high=high, count=count, started=started), time_s)


def test_rates_and_quantiles_are_of_the_time_between_two_readings() -> None:
    between = Between(reading(112.0, 50, 90, 110), reading(110.0, 40, 40, 40))
    assert between.seconds() == 2.0
    assert between.more("totonoe_rpc_seconds_count", method="Get") == 70
    # Of 70 calls 10 took up to 10 ms, 50 up to 100 ms, 20 longer.
    assert between.quantile("totonoe_rpc_seconds", 1 / 7) == pytest.approx(0.01)
    assert between.quantile("totonoe_rpc_seconds", 0.5) == pytest.approx(0.01 + 0.09 * 25 / 40)
    assert between.quantile("totonoe_rpc_seconds", 0.99) == 0.1
    assert between.quantile("totonoe_rpc_seconds", 0.5, method="List") == 0.0


def test_without_another_reading_or_after_a_restart_it_is_since_the_start() -> None:
    now = reading(110.0, 1, 2, 3)
    for before in (None, reading(90.0, 7, 8, 9, started=50.0)):
        between = Between(now, before)
        assert (between.seconds(), between.more("totonoe_rpc_seconds_count")) == (10.0, 3)


def test_text_of_another_service_is_refused() -> None:
    for text in ("# TYPE up gauge\nup 1\n", "<html>", ""):
        with pytest.raises(ValueError):
            Sample.of(text, 0.0)


def run(*arguments: str) -> Any:
    app = typer.Typer()
    app.callback()(lambda: None)
    command.register(app)
    return CliRunner().invoke(app, ["top", *arguments], env={"COLUMNS": "120"})


def test_top_once_shows_a_daemon(open_wire: Callable[..., Any], fails: Any) -> None:
    reason = {"reason": "MEMORY_NOT_FOUND"}
    with open_wire(metrics_address="0") as wire:
        wire.remember("The port is 8080.")
        fails(wire.memory.Get, pb.GetRequest(ids=["mem_0000000000000000"]))
        place = wire.server.metrics_address
        url = f"http://{place}/metrics"
        # A call is counted when its end has been sent.
        wait_until(lambda: command.fetched(url).one("totonoe_refused_total", **reason) == 1)
        shown = run("--once", "--metrics-address", place)
        assert shown.exit_code == 0, shown.output
        for words in ("Remember", "MEMORY_NOT_FOUND", "default", "commit p99", "disk"):
            assert words in shown.output
        figures = json.loads(run("--once", "--json", "--metrics-address", place).output)
        methods = {row["method"]: row for row in figures["methods"]}
        assert methods["Remember"]["per_s"] > 0
        assert methods["Get"]["failed_per_s"] > 0
        assert [row["collection"] for row in figures["collections"]] == ["default"]
        assert figures["refused"][0]["count"] == 1
        # The live view, one reading later.
        now = command.fetched(url)
        between = Between(now, now)
        drawn = Console(width=120, record=True, file=io.StringIO())
        drawn.print(command.view([between], {"MEMORY_NOT_FOUND": now.time_s - 3}))
        assert "3 s ago" in drawn.export_text()
    gone = run("--once", "--metrics-address", place)
    assert gone.exit_code == 1
    assert gone.output.startswith(f"totonoe: no metrics at http://{place}/metrics: ")


def test_top_without_a_place_of_metrics_says_how_to_get_one() -> None:
    refused = run("--once")
    assert refused.exit_code == 1
    assert "start the daemon with --metrics-address" in refused.output
    wrong = run("--once", "--metrics-address", "here")
    assert (wrong.exit_code, wrong.output.count("\n")) == (1, 1)


def test_of_several_daemons_rates_are_added_up_and_times_are_of_the_slowest() -> None:
    first = Between(reading(112.0, 50, 90, 110), reading(110.0, 40, 40, 40))
    other = Between(reading(112.0, 90, 90, 90), reading(110.0, 0, 0, 0))
    shown = command.figures_of([first, None, other])
    (row,) = shown["methods"]
    assert (row["per_s"], row["in_flight"]) == (35.0 + 45.0, 2)
    slowest = command.figures(first)["methods"][0]
    assert row["p99_ms"] == slowest["p99_ms"] > command.figures(other)["methods"][0]["p99_ms"]
    assert [(daemon["daemon"], daemon["answers"]) for daemon in shown["daemons"]] == [
        *((1, True), (2, False), (3, True))
    ]
    drawn = Console(width=120, record=True, file=io.StringIO())
    drawn.print(command.view([first, None, other], {}))
    assert "does not answer" in drawn.export_text()


def test_top_reads_each_of_several_daemons_at_the_port_of_its_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def fetched(url: str) -> Sample:
        asked.append(url)
        if "7768" in url:
            raise command.NoMetricsError(f"no metrics at {url}: refused")
        return reading(110.0, 1, 2, 3)

    monkeypatch.setattr(command, "fetched", fetched)
    shown = run("--once", "--json", "--metrics-address", "7767", "--daemons", "3")
    assert asked == [f"http://127.0.0.1:{port}/metrics" for port in (7767, 7768, 7769)]
    assert [daemon["answers"] for daemon in json.loads(shown.output)["daemons"]] == [
        True,
        False,
        True,
    ]
    none = run("--once", "--metrics-address", "7768")
    assert (none.exit_code, none.output.count("\n")) == (1, 1)
