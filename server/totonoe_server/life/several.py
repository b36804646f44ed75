"""Several daemons of one database on one machine: start them, keep them running, stop them.

This process serves nothing and has nothing open but the ports that its daemons share. The first
daemon starts alone: it compiles what is not compiled yet, and what hinders it hinders all, so that
there is one line about it. Then the others start beside each other. From then on a daemon that
ends is started again, after a wait that doubles while it ends soon. One that shows no sign of life
is killed, which ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from totonoe_core.helper.child import module_path
from totonoe_server.life import logs
from totonoe_server.life.addresses import Address, AddressError, SharedPorts, parse_addresses
from totonoe_server.life.config import Settings, SettingsError, metrics_address_of
from totonoe_server.life.notify import Notifier
from totonoe_server.life.reload import Reloader
from totonoe_server.life.seat import BEAT_S, MODULE, READY, Order, Seat
from totonoe_server.life.watchdog import ENGINE_CLOSE_S, STOP_SPARE_S, ExitCode, watch
from totonoe_server.logger import logger

RESTART_S_MIN, RESTART_S_MAX = 0.5, 30.0
STEADY_S = 60.0
"""After so long the wait before the next start of a daemon begins anew."""


def orders(
    settings: Settings,
    addresses: Sequence[Address],
    given: Mapping[str, object],
    config_file: Path | None,
) -> list[Order]:
    """Return what each daemon is told: the options as they were given, and its own addresses.

    Raises
    ------
    SettingsError
        There is no such address for one of them.
    """
    shared = frozenset(place.target for place in addresses if place.is_shared)
    made = []
    for number in range(1, settings.daemons + 1):
        try:
            own = ",".join(place.of_daemon(number).target for place in addresses)
            parse_addresses(own)
            metrics = metrics_address_of(settings.metrics_address, number)
        except ValueError as error:
            raise SettingsError(str(error)) from None
        options = {name: value for name, value in given.items() if value is not None}
        options |= {"address": own, "metrics_address": metrics, "daemons": 1}
        file = None if config_file is None else str(config_file)
        made.append(Order(Seat(number, settings.daemons, shared), options, file))
    return made


class _KeptDaemon:
    """One daemon, as often as it is started."""

    def __init__(self, order: Order, stopping: asyncio.Event, silent_s_max: float) -> None:
        self._order = order
        self._silent_s_max = silent_s_max
        self._stopping = stopping
        self._process: asyncio.subprocess.Process | None = None
        self._ready_s: float | None = None
        self.served: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Whether it served before it ended for the first time."""

    async def keep(self) -> int:
        """Start it, and again until the stop; return how it ended. It must have served once."""
        loop, wait_s = asyncio.get_running_loop(), RESTART_S_MIN
        while True:
            code = await self._run()
            if not self.served.done():
                self.served.set_result(False)
            if self._stopping.is_set():
                return code
            if not self.served.result():
                logger.error(
                    "a daemon ended before it served", number=self._order.seat.number, code=code
                )
                return code
            if self._ready_s is not None and loop.time() - self._ready_s > STEADY_S:
                wait_s = RESTART_S_MIN
            logger.error(
                "a daemon ended and is started again",
                number=self._order.seat.number,
                code=code,
                wait_s=wait_s,
            )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._stopping.wait()
                return ExitCode.STOPPED
            wait_s = min(2 * wait_s, RESTART_S_MAX)

    async def _run(self) -> int:
        """Start it, and wait for its end; return its exit code."""
        self._ready_s = None
        ours, its = socket.socketpair()
        with ours:
            with its:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", MODULE),
                    stdin=its.fileno(),
                    env={**os.environ, "PYTHONPATH": module_path()},
                    # Ctrl-C in a terminal is for this process, which passes it on once.
                    process_group=0,
                )
            ours.setblocking(False)
            listening = asyncio.ensure_future(self._listen(ours))
            try:
                return await self._process.wait()
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)

    async def _listen(self, wire: socket.socket) -> None:
        """Hand the order over, wait until the daemon says that it serves, and then watch it."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            await loop.sock_sendall(wire, self._order.dumps())
            if await loop.sock_recv(wire, len(READY)):
                self._ready_s = loop.time()
                if not self.served.done():
                    self.served.set_result(True)
                await self._watch(wire)

    async def _watch(self, wire: socket.socket) -> None:
        """Kill the daemon once it is silent for too long. Returns then, or when the wire ends."""
        loop, silent_s = asyncio.get_running_loop(), 0.0
        while silent_s < self._silent_s_max:
            try:
                async with asyncio.timeout(BEAT_S):
                    if not await loop.sock_recv(wire, 1 << 12):
                        return
                silent_s = 0.0
            except TimeoutError:
                # Not by the clock: if the whole machine stood still, that is one beat for us, too.
                silent_s += BEAT_S
        # A stop has limits of its own, in the daemon and here.
        if not self._stopping.is_set():
            logger.error(
                "a daemon shows no sign of life and is killed",
                number=self._order.seat.number,
                silent_s=silent_s,
            )
            self.signal(signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it, if it runs."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)


class _Signals:
    """SIGTERM and SIGINT stop all daemons, SIGHUP lets all read the settings again."""

    def __init__(self, reloader: Reloader) -> None:
        self.stop = asyncio.Event()
        self._reloader = reloader
        self.daemons: list[_KeptDaemon] = []

    def receive(self, number: signal.Signals) -> None:
        if number is signal.SIGHUP:
            if not self.stop.is_set():
                self._reloader.reload()
                self._pass_on(number)
            return
        # The first one ends calls in time, whichever it is; SIGINT after that does not wait.
        first = not self.stop.is_set()
        self.stop.set()
        if first or number is signal.SIGINT:
            self._pass_on(signal.SIGTERM if first else number)

    def _pass_on(self, number: signal.Signals) -> None:
        for daemon in self.daemons:
            daemon.signal(number)


def run(
    settings: Settings,
    load: Callable[[], Settings],
    given: Mapping[str, object],
    config_file: Path | None,
) -> ExitCode:
    """Serve by `settings.daemons` daemons until a signal says to stop. Needs the main thread.

    Parameters
    ----------
    settings : Settings
    load : callable
        Reads the settings again, for SIGHUP. Raises `SettingsError`.
    given : mapping of str to object
        Options by the name of the setting; each daemon gets them, too.
    config_file : Path or None
        The file that `--config` names.
    """
    try:
        held = SharedPorts(parse_addresses(settings.address))
    except AddressError as error:
        print(f"totonoe: {error}", file=sys.stderr, flush=True)
        return ExitCode.NOT_STARTED
    try:
        made = orders(settings, held.addresses, given, config_file)
        return asyncio.run(_run(settings, Reloader(settings, load), made))
    except SettingsError as error:
        print(f"totonoe: {error}", file=sys.stderr, flush=True)
        return ExitCode.NOT_STARTED
    finally:
        held.close()


async def _run(settings: Settings, reloader: Reloader, made: Sequence[Order]) -> ExitCode:
    reloader.on(("log_level",), lambda new: logs.set_level(new.log_level))
    # Each daemon reads it by itself.
    reloader.on(("log_calls",), lambda _: None)
    signals, notifier = _Signals(reloader), Notifier()
    watch(settings.grace_s + ENGINE_CLOSE_S + 2 * STOP_SPARE_S, signals.receive)
    keeping: list[asyncio.Task[int]] = []
    for group in (made[:1], made[1:]):
        daemons = [_KeptDaemon(order, signals.stop, settings.daemon_silent_s) for order in group]
        signals.daemons += daemons
        keeping += [asyncio.create_task(daemon.keep()) for daemon in daemons]
        served = await asyncio.gather(*(daemon.served for daemon in daemons))
        if not all(served) or signals.stop.is_set():
            return await _ended(keeping, signals)
    logger.info("all daemons are ready", daemons=len(made), address=settings.address)
    notifier.ready()
    await signals.stop.wait()
    notifier.stopping()
    return await _ended(keeping, signals)


async def _ended(keeping: Sequence[asyncio.Task[int]], signals: _Signals) -> ExitCode:
    """Stop the daemons that run; return how all of them ended, the worst of it."""
    stopped = signals.stop.is_set()
    if not stopped:
        signals.receive(signal.SIGTERM)
    codes = await asyncio.gather(*keeping)
    if stopped and signals.stop.is_set() and not any(codes):
        return ExitCode.STOPPED
    worst = max(codes, key=lambda code: (code != 0, code in set(ExitCode), code))
    return ExitCode(worst) if worst in set(ExitCode) else ExitCode.FAILED
