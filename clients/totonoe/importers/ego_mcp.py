"""Memories of ego-mcp: a folder of Chroma, read from its `chroma.sqlite3` without Chroma."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from totonoe.enums import LinkType
from totonoe.importers import chroma, databases
from totonoe.importers.records import (
    ENTITIES_MAX,
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

_MEMORIES, _EPISODES = "ego_memories", "ego_episodes"
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
        inner = path / "chroma" / chroma.FILE
        return inner if inner.is_file() else path / chroma.FILE
    return path


def _fits(path: Path) -> bool:
    return chroma.holds(_database(path), _MEMORIES)


def _read(path: Path, _: ReadOptions) -> Iterator[Item]:
    path = _database(path)
    with databases.opened(path) as database:
        chroma.check(database, path)
        for where, embedding_id, fields in chroma.documents(database, path, _MEMORIES):
            yield from _memory(where, embedding_id, fields)
        for where, _id, fields in chroma.documents(database, path, _EPISODES):
            yield _episode(where, fields)


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
        values.get(chroma.DOCUMENT),
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
    summary = None if values is None else values.get(chroma.DOCUMENT)
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
    f"a Chroma folder ({chroma.FILE}, or chroma/{chroma.FILE}) with the collection `{_MEMORIES}`",
    _fits,
    _read,
)
