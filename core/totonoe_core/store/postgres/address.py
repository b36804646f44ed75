"""The address of a database, as logs and errors name it."""

from __future__ import annotations

from urllib.parse import urlsplit


def shown(url: str) -> str:
    """Return hosts and database of an address: no user, no option, no password."""
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2] or 'this machine'}{parts.path}"
