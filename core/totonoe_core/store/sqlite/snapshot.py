"""A snapshot's file: copy beside the writer's work, seal, examination.

    FileCopy   the pages of a collection's file, in steps, by the connection that writes it
    seal       makes the copy stand alone: no log beside it, nothing purged in its gaps, and a row
               that describes it, with a digest of each table
    examine    compares a file with its seal; needs nothing but the file

SQLite's backup applies the writes of its own connection to pages that are copied already, so that
the copy is the collection at the last step, whatever was written between the steps
(https://www.sqlite.org/backup.html). A transaction that is rolled back whole (a disk that refuses)
restarts the copy; a rollback to one operation's savepoint does not.

Writers cannot outrun a copy: a step copies as many pages as were added since the one before, and a
share of the file besides. So whatever is written, a copy that is not restarted ends within
SNAPSHOT_STEPS_MAX steps.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import apsw
import numpy as np

from totonoe_core.base import limits, plain
from totonoe_core.base.errors import Corruption, ReadOnly, Unavailable
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.snapshots import Snapshot, SnapshotSeal, TableDigest
from totonoe_core.store import rows
from totonoe_core.store.records import ExaminedSnapshot, Place
from totonoe_core.store.sqlite import identity
from totonoe_core.store.sqlite.identity import open_untouched
from totonoe_core.store.sqlite.loss import BATCH
from totonoe_core.store.sqlite.schema import COLLECTION, format_of, open_reader
from totonoe_core.store.sqlite.scrub import Scrub
from totonoe_core.store.sqlite.session import Session
from totonoe_core.store.tables.described import described

SEAL = "snapshot"
"""Key of the seal in `setting`. No digest covers it."""
_CLEANING = "cleaning"
_PAGES_AT_ONCE = 32
_CHUNK_BYTES = 1024 * 1024
_FAULTS_MAX = 20
_IN_MAX = 500
_SETTINGS = "collection"


class FileCopy:
    """A running copy of a database. All calls on the thread of the connection that writes it.

    Methods without a text of their own: see `seam.FileCopy`.

    `step_count` and `copied_count` count steps, and the pages that they copied; a page that is
    copied again after a restart counts again.
    """

    def __init__(self, source: apsw.Connection, target: Path) -> None:
        with disk("the snapshot"):
            # After a crash the rest is deleted, so that nothing must be synced before the end.
            self._target = apsw.Connection(str(target))
            self._target.pragma("locking_mode", "exclusive")
            self._target.pragma("journal_mode", "off")
            self._target.pragma("synchronous", "off")
            self._target.pragma("cache_size", -2048)
            self._backup = self._target.backup("main", source, "main")
        self.step_count = self.copied_count = 0
        self._page_count = 0
        self._share = _PAGES_AT_ONCE
        """Pages that each step copies at least, beside those added since the step before."""

    def step(self) -> bool:
        until = time.perf_counter() + limits.SNAPSHOT_STEP_MS / 1000
        self.step_count += 1
        copied, needed = 0, 1
        with disk("the snapshot"):
            while copied < needed or time.perf_counter() < until:
                self._backup.step(_PAGES_AT_ONCE)
                copied += _PAGES_AT_ONCE
                self.copied_count += _PAGES_AT_ONCE
                if self._backup.done:
                    self._backup.finish()
                    return True
                if copied == _PAGES_AT_ONCE:
                    needed = self._needed()
        if self.copied_count > limits.SNAPSHOT_COPIED_TIMES_MAX * self._page_count + 4096:
            raise Unavailable(
                "OVERLOADED",
                "the copy was begun anew too often: writes fail all the time",
                retry_delay_ms=limits.RETRY_DELAY_MS,
            )
        return False

    @property
    def share(self) -> float:
        count = self._backup.page_count
        return 1.0 - self._backup.remaining / count if count else 0.0

    def _needed(self) -> int:
        """Return how many pages this step must copy. After its first ones."""
        before, self._page_count = self._page_count, self._backup.page_count
        if not before:
            self._share = max(self._share, -(-self._page_count // limits.SNAPSHOT_STEPS_MAX))
            return self._share
        return self._share + max(0, self._page_count - before)

    def close(self) -> None:
        """End the copy, whole or not. Idempotent."""
        self._backup.close(True)
        self._target.close(True)


class Copies:
    """Holds the running copy of one connection's file, if there is one."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._copy: FileCopy | None = None

    def begin(self, target: Path) -> FileCopy:
        """Start a copy of the file as it will be at its last step. One at a time.

        Raises `Unavailable` while another one is under way, `ReadOnly`.
        """
        if self._copy is not None:
            raise Unavailable(
                "OVERLOADED",
                "a snapshot of this collection is being taken",
                retry_delay_ms=limits.RETRY_DELAY_MS,
            )
        self._copy = FileCopy(self._connection, target)
        return self._copy

    def end(self) -> None:
        """End the running copy, whole or not. Idempotent."""
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.close()


