"""No call holds the event loop up: what is long is built and encoded on other threads.

A step of the loop is measured by the functions that it calls, which is the same on every machine;
`bench/held.py` measures its time.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

import totonoe
from support.waits import wait_s
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import memory_service_pb2_grpc, operations_pb2
from totonoe_core.base import limits
from totonoe_server.tools.testing import RunningServer, running_server

ROWS = 60
ATTRIBUTES = {f"k{number}": float(number) for number in range(900)}
CALLS_MAX = 500
"""Functions that one step of the loop calls at most. The longest row alone has 1,800 values."""


class Steps:
    """Counts what each step of a running event loop calls."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.most = self._count = 0
        self._loop = loop

    def _seen(self, frame: Any, event: str, _: Any) -> None:
        if event == "call":
            if frame.f_code is asyncio.Handle._run.__code__:
                self._count = 0
            self._count += 1
            self.most = max(self.most, self._count)

    async def _set(self, seen: Any) -> int:
        sys.setprofile(seen)
        return threading.get_ident()

    def __enter__(self) -> Steps:
        asyncio.run_coroutine_threadsafe(self._set(self._seen), self._loop).result(wait_s())
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._set(None), self._loop).result(wait_s())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A daemon with the longest rows that are allowed, twice each: changed once."""
    with running_server(tmp_path_factory.mktemp("held")) as server:
        with totonoe.Client(server.address, agent_id="anna", timeout_s=wait_s()) as client:
            drafts = [
                totonoe.Draft(
                    f"note {number} {'x' * 1000}",
                    attributes=ATTRIBUTES,
                    payload=ATTRIBUTES,
                    category="file",
                    tags=["long"],
                )
                for number in range(ROWS)
            ]
            assert sum(1 for _ in client.remember_many(drafts)) == ROWS
            first = saved_ids(client)[0]
            for number in range(ROWS):
                client.update(first, importance=1 + number % 5, reason="r" * 1000)
        yield server


def step(server: RunningServer) -> Steps:
    assert server._loop is not None
    return Steps(server._loop)


def saved_ids(client: totonoe.Client) -> list[str]:
    return [memory.id for memory in client.list_all(tags=["long"])]


def consolidated(client: totonoe.Client) -> None:
    for _ in client.consolidate():
        pass


def exported(client: totonoe.Client) -> None:
    for _ in client.export(include_vectors=True):
        pass


def watched(client: totonoe.Client) -> None:
    for event in client.watch(after_revision=0):
        if event.revision >= ROWS:
            return


CALLS: dict[str, Callable[[totonoe.Client], Any]] = {
    "List": lambda client: client.list(page_size=1000, include_vectors=True),
    "List as of": lambda client: client.list(page_size=1000, as_of=ROWS),
    "Get": lambda client: client.get_many(saved_ids(client)),
    "Recall": lambda client: client.recall("note", k=1000, categories=["file"]),
    "History": lambda client: client.history(saved_ids(client)[0], page_size=1000),
    "ListOperations": lambda client: client.operations(page_size=1000),
    "Export": exported,
    "Watch": watched,
    "Consolidate": consolidated,
    "Forget of a filter": lambda client: client.forget(tags=["long"], dry_run=True),
    "Update": lambda client: client.update(saved_ids(client)[1], importance=2),
    "Neighbors": lambda client: client.neighbors(saved_ids(client)[:20]),
    "Undo": lambda client: client.undo(1, dry_run=True),
}


@pytest.mark.parametrize("call", CALLS)
def test_no_step_of_the_loop_is_long(server: RunningServer, call: str) -> None:
    with (
        totonoe.Client(server.address, agent_id="anna", timeout_s=wait_s()) as client,
        step(server) as steps,
    ):
        CALLS[call](client)
    assert 0 < steps.most < CALLS_MAX


def test_measure_sees_a_step_that_builds(server: RunningServer) -> None:
    async def build() -> None:
        for _ in range(2 * CALLS_MAX):
            _nothing()

    with step(server) as steps:
        assert server._loop is not None
        asyncio.run_coroutine_threadsafe(build(), server._loop).result(wait_s())
    assert steps.most > CALLS_MAX


def _nothing() -> None:
    """Counts as one call."""


def test_messages_of_pages_and_streams_are_of_bounded_size(server: RunningServer) -> None:
    with grpc.insecure_channel(server.address) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        token, count, lengths = "", 0, []
        while count == 0 or token:
            request = pb.ListRequest(agent_id="anna", page_size=1000, page_token=token)
            page = stub.List(request, timeout=wait_s())
            token, count = page.next_page_token, count + len(page.memories)
            lengths.append(page.ByteSize())
        assert count == ROWS and len(lengths) > 1
        watching = stub.Watch(
            operations_pb2.WatchRequest(agent_id="anna", after_revision=0), timeout=wait_s()
        )
        for message in watching:
            lengths.append(message.ByteSize())
            if message.HasField("heartbeat"):
                break
        watching.cancel()
    # Sizes are estimated, and a message has its last row whole.
    assert max(lengths) < 2 * limits.PAGE_BYTES_GOAL
