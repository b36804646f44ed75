"""Reading rows: used by the writer's connection and by read-only ones alike."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import apsw

from totonoe_core import limits
from totonoe_core.errors import Corruption, Unavailable
from totonoe_core.records import Dismissal, Episode, Link, Memory, TimeRange
from totonoe_core.store import rows
from totonoe_core.store.aside import Aside, BadRow, corrupt_memory
from totonoe_core.store.beside import BesideReads
from totonoe_core.store.checks import Key, Looked, Table
from totonoe_core.store.figures import Figures
from totonoe_core.store.history import History
from totonoe_core.store.moment import Moment
from totonoe_core.store.schema import open_reader

T = TypeVar("T")

_CLOSED_CHECK_S = 0.5
_IN_MAX = 500  # bound on the variables of one statement

UNREADABLE = (UnicodeDecodeError, apsw.CorruptError)
"""What reading a row raises of which not even the columns can be made out."""


class Rows:
    """Rows of one collection's file through one connection.

    Memories that are set aside (`aside`) are absent; a bad row that is not yet raises `Corruption`
    and is noted. `lenient`, for answers: links and episodes that are bad are noted and left out.
    """

    def __init__(
        self, connection: apsw.Connection, aside: Aside | None = None, *, lenient: bool = False
    ) -> None:
        self._connection = connection
        self.aside = Aside() if aside is None else aside
        self._lenient = lenient
        self.in_snapshot = False
        self.history = History(connection, self.aside)
        self.figures = Figures(connection)
        self.beside = BesideReads(connection)
        self.moment = Moment(connection, self.history)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read within is of one moment. For readers' connections; does not nest.

        What was committed when the first of it is read is in it. While it lasts the file's log
        cannot be cut behind it.
        """
        self._connection.execute("BEGIN")
        self.in_snapshot = True
        try:
            yield
        finally:
            self.in_snapshot = False
            self._connection.execute("ROLLBACK")

    def memories(self, wanted: Sequence[int]) -> dict[int, Memory]:
        """Memories by row number, without access figures and links; unknown are absent."""
        return {row[0]: self._opened(row, rows.memory) for row in self._sealed(wanted)}

    def excerpts(self, wanted: Sequence[int]) -> dict[int, rows.Excerpt]:
        """Excerpts of memories by row number; unknown are absent."""
        return {row[0]: self._opened(row, rows.excerpt) for row in self._sealed(wanted)}

    def _opened(self, row: rows.Row, record: Callable[[rows.Row], T]) -> T:
        """The record of a sealed row of `memory`; a bad one is suspected."""
        try:
            return record(row)
        except Corruption as error:
            self.aside.suspect(row[0])
            raise corrupt_memory(row[0]) from error

    def _sealed(self, wanted: Sequence[int]) -> Iterator[rows.Row]:
        """Rows of memories as they lie in the file, without those that are set aside."""
        if len(self.aside):
            wanted = [row for row in wanted if row not in self.aside]
        for start in range(0, len(wanted), _IN_MAX):
            part = list(wanted[start : start + _IN_MAX])
            marks = ",".join("?" * len(part))
            try:
                # All of a part: an error would keep a cursor, and with it what others wrote since
                # from being seen, for as long as it is kept itself.
                found = self._connection.execute(
                    f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE row IN ({marks})", part
                ).fetchall()
            except UNREADABLE:
                for row in part:
                    self._look_at(row)
                raise
            yield from found

    def _look_at(self, row: int) -> None:
        """Raises for a row of `memory` that cannot even be read, and suspects it."""
        try:
            self.sealed_memory(row)
        except UNREADABLE as error:
            self.aside.suspect(row)
            raise corrupt_memory(row) from error

    def sealed_memory(self, row: int) -> rows.Row | None:
        """A row of `memory` as it lies in the file. Raises `UNREADABLE`."""
        found: rows.Row | None = self._connection.execute(
            f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE row = ?", (row,)
        ).fetchone()
        return found

    def is_there(self, row: int) -> bool:
        """Whether `memory` has a row of this number, bad or not."""
        found = self._connection.execute("SELECT 1 FROM memory WHERE row = ?", (row,)).get
        return found is not None

    def bad_memory(self, row: int) -> BadRow | None:
        """What can be read of a row of `memory` that is bad; `None`: it is sound, or not there."""
        try:
            found = self.sealed_memory(row)
            if found is None or rows.is_sound(found, "memory"):
                return None
        except UNREADABLE:
            pass
        try:
            read = self._connection.execute(
                "SELECT CAST(id AS BLOB), CAST(agent_id AS BLOB), CAST(fields AS BLOB) "
                "FROM memory WHERE row = ?",
                (row,),
            ).fetchone()
        except apsw.CorruptError:
            return BadRow(row)
        return BadRow(row) if read is None else rows.bad_row(row, *read)

    def look(self, table: str, key: Sequence[str], after: Key | None, limit: int) -> Looked:
        """A step over a table to see whether its rows are sound (`store/checks.py`)."""
        return Table(self._connection, table, key).step(after, limit)

    def all_memories(self) -> Iterator[Memory]:
        """Every memory by row number, for loading; bad rows are set aside instead.

        Raises `Corruption` where the table itself is damaged.
        """
        last = -(2**63)
        while True:
            try:
                for row in self._connection.execute(
                    f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE row > ? ORDER BY row", (last,)
                ):
                    last = _later(row[0], last)
                    if rows.is_sound(row, "memory"):
                        yield rows.sound_memory(row)
                    else:
                        self._set_aside(last)
                return
            except UNREADABLE:
                # Its number is read without the row itself, or the page is damaged.
                number = self._connection.execute(
                    "SELECT min(row) FROM memory WHERE row > ?", (last,)
                ).get
                if number is None:
                    raise
                last = _later(number, last)
                self._set_aside(last)

    def _set_aside(self, row: int) -> None:
        bad = self.bad_memory(row)
        if bad is not None:
            self.aside.add(bad)

    def memories_after(self, revision: int) -> Iterator[Memory]:
        """Memories whose last operation is later than a revision, by row number; bad rows are set
        aside instead.

        Raises `Corruption` where the table itself is damaged.
        """
        for number in sorted(self.rows_after(revision)):
            try:
                row = self.sealed_memory(number)
            except UNREADABLE:
                row = None
            if row is not None and rows.is_sound(row, "memory"):
                yield rows.sound_memory(row)
            else:
                self._set_aside(number)

    def row_of_external_id(self, external_id: str) -> int | None:
        """Row of the memory with this external id; of forgotten ones only, the newest."""
        for status in ("status <> 'forgotten'", "status = 'forgotten'"):
            found = self._connection.execute(
                f"SELECT max(row) FROM memory WHERE external_id = ? AND {status}", (external_id,)
            ).get
            if found is not None:
                return int(found)
        return None

    def row_of_id(self, memory_id: str) -> int | None:
        """Row of the memory that has, or had, an id."""
        found = self._connection.execute("SELECT row FROM memory WHERE id = ?", (memory_id,)).get
        return None if found is None else int(found)

    def forgotten_before(self, time_us: int, limit: int) -> list[str]:
        """Ids of memories that were forgotten before a time, the longest forgotten first."""
        found = self._connection.execute(
            "SELECT id FROM memory WHERE status = 'forgotten' AND updated_us < ? "
            "ORDER BY updated_us LIMIT ?",
            (time_us, limit),
        )
        return [memory_id for (memory_id,) in found]

    def setting(self, key: str) -> str | None:
        """One setting of the collection."""
        row = self._connection.execute(
            "SELECT key, value, crc FROM setting WHERE key = ?", (key,)
        ).fetchone()
        return None if row is None else str(rows.check(row, "setting")[1])

    def last_revision(self) -> int:
        """Newest revision; 0 before the first operation."""
        return int(self._connection.execute("SELECT coalesce(max(revision), 0) FROM operation").get)

    def links(self, sources: Iterable[int]) -> dict[int, list[tuple[int, Link]]]:
        """For each source row its links as (target row, link), strongest first.

        Order: confidence descending, then target row, then type.
        """
        found: dict[int, list[tuple[int, Link]]] = {source: [] for source in sources}
        wanted = list(found)
        for start in range(0, len(wanted), _IN_MAX):
            part = wanted[start : start + _IN_MAX]
            marks = ",".join("?" * len(part))
            sealed: list[rows.Row] = self._connection.execute(
                "SELECT l.source, l.target, CAST(l.type AS BLOB), l.confidence, "
                "CAST(l.note AS BLOB), l.revision, l.crc, CAST(m.id AS BLOB) "
                "FROM link l JOIN memory m ON m.row = l.target "
                f"WHERE l.source IN ({marks}) "
                "ORDER BY l.source, l.confidence DESC, l.target, l.type",
                part,
            ).fetchall()
            for read in sealed:
                # Not every one of them may be text any more.
                *row, target_id = rows.as_text(read, (2, 4, 7))
                try:
                    link = rows.link(tuple(row), target_id)
                except Corruption:
                    if not self._left_out("link", row[:3]):
                        raise
                    continue
                found[row[0]].append((row[1], link))
        return found

    def _left_out(self, table: str, key: Sequence[object]) -> bool:
        """Notes a bad row; whether the answer may do without it."""
        self.aside.note(table, rows.bad_key(key))
        return self._lenient

    def link_count(self, source: int) -> int:
        """How many links a row holds."""
        return int(
            self._connection.execute("SELECT count(*) FROM link WHERE source = ?", (source,)).get
        )

    def rows_after(self, revision: int) -> list[int]:
        """Rows of memories whose last operation is later than a revision."""
        found = self._connection.execute("SELECT row FROM memory WHERE revision > ?", (revision,))
        return [row for (row,) in found]

    def superseded_by(self, memory_id: str, limit: int) -> list[Memory]:
        """Memories whose place was taken by this one, by row number, at most `limit`."""
        found = self._connection.execute(
            f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE superseded_by = ? AND "
            "superseded_by <> '' ORDER BY row LIMIT ?",
            (memory_id, limit),
        )
        sealed: list[rows.Row] = found.fetchall()
        return [self._opened(row, rows.memory) for row in sealed if row[0] not in self.aside]

    def dismissal(self, a: int, b: int) -> Dismissal | None:
        """What was said of a pair of rows (a < b), whether or not it still counts."""
        row = self._connection.execute(
            f"SELECT {rows.DISMISSAL_COLUMNS} FROM dismissal WHERE a = ? AND b = ?", (a, b)
        ).fetchone()
        return None if row is None else rows.dismissal(row)

    def dismissed(self, pairs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        """Those of some pairs of rows that are no duplicates, as somebody said of these texts.

        Either row may come first; pairs are given back as they came.
        """
        wanted: dict[int, list[tuple[int, int]]] = {}
        for pair in pairs:
            wanted.setdefault(min(pair), []).append(pair)
        found: set[tuple[int, int]] = set()
        firsts = list(wanted)
        for start in range(0, len(firsts), _IN_MAX):
            part = firsts[start : start + _IN_MAX]
            columns = ", ".join("d." + name for name in rows.DISMISSAL_COLUMNS.split(", "))
            for row in self._connection.execute(
                f"SELECT {columns} FROM dismissal d "
                "JOIN memory ma ON ma.row = d.a AND ma.content_hash = d.hash_a "
                "JOIN memory mb ON mb.row = d.b AND mb.content_hash = d.hash_b "
                f"WHERE d.a IN ({','.join('?' * len(part))})",
                part,
            ):
                one = rows.dismissal(row)
                found.update(pair for pair in wanted[one.a] if max(pair) == one.b)
        return found

    def dismissed_live(self, limit: int) -> list[tuple[int, int]]:
        """Pairs of live rows (a < b) whose dismissal counts, the last one first."""
        return list(
            self._connection.execute(
                "SELECT d.a, d.b FROM dismissal d "
                "JOIN memory ma ON ma.row = d.a AND ma.content_hash = d.hash_a "
                "JOIN memory mb ON mb.row = d.b AND mb.content_hash = d.hash_b "
                "WHERE ma.status = 'active' AND mb.status = 'active' "
                "ORDER BY d.revision DESC, d.a, d.b LIMIT ?",
                (limit,),
            )
        )

    def merged_away(self, limit: int) -> list[int]:
        """Rows that were live until a Merge put another one in their place, the last one first.

        None whose Merge was undone, nor whose chain it only made shorter.
        """
        return [
            row
            for (row,) in self._connection.execute(
                "SELECT m.row FROM memory m JOIN operation o ON o.revision = m.revision "
                "JOIN image i ON i.revision = m.revision AND i.entity = 'memory' "
                "AND i.key = CAST(m.row AS TEXT) "
                "WHERE m.status = 'superseded' AND o.kind = 'Merge' "
                "AND json_extract(i.before, '$[10]') = 'active' "
                "ORDER BY m.revision DESC, m.row LIMIT ?",
                (limit,),
            )
        ]

    def dismissal_count(self, row: int) -> int:
        """How many dismissals name a row."""
        return int(
            self._connection.execute(
                "SELECT (SELECT count(*) FROM dismissal WHERE a = ?1) + "
                "(SELECT count(*) FROM dismissal WHERE b = ?1)",
                (row,),
            ).get
        )

    def episode(self, episode_id: str) -> Episode | None:
        """An episode with the ids it was made with."""
        row = self._connection.execute(
            f"SELECT {rows.EPISODE_COLUMNS} FROM episode WHERE id = ?", (episode_id,)
        ).fetchone()
        return None if row is None else rows.episode(row)

    def episodes_by_start(
        self, after: tuple[int, str], limit: int, agent_id: str, time: TimeRange
    ) -> list[Episode]:
        """Episodes that an agent may see and that overlap a time, by (start, id), after a position.

        `start_us` and `end_us` both belong to an episode.
        """
        found = self._connection.execute(
            f"SELECT {rows.EPISODE_AS_BYTES} FROM episode WHERE (start_us, id) > (?, ?) "
            "AND (private = 0 OR agent_id = ?) "
            "AND start_us < ? AND end_us >= ? ORDER BY start_us, id LIMIT ?",
            (
                *after,
                agent_id,
                2**63 - 1 if time.to_us is None else time.to_us,
                -(2**63) if time.from_us is None else time.from_us,
                limit,
            ),
        )
        episodes = []
        for read in found.fetchall():
            row = rows.episode_as_text(read)
            try:
                episodes.append(rows.episode(row))
            except Corruption:
                if not self._left_out("episode", row[:1]):
                    raise
        return episodes

    def rows_by_time(self, after: tuple[int, str], limit: int) -> list[tuple[int, int, str]]:
        """(row, created_us, id) in the order of a List, after a position."""
        return list(
            self._connection.execute(
                "SELECT row, created_us, id FROM memory WHERE (created_us, id) > (?, ?) "
                "ORDER BY created_us, id LIMIT ?",
                (*after, limit),
            )
        )


class ReaderPool:
    """A few read-only connections, each used by one thread at a time."""

    def __init__(self, path: Path, size: int, aside: Aside | None = None) -> None:
        self._path = path
        self._aside = aside
        self._closed = False
        self._idle: queue.LifoQueue[apsw.Connection] = queue.LifoQueue(size)
        # Not all at once: of thousands of collections most have one reader at a time.
        self._unopened = threading.Semaphore(size)

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """Rows through an idle connection; waits for one if all are busy.

        Raises `Corruption` where SQLite itself finds damage, or cannot read the file.
        """
        connection, sound = self._take(), True
        try:
            yield Rows(connection, self._aside, lenient=True)
        except (Corruption, apsw.Error, UnicodeDecodeError) as error:
            # With its cursors: the error may keep one, which would see nothing new any more.
            connection.close(True)
            sound = False
            if rows.is_damage(error):
                raise rows.damaged(self._path.name) from error
            if isinstance(error, apsw.IOError):
                raise Corruption(
                    "CORRUPT_ROW",
                    f"{self._path.name} cannot be read: {error}",
                    file=self._path.name,
                ) from error
            raise
        finally:
            if self._closed:
                connection.close()
            elif sound:
                self._idle.put(connection)
            else:
                self._unopened.release()

    def _take(self) -> apsw.Connection:
        while not self._closed:
            with contextlib.suppress(queue.Empty):
                return self._idle.get_nowait()
            if self._unopened.acquire(blocking=False):
                try:
                    return open_reader(self._path)
                except BaseException:
                    self._unopened.release()
                    raise
            with contextlib.suppress(queue.Empty):
                return self._idle.get(timeout=_CLOSED_CHECK_S)
        raise Unavailable(
            "SHUTTING_DOWN", "the collection is being closed", retry_delay_ms=limits.RETRY_DELAY_MS
        )

    def close(self) -> None:
        """Closes the connections: idle ones now, others when their reader is done."""
        self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()


def _later(row: int, last: int) -> int:
    """The row, which must come after the last one: else nothing is found by its number."""
    if row <= last:
        raise Corruption(
            "CORRUPT_ROW",
            f"table memory is damaged: row {row} comes after row {last}; restore a snapshot",
            table="memory",
            row=row,
        )
    return row
