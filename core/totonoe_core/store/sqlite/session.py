"""SQL of the modules in `store/tables`, as the file of one collection understands it.

Each file holds one collection, so its tables have no uid: conditions on it go. The rest differs in
a few words. A statement is translated once.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Sequence

import apsw

from totonoe_core.store.rows import Row
from totonoe_core.store.sqlite import sql
from totonoe_core.store.tables import sql as shared

_KEPT = 1024  # translated statements
_UID = (
    # A condition before another, and the last one; a column and its value.
    (re.compile(r"\b(\w+\.)?uid = \$1\s+AND "), ""),
    (re.compile(r"\s+(AND|WHERE) (\w+\.)?uid = \$1\b"), ""),
    (re.compile(r"\(uid, "), "("),
    (re.compile(r"\(\$1, "), "("),
)
_LIST = re.compile(r"(=|<>) (?:ANY|ALL)\((\?\d*)\)")
_WORDS = (
    (re.compile(r"/\*!(.*?)\*/"), r"\1"),
    (re.compile(r"::\w+"), ""),
    (re.compile(r"\bstrpos\("), "instr("),
    (re.compile(r"\bleast\("), "min("),
    (re.compile(r"\bgreatest\("), "max("),
)


class Session:
    """`Session` of `store/tables` on a connection to a file. Used by one thread at a time."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def execute(self, query: str, values: Sequence[object] = ()) -> apsw.Cursor:
        """Run a statement; its rows are read when they are asked for. Raises `apsw.Error`."""
        text, has_lists = of_file(query)
        if has_lists:
            values = [json.dumps(value) if type(value) is list else value for value in values]
        return self._connection.execute(text, values)

    def changed(self, query: str, values: Sequence[object] = ()) -> int:
        """Run a statement that changes rows; return how many it changed. Raises `apsw.Error`."""
        self.execute(query, values)
        return self._connection.changes()

    def write(self, query: str, values: Sequence[object] = ()) -> None:
        """Run a statement at once, since nothing is on its way. Raises `apsw.Error`."""
        self._connection.execute(of_file(query)[0], values)

    def write_all(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """Do `write` for each of some rows."""
        self._connection.executemany(of_file(query)[0], rows)

    def readable(self, columns: str) -> str:
        """See `sql.readable`."""
        return sql.readable(columns)

    def put_memory(self, sealed: Row, _reading: bytes = b"", /, *, new: bool = False) -> None:
        """Write a sealed row of `memory`, without a reading: no other daemon reads the file."""
        self.write(shared.ADD_MEMORY if new else shared.PUT_MEMORY, sealed)

    def sealed(self, row: Row) -> Row:
        """Return a row of `memory` as it is."""
        return row

    def stored_key(self, key: str) -> str:
        """Return a key of an external id as it is."""
        return key


@functools.lru_cache(maxsize=_KEPT)
def of_file(query: str) -> tuple[str, bool]:
    """Return a statement for a file of one collection, and whether lists are among its values.

    A list becomes one text of JSON.
    """
    if "$1" in query:
        for pattern, instead in _UID:
            query = pattern.sub(instead, query)
    query = re.sub(r"\$(\d+)", lambda found: f"?{int(found[1]) - 1}", query)
    for pattern, instead in _WORDS:
        query = pattern.sub(instead, query)
    query, count = _LIST.subn(_in_list, query)
    return query, count > 0


def _in_list(found: re.Match[str]) -> str:
    return f"{'IN' if found[1] == '=' else 'NOT IN'} (SELECT value FROM json_each({found[2]}))"
