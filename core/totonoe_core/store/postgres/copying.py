"""A database as one side of a copy (`store/copying.py`). Daemons may use it meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg import errors as pg

from totonoe_core.base.errors import AlreadyExists, Corruption
from totonoe_core.store import rows
from totonoe_core.store.copying import TABLES, Put, Reading
from totonoe_core.store.postgres.catalog import Catalog
from totonoe_core.store.postgres.connecting import connector, look
from totonoe_core.store.postgres.session import Session

_PATIENCE = (
    "SET LOCAL lock_timeout = '10s'",
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
)
"""A large collection is one transaction of many minutes, which waits for others no longer than a
daemon does: for a copy that runs already, or died a moment ago."""


class PostgresSide:
    """`Side` of a database. Raises `UnsupportedFormat`, `Unavailable`, `ReadOnly` as `look`."""

    def __init__(self, url: str) -> None:
        look(url)
        # No statement is prepared: so it works behind a pooler, too.
        self._connect = connector(url, True)
        self._catalog = Catalog(Session(self._connect, ""), Path())

    def close(self) -> None:
        """See `Side.close`."""
        self._catalog.close()

    def collections(self) -> list[rows.Row]:
        """See `Side.collections`."""
        return self._catalog.every_collection()

    def operations(self) -> list[rows.Row]:
        """See `Side.operations`."""
        return self._catalog.every_operation()

    @contextmanager
    def reading(self, listed: rows.Row) -> Iterator[Reading]:
        """See `Side.reading`. What daemons commit meanwhile is not in it."""
        with self._transaction(listed[0], "ISOLATION LEVEL REPEATABLE READ READ ONLY") as session:
            yield SessionReading(session)

    def write(
        self,
        listed: rows.Row,
        operations: Sequence[rows.Row],
        fill: Callable[[Put], None],
        check: Callable[[Reading], None],
    ) -> None:
        """See `Side.write`. It is one transaction."""
        uid, name, _ = listed
        with self._transaction(uid) as session:
            try:
                session.execute("INSERT INTO collection (uid, revision) VALUES ($1, 0)")
            except pg.UniqueViolation as error:
                raise AlreadyExists("COLLECTION_EXISTS", kind="collection", name=name) from error

            def put(table: str, found: Sequence[rows.Row]) -> None:
                stored = map(session.stored, found) if table == "memory" else found
                try:
                    session.copy_in(table, TABLES[table][0], stored)
                except (psycopg.DataError, psycopg.IntegrityError) as error:
                    # The server's own message may quote the row.
                    why = error.sqlstate or "a NUL in a text"
                    message = f"table {table} has a row that the database refuses: {why}"
                    raise Corruption("CORRUPT_ROW", message, table=table) from error

            fill(put)
            session.execute(
                "UPDATE collection SET revision = (SELECT coalesce(max(revision), 0) "
                "FROM operation WHERE uid = $1) WHERE uid = $1"
            )
            check(SessionReading(session))
            Catalog(session, Path()).take([listed], operations)
            session.end("COMMIT")

    def keep(self, operations: Sequence[rows.Row]) -> None:
        """See `Side.keep`."""
        with self._transaction("") as session:
            Catalog(session, Path()).take([], operations)
            session.end("COMMIT")

    @contextmanager
    def _transaction(self, uid: str, how: str = "") -> Iterator[Session]:
        """Open a transaction, which is rolled back unless the caller ends it."""
        session = Session(self._connect, uid)
        try:
            session.begin(how)
            for setting in _PATIENCE:
                session.execute(setting)
            yield session
        finally:
            if session.in_transaction:
                # A lost connection has rolled back already; the error itself matters more.
                with suppress(Exception):
                    session.end("ROLLBACK")
            session.close()


class SessionReading:
    """`Reading` of a collection's rows, through a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def count(self, table: str) -> int:
        """See `Reading.count`."""
        return int(self._session.execute(f"SELECT count(*) FROM {table} WHERE uid = $1").get)

    def after(self, table: str, key: rows.Row | None, limit: int) -> list[rows.Row]:
        """See `Reading.after`."""
        columns, order = TABLES[table]
        where, given = "uid = $1", () if key is None else key
        if key is not None:
            where += f" AND ({order}) > ({', '.join('?' * len(key))})"
        found = self._session.execute(
            f"SELECT {columns} FROM {table} WHERE {where} ORDER BY {order} LIMIT ?",
            (*given, limit),
        )
        return list(map(self._session.sealed, found) if table == "memory" else found)
