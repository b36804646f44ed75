"""The daemon as a process: signals and exit codes."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from totonoe_core.engine.factory import private_files
from totonoe_server.life import logs, process
from totonoe_server.life.config import Settings
from totonoe_server.life.daemon import Daemon, StartupError
from totonoe_server.life.notify import Notifier
from totonoe_server.life.reload import Reloader
from totonoe_server.life.seat import ALONE, Seat, Wire
from totonoe_server.life.watchdog import ENGINE_CLOSE_S, STOP_SPARE_S, ExitCode, watch
from totonoe_server.logger import logger, trace_of


class _Signals:
    """First SIGINT or SIGTERM: stop. SIGINT after that: at once. SIGHUP: read settings again."""

    def __init__(self, reload: Callable[[], None]) -> None:
        self.stop = asyncio.Event()
        self.force = asyncio.Event()
        self._reload = reload

    def receive(self, number: signal.Signals) -> None:
        if number is signal.SIGHUP:
            if not self.stop.is_set():
                self._reload()
            return
        if self.stop.is_set() and number is signal.SIGINT:
            self.force.set()
        self.stop.set()


def run(
    settings: Settings,
    load: Callable[[], Settings],
    seat: Seat = ALONE,
    wire: Wire | None = None,
) -> ExitCode:
    """Serves until a signal says to stop. Needs the main thread, of a process that ends then.

    `load` reads the settings again, for SIGHUP. Raises `SettingsError`. A daemon that is one of
    several has its place, and the wire to what started it.
    """
    with private_files():
        return asyncio.run(_run(settings, Reloader(settings, load), seat, wire))


async def _run(settings: Settings, reloader: Reloader, seat: Seat, wire: Wire | None) -> ExitCode:
    reloader.on(("log_level",), lambda new: logs.set_level(new.log_level))
    daemon, notifier = Daemon(settings, seat=seat), wire or Notifier()
    daemon.join_reload(reloader)
    signals = _Signals(reloader.reload)
    watch(settings.grace_s + ENGINE_CLOSE_S + STOP_SPARE_S, signals.receive)
    starting = asyncio.ensure_future(daemon.start())
    await _either(starting, signals.stop)
    if not starting.done():
        # What a thread began runs to its end, and `start` gives back what it took.
        starting.cancel()
        await asyncio.wait((starting,))
        return ExitCode.STOPPED
    try:
        await starting
    except StartupError as error:
        print(f"totonoe: {error}", file=sys.stderr, flush=True)
        return ExitCode.NOT_STARTED
    except Exception as error:
        logger.critical("internal error while starting", **trace_of(error))
        return ExitCode.FAILED
    notifier.ready()
    process.settle()
    await signals.stop.wait()
    notifier.stopping()
    logger.info("stopping", grace_s=settings.grace_s)
    await _or_forced(daemon, settings.grace_s, signals)
    return ExitCode.STOPPED


async def _or_forced(daemon: Daemon, grace_s: float, signals: _Signals) -> None:
    """Waits for the end; forced, cuts calls off. If that is not enough, the watchdog leaves."""
    ending = asyncio.ensure_future(daemon.stop(grace_s))
    await _either(ending, signals.force)
    hurried: list[Coroutine[Any, Any, None]] = [] if ending.done() else [daemon.stop(0.0)]
    await asyncio.gather(ending, *hurried)


async def _either(work: asyncio.Future[Any], event: asyncio.Event) -> None:
    """Waits for whichever comes first; takes nothing back."""
    waiting = asyncio.ensure_future(event.wait())
    await asyncio.wait((work, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
