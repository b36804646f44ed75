"""`totonoe health`: exit codes, and how long it waits."""

from __future__ import annotations

import json

import pytest
from grpc_health.v1 import health_pb2
from typer.testing import CliRunner, Result

from clients.test_health import answering_health
from totonoe.cli.commands.health import seconds_of
from totonoe.cli.main import app

Check = health_pb2.HealthCheckResponse


def run(address: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["health", "--address", address, *arguments])


def test_daemon_that_serves_is_0() -> None:
    with answering_health(Check.SERVING) as (address, given):
        shown = run(address)
        assert (shown.exit_code, shown.stdout) == (0, f"The daemon at {address} serves.\n")
        asked = run(address, "--json")
        assert json.loads(asked.stdout) == {"serving": True, "address": address}
    assert len(given) == 2


def test_daemon_that_stops_is_4_at_once() -> None:
    with answering_health(Check.NOT_SERVING) as (address, given):
        shown = run(address)
    assert (shown.exit_code, shown.stdout) == (4, f"The daemon at {address} starts or stops.\n")
    assert len(given) == 1


def test_no_daemon_is_4_and_one_line() -> None:
    with answering_health(Check.SERVING) as (address, _):
        pass
    shown = run(address)
    assert shown.exit_code == 4
    assert "no daemon answers" in shown.stderr


def test_wait_returns_as_soon_as_it_serves_or_fails_when_the_time_is_over() -> None:
    with answering_health(Check.NOT_SERVING, Check.NOT_SERVING, Check.SERVING) as (address, given):
        assert run(address, "--wait", "30s").exit_code == 0
    assert len(given) == 3
    with answering_health(Check.NOT_SERVING) as (address, given):
        assert run(address, "--wait", "200ms").exit_code == 4
    assert len(given) > 1


def test_of_several_daemons_each_has_a_line_and_all_must_serve() -> None:
    with (
        answering_health(Check.SERVING) as (one, _),
        answering_health(Check.SERVING) as (other, _),
        answering_health(Check.NOT_SERVING) as (stopping, _),
    ):
        both = run(f"{one},{other}")
        assert both.stdout == f"The daemon at {one} serves.\nThe daemon at {other} serves.\n"
        assert both.exit_code == 0
        shown = run(f"{one},{stopping}", "--json")
        assert shown.exit_code == 4
        assert json.loads(shown.stdout)["daemons"] == [
            {"address": one, "serving": True},
            {"address": stopping, "serving": False},
        ]
    gone = run(f"{one},{other}", "--wait", "100ms")
    assert (gone.exit_code, gone.stdout.count("does not serve.")) == (4, 2)


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("30", 30), ("1.5m", 90), ("24h", 86400), ("500ms", 0.5)]
)
def test_time_has_a_unit(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["0", "0s", "-1s", "x", "25h", "1 day", "nan", "1e9"])
def test_other_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="--wait: got "):
        seconds_of(text)
