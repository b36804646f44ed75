"""Reads of rows, for the writer's connection and read-only ones alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from totonoe_core.base.errors import Corruption
from totonoe_core.domain.records import Dismissal, Episode, Link, Memory, Status, TimeRange
from totonoe_core.store import rows
from totonoe_core.store.aside import Aside, BadRow, corrupt_memory
from totonoe_core.store.tables import sql
from totonoe_core.store.tables.beside import BesideReads
from totonoe_core.store.tables.figures import Figures
from totonoe_core.store.tables.history import History
from totonoe_core.store.tables.moment import Moment
from totonoe_core.store.tables.questions import Questions
from totonoe_core.store.tables.session import ResultSet, Session

T = TypeVar("T")

LINK_COLUMNS = "l.source, l.target, l.type, l.confidence, l.note, l.revision, l.crc, m.id"


def select_links(columns: str = LINK_COLUMNS) -> str:
    """Return the statement that reads columns of the links of some memories."""
    return (
        f"SELECT {columns} FROM link l JOIN memory m ON m.uid = $1 AND m.row = l.target "
        "WHERE l.uid = $1 AND l.source = ANY(?) "
        "ORDER BY l.source, l.confidence DESC, l.target, l.type"
    )


LINKS = select_links()


class Rows:
    """Rows of one collection through one connection, but for what each store reads its own way.

    Memories that are set aside (`aside`) are absent; any other bad row raises `Corruption` and is
    noted. With `lenient`, for answers, bad links and episodes are noted and left out.

    Methods without a text of their own: see `seam.Rows`.
    """

    def __init__(
        self, session: Session, aside: Aside | None = None, *, lenient: bool = False
    ) -> None:
        self._session = session
        self.aside = Aside() if aside is None else aside
        self._lenient = lenient
        self.in_snapshot = False
        self.history = History(session, self.aside)
        self.figures = Figures(session)
        self.questions = Questions(session)
        self.beside = BesideReads(session)
        self.moment = Moment(session, self.history)

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
        """Yield rows of memories as sealed, without those that are set aside."""
        if len(self.aside):
            wanted = [row for row in wanted if row not in self.aside]
        for part in sql.parts(wanted):
            yield from self._sealed_part(part)

    def _sealed_part(self, part: list[int]) -> list[rows.Row]:
        found = self._session.execute(
            f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE uid = $1 AND row = ANY(?)", (part,)
        )
        return list(map(self._session.sealed, found.fetchall()))

    def sealed_memory(self, row: int) -> rows.Row | None:
        """Return a row of `memory` as sealed; `None` if it is not there."""
        found = self._session.execute(
            f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE uid = $1 AND row = ?", (row,)
        ).fetchone()
        return None if found is None else self._session.sealed(found)

    def is_there(self, row: int) -> bool:
        found = self._session.execute("SELECT 1 FROM memory WHERE uid = $1 AND row = ?", (row,)).get
        return found is not None

    def _memories_from(self, row: int, limit: int) -> ResultSet:
        """Find at most `limit` rows of `memory` after a row number, ascending."""
        return self._session.execute(
            f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE uid = $1 AND row > ? "
            "ORDER BY row LIMIT ?",
            (row, limit),
        )

    def _set_aside(self, row: int) -> None:
        bad = self.bad_memory(row)
        if bad is not None:
            self.aside.add(bad)

    def bad_memory(self, row: int) -> BadRow | None:
        found = self.sealed_memory(row)
        if found is None or rows.is_sound(found, "memory"):
            return None
        return rows.bad_row(row, found[1].encode(), found[6].encode(), found[7].encode())

    def row_of_external_key(self, key: str, status: str = "status <> 'forgotten'") -> int | None:
        """Return the row of the memory, not forgotten, with an external key.

        `status` is the condition of one of the two indexes over the keys. Several forgotten
        memories may share a key: then the newest row.
        """
        found = self._session.execute(
            f"SELECT max(row) FROM memory WHERE uid = $1 AND external_id = ? AND {status}",
            (self._session.stored_key(key),),
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
        found = self._session.execute(
            "SELECT row FROM memory WHERE uid = $1 AND id = ?", (memory_id,)
        ).get
        return None if found is None else int(found)

    def taken_ids(self, memory_ids: Sequence[str]) -> set[str]:
        found = self._session.execute(
            "SELECT id FROM memory WHERE uid = $1 AND id = ANY(?)", (list(memory_ids),)
        )
        return {memory_id for (memory_id,) in found}

    def ids(self, wanted: Sequence[int]) -> dict[int, str]:
        return self.moment.ids(wanted)

    def forgotten_before(self, time_us: int, limit: int) -> list[str]:
        found = self._session.execute(
            "SELECT id FROM memory WHERE uid = $1 AND status = 'forgotten' AND updated_us < ? "
            "ORDER BY updated_us LIMIT ?",
            (time_us, limit),
        )
        return [memory_id for (memory_id,) in found]

    def setting(self, key: str) -> str | None:
        row = self._session.execute(
            "SELECT key, value, crc FROM setting WHERE uid = $1 AND key = ?", (key,)
        ).fetchone()
        return None if row is None else str(rows.check(row, "setting")[1])

    def last_revision(self) -> int:
        return self.history.newest()

    def links(self, sources: Iterable[int]) -> dict[int, list[tuple[int, Link]]]:
        found: dict[int, list[tuple[int, Link]]] = {source: [] for source in sources}
        for part in sql.parts(list(found)):
            for row in self._link_rows(part):
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
                    raise Corruption(
                        "CORRUPT_ROW",
                        "table link has a damaged page; the command `verify` says where",
                        file="table link",
                    )
        return found

    def _link_rows(self, sources: list[int]) -> list[rows.Row]:
        """Return sealed rows of links, each with the id of its target."""
        return self._session.execute(LINKS, (sources,)).fetchall()

    def _left_out(self, table: str, key: Sequence[object]) -> bool:
        """Note a bad row; return whether the answer may leave it out."""
        self.aside.note(table, rows.bad_key(key))
        return self._lenient

    def link_counts(self, sources: Sequence[int]) -> dict[int, int]:
        counts = dict.fromkeys(sources, 0)
        for part in sql.parts(list(counts)):
            found: Any = self._session.execute(
                "SELECT source, count(*) FROM link WHERE uid = $1 AND source = ANY(?) "
                "GROUP BY source",
                (part,),
            )
            counts.update(found)
        return counts

    def readings(self, _wanted: Sequence[int], /) -> dict[int, bytes]:
        return {}

    def rows_after(self, revision: int) -> list[int]:
        found = self._session.execute(
            "SELECT row FROM memory WHERE uid = $1 AND revision > ?", (revision,)
        )
        return [row for (row,) in found]

    def superseded_by(self, memory_id: str, limit: int) -> list[Memory]:
        found = self._session.execute(
            f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE uid = $1 AND superseded_by = ? AND "
            "superseded_by <> '' ORDER BY row LIMIT ?",
            (memory_id, limit),
        )
        return self._opened_all(found)

    def superseded_since(self, memory_id: str, revision: int, limit: int) -> list[Memory]:
        found = self._session.execute(
            f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE uid = $1 AND superseded_by = ? AND "
            "superseded_by <> '' AND status = ? AND revision > ? ORDER BY revision DESC LIMIT ?",
            (memory_id, Status.SUPERSEDED.value, revision, limit),
        )
        return self._opened_all(found)

    def _opened_all(self, found: ResultSet) -> list[Memory]:
        sealed = list(map(self._session.sealed, found.fetchall()))
        return [self._opened(row, rows.memory) for row in sealed if row[0] not in self.aside]

    def superseded_by_any(self, memory_ids: Sequence[str], limit: int) -> dict[int, str]:
        found = self._session.execute(
            "SELECT row, id FROM memory WHERE uid = $1 AND superseded_by = ANY(?) "
            "AND superseded_by <> '' ORDER BY row DESC LIMIT ?",
            (list(memory_ids), limit),
        )
        replaced: list[Any] = found.fetchall()
        return dict(replaced)

    def dismissal(self, a: int, b: int) -> Dismissal | None:
        row = self._session.execute(
            f"SELECT {rows.DISMISSAL_COLUMNS} FROM dismissal WHERE uid = $1 AND a = ? AND b = ?",
            (a, b),
        ).fetchone()
        return None if row is None else rows.dismissal(row)

    def dismissed(self, pairs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        wanted: dict[int, list[tuple[int, int]]] = {}
        for pair in pairs:
            wanted.setdefault(min(pair), []).append(pair)
        found: set[tuple[int, int]] = set()
        for part in sql.parts(list(wanted)):
            for row in self._session.execute(
                f"SELECT {sql.DISMISSED} WHERE d.uid = $1 AND d.a = ANY(?)", (part,)
            ):
                dismissal = rows.dismissal(row)
                found.update(
                    pair for pair in wanted.get(dismissal.a, ()) if max(pair) == dismissal.b
                )
        return found

    def dismissals_changed(self, revision: int) -> bool:
        found = self._session.execute(
            "SELECT EXISTS (SELECT 1 FROM operation WHERE uid = $1 AND revision > ? "
            "AND strpos(touched, '\"dismissal\"') > 0)",
            (revision,),
        ).get
        return bool(found)

    def dismissed_live(self, limit: int) -> list[tuple[int, int]]:
        return list(
            self._session.execute(
                f"SELECT d.a, d.b FROM dismissal d {sql.SAME_TEXTS}"
                "WHERE d.uid = $1 AND ma.status = 'active' AND mb.status = 'active' "
                "ORDER BY d.revision DESC, d.a, d.b LIMIT ?",
                (limit,),
            )
        )

    def merged_away(self, limit: int) -> list[int]:
        return [
            row
            for (row,) in self._session.execute(
                "SELECT m.row FROM memory m "
                "JOIN operation o ON o.uid = $1 AND o.revision = m.revision "
                "JOIN image i ON i.uid = $1 AND i.revision = m.revision AND i.entity = 'memory' "
                "AND i.key = CAST(m.row AS TEXT) "
                "WHERE m.uid = $1 AND m.status = 'superseded' AND (i.before::json->>10) = 'active' "
                "AND (o.kind = 'Merge' OR o.kind = 'Resolve' AND EXISTS (SELECT 1 FROM image k "
                "WHERE k.uid = $1 AND k.revision = m.revision AND k.entity = 'memory' AND k.key = "
                "(SELECT CAST(s.row AS TEXT) FROM memory s "
                "WHERE s.uid = $1 AND s.id = m.superseded_by))) "
                "ORDER BY m.revision DESC, m.row LIMIT ?",
                (limit,),
            )
        ]

    def dismissal_count(self, row: int) -> int:
        return int(
            self._session.execute(
                "SELECT (SELECT count(*) FROM dismissal WHERE uid = $1 AND a = $2) + "
                "(SELECT count(*) FROM dismissal WHERE uid = $1 AND b = $2)",
                (row,),
            ).get
        )

    def episode(self, episode_id: str) -> Episode | None:
        row = self._session.execute(
            f"SELECT {rows.EPISODE_COLUMNS} FROM episode WHERE uid = $1 AND id = ?", (episode_id,)
        ).fetchone()
        return None if row is None else rows.episode(row)

    def episodes_by_start(
        self, after: tuple[int, str], limit: int, agent_id: str, time: TimeRange
    ) -> list[Episode]:
        found = self._session.execute(
            f"SELECT {self._session.readable(rows.EPISODE_COLUMNS)} FROM episode "
            "WHERE uid = $1 AND (start_us, id) > (?, ?) "
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
        for row in map(rows.episode_as_text, found.fetchall()):
            try:
                episodes.append(rows.episode(row))
            except Corruption:
                if not self._left_out("episode", row[:1]):
                    raise
        return episodes

    def rows_by_time(self, after: tuple[int, str], limit: int) -> list[tuple[int, int, str]]:
        found = self._by_time("row, created_us, id", after, limit)
        return [(row, created_us, memory_id) for row, created_us, memory_id in found]

    def _by_time(self, columns: str, after: tuple[int, str], limit: int) -> list[rows.Row]:
        """Return columns of memories after a position, without those that are set aside."""
        # Even the id of a row that is set aside may be unreadable.
        bad = [bad.row for bad in self.aside.memories()]
        found = self._session.execute(
            f"SELECT {columns} FROM memory WHERE uid = $1 AND (created_us, id) > (?, ?) "
            "AND row <> ALL(?) ORDER BY created_us, id LIMIT ?",
            (*after, bad, limit),
        )
        return found.fetchall()
