"""Report to systemd that the daemon is ready, stops, or is still alive (sd_notify).

systemd names a datagram socket by NOTIFY_SOCKET. Without that variable nothing is sent. The signs
of life come from the event loop, so that systemd restarts a daemon whose loop is stuck.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress

SOCKET_VARIABLE = "NOTIFY_SOCKET"
PERIOD_VARIABLE = "WATCHDOG_USEC"
PID_VARIABLE = "WATCHDOG_PID"


class Notifier:
    """Sends the state of this process. Takes the variables away, so that no child sends."""

    def __init__(self) -> None:
        self._address = os.environ.pop(SOCKET_VARIABLE, "")
        period_us = os.environ.pop(PERIOD_VARIABLE, "")
        pid = os.environ.pop(PID_VARIABLE, "")
        own = pid in ("", str(os.getpid()))
        self._period_s = int(period_us) / 1e6 if own and period_us.isdigit() else 0.0
        self._alive: asyncio.Task[None] | None = None

    def ready(self) -> None:
        """Says that calls are served, and from now on that the daemon is alive. In the loop."""
        self._send("READY=1")
        if self._address and self._period_s:
            self._alive = asyncio.create_task(self._say_alive(self._period_s / 2))

    def stopping(self) -> None:
        """Says that the daemon stops; ends the signs of life, which systemd then wants no more."""
        self._send("STOPPING=1")
        if self._alive is not None:
            self._alive.cancel()

    async def _say_alive(self, every_s: float) -> None:
        while True:
            self._send("WATCHDOG=1")
            await asyncio.sleep(every_s)

    def _send(self, message: str) -> None:
        """Sends one datagram; where nobody takes it, nothing is lost."""
        if not self._address:
            return
        # "@" stands for the zero byte of an abstract name.
        address = "\0" + self._address[1:] if self._address[0] == "@" else self._address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.connect(address)
            sender.send(message.encode())
