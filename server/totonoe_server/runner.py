"""The daemon as a process: signals and exit codes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from totonoe_server import process
from totonoe_server.config import Settings
from totonoe_server.daemon import Daemon, StartupError
from totonoe_server.logs import logger, trace_of

FORCED_EXIT_S = 5.0


class ExitCode(IntEnum):
    """How `serve` ends. `docs/configuration.md` shows them to users."""

    STOPPED = 0
    FAILED = 1
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
            # What a thread began runs to its end, and `start` gives back what it took.
            starting.cancel()
            await _or_forced(asyncio.wait((starting,)), signals)
            return ExitCode.STOPPED
        try:
            await starting
        except StartupError as error:
            print(f"totonoe: {error}", file=sys.stderr, flush=True)
            return ExitCode.NOT_STARTED
        except Exception as error:
            logger.critical("internal error while starting", **trace_of(error))
            return ExitCode.FAILED
        process.settle()
        await signals.stop.wait()
        logger.info("stopping", grace_s=settings.grace_s)
        await _or_forced(daemon.stop(settings.grace_s), signals, daemon)
        return ExitCode.STOPPED


async def _or_forced(
    work: Coroutine[Any, Any, object], signals: _Signals, daemon: Daemon | None = None
) -> None:
    """Waits for the end; forced, cuts calls off and leaves the process if that is not enough."""
    ending = asyncio.ensure_future(work)
    await _either(ending, signals.force)
    if not ending.done():
        hurried = [ending] if daemon is None else [ending, asyncio.ensure_future(daemon.stop(0.0))]
        await asyncio.wait(hurried, timeout=FORCED_EXIT_S)
    if not ending.done():
        # What was acknowledged is on disk, so leaving is safe, and it has to be this way:
        # the interpreter would wait for the threads.
        logger.warning("forced")
        sys.stderr.flush()
        os._exit(ExitCode.FORCED)
    await ending


async def _either(work: asyncio.Future[Any], event: asyncio.Event) -> None:
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
