"""Memories of MemPalace: its palace, a folder of Chroma, and its graph of facts beside it.

A drawer is a piece of a file or a conversation, word for word, in a room of a wing. A fact of
`knowledge_graph.sqlite3` is a sentence of three parts; one whose validity has ended is left out.
Closets are an index of the drawers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from totonoe.importers import chroma, databases
from totonoe.importers.records import (
    ENTITIES_MAX,
    TAGS_MAX,
    Fields,
    Item,
    ReadOptions,
    Reason,
    Skipped,
    Source,
    moment_of,
    record,
)

_DRAWERS = "mempalace_drawers"
_GRAPH = "knowledge_graph.sqlite3"
_FACT = ("id", "subject", "predicate", "object", "valid_from", "valid_to", "confidence")
_OWN = frozenset({chroma.DOCUMENT, "wing", "room", "filed_at", "entities", "added_by"})


def _database(path: Path) -> Path:
    if path.is_dir():
        inner = path / "palace" / chroma.FILE
        return inner if inner.is_file() else path / chroma.FILE
    return path


def _graph(path: Path) -> Path | None:
    """Return the graph in the named folder or, as MemPalace has it, beside the palace in it."""
    found = (path / _GRAPH, path / "palace" / _GRAPH) if path.is_dir() else ()
    return next((file for file in found if file.is_file() and not file.is_symlink()), None)


def _fits(path: Path) -> bool:
    return chroma.holds(_database(path), _DRAWERS)


def _read(path: Path, _: ReadOptions) -> Iterator[Item]:
    file = _database(path)
    inner = [place for place in (file, file.parent) if place != path and path in place.parents]
    if any(place.is_symlink() for place in inner):
        raise ValueError(f"{file}: got a symbolic link, allowed: name the folder that it leads to")
    with databases.opened(file) as database:
        chroma.check(database, file)
        for where, drawer_id, values in chroma.documents(database, file, _DRAWERS):
            yield _drawer(where, drawer_id, values)
    graph = _graph(path)
    if graph is not None:
        with databases.opened(graph) as database:
            yield from _facts(database, graph)


def _drawer(where: str, drawer_id: str, values: dict[str, Any] | None) -> Item:
    if values is None:
        return Skipped(where, Reason.TOO_LARGE)
    fields = Fields()
    place = [f"{name}:{values[name]}" for name in ("wing", "room") if values.get(name)]
    entities = values.get("entities")
    names = [name.strip() for name in entities.split(";")] if isinstance(entities, str) else []
    rest = {name: value for name, value in values.items() if name not in _OWN}
    return record(
        drawer_id,
        where,
        values.get(chroma.DOCUMENT),
        fields,
        agent_id=fields.label("added_by", values.get("added_by")),
        category=fields.label("room", values.get("room")),
        tags=fields.labels("wing, room", place, TAGS_MAX),
        entities=fields.labels("entities", [name for name in names if name], ENTITIES_MAX),
        source="external" if values.get("source_file") else None,
        created_time=fields.moment("filed_at", values.get("filed_at")),
        attributes=fields.attributes(rest),
    )


def _facts(database: sqlite3.Connection, path: Path) -> Iterator[Item]:
    databases.require(database, path, "triples", (*_FACT, "extracted_at"))
    databases.require(database, path, "entities", ("id", "name"))
    bounded = ", ".join(map(databases.bounded, ("subject", "predicate", "object")))
    names = "id, valid_from, valid_to, confidence, extracted_at"
    for row in database.execute(f"SELECT {names}, {bounded} FROM triples ORDER BY rowid"):
        where = f"triples {row['id']}"
        if any(row[f"{name}_over"] for name in ("subject", "predicate", "object")):
            yield Skipped(where, Reason.TOO_LARGE)
            continue
        ends = moment_of(row["valid_to"])
        if ends is not None and ends <= datetime.now(UTC):
            yield Skipped(where, Reason.EXPIRED)
            continue
        fields = Fields()
        subject, object_ = (_name(database, row[part]) for part in ("subject", "object"))
        verb = str(row["predicate"]).replace("_", " ")
        yield record(
            f"fact {row['id']}",
            where,
            f"{subject} {verb} {object_}",
            fields,
            state_kind="relation",
            category=fields.label("predicate", row["predicate"]),
            entities=fields.labels("subject, object", [subject, object_], 2),
            confidence=fields.number("confidence", row["confidence"], 0, 1),
            created_time=fields.moment("extracted_at", row["extracted_at"]),
            valid_from_time=moment_of(row["valid_from"]),
            valid_to_time=ends,
        )


def _name(database: sqlite3.Connection, entity_id: Any) -> str:
    """Return the name of an entity; its id is the name in small letters."""
    row = database.execute("SELECT name FROM entities WHERE id = ?", (entity_id,)).fetchone()
    return str(row[0] if row else entity_id)


SOURCE = Source(
    "mempalace",
    f"a Chroma folder ({chroma.FILE}, or palace/{chroma.FILE}) with the collection `{_DRAWERS}`",
    _fits,
    _read,
)
