"""Traces of Recall: accesses, events, co-activations.

These are figures, not operations: without revisions and before images. A bad row is noted and left
out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from totonoe_core.domain.records import RecallEvent
from totonoe_core.store import rows
from totonoe_core.store.aside import Aside
from totonoe_core.store.tables import sql
from totonoe_core.store.tables.session import Session

_ACCESS_COLUMNS = "row, last_us, count, crc"
_EVENT_COLUMNS = "number, agent_id, time_us, hits, crc"
_PAIR_COLUMNS = "low, high, count, crc"
_PUT_ACCESS = sql.upsert("access", _ACCESS_COLUMNS, "row")
_PUT_EVENT = sql.insert("recall_event", _EVENT_COLUMNS)
_PUT_PAIR = sql.upsert("coactivation", _PAIR_COLUMNS, "low, high")


class Recalls:
    """Writes of these figures, inside the writer's transactions.

    Methods without a text of their own: see `seam.Recalls`.
    """

    def __init__(self, session: Session, aside: Aside) -> None:
        self._session = session
        self._aside = aside

    def put_access(self, figures: Iterable[tuple[int, int, int]]) -> None:
        self._session.write_all(_PUT_ACCESS, map(rows.seal, figures))

    def access(self) -> dict[int, tuple[int, int]]:
        columns = self._session.readable(_ACCESS_COLUMNS)
        found = self._session.execute(f"SELECT {columns} FROM access WHERE uid = $1")
        return {row[0]: (row[1], row[2]) for row in found if self._is_sound("access", row, 1)}

    def _is_sound(self, table: str, row: rows.Row, key_size: int) -> bool:
        """Return whether a row is usable; if not, note it."""
        if rows.is_sound(row, table):
            return True
        self._aside.note(table, rows.bad_key(row[:key_size]))
        return False

    def put_events(self, events: Iterable[RecallEvent], keep: int) -> None:
        last = int(
            self._session.execute(
                "SELECT coalesce(max(number), 0) FROM recall_event WHERE uid = $1"
            ).get
        )
        self._session.write_all(
            _PUT_EVENT,
            (
                rows.seal((number, event.agent_id, event.time_us, json.dumps(event.rows)))
                for number, event in enumerate(events, last + 1)
            ),
        )
        self._session.write(
            "DELETE FROM recall_event WHERE uid = $1 AND number <= "
            "(SELECT max(number) FROM recall_event WHERE uid = $1) - ?",
            (keep,),
        )

    def take_events(self, limit: int) -> list[RecallEvent]:
        columns = self._session.readable(_EVENT_COLUMNS)
        read = self._session.execute(
            f"SELECT {columns} FROM recall_event WHERE uid = $1 ORDER BY number LIMIT ?", (limit,)
        )
        found = [rows.as_text(row, (1, 3)) for row in read]
        if found:
            self._session.write(
                "DELETE FROM recall_event WHERE uid = $1 AND number <= ?", (found[-1][0],)
            )
        return [
            RecallEvent(row[1], row[2], tuple(json.loads(row[3])))
            for row in found
            if self._is_sound("recall_event", row, 1)
        ]

    def add_coactivations(
        self, gained: Mapping[tuple[int, int], int]
    ) -> dict[tuple[int, int], int]:
        columns, counts = self._session.readable(_PAIR_COLUMNS), {}
        for pair, count in gained.items():
            row = self._session.execute(
                f"SELECT {columns} FROM coactivation WHERE uid = $1 AND low = ? AND high = ?", pair
            ).fetchone()
            known = row is not None and self._is_sound("coactivation", row, 2)
            counts[pair] = count + (row[2] if known and row is not None else 0)
            self._session.write(_PUT_PAIR, rows.seal((*pair, counts[pair])))
        return counts
