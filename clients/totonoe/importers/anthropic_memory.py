"""Memory stores of Anthropic's API, written to a file as the API answers.

    {"memories": [{"type": "memory", "id": "mem_...", "path": "/a.md", "content": "...", ...}],
     "memory_versions": [{"type": "memory_version", "memory_id": "mem_...", "content": "...", ...}]}

Also a list alone, an answer `{"data": [...]}`, or one object a line. A memory is a document; its
earlier versions become memories that it superseded, oldest first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from totonoe.importers import json_files
from totonoe.importers.json_files import Element
from totonoe.importers.records import (
    Fields,
    Item,
    ReadOptions,
    Reason,
    Skipped,
    Source,
    moment_of,
    record,
)

_MEMORY, _VERSION, _PREFIX = "memory", "memory_version", "memory_prefix"
_TYPES = (_MEMORY, _VERSION, _PREFIX)
VERSIONS_MAX = 200_000
"""Versions of one file: their ids and times are held in memory."""


def _fits(path: Path) -> bool:
    if not path.is_file() or json_files.head(path).lstrip()[:1] not in ("{", "["):
        return False
    first = json_files.first_object(path)
    if not _is_ours(first):
        element = json_files.first_element(path)
        first = element.value if element else None
    return _is_ours(first)


def _is_ours(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in _TYPES and "path" in value


def _elements(path: Path) -> Iterator[Element | json_files.Header | Skipped]:
    if _is_ours(json_files.first_object(path)):
        return json_files.objects(path)
    return json_files.elements(path)


def _read(path: Path, _: ReadOptions) -> Iterator[Item]:
    earlier, newest = _history(path)
    for element in _elements(path):
        if isinstance(element, Skipped):
            yield element
        elif isinstance(element, json_files.Header):
            if element.key == "next_page" and element.value:
                yield Skipped("next_page", Reason.DAMAGED, "the file is one page of several")
        else:
            yield from _item(element, earlier, newest)


def _history(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return which version each one replaced, and the version that each memory now has."""
    versions: dict[str, list[tuple[str, str]]] = {}
    newest: dict[str, str] = {}
    count = 0
    for element in _elements(path):
        if not isinstance(element, Element):
            continue
        value = element.value
        if not isinstance(value, dict) or not isinstance(value.get("id"), str):
            continue
        if value.get("type") == _MEMORY:
            newest[value["id"]] = str(value.get("memory_version_id", ""))
        elif value.get("type") == _VERSION and isinstance(value.get("content"), str):
            count += 1
            if count > VERSIONS_MAX:
                got = f"got more than {VERSIONS_MAX} versions, allowed: {VERSIONS_MAX}"
                raise ValueError(f"{path}: {element.where}: {got}")
            made = moment_of(value.get("created_at"))
            stamp = made.isoformat() if made else ""
            versions.setdefault(str(value.get("memory_id")), []).append((stamp, value["id"]))
    earlier: dict[str, str] = {}
    for memory_id, found in versions.items():
        ids = [version_id for _, version_id in sorted(found)]
        last = [version_id for version_id in ids if version_id != newest.get(memory_id)]
        earlier |= {after: before for before, after in pairwise(last)}
        if last and memory_id in newest:
            earlier[memory_id] = last[-1]
    return earlier, newest


def _item(
    element: Element, earlier: Mapping[str, str], newest: Mapping[str, str]
) -> Iterator[Item]:
    value = element.value
    kind = value.get("type") if isinstance(value, dict) else None
    where = f"{element.where} ({value.get('path')})" if kind in _TYPES else element.where
    if kind == _PREFIX:
        return
    if kind not in _TYPES or not isinstance(value.get("id"), str):
        allowed = "allowed: type memory or memory_version, with an id"
        yield Skipped(element.where, Reason.DAMAGED, f"no memory; {allowed}")
    elif kind == _VERSION and newest.get(str(value.get("memory_id"))) == value["id"]:
        return  # the memory itself says it
    elif kind == _VERSION and (value.get("redacted_at") or value.get("operation") == "deleted"):
        what = "redacted" if value.get("redacted_at") else "operation deleted"
        yield Skipped(element.where, Reason.DELETED, what)
    elif kind == _VERSION and str(value.get("memory_id")) not in newest:
        yield Skipped(where, Reason.DELETED, "a version of a memory that is not there")
    elif not isinstance(value.get("content"), str):
        yield Skipped(where, Reason.DAMAGED, "content: got none, allowed: a text (view=full)")
    else:
        yield _memory(where, value, earlier)


def _memory(where: str, value: Mapping[str, Any], earlier: Mapping[str, str]) -> Item:
    fields = Fields()
    is_head = value["type"] == _MEMORY
    stamp = value.get("updated_at") if is_head else value.get("created_at")
    rest = {name: value.get(name) for name in ("path", "memory_store_id", "created_by")}
    if not is_head:
        rest |= {"memory_id": value.get("memory_id"), "operation": value.get("operation")}
    return record(
        value["id"],
        where,
        value["content"],
        fields,
        replaces=earlier.get(value["id"], ""),
        created_time=fields.moment("updated_at" if is_head else "created_at", stamp),
        attributes=fields.attributes(rest),
    )


SOURCE = Source(
    "anthropic-memory",
    'a JSON file with {"type": "memory", "path": ...} in a list, or one a line',
    _fits,
    _read,
)