def seal(path: Path, draft: Snapshot) -> Snapshot:
    """Make a copied or rewritten file stand alone, and sync it; return its description.

    Name, model, counts and (unless it was rewritten) revision are read from the file. Raises
    `ReadOnly`, `Corruption`.
    """
    with disk("the snapshot"):
        connection = apsw.Connection(str(path))
        try:
            # It is in WAL mode, like its source; exclusive mode needs no log and no index of one.
            connection.pragma("locking_mode", "exclusive")
            if connection.pragma("journal_mode", "delete") != "delete":
                raise Corruption("CORRUPT_ROW", f"{path.name} does not let go of its log")
            connection.pragma("journal_mode", "memory")
            connection.pragma("synchronous", "off")
            connection.pragma("secure_delete", "on")
            with connection:
                # A collection restored from it counts its own commits.
                own = (_CLEANING, SEAL, BATCH)
                connection.execute("DELETE FROM setting WHERE key IN (?, ?, ?)", own)
                snapshot = _described(connection, draft)
                value = plain.dumps(SnapshotSeal(snapshot, _tables(connection)))
                connection.execute(
                    "INSERT INTO setting (key, value, crc) VALUES (?,?,?)", rows.seal((SEAL, value))
                )
        finally:
            connection.close()
        # The change of mode leaves this file, with the pages from before.
        path.with_name(path.name + "-journal").unlink(missing_ok=True)
        # No reader has it open yet. Gaps of its pages may hold bytes purged from the source.
        scrub = Scrub(path)
        try:
            while not scrub.step():
                pass
        finally:
            scrub.close()
        return replace(snapshot, file_bytes=path.stat().st_size, sha256=sha256_of(path))


def _described(connection: apsw.Connection, draft: Snapshot) -> Snapshot:
    row = connection.execute(
        "SELECT key, value, crc FROM setting WHERE key = ?", (_SETTINGS,)
    ).fetchone()
    if row is None:
        raise Corruption("CORRUPT_ROW", "the copy has no settings")
    info = plain.loads(CollectionInfo, rows.check(row, "setting")[1])
    said = described(Session(connection), draft, info, int(connection.pragma("user_version")))
    return replace(said, file_bytes=0, sha256="")


def examine(path: Path, examined: Callable[[float], None] = lambda _: None) -> ExaminedSnapshot:
    """Examine a snapshot's file: every page, every row's checksum, counts, digests.

    `examined` is called with the share of the memories that is checked, in [0, 1].

    Raises
    ------
    UnsupportedFormat
        It is another program's, or of a format that is not known.
    OSError
        It cannot be read.
    """
    with path.open("rb"):
        pass
    faults: list[str] = []
    snapshot: Snapshot | None = None
    tables: tuple[TableDigest, ...] = ()
    try:
        connection = open_untouched(path)
    except apsw.Error as error:
        return ExaminedSnapshot(None, (), (f"it is no database: {error}",))
    try:
        if format_of(connection, path, COLLECTION) is None:
            return ExaminedSnapshot(None, (), ("it is empty",))
        check = "PRAGMA integrity_check(10)"
        faults += [f"pages: {text}" for (text,) in connection.execute(check) if text != "ok"]
        faults += [
            f"it holds a {kind} {name!r}, which no collection has"
            for kind, name in connection.execute(
                "SELECT type, name FROM sqlite_schema WHERE type NOT IN ('table', 'index') "
                "OR sql LIKE 'CREATE VIRTUAL%'"
            )
        ]
        tables = _tables(connection, faults, examined)
        snapshot = _sealed(connection, tables, faults)
    except (apsw.Error, ValueError, KeyError, TypeError) as error:
        faults.append(f"it cannot be read: {type(error).__name__}: {error}")
    finally:
        connection.close(True)
    return ExaminedSnapshot(snapshot, tables, tuple(faults[:_FAULTS_MAX]))


def _sealed(
    connection: apsw.Connection, tables: tuple[TableDigest, ...], faults: list[str]
) -> Snapshot | None:
    """Return the snapshot of the seal, compared with the contents."""
    row = connection.execute(
        "SELECT key, value, crc FROM setting WHERE key = ?", (SEAL,)
    ).fetchone()
    if row is None:
        faults.append("it has no seal: it is a collection's own file, or was not finished")
        return None
    if rows.crc(row[:-1]) != row[-1]:
        faults.append("its seal does not match its checksum")
        return None
    said = plain.loads(SnapshotSeal, row[1])
    named, digests = ({digest.table: digest for digest in part} for part in (said.tables, tables))
    for table in sorted(named.keys() | digests.keys()):
        one, other = named.get(table), digests.get(table)
        if one is None or other is None:
            faults.append(f"table {table}: {'unknown to the seal' if one is None else 'missing'}")
        elif one.row_count != other.row_count:
            faults.append(f"table {table}: {other.row_count} rows, sealed {one.row_count}")
        elif one.digest != other.digest:
            faults.append(f"table {table}: other rows than were sealed")
    try:
        same = _described(connection, said.snapshot) == said.snapshot
    except Corruption as error:
        faults.append(error.message)
    else:
        if not same:
            faults.append("name, model, revision or counts differ from its seal")
    return said.snapshot


