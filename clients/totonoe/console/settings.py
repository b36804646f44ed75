"""Settings of one console: whom it asks, as whom, and where it listens."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from totonoe.call.channel import DEFAULT_ADDRESS, TLS_SCHEME
from totonoe.call.credentials import TOKEN_VARIABLE
from totonoe.steps import Place, line, starting

PORT_DEFAULT = 7768


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one console.

    Attributes
    ----------
    address : str
        Of the daemon, as `resolve_address` returns it.
    agent, collection : str
        As of `totonoe.Client`; empty: nobody, and `default`.
    place : Place
        The same for lines to type.
    token, ca, cert, key
        As of `totonoe.Client`; `None`: those of the environment.
    """

    address: str
    agent: str = ""
    collection: str = ""
    port: int = PORT_DEFAULT
    timeout_s: float = 30.0
    token: str | None = field(default=None, repr=False)
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    place: Place = field(default_factory=Place)

    @property
    def view(self) -> str:
        """Whose view the pages show, in words."""
        if os.environ.get(TOKEN_VARIABLE, "") if self.token is None else self.token:
            proof = "identity of the token"
        elif self.address.startswith(TLS_SCHEME):
            proof = "identity of the certificate"
        elif self.address.startswith("unix:"):
            proof = "owner, by the socket"
        else:
            proof = "no identity"
        return f"agent {self.agent} ({proof})" if self.agent else proof

    @property
    def collection_name(self) -> str:
        """The collection, by its name."""
        return self.collection or "default"

    def of(self, collection: str) -> Settings:
        """Return the same settings for another collection."""
        return replace(
            self, collection=collection, place=replace(self.place, collection=collection)
        )

    def line(self, *words: str) -> str:
        """Return a line that calls this program where the console looks."""
        return line(self.place, *words)

    def url_line(self) -> str:
        """Return the line that prints a new address of this console."""
        port = () if self.port == PORT_DEFAULT else ("--port", str(self.port))
        return self.line("console", "--url", *port)

    def start_line(self) -> str:
        """Return the line that starts the daemon; empty if it is another machine's."""
        return starting(self.address, DEFAULT_ADDRESS)


def state_dir(port: int) -> Path:
    """Return the folder of what this user's console on a port keeps while it runs."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "totonoe-console" / str(port)
