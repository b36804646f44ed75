"""Reading rows: used by the writer's connection and by read-only ones alike."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from totonoe_core import limits
from totonoe_core.errors import Corruption, Unavailable
from totonoe_core.records import Dismissal, Episode, Link, Memory, TimeRange
from totonoe_core.store import rows
from totonoe_core.store.figures import Figures
from totonoe_core.store.history import History
from totonoe_core.store.moment import Moment
from totonoe_core.store.schema import open_reader

_CLOSED_CHECK_S = 0.5
_IN_MAX = 500  # bound on the variables of one statement


class Rows:
    """Rows of one collection's file through one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.history = History(connection)
        self.figures = Figures(connection)
        self.moment = Moment(connection, self.history)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read within is of one moment. For readers' connections; does not nest.

        What was committed when the first of it is read is in it. While it lasts the file's log
        cannot be cut behind it.
        """
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def memories(self, wanted: Sequence[int]) -> dict[int, Memory]:
        """Memories by row number, without access figures and links; unknown are absent."""
        return {row[0]: rows.memory(row) for row in self._sealed(wanted)}

    def excerpts(self, wanted: Sequence[int]) -> dict[int, rows.Excerpt]:
        """Excerpts of memories by row number; unknown are absent."""
        return {row[0]: rows.excerpt(row) for row in self._sealed(wanted)}

    def _sealed(self, wanted: Sequence[int]) -> Iterator[rows.Row]:
        """Rows of memories as they lie in the file."""
        for start in range(0, len(wanted), _IN_MAX):
            part = list(wanted[start : start + _IN_MAX])
            marks = ",".join("?" * len(part))
            yield from self._connection.execute(
                f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE row IN ({marks})", part
            )

    def all_memories(self) -> Iterator[Memory]:
        """Every memory by row number, for loading."""
        for row in self._connection.execute(
            f"SELECT {rows.MEMORY_COLUMNS} FROM memory ORDER BY row"
        ):
            yield rows.memory(row)

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
            for *row, target_id in self._connection.execute(
                "SELECT l.source, l.target, l.type, l.confidence, l.note, l.revision, l.crc, m.id "
                "FROM link l JOIN memory m ON m.row = l.target "
                f"WHERE l.source IN ({marks}) "
                "ORDER BY l.source, l.confidence DESC, l.target, l.type",
                part,
            ):
                found[row[0]].append((row[1], rows.link(tuple(row), target_id)))
        return found

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
        return [rows.memory(row) for row in found]

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
            f"SELECT {rows.EPISODE_COLUMNS} FROM episode WHERE (start_us, id) > (?, ?) "
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
        return [rows.episode(row) for row in found]

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

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._closed = False
        self._idle: queue.LifoQueue[apsw.Connection] = queue.LifoQueue(size)
        # Not all at once: of thousands of collections most have one reader at a time.
        self._unopened = threading.Semaphore(size)

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """Rows through an idle connection; waits for one if all are busy.

        Raises `Corruption` where SQLite itself finds a damaged page, or cannot read the file.
        """
        connection = self._take()
        try:
            yield Rows(connection)
        except apsw.CorruptError as error:
            raise Corruption(
                "CORRUPT_ROW", f"{self._path.name} has a damaged page", file=self._path.name
            ) from error
        except apsw.IOError as error:
            raise Corruption(
                "CORRUPT_ROW", f"{self._path.name} cannot be read: {error}", file=self._path.name
            ) from error
        finally:
            if self._closed:
                connection.close()
            else:
                self._idle.put(connection)

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
