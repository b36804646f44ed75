"""Grants of the daemons of a database, and the key of their page tokens: one row."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from totonoe_core.store import rows
from totonoe_core.store.postgres.session import Session

_ROW = "version, identities, page_key, crc"


class AccessRow:
    """The row of a database that all its daemons read. Used by one thread at a time.

    What the identities mean is the server's business: here they are a text. A change is one
    transaction under the lock on the catalogue, since the row may not be there yet.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def version(self) -> int:
        """Return the number of changes; 0 if nobody was named yet. Raises `Unavailable`."""
        return int(self._session.execute("SELECT max(version) FROM access_row").get or 0)

    def read(self) -> tuple[int, str]:
        """Return version and identities, which are empty at version 0.

        Raises `Corruption`, `Unavailable`.
        """
        version, identities, _ = self._read()
        return version, identities

    def change(self, work: Callable[[str], str]) -> None:
        """Replace the identities by what `work` makes of them, as one step.

        Raises `Corruption`, `ReadOnly`, `Unavailable`, and what `work` raises; then nothing
        changed. After `Unavailable` nobody knows whether it is changed.
        """

        def changed(before: tuple[int, str, bytes]) -> tuple[int, str, bytes]:
            version, identities, key = before
            return version + 1, work(identities), key

        self._change(changed)

    def page_key(self, fresh: bytes) -> bytes:
        """Return the key of page tokens: the one that is kept, else `fresh`, kept from now on.

        Raises as `change`.
        """
        _, _, key = self._read()
        if not key:
            self._change(lambda kept: (*kept[:2], kept[2] or fresh))
            _, _, key = self._read()
        return key

    def _read(self) -> tuple[int, str, bytes]:
        found = self._session.execute(f"SELECT {_ROW} FROM access_row").fetchone()
        if found is None:
            return 0, "", b""
        version, identities, key = rows.check(found, "access_row")
        return int(version), str(identities), bytes(key)

    def _change(self, work: Callable[[tuple[int, str, bytes]], tuple[int, str, bytes]]) -> None:
        session = self._session
        session.begin()
        try:
            session.execute("SELECT revision FROM catalogue FOR UPDATE")
            session.execute(
                f"INSERT INTO access_row (one, {_ROW}) VALUES (1, ?, ?, ?, ?) "
                "ON CONFLICT (one) DO UPDATE SET version = excluded.version, "
                "identities = excluded.identities, page_key = excluded.page_key, "
                "crc = excluded.crc",
                rows.seal(work(self._read())),
            )
            session.end("COMMIT")
        except BaseException:
            with suppress(Exception):
                session.end("ROLLBACK")
            raise
