"""Runs the MCP server on standard input and output, or over HTTP on this machine."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from totonoe.mcp.secret import Guarded, own_secret, secret_path
from totonoe.mcp.settings import Settings

if TYPE_CHECKING:
    from totonoe.mcp.server import MemoryServer

PATH = "/mcp"
BACKLOG = 128
"""Connections that wait to be accepted."""
PROBE_S = 1.0
"""Seconds after which a server that does not accept counts as there."""


def serve(settings: Settings) -> None:
    """Serve until the host closes the input, or a signal ends the process.

    Raises
    ------
    ValueError
        The address of the transport `http` cannot be had, or its secret not be used.
    """
    # Before the SDK sets up a log of its own. The standard output belongs to the protocol.
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    from totonoe.mcp.server import MemoryServer

    server = MemoryServer(settings)
    if settings.over_http:
        _serve_http(server, settings)
    else:
        server.run("stdio")


def _serve_http(server: MemoryServer, settings: Settings) -> None:
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    by_path = bool(settings.listen_path)
    # Only this user reaches a socket of mode 0600; a port is open to every user of the machine.
    secret, made = ("", False) if by_path else own_secret()
    # uvicorn stops, then raises the signal again: the file of a socket is still to be removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with _bound(settings) as bound:
        names, url = _names(bound, settings)
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            host=settings.listen_host,
            # A page of another site, and of another server of this machine, must not reach it.
            transport_security=TransportSecuritySettings(
                allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
            ),
        )
        config = uvicorn.Config(
            app if by_path else Guarded(app, secret),
            log_config=None,
            access_log=False,
            lifespan="on",
        )
        print(f"totonoe mcp listens on {url}", file=sys.stderr)
        if made:
            headers = {"Authorization": f"Bearer {secret}"}
            entry = json.dumps({"totonoe": {"type": "http", "url": url, "headers": headers}})
            print(f"Entry of a host, shown this once: {entry}", file=sys.stderr)
        if secret:
            print(f"The secret of the header Authorization is in {secret_path()}", file=sys.stderr)
        sys.stderr.flush()
        uvicorn.Server(config).run(sockets=[bound])


@contextmanager
def _bound(settings: Settings) -> Iterator[socket.socket]:
    """Listen on the address of the settings, so that whoever reads the next line is not refused.

    Raises `ValueError` if it cannot be had.
    """
    path = settings.listen_path
    place = path or f"{settings.listen_host}:{settings.listen_port}"
    family = socket.AF_INET6 if ":" in settings.listen_host else socket.AF_INET
    with socket.socket(socket.AF_UNIX if path else family) as bound:
        try:
            if path:
                _bind_path(bound, path)
            else:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                bound.bind((settings.listen_host, settings.listen_port))
            bound.listen(BACKLOG)
        except OSError as error:
            raise ValueError(f"listen: got {place}: {error.strerror or error}") from None
        try:
            yield bound
        finally:
            if path:
                Path(path).unlink(missing_ok=True)


def _bind_path(bound: socket.socket, path: str) -> None:
    """Bind a Unix socket of mode 0600, in place of one whose server has ended."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.lstat(path).st_mode) and not _answers(path):
            Path(path).unlink()
    # Set by the umask, so that there is no moment in which others may connect.
    before = os.umask(0o177)
    try:
        bound.bind(path)
    finally:
        os.umask(before)


def _answers(path: str) -> bool:
    """Return true if a server listens on a Unix socket, or that cannot be found out."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(PROBE_S)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
    return True


def _names(bound: socket.socket, settings: Settings) -> tuple[list[str], str]:
    """Return what the header Host may say, and the URL for hosts."""
    if settings.listen_path:
        return ["localhost"], f"unix:{settings.listen_path} (http://localhost{PATH})"
    host = settings.listen_host
    literal = f"[{host}]" if ":" in host else host
    port = bound.getsockname()[1]
    names = [f"{name}:{port}" for name in dict.fromkeys((literal, "localhost"))]
    return names, f"http://{names[0]}{PATH}"
