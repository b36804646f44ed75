"""The tables of the catalogue: names of collections, and the operations that made them.

A store says how its two tables are called, how a statement runs, and what a change is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from totonoe_core.base.ids import new_operation_id
from totonoe_core.store import rows
from totonoe_core.store.records import CatalogReply

PURGE = "PurgeCollection"
_OPERATION = "revision, operation_id, agent_id, kind, uid, digest, answer, time_us, crc"


class CatalogTables(ABC):
    """The part of a catalogue that is alike in all stores. Used by one thread at a time.

    Methods without a text of their own: see `seam.Catalog`.
    """

    COLLECTIONS: ClassVar[str]
    OPERATIONS: ClassVar[str]
    ROWS: ClassVar[Sequence[str]] = ()
    """The tables in the same database whose rows belong to one collection."""

    @abstractmethod
    def _read(self, query: str, values: Sequence[object] = ()) -> list[rows.Row]:
        """Run a statement and return its rows; `?` are its values. Its errors are typed."""

    @abstractmethod
    def _changing(self) -> AbstractContextManager[int]:
        """Change the catalogue as one commit; yields the revision of the change."""

    def names(self) -> dict[str, str]:
        return {name: uid for uid, name, _ in self._collections("deleted_us IS NULL")}

    def revision(self) -> int:
        ((newest,),) = self._read(f"SELECT coalesce(max(revision), 0) FROM {self.OPERATIONS}")
        return int(newest)

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
        table = self.OPERATIONS
        ((count,),) = self._read(
            f"SELECT count(*) FROM {table} d JOIN {table} p ON p.uid = d.uid AND p.kind = ? "
            "WHERE d.operation_id = ? AND d.kind = 'DeleteCollection'",
            (PURGE, operation_id),
        )
        return bool(count)

    def purge(self, uid: str, time_us: int) -> None:
        with self._changing() as revision:
            self._read(f"DELETE FROM {self.COLLECTIONS} WHERE uid = ?", (uid,))
            self._delete_rows(uid)
            self._put_operation((revision, new_operation_id(), "", PURGE, uid, b"", "", time_us))

    def _delete_rows(self, uid: str) -> None:
        for table in self.ROWS:
            self._read(f"DELETE FROM {table} WHERE uid = ?", (uid,))

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
        listed = [(uid, name, deleted_us)]
        if replaced_uid:
            listed.append((replaced_uid, name, time_us if deleted_us is None else None))
        with self._changing() as revision:
            # The deletion comes first: a name has one collection.
            for collection in sorted(listed, key=lambda row: row[2] is None):
                self._put_collection(
                    collection,
                    "ON CONFLICT (uid) DO UPDATE SET name = excluded.name, "
                    "deleted_us = excluded.deleted_us, crc = excluded.crc",
                )
            self._put_operation(
                (revision, operation_id, agent_id, kind, uid, digest, answer, time_us)
            )
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
        with self._changing() as revision:
            self._put_operation(
                (revision, operation_id, agent_id, kind, uid, digest, answer, time_us)
            )
        return revision

    def answers(self, kinds: Sequence[str], operation_id: str = "") -> list[tuple[str, str]]:
        marks = ",".join("?" * len(kinds))
        found = self._operations(f"kind IN ({marks})", *kinds)
        return [(row[2], row[6]) for row in found if operation_id in ("", row[1])]

    # -- For a copy into another store (`store/copying.py`)

    def every_collection(self) -> list[rows.Row]:
        """Return (uid, name, deleted_us) of all collections, deleted ones too."""
        return self._collections()

    def every_operation(self) -> list[rows.Row]:
        """Return (revision, operation id, agent, kind, uid, digest, answer, time us) of all."""
        return sorted(self._operations())

    def _take(self, listed: Sequence[rows.Row], operations: Sequence[rows.Row], at: int) -> None:
        """List collections of another store with its operations, which get revisions from `at`."""
        for collection in listed:
            self._put_collection(collection)
        for revision, kept in enumerate(operations, at):
            self._put_operation((revision, *kept[1:]))

    # -- Rows, each with its crc, and checked against it

    def _put_collection(self, listed: rows.Row, again: str = "") -> None:
        """Write (uid, name, deleted_us); `again` says what happens to a uid that is listed."""
        self._read(
            f"INSERT INTO {self.COLLECTIONS} (uid, name, deleted_us, crc) "
            f"VALUES (?, ?, ?, ?) {again}",
            rows.seal(listed),
        )

    def _put_operation(self, operation: tuple[Any, ...]) -> None:
        self._read(
            f"INSERT INTO {self.OPERATIONS} ({_OPERATION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows.seal(operation),
        )

    def _collections(self, where: str = "true", *values: object) -> list[rows.Row]:
        """Return (uid, name, deleted_us) of collections."""
        query = f"SELECT uid, name, deleted_us, crc FROM {self.COLLECTIONS} WHERE {where}"
        return [rows.check(row, "collection") for row in self._read(query, values)]

    def _operations(self, where: str = "true", *values: object) -> list[rows.Row]:
        """Return (revision, operation id, agent, kind, uid, digest, answer, time us)."""
        query = f"SELECT {_OPERATION} FROM {self.OPERATIONS} WHERE {where}"
        return [rows.check(row, "operation") for row in self._read(query, values)]
