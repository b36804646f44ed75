"""Parsers of each kind of line: its fields, their checks, and the record.

The checks of a Remember apply here too, so that a file holds nothing that a call could not have
made.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import fields as fields_of
from enum import StrEnum
from typing import Any, get_type_hints

import numpy as np

from totonoe_core.base import ids, limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain import policy
from totonoe_core.domain.records import (
    RECIPE,
    Episode,
    Fields,
    Kind,
    LinkType,
    Memory,
    ModelIdentity,
    Source,
    StateKind,
    Status,
    TimeRange,
    TypedKey,
)
from totonoe_core.domain.transfer import DismissalLine, Header, LinkLine
from totonoe_core.jsonl.values import TIME_MAX_US, Values, Wrong
from totonoe_core.jsonl.writing import DEFAULTS
from totonoe_core.rules import validate
from totonoe_core.text.normalize import refusing_hash

UNIT_TOLERANCE = 1e-3
_STATUSES = tuple(status for status in Status if status is not Status.PURGED)
_POLICIES: dict[str, type] = {
    "guard": policy.GuardPolicy,
    "diversity": policy.DiversityPolicy,
    "decay": policy.DecayPolicy,
    "retention": policy.RetentionPolicy,
    "blast": policy.BlastPolicy,
    "tidy": policy.TidyPolicy,
}


def id_of(values: Values) -> str:
    """Return the memory id of a faulty line; empty if it has none."""
    found = values.of("id")
    return found if isinstance(found, str) and ids.MADE_MEMORY_ID.match(found) else ""


_IN_FILE = {"valid_to_time": "valid_to_us", "about_time": "about_to_us"}
"""Fields whose name in the file differs from the contract's."""


def _checked(check: Callable[..., None], *arguments: Any) -> None:
    """Run a check of a request, so that its error names the field and quotes no text."""
    try:
        check(*arguments)
    except InvalidArgument as error:
        details = error.details
        field = _IN_FILE.get(details["field"], details["field"])
        raise Wrong(field, details["got"], details["allowed"]) from None
    except UnicodeEncodeError:
        raise Wrong(str(arguments[1]), "a lone surrogate", "valid Unicode") from None


def _text(values: Values, name: str, limit_bytes: int = limits.NAME_BYTES_MAX) -> str:
    found = values.take(name, str, "")
    _checked(validate.optional_text, found, name, limit_bytes)
    return found


def _id(values: Values, name: str) -> str:
    found = values.take(name, str)
    _check_id(found, name)
    return found


def _check_id(found: str, name: str) -> None:
    if not ids.MADE_MEMORY_ID.match(found):
        raise Wrong(name, repr(found[:64]), "mem_ and 16 hex digits")


# -- Header


def header(values: Values) -> Header:
    """Parse the first line, without its format and version."""
    model = Values(values.take("model", dict), "model.")
    dimension = model.take("dimension", int)
    recipe = model.take("recipe", int)
    named = {name: model.take(name, str) for name in ("name", "version", "weights_sha256")}
    try:
        identity = ModelIdentity(dimension=dimension, **named)
    except InvalidArgument as error:
        raise Wrong("model", error.details["got"], error.details["allowed"]) from None
    model.all_taken()
    statuses = []
    for status in values.strings("statuses"):
        if status not in _STATUSES:
            raise Wrong("statuses", repr(status[:64]), ", ".join(_STATUSES))
        statuses.append(Status(status))
    return Header(
        collection=_text(values, "collection"),
        agent_id=_text(values, "agent_id"),
        model_key=identity.key.removesuffix(f"r{RECIPE}") + f"r{recipe}",
        dimension=dimension,
        settings=_settings(values),
        revision=_count(values, "revision"),
        time_us=values.time("time_us"),
        statuses=tuple(statuses),
        vectors=values.take("vectors", bool),
        memory_count=_count(values, "memory_count"),
    )


def _count(values: Values, name: str, default: int | None = None) -> int:
    found = values.take(name, int, default)
    if not 0 <= found <= 2**62:
        raise Wrong(name, "a number out of range", "0 to 2^62")
    return found


