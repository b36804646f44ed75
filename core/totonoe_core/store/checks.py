"""Looking at every row of a file, a step at a time, and at what SQLite makes of it.

Columns of text are read as bytes, whose crc is the same: nothing has to be decoded to be checked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from totonoe_core import limits
from totonoe_core.store import rows
from totonoe_core.store.schema import open_reader

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
"""Every table of a collection's file, with the columns that its rows are in order of."""
CATALOG_KEYS = {"collection": ("uid",), "operation": ("revision",)}

_OF_INDEXES = (" missing from index ", "wrong # of entries in index ", " values differ from index ")
_PROGRESS_STEPS = 20_000  # of SQLite's machine: some 5 ms


@dataclass(frozen=True, slots=True)
class Looked:
    """A step over a table: the keys of its rows, which of them are bad, where the next begins.

    `last` is `None` at the end; `damaged` says that the rest cannot be read at all.
    """

    keys: tuple[Key, ...]
    bad: tuple[Key, ...]
    last: Key | None
    damaged: bool = False


class Table:
    """One table, looked at in the order of its key."""

    def __init__(self, connection: apsw.Connection, name: str, key: Sequence[str]) -> None:
        self._connection = connection
        columns = list(connection.execute(f"SELECT name, type FROM pragma_table_info('{name}')"))
        texts = {column for column, type_ in columns if type_ == "TEXT"}
        read = ", ".join(_read(column, texts) for column, _ in columns)
        self._key_size = len(key)
        self._keys = ", ".join(_read(one, texts) for one in key)
        self._from = f" FROM {name}"
        marks = ", ".join("CAST(? AS TEXT)" if one in texts else "?" for one in key)
        self._after = f" WHERE ({', '.join(key)}) > ({marks})"
        self._order = f" ORDER BY {', '.join(key)} LIMIT ?"
        self._read = f"SELECT {self._keys}, {read}"

    def step(self, after: Key | None, limit: int) -> Looked:
        """Looks at the next rows after a key; `None`: from the first one."""
        where = "" if after is None else self._after
        sql, given = self._from + where + self._order, () if after is None else after
        try:
            found = self._connection.execute(self._read + sql, (*given, limit)).fetchall()
        except apsw.CorruptError:
            # One at a time, to get past one of which not even the columns can be made out.
            return self._one(sql, given) if limit == 1 else self.step(after, 1)
        keys = tuple(row[: self._key_size] for row in found)
        bad = [
            key
            for key, row in zip(keys, found, strict=True)
            if not rows.is_sound(row[self._key_size :])
        ]
        return Looked(keys, tuple(bad), keys[-1] if len(found) == limit else None)

    def _one(self, sql: str, given: Key) -> Looked:
        key: Key | None = None
        with contextlib.suppress(apsw.CorruptError):
            key = self._connection.execute(f"SELECT {self._keys}" + sql, (*given, 1)).fetchone()
        if key is None:
            return Looked((), (), None, damaged=True)
        return Looked((key,), (key,), key)


def has_crc(connection: apsw.Connection, table: str) -> bool:
    """Whether there is such a table, whose rows are sealed."""
    sql = f"SELECT count(*) FROM pragma_table_info('{table}') WHERE name = 'crc'"
    return bool(connection.execute(sql).get)


def bad_name(key: Key) -> str:
    """A key as bad rows are counted by; nothing of it is text of a memory."""
    parts = (part.decode(errors="replace") if isinstance(part, bytes) else part for part in key)
    return rows.bad_key(list(parts))


def every_bad(
    connection: apsw.Connection, keys: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, int, list[Key], bool]]:
    """(table, rows, keys of bad ones, damaged) of each table, at once."""
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
    """What SQLite's own check finds in the file, at most VERIFY_DAMAGE_MAX; none: it is sound.

    `go_on` is called every few milliseconds and may rest. Raises `apsw.InterruptError` where it
    says no.
    """
    if go_on is not None:
        connection.set_progress_handler(lambda: not go_on(), _PROGRESS_STEPS)
    try:
        found = connection.execute(f"PRAGMA integrity_check({limits.VERIFY_DAMAGE_MAX})")
        lines = [str(line) for (line,) in found]
    except apsw.CorruptError as error:
        lines = [str(error)]
    finally:
        connection.set_progress_handler(None)
    return [] if lines == ["ok"] else lines


def damage_of(path: Path, go_on: Callable[[], bool]) -> list[str] | None:
    """The same of a collection's file, on a connection of its own; `None`: `go_on` said no.

    Raises `Corruption` for what is no database any more.
    """
    connection = open_reader(path)
    try:
        return damage(connection, go_on)
    except apsw.InterruptError:
        return None
    finally:
        connection.close()


def of_indexes_alone(lines: Sequence[str]) -> bool:
    """Whether all that was found is mended by making SQLite's indexes anew from the rows."""
    return bool(lines) and all(any(part in line for part in _OF_INDEXES) for line in lines)


def _read(column: str, texts: set[str]) -> str:
    return f"CAST({column} AS BLOB)" if column in texts else column
