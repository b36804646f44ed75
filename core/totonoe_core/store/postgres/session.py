"""A connection that speaks for one collection: `$1` of every statement is its uid.

A lost connection is opened again by the next statement outside a transaction. Nothing of a session
outlives a transaction, so that a pooler may lend the server's connections from one to the next.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors as pg
from psycopg.sql import Literal

from totonoe_core.base import limits
from totonoe_core.base.errors import ReadOnly, TotonoeError, Unanswered, Unavailable
from totonoe_core.store.rows import MEMORY_COLUMNS, Row
from totonoe_core.store.tables import sql

Connect = Callable[[], psycopg.Connection[Row]]
Statement = tuple[str, Sequence[object]]
Cursor = psycopg.RawCursor[Row]
_UNANSWERED = "the database was lost during the commit, which it may have carried out"
_WRITTEN_MAX = 1000  # statements that wait for the next one
_ADD_MEMORY = sql.insert("memory", f"{MEMORY_COLUMNS}, reading")
_PUT_MEMORY = sql.upsert("memory", f"{MEMORY_COLUMNS}, reading", "row", "id").replace(
    "reading = excluded.reading",
    # What does not change the text need not bring its reading.
    "reading = CASE WHEN excluded.reading = '' AND excluded.content = memory.content "
    "THEN memory.reading ELSE excluded.reading END",
)
_EXTERNAL_ID = MEMORY_COLUMNS.split(", ").index("external_id")
_INSERT = re.compile(r"(INSERT INTO \w+ \(.*?\)) VALUES \(\$1(?:, \?)+\)(.*)")
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


class ResultSet:
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
        self.server_version = self._connection.info.server_version
        """As a number: 170000 is 17.0."""
        self.in_transaction = False
        self._only_reads = False
        self._begun = False
        """True once the server has got the BEGIN, which goes with the first statement behind it."""
        self.reconnected = False
        """True if the connection was lost and opened again since somebody looked."""
        self._written: list[Statement] = []
        self._mark: int | None = None
        """Place in `_written` where the present operation begins; `None` outside of one."""
        self._marked = False
        """True if the server has a savepoint of it."""
        self._failed: Exception | None = None
        """Error that broke the transaction: no later statement of it may count."""

    def execute(self, query: str, values: Sequence[object] = ()) -> ResultSet:
        """Run a statement; `?` are its values. Raises as `execute_all`."""
        return self.execute_all(((query, values),))[0]

    def execute_all(
        self, statements: Sequence[Statement], one_message: bool = False
    ) -> list[ResultSet]:
        """Run statements one after the other, in one round trip.

        With `one_message` the server has all of them or none, wherever this process stops: else it
        may wait for the rest of a pipeline, with the locks that it took, and no limit but that of
        the transaction counts meanwhile. Nothing of them is prepared.

        Raises `ReadOnly` if the server refuses to write, `Unavailable` if it is gone or busy. In a
        transaction each later statement raises the same, and its end rolls back: the statement that
        failed may be one of `write`, of an operation that was decided before.
        """
        if self._failed is not None:
            raise self._failed
        written = self._taken()
        try:
            try:
                return self._run(written, statements, one_message)
            except psycopg.Error:
                if self._begun or not self._connection.closed:
                    raise
            # The connection was lost while it was idle. Nothing but reads, and the beginning of a
            # transaction, runs outside of one: it may run again.
            return self._run(written, statements, one_message)
        except (psycopg.Error, TotonoeError) as error:
            known = typed(error) if isinstance(error, psycopg.Error) else error
            if self.in_transaction:
                self._failed = known
            if isinstance(error, pg.ReadOnlySqlTransaction):
                # It became a standby. The next connection is to the primary, if one is named.
                self._connection.close()
            raise known from error
        finally:
            self._begun = self.in_transaction

    def _taken(self) -> list[Statement]:
        """Return the statements that wait, with the savepoint of an operation that has written."""
        written, self._written = self._written, []
        if self._mark is not None:
            if len(written) > self._mark and not self._marked:
                written.insert(self._mark, ("SAVEPOINT operation", ()))
                self._marked = True
            self._mark = 0
        return written

    def _run(
        self, written: Sequence[Statement], statements: Sequence[Statement], one_message: bool
    ) -> list[ResultSet]:
        self._renew()
        if one_message:
            return self._run_as_text([*written, *statements])[len(written) :]
        cursors = [psycopg.RawCursor(self._connection) for _ in statements]
        if not written and len(cursors) == 1:
            self._send(cursors[0], *statements[0])
            return [_found(cursors[0])]
        with self._connection.pipeline() as pipeline:
            before = psycopg.RawCursor(self._connection)
            for statement in written:
                self._send(before, *statement)
            for cursor, statement in zip(cursors, statements, strict=True):
                self._send(cursor, *statement)
            pipeline.sync()
            return list(map(_found, cursors))

    def _run_as_text(self, statements: Sequence[Statement]) -> list[ResultSet]:
        with self._connection.cursor() as cursor:
            # Without values of its own it is one message of the simple protocol.
            cursor.execute("; ".join(itertools.starmap(self._as_text, statements)).encode())
            found = [_found(cursor)]
            while cursor.nextset():
                found.append(_found(cursor))
            return found

    def _as_text(self, query: str, values: Sequence[object]) -> str:
        """Return a statement with its values written out."""
        uid = self._literal(self.uid)
        first, *rest = (part.replace("$1", uid) for part in query.split("?"))
        return first + "".join(
            self._literal(value) + part for value, part in zip(values, rest, strict=True)
        )

    def _literal(self, value: object) -> str:
        return Literal(value).as_string(self._connection)

    def _send(self, cursor: Cursor, query: str, values: Sequence[object]) -> None:
        numbered, uses_uid = _numbered(query)
        given = [self.uid, *values] if uses_uid else list(values)
        cursor.execute(numbered, given or None, binary=True)

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
        """Do `write` for each of some rows; one statement inserts many, no two of the same key."""
        inserting = _INSERT.fullmatch(query)
        if inserting is None:
            for row in rows:
                self.write(query, row)
            return
        left = iter(rows)
        while part := list(itertools.islice(left, _WRITTEN_MAX)):
            # A list for each column: the statement is the same for any number of rows.
            columns = list(map(list, zip(*part, strict=True)))
            lists = ", ".join("?" * len(columns))
            self.write(f"{inserting[1]} SELECT $1, * FROM unnest({lists}) {inserting[2]}", columns)

    def readable(self, columns: str) -> str:
        """Return columns as they are: the server gives no text that is not UTF-8."""
        return columns

    def put_memory(self, sealed: Row, reading: bytes = b"", /, *, new: bool = False) -> None:
        """Do `write` for a sealed row of `memory`, with what was read from its text."""
        self.write(_ADD_MEMORY if new else _PUT_MEMORY, (*self.stored(sealed), reading))

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
        if self._written:
            self.execute("SELECT 1")
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
        """Begin a transaction, together with the first statement that `execute` runs in it."""
        self.in_transaction, self._only_reads = True, "READ ONLY" in how
        self.write(f"BEGIN {how}")

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Run an operation within the transaction; an exception takes back what it wrote.

        What waits to be sent is dropped here. The server needs a savepoint only if it gets a write
        of the operation before the operation ends.
        """
        self._mark, self._marked = len(self._written), False
        try:
            yield
        except BaseException:
            del self._written[self._mark :]
            if self._marked:
                self.write("ROLLBACK TO operation")
            raise
        finally:
            self._mark = None
            if self._marked:
                self.write("RELEASE operation")

    def end(self, word: str) -> None:
        """End the transaction by COMMIT or ROLLBACK.

        Raises `Unanswered` if the connection was lost during a COMMIT, and `Unavailable` if the
        server rolled back instead.
        """
        failed, writes = self._failed, word == "COMMIT"
        try:
            if not writes:
                self._written = []
                if failed is not None or self._connection.closed or not self._begun:
                    return  # the server has rolled back, or does so now, or knows nothing of it
                # psycopg forgets all that is prepared when it sees ROLLBACK.
                word = "COMMIT" if self._only_reads else word
            elif not self._begun:
                # What is lost from now on is not run again.
                self.execute("SELECT 1")
            # Still in the transaction: a new connection has nothing to commit.
            found = self.execute(word)
        except Unavailable as error:
            if writes and failed is None and self._connection.closed:
                raise Unanswered(
                    error.reason, _UNANSWERED, retry_delay_ms=error.retry_delay_ms
                ) from error
            raise
        finally:
            if self._failed is not None:
                # What the server has prepared of a pipeline that failed, nobody knows.
                self._connection.close()
            self.in_transaction = self._begun = False
            self._failed = None
            self._written = []
        if found.status != word:
            raise later("the transaction was rolled back")

    def _renew(self) -> None:
        if self._connection.closed and not self._begun:
            self._connection = self._connect()
            self.server_version = self._connection.info.server_version
            self.reconnected = True

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._connection.close()


def _with_key(row: Row, key: object) -> Row:
    return (*row[:_EXTERNAL_ID], key, *row[_EXTERNAL_ID + 1 :])


def _found(cursor: Cursor | psycopg.Cursor[Row]) -> ResultSet:
    rows = cursor.fetchall() if cursor.description else []
    return ResultSet(rows, cursor.rowcount, cursor.statusmessage)


@functools.lru_cache(maxsize=1024)
def _numbered(query: str) -> tuple[bytes, bool]:
    """Return a statement with numbered values, and whether its first is the uid."""
    uses_uid = "$1" in query
    first, *rest = query.split("?")
    start = 2 if uses_uid else 1
    text = first + "".join(f"${at}{part}" for at, part in enumerate(rest, start))
    return text.encode(), uses_uid


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
