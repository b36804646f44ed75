"""The catalogue: names of collections, their directories, and the operations that made them.

    <data dir>/catalog.db                  names, and the operations that made or deleted them
    <data dir>/collections/<uid>/memory.db one file for each collection, deleted ones too
    <data dir>/collections/<uid>.new       mark of one that is made and may not be listed yet

A deletion is one row: the directory stays until it is purged. Each change is one commit of the
catalogue; the next start finishes the rest of an interrupted change. A directory that the catalogue
does not know is left alone: losing the catalogue must not cost the memories.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw

from totonoe_core.base.errors import Corruption, ReadOnly, TotonoeError
from totonoe_core.base.ids import COLLECTION_UID, new_operation_id
from totonoe_core.store import directories, rows
from totonoe_core.store.records import CatalogReply, Loss, Place
from totonoe_core.store.sqlite import checks, length, sql
from totonoe_core.store.sqlite.acknowledged import Note
from totonoe_core.store.sqlite.length import Log
from totonoe_core.store.sqlite.loss import CATALOGUE, KIND, Evidence, let_write
from totonoe_core.store.sqlite.schema import CATALOG, open_reader, open_writer
from totonoe_core.store.sqlite.snapshot import disk

_log = logging.getLogger(__name__)

COPY: Final = "snapshots/catalog.db"
"""Copy of the catalogue, as of the newest snapshot."""
TEMPORARY, NEW = ".tmp", ".new"
"""Suffixes after the uid: a directory that is being restored; the mark of a new collection."""
PURGE = "PurgeCollection"
REBUILD: Final = "make it anew from the collections: totonoe catalogue rebuild"


def is_sound(path: Path) -> bool:
    """Return whether a catalogue can be read to its end, and has ever listed a collection."""
    if not path.exists():
        return False
    try:
        length.check(path)
        connection = open_reader(path, CATALOG)
    except (TotonoeError, apsw.Error, OSError):
        return False
    try:
        if checks.damage(connection):
            return False
        if any(bad or cut for _, _, bad, cut in checks.every_bad(connection, checks.CATALOG_KEYS)):
            return False
        return bool(connection.execute("SELECT count(*) FROM operation").get)
    except (apsw.Error, UnicodeDecodeError):
        return False
    finally:
        connection.close()


class Catalog:
    """Map from names to directories. Used by one thread at a time.

    Methods without a text of their own: see `seam.Catalog` and `seam.FileCatalog`.

    `loss` describes acknowledged commits that the catalogue lacks. While it is set, changes raise
    `CommitsLost`.
    """

    def __init__(self, data_dir: Path) -> None:
        self._root = data_dir / "collections"
        directories.make(self._root)
        path = data_dir / "catalog.db"
        evidence = Evidence(path, CATALOGUE)
        try:
            self._connection = open_writer(path, CATALOG, evidence=evidence, create=True)
        except Corruption as error:
            message = f"{error.message}; or {REBUILD}"
            raise Corruption(error.reason, message, **error.details) from error
        self.loss = evidence.loss
        self._log = Log(self._connection, path)
        # Each commit is a revision, so that commits need no count of their own.
        self._note = Note(path, CATALOGUE)

    def close(self) -> None:
        if self.loss is None:
            with suppress(apsw.Error, OSError, Corruption):
                self._log.empty(self._connection)
        self._connection.close()
        self._note.close()

    def accept_loss(self, lost: Loss, now_us: int) -> None:
        """Confirm a loss as one operation. Raises `ReadOnly`; then the loss stands."""
        for mark in self._root.glob("*" + NEW):
            # A directory that a lost commit listed must not count as never listed.
            if not self._listed(mark.name.removesuffix(NEW)):
                self._unmark(mark.name.removesuffix(NEW))
        let_write(self._connection)
        self.loss = None
        last_us = self._connection.execute("SELECT coalesce(max(time_us), 0) FROM operation").get
        with self._changing():
            time_us = max(last_us + 1, now_us)
            id_ = new_operation_id()
            self._put_operation((lost.next_revision, id_, "", KIND, "", b"", lost.reason, time_us))
        with disk("the catalogue"):
            self._log.empty(self._connection)

    def path(self, uid: str) -> Path:
        """Path of a collection's file."""
        return self._root / uid / "memory.db"

    def place(self, uid: str, name: str) -> Place:
        return Place(self.path(uid), uid, name)

    def new_uid(self) -> str:
        uid = secrets.token_hex(8)
        self.begin_new(uid)
        return uid

    def begin_new(self, uid: str) -> None:
        """Make the directory of a collection that may not be listed yet. Raises `OSError`."""
        # The mark first: making the directory syncs both entries.
        (self._root / (uid + NEW)).touch(0o600)
        directories.make(self._root / uid)

    def drop_new(self, uid: str) -> None:
        shutil.rmtree(self._root / uid, ignore_errors=True)
        self._unmark(uid)

    def _unmark(self, uid: str) -> None:
        # If the disk refuses, the next start does it.
        with suppress(OSError):
            (self._root / (uid + NEW)).unlink(missing_ok=True)

    def recover(self) -> list[str]:
        if self.loss is not None:
            _log.error("the catalogue is read-only: %s", self.loss.error().message)
            return sorted(
                one.name
                for one in self._root.iterdir()
                if one.is_dir() and not self._listed(one.name.removesuffix(TEMPORARY))
            )
        for unfinished in self._root.glob("*" + TEMPORARY):
            uid = unfinished.name.removesuffix(TEMPORARY)
            if self._listed(uid):
                self.settle(uid)
            else:
                shutil.rmtree(unfinished, ignore_errors=True)
        listed = {uid for uid, _, _ in self._collections("")}
        purged = {row[4] for row in self._operations("kind = ?", PURGE)}
        with os.scandir(self._root) as found:
            names = {entry.name for entry in found}
        marked = {name.removesuffix(NEW) for name in names if name.endswith(NEW)}
        for uid in marked:
            if uid in listed:
                self._unmark(uid)
            else:
                self.drop_new(uid)
        rest = {name for name in names if not name.endswith(NEW)} - listed - marked
        for uid in rest & purged:
            shutil.rmtree(self._root / uid, ignore_errors=True)
        unknown = sorted(rest - purged)
        lost = [uid for uid in unknown if self.path(uid).exists()]
        if lost and not self.revision():
            # Serving an empty store here would be wrong without any sign of it.
            self.close()
            raise Corruption(
                "CORRUPT_ROW",
                f"catalog.db is empty, but there are {len(lost)} collections on disk: "
                f"bring the catalogue back from a copy, or {REBUILD}",
                file="catalog.db",
            )
        return unknown

    def unlisted(self) -> list[str]:
        known = {uid for uid, _, _ in self._collections("")}
        known |= {row[4] for row in self._operations("kind = ?", PURGE)}
        with os.scandir(self._root) as found:
            names = {entry.name for entry in found if entry.is_dir() or entry.name.endswith(NEW)}
        known |= {name.removesuffix(NEW) for name in names if name.endswith(NEW)}
        return sorted(name for name in names - known if COLLECTION_UID.match(name))

    def copy_beside_snapshots(self) -> None:
        target = self._root.parent / COPY
        temporary = target.with_name(target.name + TEMPORARY)
        with disk("the copy of the catalogue"):
            directories.make(target.parent)
            temporary.unlink(missing_ok=True)
            copy = apsw.Connection(str(temporary))
            try:
                with copy.backup("main", self._connection, "main") as backup:
                    backup.step(-1)
                # It is read without a log beside it.
                copy.pragma("journal_mode", "delete")
            finally:
                copy.close()
            temporary.chmod(0o600)
            directories.sync(temporary)
            temporary.replace(target)
            directories.sync(target.parent)

    def _listed(self, uid: str) -> bool:
        return bool(self._collections("WHERE uid = ?", uid))

    def prepare(self) -> tuple[str, Path]:
        uid = secrets.token_hex(8)
        directory = self._root / (uid + TEMPORARY)
        with disk("the collection's directory"):
            # Synced: once its uid is listed, it must be there.
            directories.make(directory)
        return uid, directory / "memory.db"

    def settle(self, uid: str) -> None:
        prepared = self._root / (uid + TEMPORARY)
        if prepared.exists():
            with disk("the collection's directory"):
                directories.sync(prepared)
                prepared.rename(self._root / uid)
                directories.sync(self._root)

    def abandon(self, uid: str) -> None:
        if not self._listed(uid):
            shutil.rmtree(self._root / (uid + TEMPORARY), ignore_errors=True)

    def names(self) -> dict[str, str]:
        return {name: uid for uid, name, deleted_us in self._collections("") if deleted_us is None}

    def revision(self) -> int:
        ((newest,),) = self._read("SELECT coalesce(max(revision), 0) FROM operation")
        return int(newest)

    def reply(self, agent_id: str, operation_id: str) -> CatalogReply | None:
        found = self._operations("agent_id = ? AND operation_id = ?", agent_id, operation_id)
        return next((CatalogReply(row[5], row[6]) for row in found), None)

    def deletions(self, name: str, operation_id: str) -> dict[str, str]:
        where = "operation_id = ? AND kind = 'DeleteCollection'"
        return {
            agent_id: uid
            for _, _, agent_id, _, uid, *_ in self._operations(where, operation_id)
            if any(listed == name for _, listed, _ in self._collections("WHERE uid = ?", uid))
        }

    def deleted_before(self, time_us: int, limit: int) -> list[tuple[str, str]]:
        where = "WHERE deleted_us < ? ORDER BY deleted_us LIMIT ?"
        return [(uid, name) for uid, name, _ in self._collections(where, time_us, limit)]

    def purged(self, operation_id: str) -> bool:
        ((count,),) = self._read(
            "SELECT count(*) FROM operation d JOIN operation p ON p.uid = d.uid AND p.kind = ? "
            "WHERE d.operation_id = ? AND d.kind = 'DeleteCollection'",
            PURGE,
            operation_id,
        )
        return bool(count)

    def purge(self, uid: str, time_us: int) -> None:
        operation = (self.revision() + 1, new_operation_id(), "", PURGE, uid, b"", "", time_us)
        with self._changing():
            self._connection.execute("DELETE FROM collection WHERE uid = ?", (uid,))
            self._put_operation(operation)
        # Recorded for good: after a crash the next start removes the rest of it.
        shutil.rmtree(self._root / uid, ignore_errors=True)

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
        revision = self.revision() + 1
        operation = (revision, operation_id, agent_id, kind, uid, digest, answer, time_us)
        # The deletion comes first: a name has one collection.
        listed = [(uid, name, deleted_us)]
        if replaced_uid:
            listed.append((replaced_uid, name, time_us if deleted_us is None else None))
        with self._changing():
            for one in sorted(listed, key=lambda row: row[2] is None):
                self._connection.execute(
                    "INSERT OR REPLACE INTO collection (uid, name, deleted_us, crc) "
                    "VALUES (?,?,?,?)",
                    rows.seal(one),
                )
            self._put_operation(operation)
        self._unmark(uid)
        return revision

    def _put_operation(self, operation: tuple[object, ...]) -> None:
        self._connection.execute(
            "INSERT INTO operation (revision, operation_id, agent_id, kind, uid, digest, "
            "answer, time_us, crc) VALUES (?,?,?,?,?,?,?,?,?)",
            rows.seal(operation),
        )

    @contextmanager
    def _changing(self) -> Iterator[None]:
        if self.loss is not None:
            raise self.loss.error()
        self._log.raise_fault()
        try:
            with self._connection:
                yield
                revision = self.revision()
        except (apsw.FullError, apsw.IOError, apsw.ReadOnlyError) as error:
            raise ReadOnly("READ_ONLY", f"the catalogue cannot be written: {error}") from error
        except apsw.Error as error:
            sql.raise_damage(error, "catalog.db")
            raise
        self._note.put(revision, revision)

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
        revision = self.revision() + 1
        with disk("the catalogue"), self._changing():
            self._put_operation(
                (revision, operation_id, agent_id, kind, uid, digest, answer, time_us)
            )
        return revision

    def answers(self, kinds: Sequence[str], operation_id: str = "") -> list[tuple[str, str]]:
        marks = ",".join("?" * len(kinds))
        where = f"kind IN ({marks}) AND (? = '' OR operation_id = ?)"
        found = self._operations(where, *kinds, operation_id, operation_id)
        return [(row[2], row[6]) for row in found]

    def every_collection(self) -> list[rows.Row]:
        """Return (uid, name, deleted_us) of all collections, deleted ones too."""
        return self._collections("")

    def every_operation(self) -> list[rows.Row]:
        """Return (revision, operation id, agent, kind, uid, digest, answer, time us) of all."""
        return self._operations("1 ORDER BY revision")

    def take(self, listed: Sequence[rows.Row], operations: Sequence[rows.Row]) -> None:
        """List collections of another store with its operations, as one commit.

        The operations get the next revisions here. Raises `ReadOnly`, `CommitsLost`.
        """
        with disk("the catalogue"), self._changing():
            for one in listed:
                self._connection.execute(
                    "INSERT INTO collection (uid, name, deleted_us, crc) VALUES (?,?,?,?)",
                    rows.seal(one),
                )
            for revision, one in enumerate(operations, self.revision() + 1):
                self._put_operation((revision, *one[1:]))
        for uid, _, _ in listed:
            self._unmark(uid)

    # -- Rows, each checked against its crc

    def _collections(self, where: str, *values: object) -> list[rows.Row]:
        """(uid, name, deleted_us) of collections."""
        sql = f"SELECT uid, name, deleted_us, crc FROM collection {where}"
        return [rows.check(row, "collection") for row in self._read(sql, *values)]

    def _operations(self, where: str, *values: object) -> list[rows.Row]:
        """(revision, operation id, agent, kind, uid, digest, answer, time us) of operations."""
        sql = "SELECT revision, operation_id, agent_id, kind, uid, digest, answer, time_us, crc "
        sql += f"FROM operation WHERE {where}"
        return [rows.check(row, "operation") for row in self._read(sql, *values)]

    def _read(self, query: str, *values: object) -> list[rows.Row]:
        try:
            return self._connection.execute(query, values).fetchall()
        except (apsw.Error, UnicodeDecodeError) as error:
            sql.raise_damage(error, "catalog.db")
            raise