def _tables(
    connection: apsw.Connection,
    faults: list[str] | None = None,
    examined: Callable[[float], None] = lambda _: None,
) -> tuple[TableDigest, ...]:
    """Return digests of all tables; with `faults` also check each row against its checksum."""
    names = [
        name
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*' "
            "ORDER BY name"
        )
    ]
    memory_count = 0
    if "memory" in names:
        memory_count = int(connection.execute("SELECT count(*) FROM memory").get)

    def digested(table: str, count: int) -> None:
        if table == "memory":
            examined(min(1.0, count / max(1, memory_count)))

    return tuple(_digest(connection, name, faults, digested) for name in names)


def _digest(
    connection: apsw.Connection,
    table: str,
    faults: list[str] | None,
    digested: Callable[[str, int], None],
) -> TableDigest:
    quoted = '"' + table.replace('"', '""') + '"'
    about = list(connection.execute(f"PRAGMA table_info({quoted})"))
    columns = [row[1] for row in about]
    order = ", ".join(row[1] for row in sorted(about, key=lambda row: row[5]) if row[5])
    sealed = "crc" in columns
    # The checksum alone if each row has one, so that a seal costs no more than reading the file.
    wanted = "crc" if sealed and faults is None else ", ".join(columns)
    cursor = connection.execute(
        f"SELECT {wanted} FROM {quoted} "
        + (f"WHERE key <> '{SEAL}' " if table == "setting" else "")
        + (f"ORDER BY {order}" if order else "ORDER BY rowid")
    )
    digest, count = hashlib.blake2b(digest_size=16), 0
    while part := list(islice(cursor, 4096)):
        if wanted == "crc":
            crcs = [row[0] for row in part]
        elif sealed:
            crcs = [row[-1] for row in part]
            if faults is not None and len(faults) < _FAULTS_MAX:
                faults += [
                    f"table {table}: row {row[0]!r:.60} does not match its checksum"
                    for row in part
                    if rows.crc(row[:-1]) != row[-1]
                ]
        else:
            crcs = [rows.crc(row) for row in part]
        digest.update(np.array(crcs, "<i8").tobytes())
        count += len(part)
        digested(table, count)
    return TableDigest(table, count, digest.hexdigest())


def holds(path: Path, memory_ids: Sequence[str]) -> list[str]:
    """Return those of some memories that a snapshot holds with more than a tombstone."""
    with disk("the snapshot"):
        connection = open_untouched(path)
        try:
            return _with_status(connection, "id", memory_ids, "<> 'purged'")
        finally:
            connection.close(True)


def purged_ids(place: Place) -> list[str]:
    """Return ids of all tombstones of a collection's file, open or not. Raises `Corruption`."""
    identity.check(place)
    connection = open_reader(place.path, place=place)
    with disk("the collection's file"):
        try:
            # Found over the operations: the table of memories is long and has no index for this.
            rows_: set[int] = set()
            for (touched,) in connection.execute(
                "SELECT touched FROM operation WHERE kind = 'Purge'"
            ):
                rows_.update(json.loads(touched)["memory"])
            return _with_status(connection, "row", sorted(rows_), "= 'purged'")
        finally:
            connection.close(True)


def _with_status(
    connection: apsw.Connection, column: str, keys: Sequence[str | int], condition: str
) -> list[str]:
    """Return ids of those of some memories, by id or row, whose status meets a condition."""
    found: list[str] = []
    for start in range(0, len(keys), _IN_MAX):
        part = keys[start : start + _IN_MAX]
        marks = ",".join("?" * len(part))
        found += [
            memory_id
            for (memory_id,) in connection.execute(
                f"SELECT id FROM memory WHERE {column} IN ({marks}) AND status {condition}", part
            )
        ]
    return found


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, which is synced first, so that the hash is of bytes on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    with os.fdopen(descriptor, "rb") as file:
        os.fsync(descriptor)
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_file(source: Path, target: Path, copied: Callable[[float], None] = lambda _: None) -> str:
    """Copy a file and sync it; return the sha256 of the copied bytes. Raises `ReadOnly`.

    `copied` is called with the share that is copied, in [0, 1].
    """
    digest = hashlib.sha256()
    with disk("the copy"), source.open("rb") as file, target.open("xb") as copy:
        size = max(1, os.fstat(file.fileno()).st_size)
        while part := file.read(_CHUNK_BYTES):
            digest.update(part)
            copy.write(part)
            copied(min(1.0, copy.tell() / size))
        copy.flush()
        os.fsync(copy.fileno())
    return digest.hexdigest()


@contextlib.contextmanager
def disk(what: str) -> Iterator[None]:
    """Raise errors of SQLite and the disk as `ReadOnly` or `Corruption`."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise Corruption("CORRUPT_ROW", f"{what} is damaged: {error}") from error
    except apsw.FullError as error:
        # The message of a failed backup says "not an error".
        raise ReadOnly("READ_ONLY", f"{what} cannot be written: the disk is full") from error
    except (apsw.Error, OSError) as error:
        raise ReadOnly("READ_ONLY", f"{what} cannot be written or read: {error}") from error
