"""The catalogue in the database: names of collections, and the operations that made them.

Each change is one transaction under the lock on the catalogue's one row, so the revisions of all
daemons follow one another. Collections that are purged leave their operation only.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from psycopg import errors as pg

from totonoe_core.base.errors import AlreadyExists
from totonoe_core.store import rows
from totonoe_core.store.postgres.session import Session
from totonoe_core.store.records import Loss, Place
from totonoe_core.store.tables.catalog import CatalogTables


class Catalog(CatalogTables):
    """`Catalog` of a database. `derived` holds the derived files of this daemon.

    Methods without a text of their own: see `seam.Catalog`. A change raises `AlreadyExists` if
    another daemon gave the name or the operation id away first; then nothing changed.
    """

    COLLECTIONS, OPERATIONS = "catalogue_collection", "catalogue_operation"
    ROWS = (
        *("memory", "link", "access", "recall_event", "coactivation", "operation", "episode"),
        *("dismissal", "image", "reply", "embedding", "setting", "collection"),
    )

    loss: Loss | None = None

    def __init__(self, session: Session, derived: Path) -> None:
        self._session = session
        self._derived = derived

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def place(self, uid: str, name: str) -> Place:
        """Return the place of a collection; its path is where derived files lie."""
        return self.place_below(self._derived, uid, name)

    @staticmethod
    def place_below(derived: Path, uid: str, name: str) -> Place:
        """Return the place of a collection of a daemon with this directory of derived files."""
        return Place(derived / "collections" / uid / "memory", uid, name)

    def new_uid(self) -> str:
        """Return a uid that no collection has."""
        return secrets.token_hex(8)

    def drop_new(self, uid: str) -> None:
        """Remove what was made of a collection that is not to be listed."""
        with self._changing():
            self._delete_rows(uid)

    def recover(self) -> list[str]:
        """Return no names: a collection is made in one transaction, so none is ever unknown."""
        return []

    def revision(self) -> int:
        return int(self._session.execute("SELECT revision FROM catalogue").get)

    def _read(self, query: str, values: Sequence[object] = ()) -> list[rows.Row]:
        return self._session.execute(query, values).fetchall()

    def _put_collection(self, listed: rows.Row, again: str = "") -> None:
        try:
            super()._put_collection(listed, again)
        except pg.UniqueViolation as error:
            raise AlreadyExists("COLLECTION_EXISTS", kind="collection", name=listed[1]) from error

    def _put_operation(self, operation: tuple[Any, ...]) -> None:
        try:
            super()._put_operation(operation)
        except pg.UniqueViolation as error:
            raise AlreadyExists(
                "OPERATION_ID_REUSED",
                kind="operation id",
                name=operation[1],
                hint="another daemon used it just now",
            ) from error

    @contextmanager
    def _changing(self) -> Iterator[int]:
        """Change the catalogue in one transaction; yields the revision of the change."""
        session = self._session
        session.begin()
        try:
            with self._in_order() as revision:
                yield revision
            session.end("COMMIT")
        except BaseException:
            with suppress(Exception):
                session.end("ROLLBACK")
            raise

    @contextmanager
    def _in_order(self) -> Iterator[int]:
        """Change the catalogue within a transaction; yields the revision of the change."""
        # A statement of its own: what follows sees all that was committed before.
        before = int(self._session.execute("SELECT revision FROM catalogue FOR UPDATE").get)
        yield before + 1
        self._session.execute(
            "UPDATE catalogue SET revision = "
            "(SELECT coalesce(max(revision), 0) FROM catalogue_operation)"
        )

    def take(self, listed: Sequence[rows.Row], operations: Sequence[rows.Row]) -> None:
        """List collections of another store with its operations, in a transaction of the caller.

        The operations get the next revisions here. Raises `AlreadyExists` if a daemon gave a name
        or an operation id away meanwhile.
        """
        before = int(self._session.execute("SELECT revision FROM catalogue FOR UPDATE").get)
        self._take(listed, operations, before + 1)
        self._session.execute("UPDATE catalogue SET revision = ?", (before + len(operations),))
