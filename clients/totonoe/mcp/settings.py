"""Settings of the MCP server: options of `totonoe mcp`, then the environment, then defaults."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from totonoe.call.channel import TLS_SCHEME, resolve_address
from totonoe.call.retry import checked_timeout_s
from totonoe.mcp.project import project_collection

PROJECT = "project"
"""Value of `--collection` that means the git repository of the working directory."""
TRANSPORTS = ("stdio", "http")
TOOL_SETS = ("core", "full")
LISTEN_DEFAULT = "127.0.0.1:7767"
UNIX_SCHEME = "unix:"
CALL_S = 30.0
"""Seconds that a call of the daemon may take."""
TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off"})

_LISTEN = re.compile(r"(?P<host>\[[0-9a-f:]+\]|[0-9.]+|localhost):(?P<port>[0-9]{1,5})\Z")


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one server.

    Attributes
    ----------
    agent : str
        Agent of every call; empty: that of the identity if there is a token or certificate, else
        the name that the host gives, else `mcp`.
    session : str
        Session of new memories; empty over HTTP: none but that of a request.
    collection : str
        Empty for `default`. Any other is made at its first use.
    listen_host, listen_port
        Address of the transport `http`; port 0 takes a free one.
    listen_path : str
        Unix socket of the transport `http`, in place of an address; empty: none.
    scaffolds : bool
        Advice of answers holds questions that an agent may ask itself.
    token, ca, cert, key
        As of `totonoe.Client`; `None`: those of the environment.
    proved : bool
        A token or a certificate proves the caller.
    timeout_s : float
        Seconds that a call of the daemon may take.
    """

    address: str
    agent: str = ""
    session: str = ""
    collection: str = ""
    transport: str = "stdio"
    listen_host: str = "127.0.0.1"
    listen_port: int = 7767
    listen_path: str = ""
    tools: str = "core"
    scaffolds: bool = False
    start_daemon: bool = True
    timeout_s: float = CALL_S
    token: str | None = field(default=None, repr=False)
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    proved: bool = False

    @property
    def over_http(self) -> bool:
        """True if the requests come over HTTP."""
        return self.transport == "http"


def load_settings(
    *,
    transport: str | None = None,
    agent: str | None = None,
    session: str | None = None,
    collection: str | None = None,
    address: str | None = None,
    tools: str | None = None,
    listen: str | None = None,
    scaffolds: bool | None = None,
    start_daemon: bool | None = None,
    timeout_s: float | None = None,
    token: str | None = None,
    ca: Path | None = None,
    cert: Path | None = None,
    key: Path | None = None,
    folder: Path | None = None,
) -> Settings:
    """Return the settings; `None` takes the variable `TOTONOE_` and the name, else the default.

    Parameters
    ----------
    folder : Path or None
        Where the search for the git repository begins; `None`: the working directory.

    Raises
    ------
    ValueError
        A setting is wrong; the message names it and what is allowed.
    """
    chosen = _one_of("transport", _given(transport, "transport", "stdio"), TRANSPORTS)
    host, port, path = _listening(_given(listen, "listen", LISTEN_DEFAULT))
    wanted = _given(collection, "collection", "")
    is_project = wanted == PROJECT
    where = resolve_address(address)
    proofs = [_given(token, "token", "")]
    if where.startswith(TLS_SCHEME):
        proofs.append(_given(str(cert) if cert else None, "cert", ""))
    own_session = f"mcp_{secrets.token_hex(6)}" if chosen == "stdio" else ""
    return Settings(
        address=where,
        agent=_given(agent, "agent", ""),
        session=_given(session, "session", own_session),
        collection=project_collection(folder or Path.cwd()) if is_project else wanted,
        transport=chosen,
        listen_host=host,
        listen_port=port,
        listen_path=path,
        tools=_one_of("tools", _given(tools, "tools", "core"), TOOL_SETS),
        scaffolds=_flag(scaffolds, "scaffolds", default=False),
        start_daemon=_flag(start_daemon, "start_daemon", default=True),
        timeout_s=checked_timeout_s(CALL_S if timeout_s is None else timeout_s),
        token=token,
        ca=ca,
        cert=cert,
        key=key,
        proved=any(proofs),
    )


def _given(value: str | None, name: str, default: str) -> str:
    """Return the option, else the environment's value, else the default. Blank: not given."""
    for candidate in (value, os.environ.get(f"TOTONOE_{name.upper()}")):
        if candidate is not None and candidate.strip():
            return candidate.strip()
    return default


def _flag(value: bool | None, name: str, default: bool) -> bool:
    if value is not None:
        return value
    word = _given(None, name, "").lower()
    if word in TRUE_WORDS | FALSE_WORDS:
        return word in TRUE_WORDS
    if word:
        raise ValueError(f"TOTONOE_{name.upper()}: got {word!r}, allowed: 1 or 0")
    return default


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{name}: got {value!r}, allowed: {' or '.join(allowed)}")
    return value


def _listening(text: str) -> tuple[str, int, str]:
    """Return host and port of a loopback address, and the path of a Unix socket in their place.

    Raises `ValueError` for any other address.
    """
    path = text.removeprefix(UNIX_SCHEME)
    if path != text and Path(path).is_absolute():
        return "localhost", 0, path
    match = _LISTEN.match(text)
    allowed = "a loopback address and a port, for instance 127.0.0.1:7767, or unix:/path"
    if match is None or int(match["port"]) > 65535:
        raise ValueError(f"listen: got {text!r}, allowed: {allowed}")
    # Not looked up: a name server or hosts file could send it elsewhere.
    host = "127.0.0.1" if match["host"] == "localhost" else match["host"].strip("[]")
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise ValueError(f"listen: got {text!r}, allowed: {allowed}")
    return host, int(match["port"]), ""
