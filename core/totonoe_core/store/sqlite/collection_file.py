"""A collection's file as its writer uses it: one connection, one thread.

Within a batch there is one transaction; each operation has a savepoint in it, so that one
that fails leaves nothing behind and the others go on.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from totonoe_core.base import plain
from totonoe_core.base.errors import Corruption, ReadOnly
from totonoe_core.domain.records import Dismissal, Episode, Link, LinkType, Memory
from totonoe_core.store import rows
from totonoe_core.store.aside import Aside
from totonoe_core.store.checkpoint import Checkpoints
from totonoe_core.store.records import Place, Reply, Touched
from totonoe_core.store.sqlite import sql
from totonoe_core.store.sqlite.beside import BesideRows
from totonoe_core.store.sqlite.commits import Commits
from totonoe_core.store.sqlite.identity import UID, kept_uid
from totonoe_core.store.sqlite.length import Log
from totonoe_core.store.sqlite.loss import Evidence
from totonoe_core.store.sqlite.migrate import forget_copies
from totonoe_core.store.sqlite.purge import PurgedRows
from totonoe_core.store.sqlite.reader import Rows
from totonoe_core.store.sqlite.recalls import Recalls
from totonoe_core.store.sqlite.schema import BUSY_TIMEOUT_MS, COLLECTION, make_file, open_writer
from totonoe_core.store.sqlite.scrub import Scrub
from totonoe_core.store.sqlite.snapshot import Copies, FileCopy, disk

_PUT_SETTING = "INSERT OR REPLACE INTO setting (key, value, crc) VALUES (?,?,?)"
CLEANING = "cleaning"  # setting: a purge is on disk, but its bytes may still be somewhere
_CLEAN_WAIT_MS = 200  # wait for readers that hold the WAL
_CLEAN_STEPS_AT_CLOSE = 1000
_GAPS_MAX = 1_000_000  # unused row numbers; a larger gap means a damaged number


class CollectionFile:
    """Writes of one collection. Raises `ReadOnly` when the disk refuses.

    Methods without a text of their own: see `seam.CollectionFile`.

    `checkpoints` belong to the collection, and are safe from any thread. `place` is the collection
    that the file must belong to; `None` accepts any. `commits` counts commits, and knows which are
    lost. With `noted`, each commit is noted in the side file before `transaction` returns; use it
    for a collection in its own place, not for a copy. Opening raises what `open_writer` raises.
    """

    def __init__(self, path: Path, place: Place | None = None, *, noted: bool = False) -> None:
        self.path = path
        self.checkpoints = Checkpoints(path.parent / "checkpoint")
        evidence = Evidence(path, path.parent.name)
        self._connection = open_writer(path, COLLECTION, place, evidence=evidence)
        self._log = Log(self._connection, path)
        self.commits = Commits(self._connection, evidence, noted=noted)
        self.aside = Aside()
        self.rows = Rows(self._connection, self.aside)
        self.recalls = Recalls(self._connection, self.aside)
        self.purge = PurgedRows(self._connection)
        self.copies = Copies(self._connection)
        self.beside = BesideRows(self._connection)
        self._scrub: Scrub | None = None
        self._superseded: bool | None = None
        self.to_clean = False

    @staticmethod
    def make(path: Path, uid: str, settings: Mapping[str, str]) -> None:
        """Make a new file with uid and settings, on disk when this returns.

        The directory must not be listed yet. Raises `ReadOnly`, and may leave a part of the file.
        """

        def fill(connection: apsw.Connection) -> None:
            for setting in ((UID, uid), *settings.items()):
                connection.execute(_PUT_SETTING, rows.seal(setting))

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
    def transaction(self) -> Iterator[None]:
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

    def put_memory(self, memory: Memory, before: Memory | None) -> None:
        # What the same operation made or changed already has no earlier state to keep.
        if before is not None and before.revision != memory.revision:
            image, vector = rows.memory_image(before)
            self._put_image(memory.revision, "memory", str(memory.row), image, vector)
        if before is not None and before.content != memory.content:
            # A vector beside a row is always of the row's text.
            self._connection.execute("DELETE FROM embedding WHERE row = ?", (memory.row,))
        if memory.superseded_by:
            self._superseded = True
        self._connection.execute(sql.INSERT_MEMORY, rows.memory_row(memory))

    @property
    def has_superseded(self) -> bool:
        if self._superseded is None:
            found = "SELECT 1 FROM memory WHERE superseded_by <> '' LIMIT 1"
            self._superseded = self._connection.execute(found).get is not None
        return self._superseded

    def delete_setting(self, key: str) -> None:
        self._connection.execute("DELETE FROM setting WHERE key = ?", (key,))

    def put_link(
        self, source: int, target: int, link: Link, revision: int, before: Link | None
    ) -> None:
        if before is not None:
            self._put_link_image(source, target, before, revision)
        self._connection.execute(sql.INSERT_LINK, rows.link_row(source, target, link, revision))

    def put_new_links(self, links: Iterable[tuple[int, int, Link]], revision: int) -> None:
        self._connection.executemany(
            sql.INSERT_LINK,
            (rows.link_row(source, target, link, revision) for source, target, link in links),
        )

    def delete_link(self, source: int, target: int, before: Link, revision: int) -> None:
        self._put_link_image(source, target, before, revision)
        self._connection.execute(
            "DELETE FROM link WHERE source = ? AND target = ? AND type = ?",
            (source, target, before.type.value),
        )

    def _put_link_image(self, source: int, target: int, before: Link, revision: int) -> None:
        written = self._connection.execute(
            "SELECT revision FROM link WHERE source = ? AND target = ? AND type = ?",
            (source, target, before.type.value),
        ).get
        # What the same operation made or changed already has no earlier state to keep.
        if written == revision:
            return
        image = json.dumps([before.confidence, before.note, written], ensure_ascii=False)
        key = rows.link_key(source, target, before.type)
        self._put_image(revision, "link", key, image, b"")

    def _put_image(self, revision: int, entity: str, key: str, before: str, vector: bytes) -> None:
        self._connection.execute(
            "INSERT OR IGNORE INTO image (revision, entity, key, before, vector, crc) "
            "VALUES (?,?,?,?,?,?)",
            rows.seal((revision, entity, key, before, vector)),
        )

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
                    self.drop_setting(CLEANING)
                self.to_clean = False
        except apsw.Error as error:
            _raise_typed(error)
            raise
        except OSError as error:
            raise ReadOnly(
                "READ_ONLY", f"the collection's file cannot be cleaned: {error}"
            ) from error
        return True

    def put_operation(
        self,
        revision: int,
        operation_id: str,
        agent_id: str,
        kind: str,
        reason: str,
        touched: Touched,
        time_us: int,
        undoes: int | None = None,
    ) -> None:
        columns = (revision, operation_id, agent_id, kind, reason, touched.dumps(), time_us, undoes)
        self._connection.execute(
            "INSERT INTO operation "
            "(revision, operation_id, agent_id, kind, reason, touched, time_us, undoes, crc) "
            "VALUES (?,?,?,?,?,?,?,?,?)",
            rows.seal(columns),
        )

    def put_episode(self, episode: Episode) -> None:
        self._connection.execute(
            f"INSERT INTO episode ({rows.EPISODE_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            rows.episode_row(episode),
        )

    def delete_episode(self, before: Episode, revision: int) -> None:
        # What the same operation made has no earlier state to keep.
        if before.revision != revision:
            image = plain.dumps(before)
            self._put_image(revision, "episode", before.id, image, b"")
        self._connection.execute("DELETE FROM episode WHERE id = ?", (before.id,))

    def put_dismissal(self, dismissal: Dismissal, before: Dismissal | None) -> None:
        if before is not None:
            self._put_dismissal_image(before, dismissal.revision)
        self._connection.execute(
            f"INSERT OR REPLACE INTO dismissal ({rows.DISMISSAL_COLUMNS}) VALUES (?,?,?,?,?,?,?,?)",
            rows.dismissal_row(dismissal),
        )

    def delete_dismissal(self, before: Dismissal, revision: int) -> None:
        self._put_dismissal_image(before, revision)
        self._connection.execute(
            "DELETE FROM dismissal WHERE a = ? AND b = ?", (before.a, before.b)
        )

    def _put_dismissal_image(self, before: Dismissal, revision: int) -> None:
        # What the same operation made has no earlier state to keep.
        if before.revision != revision:
            key = rows.dismissal_key(before.a, before.b)
            self._put_image(revision, "dismissal", key, plain.dumps(before), b"")

    def reply(self, agent_id: str, operation_id: str) -> Reply | None:
        row = self._connection.execute(
            "SELECT agent_id, operation_id, digest, answer, time_us, crc FROM reply "
            "WHERE agent_id = ? AND operation_id = ?",
            (agent_id, operation_id),
        ).fetchone()
        if row is None:
            return None
        _, _, digest, answer, _ = rows.check(row, "reply")
        return Reply(digest, answer)

    def put_reply(
        self, agent_id: str, operation_id: str, digest: bytes, answer: str, time_us: int
    ) -> None:
        self._connection.execute(
            "INSERT INTO reply (agent_id, operation_id, digest, answer, time_us, crc) "
            "VALUES (?,?,?,?,?,?)",
            rows.seal((agent_id, operation_id, digest, answer, time_us)),
        )

    def drop_replies(self, before_us: int, limit: int) -> int:
        self._connection.execute(
            "DELETE FROM reply WHERE (agent_id, operation_id) IN "
            "(SELECT agent_id, operation_id FROM reply WHERE time_us < ? LIMIT ?)",
            (before_us, limit),
        )
        return self._connection.changes()

    def put_setting(self, key: str, value: str, revision: int, before: str | None) -> None:
        if before is not None:
            self._put_image(revision, "setting", key, before, b"")
        self._connection.execute(_PUT_SETTING, rows.seal((key, value)))

    def drop_setting(self, key: str) -> None:
        """Delete a setting, without a before image."""
        self._connection.execute("DELETE FROM setting WHERE key = ?", (key,))

    def link_between(self, source: int, target: int, type_: LinkType) -> Link | None:
        for found_target, link in self.rows.links([source])[source]:
            if found_target == target and link.type is type_:
                return link
        return None

    def link_count(self, hidden_rows: Sequence[int]) -> int:
        count = int(self._connection.execute("SELECT count(*) FROM link").get)
        if hidden_rows:
            # Each link is stored in both directions: as many end at hidden rows as start there.
            hidden = "(SELECT value FROM json_each(?1))"
            starting, inside = self._connection.execute(
                f"SELECT count(*), count(*) FILTER (WHERE target IN {hidden}) "
                f"FROM link WHERE source IN {hidden}",
                (json.dumps(list(hidden_rows)),),
            ).get
            count -= 2 * starting - inside
        return count // 2


def _raise_typed(error: BaseException) -> None:
    """Raise an error of the disk as a typed error; leave any other to the caller."""
    if sql.is_damage(error):
        raise sql.damaged("the collection's file") from error
    if isinstance(error, apsw.Error) and not isinstance(error, apsw.SQLError):
        raise ReadOnly("READ_ONLY", f"the collection's file cannot be written: {error}") from error
