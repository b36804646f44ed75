"""A collection in the database as its writer uses it: one connection, one thread.

Within a batch there is one transaction; each operation has a savepoint in it, so that one
that fails leaves nothing behind and the others go on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg import errors as pg

from totonoe_core.base.errors import Corruption, NotFound
from totonoe_core.store.postgres.reader import Rows
from totonoe_core.store.postgres.session import Session
from totonoe_core.store.records import Loss, Place, Reply
from totonoe_core.store.tables import sql
from totonoe_core.store.tables.purge import PurgedRows
from totonoe_core.store.tables.writes import Writes

_LOCK = (
    "SELECT revision, "
    "(SELECT deleted_us IS NULL FROM catalogue_collection k WHERE k.uid = $1) "
    "FROM collection WHERE uid = $1 FOR UPDATE"
)
_PATIENCE = (
    "SELECT set_config('lock_timeout', '10s', true), set_config('statement_timeout', '60s', true), "
    "set_config('idle_in_transaction_session_timeout', '4s', true)",
)
"""A daemon that is paused in mid-batch holds a collection for four seconds; others wait longer."""
_BOUND, _BOUND_FROM = "SELECT set_config('transaction_timeout', '120s', true)", 170_000
"""Ends also the batch of a daemon that stands still between two writes of a pipeline."""
_KEPT = (
    "SELECT r.agent_id, r.operation_id "
    "FROM unnest(?::text[], ?::text[]) asked (agent_id, operation_id) "
    "JOIN reply r ON r.uid = $1 "
    "AND r.agent_id = asked.agent_id AND r.operation_id = asked.operation_id"
)


@dataclass(slots=True)
class Commits:
    """Commits of a database are never lost without the server's word: see `Commits` of the seam."""

    loss: Loss | None = None
    foreign: str = ""


class CollectionFile(Writes):
    """Writes of one collection, in the order of the lock on its row in `collection`.

    Methods without a text of their own: see `seam.CollectionFile`.

    Parameters
    ----------
    tell : callable, optional
        Called after each commit, to let other daemons know.
    """

    rows: Rows
    _session: Session
    _put_operation = (
        "WITH newest AS (UPDATE collection SET revision = $2 WHERE uid = $1) "
        + sql.insert("operation", sql.OPERATION_COLUMNS)
    )

    def __init__(
        self, session: Session, place: Place, tell: Callable[[], None] | None = None
    ) -> None:
        super().__init__(session, place.path, Rows(session), PurgedRows(session))
        self._name = place.name
        self._tell = tell
        self.commits = Commits()
        self._locked: int | None = None
        """Newest revision when the lock was given; `None` while it is not held."""
        self._own: int | None = None
        """Revision up to which `_superseded` holds; `None` if that is not known."""
        self._not_kept: set[tuple[str, str]] = set()
        """Agent and operation id of answers that surely are not kept."""

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    @contextmanager
    def transaction(self, asked: Collection[tuple[str, str]] = ()) -> Iterator[None]:
        """Run a batch in one transaction, while no other daemon writes the collection.

        The lock is a statement of its own, before anything is read: at READ COMMITTED each later
        statement sees all that was committed before the lock was given.

        Raises
        ------
        ReadOnly
            The server refuses to write; nothing of the batch is stored.
        Unavailable
            The server is gone or busy; nothing of the batch is stored.
        Unanswered
            It went during the commit: the batch may be stored, and the next one catches up with it.
        NotFound
            Another daemon deleted the collection.
        Corruption
            A row is there that this daemon does not know of; nothing of the batch is stored.
        """
        session = self._session
        try:
            self._begin(asked)
            yield
            session.end("COMMIT")
            if self._tell is not None:
                self._tell()
        except BaseException as error:
            self._own = None
            with contextlib.suppress(Exception):
                session.end("ROLLBACK")
            if isinstance(error, pg.UniqueViolation):
                raise self._conflict(error) from error
            raise
        finally:
            self._locked = None
            self._not_kept = set()

    def _conflict(self, error: pg.UniqueViolation) -> Corruption:
        """Return the error for a new row whose key is taken.

        All that was decided fits to the rows that this daemon knows: the row is another daemon's.
        """
        # Of the server's words only those without a value of the row.
        table = str(error.diag.table_name)
        return Corruption(
            "CORRUPT_ROW",
            f"table {table} of {self._name} has a row that this daemon does not know of "
            f"({error.diag.constraint_name}); restart it, so that it reads all rows anew",
            table=table,
        )

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Run one operation outside a transaction, and take back what it wrote.

        Within it nobody else writes the collection, as in `transaction`. Raises `Unavailable`,
        `NotFound`.
        """
        try:
            self._begin(())
            yield
        finally:
            self._locked = self._own = None
            # A lost connection has rolled back already; the operation's own error matters more.
            with contextlib.suppress(Exception):
                self._session.end("ROLLBACK")

    def _begin(self, asked: Collection[tuple[str, str]]) -> None:
        session = self._session
        session.begin()
        bound = [_BOUND] if session.server_version >= _BOUND_FROM else []
        for setting in (*_PATIENCE, *bound):
            session.write(setting)
        # Behind the lock in the same round trip, and yet with a snapshot of its own.
        pairs = [list(names) for names in zip(*asked, strict=True)]
        statements = [(_LOCK, ()), *([(_KEPT, pairs)] if pairs else ())]
        lock, *kept = session.execute_all(statements, one_message=True)
        found = lock.get
        if found is None or not found[1]:
            raise NotFound("COLLECTION_NOT_FOUND", kind="collection", name=self._name)
        self._locked = found[0]
        if self._locked != self._own or self._session.reconnected:
            self._superseded = None
        self._own = self._locked
        self._not_kept = set(asked).difference(*kept)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        try:
            with self._session.savepoint():
                yield
        except BaseException:
            self._own = None
            raise

    def newest_revision(self) -> int:
        return super().newest_revision() if self._locked is None else self._locked

    def put_operation(self, revision: int, *told: Any, **more: Any) -> None:
        self._own = None if self._own is None else revision
        super().put_operation(revision, *told, **more)

    def reply(self, agent_id: str, operation_id: str) -> Reply | None:
        known = (agent_id, operation_id) in self._not_kept
        return None if known else super().reply(agent_id, operation_id)

    def put_reply(self, agent_id: str, operation_id: str, *told: Any, **more: Any) -> None:
        self._not_kept.discard((agent_id, operation_id))
        super().put_reply(agent_id, operation_id, *told, **more)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Wrap reads outside a transaction."""
        yield

    def take_reconnected(self) -> bool:
        """Return once true after a lost connection was opened again: commits may be gone.

        Another server may have taken over, which had not got them yet.
        """
        reconnected, self._session.reconnected = self._session.reconnected, False
        return reconnected

    def last_numbers(self) -> tuple[int, int, int]:
        history = self.rows.history
        return self.rows.moment.last_row(), history.newest(), history.newest_time()

    # -- Cleaning after a purge: the server's vacuum does it

    def note_purge(self) -> None:
        """Do nothing: dead rows are the server's, which removes them by its own vacuum."""

    def begin_cleaning(self) -> None:
        """Delete the checkpoints of this daemon, which hold what was purged."""
        self.checkpoints.drop_all()

    def finish_cleaning(self) -> None:
        """Do nothing: all is done by `begin_cleaning`."""

    def clean(self) -> bool:
        """Return false: there is nothing left to clean."""
        return False
