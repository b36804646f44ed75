"""Watchers of a daemon that is killed while agents write miss nothing and hear nothing twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

import totonoe
from support.daemons import DaemonProcess, command_process
from support.waits import wait_s, wait_until
from totonoe.errors import NotActive, NotFound, StaleRevision

WATCHERS = ("planner", "stranger")
WRITERS = ("planner", "coder")
KILLS = 3
CHANGES_BETWEEN = 40


@contextmanager
def watcher(daemon: DaemonProcess, agent: str, path: Path) -> Iterator[None]:
    """`totonoe watch --from 0 --json` into a file."""
    with (
        path.open("wb") as out,
        command_process(daemon, "watch", "--from", "0", "--json", "--agent", agent, stdout=out),
    ):
        yield


def events(path: Path) -> list[dict[str, Any]]:
    """Whole lines that a watcher wrote."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def changes(path: Path) -> list[dict[str, Any]]:
    """What it was told, without heartbeats."""
    return [event["change"] for event in events(path) if event["change"] is not None]


def write(daemon: DaemonProcess, agent: str, ended: threading.Event) -> None:
    """Remembers, changes, links, forgets and takes back, through kills of the daemon."""
    random = Random(agent)
    patient = totonoe.RetryPolicy(attempts_max=200)
    ids: list[str] = []
    undoable: list[str] = []
    with totonoe.Client(daemon.address, agent_id=agent, retry=patient, timeout_s=120.0) as client:
        number = 0
        while not ended.is_set():
            number += 1
            # Only the planner has secrets, and keeps them.
            private = agent == "planner" and number % 4 == 0
            made = client.remember(f"{agent} notes the number {number}", private=private)
            if private:
                client.update(made.memory_id, importance=random.randint(1, 5))
                continue
            ids.append(made.memory_id)
            one, two = random.choice(ids), random.choice(ids)
            try:
                what = random.randrange(4)
                if what == 0:
                    undoable.append(client.forget(one, reason=f"reason {number}").operation_id)
                elif what == 1:
                    client.update(one, tags=[f"tag {number}"])
                elif what == 2 and one != two:
                    client.link(one, two, confidence=random.random())
                elif undoable:
                    client.undo(undoable.pop(), partial=True, force=True)
            except (NotActive, NotFound, StaleRevision):
                # It is forgotten already, or was changed since: a rightful answer.
                continue


@pytest.mark.timeout(240)
def test_watchers_through_kills_end_with_what_list_shows(tmp_path: Path) -> None:
    files = {agent: tmp_path / f"{agent}.jsonl" for agent in WATCHERS}
    ended = threading.Event()
    with (
        DaemonProcess(tmp_path / "data") as daemon,
        watcher(daemon, "planner", files["planner"]),
        watcher(daemon, "stranger", files["stranger"]),
    ):
        for path in files.values():
            wait_until(lambda path=path: events(path), path.read_bytes)
        writers = [threading.Thread(target=write, args=(daemon, agent, ended)) for agent in WRITERS]
        for writer in writers:
            writer.start()
        try:
            for _ in range(KILLS):
                seen = [len(changes(path)) for path in files.values()]
                wait_until(
                    lambda seen=seen: all(
                        len(changes(path)) >= before + CHANGES_BETWEEN
                        for path, before in zip(files.values(), seen, strict=True)
                    ),
                    lambda: [len(changes(path)) for path in files.values()],
                )
                daemon.kill()
                daemon.start()
        finally:
            ended.set()
            for writer in writers:
                writer.join()
        with totonoe.Client(daemon.address, agent_id="coder") as client:
            last = client.remember("That was all.").revision
        for path in files.values():
            wait_until(lambda path=path: events(path)[-1]["revision"] == last, path.read_bytes)
        secret = secret_revisions(daemon)
        assert secret
        for agent, path in files.items():
            told = [change["operation"]["revision"] for change in changes(path)]
            visible = set(range(1, last + 1)) - (secret if agent == "stranger" else set())
            # In order, none twice, none left out.
            assert told == sorted(visible)
            assert folded(changes(path)) == listed(daemon, agent)


MANY_WATCHERS = 200
MANY_CHANGES = 300


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_200_watchers_through_kills_miss_nothing_and_hear_nothing_twice(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path / "data") as daemon:
        heard: list[list[int]] = [[] for _ in range(MANY_WATCHERS)]

        def watch(revisions: list[int]) -> None:
            with totonoe.Client(daemon.address, timeout_s=120.0) as client:
                for event in client.watch(0):
                    if event.change is not None:
                        revisions.append(event.change.operation.revision)
                    if revisions and revisions[-1] == MANY_CHANGES:
                        return

        watchers = [threading.Thread(target=watch, args=(revisions,)) for revisions in heard]
        for watching in watchers:
            watching.start()
        patient = totonoe.RetryPolicy(attempts_max=200)
        with totonoe.Client(daemon.address, retry=patient, timeout_s=120.0) as client:
            for number in range(MANY_CHANGES):
                client.remember(f"note {number}", force=True)
                if number in (MANY_CHANGES // 3, 2 * MANY_CHANGES // 3):
                    daemon.kill()
                    daemon.start()
        for watching in watchers:
            watching.join(wait_s(300))
        assert not any(watching.is_alive() for watching in watchers)
        assert all(revisions == list(range(1, MANY_CHANGES + 1)) for revisions in heard)


def secret_revisions(daemon: DaemonProcess) -> set[int]:
    """Operations that were done to private memories alone."""
    found: set[int] = set()
    with totonoe.Client(daemon.address, agent_id="planner") as client:
        private = {memory.id for memory in client.list_all() if memory.private}
        token = ""
        while True:
            page = client.operations(page_size=1000, page_token=token)
            for operation in page.operations:
                if operation.memory_ids and private.issuperset(operation.memory_ids):
                    found.add(operation.revision)
            token = page.next_page_token
            if not token:
                return found


def folded(told: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """What somebody has who knows nothing but the changes."""
    held: dict[str, tuple[Any, ...]] = {}
    for change in told:
        for other in change["memories"]:
            memory = other["memory"]
            if memory is None or memory["status"] != "active":
                held.pop(other["memory_id"], None)
            else:
                held[other["memory_id"]] = (
                    memory["content"],
                    tuple(memory["tags"]),
                    memory["importance"],
                    memory["private"],
                )
    return held


def listed(daemon: DaemonProcess, agent: str) -> dict[str, tuple[Any, ...]]:
    """What List shows."""
    with totonoe.Client(daemon.address, agent_id=agent) as client:
        return {
            memory.id: (memory.content, memory.tags, memory.importance, memory.private)
            for memory in client.list_all()
        }
