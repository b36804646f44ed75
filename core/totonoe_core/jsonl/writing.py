"""Writer of an export file. Fields at their default are left out."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import RECIPE, Episode, Fields, Memory, Status
from totonoe_core.domain.transfer import DismissalLine, LinkLine, Record
from totonoe_core.jsonl import FORMAT, VERSION

POLICIES = ("guard", "diversity", "decay", "retention", "blast", "tidy")
_PLAIN = (
    "external_id", "kind", "state_kind", "category", "importance", "confidence", "salience",
    "emotion", "perception_type", "life_stage", "session_id", "thread_id", "last_confirmed_us",
    "done_us", "valid_from_us", "valid_to_us", "expires_us",
    "expires_after_s", "private", "attributes", "payload", "source",
)  # fmt: skip
_LISTS = ("tags", "entities", "evidence_ids", "namespace")
DEFAULTS = Fields()

_TO_JSON = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), check_circular=False, allow_nan=False
).encode


def line(values: Mapping[str, Any]) -> bytes:
    """Return one line of the file, with its end."""
    return (_TO_JSON(values) + "\n").encode()


def header(
    info: CollectionInfo,
    *,
    agent_id: str,
    revision: int,
    time_us: int,
    statuses: Sequence[Status],
    vectors: bool,
    memory_count: int,
) -> bytes:
    """Return the first line."""
    model = info.model
    return line(
        {
            "record": "header",
            "format": FORMAT,
            "version": VERSION,
            "collection": info.name,
            "agent_id": agent_id,
            "revision": revision,
            "time_us": time_us,
            "statuses": [status.value for status in statuses],
            "vectors": vectors,
            "memory_count": memory_count,
            "model": {
                "name": model.name,
                "version": model.version,
                "weights_sha256": model.weights_sha256,
                "dimension": model.dimension,
                "recipe": RECIPE,
            },
            "description": info.description,
            "policies": {name: dataclasses.asdict(getattr(info, name)) for name in POLICIES},
        }
    )


def record(value: Record, *, vectors: bool) -> bytes:
    """Return the line of a record."""
    match value:
        case Memory():
            return line(_memory(value, vectors))
        case LinkLine():
            return line(_link(value))
        case Episode():
            return line(_episode(value))
        case DismissalLine():
            return line(_dismissal(value))


def end(counts: Mapping[str, int], sha256: str) -> bytes:
    """Return the last line."""
    return line({"record": "end", "counts": dict(counts), "sha256": sha256})


def _memory(memory: Memory, vectors: bool) -> dict[str, Any]:
    fields = memory.fields
    out: dict[str, Any] = {"record": "memory", "id": memory.id, "content": memory.content}
    if memory.agent_id:
        out["agent_id"] = memory.agent_id
    if memory.status is not Status.ACTIVE:
        out["status"] = memory.status.value
    if memory.superseded_by:
        out["superseded_by"] = memory.superseded_by
    out["created_us"] = memory.created_us
    out["updated_us"] = memory.updated_us
    if memory.last_access_us is not None:
        out["last_access_us"] = memory.last_access_us
    if memory.access_count:
        out["access_count"] = memory.access_count
    for name in _PLAIN:
        value = getattr(fields, name)
        if value != getattr(DEFAULTS, name):
            out[name] = value
    for name in _LISTS:
        if value := getattr(fields, name):
            out[name] = list(value)
    if fields.about_time.from_us is not None:
        out["about_from_us"] = fields.about_time.from_us
    if fields.about_time.to_us is not None:
        out["about_to_us"] = fields.about_time.to_us
    if fields.key is not None:
        out["key"] = {"subject": fields.key.subject, "attribute": fields.key.attribute}
    if vectors:
        out["vector"] = base64.b64encode(memory.vector).decode()
    return out


def _link(link: LinkLine) -> dict[str, Any]:
    out: dict[str, Any] = {
        "record": "link",
        "source_id": link.source_id,
        "target_id": link.target_id,
        "type": link.type.value,
        "confidence": link.confidence,
    }
    if link.note:
        out["note"] = link.note
    return out


def _episode(episode: Episode) -> dict[str, Any]:
    out: dict[str, Any] = {
        "record": "episode",
        "id": episode.id,
        "summary": episode.summary,
        "memory_ids": list(episode.memory_ids),
        "start_us": episode.start_us,
        "end_us": episode.end_us,
        "created_us": episode.created_us,
        "importance": episode.importance,
    }
    if episode.agent_id:
        out["agent_id"] = episode.agent_id
    if episode.private:
        out["private"] = True
    return out


def _dismissal(dismissal: DismissalLine) -> dict[str, Any]:
    out = {"record": "dismissal", "id_a": dismissal.id_a, "id_b": dismissal.id_b}
    if dismissal.agent_id:
        out["agent_id"] = dismissal.agent_id
    if dismissal.note:
        out["note"] = dismissal.note
    return out
