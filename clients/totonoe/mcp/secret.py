"""The secret that a request over HTTP brings: other users of the machine reach the port too."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from totonoe.mcp.starting import state_dir

HEADER = "authorization"
_BEARER = "Bearer "
_SECRET = re.compile(r"tms_[0-9A-Za-z_-]{43}")
_BYTES_MAX = 256
_UNAUTHORIZED = 401


def secret_path() -> Path:
    """Return the file of this user's secret."""
    return state_dir() / "http-secret"


def own_secret() -> tuple[str, bool]:
    """Return this user's secret, and whether it was made just now.

    Raises
    ------
    ValueError
        The file cannot be used: somebody else could read it, or it holds something else.
    """
    path = secret_path()
    try:
        made = not path.exists() and _make(path)
        return _read(path), made
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None


def _make(path: Path) -> bool:
    """Write a new secret; return false if another server was faster. The file appears whole."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(f"tms_{secrets.token_urlsafe(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(name, path)
            return True
        return False
    finally:
        Path(name).unlink()


def _read(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        text = file.read(_BYTES_MAX).decode("ascii", "replace").strip()
    own = stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()
    if not own or found.st_mode & 0o077 or not _SECRET.fullmatch(text):
        raise ValueError(
            f"{path}: allowed: a file of this user, mode 0600, with a secret that totonoe mcp "
            "made; delete it, and the next start makes one"
        )
    return text


class Guarded:
    """An ASGI application that refuses requests without the secret, before it reads their body.

    Parameters
    ----------
    app : ASGI application
    secret : str
    """

    def __init__(self, app: Any, secret: str) -> None:
        self._app = app
        self._wanted = f"{_BEARER}{secret}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request with 401, or hand it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        shown = [value for name, value in scope["headers"] if name == HEADER.encode()]
        if len(shown) == 1 and hmac.compare_digest(shown[0], self._wanted):
            await self._app(scope, receive, send)
            return
        body = (
            f"The header Authorization is missing or wrong. Allowed: Bearer and the secret in "
            f"{secret_path()} on the machine of totonoe mcp.\n"
        ).encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"www-authenticate", b"Bearer"),
        ]
        await send({"type": "http.response.start", "status": _UNAUTHORIZED, "headers": headers})
        await send({"type": "http.response.body", "body": body})
