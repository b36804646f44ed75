"""Reads of rows of a file, where any of them may be damaged, and the pool of readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from totonoe_core.base.errors import Corruption
from totonoe_core.domain.records import Memory
from totonoe_core.store import rows
from totonoe_core.store.aside import Aside, BadRow, corrupt_memory
from totonoe_core.store.records import Place
from totonoe_core.store.sqlite import sql
from totonoe_core.store.sqlite.checks import Key, Table, TableStep
from totonoe_core.store.sqlite.index_checks import Comparison
from totonoe_core.store.sqlite.questions import Questions
from totonoe_core.store.sqlite.schema import open_reader
from totonoe_core.store.sqlite.session import Session
from totonoe_core.store.tables import reader
from totonoe_core.store.tables.pool import Pool
from totonoe_core.store.tables.sql import EVERY

_READABLE_LINKS = reader.select_links(sql.readable(reader.LINK_COLUMNS))

UNREADABLE = (UnicodeDecodeError, apsw.CorruptError)
"""Errors for a row whose columns cannot even be read."""


class Rows(reader.Rows):
    """Rows of one collection's file through one connection.

    Methods without a text of their own: see `seam.Rows`.
    """

    _session: Session

    def __init__(
        self, connection: apsw.Connection, aside: Aside | None = None, *, lenient: bool = False
    ) -> None:
        self._connection = connection
        session = Session(connection)
        super().__init__(session, aside, lenient=lenient)
        self.questions = Questions(session)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        self.in_snapshot = True
        try:
            yield
        finally:
            self.in_snapshot = False
            self._connection.execute("ROLLBACK")

    def _sealed_part(self, part: list[int]) -> list[rows.Row]:
        try:
            # All of a part at once: an error would keep the cursor open, and an open cursor hides
            # later commits from this connection.
            return super()._sealed_part(part)
        except UNREADABLE:
            for row in part:
                self._look_at(row)
            raise

    def _look_at(self, row: int) -> None:
        """Raise for a row of `memory` that cannot even be read, and report it with `suspect`."""
        try:
            self.sealed_memory(row)
        except UNREADABLE as error:
            self.aside.suspect(row)
            raise corrupt_memory(row) from error

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

    def look(self, table: str, key: Sequence[str], after: Key | None, limit: int) -> TableStep:
        """Do one step of checking the rows of a table (`store/sqlite/checks.py`)."""
        return Table(self._connection, table, key).step(after, limit)

    def all_memories(self) -> Iterator[Memory]:
        last = -(2**63)
        while True:
            try:
                for row in self._memories_from(last, EVERY):
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

    def _link_rows(self, sources: list[int]) -> list[rows.Row]:
        cursor = self._session.execute(reader.LINKS, (sources,))
        try:
            return cursor.fetchall()
        except UnicodeDecodeError:
            # Not every one of them may be text any more. An open cursor would hide later commits.
            cursor.close(True)
        found = self._session.execute(_READABLE_LINKS, (sources,))
        return [rows.as_text(row, (2, 4, 7)) for row in found.fetchall()]

    def rows_by_time(self, after: tuple[int, str], limit: int) -> list[tuple[int, int, str]]:
        try:
            found = super().rows_by_time(after, limit)
        except UnicodeDecodeError:
            for (row,) in self._by_time("row", after, limit):
                self._look_at(row)
            raise
        for at in found:
            if tuple(map(type, at)) != (int, int, str) or at[1:] <= after:
                # Going on from there might never end.
                raise sql.damaged("the index of memories by time")
            after = at[1:]
        return found


class ReaderPool(Pool[apsw.Connection]):
    """A few read-only connections, each used by one thread at a time.

    Methods without a text of their own: see `seam.ReaderPool`.

    `place` is the collection that the file must belong to; `None` accepts any.
    """

    def __init__(
        self, path: Path, size: int, aside: Aside | None = None, *, place: Place | None = None
    ) -> None:
        super().__init__(lambda: open_reader(path, place=place), size)
        self._path = path
        self._aside = aside

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        connection, sound = self.take(), True
        try:
            yield Rows(connection, self._aside, lenient=True)
        except (Corruption, apsw.Error, UnicodeDecodeError) as error:
            # Close its cursors too: the error may keep one open, which would hide new commits.
            connection.close(True)
            sound = False
            sql.raise_damage(error, self._path.name)
            raise
        finally:
            self.give_back(connection, sound=sound)


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
