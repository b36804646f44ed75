"""The catalogue of collections: which name is which directory, made and deleted how.

    <data dir>/catalog.db                  names, and the operations that made or deleted them
    <data dir>/collections/<uid>/memory.db one file for each collection, deleted ones too
    <data dir>/collections/<uid>.new       mark of one that is made and may not be listed yet

A deletion is one row: the directory stays until it is purged. Each change is one commit of the
catalogue; what a crash leaves to do around it is done at the next start. A directory that nothing
accounts for is left alone: who lost his catalogue must not lose his memories with it.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from totonoe_core.errors import Corruption, ReadOnly
from totonoe_core.ids import new_operation_id
from totonoe_core.store import directories, rows
from totonoe_core.store.schema import CATALOG, open_writer
from totonoe_core.store.snapshot import disk

_TEMPORARY = ".tmp"

_NEW = ".new"
_PURGE = "PurgeCollection"


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
        # The mark first: making the directory syncs both entries.
        (self._root / (uid + _NEW)).touch(0o600)
        directories.make(self._root / uid)
        return uid

    def drop_new(self, uid: str) -> None:
        """Removes what was made and is not to be listed."""
        shutil.rmtree(self._root / uid, ignore_errors=True)
        self._unmark(uid)

    def _unmark(self, uid: str) -> None:
        # Where the disk refuses, the next start does it.
        with suppress(OSError):
            (self._root / (uid + _NEW)).unlink(missing_ok=True)

    def recover(self) -> list[str]:
        """Ends what a crash left half done around a commit; for the start.

        Returns the names of directories that nothing accounts for, which are left alone. Raises
        `Corruption` if these are collections and the catalogue has never listed any: it is lost.
        """
        for unfinished in self._root.glob("*" + _TEMPORARY):
            uid = unfinished.name.removesuffix(_TEMPORARY)
            if self._listed(uid):
                self.settle(uid)
            else:
                shutil.rmtree(unfinished, ignore_errors=True)
        listed = {uid for (uid,) in self._connection.execute("SELECT uid FROM collection")}
        purged = {
            uid
            for (uid,) in self._connection.execute(
                "SELECT uid FROM operation WHERE kind = ?", (_PURGE,)
            )
        }
        with os.scandir(self._root) as found:
            names = {entry.name for entry in found}
        marked = {name.removesuffix(_NEW) for name in names if name.endswith(_NEW)}
        for uid in marked:
            if uid in listed:
                self._unmark(uid)
            else:
                self.drop_new(uid)
        rest = {name for name in names if not name.endswith(_NEW)} - listed - marked
        for uid in rest & purged:
            shutil.rmtree(self._root / uid, ignore_errors=True)
        unknown = sorted(rest - purged)
        lost = [uid for uid in unknown if self.path(uid).exists()]
        if lost and not self.revision():
            # Serving as if nothing had ever been said would be an answer that is wrong in silence.
            self.close()
            raise Corruption(
                "CORRUPT_ROW",
                f"catalog.db is empty, but there are {len(lost)} collections on disk: "
                "bring the catalogue back from a copy, or move them away",
                file="catalog.db",
            )
        return unknown

    def _listed(self, uid: str) -> bool:
        found = self._connection.execute("SELECT count(*) FROM collection WHERE uid = ?", (uid,))
        return bool(found.get)

    def prepare(self) -> tuple[str, Path]:
        """A directory for a collection that is being made, and where its file goes.

        `settle` gives it its name, `abandon` takes it away, and so does the next start.
        """
        uid = secrets.token_hex(8)
        directory = self._root / (uid + _TEMPORARY)
        with disk("the collection's directory"):
            # Synced: once its uid is listed, it must be there.
            directories.make(directory)
        return uid, directory / "memory.db"

    def settle(self, uid: str) -> None:
        """Gives a prepared directory, with all that is in it, the place of its uid. Idempotent.

        After it is listed: the next start does it if this one comes to its end in between.
        """
        prepared = self._root / (uid + _TEMPORARY)
        if prepared.exists():
            with disk("the collection's directory"):
                directories.sync(prepared)
                prepared.rename(self._root / uid)
                directories.sync(self._root)

    def abandon(self, uid: str) -> None:
        """Takes a prepared directory away, unless it is listed. Idempotent."""
        if not self._listed(uid):
            shutil.rmtree(self._root / (uid + _TEMPORARY), ignore_errors=True)

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

    def deleted_before(self, time_us: int, limit: int) -> list[tuple[str, str]]:
        """(uid, name) of collections that were deleted before a time, the first ones first."""
        found = self._connection.execute(
            "SELECT uid, name, deleted_us, crc FROM collection WHERE deleted_us < ? "
            "ORDER BY deleted_us LIMIT ?",
            (time_us, limit),
        )
        return [rows.check(row, "collection")[:2] for row in found]

    def purged(self, operation_id: str) -> bool:
        """Whether an operation of this id deleted a collection that is purged by now."""
        found = self._connection.execute(
            "SELECT count(*) FROM operation d JOIN operation p ON p.uid = d.uid AND p.kind = ? "
            "WHERE d.operation_id = ? AND d.kind = 'DeleteCollection'",
            (_PURGE, operation_id),
        )
        return bool(found.get)

    def purge(self, uid: str, time_us: int) -> None:
        """Takes a deleted collection away for good: out of the catalogue, then its directory.

        Raises `ReadOnly` if the disk refuses the first; then nothing changed.
        """
        operation = (self.revision() + 1, new_operation_id(), "", _PURGE, uid, b"", "", time_us)
        with self._changing():
            self._connection.execute("DELETE FROM collection WHERE uid = ?", (uid,))
            self._put_operation(operation)
        # Noted for good: what is left of it after a crash is removed at the next start.
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
        """Lists or deletes a collection as one operation; returns its revision.

        `replaced_uid` is what had the name before, and is deleted with it; or, where the
        collection is deleted, what gets the name in its place.

        Raises `ReadOnly` if the disk refuses; then nothing changed.
        """
        revision = self.revision() + 1
        operation = (revision, operation_id, agent_id, kind, uid, digest, answer, time_us)
        # What goes comes first: a name has one collection.
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
        try:
            with self._connection:
                yield
        except (apsw.FullError, apsw.IOError, apsw.ReadOnlyError) as error:
            raise ReadOnly("READ_ONLY", f"the catalogue cannot be written: {error}") from error

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
        """Keeps the answer of an operation that changes no name; returns its revision.

        Raises `ReadOnly` if the disk refuses.
        """
        revision = self.revision() + 1
        with disk("the catalogue"), self._connection:
            self._put_operation(
                (revision, operation_id, agent_id, kind, uid, digest, answer, time_us)
            )
        return revision

    def answers(self, kinds: Sequence[str], operation_id: str = "") -> list[tuple[str, str]]:
        """(agent, answer) of the operations of some kinds, and of one id if it is given."""
        marks = ",".join("?" * len(kinds))
        found = self._connection.execute(
            "SELECT revision, operation_id, agent_id, kind, uid, digest, answer, time_us, crc "
            f"FROM operation WHERE kind IN ({marks}) AND (? = '' OR operation_id = ?)",
            (*kinds, operation_id, operation_id),
        )
        checked = (rows.check(row, "operation") for row in found)
        return [(row[2], row[6]) for row in checked]
