"""The place of a daemon among several that one command started, and its side of the wire to that.

The command writes one line with the place and the settings; the daemon answers with READY when it
serves, and from then on sends a BEAT a second from its event loop. If the wire ends, the command is
gone, and the daemon stops as on SIGTERM: a daemon that nobody looks after would keep the port.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

READY, BEAT = b"ready", b"."
BEAT_S = 1.0
MODULE = "totonoe_server.life.seat"
"""The module that a daemon of several runs."""
_ORDER_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class Seat:
    """The place of one daemon.

    Attributes
    ----------
    number : int
        From 1 on; 0 for a daemon that was started by itself.
    count : int
        Daemons that were started together.
    shared : frozenset of str
        Addresses that they listen on all together.
    """

    number: int = 0
    count: int = 1
    shared: frozenset[str] = frozenset()


ALONE = Seat()


@dataclass(frozen=True, slots=True)
class Order:
    """The settings and the place that the command hands to a daemon.

    Attributes
    ----------
    given : dict of str to object
        Options by the name of the setting, with the daemon's own addresses.
    config_file : str or None
        The file that `--config` names.
    """

    seat: Seat
    given: dict[str, Any]
    config_file: str | None

    def dumps(self) -> bytes:
        """Return it as a line."""
        seat = {
            "number": self.seat.number,
            "count": self.seat.count,
            "shared": sorted(self.seat.shared),
        }
        order = {"seat": seat, "given": self.given, "config_file": self.config_file}
        return json.dumps(order, default=str).encode() + b"\n"

    @classmethod
    def read(cls, wire: socket.socket) -> Order:
        """Read it from the wire. Raises `ValueError` if the wire ends before, or is not one."""
        line = b""
        while not line.endswith(b"\n"):
            more = wire.recv(1 << 16)
            line += more
            if not more or len(line) > _ORDER_BYTES_MAX:
                raise ValueError("no order came")
        order = json.loads(line)
        seat = order["seat"]
        return cls(
            Seat(seat["number"], seat["count"], frozenset(seat["shared"])),
            order["given"],
            order["config_file"],
        )


class Wire:
    """Tells the command how its daemon is; in the place of `Notifier`, which reports to systemd."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire = wire
        self._beating: asyncio.Task[None] | None = None

    def ready(self) -> None:
        """Say that calls are served, and from now on that the daemon is alive. In the loop."""
        self._send(READY)
        self._beating = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            self._send(BEAT)

    def _send(self, word: bytes) -> None:
        """Send it, if there is room: a command that stands still does not hold the loop."""
        with suppress(OSError):
            self._wire.send(word, socket.MSG_DONTWAIT)

    def stopping(self) -> None:
        """Say nothing: the command sees the end of the process, which is alive until then."""

    def stop_with_the_other_end(self) -> None:
        """Begin to wait for the end of the command, and stop this process then."""
        threading.Thread(target=self._wait, name="wire", daemon=True).start()

    def _wait(self) -> None:
        with suppress(OSError):
            while self._wire.recv(1):
                pass
        os.kill(os.getpid(), signal.SIGTERM)


def _taken_from_input() -> socket.socket:
    """Return the wire, which is standard input, and let nobody else read it."""
    wire = socket.socket(fileno=os.dup(0))
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return wire


def main() -> int:
    """Run one daemon of several. Returns its exit code."""
    from totonoe_server.life import process

    process.limit_threads()
    process.quiet_grpc()
    process.hold_collector()
    from totonoe_server.life import config, logs, runner, watchdog
    from totonoe_server.life.config_file import chosen_file

    wire = _taken_from_input()
    order = Order.read(wire)
    file = None if order.config_file is None else Path(order.config_file)

    def load() -> config.Settings:
        return config.load(chosen_file(file), order.given).settings

    try:
        settings = load()
    except config.SettingsError as error:
        print(f"totonoe: {error}", file=sys.stderr, flush=True)
        return watchdog.ExitCode.NOT_STARTED
    logs.configure(settings.log_level, settings.log_format, order.seat.number)
    told = Wire(wire)
    told.stop_with_the_other_end()
    return runner.run(settings, load, order.seat, told)


if __name__ == "__main__":
    sys.exit(main())
