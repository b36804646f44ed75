"""The catalogue of collections: which name is which directory, made and deleted how.

    <data dir>/catalog.db                  names, and the operations that made or deleted them
    <data dir>/collections/<uid>/memory.db one file for each collection, deleted ones too

A deletion is one row: the directory stays until it is purged.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import apsw

from totonoe_core.errors import ReadOnly
from totonoe_core.store import directories, rows
from totonoe_core.store.schema import CATALOG, open_writer


@dataclass(frozen=True, slots=True)
class CatalogReply:
    """The kept answer of a catalogue operation."""

    digest: bytes
    answer: str


class Catalog:
    """Names to directories. Used by one thread at a time."""

    def __init__(self, data_dir: Path) -> None:
        self._root = data_dir / "collections"
        directories.make(self._root)
        self._connection = open_writer(data_dir / "catalog.db", CATALOG)

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def path(self, uid: str) -> Path:
        """The file of a collection."""
        return self._root / uid / "memory.db"

    def new_uid(self) -> str:
        """A directory for a new collection, made but not listed yet."""
        uid = secrets.token_hex(8)
        directories.make(self._root / uid)
        return uid

    def names(self) -> dict[str, str]:
        """uid by name of every collection that is not deleted."""
        found = {}
        for row in self._connection.execute("SELECT uid, name, deleted_us, crc FROM collection"):
            uid, name, deleted_us = rows.check(row, "collection")
            if deleted_us is None:
                found[name] = uid
        return found

    def revision(self) -> int:
        """Newest revision of the catalogue."""
        return int(self._connection.execute("SELECT coalesce(max(revision), 0) FROM operation").get)

    def reply(self, agent_id: str, operation_id: str) -> CatalogReply | None:
        """The kept answer of an operation id."""
        row = self._connection.execute(
            "SELECT revision, operation_id, agent_id, kind, uid, digest, answer, time_us, crc "
            "FROM operation WHERE agent_id = ? AND operation_id = ?",
            (agent_id, operation_id),
        ).fetchone()
        if row is None:
            return None
        *_, digest, answer, _ = rows.check(row, "operation")
        return CatalogReply(digest, answer)

    def deletions(self, name: str, operation_id: str) -> dict[str, str]:
        """uid of the collection of this name that the operation of this id deleted, by agent."""
        found = {}
        for row in self._connection.execute(
            "SELECT revision, operation_id, agent_id, kind, uid, digest, answer, time_us, crc "
            "FROM operation WHERE operation_id = ? AND kind = 'DeleteCollection'",
            (operation_id,),
        ):
            _, _, agent_id, _, uid, *_ = rows.check(row, "operation")
            collection = self._connection.execute(
                "SELECT uid, name, deleted_us, crc FROM collection WHERE uid = ?", (uid,)
            ).fetchone()
            if collection is not None and rows.check(collection, "collection")[1] == name:
                found[agent_id] = uid
        return found

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
    ) -> int:
        """Lists or deletes a collection as one operation; returns its revision.

        Raises `ReadOnly` if the disk refuses; then nothing changed.
        """
        revision = self.revision() + 1
        operation = (revision, operation_id, agent_id, kind, uid, digest, answer, time_us)
        try:
            with self._connection:
                self._connection.execute(
                    "INSERT OR REPLACE INTO collection (uid, name, deleted_us, crc) "
                    "VALUES (?,?,?,?)",
                    rows.seal((uid, name, deleted_us)),
                )
                self._connection.execute(
                    "INSERT INTO operation (revision, operation_id, agent_id, kind, uid, digest, "
                    "answer, time_us, crc) VALUES (?,?,?,?,?,?,?,?,?)",
                    rows.seal(operation),
                )
        except (apsw.FullError, apsw.IOError, apsw.ReadOnlyError) as error:
            raise ReadOnly("READ_ONLY", f"the catalogue cannot be written: {error}") from error
        return revision
