"""The database server stops at once under load: nothing is lost, doubled or half done."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.engines import Store, remember
from support.postgres import Server, engines
from support.waits import wait_s
from totonoe_core.base.errors import Unavailable
from totonoe_core.domain.memories import Remembered
from totonoe_core.domain.queries import ListQuery, OperationFilter, OperationsQuery
from totonoe_core.store.postgres.store import PostgresStore

CRASHES, DAEMONS, CLIENTS = 3, 2, 4
BETWEEN_S, PAUSE_S = 1.0, 0.05


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def daemons(tmp_path: Path, server: Server) -> Iterator[list[Store]]:
    PostgresStore(server.url, tmp_path / "migrating").migrate()
    with engines(tmp_path, server.url, DAEMONS) as found:
        yield found


@pytest.mark.postgres
def test_crash_of_the_server_loses_and_doubles_nothing(
    daemons: list[Store], server: Server
) -> None:
    daemons[0].save("so that the collection is there")
    stop = threading.Event()
    acknowledged: dict[str, str] = {}

    def client(number: int) -> int:
        """Save notes one after the other, each until a daemon says that it is saved."""
        tried = 0
        for note in itertools.count():
            content = f"client {number} writes note {note} about {number * 1000 + note}"
            for turn in itertools.count():
                tried += 1
                try:
                    answer = daemons[(number + turn) % DAEMONS].apply(
                        remember(content, force=True), operation_id=f"op-{number}-{note}"
                    )
                except Unavailable:
                    if stop.is_set():
                        return tried
                    time.sleep(PAUSE_S)
                    continue
                said = answer.results[0]
                assert isinstance(said, Remembered)
                assert said.saved
                acknowledged[content] = said.memory_id
                break
            if stop.is_set():
                return tried
        return tried

    with ThreadPoolExecutor(CLIENTS) as pool:
        running = [pool.submit(client, number) for number in range(CLIENTS)]
        for _ in range(CRASHES):
            time.sleep(BETWEEN_S)
            server.crash()
        time.sleep(BETWEEN_S)
        stop.set()
        tried = sum(future.result(wait_s()) for future in running)
    assert tried > len(acknowledged), "no crash met a call"
    assert len(acknowledged) > CRASHES * CLIENTS
    for store in daemons:
        store.save(f"the end of {store.path.name}")
        kept = listed(store)
        for content, memory_id in acknowledged.items():
            assert kept[content] == [memory_id], "saved once, under the id that was answered"
        assert all(len(ids) == 1 for ids in kept.values()), "nothing twice"
    revisions = operations(daemons[0])
    assert revisions == list(range(len(revisions), 0, -1)), "none is missing"


def listed(store: Store) -> dict[str, list[str]]:
    """Ids by text of all memories."""
    kept: dict[str, list[str]] = {}
    for page in store.pages(ListQuery("anna", page_size=100)):
        for memory in page.memories:
            kept.setdefault(memory.content, []).append(memory.id)
    return kept


def operations(store: Store) -> list[int]:
    """Revisions of all operations, newest first."""
    pages = store.pages(OperationsQuery("anna", OperationFilter(), 100))
    return [operation.revision for page in pages for operation in page.operations]
