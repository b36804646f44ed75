"""The daemon with one thread that never ends: `python -m support.stuck_daemon WHAT OPTION...`."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import typer
from numba import njit

from totonoe_core.embedding.service import EmbeddingService
from totonoe_core.engine.catalog import collections
from totonoe_core.engine.embedded import EmbeddedEngine
from totonoe_core.engine.writer.writer import Writer
from totonoe_server.life import daemon, runner, watchdog
from totonoe_server.services.memory import MemoryService
from totonoe_server.tools.commands import serve
from totonoe_server.tools.options import with_settings


@njit(nogil=True)
def _spin(values: Any) -> int:
    """A kernel that trusts what it reads to end its loop."""
    rounds = 0
    while values[rounds % 2] >= 0:
        rounds += 1
    return rounds


def forever(*_: Any, **__: Any) -> Any:
    """Says that it has begun, and never ends, without the GIL."""
    os.write(2, b"stuck now\n")
    return _spin(np.zeros(2, np.int64))


def hold_interpreter(*_: Any, **__: Any) -> Any:
    """Never ends, and no other Python thread runs."""
    os.write(2, b"stuck now\n")
    ctypes.PyDLL(None).sleep(10_000)


def kernel_of_a_reader() -> None:
    """A Get runs in a kernel for ever."""
    EmbeddedEngine.read = lambda self, *_, **__: self._searchers.submit(forever)  # type: ignore[method-assign]


def opening_of_a_collection() -> None:
    """Any collection but the default one is being opened for ever."""
    whole = collections.Collections._open_collection

    def opened(self: Any, name: str) -> Any:
        return forever() if name != "default" else whole(self, name)

    collections.Collections._open_collection = opened  # type: ignore[method-assign]


def writer_at_its_end() -> None:
    """The writer does not end, after all was written."""
    Writer.close = forever  # type: ignore[method-assign]


def embedder_at_its_end() -> None:
    """The embedder does not close."""
    EmbeddingService.close = forever  # type: ignore[method-assign]


def event_loop() -> None:
    """A Get keeps the loop itself."""

    async def get(*_: Any) -> Any:
        return forever()

    MemoryService.Get = get  # type: ignore[method-assign]


def start() -> None:
    """The start does not come to its end."""
    daemon.Daemon._open = forever  # type: ignore[method-assign]


def interpreter() -> None:
    """The engine's closing keeps the GIL."""
    EmbeddedEngine.close = hold_interpreter  # type: ignore[method-assign]


STUCK: dict[str, Callable[[], None]] = {
    made.__name__.replace("_", "-"): made
    for made in (
        kernel_of_a_reader,
        opening_of_a_collection,
        writer_at_its_end,
        embedder_at_its_end,
        event_loop,
        start,
        interpreter,
    )
}

if __name__ == "__main__":
    _spin(-np.ones(2, np.int64))
    runner.ENGINE_CLOSE_S = daemon.ENGINE_CLOSE_S = 0.5
    runner.STOP_SPARE_S = watchdog.FORCED_EXIT_S = 0.5
    STUCK[sys.argv.pop(1)]()
    typer.run(with_settings(serve))
