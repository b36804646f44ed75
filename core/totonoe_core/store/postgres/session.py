"""A connection that speaks for one collection: `$1` of every statement is its uid.

A lost connection is opened again by the next statement outside a transaction. Nothing of a session
outlives a transaction, so that a pooler may lend the server's connections from one to the next.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import psycopg
from psycopg import errors as pg

from totonoe_core.base import limits
from totonoe_core.base.errors import ReadOnly, Unavailable

Row = tuple[Any, ...]
Connect = Callable[[], psycopg.Connection[Row]]
_REFUSED = (pg.DiskFull, pg.ReadOnlySqlTransaction)
_LATER = (
    psycopg.OperationalError,
    pg.SerializationFailure,
    pg.DeadlockDetected,
    pg.LockNotAvailable,
    pg.QueryCanceled,
    pg.IdleInTransactionSessionTimeout,
)


class Found:
    """The rows of one statement, all read."""

    def __init__(self, rows: list[Row], count: int, status: str | None) -> None:
        self._rows = rows
        self.count = count
        """Rows that were read or written."""
        self.status = status
        """The server's own word for what it did."""

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def fetchall(self) -> list[Row]:
        """Return every row."""
        return self._rows

    def fetchone(self) -> Row | None:
        """Return the first row; `None` if there is none."""
        return self._rows[0] if self._rows else None

    @property
    def get(self) -> Any:
        """The value of the first row, or all its values if there are several; `None` for none."""
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row


class Session:
    """One connection for one collection. Used by one thread at a time."""

    def __init__(self, connect: Connect, uid: str) -> None:
        self._connect = connect
        self.uid = uid
        self._connection = connect()
        self.in_transaction = False

    def execute(self, query: str, values: Sequence[object] = ()) -> Found:
        """Run a statement; `?` are its values.

        Raises `ReadOnly` if the server refuses to write, `Unavailable` if it is gone or busy.
        """
        try:
            return self._run(query, values)
        except psycopg.Error as error:
            if self.in_transaction or not self._connection.closed:
                raise typed(error) from error
        # The connection was lost while it was idle. Nothing but reads, and the beginning of a
        # transaction, runs outside of one: it may run again.
        try:
            return self._run(query, values)
        except psycopg.Error as error:
            raise typed(error) from error

    def _run(self, query: str, values: Sequence[object]) -> Found:
        self._renew()
        with psycopg.RawCursor(self._connection) as cursor:
            numbered, uses_uid = _numbered(query)
            given = [self.uid, *values] if uses_uid else list(values)
            cursor.execute(numbered.encode(), given or None)
            found = cursor.fetchall() if cursor.description else []
            return Found(found, cursor.rowcount, cursor.statusmessage)

    def executemany(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement that uses the uid for each of some rows, in one round trip."""
        given = [[self.uid, *row] for row in rows]
        if not given:
            return
        try:
            self._renew()
            with psycopg.RawCursor(self._connection) as cursor:
                cursor.executemany(_numbered(query)[0].encode(), given)
        except psycopg.Error as error:
            raise typed(error) from error

    def begin(self, how: str = "") -> None:
        """Begin a transaction."""
        self.execute(f"BEGIN {how}")
        self.in_transaction = True

    def end(self, word: str) -> None:
        """End the transaction by COMMIT or ROLLBACK.

        Raises `Unavailable` if the connection was lost: after a COMMIT nobody knows whether it was
        carried out. Raises it too if the server rolled back instead.
        """
        try:
            # Still in the transaction: a new connection has nothing to commit.
            found = self.execute(word)
        finally:
            self.in_transaction = False
        if found.status != word:
            raise later("the transaction was rolled back")

    def _renew(self) -> None:
        if self._connection.closed and not self.in_transaction:
            self._connection = self._connect()

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._connection.close()


@functools.lru_cache(maxsize=1024)
def _numbered(query: str) -> tuple[str, bool]:
    """Return a statement with numbered values, and whether its first is the uid."""
    uses_uid = "$1" in query
    first, *rest = query.split("?")
    start = 2 if uses_uid else 1
    return first + "".join(f"${at}{part}" for at, part in enumerate(rest, start)), uses_uid


def typed(error: psycopg.Error) -> Exception:
    """Return the error of the engine for one of the server or its connection."""
    if isinstance(error, _REFUSED):
        return ReadOnly("READ_ONLY", f"the database cannot be written: {error.sqlstate}")
    if isinstance(error, _LATER):
        return later(error.sqlstate or "no connection")
    return error


def later(why: str) -> Unavailable:
    """Return the error for a database that does not do what it was asked, but may do so later."""
    return Unavailable(
        "OVERLOADED",
        f"the database does not answer now: {why}",
        retry_delay_ms=limits.RETRY_DELAY_MS,
    )
