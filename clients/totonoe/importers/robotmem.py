"""Memories of robotmem: its SQLite database.

Facts become states, perceptions become events. Ids are numbers of the row; the ids of two databases
are the same, so two databases belong into two collections.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from totonoe.importers import databases
from totonoe.importers.records import (
    ENTITIES_MAX,
    TAGS_MAX,
    Fields,
    Item,
    ReadOptions,
    Reason,
    Skipped,
    Source,
    record,
)

_FILE = "memory.db"
_PLAIN = (
    "id, session_id, collection, type, perception_type, category, confidence, decay_rate, source, "
    "scope, status, created_at"
)
_BOUNDED = (
    "content",
    "context",
    "perception_data",
    "perception_metadata",
    "scope_files",
    "scope_entities",
)
_STATUSES = {"invalidated": Reason.DELETED, "superseded": Reason.SUPERSEDED}


def _database(path: Path) -> Path:
    return path / _FILE if path.is_dir() else path


def _fits(path: Path) -> bool:
    path = _database(path)
    if not databases.is_database(path):
        return False
    try:
        with databases.opened(path) as database:
            return {"perception_type", "decay_rate"} <= databases.columns(database, "memories")
    except ValueError:
        return False


def _read(path: Path, _: ReadOptions) -> Iterator[Item]:
    path = _database(path)
    with databases.opened(path) as database:
        databases.require(database, path, "memories", [*_PLAIN.split(", "), *_BOUNDED])
        databases.require(database, path, "memory_tags", ("memory_id", "tag"))
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version:
            raise ValueError(f"{path}: unknown schema version: got {version}, allowed: 0")
        yield from _rows(database)


def _rows(database: sqlite3.Connection) -> Iterator[Item]:
    columns = ", ".join(map(databases.bounded, _BOUNDED))
    for row in database.execute(f"SELECT {_PLAIN}, {columns} FROM memories ORDER BY id"):
        where = f"memories row {row['id']}"
        if row["status"] != "active":
            reason = _STATUSES.get(row["status"], Reason.DELETED)
            yield Skipped(where, reason, f"status {row['status']}")
        elif row["content_over"]:
            yield Skipped(where, Reason.TOO_LONG)
        else:
            yield _memory(database, row, where)


def _memory(database: sqlite3.Connection, row: sqlite3.Row, where: str) -> Item:
    fields = Fields([name for name in _BOUNDED if row[f"{name}_over"]])
    tags = [
        tag
        for (tag,) in database.execute(
            "SELECT tag FROM memory_tags WHERE memory_id = ? ORDER BY tag LIMIT ?",
            (row["id"], TAGS_MAX + 1),
        )
    ]
    is_perception = row["type"] == "perception"
    attributes = {
        "robotmem_collection": row["collection"] if row["collection"] != "default" else None,
        "context": _parsed(row["context"]),
        "scope": row["scope"] if row["scope"] != "project" else None,
        "scope_files": _parsed(row["scope_files"]),
        "decay_rate": row["decay_rate"] if row["decay_rate"] != 0.01 else None,
        "perception_data": _parsed(row["perception_data"]),
        "perception_metadata": _parsed(row["perception_metadata"]),
    }
    fields.left_out += [name for name in _BOUNDED if isinstance(row[name], bytes)]
    entities = _parsed(row["scope_entities"])
    return record(
        str(row["id"]),
        where,
        row["content"],
        fields,
        kind="event" if is_perception else None,
        source="tool" if is_perception else None,
        perception_type=fields.label("perception_type", row["perception_type"]),
        category=fields.label("category", row["category"]),
        confidence=fields.number("confidence", row["confidence"], 0, 1),
        session_id=fields.label("session_id", row["session_id"]),
        created_time=fields.moment("created_at", row["created_at"]),
        tags=fields.labels("tags", tags, TAGS_MAX),
        entities=fields.labels("scope_entities", entities, ENTITIES_MAX),
        attributes=fields.attributes(attributes),
    )


def _parsed(value: Any) -> Any:
    """Return the JSON that a column holds, or its text; `None` for bytes, which have no room."""
    if isinstance(value, bytes):
        return None
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


SOURCE = Source(
    "robotmem", f"{_FILE} or another SQLite file with its table `memories`", _fits, _read
)
