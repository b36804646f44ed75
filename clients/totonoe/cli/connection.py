"""The client of a command: it waits a little for a daemon that does not serve yet."""

from __future__ import annotations

import typer

from totonoe.call.channel import Connection
from totonoe.client import Client
from totonoe.errors import TotonoeError, Unavailable
from totonoe.words.text import clean

START_WAIT_S = 5.0
"""Longer than the start of a daemon takes, short enough for a person who waits."""


class CommandClient(Client):
    """A client that waits for the daemon before its first call, and prints that it waits.

    It waits for START_WAIT_S at most, or for the client's `timeout_s` if that is shorter, and then
    raises `Unavailable`. What cannot be sent is refused before.
    """

    _asked = False

    @property
    def _channel(self) -> Connection:
        channel = super()._channel
        if not self._asked:
            self._asked = True
            self._wait_for_daemon(min(self._timeout_s, START_WAIT_S))
        return channel

    def _wait_for_daemon(self, limit_s: float) -> None:
        try:
            if self.health(timeout_s=limit_s):
                return
        except Unavailable:
            pass
        except TotonoeError:
            return  # Something answers. The call itself shows what is wrong with it.
        typer.echo(f"Waiting {limit_s:g} s for a daemon at {clean(self.address)} ...", err=True)
        self.wait_ready(timeout_s=limit_s)
