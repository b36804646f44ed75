"""How a client proves who it is: a token, a certificate; and when it may send them."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from totonoe.call.channel import TLS_SCHEME, Connection, channel_options
from totonoe.errors import InsecureConnection

TOKEN_VARIABLE = "TOTONOE_TOKEN"
CA_VARIABLE = "TOTONOE_CA"
CERT_VARIABLE = "TOTONOE_CERT"
KEY_VARIABLE = "TOTONOE_KEY"
_BYTES_MAX = 1024 * 1024
_TOKEN = re.compile(r"ttn_[0-9A-Za-z]{43}")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Prove a client, and check a daemon, at one address.

    Attributes
    ----------
    address : str
        As `resolve_address` returns it.
    token : str
        Empty: none is sent.
    ca, cert, key : bytes or None
        In PEM: the authority of the daemon's certificate (`None`: those of the system), the
        client's own certificate and its key.
    """

    address: str
    token: str = field(default="", repr=False)
    ca: bytes | None = field(default=None, repr=False)
    cert: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of each call."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    @property
    def target(self) -> str:
        """The address as gRPC takes it."""
        return self.address.removeprefix(TLS_SCHEME)

    def open(self, library: Any, several: bool) -> Any:
        """A channel of `grpc` or `grpc.aio`; it connects at its first call.

        `several` is true if there are other daemons to ask.
        """
        options = channel_options(several)
        if not self.address.startswith(TLS_SCHEME):
            return library.insecure_channel(self.target, options=options)
        credentials = grpc.ssl_channel_credentials(self.ca, self.key, self.cert)
        return library.secure_channel(self.target, credentials, options=options)


def connection(found: Sequence[Credentials], library: Any) -> Connection:
    """A connection of `grpc` or `grpc.aio` to the daemons at the addresses of some credentials."""
    several = len(found) > 1
    return Connection(
        [credentials.open(library, several) for credentials in found], found[0].metadata
    )


def resolve_credentials(
    address: str,
    token: str | None,
    ca: str | os.PathLike[str] | None,
    cert: str | os.PathLike[str] | None,
    key: str | os.PathLike[str] | None,
) -> Credentials:
    """Credentials of what was given, else of the environment. An empty text: without.

    Raises
    ------
    InsecureConnection
        The token would go over plain TCP to another machine.
    ValueError
        The token has another form, a file cannot be read, or it is given for a plain address.
    """
    found = (os.environ.get(TOKEN_VARIABLE, "") if token is None else token).strip()
    if found and not _TOKEN.fullmatch(found):
        # Without what was got: it may be a token that lost a character.
        raise ValueError("token: allowed: `ttn_` and 43 letters and digits")
    if address.startswith(TLS_SCHEME):
        files = {
            name: _file(name, os.environ.get(variable, "") if given is None else given)
            for name, given, variable in (
                ("ca", ca, CA_VARIABLE),
                ("cert", cert, CERT_VARIABLE),
                ("key", key, KEY_VARIABLE),
            )
        }
        if (files["cert"] is None) != (files["key"] is None):
            raise ValueError("cert and key: give both, or neither")
        return Credentials(address, found, **files)
    for name, given in (("ca", ca), ("cert", cert), ("key", key)):
        if given:
            raise ValueError(f"{name}: needs an address of the form https://host:port")
    if found and not _stays_here(address):
        raise InsecureConnection(
            f"a token is not sent to {address} over plain TCP, where others can read it: "
            f"give the address as {TLS_SCHEME}{address}"
        )
    return Credentials(address, found)


def _stays_here(address: str) -> bool:
    """Whether nothing that is sent to a plain address leaves this machine."""
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].removeprefix("[").removesuffix("]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _file(name: str, path: str | os.PathLike[str]) -> bytes | None:
    if not os.fspath(path):
        return None
    try:
        with Path(path).expanduser().open("rb") as file:
            data = file.read(_BYTES_MAX + 1)
    except OSError as error:
        raise ValueError(f"{name}: {path}: {error.strerror}") from None
    if len(data) > _BYTES_MAX or b"-----BEGIN" not in data:
        raise ValueError(f"{name}: {path}: no file in PEM")
    return data
