"""The identities in the database that several daemons share: the same text as the file holds.

`totonoe tokens` changes them there, and each daemon looks once a second.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from totonoe_core.base.errors import TotonoeError
from totonoe_server.access.book import Identities, parsed, serialized
from totonoe_server.access.errors import FileError
from totonoe_server.access.identities import Identity
from totonoe_server.access.seal import KEY_BYTES, Seal


class AccessRow(Protocol):
    """The row of a database that `totonoe_core` opens. One thread at a time.

    All but `close` raise `TotonoeError` if the database does not do it.
    """

    def version(self) -> int:
        """Return the number of changes; 0: nobody was named yet."""

    def read(self) -> tuple[int, str]:
        """Return version and identities."""

    def change(self, work: Callable[[str], str]) -> None:
        """Replace the identities, as one step."""

    def page_key(self, fresh: bytes) -> bytes:
        """Return the key of page tokens; `fresh` is kept if there is none."""

    def close(self) -> None:
        """Close the connection."""


class StoredBook:
    """The identities of a database. From any thread; a call may wait for the database.

    Parameters
    ----------
    connect : callable
        Opens the row, at the first call. Raises `TotonoeError`, `ImportError`.
    name : str
        Name of the database in errors.
    """

    check_every_s = 1.0
    """How often a daemon looks: a revoked token is refused within two seconds everywhere."""
    waits = True

    def __init__(self, connect: Callable[[], AccessRow], name: str) -> None:
        self.name = name
        self.place = f"the database {name}"
        self._connect = connect
        self._row: AccessRow | None = None
        self._lock = threading.Lock()

    def stamp(self) -> int | None:
        """Return what changes with every change; `None`: nobody was named yet.

        Raises `FileError`.
        """
        with self._opened() as row:
            return row.version() or None

    def read(self) -> Identities:
        """Return all identities; none if nobody was named yet. Raises `FileError`."""
        with self._opened() as row:
            version, text = row.read()
        return parsed(text.encode(), self.place) if version else ()

    def change(self, work: Callable[[Identities], Sequence[Identity]]) -> Identities:
        """Replace all identities by what `work` makes of them, as one step, and return them.

        Raises `SettingError` and `FileError` as `Book.change`.
        """
        identities: Identities = ()

        def changed(text: str) -> str:
            nonlocal identities
            identities = tuple(work(parsed(text.encode(), self.place) if text else ()))
            return serialized(identities).decode()

        with self._opened() as row:
            row.change(changed)
        return identities

    def seal(self) -> Seal:
        """Return the seal of page tokens, the same for all daemons. Raises `FileError`."""
        with self._opened() as row:
            return Seal(row.page_key(secrets.token_bytes(KEY_BYTES)))

    def close(self) -> None:
        """Close the connection. Idempotent."""
        with self._lock:
            if self._row is not None:
                self._row.close()
                self._row = None

    @contextmanager
    def _opened(self) -> Iterator[AccessRow]:
        with self._lock:
            try:
                if self._row is None:
                    self._row = self._connect()
                yield self._row
            except TotonoeError as error:
                raise FileError(error.message) from error
