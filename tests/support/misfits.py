"""Writes any value into any column of a table, past its types, its checksum and its indexes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

Key = dict[str, Any]


def tables_of(path: Path) -> dict[str, list[str]]:
    """The columns of each table of a file."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        names = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
            )
        ]
        return {
            name: [
                column
                for (column,) in connection.execute(f"SELECT name FROM pragma_table_info('{name}')")
            ]
            for name in names
        }
    finally:
        connection.close()


def put(path: Path, table: str, at: int, column: str, value: Any) -> bool:
    """Writes a value into the row of an ordinal number; False: it can hold no such value.

    SQLite's indexes stay as they were, as on a disk that flips a bit in the table alone.
    """
    connection = apsw.Connection(str(path))
    try:
        connection.pragma("writable_schema", True)
        (sql,) = (connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).get,)
        columns = list(
            connection.execute(f"SELECT name, type, pk FROM pragma_table_info('{table}')")
        )
        indexes = list(
            connection.execute(
                "SELECT rowid, type, name, tbl_name, rootpage, sql FROM sqlite_schema "
                "WHERE type = 'index' AND tbl_name = ?",
                (table,),
            )
        )
        keyed = "WITHOUT ROWID" in sql
        connection.execute(
            "DELETE FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?", (table,)
        )
        connection.execute(
            "UPDATE sqlite_schema SET sql = ? WHERE name = ?",
            (_loose(table, columns, keyed), table),
        )
    finally:
        connection.close()
    connection = apsw.Connection(str(path))
    try:
        done = _change(connection, table, at, column, value, columns, keyed)
        connection.pragma("writable_schema", True)
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, table))
        connection.executemany(
            "INSERT INTO sqlite_schema (rowid, type, name, tbl_name, rootpage, sql) "
            "VALUES (?,?,?,?,?,?)",
            indexes,
        )
    finally:
        connection.close()
    return done


def _loose(table: str, columns: list[tuple[str, str, int]], keyed: bool) -> str:
    """The table with the same layout on disk, that takes any value."""
    key = [name for name, _, pk in sorted(columns, key=lambda one: one[2]) if pk]
    if keyed:
        names = ", ".join(name for name, _, _ in columns)
        return f"CREATE TABLE {table} ({names}, PRIMARY KEY ({', '.join(key)})) WITHOUT ROWID"
    # A number that stands for the row's place in the tree is nothing but a number.
    numbered = [name for name, type_, pk in columns if pk and type_ == "INTEGER"]
    names = ", ".join(
        f"{name} INTEGER PRIMARY KEY" if numbered == [name] else name for name, _, _ in columns
    )
    return f"CREATE TABLE {table} ({names})"


def _change(
    connection: apsw.Connection,
    table: str,
    at: int,
    column: str,
    value: Any,
    columns: list[tuple[str, str, int]],
    keyed: bool,
) -> bool:
    key = [name for name, _, pk in columns if pk] if keyed else ["rowid"]
    found = connection.execute(
        f"SELECT {', '.join(key)} FROM {table} LIMIT 1 OFFSET ?", (at,)
    ).fetchone()
    where = " AND ".join(f"{name} IS ?" for name in key)
    # Text that is no UTF-8 is text all the same.
    given = "CAST(? AS TEXT)" if value == b"\xff\xfe" else "?"
    try:
        connection.execute(f"UPDATE {table} SET {column} = {given} WHERE {where}", (value, *found))
    except (apsw.ConstraintError, apsw.MismatchError):
        return False
    assert connection.changes() == 1
    return True
