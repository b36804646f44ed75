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
from typing import Any, Final

import apsw

from totonoe_core.base.errors import Corruption, TotonoeError
from totonoe_core.base.ids import COLLECTION_UID, new_operation_id
from totonoe_core.store import directories, rows
from totonoe_core.store.records import Loss, Place
from totonoe_core.store.sqlite import checks, length, sql
from totonoe_core.store.sqlite.acknowledged import Note
from totonoe_core.store.sqlite.length import Log
from totonoe_core.store.sqlite.loss import CATALOGUE, KIND, Evidence, let_write
from totonoe_core.store.sqlite.schema import CATALOG, open_reader, open_writer
from totonoe_core.store.sqlite.snapshot import disk
from totonoe_core.store.tables.catalog import PURGE, CatalogTables

_log = logging.getLogger(__name__)

COPY: Final = "snapshots/catalog.db"
"""Copy of the catalogue, as of the newest snapshot."""
TEMPORARY, NEW = ".tmp", ".new"
"""Suffixes after the uid: a directory that is being restored; the mark of a new collection."""
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


class Catalog(CatalogTables):
    """Map from names to directories. Used by one thread at a time.

    Methods without a text of their own: see `seam.Catalog` and `seam.FileCatalog`.

    `loss` describes acknowledged commits that the catalogue lacks. While it is set, changes raise
    `CommitsLost`.
    """

    COLLECTIONS, OPERATIONS = "collection", "operation"

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
                path.name
                for path in self._root.iterdir()
                if path.is_dir() and not self._listed(path.name.removesuffix(TEMPORARY))
            )
        for unfinished in self._root.glob("*" + TEMPORARY):
            uid = unfinished.name.removesuffix(TEMPORARY)
            if self._listed(uid):
                self.settle(uid)
            else:
                shutil.rmtree(unfinished, ignore_errors=True)
        listed = {uid for uid, _, _ in self._collections()}
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
        known = {uid for uid, _, _ in self._collections()}
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
        return bool(self._collections("uid = ?", uid))

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

    def purge(self, uid: str, time_us: int) -> None:
        super().purge(uid, time_us)
        # Recorded for good: after a crash the next start removes the rest of it.
        shutil.rmtree(self._root / uid, ignore_errors=True)

    def put(self, **change: Any) -> int:
        revision = super().put(**change)
        self._unmark(change["uid"])
        return revision

    def take(self, listed: Sequence[rows.Row], operations: Sequence[rows.Row]) -> None:
        """List collections of another store with its operations, as one commit.

        The operations get the next revisions here. Raises `ReadOnly`, `CommitsLost`.
        """
        with self._changing() as revision:
            self._take(listed, operations, revision)
        for uid, _, _ in listed:
            self._unmark(uid)

    @contextmanager
    def _changing(self) -> Iterator[int]:
        if self.loss is not None:
            raise self.loss.error()
        self._log.raise_fault()
        with disk("the catalogue"), self._connection:
            yield self.revision() + 1
            revision = self.revision()
        self._note.put(revision, revision)

    def _read(self, query: str, values: Sequence[object] = ()) -> list[rows.Row]:
        try:
            return self._connection.execute(query, values).fetchall()
        except (apsw.Error, UnicodeDecodeError) as error:
            sql.raise_damage(error, "catalog.db")
            raise
