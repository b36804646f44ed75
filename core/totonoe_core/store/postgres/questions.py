"""Pairs that are probably the same, of live memories, without those that were dismissed."""

from __future__ import annotations

from collections.abc import Sequence

from totonoe_core.store import rows
from totonoe_core.store.postgres.session import Session
from totonoe_core.store.records import LikelyPair, PairPlace

_OPEN = """
SELECT l.source, l.target, l.type, l.confidence, l.note, l.revision, l.crc
FROM link l
JOIN memory one ON one.uid = $1 AND one.row = l.source AND one.status = 'active'
JOIN memory other ON other.uid = $1 AND other.row = l.target AND other.status = 'active'
LEFT JOIN dismissal d ON d.uid = $1
  AND d.a = least(l.source, l.target) AND d.b = greatest(l.source, l.target)
WHERE l.uid = $1 AND l.type = 'likely_same' AND (
  d.a IS NULL
  OR d.hash_a <> CASE WHEN l.source = d.a THEN one.content_hash ELSE other.content_hash END
  OR d.hash_b <> CASE WHEN l.source = d.a THEN other.content_hash ELSE one.content_hash END
)
"""
_BELOW = (
    _OPEN + "AND l.source < l.target AND (l.confidence, l.source, l.target) < (?, ?, ?) "
    "ORDER BY l.confidence DESC, l.source DESC, l.target DESC LIMIT ?"
)
_OF_ROW = _OPEN + "AND l.source = ?"
_AMONG = _OPEN + "AND l.source < l.target AND l.source = ANY($2) AND l.target = ANY($2)"


class Questions:
    """Reads of open questions on one collection; each row is checked against its crc."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def below(self, place: PairPlace, limit: int) -> list[LikelyPair]:
        """Return the next pairs below a place, the highest first."""
        return [_pair(row) for row in self._session.execute(_BELOW, (*place, limit))]

    def of_row(self, row: int, place: PairPlace) -> list[LikelyPair]:
        """Return the pairs of one row below a place, the highest first."""
        found = [_pair(one) for one in self._session.execute(_OF_ROW, (row,))]
        return sorted((one for one in found if one[:3] < place), reverse=True)

    def among(self, wanted: Sequence[int]) -> list[LikelyPair]:
        """Return the pairs of which both rows are among some."""
        return [_pair(one) for one in self._session.execute(_AMONG, (list(wanted),))]


def _pair(row: rows.Row) -> LikelyPair:
    link = rows.link(row, "")
    low, high = sorted((row[0], row[1]))
    return LikelyPair(link.confidence, low, high, link.note)
