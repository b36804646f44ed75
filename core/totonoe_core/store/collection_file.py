"""A collection's file as its writer uses it: one connection, one thread.

Within a batch there is one transaction; each operation has a savepoint in it, so that one
that fails leaves nothing behind and the others go on.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from totonoe_core import plain
from totonoe_core.errors import Corruption, ReadOnly
from totonoe_core.records import Dismissal, Episode, Link, LinkType, Memory
from totonoe_core.store import rows
from totonoe_core.store.aside import Aside
from totonoe_core.store.beside import BesideRows
from totonoe_core.store.checkpoint import Checkpoints
from totonoe_core.store.migrate import forget_copies
from totonoe_core.store.purge import PurgedRows
from totonoe_core.store.reader import Rows
from totonoe_core.store.recalls import Recalls
from totonoe_core.store.schema import BUSY_TIMEOUT_MS, COLLECTION, make_file, open_writer
from totonoe_core.store.scrub import Scrub
from totonoe_core.store.snapshot import Copies

_PUT_SETTING = "INSERT OR REPLACE INTO setting (key, value, crc) VALUES (?,?,?)"
_CLEANING = "cleaning"  # setting: a purge is on disk whose bytes may not be gone everywhere
_CLEAN_WAIT_MS = 200  # for readers that hold the WAL
_CLEAN_STEPS_AT_CLOSE = 1000
_GAPS_MAX = 1_000_000  # row numbers that were given and not used; more are a damaged number


@dataclass(slots=True)
class Touched:
    """Keys of the rows that an operation made, changed or took away.

    `known` are those of purged private memories that were public once: who saw them then must
    hear that they are gone, and nothing else is left that knows it.
    """

    memories: list[int] = field(default_factory=list)
    links: list[tuple[int, int, str]] = field(default_factory=list)
    episodes: list[str] = field(default_factory=list)
    settings: bool = False
    known: list[int] = field(default_factory=list)
    dismissals: list[tuple[int, int]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(
            self.memories or self.links or self.episodes or self.settings or self.dismissals
        )

    def dumps(self) -> str:
        """JSON for the operation's row."""
        keys: dict[str, object] = {
            "memory": self.memories,
            "link": self.links,
            "episode": self.episodes,
            "setting": self.settings,
        }
        if self.known:
            keys["known"] = self.known
        if self.dismissals:
            keys["dismissal"] = self.dismissals
        return json.dumps(keys, separators=(",", ":"))

    @classmethod
    def loads(cls, text: str) -> Touched:
        """The keys back from `dumps`."""
        data = json.loads(text)
        links = [(source, target, type_) for source, target, type_ in data["link"]]
        known = data.get("known", [])
        pairs = [(a, b) for a, b in data.get("dismissal", [])]
        return cls(data["memory"], links, data["episode"], data["setting"], known, pairs)


@dataclass(frozen=True, slots=True)
class Reply:
    """The kept answer of an operation id."""

    digest: bytes
    answer: str


