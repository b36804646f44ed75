"""Checks of every row of a file, a step at a time, and SQLite's own check of the file.

Text is read as bytes, whose crc is the same: nothing has to be decoded to be checked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw

from totonoe_core.base import limits
from totonoe_core.store import rows
from totonoe_core.store.sqlite import sql
from totonoe_core.store.sqlite.schema import open_reader

Key = tuple[Any, ...]

COLLECTION_KEYS = {
    "memory": ("row",),
    "link": ("source", "target", "type"),
    "access": ("row",),
    "recall_event": ("number",),
    "coactivation": ("low", "high"),
    "operation": ("revision",),
    "episode": ("id",),
    "dismissal": ("a", "b"),
    "image": ("revision", "entity", "key"),
    "reply": ("rowid",),
    "embedding": ("row",),
    "setting": ("key",),
}
"""Every table of a collection's file, with the columns of its key."""
CATALOG_KEYS = {"collection": ("uid",), "operation": ("revision",)}

_OF_INDEXES = (" missing from index ", "wrong # of entries in index ", " values differ from index ")
_PROGRESS_STEPS = 20_000  # of SQLite's machine: some 5 ms


@dataclass(frozen=True, slots=True)
class TableStep:
    """A step over a table: keys of its rows, the bad ones, and where the next step begins.

    `last` is `None` at the end; `damaged` is true if the rest cannot be read at all.
    """

    keys: tuple[Key, ...]
    bad: tuple[Key, ...]
    last: Key | None
    damaged: bool = False


class Text(bytes):
    """A text part of a key, as its bytes."""


def typed(key: Sequence[str]) -> str:
    """Return SELECT columns for a key: for each part whether it is text, and its value."""
    return ", ".join(f"typeof({column}) = 'text', {sql.readable(column)}" for column in key)


def key_of(row: rows.Row, size: int) -> Key:
    """Return the key of a row that begins with `typed` columns."""
    parts = zip(row[: 2 * size : 2], row[1 : 2 * size : 2], strict=True)
    return tuple(Text(part) if is_text else part for is_text, part in parts)


def marks(key: Key) -> str:
    """Return the placeholders for a key in SQL."""
    return ", ".join("CAST(? AS TEXT)" if isinstance(column, Text) else "?" for column in key)


def ascends(after: Key | None, keys: Sequence[Key]) -> bool:
    """Return whether keys ascend, starting after another key. Otherwise a pass might never end."""
    orders = [() if after is None else _order(after), *map(_order, keys)]
    return all(first < other for first, other in pairwise(orders))


def _order(key: Key) -> tuple[Any, ...]:
    """Return a key for sorting as SQLite does: absent values, numbers, text, bytes."""
    return tuple(
        (0, 0)
        if part is None
        else (1, part)
        if isinstance(part, int | float)
        else (2 if isinstance(part, Text) else 3, part)
        for part in key
    )


class Table:
    """One table, checked in the order of its key."""

    def __init__(self, connection: apsw.Connection, name: str, key: Sequence[str]) -> None:
        self._connection = connection
        columns = [
            column
            for (column,) in connection.execute(f"SELECT name FROM pragma_table_info('{name}')")
        ]
        self._key = ", ".join(key)
        self._key_size = len(key)
        self._keys = typed(key)
        self._from = f" FROM {name}"
        self._order = f" ORDER BY {self._key} LIMIT ?"
        self._read = f"SELECT {self._keys}, {sql.readable(', '.join(columns))}"

    def step(self, after: Key | None, limit: int) -> TableStep:
        """Check the next rows after a key; `None` starts at the first row."""
        sql, given = self._from + self._order, ()
        if after is not None:
            sql = f"{self._from} WHERE ({self._key}) > ({marks(after)}){self._order}"
            given = after
        try:
            found = self._connection.execute(self._read + sql, (*given, limit)).fetchall()
        except apsw.CorruptError:
            # One at a time, to get past a row whose columns cannot be told apart.
            return self._one(after, sql, given) if limit == 1 else self.step(after, 1)
        keys = [key_of(row, self._key_size) for row in found]
        bad = [
            key
            for key, row in zip(keys, found, strict=True)
            if not rows.is_sound(row[2 * self._key_size :])
        ]
        return _looked(after, keys, bad, ended=len(found) < limit)

    def _one(self, after: Key | None, sql: str, given: Key) -> TableStep:
        row: rows.Row | None = None
        with contextlib.suppress(apsw.CorruptError):
            row = self._connection.execute(f"SELECT {self._keys}" + sql, (*given, 1)).fetchone()
        if row is None:
            return TableStep((), (), None, damaged=True)
        key = key_of(row, self._key_size)
        return _looked(after, [key], [key], ended=False)


def _looked(
    after: Key | None, keys: Sequence[Key], bad: Sequence[Key], *, ended: bool
) -> TableStep:
    # No row compares as later than an absent key.
    lost = not ascends(after, keys) or (not ended and None in keys[-1])
    return TableStep(tuple(keys), tuple(bad), None if ended or lost else keys[-1], damaged=lost)


def has_crc(connection: apsw.Connection, table: str) -> bool:
    """Return whether there is such a table and its rows have a crc."""
    sql = f"SELECT count(*) FROM pragma_table_info('{table}') WHERE name = 'crc'"
    return bool(connection.execute(sql).get)


def bad_name(key: Key) -> str:
    """Return a bad row's key for counting, without any text of a memory."""
    parts = (part.decode(errors="replace") if isinstance(part, bytes) else part for part in key)
    return rows.bad_key(list(parts))


def every_bad(
    connection: apsw.Connection, keys: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, int, list[Key], bool]]:
    """Yield (table, rows, keys of bad ones, damaged) for each table, each in one step."""
    for name, key in keys.items():
        if not has_crc(connection, name):
            continue  # in an earlier format
        table, after, count = Table(connection, name, key), None, 0
        bad: list[Key] = []
        while True:
            looked = table.step(after, limits.VERIFY_STEP_ROWS)
            count, after = count + len(looked.keys), looked.last
            bad += looked.bad
            if after is None:
                break
        yield name, count, bad, looked.damaged


def damage(connection: apsw.Connection, go_on: Callable[[], bool] | None = None) -> list[str]:
    """Return the findings of SQLite's own check, at most VERIFY_DAMAGE_MAX; empty if it is sound.

    `go_on` is called every few milliseconds and may sleep. Raises `apsw.InterruptError` if it
    returns false.
    """
    if go_on is not None:
        connection.set_progress_handler(lambda: not go_on(), _PROGRESS_STEPS)
    try:
        cursor = connection.execute(f"PRAGMA integrity_check({limits.VERIFY_DAMAGE_MAX})")
        lines = [str(line) for (line,) in cursor]
    except apsw.CorruptError as error:
        lines = [str(error)]
    finally:
        connection.set_progress_handler(None)
    return [] if lines == ["ok"] else lines


def damage_of(path: Path, go_on: Callable[[], bool]) -> list[str] | None:
    """Run `damage` on a connection of its own; return `None` if `go_on` returned false.

    Raises `Corruption` if the file is no database any more.
    """
    connection = open_reader(path)
    try:
        return damage(connection, go_on)
    except apsw.InterruptError:
        return None
    finally:
        connection.close()


def of_indexes_alone(lines: Sequence[str]) -> bool:
    """Return whether rebuilding SQLite's indexes from the rows repairs every finding."""
    return bool(lines) and all(any(part in line for part in _OF_INDEXES) for line in lines)
