"""Each example runs as its first lines say, and prints what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from totonoe_server.tools.testing import RunningServer, running_server

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(embedder="use") as running:
        yield running


def run(server: RunningServer, name: str) -> str:
    """What an example prints."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"],
        env=os.environ | {"TOTONOE_ADDRESS": server.address},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_three_agents_store_each_fact_once(server: RunningServer) -> None:
    printed = run(server, "three_agents")
    assert "9 texts were said, 6 memories are stored:" in printed
    assert printed.count("known already as mem_") == 3
    again = run(server, "three_agents")
    assert "9 texts were said, 6 memories are stored:" in again
    assert again.count("known already as mem_") == 9


def test_robot_merges_in_the_evening_and_takes_it_back(server: RunningServer) -> None:
    printed = run(server, "robot_day")
    assert "2 of 4 observations merged" in printed
    assert "recalled: grip force 12.5N works well for cups" in printed
    assert printed.endswith("undone: True\n")


def test_plan_of_a_model_is_applied_and_taken_back(server: RunningServer) -> None:
    printed = run(server, "tidy_plan")
    assert printed.count("for the model: office-move-") == 2
    assert "now: The office moves to Kyoto on 3 May; desks are packed the day before." in printed
    assert printed.endswith("undone: True\n")


def test_collector_prints_the_stages_of_a_call_below_it() -> None:
    collector = subprocess.Popen(
        [sys.executable, EXAMPLES / "print_traces.py", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert collector.stdout is not None
        endpoint = collector.stdout.readline().split()[-1]
        with running_server(tracing_endpoint=endpoint) as traced, traced.client() as client:
            client.remember("The port is 8080.")
        printed = [collector.stdout.readline().split() for _ in range(8)]
    finally:
        collector.terminate()
        collector.communicate()
    assert printed[0][0] == "trace"
    assert [line[3] for line in printed[1:]] == [
        "totonoe.v1.MemoryService/Remember",
        *("queue", "decide", "embed", "queue", "decide", "commit"),
    ]
