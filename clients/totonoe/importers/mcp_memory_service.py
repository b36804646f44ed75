"""Memories of mcp-memory-service: its SQLite database, and the JSON file that it exports.

Vectors are left out: the daemon makes its own. Associations (`memory_graph`) become links.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from totonoe.enums import LinkType
from totonoe.importers import databases, json_files
from totonoe.importers.records import (
    TAGS_MAX,
    Edge,
    Fields,
    Item,
    ReadOptions,
    Reason,
    Skipped,
    Source,
    record,
)

_FILE = "sqlite_vec.db"
SCHEMA_VERSION_MAX = 19
"""Schema of release 12.2.0; a database of a later one may mean something else."""
EXPORTER_VERSION = 5
_COLUMNS = ("content_hash", "content", "tags", "memory_type", "metadata", "created_at")
_LINK_TYPES = {
    "related": LinkType.RELATED,
    "contradicts": LinkType.CONTRADICTS,
    "causes": LinkType.CAUSES,
}


def _database(path: Path) -> Path:
    return path / _FILE if path.is_dir() else path


def _fits(path: Path) -> bool:
    path = _database(path)
    if databases.is_database(path):
        try:
            with databases.opened(path) as database:
                return {"content_hash", "memory_type"} <= databases.columns(database, "memories")
        except ValueError:
            return False
    return path.is_file() and '"export_metadata"' in json_files.head(path)


def _read(path: Path, _: ReadOptions) -> Iterator[Item]:
    path = _database(path)
    if not path.exists():
        raise ValueError(f"{path}: No such file or directory")
    if json_files.head(path).lstrip()[:1] == "{":
        yield from _export(path)
        return
    with databases.opened(path) as database:
        databases.require(database, path, "memories", _COLUMNS)
        _check_version(database, path)
        yield from _rows(database)
        if databases.columns(database, "memory_graph"):
            yield from _graph(database)


def _check_version(database: sqlite3.Connection, path: Path) -> None:
    if not databases.columns(database, "metadata"):
        return
    row = database.execute("SELECT value FROM metadata WHERE key = 'schema_version'").fetchone()
    version = row[0] if row else "0"
    if not str(version).isdecimal() or int(version) > SCHEMA_VERSION_MAX:
        allowed = f"allowed: up to {SCHEMA_VERSION_MAX}; import its JSON export instead"
        raise ValueError(f"{path}: unknown schema version: got {version!r}, {allowed}")


def _rows(database: sqlite3.Connection) -> Iterator[Item]:
    have = databases.columns(database, "memories")
    optional = [name for name in ("deleted_at", "superseded_by", "store") if name in have]
    columns = ["id", "content_hash", "created_at", "memory_type", *optional]
    columns += [databases.bounded(name) for name in ("content", "tags", "metadata")]
    # Column names of a fixed list.
    query = f"SELECT {', '.join(columns)} FROM memories ORDER BY id"
    for row in database.execute(query):
        where = f"memories row {row['id']}"
        if "deleted_at" in optional and row["deleted_at"] is not None:
            yield Skipped(where, Reason.DELETED)
        elif "superseded_by" in optional and row["superseded_by"]:
            yield Skipped(where, Reason.SUPERSEDED)
        elif row["content_over"]:
            yield Skipped(where, Reason.TOO_LONG)
        else:
            fields = Fields([name for name in ("tags", "metadata") if row[f"{name}_over"]])
            tags = [tag.strip() for tag in str(row["tags"] or "").split(",")]
            metadata = fields.object("metadata", row["metadata"])
            store = row["store"] if "store" in optional else None
            yield _record(where, fields, dict(row), tags, metadata, store)


def _record(
    where: str,
    fields: Fields,
    value: Mapping[str, Any],
    tags: Any,
    metadata: Mapping[str, Any],
    store: Any,
) -> Item:
    attributes = dict(metadata)
    if store not in (None, "", "default"):
        attributes["store"] = store
    return record(
        str(value["content_hash"]),
        where,
        value.get("content"),
        fields,
        category=fields.label("memory_type", value.get("memory_type")),
        tags=fields.labels("tags", tags, TAGS_MAX),
        created_time=fields.moment("created_at", value.get("created_at")),
        attributes=fields.attributes(attributes),
    )


def _graph(database: sqlite3.Connection) -> Iterator[Item]:
    typed = "relationship_type" in databases.columns(database, "memory_graph")
    kind = "relationship_type" if typed else "'related'"
    query = f"SELECT source_hash, target_hash, similarity, {kind} FROM memory_graph"
    for source, target, similarity, word in database.execute(query):
        known = _LINK_TYPES.get(str(word))
        confidence = Fields().number("similarity", similarity, 0, 1)
        note = "" if known else str(word)
        yield Edge(str(source), str(target), known or LinkType.RELATED, confidence, note)


# -- its export


def _export(path: Path) -> Iterator[Item]:
    checked = False
    for element in json_files.elements(path):
        if isinstance(element, Skipped):
            yield element
        elif isinstance(element, json_files.Header):
            if element.key == "export_metadata":
                _check_exporter(path, element.value)
                checked = True
        elif element.key == "memories":
            if not checked:
                raise ValueError(f"{path}: unknown form: no export_metadata before the memories")
            yield _exported(element)


def _check_exporter(path: Path, metadata: Any) -> None:
    version = metadata.get("exporter_version") if isinstance(metadata, dict) else None
    if str(version).partition(".")[0] != str(EXPORTER_VERSION):
        allowed = f"allowed: {EXPORTER_VERSION}.x"
        raise ValueError(f"{path}: unknown exporter version: got {version!r}, {allowed}")


def _exported(element: json_files.Element) -> Item:
    value = element.value
    if not isinstance(value, dict) or not isinstance(value.get("content_hash"), str):
        return Skipped(element.where, Reason.DAMAGED, "no content_hash")
    fields = Fields()
    metadata = fields.object("metadata", value.get("metadata"))
    return _record(element.where, fields, value, value.get("tags"), metadata, value.get("store"))


SOURCE = Source(
    "mcp-memory-service",
    f"{_FILE} or another SQLite file with its table `memories`, or its JSON export",
    _fits,
    _read,
)
