"""The catalogue in the database: names of collections, and the operations that made them.

Each change is one transaction under the lock on the catalogue's one row, so the revisions of all
daemons follow one another. Collections that are purged leave their operation only.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from psycopg import errors as pg

from totonoe_core.base.errors import AlreadyExists
from totonoe_core.base.ids import new_operation_id
from totonoe_core.store import rows
from totonoe_core.store.postgres.session import Session
from totonoe_core.store.records import CatalogReply, Loss, Place

PURGE = "PurgeCollection"
TABLES = (
    *("memory", "link", "access", "recall_event", "coactivation", "operation", "episode"),
    *("dismissal", "image", "reply", "embedding", "setting", "collection"),
)
"""Every table whose rows belong to one collection."""
_OPERATION = "revision, operation_id, agent_id, kind, uid, digest, answer, time_us, crc"


class Catalog:
    """`Catalog` of a database. `derived` holds the derived files of this daemon.

    Methods without a text of their own: see `seam.Catalog`.
    """

    loss: Loss | None = None

    def __init__(self, session: Session, derived: Path) -> None:
        self._session = session
        self._derived = derived

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def place(self, uid: str, name: str) -> Place:
        """Return the place of a collection; its path is where derived files lie."""
        return Place(self._derived / "collections" / uid / "memory", uid, name)

    def new_uid(self) -> str:
        """Return a uid that no collection has."""
        return secrets.token_hex(8)

    def drop_new(self, uid: str) -> None:
        """Remove what was made of a collection that is not to be listed."""
        with self._changing():
            self._delete(uid)

    def recover(self) -> list[str]:
        """Return no names: a collection is made in one transaction, so none is ever unknown."""
        return []

    def names(self) -> dict[str, str]:
        return {name: uid for uid, name, _ in self._collections("deleted_us IS NULL")}

    def revision(self) -> int:
        return int(self._session.execute("SELECT revision FROM catalogue").get)

    def reply(self, agent_id: str, operation_id: str) -> CatalogReply | None:
        found = self._operations("agent_id = ? AND operation_id = ?", agent_id, operation_id)
        return next((CatalogReply(row[5], row[6]) for row in found), None)

    def deletions(self, name: str, operation_id: str) -> dict[str, str]:
        where = "operation_id = ? AND kind = 'DeleteCollection'"
        return {
            agent_id: uid
            for _, _, agent_id, _, uid, *_ in self._operations(where, operation_id)
            if any(listed == name for _, listed, _ in self._collections("uid = ?", uid))
        }

    def deleted_before(self, time_us: int, limit: int) -> list[tuple[str, str]]:
        where = "deleted_us < ? ORDER BY deleted_us LIMIT ?"
        return [(uid, name) for uid, name, _ in self._collections(where, time_us, limit)]

    def purged(self, operation_id: str) -> bool:
        return bool(
            self._session.execute(
                "SELECT count(*) FROM catalogue_operation d "
                "JOIN catalogue_operation p ON p.uid = d.uid AND p.kind = ? "
                "WHERE d.operation_id = ? AND d.kind = 'DeleteCollection'",
                (PURGE, operation_id),
            ).get
        )

    def purge(self, uid: str, time_us: int) -> None:
        """Remove a deleted collection for good. Raises `ReadOnly`, `Unavailable`."""
        with self._changing() as revision:
            self._session.execute("DELETE FROM catalogue_collection WHERE uid = ?", (uid,))
            self._delete(uid)
            self._put_operation((revision, new_operation_id(), "", PURGE, uid, b"", "", time_us))

    def _delete(self, uid: str) -> None:
        for table in TABLES:
            self._session.execute(f"DELETE FROM {table} WHERE uid = ?", (uid,))

    def put(
        self,
        *,
        uid: str,
        name: str,
        deleted_us: int | None,
        operation_id: str,
        agent_id: str,
        kind: str,
        digest: bytes,
        answer: str,
        time_us: int,
        replaced_uid: str = "",
    ) -> int:
        """List or delete a collection as one operation; return its revision.

        See `Catalog.put` of the seam. Raises `AlreadyExists` if another daemon gave the name or the
        operation id away first; then nothing changed.
        """
        listed = [(uid, name, deleted_us)]
        if replaced_uid:
            listed.append((replaced_uid, name, time_us if deleted_us is None else None))
        try:
            with self._changing() as revision:
                # The deletion comes first: a name has one collection.
                for one in sorted(listed, key=lambda row: row[2] is None):
                    self._session.execute(
                        "INSERT INTO catalogue_collection (uid, name, deleted_us, crc) "
                        "VALUES (?, ?, ?, ?) ON CONFLICT (uid) DO UPDATE SET "
                        "name = excluded.name, deleted_us = excluded.deleted_us, "
                        "crc = excluded.crc",
                        rows.seal(one),
                    )
                self._put_operation(
                    (revision, operation_id, agent_id, kind, uid, digest, answer, time_us)
                )
        except pg.UniqueViolation as error:
            if error.diag.constraint_name == "catalogue_collection_by_name":
                raise AlreadyExists("COLLECTION_EXISTS", kind="collection", name=name) from error
            raise _reused(operation_id) from error
        return revision

    def keep(
        self,
        *,
        uid: str,
        operation_id: str,
        agent_id: str,
        kind: str,
        digest: bytes,
        answer: str,
        time_us: int,
    ) -> int:
        """Keep the answer of an operation that changes no name; return its revision."""
        try:
            with self._changing() as revision:
                self._put_operation(
                    (revision, operation_id, agent_id, kind, uid, digest, answer, time_us)
                )
        except pg.UniqueViolation as error:
            raise _reused(operation_id) from error
        return revision

    def answers(self, kinds: Sequence[str], operation_id: str = "") -> list[tuple[str, str]]:
        where, given = "kind = ANY(?)", [list(kinds)]
        found = self._operations(where, *given)
        return [(row[2], row[6]) for row in found if operation_id in ("", row[1])]

    def _put_operation(self, operation: tuple[object, ...]) -> None:
        self._session.execute(
            f"INSERT INTO catalogue_operation ({_OPERATION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows.seal(operation),
        )

    @contextmanager
    def _changing(self) -> Iterator[int]:
        """Change the catalogue in one transaction; yields the revision of the change."""
        session = self._session
        session.begin()
        try:
            # A statement of its own: what follows sees all that was committed before.
            before = int(session.execute("SELECT revision FROM catalogue FOR UPDATE").get)
            yield before + 1
            session.execute(
                "UPDATE catalogue SET revision = "
                "(SELECT coalesce(max(revision), 0) FROM catalogue_operation)"
            )
            session.end("COMMIT")
        except BaseException:
            with suppress(Exception):
                session.end("ROLLBACK")
            raise

    def every_collection(self) -> list[rows.Row]:
        """Return (uid, name, deleted_us) of all collections, deleted ones too."""
        return self._collections("true")

    def every_operation(self) -> list[rows.Row]:
        """Return (revision, operation id, agent, kind, uid, digest, answer, time us) of all."""
        return self._operations("true ORDER BY revision")

    def take(self, listed: Sequence[rows.Row], operations: Sequence[rows.Row]) -> None:
        """List collections of another store with its operations, in a transaction of the caller.

        The operations get the next revisions here. Raises `AlreadyExists` if a daemon gave a name
        or an operation id away meanwhile.
        """
        session = self._session
        before = int(session.execute("SELECT revision FROM catalogue FOR UPDATE").get)
        for one in listed:
            try:
                session.execute(
                    "INSERT INTO catalogue_collection (uid, name, deleted_us, crc) "
                    "VALUES (?, ?, ?, ?)",
                    rows.seal(one),
                )
            except pg.UniqueViolation as error:
                raise AlreadyExists("COLLECTION_EXISTS", kind="collection", name=one[1]) from error
        for revision, kept in enumerate(operations, before + 1):
            try:
                self._put_operation((revision, *kept[1:]))
            except pg.UniqueViolation as error:
                raise _reused(kept[1]) from error
        session.execute("UPDATE catalogue SET revision = ?", (before + len(operations),))

    # -- Rows, each checked against its crc

    def _collections(self, where: str, *values: object) -> list[rows.Row]:
        """(uid, name, deleted_us) of collections."""
        query = f"SELECT uid, name, deleted_us, crc FROM catalogue_collection WHERE {where}"
        return [rows.check(row, "collection") for row in self._session.execute(query, values)]

    def _operations(self, where: str, *values: object) -> list[rows.Row]:
        """(revision, operation id, agent, kind, uid, digest, answer, time us) of operations."""
        query = f"SELECT {_OPERATION} FROM catalogue_operation WHERE {where}"
        return [rows.check(row, "operation") for row in self._session.execute(query, values)]


def _reused(operation_id: str) -> AlreadyExists:
    return AlreadyExists(
        "OPERATION_ID_REUSED",
        kind="operation id",
        name=operation_id,
        hint="another daemon used it just now",
    )
