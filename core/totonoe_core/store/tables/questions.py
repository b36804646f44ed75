"""Pairs of live memories that somebody is asked about, without those that were dismissed."""

from __future__ import annotations

from collections.abc import Sequence

from totonoe_core.store import rows
from totonoe_core.store.records import AskedPair, LikelyPair, PairPlace
from totonoe_core.store.tables.session import Session

_OPEN = """
SELECT l.source, l.target, l.type, l.confidence, l.note, l.revision, l.crc
FROM link l {how}
JOIN memory one ON one.uid = $1 AND one.row = l.source AND one.status = 'active'
JOIN memory other ON other.uid = $1 AND other.row = l.target AND other.status = 'active'
LEFT JOIN dismissal d ON d.uid = $1
  AND d.a = least(l.source, l.target) AND d.b = greatest(l.source, l.target)
WHERE l.uid = $1 AND (
  d.a IS NULL
  OR d.hash_a <> CASE WHEN l.source = d.a THEN one.content_hash ELSE other.content_hash END
  OR d.hash_b <> CASE WHEN l.source = d.a THEN other.content_hash ELSE one.content_hash END
)
"""
_ASKING = "AND l.type IN ('likely_same', 'may_replace', 'maybe_replaced_by') "
_BELOW = (
    _OPEN + _ASKING + "AND l.source < l.target "
    "AND (l.confidence, l.source, l.target) < (?, ?, ?) "
    "ORDER BY l.confidence DESC, l.source DESC, l.target DESC LIMIT ?"
)
_OF_ROW = (_OPEN + _ASKING + "AND l.source = ?").format(how="")
TABLE = "/*! INDEXED BY sqlite_autoindex_link_1*/"
"""The hint by which SQLite reads the index of the table's own key, and no other."""
_AMONG = (
    _OPEN + "AND l.type = 'likely_same' AND l.source < l.target "
    # The plus: SQLite reads the links of each source, and does not look for each pair.
    "AND l.source = ANY($2) AND /*!+*/l.target = ANY($2)"
).format(how=TABLE)


class Questions:
    """Reads of open questions on one collection; each row is checked against its crc.

    Methods without a text of their own: see `seam.Questions`.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def below(self, place: PairPlace, limit: int) -> list[AskedPair]:
        return [_asked(row) for row in self._below((*place, limit))]

    def _below(self, given: Sequence[object], how: str = "") -> list[rows.Row]:
        """Return sealed links; `how` names the index for SQLite, else it chooses."""
        return self._session.execute(_BELOW.format(how=how), given).fetchall()

    def of_row(self, row: int, place: PairPlace) -> list[AskedPair]:
        found = [_asked(fetched) for fetched in self._session.execute(_OF_ROW, (row,))]
        return sorted((pair for pair in found if pair[:3] < place), reverse=True)

    def among(self, wanted: Sequence[int]) -> list[LikelyPair]:
        found = (_asked(fetched) for fetched in self._session.execute(_AMONG, (list(wanted),)))
        return [LikelyPair(*pair[:4]) for pair in found]


def _asked(row: rows.Row) -> AskedPair:
    return AskedPair.of(rows.link(row, ""), row[0], row[1])
