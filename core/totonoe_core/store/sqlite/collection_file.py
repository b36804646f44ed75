"""A collection's file as its writer uses it: one connection, one thread.

Within a batch there is one transaction; each operation has a savepoint in it, so that one
that fails leaves nothing behind and the others go on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import apsw

from totonoe_core.base.errors import Corruption, ReadOnly
from totonoe_core.store import rows
from totonoe_core.store.records import Place
from totonoe_core.store.sqlite import sql
from totonoe_core.store.sqlite.commits import Commits
from totonoe_core.store.sqlite.identity import UID, kept_uid
from totonoe_core.store.sqlite.length import Log
from totonoe_core.store.sqlite.loss import Evidence
from totonoe_core.store.sqlite.migrate import forget_copies
from totonoe_core.store.sqlite.purge import PurgedRows
from totonoe_core.store.sqlite.reader import Rows
from totonoe_core.store.sqlite.schema import BUSY_TIMEOUT_MS, COLLECTION, make_file, open_writer
from totonoe_core.store.sqlite.scrub import Scrub
from totonoe_core.store.sqlite.session import Session
from totonoe_core.store.sqlite.snapshot import Copies, FileCopy, disk
from totonoe_core.store.tables.sql import PUT_SETTING
from totonoe_core.store.tables.writes import Writes

CLEANING = "cleaning"  # setting: a purge is on disk, but its bytes may still be somewhere
_CLEAN_WAIT_MS = 200  # wait for readers that hold the WAL
_CLEAN_STEPS_AT_CLOSE = 1000
_GAPS_MAX = 1_000_000  # unused row numbers; a larger gap means a damaged number


class CollectionFile(Writes):
    """Writes of one collection. Raises `ReadOnly` when the disk refuses.

    Methods without a text of their own: see `seam.CollectionFile`.

    `checkpoints` belong to the collection, and are safe from any thread. `place` is the collection
    that the file must belong to; `None` accepts any. `commits` counts commits, and knows which are
    lost. With `noted`, each commit is noted in the side file before `transaction` returns; use it
    for a collection in its own place, not for a copy. Opening raises what `open_writer` raises.
    """

    rows: Rows

    def __init__(self, path: Path, place: Place | None = None, *, noted: bool = False) -> None:
        evidence = Evidence(path, path.parent.name)
        self._connection = open_writer(path, COLLECTION, place, evidence=evidence)
        super().__init__(
            Session(self._connection), path, Rows(self._connection), PurgedRows(self._connection)
        )
        self._log = Log(self._connection, path)
        self.commits = Commits(self._connection, evidence, noted=noted)
        self.copies = Copies(self._connection)
        self._scrub: Scrub | None = None

    @staticmethod
    def make(path: Path, uid: str, settings: Mapping[str, str]) -> None:
        """Make a new file with uid and settings, on disk when this returns.

        The directory must not be listed yet. Raises `ReadOnly`, and may leave a part of the file.
        """

        def fill(connection: apsw.Connection) -> None:
            settled = ((UID, uid), *settings.items())
            Session(connection).write_all(PUT_SETTING, map(rows.seal, settled))

        make_file(path, COLLECTION, fill)

    @property
    def uid(self) -> str | None:
        """The uid of the file's collection; `None` if the file has none."""
        return kept_uid(self._connection)

    def take_uid(self, uid: str) -> None:
        """Set the file's uid, within a transaction. This is no operation."""
        self.put_setting(UID, uid, revision=0, before=None)

    def write_back(self) -> None:
        """Writes what is in the log into the file itself. Raises `ReadOnly`, `Corruption`.

        The uid is read from the file alone, so it must not stay in the log.
        """
        with disk("the collection's file"):
            self.empty_log()

    def close(self) -> None:
        self.finish_cleaning()
        self.copies.end()
        # close() does not suffice: SQLite then checkpoints for the last connection only, and
        # readers may still be open.
        with contextlib.suppress(apsw.Error, OSError, ReadOnly, Corruption):
            self.empty_log()
        self._connection.close()
        self.commits.close()
        if self._scrub is not None:
            self._scrub.close()

    def empty_log(self) -> None:
        """Write the log back into the file and truncate it.

        Raises `CommitsLost`, `Corruption` if the file lacks pages, `apsw.Error`, `OSError`.
        """
        self.commits.check()
        self._log.empty(self._connection)

    def begin_copy(self, target: Path) -> FileCopy:
        """Start a copy of the file; see `Copies.begin`. Raises `Corruption` if it lacks pages."""
        with disk("the collection's file"):
            self._log.check(self._connection)
        return self.copies.begin(target)

    @contextmanager
    def transaction(self, _: Collection[tuple[str, str]] = ()) -> Iterator[None]:
        self.commits.check()
        self._log.raise_fault()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self.commits.begin()
            yield
            self.commits.count()
            self._connection.execute("COMMIT")
        except BaseException as error:
            # A full disk makes SQLite roll back by itself.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            _raise_typed(error)
            raise
        self.commits.note()

    @contextmanager
    def trial(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        try:
            yield
        except BaseException as error:
            _raise_typed(error)
            raise
        finally:
            # A full disk makes SQLite roll back by itself.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self._connection.execute("SAVEPOINT operation")
        try:
            yield
        except BaseException as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK TO operation")
                self._connection.execute("RELEASE operation")
            _raise_typed(error)
            raise
        self._connection.execute("RELEASE operation")

    @contextmanager
    def reading(self) -> Iterator[None]:
        try:
            yield
        except (apsw.Error, UnicodeDecodeError) as error:
            sql.raise_damage(error, self.path.name)
            raise

    def take_reconnected(self) -> bool:
        """Return false: nothing lies between a file and its only writer."""
        return False

    def last_numbers(self) -> tuple[int, int, int]:
        # The rest of a purge that was interrupted by the end of the process.
        self.to_clean = self.rows.setting(CLEANING) is not None
        row, count = self._connection.execute(
            "SELECT coalesce(max(row), 0), count(*) FROM memory"
        ).get
        if row > _GAPS_MAX + 10 * count:
            raise Corruption(
                "CORRUPT_ROW",
                f"table memory is damaged: row {row} of {count}; restore a snapshot",
                table="memory",
                row=row,
            )
        return row, self.rows.history.newest(), self.rows.history.newest_time()

    def reindex(self, table: str = "") -> None:
        """Rebuild SQLite's own indexes from the rows, in a transaction of its own.

        Rebuilds those of one table, or all if `table` is empty.
        """
        with self.transaction():
            self._connection.execute(f"REINDEX {table}")

    # -- Cleaning after a purge

    def note_purge(self) -> None:
        self.put_setting(CLEANING, "1", revision=0, before=None)

    def begin_cleaning(self) -> None:
        self.to_clean = True
        if self._scrub is not None:
            self._scrub.restart()

    def finish_cleaning(self) -> None:
        with contextlib.suppress(ReadOnly, Corruption):
            for _ in range(_CLEAN_STEPS_AT_CLOSE):
                if not self.to_clean or not self.clean():
                    break

    def clean(self) -> bool:
        """Do one step of removing purged bytes from the file, outside any transaction.

        Deletes checkpoints and the copies of earlier formats, empties the WAL and the unallocated
        parts of pages (`store/sqlite/scrub.py`); `to_clean` is false once all is done. Returns
        whether it made progress: not while a reader holds the WAL.

        Raises
        ------
        ReadOnly
            The disk refuses, or the file lacks commits.
        """
        self.commits.check()
        connection = self._connection
        try:
            self.checkpoints.drop_all()
            forget_copies(self.path)
            connection.set_busy_timeout(_CLEAN_WAIT_MS)
            try:
                self._log.empty(connection)
            except (apsw.BusyError, apsw.LockedError):
                return False
            finally:
                connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            if self._scrub is None:
                self._scrub = Scrub(self.path)
            done = self._scrub.step()
            # The page cache has the old bytes, and would write them back.
            connection.execute("PRAGMA shrink_memory")
            if done:
                with self.transaction():
                    self.delete_setting(CLEANING)
                self.to_clean = False
        except apsw.Error as error:
            _raise_typed(error)
            raise
        except OSError as error:
            raise ReadOnly(
                "READ_ONLY", f"the collection's file cannot be cleaned: {error}"
            ) from error
        return True


def _raise_typed(error: BaseException) -> None:
    """Raise an error of the disk as a typed error; leave any other to the caller."""
    if sql.is_damage(error):
        raise sql.damaged("the collection's file") from error
    if isinstance(error, apsw.Error) and not isinstance(error, apsw.SQLError):
        raise ReadOnly("READ_ONLY", f"the collection's file cannot be written: {error}") from error
