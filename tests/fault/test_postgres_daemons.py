"""Real daemons of one database are killed, stand still, or lose the server, under load.

Clients of all three daemons save notes meanwhile, each until a daemon says that it is saved. Beside
them each daemon has a client that knows no other one: those of the daemons that are well go on. How
long that took is printed (`pytest -s`).
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import totonoe
from support.between import Between
from support.daemons import DaemonProcess
from support.postgres import Server, at, through
from support.waits import wait_s, wait_until
from totonoe import errors
from totonoe_core.store.postgres.store import PostgresStore

DAEMONS, CLIENTS = 3, 6
SAMPLE = 3
"""Rounds of each fault; `TOTONOE_FAULT_ROUNDS` names another number."""
PAUSE_S = 30.0
"""Longer than the server lets a daemon that stands still hold a collection."""
GOES_ON_S = 60.0
"""Clients leave a daemon that stands still after 17 s."""
MOMENTS = (b"", b"FOR UPDATE", b"COMMIT")
"""When a daemon is struck, in turn: at any time, when it asks for the lock, when it commits."""


class Load:
    """Clients that save notes, and what was acknowledged to each.

    The first `CLIENTS` know all daemons, each of the `DAEMONS` behind them one.
    """

    def __init__(self, addresses: Sequence[str]) -> None:
        self._stop = threading.Event()
        count = CLIENTS + DAEMONS
        self.saved: list[dict[str, str]] = [{} for _ in range(count)]
        """Of each client: ids by text."""
        self._places = [",".join(addresses)] * CLIENTS + [*addresses]
        self._pool = ThreadPoolExecutor(count)
        self._running = [self._pool.submit(self._save, number) for number in range(count)]

    def _save(self, number: int) -> None:
        with totonoe.Client(self._places[number], agent_id=f"agent-{number}") as client:
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

    def go_on(self, clients: Iterable[int] = range(CLIENTS + DAEMONS)) -> float:
        """Return once clients have had two more answers, so that one began since; after how long.

        In seconds. Raises what ended a client.
        """
        begun_s = time.monotonic()
        before = {number: len(self.saved[number]) for number in clients}
        wait_until(
            lambda: all(
                len(self.saved[number]) > count + 1 or self._running[number].done()
                for number, count in before.items()
            ),
            seconds=GOES_ON_S,
        )
        took_s = time.monotonic() - begun_s
        for future in self._running:
            if future.done():
                future.result()
        return took_s

    def stop(self) -> dict[str, str]:
        """Let each client end its note; return ids by text."""
        self._stop.set()
        for future in self._running:
            future.result(wait_s())
        self._pool.shutdown()
        return {text: memory_id for entry in self.saved for text, memory_id in entry.items()}


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    try:
        yield found
    finally:
        found.stop()


class WiredDaemon(DaemonProcess):
    """A daemon whose wire to the database lets a test see what it asks for."""

    def __init__(self, data_dir: Path, wire: tuple[Between, str], first: int) -> None:
        self._between, url = wire
        self._moments = itertools.islice(itertools.cycle(MOMENTS), first, None)
        super().__init__(data_dir, store=url)

    def environment(self) -> dict[str, str]:
        # No statement is prepared, so that each is on the wire as text.
        return super().environment() | {"TOTONOE_STORE_POOLER": "true"}

    def strike(self, how: Callable[[], object]) -> None:
        """Do something to it at the next of `MOMENTS`; the server gets what it sends then."""
        wanted = next(self._moments)
        if not wanted:
            how()
            return
        done = threading.Event()

        def struck() -> None:
            how()
            done.set()

        self._between.met = struck
        self._between.wanted = wanted
        assert done.wait(wait_s()), "it sent nothing like that"


@pytest.fixture
def daemons(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    server: Server,
    request: pytest.FixtureRequest,
) -> Iterator[list[DaemonProcess]]:
    PostgresStore(server.url, tmp_path / "migrating").migrate()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    paths = [tmp_path / f"daemon-{number}" for number in range(DAEMONS)]
    if "server_crashed" in request.node.name:
        yield from started([DaemonProcess(path, store=at(server.url)) for path in paths])
        return
    with ExitStack() as wires:
        wired = [wires.enter_context(through(server.url)) for _ in paths]
        yield from started(
            [WiredDaemon(path, wired[first], first) for first, path in enumerate(paths)]
        )


def started(found: Sequence[DaemonProcess]) -> Iterator[list[DaemonProcess]]:
    with ThreadPoolExecutor(DAEMONS) as starting:
        list(starting.map(DaemonProcess.start, found))
    try:
        yield [*found]
    finally:
        for process in found:
            os.kill(process.pid, signal.SIGCONT)
            process.stop()


@contextmanager
def killed(one: WiredDaemon, _: Server) -> Iterator[None]:
    """SIGKILL, and a start after it."""
    one.strike(one.kill)
    yield
    one.start()


@contextmanager
def paused(one: WiredDaemon, _: Server) -> Iterator[None]:
    """SIGSTOP for a while."""
    one.strike(lambda: os.kill(one.pid, signal.SIGSTOP))
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
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_fault_under_load_loses_and_doubles_nothing(
    daemons: list[DaemonProcess], server: Server, fault
) -> None:
    rounds = int(os.environ.get("TOTONOE_FAULT_ROUNDS", SAMPLE))
    load = Load([process.address for process in daemons])
    load.go_on()
    pauses_s: list[float] = []
    for number in range(rounds):
        victim = number % DAEMONS
        with fault(daemons[victim], server):
            # The others go on without it, and then its own clients with them.
            others = {CLIENTS + at for at in range(DAEMONS) if at != victim}
            pauses_s.append(load.go_on(others))
            load.go_on(range(CLIENTS))
        load.go_on()
    print(
        f"{fault.__name__}: others went on after {sorted(round(pause, 2) for pause in pauses_s)} s"
    )
    saved = load.stop()
    assert len(saved) >= 4 * CLIENTS * rounds
    for process in daemons:
        with totonoe.Client(process.address, agent_id="reader") as client:
            client.remember(f"the end of {process.address}")
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
        found += [operation.revision for operation in page.operations]
        token = page.next_page_token
        if not token:
            return found
