"""64 Remembers of the same from 4 agent processes at once, through each layer that can refuse."""

from __future__ import annotations

import itertools
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import totonoe
from support.daemons import DaemonProcess
from support.processes import at_once

PROCESSES = 4
CALLS_EACH = 16

AGENT = """
    import json, sys
    from concurrent.futures import ThreadPoolExecutor
    import totonoe

    job = json.load(sys.stdin)
    client = totonoe.Client(job["address"], agent_id=job["agent"], collection=job["collection"])
    client.stats()  # connected before the start
    print("ready", flush=True)
    sys.stdin = open("/dev/null")

    def remember(item):
        answer = client.remember(item["text"], vector=item.get("vector"), session_id="s")
        return [answer.saved, answer.memory_id, answer.method]

    import os, time
    while not os.path.exists(job["start"]):
        time.sleep(0.001)
    with ThreadPoolExecutor(len(job["items"])) as pool:
        print(json.dumps(list(pool.map(remember, job["items"]))))
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path_factory.mktemp("race") / "data") as running:
        yield running


def unit(index: int) -> list[float]:
    """One axis of eight dimensions."""
    return [1.0 if at == index else 0.0 for at in range(8)]


def race(
    daemon: DaemonProcess, collection: str, items: list[dict[str, Any]], folder: Path
) -> list[tuple[bool, str, str]]:
    """All items at once from PROCESSES processes; their answers."""
    jobs: list[dict[str, Any]] = [
        {
            "address": daemon.address,
            "agent": f"agent-{number}",
            "collection": collection,
            "items": items[number::PROCESSES],
        }
        for number in range(PROCESSES)
    ]
    said = at_once([sys.executable, "-c", textwrap.dedent(AGENT)], jobs, folder)
    return [tuple(answer) for (line,) in said for answer in json.loads(line)]


RACES = 50


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_50_races_of_16_save_exactly_one_each(daemon: DaemonProcess, tmp_path: Path) -> None:
    with totonoe.Client(daemon.address) as client:
        client.create_collection("races", client_vector_dimension=8)
    for number in range(RACES):
        # By turns one text in several forms, and one text.
        texts = [f"{form} {number}" for form in FORMATS[:16]] if number % 2 else [f"n{number}"] * 16
        items = [{"text": text, "vector": unit(number % 8)} for text in texts]
        folder = tmp_path / str(number)
        folder.mkdir()
        answers = race(daemon, "races", items, folder)
        assert sum(was_saved for was_saved, _, _ in answers) == 1, f"race {number}"
        assert len({memory_id for _, memory_id, _ in answers}) == 1, f"race {number}"


WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"]
ORDERS = [" ".join(order) for order in itertools.islice(itertools.permutations(WORDS), 64)]
FORMATS = [("The", "the")[n % 2] + " port is 8080" + ("", ".", "!")[n % 3] for n in range(64)]


@pytest.mark.parametrize(
    ("name", "settings", "items", "method"),
    [
        ("exact", {}, [{"text": "the same text"}] * 64, "exact"),
        ("jaccard", {"preset": "robotmem"}, [{"text": text} for text in ORDERS], "jaccard"),
        (
            "cosine",
            {"preset": "ego"},
            [{"text": f"text number {n}", "vector": unit(0)} for n in range(64)],
            "cosine",
        ),
        (
            "session",
            {"preset": "ego", "cosine_distance_below": 0.0, "session_cosine_at_least": 0.9},
            [{"text": f"text number {n}", "vector": unit(0)} for n in range(64)],
            "session_cosine",
        ),
        (
            "words",
            {},
            [{"text": text, "vector": unit(0)} for text in FORMATS],
            "jaccard",
        ),
    ],
)
def test_race_of_64_exactly_one_is_saved(
    daemon: DaemonProcess,
    tmp_path: Path,
    name: str,
    settings: dict[str, Any],
    items: list[dict[str, Any]],
    method: str,
) -> None:
    items = [
        {**item, "vector": item.get("vector", unit(number % 8))}
        for number, item in enumerate(items)
    ]
    with totonoe.Client(daemon.address) as client:
        client.create_collection(
            f"race-{name}", client_vector_dimension=8, guard=totonoe.GuardPolicy(**settings)
        )
    answers = race(daemon, f"race-{name}", items, tmp_path)
    saved = [memory_id for was_saved, memory_id, _ in answers if was_saved]
    assert len(answers) == PROCESSES * CALLS_EACH
    assert len(saved) == 1
    assert {memory_id for _, memory_id, _ in answers} == set(saved)
    methods = {how for was_saved, _, how in answers if not was_saved}
    assert method in methods
    assert methods <= {method, "exact"}
