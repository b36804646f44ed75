"""Runs the MCP server on standard input and output, or over HTTP on a loopback address."""

from __future__ import annotations

import logging
import socket
import sys
from typing import TYPE_CHECKING

from totonoe.mcp.settings import Settings

if TYPE_CHECKING:
    from totonoe.mcp.server import MemoryServer

PATH = "/mcp"
BACKLOG = 128
"""Connections that wait to be accepted."""


def serve(settings: Settings) -> None:
    """Serve until the host closes the input, or a signal ends the process.

    Raises
    ------
    ValueError
        The port of the transport `http` cannot be had.
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

    family = socket.AF_INET6 if ":" in settings.listen_host else socket.AF_INET
    with socket.socket(family) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((settings.listen_host, settings.listen_port))
        except OSError as error:
            place = f"{settings.listen_host}:{settings.listen_port}"
            raise ValueError(f"listen: got {place}: {error.strerror}") from None
        # Now, so that whoever reads the line below is not refused.
        bound.listen(BACKLOG)
        port = bound.getsockname()[1]
        literal = f"[{settings.listen_host}]" if family == socket.AF_INET6 else settings.listen_host
        names = [f"{name}:{port}" for name in dict.fromkeys((literal, "localhost"))]
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            host=settings.listen_host,
            # A page of another site, and of another server of this machine, must not reach it.
            transport_security=TransportSecuritySettings(
                allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
            ),
        )
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on")
        print(f"totonoe mcp listens on http://{literal}:{port}{PATH}", file=sys.stderr, flush=True)
        uvicorn.Server(config).run(sockets=[bound])
