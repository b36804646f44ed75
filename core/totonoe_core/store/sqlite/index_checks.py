"""Comparison of SQLite's indexes with their tables, a step at a time.

SQLite does not notice a damaged page of an index that still looks like one: a query over it
silently returns fewer rows. So every row must be found by each index that covers it, with its
values; every entry of an index must lead to a row with its values; and both must ascend. A step is
one statement, so that concurrent writers make no difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from totonoe_core.store import rows
from totonoe_core.store.sqlite import checks, sql
from totonoe_core.store.sqlite.checks import COLLECTION_KEYS, Key
from totonoe_core.store.sqlite.schema import COLLECTION_TABLES


@dataclass(frozen=True, slots=True)
class _Index:
    """An index: its columns, the row's key last, and the condition of the rows in it."""

    name: str
    columns: tuple[str, ...]
    where: str


@dataclass(frozen=True, slots=True)
class _Walk:
    """A pass over a table, or over one of its indexes, in the order of `key`.

    `select` returns the parts of `key`, then a value that is not 0 if table and index differ.
    """

    table: str
    columns: str
    key: tuple[str, ...]
    row_key: tuple[str, ...]
    select: str
    where: str

    def step(
        self, connection: apsw.Connection, after: Key | None, limit: int
    ) -> tuple[bool, Key | None]:
        """Return whether the next rows match, and the next key; `None` at the end or if lost."""
        sql, given = f"{self.select} WHERE {self.where}", ()
        if after is not None:
            sql += f" AND ({', '.join(self.key)}) > ({checks.marks(after)})"
            given = after
        sql += f" ORDER BY {', '.join(self.key)} LIMIT ?"
        try:
            found: list[rows.Row] = connection.execute(sql, (*given, limit)).fetchall()
            size = len(self.key)
            keys = [checks.key_of(row, size) for row in found]
            if not checks.ascends(after, keys):
                return False, None
            wrong = [key for key, row in zip(keys, found, strict=True) if any(row[2 * size :])]
            fits = all(self._is_bad(connection, key) for key in wrong)
        except apsw.CorruptError:
            return False, None
        return fits, keys[-1] if len(found) == limit and None not in keys[-1] else None

    def _is_bad(self, connection: apsw.Connection, key: Key) -> bool:
        """Return whether the row itself is damaged; then the index is not at fault."""
        row_key = tuple(key[self.key.index(column)] for column in self.row_key)
        row = connection.execute(
            f"SELECT {sql.readable(self.columns)} FROM {self.table} "
            f"WHERE ({', '.join(self.row_key)}) = ({checks.marks(row_key)})",
            row_key,
        ).fetchone()
        return row is not None and not rows.is_sound(row)


def _columns(model: apsw.Connection, table: str) -> str:
    sql = "SELECT group_concat(name, ', ') FROM pragma_table_info(?)"
    return str(model.execute(sql, (table,)).get)


def _sql(model: apsw.Connection, name: str) -> str:
    return str(model.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).get or "")


def _indexes(model: apsw.Connection, table: str, row_key: tuple[str, ...]) -> list[_Index]:
    """Return the indexes of a table, without the tree that is the table itself."""
    found = []
    for name, origin in model.execute(
        "SELECT name, origin FROM pragma_index_list(?)", (table,)
    ).fetchall():
        if origin == "pk" and row_key != ("rowid",):
            continue
        named = model.execute(
            "SELECT name FROM pragma_index_xinfo(?) WHERE key = 1 AND name IS NOT NULL", (name,)
        )
        columns = [str(column) for (column,) in named]
        columns += [column for column in row_key if column not in columns]
        where = _sql(model, str(name)).partition(" WHERE ")[2].strip()
        found.append(_Index(str(name), tuple(columns), where or "true"))
    return found


def _equal(one: str, other: str, columns: Sequence[str]) -> str:
    return " AND ".join(f"{one}.{column} IS {other}.{column}" for column in columns)


def _walks_of(model: apsw.Connection, table: str, row_key: tuple[str, ...]) -> list[_Walk]:
    """Return the passes over a table with indexes, and over each of these."""
    indexes, columns = _indexes(model, table, row_key), _columns(model, table)
    if not indexes:
        return []
    # The table in the order of its own tree, with which its indexes are compared.
    keyed = "WITHOUT ROWID" in _sql(model, table)
    itself = f"INDEXED BY sqlite_autoindex_{table}_1" if keyed else "NOT INDEXED"
    missing = ", ".join(
        f"({index.where}) AND NOT EXISTS (SELECT 1 FROM {table} i INDEXED BY {index.name} "
        f"WHERE {index.where} AND {_equal('i', 'o', index.columns)})"
        for index in indexes
    )
    select = f"SELECT {checks.typed(row_key)}, {missing} FROM {table} o {itself}"
    walks = [_Walk(table, columns, row_key, row_key, select, "true")]
    for index in indexes:
        lost = (
            f"NOT EXISTS (SELECT 1 FROM {table} o {itself} "
            f"WHERE {index.where} AND {_equal('o', 'i', index.columns)})"
        )
        select = (
            f"SELECT {checks.typed(index.columns)}, {lost} FROM {table} i INDEXED BY {index.name}"
        )
        walks.append(_Walk(table, columns, index.columns, row_key, select, index.where))
    return walks


def _every_walk() -> tuple[_Walk, ...]:
    # The schema of an empty file in today's format, since that of a damaged file is not trusted.
    model = apsw.Connection(":memory:")
    try:
        model.execute(COLLECTION_TABLES)
        return tuple(
            walk
            for table, row_key in COLLECTION_KEYS.items()
            for walk in _walks_of(model, table, row_key)
        )
    finally:
        model.close()


_WALKS = _every_walk()


class Comparison:
    """One pass over the indexes of all tables of a collection's file."""

    def __init__(self) -> None:
        self._walks = list(_WALKS)
        self._after: Key | None = None

    def step(self, connection: apsw.Connection, limit: int) -> str:
        """Compare the next rows or entries; return the table whose indexes differ, if any.

        The rest of such a table is skipped.
        """
        if not self._walks:
            return ""
        walk = self._walks[0]
        fits, self._after = walk.step(connection, self._after, limit)
        if not fits:
            self._after = None
            self._walks = [other for other in self._walks if other.table != walk.table]
            return walk.table
        if self._after is None:
            del self._walks[0]
        return ""

    def give_up(self) -> None:
        """Skip everything that is left."""
        self._walks = []

    @property
    def ended(self) -> bool:
        """Return whether everything was compared."""
        return not self._walks
