"""Reads of rows, for the writer's connection and read-only ones alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from totonoe_core.domain.records import Memory
from totonoe_core.store import rows
from totonoe_core.store.aside import Aside
from totonoe_core.store.postgres.session import Session
from totonoe_core.store.tables import reader, sql
from totonoe_core.store.tables.pool import Pool

_AT_ONCE = 1000  # rows of one statement, where all are read


class Rows(reader.Rows):
    """Rows of one collection of the database through one connection.

    Methods without a text of their own: see `seam.Rows`.
    """

    _session: Session

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self._session.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self.in_snapshot = True
        try:
            yield
        finally:
            self.in_snapshot = False
            self._session.end("ROLLBACK")

    def all_memories(self) -> Iterator[Memory]:
        """Yield every memory by row number, for loading; bad rows are set aside instead."""
        last = -(2**63)
        while page := self._memories_from(last, _AT_ONCE).fetchall():
            last = page[-1][0]
            yield from self._sound(map(self._session.sealed, page))

    def _sound(self, sealed: Iterable[rows.Row]) -> Iterator[Memory]:
        """Yield the memories of sealed rows; bad ones are set aside instead."""
        for row in sealed:
            if rows.is_sound(row, "memory"):
                yield rows.sound_memory(row)
            else:
                self._set_aside(row[0])

    def memories_after(self, revision: int) -> Iterator[Memory]:
        """Yield memories last changed after a revision, by row number; bad rows are set aside."""
        for part in sql.parts(sorted(self.rows_after(revision))):
            found = {row[0]: row for row in self._sealed_part(part)}
            yield from self._sound(found[row] for row in part if row in found)

    def readings(self, wanted: Sequence[int], /) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for part in sql.parts(wanted):
            query = "SELECT row, reading FROM memory WHERE uid = $1 AND row = ANY(?)"
            found.update(self._session.execute(query, (part,)))
        return found


class ReaderPool(Pool[Session]):
    """A few connections that read one collection, each used by one thread at a time."""

    def __init__(self, open_one: Callable[[], Session], size: int, aside: Aside | None) -> None:
        super().__init__(open_one, size)
        self._aside = aside

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """Lend an idle connection; wait for one if all are busy.

        Raises `Unavailable` if the server cannot be reached.
        """
        session, sound = self.take(), False
        try:
            yield Rows(session, self._aside, lenient=True)
            sound = True
        finally:
            # After any error it may be in a transaction.
            self.give_back(session, sound=sound)
