"""Real daemons of one database are killed, stand still, or lose the server, under load.

Clients of all three daemons save notes meanwhile, each until a daemon says that it is saved.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import totonoe
from support.daemons import DaemonProcess
from support.postgres import Server, at
from support.waits import wait_s, wait_until
from totonoe import errors
from totonoe_core.store.postgres.store import PostgresStore

DAEMONS, CLIENTS = 3, 6
SAMPLE = 2
"""Rounds of each fault; `TOTONOE_FAULT_ROUNDS` names another number."""
PAUSE_S = 30.0
"""Longer than the server lets a daemon that stands still hold a collection."""
GOES_ON_S = 60.0
"""Clients leave a daemon that stands still after 17 s."""


class Load:
    """Clients that save notes, and what was acknowledged to each."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._stop = threading.Event()
        self.saved: list[dict[str, str]] = [{} for _ in range(CLIENTS)]
        """Of each client: ids by text."""
        self._addresses = addresses
        self._pool = ThreadPoolExecutor(CLIENTS)
        self._running = [self._pool.submit(self._save, number) for number in range(CLIENTS)]

    def _save(self, number: int) -> None:
        addresses = [*self._addresses[number % DAEMONS :], *self._addresses[: number % DAEMONS]]
        with totonoe.Client(",".join(addresses), agent_id=f"agent-{number}") as client:
            for note in itertools.count():
                if self._stop.is_set():
                    return
                text = f"client {number} writes note {note} about {number * 100_000 + note}"
                self.saved[number][text] = self._until_saved(client, text)

    def _until_saved(self, client: totonoe.Client, text: str) -> str:
        operation_id = f"op-{hash(text)}"
        while True:
            try:
                answer = client.remember(text, force=True, operation_id=operation_id)
            except (errors.Unavailable, errors.DeadlineExceeded):
                time.sleep(0.05)
                continue
            assert answer.saved
            return str(answer.memory_id)

    def go_on(self) -> None:
        """Return once every client has had two more answers, so that one began since."""
        before = [len(one) for one in self.saved]
        wait_until(
            lambda: all(
                len(one) > count + 1 or self._running[number].done()
                for number, (one, count) in enumerate(zip(self.saved, before, strict=True))
            ),
            seconds=GOES_ON_S,
        )
        for one in self._running:
            if one.done():
                one.result()

    def stop(self) -> dict[str, str]:
        """Let each client end its note; return ids by text."""
        self._stop.set()
        for one in self._running:
            one.result(wait_s())
        self._pool.shutdown()
        return {text: memory_id for one in self.saved for text, memory_id in one.items()}


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def daemons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server
) -> Iterator[list[DaemonProcess]]:
    PostgresStore(server.url, tmp_path / "migrating").migrate()
    found = [DaemonProcess(tmp_path / f"daemon-{n}", store=at(server.url)) for n in range(DAEMONS)]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with ThreadPoolExecutor(DAEMONS) as starting:
        list(starting.map(DaemonProcess.start, found))
    try:
        yield found
    finally:
        for one in found:
            os.kill(one.pid, signal.SIGCONT)
            one.stop()


@contextmanager
def killed(one: DaemonProcess, _: Server) -> Iterator[None]:
    """SIGKILL, and a start after it."""
    one.kill()
    yield
    one.start()


@contextmanager
def paused(one: DaemonProcess, _: Server) -> Iterator[None]:
    """SIGSTOP for a while."""
    os.kill(one.pid, signal.SIGSTOP)
    begun_s = time.monotonic()
    yield
    time.sleep(max(0.0, PAUSE_S - (time.monotonic() - begun_s)))
    os.kill(one.pid, signal.SIGCONT)


@contextmanager
def server_crashed(_: DaemonProcess, server: Server) -> Iterator[None]:
    """An immediate stop of the database server."""
    server.crash()
    yield


FAULTS = (killed, paused, server_crashed)


@pytest.mark.postgres
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_fault_under_load_loses_and_doubles_nothing(
    daemons: list[DaemonProcess], server: Server, fault
) -> None:
    rounds = int(os.environ.get("TOTONOE_FAULT_ROUNDS", SAMPLE))
    load = Load([one.address for one in daemons])
    load.go_on()
    for number in range(rounds):
        with fault(daemons[number % DAEMONS], server):
            # The others go on without it.
            load.go_on()
        load.go_on()
    saved = load.stop()
    assert len(saved) >= 4 * CLIENTS * rounds
    for one in daemons:
        with totonoe.Client(one.address, agent_id="reader") as client:
            client.remember(f"the end of {one.address}")
            kept: dict[str, list[str]] = {}
            for memory in client.list_all():
                kept.setdefault(memory.content, []).append(memory.id)
            operations = revisions(client)
        lost = {text for text, memory_id in saved.items() if kept.get(text) != [memory_id]}
        assert not lost, "each is saved once, under the id that was answered"
        assert all(len(ids) == 1 for ids in kept.values()), "nothing twice"
        assert operations == list(range(len(operations), 0, -1)), "no revision is missing"


def revisions(client: totonoe.Client) -> list[int]:
    """Revisions of all operations, newest first."""
    found: list[int] = []
    token = ""
    while True:
        page = client.operations(page_size=100, page_token=token)
        found += [one.revision for one in page.operations]
        token = page.next_page_token
        if not token:
            return found
