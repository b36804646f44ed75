"""Pairs of live memories that somebody is asked about, without those that were dismissed."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from totonoe_core.store import rows
from totonoe_core.store.records import AskedPair, LikelyPair, PairPlace

_ASKING = "l.type IN ('likely_same', 'may_replace', 'maybe_replaced_by')"
# Not the link's type alone: the index covers one direction of each pair.
_OPEN = """
SELECT l.source, l.target, l.type, l.confidence, l.note, l.revision, l.crc
FROM link l {how}
JOIN memory one ON one.row = l.source AND one.status = 'active'
JOIN memory other ON other.row = l.target AND other.status = 'active'
LEFT JOIN dismissal d ON d.a = min(l.source, l.target) AND d.b = max(l.source, l.target)
WHERE (
  d.a IS NULL
  OR d.hash_a <> iif(l.source = d.a, one.content_hash, other.content_hash)
  OR d.hash_b <> iif(l.source = d.a, other.content_hash, one.content_hash)
)
"""
_BELOW = (
    f"{_OPEN}AND {_ASKING} "
    "AND l.source < l.target AND (l.confidence, l.source, l.target) < (?, ?, ?) "
    "ORDER BY l.confidence DESC, l.source DESC, l.target DESC LIMIT ?"
)
_TABLE = "INDEXED BY sqlite_autoindex_link_1"
_OF_ROW = f"{_OPEN}AND {_ASKING} AND l.source = ?"
_AMONG = (
    f"{_OPEN}AND l.type = 'likely_same' "
    "AND l.source < l.target AND l.source IN (SELECT value FROM json_each(?1)) "
    # The plus: it reads the links of each source, and does not look for each pair.
    "AND +l.target IN (SELECT value FROM json_each(?1))"
)


class Questions:
    """Reads of open questions on one collection's file; each row is checked against its crc.

    Methods without a text of their own: see `seam.Questions`.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def below(self, place: PairPlace, limit: int) -> list[AskedPair]:
        given = (*place, limit)
        try:
            found = self._connection.execute(_BELOW.format(how=""), given).fetchall()
        except apsw.CorruptError:
            # A damaged page of the index, which is only derived: read the table itself.
            found = self._connection.execute(_BELOW.format(how=_TABLE), given).fetchall()
        return [_asked(row) for row in found]

    def of_row(self, row: int, place: PairPlace) -> list[AskedPair]:
        found = [_asked(one) for one in self._connection.execute(_OF_ROW.format(how=""), (row,))]
        return sorted((one for one in found if one[:3] < place), reverse=True)

    def among(self, wanted: Sequence[int]) -> list[LikelyPair]:
        given = (json.dumps(wanted),)
        found = (_asked(one) for one in self._connection.execute(_AMONG.format(how=_TABLE), given))
        return [LikelyPair(*one[:4]) for one in found]


def _asked(row: rows.Row) -> AskedPair:
    return AskedPair.of(rows.link(row, ""), row[0], row[1])
