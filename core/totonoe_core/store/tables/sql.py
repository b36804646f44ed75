"""SQL that several modules of this package share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from totonoe_core.store.rows import DISMISSAL_COLUMNS, MEMORY_COLUMNS

T = TypeVar("T")

AT_ONCE: Final = 500
"""Rows that one statement asks for by their numbers."""
EVERY: Final = 2**62
"""LIMIT of a statement that finds all."""
LINK_COLUMNS: Final = "source, target, type, confidence, note, revision, crc"
OPERATION_COLUMNS: Final = (
    "revision, operation_id, agent_id, kind, reason, touched, time_us, undoes, crc"
)
IMAGE_COLUMNS: Final = "revision, entity, key, before, vector, crc"
REPLY_COLUMNS: Final = "agent_id, operation_id, digest, answer, time_us, crc"
SAME_TEXTS: Final = (
    "JOIN memory ma ON ma.uid = $1 AND ma.row = d.a AND ma.content_hash = d.hash_a "
    "JOIN memory mb ON mb.uid = $1 AND mb.row = d.b AND mb.content_hash = d.hash_b "
)
"""Behind `dismissal d`: those that count for the present texts."""
DISMISSED: Final = (
    ", ".join("d." + name for name in DISMISSAL_COLUMNS.split(", "))
    + " FROM dismissal d "
    + SAME_TEXTS
)


def insert(table: str, columns: str) -> str:
    """Return a statement that inserts a row."""
    marks = ", ?" * len(columns.split(", "))
    return f"INSERT INTO {table} (uid, {columns}) VALUES ($1{marks})"


def upsert(table: str, columns: str, key: str, kept: str = "") -> str:
    """Return a statement that inserts a row, or changes the one with the same key but for `kept`.

    Not by deleting that first, as OR REPLACE of SQLite does: it would delete every other row too
    that has the same value in a unique column.
    """
    same = {*key.split(", "), *kept.split(", ")}
    changed = (f"{name} = excluded.{name}" for name in columns.split(", ") if name not in same)
    return f"{insert(table, columns)} ON CONFLICT (uid, {key}) DO UPDATE SET {', '.join(changed)}"


ADD_MEMORY: Final = insert("memory", MEMORY_COLUMNS)
PUT_MEMORY: Final = upsert("memory", MEMORY_COLUMNS, "row", "id")
PUT_SETTING: Final = upsert("setting", "key, value, crc", "key")


def parts(values: Sequence[T]) -> Iterator[list[T]]:
    """Yield values in lists that are short enough for one statement."""
    for start in range(0, len(values), AT_ONCE):
        yield list(values[start : start + AT_ONCE])
