"""Memories of ego-mcp: a folder of Chroma, read from its `chroma.sqlite3` without Chroma.

Documents and metadata stand in one table, a row for each field. Writes that Chroma has queued and
not applied yet are not in it; such a folder is refused, so that nothing is lost unseen.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from totonoe.enums import LinkType
from totonoe.importers import databases
from totonoe.importers.records import (
    ENTITIES_MAX,
    RECORD_BYTES_MAX,
    TAGS_MAX,
    Edge,
    Episode,
    Fields,
    Item,
    ReadOptions,
    Reason,
    Skipped,
    Source,
    moment_of,
    record,
)

_FILE = "chroma.sqlite3"
_MEMORIES, _EPISODES = "ego_memories", "ego_episodes"
_DOCUMENT = "chroma:document"
MIGRATIONS_MAX = {"sysdb": 10, "metadb": 6, "embeddings_queue": 2}
"""Migrations of chromadb 1.5.9; a database of a later one may mean something else."""
_LINKS_MAX = 256
_LINK_TYPES = {
    "similar": LinkType.RELATED,
    "related": LinkType.RELATED,
    "caused_by": LinkType.CAUSED_BY,
    "leads_to": LinkType.CAUSES,
}
_AS_ATTRIBUTES = (
    "secondary",
    "intensity",
    "valence",
    "arousal",
    "body_state",
    "anticipated_at",
    "anticipation_surfaced",
)


def _database(path: Path) -> Path:
    if path.is_dir():
        inner = path / "chroma" / _FILE
        return inner if inner.is_file() else path / _FILE
    return path


def _fits(path: Path) -> bool:
    path = _database(path)
    if not databases.is_database(path):
        return False
    try:
        with databases.opened(path) as database:
            if not {"id", "name"} <= databases.columns(database, "collections"):
                return False
            query = "SELECT count(*) FROM collections WHERE name = ?"
            return bool(database.execute(query, (_MEMORIES,)).fetchone()[0])
    except ValueError:
        return False


def _read(path: Path, _: ReadOptions) -> Iterator[Item]:
    path = _database(path)
    with databases.opened(path) as database:
        _check(database, path)
        for where, embedding_id, fields in _documents(database, path, _MEMORIES):
            yield from _memory(where, embedding_id, fields)
        for where, _id, fields in _documents(database, path, _EPISODES):
            yield _episode(where, fields)


def _check(database: sqlite3.Connection, path: Path) -> None:
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


def _documents(
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


def _memory(where: str, memory_id: str, values: dict[str, Any] | None) -> Iterator[Item]:
    if values is None:
        yield Skipped(where, Reason.TOO_LARGE)
        return
    fields = Fields()
    persons = _split(values.get("involved_person_ids"))
    private = values.get("is_private") in (True, 1, "1", "true", "True")
    attributes = {name: values.get(name) for name in _AS_ATTRIBUTES}
    attributes["body_state"] = fields.object("body_state", values.get("body_state"))
    if not values.get("anticipation_surfaced"):
        attributes["anticipation_surfaced"] = None
    found = record(
        memory_id,
        where,
        values.get(_DOCUMENT),
        fields,
        category=fields.label("category", values.get("category")),
        tags=fields.labels("tags", _split(values.get("tags")), TAGS_MAX),
        importance=fields.number("importance", values.get("importance"), 1, 5),
        emotion=fields.label("emotion", values.get("emotion")),
        entities=fields.labels("involved_person_ids", persons, ENTITIES_MAX),
        created_time=fields.moment("timestamp", values.get("timestamp")),
        private=private or None,
        attributes=fields.attributes(attributes),
    )
    yield found
    if not isinstance(found, Skipped):
        yield from _edges(memory_id, values.get("linked_ids"))


def _split(text: Any) -> list[str]:
    return [part for part in text.split(",") if part] if isinstance(text, str) else []


def _edges(memory_id: str, text: Any) -> Iterator[Item]:
    for link in _list(text)[:_LINKS_MAX]:
        if isinstance(link, dict) and isinstance(link.get("target_id"), str):
            word = str(link.get("link_type"))
            note = str(link.get("note") or "") or ("similar" if word == "similar" else "")
            confidence = Fields().number("confidence", link.get("confidence"), 0, 1)
            kind = _LINK_TYPES.get(word, LinkType.RELATED)
            yield Edge(memory_id, link["target_id"], kind, confidence, note)


def _list(text: Any) -> list[Any]:
    try:
        found = json.loads(text) if isinstance(text, str) and text else []
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _episode(where: str, values: dict[str, Any] | None) -> Item:
    summary = None if values is None else values.get(_DOCUMENT)
    if values is None or not isinstance(summary, str) or not summary.strip():
        return Skipped(where, Reason.NO_TEXT if values is not None else Reason.TOO_LARGE)
    ids = tuple(item for item in _list(values.get("memory_ids")) if isinstance(item, str))
    return Episode(
        where,
        summary,
        ids,
        moment_of(values.get("start_time")),
        moment_of(values.get("end_time")),
        Fields().number("importance", values.get("importance"), 1, 5),
    )


SOURCE = Source(
    "ego-mcp",
    f"a Chroma folder ({_FILE}, or chroma/{_FILE}) with the collection `{_MEMORIES}`",
    _fits,
    _read,
)
