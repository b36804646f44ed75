"""The knowledge graph of the MCP reference server `@modelcontextprotocol/server-memory`.

A file of JSON lines, one entity or relation each; a line that was appended without a line feed
holds two. Each observation is a memory that begins with the name of its entity, because "Speaks
Spanish." says something else of another. Each relation is a memory too, linked to those of both
ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from totonoe.importers import json_files
from totonoe.importers.records import (
    Edge,
    Fields,
    Item,
    ReadOptions,
    Reason,
    Skipped,
    Source,
    digest_of,
    record,
)


def _fits(path: Path) -> bool:
    found = json_files.first_object(path) if path.is_file() else None
    return isinstance(found, dict) and (
        (found.get("type") == "entity" and isinstance(found.get("observations"), list))
        or (found.get("type") == "relation" and "relationType" in found)
    )


def _read(path: Path, _: ReadOptions) -> Iterator[Item]:
    for element in json_files.objects(path):
        if isinstance(element, Skipped):
            yield element
            continue
        value = element.value
        kind = value.get("type") if isinstance(value, dict) else None
        if kind == "entity" and isinstance(value.get("name"), str):
            yield from _entity(element.where, value)
        elif kind == "relation" and all(
            isinstance(value.get(name), str) for name in ("from", "to", "relationType")
        ):
            yield from _relation(element.where, value)
        else:
            yield Skipped(element.where, Reason.DAMAGED, "neither an entity nor a relation")


def _entity(where: str, value: Mapping[str, Any]) -> Iterator[Item]:
    name, kind = value["name"], value.get("entityType")
    observations = value.get("observations")
    if not isinstance(observations, list):
        yield Skipped(where, Reason.DAMAGED, "observations: allowed: a list")
        return
    # An entity nobody has said anything about is a memory of its own, and the end of its relations.
    texts = observations or [""]
    for place, observation in enumerate(texts):
        fields = Fields()
        if isinstance(observation, dict):  # some forks keep a time beside the text
            observation = observation.get("content")
        if not isinstance(observation, str):
            yield Skipped(where, Reason.DAMAGED, f"observation {place + 1} is no text")
            continue
        text = f"{name}: {observation}" if observation.strip() else f"{name} ({kind})"
        yield record(
            f"{_cut(name)}#{digest_of(text)}",
            where,
            text,
            fields,
            aliases=[_entity_id(name)],
            category=fields.label("entityType", kind),
            entities=fields.labels("name", [name], 1),
        )


def _relation(where: str, value: Mapping[str, Any]) -> Iterator[Item]:
    fields = Fields()
    source, target, verb = value["from"], value["to"], value["relationType"]
    text = f"{source} {verb} {target}"
    record_id = f"{_cut(source)}>{digest_of(text)}"
    yield record(
        record_id,
        where,
        text,
        fields,
        state_kind="relation",
        category=fields.label("relationType", verb),
        entities=fields.labels("from, to", [source, target], 2),
    )
    for end in dict.fromkeys((source, target)):
        yield Edge(record_id, _entity_id(end), note=verb)


def _entity_id(name: str) -> str:
    return f"entity {name}"


def _cut(name: str) -> str:
    """Return the beginning of a name, so that an external id says whose it is."""
    return name[:40]


SOURCE = Source(
    "mcp-memory",
    'a file of JSON lines with {"type":"entity",...} and {"type":"relation",...}',
    _fits,
    _read,
)
