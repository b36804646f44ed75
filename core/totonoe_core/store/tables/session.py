"""The connection that the modules of this package speak through, as each store brings it.

SQL is written once, in the words of PostgreSQL: `?` are its values, `$1` is the uid of the
collection, by which each key begins, and `$2` and more are values that stand in it several times.
A store with one file for each collection has no such column, and translates
(`store/sqlite/session.py`). What only SQLite's planner needs stands in `/*! */`, a comment to
everybody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from totonoe_core.store.rows import Row


class ResultSet(Protocol):
    """The rows that a statement found."""

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows that were not read yet."""

    def fetchall(self) -> list[Row]:
        """Return every row."""

    def fetchone(self) -> Row | None:
        """Return the first row; `None` if there is none."""

    @property
    def get(self) -> Any:
        """The value of the only row, or all its values if there are several; `None` for none."""


class Session(Protocol):
    """A connection for one collection. Used by one thread at a time."""

    def execute(self, query: str, values: Sequence[object] = ()) -> ResultSet:
        """Run a statement. A list among its values is one value, for `= ANY(?)`."""

    def changed(self, query: str, values: Sequence[object] = ()) -> int:
        """Run a statement that changes rows; return how many it changed."""

    def write(self, query: str, values: Sequence[object] = ()) -> None:
        """Run a statement whose answer nobody needs, at the latest with the next `execute`."""

    def write_all(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """Do `write` for each of some rows."""

    def readable(self, columns: str) -> str:
        """Return SELECT columns that can be read whatever is stored; texts may come as bytes."""

    def put_memory(self, sealed: Row, reading: bytes = b"", /, *, new: bool = False) -> None:
        """Do `write` for a sealed row of `memory`, with what was read from its text.

        A store of one daemon keeps no reading.
        """

    def sealed(self, row: Row) -> Row:
        """Return the sealed row of a row of `memory` as the table holds it."""

    def stored_key(self, key: str) -> object:
        """Return a key of an external id as the table holds it."""
