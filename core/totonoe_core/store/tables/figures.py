"""Bulk reads of figures and links; each row that is used is checked against its crc."""

from __future__ import annotations

from collections.abc import Iterator

from totonoe_core.domain.records import LinkType
from totonoe_core.store import rows
from totonoe_core.store.tables import sql
from totonoe_core.store.tables.session import Session

_EVENT_COLUMNS = "number, agent_id, time_us, hits, crc"


class Figures:
    """Reads of an Audit and of recalls on one collection.

    Methods without a text of their own: see `seam.Figures`.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def links_of(self, type_: LinkType) -> Iterator[tuple[int, int]]:
        for row in self._session.execute(
            f"SELECT {sql.LINK_COLUMNS} FROM link WHERE uid = $1 AND type = ? AND source < target",
            (type_.value,),
        ):
            rows.link(row, "")
            yield row[0], row[1]

    def superseded(self) -> list[tuple[int, int]]:
        return list(
            self._session.execute(
                "SELECT m.row, b.row FROM memory m "
                "JOIN memory b ON b.uid = $1 AND b.id = m.superseded_by "
                "WHERE m.uid = $1 AND m.superseded_by <> '' AND m.status = 'superseded'"
            )
        )

    def dismissed(self, limit: int) -> list[tuple[int, int]]:
        found = self._session.execute(
            f"SELECT {sql.DISMISSED} WHERE d.uid = $1 LIMIT ?",
            (limit,),
        )
        return [(dismissal.a, dismissal.b) for dismissal in map(rows.dismissal, found)]

    def oldest_reply_us(self, since_us: int, limit: int) -> int | None:
        found: int | None = self._session.execute(
            "SELECT min(time_us) FROM "
            "(SELECT time_us FROM reply WHERE uid = $1 AND time_us >= ? "
            "ORDER BY time_us DESC LIMIT ?) newest",
            (since_us, limit),
        ).get
        return found

    def refusals(self, since_us: int, limit: int) -> Iterator[tuple[str, int]]:
        for row in self._session.execute(
            f"SELECT {sql.REPLY_COLUMNS} FROM "
            "(SELECT * FROM reply WHERE uid = $1 AND time_us >= ? "
            "ORDER BY time_us DESC LIMIT ?) newest "
            'WHERE strpos(answer, \'"$":"Duplicate"\') > 0',
            (since_us, limit),
        ):
            _, _, _, answer, time_us = rows.check(row, "reply")
            yield answer, time_us

    def recalled_by(self, row: int) -> list[tuple[str, int]]:
        """Return (agent, time in us) of the kept Recalls with a row in their hits, newest first.

        Bad ones are left out.
        """
        found = self._session.execute(
            f"SELECT {self._session.readable(_EVENT_COLUMNS)} FROM recall_event WHERE uid = $1 "
            # As text: damaged hits would end the read of JSON.
            "AND strpos(replace(replace(replace(hits, ' ', ''), '[', ','), ']', ','), ?) > 0 "
            "ORDER BY number DESC",
            (f",{row},",),
        )
        events = (rows.as_text(fetched, (1, 3)) for fetched in found)
        return [(event[1], event[2]) for event in events if rows.is_sound(event, "recall_event")]
