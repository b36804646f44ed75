"""Reads of rows, for the writer's connection and read-only ones alike."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import apsw

from totonoe_core.base import limits
from totonoe_core.base.errors import Corruption, Unavailable
from totonoe_core.domain.records import Dismissal, Episode, Link, Memory, Status, TimeRange
from totonoe_core.store import rows
from totonoe_core.store.aside import Aside, BadRow, corrupt_memory
from totonoe_core.store.records import Place
from totonoe_core.store.sqlite import sql
from totonoe_core.store.sqlite.beside import BesideReads
from totonoe_core.store.sqlite.checks import Key, Looked, Table
from totonoe_core.store.sqlite.figures import Figures
from totonoe_core.store.sqlite.history import History
from totonoe_core.store.sqlite.index_checks import Comparison
from totonoe_core.store.sqlite.moment import Moment
from totonoe_core.store.sqlite.questions import Questions
from totonoe_core.store.sqlite.schema import open_reader

T = TypeVar("T")

_CLOSED_CHECK_S = 0.5
_IN_MAX = 500  # bound on the variables of one statement

_LINK_COLUMNS = "l.source, l.target, l.type, l.confidence, l.note, l.revision, l.crc, m.id"
_LINK_READABLE = sql.readable(_LINK_COLUMNS)
_LINKS = (
    "SELECT {columns} FROM link l JOIN memory m ON m.row = l.target WHERE l.source IN ({marks}) "
    "ORDER BY l.source, l.confidence DESC, l.target, l.type"
)

UNREADABLE = (UnicodeDecodeError, apsw.CorruptError)
"""Errors for a row whose columns cannot even be read."""


class Rows:
    """Rows of one collection's file through one connection.

    Methods without a text of their own: see `seam.Rows`.

    Memories that are set aside (`aside`) are absent; any other bad row raises `Corruption` and is
    noted. With `lenient`, for answers, bad links and episodes are noted and left out.
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
        self.questions = Questions(connection)
        self.beside = BesideReads(connection)
        self.moment = Moment(connection, self.history)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        self.in_snapshot = True
        try:
            yield
        finally:
            self.in_snapshot = False
            self._connection.execute("ROLLBACK")

    def memories(self, wanted: Sequence[int]) -> dict[int, Memory]:
        return {row[0]: self._opened(row, rows.memory) for row in self._sealed(wanted)}

    def excerpts(self, wanted: Sequence[int]) -> dict[int, rows.Excerpt]:
        return {row[0]: self._opened(row, rows.excerpt) for row in self._sealed(wanted)}

    def _opened(self, row: rows.Row, record: Callable[[rows.Row], T]) -> T:
        """Return the record of a sealed row of `memory`; report a bad one with `suspect`."""
        try:
            return record(row)
        except Corruption as error:
            self.aside.suspect(row[0])
            raise corrupt_memory(row[0]) from error

    def _sealed(self, wanted: Sequence[int]) -> Iterator[rows.Row]:
        """Yield rows of memories as stored, without those that are set aside."""
        if len(self.aside):
            wanted = [row for row in wanted if row not in self.aside]
        for start in range(0, len(wanted), _IN_MAX):
            part = list(wanted[start : start + _IN_MAX])
            marks = ",".join("?" * len(part))
            try:
                # All of a part at once: an error would keep the cursor open, and an open cursor
                # hides later commits from this connection.
                found = self._connection.execute(
                    f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE row IN ({marks})", part
                ).fetchall()
            except UNREADABLE:
                for row in part:
                    self._look_at(row)
                raise
            yield from found

    def _look_at(self, row: int) -> None:
        """Raise for a row of `memory` that cannot even be read, and report it with `suspect`."""
        try:
            self.sealed_memory(row)
        except UNREADABLE as error:
            self.aside.suspect(row)
            raise corrupt_memory(row) from error

    def sealed_memory(self, row: int) -> rows.Row | None:
        """Return a row of `memory` as stored. Raises `UNREADABLE`."""
        found: rows.Row | None = self._connection.execute(
            f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE row = ?", (row,)
        ).fetchone()
        return found

    def is_there(self, row: int) -> bool:
        found = self._connection.execute("SELECT 1 FROM memory WHERE row = ?", (row,)).get
        return found is not None

    def bad_memory(self, row: int) -> BadRow | None:
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

    def compare_indexes(self, comparison: Comparison, limit: int) -> str:
        """Do one step of comparing indexes with their tables (`store/sqlite/index_checks.py`)."""
        return comparison.step(self._connection, limit)

    def look(self, table: str, key: Sequence[str], after: Key | None, limit: int) -> Looked:
        """Do one step of checking the rows of a table (`store/sqlite/checks.py`)."""
        return Table(self._connection, table, key).step(after, limit)

    def all_memories(self) -> Iterator[Memory]:
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
                # The number is read without the row; if that fails, the page is damaged.
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
        for number in sorted(self.rows_after(revision)):
            try:
                row = self.sealed_memory(number)
            except UNREADABLE:
                row = None
            if row is not None and rows.is_sound(row, "memory"):
                yield rows.sound_memory(row)
            else:
                self._set_aside(number)

    def row_of_external_key(self, key: str, status: str = "status <> 'forgotten'") -> int | None:
        """Return the row of the memory, not forgotten, with an external key.

        `status` is the condition of one of the two indexes over the keys. Several forgotten
        memories may share a key: then the newest row.
        """
        found = self._connection.execute(
            f"SELECT max(row) FROM memory WHERE external_id = ? AND {status}", (key,)
        ).get
        return None if found is None else int(found)

    def row_of_external_id(self, external_id: str, agent_id: str) -> int | None:
        for status in ("status <> 'forgotten'", "status = 'forgotten'"):
            for key in rows.external_keys(external_id, agent_id):
                found = self.row_of_external_key(key, status)
                if found is not None:
                    return found
        return None

    def row_of_id(self, memory_id: str) -> int | None:
        found = self._connection.execute("SELECT row FROM memory WHERE id = ?", (memory_id,)).get
        return None if found is None else int(found)

    def ids(self, wanted: Sequence[int]) -> dict[int, str]:
        found = self._connection.execute(
            "SELECT row, id FROM memory WHERE row IN (SELECT value FROM json_each(?))",
            (json.dumps(list(wanted)),),
        )
        return {cast(int, row): cast(str, memory_id) for row, memory_id in found}

    def forgotten_before(self, time_us: int, limit: int) -> list[str]:
        found = self._connection.execute(
            "SELECT id FROM memory WHERE status = 'forgotten' AND updated_us < ? "
            "ORDER BY updated_us LIMIT ?",
            (time_us, limit),
        )
        return [memory_id for (memory_id,) in found]

    def setting(self, key: str) -> str | None:
        row = self._connection.execute(
            "SELECT key, value, crc FROM setting WHERE key = ?", (key,)
        ).fetchone()
        return None if row is None else str(rows.check(row, "setting")[1])

    def last_revision(self) -> int:
        return self.history.newest()

    def links(self, sources: Iterable[int]) -> dict[int, list[tuple[int, Link]]]:
        found: dict[int, list[tuple[int, Link]]] = {source: [] for source in sources}
        wanted = list(found)
        for start in range(0, len(wanted), _IN_MAX):
            for row in self._link_rows(wanted[start : start + _IN_MAX]):
                try:
                    link = rows.link(row[:-1], row[-1])
                except Corruption:
                    if not self._left_out("link", row[:3]):
                        raise
                    continue
                if row[0] in found:
                    found[row[0]].append((row[1], link))
                elif not self._left_out("link", row[:3]):
                    # A sound row of another memory: the order of the table is damaged.
                    raise sql.damaged("table link")
        return found

    def _link_rows(self, sources: list[int]) -> list[rows.Row]:
        """Return sealed rows of links, each with the id of its target."""
        marks = ",".join("?" * len(sources))
        cursor = self._connection.execute(
            _LINKS.format(columns=_LINK_COLUMNS, marks=marks), sources
        )
        try:
            return cursor.fetchall()
        except UnicodeDecodeError:
            # Not every one of them may be text any more. An open cursor would hide later commits.
            cursor.close(True)
        found = self._connection.execute(
            _LINKS.format(columns=_LINK_READABLE, marks=marks), sources
        )
        return [rows.as_text(row, (2, 4, 7)) for row in found.fetchall()]

    def _left_out(self, table: str, key: Sequence[object]) -> bool:
        """Note a bad row; return whether the answer may leave it out."""
        self.aside.note(table, rows.bad_key(key))
        return self._lenient

    def link_count(self, source: int) -> int:
        return int(
            self._connection.execute("SELECT count(*) FROM link WHERE source = ?", (source,)).get
        )

    def rows_after(self, revision: int) -> list[int]:
        found = self._connection.execute("SELECT row FROM memory WHERE revision > ?", (revision,))
        return [row for (row,) in found]

    def superseded_by(self, memory_id: str, limit: int) -> list[Memory]:
        found = self._connection.execute(
            f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE superseded_by = ? AND "
            "superseded_by <> '' ORDER BY row LIMIT ?",
            (memory_id, limit),
        )
        sealed: list[rows.Row] = found.fetchall()
        return [self._opened(row, rows.memory) for row in sealed if row[0] not in self.aside]

    def superseded_since(self, memory_id: str, revision: int, limit: int) -> list[Memory]:
        found = self._connection.execute(
            f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE superseded_by = ? AND "
            "superseded_by <> '' AND status = ? AND revision > ? ORDER BY revision DESC LIMIT ?",
            (memory_id, Status.SUPERSEDED.value, revision, limit),
        )
        sealed: list[rows.Row] = found.fetchall()
        return [self._opened(row, rows.memory) for row in sealed if row[0] not in self.aside]

    def superseded_by_any(self, memory_ids: Sequence[str], limit: int) -> dict[int, str]:
        marks = ",".join("?" * len(memory_ids))
        found = self._connection.execute(
            f"SELECT row, id FROM memory WHERE superseded_by IN ({marks}) AND superseded_by <> '' "
            "ORDER BY row DESC LIMIT ?",
            (*memory_ids, limit),
        )
        replaced: list[Any] = found.fetchall()
        return dict(replaced)

    def dismissal(self, a: int, b: int) -> Dismissal | None:
        row = self._connection.execute(
            f"SELECT {rows.DISMISSAL_COLUMNS} FROM dismissal WHERE a = ? AND b = ?", (a, b)
        ).fetchone()
        return None if row is None else rows.dismissal(row)

    def dismissed(self, pairs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
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
                found.update(pair for pair in wanted.get(one.a, ()) if max(pair) == one.b)
        return found

    def dismissals_changed(self, revision: int) -> bool:
        found = self._connection.execute(
            "SELECT EXISTS (SELECT 1 FROM operation WHERE revision > ? "
            "AND instr(touched, '\"dismissal\"'))",
            (revision,),
        ).get
        return bool(found)

    def dismissed_live(self, limit: int) -> list[tuple[int, int]]:
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
        return [
            row
            for (row,) in self._connection.execute(
                "SELECT m.row FROM memory m JOIN operation o ON o.revision = m.revision "
                "JOIN image i ON i.revision = m.revision AND i.entity = 'memory' "
                "AND i.key = CAST(m.row AS TEXT) "
                "WHERE m.status = 'superseded' AND json_extract(i.before, '$[10]') = 'active' "
                "AND (o.kind = 'Merge' OR o.kind = 'Resolve' AND EXISTS (SELECT 1 FROM image k "
                "WHERE k.revision = m.revision AND k.entity = 'memory' AND k.key = "
                "(SELECT CAST(s.row AS TEXT) FROM memory s WHERE s.id = m.superseded_by))) "
                "ORDER BY m.revision DESC, m.row LIMIT ?",
                (limit,),
            )
        ]

    def dismissal_count(self, row: int) -> int:
        return int(
            self._connection.execute(
                "SELECT (SELECT count(*) FROM dismissal WHERE a = ?1) + "
                "(SELECT count(*) FROM dismissal WHERE b = ?1)",
                (row,),
            ).get
        )

    def episode(self, episode_id: str) -> Episode | None:
        row = self._connection.execute(
            f"SELECT {rows.EPISODE_COLUMNS} FROM episode WHERE id = ?", (episode_id,)
        ).fetchone()
        return None if row is None else rows.episode(row)

    def episodes_by_start(
        self, after: tuple[int, str], limit: int, agent_id: str, time: TimeRange
    ) -> list[Episode]:
        found = self._connection.execute(
            f"SELECT {sql.EPISODE_READABLE} FROM episode WHERE (start_us, id) > (?, ?) "
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
        # Even the id of a row that is set aside may be unreadable.
        query = "FROM memory WHERE (created_us, id) > (?, ?) AND row NOT IN "
        query += "(SELECT value FROM json_each(?)) ORDER BY created_us, id LIMIT ?"
        given = (*after, json.dumps([bad.row for bad in self.aside.memories()]), limit)
        try:
            found: list[Any] = self._connection.execute(
                "SELECT row, created_us, id " + query, given
            ).fetchall()
        except UnicodeDecodeError:
            unread: list[rows.Row] = self._connection.execute(
                "SELECT row " + query, given
            ).fetchall()
            for (row,) in unread:
                self._look_at(row)
            raise
        for at in found:
            if tuple(map(type, at)) != (int, int, str) or at[1:] <= after:
                # Going on from there might never end.
                raise sql.damaged("the index of memories by time")
            after = at[1:]
        return found


class ReaderPool:
    """A few read-only connections, each used by one thread at a time.

    Methods without a text of their own: see `seam.ReaderPool`.

    `place` is the collection that the file must belong to; `None` accepts any.
    """

    def __init__(
        self, path: Path, size: int, aside: Aside | None = None, *, place: Place | None = None
    ) -> None:
        self._path = path
        self._place = place
        self._aside = aside
        self._closed = False
        self._idle: queue.LifoQueue[apsw.Connection] = queue.LifoQueue(size)
        # Opened on demand: of thousands of collections most have one reader at a time.
        self._unopened = threading.Semaphore(size)

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        connection, sound = self._take(), True
        try:
            yield Rows(connection, self._aside, lenient=True)
        except (Corruption, apsw.Error, UnicodeDecodeError) as error:
            # Close its cursors too: the error may keep one open, which would hide new commits.
            connection.close(True)
            sound = False
            sql.raise_damage(error, self._path.name)
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
                    return open_reader(self._path, place=self._place)
                except BaseException:
                    self._unopened.release()
                    raise
            with contextlib.suppress(queue.Empty):
                return self._idle.get(timeout=_CLOSED_CHECK_S)
        raise Unavailable(
            "SHUTTING_DOWN", "the collection is being closed", retry_delay_ms=limits.RETRY_DELAY_MS
        )

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()


def _later(row: int, last: int) -> int:
    """Return the row if it comes after the last one; else the table's order is damaged."""
    if row <= last:
        raise Corruption(
            "CORRUPT_ROW",
            f"table memory is damaged: row {row} comes after row {last}; restore a snapshot",
            table="memory",
            row=row,
        )
    return row
