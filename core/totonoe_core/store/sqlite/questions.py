"""Pairs that are probably the same, of live memories, without those that were dismissed."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from totonoe_core.store import rows
from totonoe_core.store.records import LikelyPair, PairPlace

# Not the link's type alone: the index covers one direction of each pair.
_OPEN = """
SELECT l.source, l.target, l.type, l.confidence, l.note, l.revision, l.crc
FROM link l {how}
JOIN memory one ON one.row = l.source AND one.status = 'active'
JOIN memory other ON other.row = l.target AND other.status = 'active'
LEFT JOIN dismissal d ON d.a = min(l.source, l.target) AND d.b = max(l.source, l.target)
WHERE l.type = 'likely_same' AND (
  d.a IS NULL
  OR d.hash_a <> iif(l.source = d.a, one.content_hash, other.content_hash)
  OR d.hash_b <> iif(l.source = d.a, other.content_hash, one.content_hash)
)
"""
_BELOW = (
    _OPEN + "AND l.source < l.target AND (l.confidence, l.source, l.target) < (?, ?, ?) "
    "ORDER BY l.confidence DESC, l.source DESC, l.target DESC LIMIT ?"
)
_TABLE = "INDEXED BY sqlite_autoindex_link_1"
_OF_ROW = _OPEN + "AND l.source = ?"
_AMONG = (
    _OPEN + "AND l.source < l.target AND l.source IN (SELECT value FROM json_each(?1)) "
    # The plus: it reads the links of each source, and does not look for each pair.
    "AND +l.target IN (SELECT value FROM json_each(?1))"
)


class Questions:
    """Reads of open questions on one collection's file; each row is checked against its crc."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def below(self, place: PairPlace, limit: int) -> list[LikelyPair]:
        """Return the next pairs below a place, the highest first."""
        given = (*place, limit)
        try:
            found = self._connection.execute(_BELOW.format(how=""), given).fetchall()
        except apsw.CorruptError:
            # A damaged page of the index, which is only derived: read the table itself.
            found = self._connection.execute(_BELOW.format(how=_TABLE), given).fetchall()
        return [_pair(row) for row in found]

    def of_row(self, row: int, place: PairPlace) -> list[LikelyPair]:
        """Return the pairs of one row below a place, the highest first."""
        found = [_pair(one) for one in self._connection.execute(_OF_ROW.format(how=""), (row,))]
        return sorted((one for one in found if one[:3] < place), reverse=True)

    def among(self, wanted: Sequence[int]) -> list[LikelyPair]:
        """Return the pairs of which both rows are among some."""
        given = (json.dumps(wanted),)
        return [_pair(one) for one in self._connection.execute(_AMONG.format(how=_TABLE), given)]


def _pair(row: rows.Row) -> LikelyPair:
    link = rows.link(row, "")
    low, high = sorted((row[0], row[1]))
    return LikelyPair(link.confidence, low, high, link.note)