class CollectionFile:
    """Writes of one collection. Raises `ReadOnly` when the disk refuses.

    `checkpoints` lie beside it, and are safe from any thread.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = Checkpoints(path.parent / "checkpoint")
        self._connection = open_writer(path, COLLECTION)
        self.aside = Aside()
        self.rows = Rows(self._connection, self.aside)
        self.recalls = Recalls(self._connection, self.aside)
        self.purge = PurgedRows(self._connection)
        self.copies = Copies(self._connection)
        self.beside = BesideRows(self._connection)
        self._scrub: Scrub | None = None
        self.to_clean = False

    @staticmethod
    def make(path: Path, settings: Mapping[str, str]) -> None:
        """A new file with settings and nothing else, on disk when it returns.

        In a directory that counts for nothing before. Raises `ReadOnly`, and leaves a part of it.
        """

        def fill(connection: apsw.Connection) -> None:
            for setting in settings.items():
                connection.execute(_PUT_SETTING, rows.seal(setting))

        make_file(path, COLLECTION, fill)

    def close(self) -> None:
        """Cleans and checkpoints what it can and closes."""
        self.finish_cleaning()
        self.copies.end()
        # Not left to close(): SQLite checkpoints there for the last connection only, and
        # readers may still be open.
        with contextlib.suppress(apsw.Error):
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._connection.close()
        if self._scrub is not None:
            self._scrub.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One synced transaction around a batch.

        Raises
        ------
        ReadOnly
            The disk is full or refuses; nothing of the batch is there.
        Corruption
            SQLite found a damaged page; nothing of the batch is there.
        """
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:
            # A full disk makes SQLite roll back by itself.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            _raise_typed(error)
            raise

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """One operation inside the transaction; an exception takes back only this one."""
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
        """Around reads outside a transaction: raises `Corruption` for a damaged page."""
        try:
            yield
        except (apsw.Error, UnicodeDecodeError) as error:
            if rows.is_damage(error):
                raise rows.damaged(self.path.name) from error
            raise

    def last_numbers(self) -> tuple[int, int, int]:
        """Highest row number, newest revision, newest operation time (us)."""
        # What a purge left when the process ended before all of it was done.
        self.to_clean = self.rows.setting(_CLEANING) is not None
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
        # Times ascend with the revisions.
        newest = next(iter(self.rows.history.operations_before(2**62, 1)), None)
        return (row, 0, 0) if newest is None else (row, newest.revision, newest.time_us)

    def put_memory(self, memory: Memory, before: Memory | None) -> None:
        """Writes a memory's row, and its before image if it was there."""
        # What the same operation made or changed already has no earlier state to keep.
        if before is not None and before.revision != memory.revision:
            image, vector = rows.memory_image(before)
            self._put_image(memory.revision, "memory", str(memory.row), image, vector)
        if before is not None and before.content != memory.content:
            # What lies beside a row is always of its own text.
            self._connection.execute("DELETE FROM embedding WHERE row = ?", (memory.row,))
        self._connection.execute(rows.INSERT_MEMORY, rows.memory_row(memory))

    def delete_setting(self, key: str) -> None:
        """Takes away a setting of the bookkeeping, which has no image."""
        self._connection.execute("DELETE FROM setting WHERE key = ?", (key,))

    def put_link(
        self, source: int, target: int, link: Link, revision: int, before: Link | None
    ) -> None:
        """Writes one direction of a link, and its before image if it was there."""
        if before is not None:
            self._put_link_image(source, target, before, revision)
        self._connection.execute(rows.INSERT_LINK, rows.link_row(source, target, link, revision))

    def put_new_links(self, links: Iterable[tuple[int, int, Link]], revision: int) -> None:
        """Writes (source row, target row, link), none of which was there."""
        self._connection.executemany(
            rows.INSERT_LINK,
            (rows.link_row(source, target, link, revision) for source, target, link in links),
        )

    def delete_link(self, source: int, target: int, before: Link, revision: int) -> None:
        """Takes one direction of a link away; its before image stays."""
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

    def reindex(self) -> None:
        """Makes SQLite's own indexes anew from the rows, in a transaction of its own."""
        with self.transaction():
            self._connection.execute("REINDEX")

    # -- Cleaning after a purge

    def note_purge(self) -> None:
        """Keeps in mind, also over a crash, that the file is to be cleaned once this is on disk."""
        self.put_setting(_CLEANING, "1", revision=0, before=None)

    def begin_cleaning(self) -> None:
        """Makes `clean` begin from the first page: a purge was committed."""
        self.to_clean = True
        if self._scrub is not None:
            self._scrub.restart()

    def finish_cleaning(self) -> None:
        """Cleans as far as it gets without waiting."""
        with contextlib.suppress(ReadOnly, Corruption):
            for _ in range(_CLEAN_STEPS_AT_CLOSE):
                if not self.to_clean or not self.clean():
                    break

    def clean(self) -> bool:
        """A step towards a file without what was purged, outside any transaction.

        Deletes checkpoints and the copies of earlier formats, empties the WAL and the unallocated
        parts of pages (`store/scrub.py`); `to_clean` is false once all of it is done. Returns
        whether it got on: not while a reader holds the WAL.

        Raises
        ------
        ReadOnly
            The disk refuses.
        """
        connection = self._connection
        try:
            self.checkpoints.drop_all()
            forget_copies(self.path)
            connection.set_busy_timeout(_CLEAN_WAIT_MS)
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except (apsw.BusyError, apsw.LockedError):
                return False
            finally:
                connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            if self._scrub is None:
                self._scrub = Scrub(self.path)
            done = self._scrub.step()
            # What is cached has the old bytes, and would bring them back.
            connection.execute("PRAGMA shrink_memory")
            if done:
                with self.transaction():
                    self.drop_setting(_CLEANING)
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
        """Writes the line of one revision; `undoes` is the one that it took back."""
        columns = (revision, operation_id, agent_id, kind, reason, touched.dumps(), time_us, undoes)
        self._connection.execute(
            "INSERT INTO operation "
            "(revision, operation_id, agent_id, kind, reason, touched, time_us, undoes, crc) "
            "VALUES (?,?,?,?,?,?,?,?,?)",
            rows.seal(columns),
        )

    def put_episode(self, episode: Episode) -> None:
        """Writes an episode's row, which was not there."""
        self._connection.execute(
            f"INSERT INTO episode ({rows.EPISODE_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            rows.episode_row(episode),
        )

    def delete_episode(self, before: Episode, revision: int) -> None:
        """Takes an episode away; its before image stays."""
        # What the same operation made has no earlier state to keep.
        if before.revision != revision:
            image = plain.dumps(before)
            self._put_image(revision, "episode", before.id, image, b"")
        self._connection.execute("DELETE FROM episode WHERE id = ?", (before.id,))

    def put_dismissal(self, dismissal: Dismissal, before: Dismissal | None) -> None:
        """Writes a dismissal, and its before image if it was there."""
        if before is not None:
            self._put_dismissal_image(before, dismissal.revision)
        self._connection.execute(
            f"INSERT OR REPLACE INTO dismissal ({rows.DISMISSAL_COLUMNS}) VALUES (?,?,?,?,?,?,?,?)",
            rows.dismissal_row(dismissal),
        )

    def delete_dismissal(self, before: Dismissal, revision: int) -> None:
        """Takes a dismissal away; its before image stays."""
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
        """The kept answer of an operation id."""
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
        """Keeps an answer for replay."""
        self._connection.execute(
            "INSERT INTO reply (agent_id, operation_id, digest, answer, time_us, crc) "
            "VALUES (?,?,?,?,?,?)",
            rows.seal((agent_id, operation_id, digest, answer, time_us)),
        )

    def drop_replies(self, before_us: int, limit: int) -> int:
        """Forgets at most `limit` answers kept since before a time; says how many."""
        self._connection.execute(
            "DELETE FROM reply WHERE (agent_id, operation_id) IN "
            "(SELECT agent_id, operation_id FROM reply WHERE time_us < ? LIMIT ?)",
            (before_us, limit),
        )
        return self._connection.changes()

    def put_setting(self, key: str, value: str, revision: int, before: str | None) -> None:
        """Writes a setting, and its before image if it was there."""
        if before is not None:
            self._put_image(revision, "setting", key, before, b"")
        self._connection.execute(_PUT_SETTING, rows.seal((key, value)))

    def drop_setting(self, key: str) -> None:
        """Takes a setting away, without a before image."""
        self._connection.execute("DELETE FROM setting WHERE key = ?", (key,))

    def link_between(self, source: int, target: int, type_: LinkType) -> Link | None:
        """One direction of a link."""
        for found_target, link in self.rows.links([source])[source]:
            if found_target == target and link.type is type_:
                return link
        return None

    def link_count(self) -> int:
        """Links, each pair counted once."""
        return int(self._connection.execute("SELECT count(*) FROM link").get) // 2


def _raise_typed(error: BaseException) -> None:
    """Raises what the disk refused as a typed error; anything else is the caller's to raise."""
    if rows.is_damage(error):
        raise rows.damaged("the collection's file") from error
    if isinstance(error, apsw.Error) and not isinstance(
        error, apsw.ConstraintError | apsw.SQLError
    ):
        raise ReadOnly("READ_ONLY", f"the collection's file cannot be written: {error}") from error
