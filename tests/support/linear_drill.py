"""Histories of many clients in several processes, for the check against a model."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import totonoe
from support.daemons import DaemonProcess
from support.linear_check import Model, NotLinearizableError, check, is_live, seen
from support.linear_clients import DIMENSION, Event, shown
from support.processes import ROOT, at_once

PROCESSES = 3
CLIENTS = 32
COLLECTION = "drill"
AS_OF_EVERY = 40
PATH = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])


def history(address: str, seed: int, calls_each: int, folder: Path) -> list[Event]:
    """What CLIENTS clients in PROCESSES processes were told of a new collection."""
    with totonoe.Client(address) as client:
        client.create_collection(
            COLLECTION,
            client_vector_dimension=DIMENSION,
            guard=totonoe.GuardPolicy(preset="ego", exact=True, cosine_distance_below=0.0),
        )
    names = [f"agent-{number}" for number in range(CLIENTS)]
    jobs = [
        {
            "address": address,
            "collection": COLLECTION,
            "names": names[number::PROCESSES],
            "seed": seed,
            "count": calls_each,
        }
        for number in range(PROCESSES)
    ]
    command = [sys.executable, "-m", "support.linear_clients"]
    said = at_once(command, jobs, folder, PYTHONPATH=PATH)
    events = [Event(**json.loads(line)) for lines in said for line in lines]
    assert len(events) == CLIENTS * calls_each
    return events


def check_past(address: str, model: Model) -> None:
    """What a daemon says now, and of some revisions afterwards, is what the model says."""
    last = len(model.states) - 1
    with totonoe.Client(address, collection=COLLECTION) as client:
        for revision in [*range(1, last, AS_OF_EVERY), last]:
            told = {
                entry["id"]: seen(entry)
                for entry in (shown(memory) for memory in client.list_all(as_of=revision))
            }
            state = model.states[revision]
            live = {key: version for key, version in state.items() if is_live(version)}
            assert told == live, f"revision {revision}"


def check_all_was_met(events: list[Event]) -> None:
    """Whether a history has every change and the refusals that races bring."""
    calls = {event.call for event in events if event.answer.get("changed")}
    assert calls == {"remember", "update", "retext", "expecting", "forget", "merge", "undo"}
    reasons = {event.error for event in events if event.error}
    assert reasons >= {"NOT_ACTIVE", "STALE_REVISION", "UNDO_CONFLICT"}


class BrokenDaemon(DaemonProcess):
    """A daemon that is broken on purpose."""

    def __init__(self, data_dir: Path, name: str, store: str = "") -> None:
        super().__init__(data_dir, embedder="none", store=store)
        self._name = name

    def command(self) -> list[str]:
        return [sys.executable, "-m", "support.broken_daemon", self._name]

    def environment(self) -> dict[str, str]:
        return super().environment() | {"PYTHONPATH": PATH}


def is_wrong(events: list[Event], *, of_several: bool = False) -> bool:
    try:
        check(events, of_several=of_several)
    except NotLinearizableError:
        return True
    return False
