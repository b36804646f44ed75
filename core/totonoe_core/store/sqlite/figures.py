"""Bulk reads of figures and links; each row that is used is checked against its crc."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from totonoe_core.domain.records import LinkType
from totonoe_core.store import rows
from totonoe_core.store.sqlite import sql

_EVENT_COLUMNS = sql.readable("number, agent_id, time_us, hits, crc")


class Figures:
    """Reads of an Audit and of recalls on one collection's file.

    Methods without a text of their own: see `seam.Figures`.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def links_of(self, type_: LinkType) -> Iterator[tuple[int, int]]:
        for row in self._connection.execute(
            "SELECT source, target, type, confidence, note, revision, crc FROM link "
            "WHERE type = ? AND source < target",
            (type_.value,),
        ):
            rows.link(row, "")
            yield row[0], row[1]

    def superseded(self) -> list[tuple[int, int]]:
        return list(
            self._connection.execute(
                "SELECT m.row, by.row FROM memory m JOIN memory by ON by.id = m.superseded_by "
                "WHERE m.superseded_by <> '' AND m.status = 'superseded'"
            )
        )

    def dismissed(self, limit: int) -> list[tuple[int, int]]:
        columns = ", ".join("d." + name for name in rows.DISMISSAL_COLUMNS.split(", "))
        found = self._connection.execute(
            f"SELECT {columns} FROM dismissal d "
            "JOIN memory ma ON ma.row = d.a AND ma.content_hash = d.hash_a "
            "JOIN memory mb ON mb.row = d.b AND mb.content_hash = d.hash_b LIMIT ?",
            (limit,),
        )
        return [(one.a, one.b) for one in map(rows.dismissal, found)]

    def oldest_reply_us(self, since_us: int, limit: int) -> int | None:
        found: int | None = self._connection.execute(
            "SELECT min(time_us) FROM "
            "(SELECT time_us FROM reply WHERE time_us >= ? ORDER BY time_us DESC LIMIT ?)",
            (since_us, limit),
        ).get
        return found

    def refusals(self, since_us: int, limit: int) -> Iterator[tuple[str, int]]:
        for row in self._connection.execute(
            "SELECT agent_id, operation_id, digest, answer, time_us, crc FROM "
            "(SELECT * FROM reply WHERE time_us >= ? ORDER BY time_us DESC LIMIT ?) "
            'WHERE instr(answer, \'"$":"Duplicate"\')',
            (since_us, limit),
        ):
            _, _, _, answer, time_us = rows.check(row, "reply")
            yield answer, time_us

    def recalled_by(self, row: int) -> list[tuple[str, int]]:
        """Return (agent, time in us) of the kept Recalls with a row in their hits, newest first.

        Bad ones are left out.
        """
        found = self._connection.execute(
            f"SELECT {_EVENT_COLUMNS} FROM recall_event WHERE EXISTS ("
            # Damaged hits would end the read.
            "SELECT 1 FROM json_each(iif(json_valid(hits), hits, '[]')) WHERE value = ?"
            ") ORDER BY number DESC",
            (row,),
        )
        events = (rows.as_text(one, (1, 3)) for one in found)
        return [(one[1], one[2]) for one in events if rows.is_sound(one, "recall_event")]
