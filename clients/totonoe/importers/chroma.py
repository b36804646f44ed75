"""Folders of Chroma, read from their `chroma.sqlite3` without Chroma.

Documents and metadata stand in one table, a row for each field. Writes that Chroma has queued and
not applied yet are not in it; such a folder is refused, so that nothing is lost unseen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from totonoe.importers import databases
from totonoe.importers.records import RECORD_BYTES_MAX

FILE = "chroma.sqlite3"
DOCUMENT = "chroma:document"
"""The field that holds the text."""
MIGRATIONS_MAX = {"sysdb": 10, "metadb": 6, "embeddings_queue": 2}
"""Migrations of chromadb 1.5.9; a database of a later one may mean something else."""


def holds(path: Path, collection: str) -> bool:
    """Return true if a file is a database of Chroma that has the collection."""
    if not databases.is_database(path):
        return False
    try:
        with databases.opened(path) as database:
            if not {"id", "name"} <= databases.columns(database, "collections"):
                return False
            query = "SELECT count(*) FROM collections WHERE name = ?"
            return bool(database.execute(query, (collection,)).fetchone()[0])
    except ValueError:
        return False


def check(database: sqlite3.Connection, path: Path) -> None:
    """Raise `ValueError` if the schema is not one that is known."""
    databases.require(database, path, "migrations", ("dir", "version"))
    for name, version in database.execute("SELECT dir, max(version) FROM migrations GROUP BY dir"):
        known = MIGRATIONS_MAX.get(name, 0)
        if version > known:
            got = f"got {name} {version}, allowed: up to {known}"
            raise ValueError(f"{path}: unknown schema version: {got}")
    databases.require(database, path, "segments", ("id", "scope", "collection"))
    databases.require(database, path, "embeddings", ("id", "segment_id", "embedding_id"))
    databases.require(
        database,
        path,
        "embedding_metadata",
        ("id", "key", "string_value", "int_value", "float_value", "bool_value"),
    )


def documents(
    database: sqlite3.Connection, path: Path, collection: str
) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """Yield place, id and fields of a collection's documents; `None` for fields over the limit."""
    for segment, collection_id in database.execute(
        "SELECT segments.id, collections.id FROM segments JOIN collections"
        " ON segments.collection = collections.id"
        " WHERE collections.name = ? AND segments.scope = 'METADATA' ORDER BY segments.id",
        (collection,),
    ).fetchall():
        _check_queue(database, path, segment, collection_id)
        rows = database.execute(
            "SELECT id, embedding_id FROM embeddings WHERE segment_id = ? ORDER BY id", (segment,)
        )
        for row in rows:
            yield (
                f"{collection} {row['embedding_id']}",
                row["embedding_id"],
                _fields(database, row["id"]),
            )


def _fields(database: sqlite3.Connection, row: int) -> dict[str, Any] | None:
    size_bytes = database.execute(
        "SELECT ifnull(sum(length(CAST(string_value AS BLOB))), 0) FROM embedding_metadata"
        " WHERE id = ?",
        (row,),
    ).fetchone()[0]
    if size_bytes > RECORD_BYTES_MAX:
        return None
    found = {}
    for key, text, whole, number, truth in database.execute(
        "SELECT key, string_value, int_value, float_value, bool_value FROM embedding_metadata"
        " WHERE id = ?",
        (row,),
    ):
        values = (text, whole, number, None if truth is None else bool(truth))
        found[key] = next((value for value in values if value is not None), None)
    return found


def _check_queue(
    database: sqlite3.Connection, path: Path, segment: str, collection_id: str
) -> None:
    """Raise `ValueError` if Chroma has writes that are not in its tables yet."""
    if not databases.columns(database, "embeddings_queue"):
        return
    row = database.execute(
        "SELECT seq_id FROM max_seq_id WHERE segment_id = ?", (segment,)
    ).fetchone()
    applied = row[0] if row else 0
    if isinstance(applied, bytes):  # before migration 5 of metadb
        applied = int.from_bytes(applied, "big")
    waiting = database.execute(
        "SELECT count(*) FROM embeddings_queue WHERE seq_id > ? AND topic LIKE '%/' || ?",
        (applied, collection_id),
    ).fetchone()[0]
    if waiting:
        advice = "start its program once, let it recall something, and import again"
        raise ValueError(f"{path}: Chroma has {waiting} writes that it has not applied: {advice}")
