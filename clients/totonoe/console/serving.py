"""Runs the console on a loopback port, and lets its user in."""

from __future__ import annotations

import fcntl
import html
import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from totonoe.console.sessions import Logins
from totonoe.console.settings import Settings, state_dir

HOST = "127.0.0.1"
BACKLOG = 64
CONNECTIONS_MAX = 64
"""Connections at once; further ones are answered with 503."""
GRACE_S = 2
"""Seconds that answers get to come to their end when the console stops."""


def serve(settings: Settings, opens: bool) -> None:
    """Serve until a signal ends the process.

    Parameters
    ----------
    opens : bool
        Show the page in this user's browser.

    Raises
    ------
    ValueError
        The port cannot be had, or a console of this user has it.
    """
    import uvicorn

    from totonoe.console.app import make_app

    # uvicorn stops, then raises the signal again: files are still to be removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    folder = state_dir(settings.port)
    with _locked(folder, settings), _bound(settings.port) as bound:
        logins = Logins(folder / "logins")
        address = login_address(settings.port, logins.make())
        print(f"The console shows {settings.collection_name} at {settings.address}.")
        print(f"Open within 60 s: {address}")
        print(f"A new address:    {settings.url_line()}", flush=True)
        if opens:
            _show(folder, address)
        config = uvicorn.Config(
            make_app(settings, logins),
            log_config=None,
            access_log=False,
            server_header=False,
            # Nobody stands between a browser and this port.
            proxy_headers=False,
            http="h11",
            ws="none",
            lifespan="on",
            limit_concurrency=CONNECTIONS_MAX,
            timeout_graceful_shutdown=GRACE_S,
        )
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[bound])


def new_address(port: int) -> str:
    """Return a new address of the console that this user runs on a port.

    Raises
    ------
    ValueError
        There is none.
    """
    folder = state_dir(port)
    if not _is_locked(folder / "lock"):
        raise ValueError(f"--port: got {port}, allowed: the port of a console that you run")
    return login_address(port, Logins(folder / "logins").make())


def login_address(port: int, token: str) -> str:
    """Return the address that lets in once. What follows the `#` is sent to nobody."""
    return f"http://{HOST}:{port}/login#t={token}"


def _show(folder: Path, address: str) -> None:
    """Open the address in a browser by a file that only this user can read.

    Every user of a machine sees the arguments of a process, and so an address among them.
    """
    page = folder / "open.html"
    page.unlink(missing_ok=True)
    handle = os.open(page, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        shown = html.escape(address)
        file.write(
            '<!doctype html><meta charset="utf-8"><title>totonoe</title>'
            f'<meta http-equiv="refresh" content="0;url={shown}"><a href="{shown}">totonoe</a>\n'
        )
    webbrowser.open(page.as_uri())


@contextmanager
def _locked(folder: Path, settings: Settings) -> Iterator[None]:
    """Hold the folder of a console; what is in it goes at the end. Raises `ValueError`."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    with (folder / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(
                f"--port: got {settings.port}, where your console runs. Its address: "
                f"{settings.url_line()}"
            ) from None
        try:
            yield
        finally:
            (folder / "open.html").unlink(missing_ok=True)
            for path in (folder / "logins").glob("*"):
                path.unlink(missing_ok=True)


def _is_locked(path: Path) -> bool:
    """Return whether a running console holds the lock of a port."""
    try:
        with path.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


@contextmanager
def _bound(port: int) -> Iterator[socket.socket]:
    """Listen on a port, so that whoever reads the next line is not refused. Raises `ValueError`."""
    with socket.socket(socket.AF_INET) as bound:
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((HOST, port))
            bound.listen(BACKLOG)
        except OSError as error:
            raise ValueError(f"--port: got {port}: {error.strerror or error}") from None
        yield bound
