"""Feeds bytes that atheris grows by coverage to the decoders and the services of the contract.

    python fuzzing.py RUNS CORPUS

A process of its own, because libFuzzer ends the process that it runs in: 0 after RUNS runs, another
code at the first exception that is not typed. The first byte chooses the method, the rest is its
request. The engine is real, and starts empty.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import atheris
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from support.mutating import Requests, methods
from totonoe_core.base.errors import TotonoeError
from totonoe_core.engine.embedded import EmbeddedEngine
from totonoe_core.store.sqlite.store import SqliteStore

# Not the core: numba cannot compile kernels with marks of coverage in them.
with atheris.instrument_imports(include=["totonoe_server"]):
    from totonoe_server.services.admin import AdminService
    from totonoe_server.services.memory import MemoryService
    from totonoe_server.services.process import Process

SEEDS = 40
ANSWERS_READ = 4
CALL_S_MAX = 60.0
# They write their answers to a context of gRPC and end with their caller.
LEFT_OUT = frozenset({"Multiplex", "Watch"})
METHODS = [method for method in methods() if method.name not in LEFT_OUT]
REQUESTS = [GetMessageClass(method.input_type) for method in METHODS]
KNOWN = {
    "collection": ["", "default", "no-such"],
    "agent_id": ["", "ann"],
    "operation_id": ["", "o1"],
    "content": ["The port is 8080.", "", "a\0b"],
    "text": ["port", ""],
}


def write_corpus(folder: Path) -> None:
    """Writes sensible and senseless requests to begin with."""
    for seed in range(SEEDS):
        requests = Requests(seed, KNOWN)
        for number, method in enumerate(METHODS):
            data = bytes([number]) + requests.request(method).SerializeToString()
            (folder / f"{method.name}-{seed}").write_bytes(data)


async def call(service: Any, method: Any, request: Any) -> None:
    """One call, to its end or to its first answers."""

    async def only() -> AsyncIterator[Any]:
        yield request

    handler = getattr(service, method.name)
    begun = handler(only() if method.client_streaming else request, None)
    if not method.server_streaming:
        await begun
        return
    try:
        for _ in range(ANSWERS_READ):
            await anext(begun)
    except StopAsyncIteration:
        pass
    finally:
        await begun.aclose()


def main() -> None:
    """Runs until the runs are done or something breaks."""
    runs, corpus = sys.argv[1:]
    write_corpus(Path(corpus))
    engine = EmbeddedEngine(
        SqliteStore(Path(tempfile.mkdtemp())), embedding=None, client_vector_dimension=4
    )
    services = {
        "MemoryService": MemoryService(engine),
        "AdminService": AdminService(engine, Process(0, "0")),
    }
    loop = asyncio.new_event_loop()

    def one(data: bytes) -> None:
        number = data[0] % len(METHODS) if data else 0
        method = METHODS[number]
        try:
            request = REQUESTS[number].FromString(data[1:])
        except DecodeError:
            return
        service = services[method.containing_service.name]
        with suppress(TotonoeError):
            loop.run_until_complete(asyncio.wait_for(call(service, method, request), CALL_S_MAX))

    atheris.Setup([sys.argv[0], f"-runs={runs}", "-rss_limit_mb=4096", corpus], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