def _settings(values: Values) -> tuple[tuple[str, Any], ...]:
    """Return description and policies as the changes of a ChangeSettings, the preset first."""
    changes: list[tuple[str, Any]] = [
        ("description", _text(values, "description", limits.DESCRIPTION_BYTES_MAX))
    ]
    given = Values(values.take("policies", dict), "policies.")
    for part, kind in _POLICIES.items():
        found = Values(given.take(part, dict), f"policies.{part}.")
        hints = get_type_hints(kind)
        changes += [
            (f"{part}.{item.name}", _setting(found, item.name, hints[item.name]))
            for item in fields_of(kind)
            # A field that is newer than the file stays as it is.
            if found.has(item.name)
        ]
        found.all_taken()
    given.all_taken()
    return tuple(changes)


def _setting(values: Values, name: str, hint: Any) -> Any:
    if hint == float | None:
        if values.has(name) and values.of(name) is None:
            values.take(name, type(None))
            return None
        return values.take(name, float)
    if hint == Source | None:
        if values.has(name) and values.of(name) is None:
            values.take(name, type(None))
            return None
        return values.member(name, Source).value
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return values.member(name, hint).value
    return values.take(name, hint)


# -- Records


def memory(values: Values, head: Header) -> Memory:
    """Parse a memory, with the hash of its text; without row number and revision."""
    memory_id = _id(values, "id")
    content = values.take("content", str)
    _checked(validate.text, content, "content")
    agent_id = _text(values, "agent_id")
    status = values.member("status", Status, Status.ACTIVE)
    if status not in _STATUSES:
        raise Wrong("status", repr(status.value), ", ".join(_STATUSES))
    superseded_by = values.take("superseded_by", str, "")
    if superseded_by:
        _check_id(superseded_by, "superseded_by")
        if superseded_by == memory_id:
            raise Wrong("superseded_by", "the memory itself", "another memory")
    created_us, updated_us = values.time("created_us"), values.time("updated_us")
    last_access_us = values.optional_time("last_access_us")
    access_count = _count(values, "access_count", 0)
    if access_count and last_access_us is None:
        raise Wrong("last_access_us", "nothing", "a time, where there is an access_count")
    fields = _fields(values)
    _checked(validate.fields, fields, TIME_MAX_US, "")
    vector = _vector(values, head)
    return Memory(
        row=0,
        id=memory_id,
        content=content,
        content_hash=refusing_hash(content),
        vector=vector,
        agent_id=agent_id,
        fields=fields,
        created_us=created_us,
        updated_us=updated_us,
        status=status,
        superseded_by=superseded_by,
        revision=0,
        last_access_us=last_access_us,
        access_count=access_count,
    )


def _fields(values: Values) -> Fields:
    key = None
    if values.has("key"):
        said = Values(values.take("key", dict), "key.")
        key = TypedKey(said.take("subject", str), said.take("attribute", str))
        said.all_taken()
    kind = values.member("kind", Kind, DEFAULTS.kind)
    return Fields(
        external_id=values.take("external_id", str, ""),
        kind=kind,
        state_kind=values.member("state_kind", StateKind, DEFAULTS.state_kind),
        category=values.take("category", str, ""),
        tags=values.strings("tags"),
        attributes=_object(values, "attributes", limits.ATTRIBUTES_BYTES_MAX),
        payload=_object(values, "payload", limits.PAYLOAD_BYTES_MAX),
        importance=values.take("importance", int, DEFAULTS.importance),
        confidence=values.take("confidence", float, DEFAULTS.confidence),
        salience=values.take("salience", float, DEFAULTS.salience),
        emotion=values.take("emotion", str, ""),
        perception_type=values.take("perception_type", str, ""),
        life_stage=values.take("life_stage", str, ""),
        session_id=values.take("session_id", str, ""),
        thread_id=values.take("thread_id", str, ""),
        entities=values.strings("entities"),
        evidence_ids=values.strings("evidence_ids"),
        about_time=TimeRange(
            values.optional_time("about_from_us"), values.optional_time("about_to_us")
        ),
        last_confirmed_us=values.optional_time("last_confirmed_us"),
        done_us=values.optional_time("done_us"),
        valid_from_us=values.optional_time("valid_from_us"),
        valid_to_us=values.optional_time("valid_to_us"),
        private=values.take("private", bool, False),
        key=key,
        namespace=values.strings("namespace"),
        expires_us=values.optional_time("expires_us"),
        expires_after_s=(
            values.take("expires_after_s", float) if values.has("expires_after_s") else None
        ),
        source=values.member("source", Source, DEFAULTS.source),
    )


