"""Models as JSON. Field names here are stable: they are only ever added to.

A memory's own id is `memory_id`, an episode's `episode_id`; times are ISO 8601 in UTC.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from totonoe.call.lazily import graph_models
from totonoe.memories.models import Checked, Hit, Memory, Recalled, Remembered


def plain(value: Any) -> Any:
    """Convert a model with its parts to JSON values."""
    if isinstance(value, Memory):
        return _renamed(value, "memory_id")
    if isinstance(value, Hit):
        return _hit(value)
    if isinstance(value, graph_models.Episode):
        return _renamed(value, "episode_id")
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | array):
        return [plain(item) for item in value]
    return value


def _renamed(thing: Memory | graph_models.Episode, id_name: str) -> dict[str, Any]:
    """Convert the fields, with the own id under a name that says whose it is."""
    names = [item.name for item in fields(thing) if item.name != "id"]
    return {id_name: thing.id} | {name: plain(getattr(thing, name)) for name in names}


def _hit(hit: Hit) -> dict[str, Any]:
    """Join the memory's own fields with the reasons for its place."""
    reasons = [item.name for item in fields(hit) if item.name != "memory"]
    memory = _renamed(hit.memory, "memory_id")
    return {
        "memory_id": memory.pop("memory_id"),
        "content": memory.pop("content"),
        **{name: plain(getattr(hit, name)) for name in reasons},
        **memory,
    }


def remembered_json(answer: Remembered) -> dict[str, Any]:
    """Answer of `remember`."""
    rest = plain(answer)
    return {
        "saved": rest.pop("saved"),
        "memory_id": rest.pop("memory_id"),
        "duplicate_of": answer.duplicate_of,
        "method": rest.pop("method"),
        "similarity": rest.pop("similarity"),
        "revision": rest.pop("revision"),
        **rest,
    }


def checked_json(answer: Checked) -> dict[str, Any]:
    """Answer of `check`."""
    rest = plain(answer)
    return {
        "would_save": rest.pop("would_save"),
        "duplicate_of": answer.duplicate_of,
        "method": rest.pop("method"),
        "similarity": rest.pop("similarity"),
        "revision": rest.pop("revision"),
        **rest,
    }


def recalled_json(answer: Recalled) -> dict[str, Any]:
    """Answer of `recall`."""
    result: dict[str, Any] = plain(answer)
    return result
