"""Memories of mem0: the JSON that `Memory.get_all()` returns, written to a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from totonoe.importers import json_files
from totonoe.importers.records import (
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

_LISTS = ("results", "memories", "")
"""Names of the list: of today's answers, of former ones, and none where the file is the list."""
_OWN = frozenset(
    {"id", "memory", "hash", "metadata", "created_at", "updated_at", "agent_id", "run_id"}
    | {"categories", "expiration_date", "score"}
)


def _fits(path: Path) -> bool:
    if not path.is_file() or json_files.head(path).lstrip()[:1] not in ("{", "["):
        return False
    if '"export_metadata"' in json_files.head(path):
        return False
    first = json_files.first_element(path)
    return first is not None and first.key in _LISTS and _is_memory(first.value)


def _is_memory(value: Any) -> bool:
    return isinstance(value, dict) and {"id", "memory"} <= value.keys()


def _read(path: Path, _: ReadOptions) -> Iterator[Item]:
    found = False
    for element in json_files.elements(path):
        if isinstance(element, Skipped):
            yield element
        elif isinstance(element, json_files.Header):
            if element.key == "next" and element.value:
                yield Skipped("next", Reason.DAMAGED, "the file is one page of several")
        elif element.key in _LISTS:
            found = True
            yield _memory(element)
        else:
            yield Skipped(element.where, Reason.DAMAGED, "not one of the memories")
    if not found and not json_files.head(path).strip():
        raise ValueError(f"{path}: the file is empty")


def _memory(element: json_files.Element) -> Item:
    value = element.value
    if not _is_memory(value):
        return Skipped(element.where, Reason.DAMAGED, "no id or no memory")
    ends = moment_of(value.get("expiration_date"))
    if ends is not None and ends <= datetime.now(UTC):
        return Skipped(element.where, Reason.EXPIRED)
    fields = Fields()
    if value.get("expiration_date") and ends is None:
        fields.left_out.append("expiration_date")
    metadata = fields.object("metadata", value.get("metadata"))
    category = metadata.get("category")
    return record(
        str(value["id"]),
        element.where,
        value["memory"],
        fields,
        agent_id=fields.label("agent_id", value.get("agent_id")),
        session_id=fields.label("run_id", value.get("run_id")),
        category=fields.label("category", category) if isinstance(category, str) else None,
        tags=fields.labels("categories", value.get("categories"), TAGS_MAX),
        created_time=fields.moment("created_at", value.get("created_at")),
        valid_to_time=ends,
        attributes=fields.attributes(_attributes(value, metadata)),
    )


def _attributes(value: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata but for its category, and the fields that no field of a memory holds."""
    kept = {
        name: item
        for name, item in metadata.items()
        if name != "category" or not isinstance(item, str)
    }
    return {name: item for name, item in value.items() if name not in _OWN} | kept


SOURCE = Source(
    "mem0",
    'a JSON file with {"results": [{"id": ..., "memory": ...}]}, or that list alone',
    _fits,
    _read,
)