def _object(values: Values, name: str, limit_bytes: int) -> dict[str, Any]:
    found = values.take(name, dict, {})
    _checked(validate.json_object, found, name, limit_bytes)
    return found


def _vector(values: Values, head: Header) -> bytes:
    """Return the bytes of a vector, unchanged, so that they must have unit length.

    Empty if the memory has none.
    """
    if not head.vectors:
        return b""
    text = values.take("vector", str)
    if not text:
        return b""
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Wrong("vector", "no base64", "base64 of float32") from None
    if len(found) != 4 * head.dimension:
        raise Wrong("vector", f"{len(found)} bytes", f"{4 * head.dimension} bytes")
    array = np.frombuffer(found, "<f4").astype(np.float64)
    norm = float(array @ array)
    if not abs(norm - 1.0) <= UNIT_TOLERANCE:
        raise Wrong("vector", "another length", "finite numbers of unit length")
    return found


def link(values: Values) -> LinkLine:
    """Parse a link between two memories."""
    found = LinkLine(
        source_id=_id(values, "source_id"),
        target_id=_id(values, "target_id"),
        type=values.member("type", LinkType),
        confidence=values.take("confidence", float),
        note=_text(values, "note", limits.NOTE_BYTES_MAX),
    )
    _checked(validate.number, found.confidence, "confidence", 0.0, 1.0)
    if found.source_id == found.target_id:
        raise Wrong("target_id", "the source itself", "another memory")
    return found


def episode(values: Values) -> Episode:
    """Parse an episode with the ids at its creation."""
    episode_id = values.take("id", str)
    if not ids.MADE_EPISODE_ID.match(episode_id):
        raise Wrong("id", repr(episode_id[:64]), "ep_ and 16 hex digits")
    summary = values.take("summary", str)
    _checked(validate.text, summary, "summary")
    memory_ids = values.strings("memory_ids")
    _checked(validate.count, len(memory_ids), "memory_ids", limits.IDS_PER_REQUEST_MAX)
    for memory_id in memory_ids:
        _check_id(memory_id, "memory_ids")
    if len(set(memory_ids)) != len(memory_ids):
        raise Wrong("memory_ids", "an id twice", "each once")
    start_us, end_us = values.time("start_us"), values.time("end_us")
    if end_us < start_us:
        raise Wrong("end_us", "an end before its beginning", "from start_us on")
    importance = values.take("importance", int)
    low, high = limits.IMPORTANCE_MIN, limits.IMPORTANCE_MAX
    _checked(validate.number, importance, "importance", low, high)
    return Episode(
        id=episode_id,
        summary=summary,
        memory_ids=memory_ids,
        start_us=start_us,
        end_us=end_us,
        importance=importance,
        agent_id=_text(values, "agent_id"),
        private=values.take("private", bool, False),
        created_us=values.time("created_us"),
        revision=0,
    )


def dismissal(values: Values) -> DismissalLine:
    """Parse a dismissed pair."""
    found = DismissalLine(
        id_a=_id(values, "id_a"),
        id_b=_id(values, "id_b"),
        agent_id=_text(values, "agent_id"),
        note=_text(values, "note", limits.REASON_BYTES_MAX),
    )
    if found.id_a == found.id_b:
        raise Wrong("id_b", "the memory itself", "another memory")
    return found
