"""Histories of many clients in several processes, checked against a model in revision order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import totonoe
from support.broken_daemon import BREAKS
from support.daemons import DaemonProcess
from support.linear_check import Model, NotLinearizableError, check, is_live, seen
from support.linear_clients import DIMENSION, Event, shown
from support.processes import ROOT
from support.waits import wait_s

PROCESSES = 3
CLIENTS = 32
COLLECTION = "drill"
AS_OF_EVERY = 40


def history(daemon: DaemonProcess, seed: int, calls_each: int, folder: Path) -> list[Event]:
    """What CLIENTS clients in PROCESSES processes were told of a new collection."""
    with totonoe.Client(daemon.address) as client:
        client.create_collection(
            COLLECTION,
            client_vector_dimension=DIMENSION,
            guard=totonoe.GuardPolicy(preset="ego", exact=True, cosine_distance_below=0.0),
        )
    names = [f"agent-{number}" for number in range(CLIENTS)]
    start = folder / "start"
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    }
    workers = []
    for number in range(PROCESSES):
        worker = subprocess.Popen(
            [sys.executable, "-m", "support.linear_clients"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        job = {
            "address": daemon.address,
            "collection": COLLECTION,
            "names": names[number::PROCESSES],
            "seed": seed,
            "count": calls_each,
            "start": str(start),
        }
        assert worker.stdin is not None
        worker.stdin.write(json.dumps(job))
        worker.stdin.close()
        workers.append(worker)
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    start.touch()
    events = []
    for worker in workers:
        assert worker.stdout is not None
        events += [Event(**json.loads(line)) for line in worker.stdout]
        worker.stdout.close()
        assert worker.wait(wait_s()) == 0
    start.unlink()
    assert len(events) == CLIENTS * calls_each
    return events


def check_past(daemon: DaemonProcess, model: Model) -> None:
    """What the daemon says now, and of some revisions afterwards, is what the model says."""
    last = len(model.states) - 1
    with totonoe.Client(daemon.address, collection=COLLECTION) as client:
        for revision in [*range(1, last, AS_OF_EVERY), last]:
            told = {
                one["id"]: seen(one)
                for one in (shown(memory) for memory in client.list_all(as_of=revision))
            }
            state = model.states[revision]
            live = {one: version for one, version in state.items() if is_live(version)}
            assert told == live, f"revision {revision}"


def test_what_32_clients_are_told_has_one_order(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path / "data", embedder="none") as daemon:
        events = history(daemon, 1, 60, tmp_path)
        model = check(events)
        check_past(daemon, model)
    calls = {event.call for event in events if event.answer.get("changed")}
    assert calls == {"remember", "update", "retext", "expecting", "forget", "merge", "undo"}
    reasons = {event.error for event in events if event.error}
    assert reasons >= {"NOT_ACTIVE", "STALE_REVISION", "UNDO_CONFLICT"}


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 130))
def test_long_histories_have_one_order(tmp_path: Path, seed: int) -> None:
    with DaemonProcess(tmp_path / "data", embedder="none") as daemon:
        model = check(history(daemon, seed, 200, tmp_path))
        check_past(daemon, model)


class BrokenDaemon(DaemonProcess):
    """A daemon that is broken on purpose."""

    def __init__(self, data_dir: Path, name: str) -> None:
        super().__init__(data_dir, embedder="none")
        self._name = name

    def command(self) -> list[str]:
        return [sys.executable, "-m", "support.broken_daemon", self._name]

    def environment(self) -> dict[str, str]:
        paths = [str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
        return super().environment() | {"PYTHONPATH": os.pathsep.join(paths)}


def is_found(data_dir: Path, name: str, seed: int) -> bool:
    """Whether a history of a broken daemon shows what is broken."""
    data_dir.parent.mkdir()
    with BrokenDaemon(data_dir, name) as daemon:
        events = history(daemon, seed, 40, data_dir.parent)
    try:
        check(events)
    except NotLinearizableError:
        return True
    return False


@pytest.mark.parametrize("name", [one.__name__ for one in BREAKS])
def test_check_finds_what_is_broken_on_purpose(tmp_path: Path, name: str) -> None:
    # Which calls meet in a batch is the machine's: one history may miss it.
    assert any(is_found(tmp_path / str(seed) / "data", name, seed) for seed in range(1, 6))
