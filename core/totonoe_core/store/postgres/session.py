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
from totonoe_core.base.errors import ReadOnly, Unanswered, Unavailable
from totonoe_core.store.rows import MEMORY_COLUMNS, Row

Connect = Callable[[], psycopg.Connection[Row]]
Cursor = psycopg.RawCursor[Row]
_UNANSWERED = "the database was lost during the commit, which it may have carried out"
_WRITTEN_MAX = 1000  # statements that wait for the next one
_EXTERNAL_ID = MEMORY_COLUMNS.split(", ").index("external_id")
_REFUSED = (pg.DiskFull, pg.ReadOnlySqlTransaction, pg.InsufficientPrivilege)
_LATER = (
    psycopg.OperationalError,
    pg.SerializationFailure,
    pg.DeadlockDetected,
    pg.LockNotAvailable,
    pg.QueryCanceled,
    pg.IdleInTransactionSessionTimeout,
    pg.TransactionTimeout,
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
    """`Session` of `store/tables` on a connection to the server. Used by one thread at a time."""

    def __init__(self, connect: Connect, uid: str) -> None:
        self._connect = connect
        self.uid = uid
        self._connection = connect()
        self.in_transaction = False
        self.reconnected = False
        """True if the connection was lost and opened again since somebody looked."""
        self._written: list[tuple[str, Sequence[object]]] = []
        self._failed: Exception | None = None
        """Error that broke the transaction: no later statement of it may count."""

    def execute(self, query: str, values: Sequence[object] = ()) -> Found:
        """Run a statement; `?` are its values.

        Raises `ReadOnly` if the server refuses to write, `Unavailable` if it is gone or busy. In a
        transaction each later statement raises the same, and its end rolls back: the statement that
        failed may be one of `write`, of an operation that was decided before.
        """
        if self._failed is not None:
            raise self._failed
        try:
            return self._run(query, values)
        except psycopg.Error as error:
            if self.in_transaction:
                self._failed = typed(error)
            if isinstance(error, pg.ReadOnlySqlTransaction):
                # It became a standby. The next connection is to the primary, if one is named.
                self._connection.close()
                raise typed(error) from error
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
        if not self._written:
            with psycopg.RawCursor(self._connection) as cursor:
                self._send(cursor, query, values)
                return _found(cursor)
        written, self._written = self._written, []
        connection = self._connection
        with (
            connection.pipeline() as pipeline,
            psycopg.RawCursor(connection) as before,
            psycopg.RawCursor(connection) as cursor,
        ):
            for earlier, given in written:
                self._send(before, earlier, given)
            self._send(cursor, query, values)
            pipeline.sync()
            return _found(cursor)

    def _send(self, cursor: Cursor, query: str, values: Sequence[object]) -> None:
        numbered, uses_uid = _numbered(query)
        given = [self.uid, *values] if uses_uid else list(values)
        cursor.execute(numbered.encode(), given or None)

    def changed(self, query: str, values: Sequence[object] = ()) -> int:
        """Run a statement that changes rows; return how many it changed. Raises as `execute`."""
        return self.execute(query, values).count

    def write(self, query: str, values: Sequence[object] = ()) -> None:
        """Send a statement whose answer nobody needs with the next one that `execute` runs.

        Within a transaction only, whose end runs what is left. An error of it is raised there.
        """
        if not self.in_transaction:
            self.execute(query, values)
            return
        if self._failed is not None:
            return  # the end of the transaction raises it
        self._written.append((query, values))
        if len(self._written) >= _WRITTEN_MAX:
            self.execute("SELECT 1")

    def write_all(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """Do `write` for each of some rows."""
        for row in rows:
            self.write(query, row)

    def readable(self, columns: str) -> str:
        """Return columns as they are: the server gives no text that is not UTF-8."""
        return columns

    def stored(self, row: Row) -> Row:
        """Return a sealed row of `memory` as the table holds it: keys of external ids are bytes."""
        key = row[_EXTERNAL_ID]
        return _with_key(row, None if key is None else self.stored_key(key))

    def sealed(self, row: Row) -> Row:
        """Return the sealed row of a row of `memory` as the table holds it."""
        key = row[_EXTERNAL_ID]
        return _with_key(row, None if key is None else key.decode(errors="replace"))

    def stored_key(self, key: str) -> bytes:
        """Return a key of an external id as the table holds it: as text it may hold no NUL."""
        return key.encode()

    def copy_in(self, table: str, columns: str, rows: Iterable[Sequence[object]]) -> None:
        """Write new rows of the collection to a table, within a transaction.

        Raises as `execute`, and `psycopg.Error` for a row that the server refuses.
        """
        try:
            with (
                self._connection.cursor() as cursor,
                cursor.copy(f"COPY {table} (uid, {columns}) FROM STDIN".encode()) as copy,
            ):
                for row in rows:
                    copy.write_row((self.uid, *row))
        except psycopg.Error as error:
            self._failed = typed(error)
            raise self._failed from error

    def begin(self, how: str = "") -> None:
        """Begin a transaction."""
        self.execute(f"BEGIN {how}")
        self.in_transaction = True

    def end(self, word: str) -> None:
        """End the transaction by COMMIT or ROLLBACK.

        Raises `Unanswered` if the connection was lost during a COMMIT, and `Unavailable` if the
        server rolled back instead.
        """
        failed = self._failed
        try:
            if word != "COMMIT":
                self._written = []
                if failed is not None or self._connection.closed:
                    return  # the server has rolled back, or does so now
            # Still in the transaction: a new connection has nothing to commit.
            found = self.execute(word)
        except Unavailable as error:
            if word == "COMMIT" and failed is None and self._connection.closed:
                raise Unanswered(
                    error.reason, _UNANSWERED, retry_delay_ms=error.retry_delay_ms
                ) from error
            raise
        finally:
            if self._failed is not None:
                # What the server has prepared of a pipeline that failed, nobody knows.
                self._connection.close()
            self.in_transaction = False
            self._failed = None
            self._written = []
        if found.status != word:
            raise later("the transaction was rolled back")

    def _renew(self) -> None:
        if self._connection.closed and not self.in_transaction:
            self._connection = self._connect()
            self.reconnected = True

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._connection.close()


def _with_key(row: Row, key: object) -> Row:
    return (*row[:_EXTERNAL_ID], key, *row[_EXTERNAL_ID + 1 :])


def _found(cursor: Cursor) -> Found:
    rows = cursor.fetchall() if cursor.description else []
    return Found(rows, cursor.rowcount, cursor.statusmessage)


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
        "STORE_UNAVAILABLE",
        f"the database does not answer now: {why}",
        retry_delay_ms=limits.RETRY_DELAY_MS,
    )
