"""The daemon as a process: signals and exit codes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from totonoe_server import process
from totonoe_server.config import Settings
from totonoe_server.daemon import Daemon, StartupError
from totonoe_server.logs import logger

FORCED_EXIT_S = 5.0


class ExitCode(IntEnum):
    """How `serve` ends. `docs/configuration.md` shows them to users."""

    STOPPED = 0
    USAGE = 2
    NOT_STARTED = 3
    FORCED = 130


class _Signals:
    """First SIGINT or SIGTERM: stop. SIGINT after that: at once."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.force = asyncio.Event()

    def receive(self, number: signal.Signals) -> None:
        if self.stop.is_set() and number is signal.SIGINT:
            self.force.set()
        self.stop.set()


def run(settings: Settings) -> ExitCode:
    """Serves until a signal says to stop. Needs the main thread."""
    return asyncio.run(_run(settings))


async def _run(settings: Settings) -> ExitCode:
    daemon = Daemon(settings)
    with _handled() as signals:
        starting = asyncio.ensure_future(daemon.start())
        await _either(starting, signals.stop)
        if not starting.done():
            # Told to stop while it started: what a thread began runs to its end, and
            # `start` gives back what it took.
            starting.cancel()
            await asyncio.wait((starting,))
            return ExitCode.STOPPED
        try:
            await starting
        except StartupError as error:
            print(f"totonoe: {error}", file=sys.stderr, flush=True)
            return ExitCode.NOT_STARTED
        process.settle()
        await signals.stop.wait()
        logger.info("stopping", grace_s=settings.grace_s)
        stopping = asyncio.ensure_future(daemon.stop(settings.grace_s))
        await _either(stopping, signals.force)
        if stopping.done():
            await stopping
            return ExitCode.STOPPED
        await asyncio.wait(
            (stopping, asyncio.ensure_future(daemon.stop(0.0))), timeout=FORCED_EXIT_S
        )
        # Something does not end. What was acknowledged is on disk, so leaving is safe, and
        # it has to be this way: the interpreter would wait for the threads.
        logger.warning("forced", unfinished=not stopping.done())
        sys.stderr.flush()
        os._exit(ExitCode.FORCED)


async def _either(work: asyncio.Future[None], event: asyncio.Event) -> None:
    """Waits for whichever comes first; takes nothing back."""
    waiting = asyncio.ensure_future(event.wait())
    await asyncio.wait((work, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


@contextmanager
def _handled() -> Iterator[_Signals]:
    """Signals come here; afterwards they go where they went before."""
    signals = _Signals()
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        loop.add_signal_handler(number, signals.receive, number)
    try:
        yield signals
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
