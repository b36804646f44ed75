"""SQL that several modules of this store share; `$1` is the uid of the collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from totonoe_core.store.rows import MEMORY_COLUMNS, Row

_COLUMNS = MEMORY_COLUMNS.split(", ")
_EXTERNAL_ID = _COLUMNS.index("external_id")


def upsert(table: str, columns: str, key: str) -> str:
    """Return a statement that inserts a row, or replaces the one with the same key."""
    names = columns.split(", ")
    changed = [name for name in names if name not in key.split(", ")]
    return (
        f"INSERT INTO {table} (uid, {columns}) VALUES ($1{', ?' * len(names)}) "
        f"ON CONFLICT (uid, {key}) DO UPDATE SET "
        + ", ".join(f"{name} = excluded.{name}" for name in changed)
    )


PUT_MEMORY = upsert("memory", MEMORY_COLUMNS, "row")
PUT_SETTING = upsert("setting", "key, value, crc", "key")


def stored(row: Row) -> Row:
    """Return a sealed row of `memory` as the table holds it: keys of external ids are bytes."""
    key = row[_EXTERNAL_ID]
    return _exchanged(row, None if key is None else key.encode())


def read(row: Sequence[Any]) -> Row:
    """Return the sealed row of a row of `memory` as the table holds it."""
    key = row[_EXTERNAL_ID]
    return _exchanged(row, None if key is None else key.decode(errors="replace"))


def _exchanged(row: Sequence[Any], key: object) -> Row:
    return (*row[:_EXTERNAL_ID], key, *row[_EXTERNAL_ID + 1 :])
