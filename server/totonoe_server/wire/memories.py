"""Memories, drafts, filters and update masks; Update, Forget, Link and Unlink."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from google.protobuf.message import Message

from totonoe.v1 import memory_service_pb2, types_pb2
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, over_limit
from totonoe_core.domain.expiry import expires_us
from totonoe_core.domain.filter import NO_FILTER, Comparison, Filter
from totonoe_core.domain.graph import LinkMemories, UnlinkMemories
from totonoe_core.domain.memories import Forget, Remember, Update
from totonoe_core.domain.policy import Action
from totonoe_core.domain.records import (
    Fields,
    Kind,
    Link,
    LinkType,
    Memory,
    Source,
    StateKind,
    Status,
    TypedKey,
    Verdict,
)
from totonoe_server.wire.encoding import struct_bytes
from totonoe_server.wire.mapping import MappingError, decoder, encoder, encodes
from totonoe_server.wire.scalars import (
    ACTIONS,
    KINDS,
    OPERATORS,
    SOURCES,
    STATE_KINDS,
    STATUSES,
    range_from_wire,
    range_to_wire,
    required,
    struct_from_wire,
    time_from_wire,
    time_into_wire,
    value_from_wire,
)

LINK_CONFIDENCE_DEFAULT = 0.5
_Setter = Callable[[types_pb2.Memory, Any], None]
_DEFAULTS = Fields()
_MASK = {
    name: name.removesuffix("_time") + "_us" if name.endswith("_time") else name
    for name in types_pb2.MemoryDraft.DESCRIPTOR.fields_by_name
    if name not in ("kind", "created_time", "key")
} | {"about_time": "about_time"}
"""Path of an update mask -> name that `Update.mask` uses."""


_Reader = Callable[[types_pb2.MemoryDraft, Any, str], Any]
"""`read(draft, value, field)` returns what `Fields` holds of a field that is set."""


def _as_is(_: types_pb2.MemoryDraft, value: Any, __: str) -> Any:
    return value


def _each(_: types_pb2.MemoryDraft, value: Any, __: str) -> tuple[str, ...]:
    return tuple(value)


def _once(_: types_pb2.MemoryDraft, value: Any, __: str) -> tuple[str, ...]:
    # Repeats are folded and the first place counts, so that order survives.
    return tuple(dict.fromkeys(value))


def _json(name: str, bytes_max: int) -> _Reader:
    return lambda draft, _, field: struct_from_wire(draft, name, field, bytes_max)


def _moment(name: str) -> _Reader:
    return lambda draft, _, field: time_from_wire(draft, name, field)


_MOMENTS = frozenset(
    name
    for name in types_pb2.MemoryDraft.DESCRIPTOR.fields_by_name
    if name.endswith("_time") and name != "about_time"
)
_BY_NAME: dict[str, _Reader] = {
    **dict.fromkeys(("external_id", "category", "emotion", "perception_type"), _as_is),
    **dict.fromkeys(("life_stage", "session_id", "thread_id", "private"), _as_is),
    **dict.fromkeys(("importance", "confidence", "salience", "expires_after_s"), _as_is),
    **dict.fromkeys(("tags", "entities"), _once),
    **dict.fromkeys(("evidence_ids", "namespace"), _each),
    "attributes": _json("attributes", limits.ATTRIBUTES_BYTES_MAX),
    "payload": _json("payload", limits.PAYLOAD_BYTES_MAX),
    "about_time": lambda draft, _, field: range_from_wire(draft, "about_time", field),
    "key": lambda _, value, __: TypedKey(value.subject, value.attribute),
    "source": lambda _, value, field: SOURCES.from_wire(value, field),
    **{name: _moment(name) for name in _MOMENTS},
}
_READERS = {
    name: (f"{name.removesuffix('_time')}_us" if name in _MOMENTS else name, read)
    for name, read in _BY_NAME.items()
}
"""Names in `Fields`, and readers, of the fields of a draft, but for the kinds."""
_ELSEWHERE = frozenset({"content", "vector", "kind", "state_kind"})
if _READERS.keys() ^ types_pb2.MemoryDraft.DESCRIPTOR.fields_by_name.keys() ^ _ELSEWHERE:
    raise AssertionError("a field of MemoryDraft has no reader")


def fields_from_wire(draft: types_pb2.MemoryDraft, field: str = "memory") -> Fields:
    """Return the fields of a draft besides text and vector; absent fields have their defaults."""
    kind = KINDS.from_wire(draft.kind, f"{field}.kind", unset=Kind.STATE)
    state_kind = STATE_KINDS.from_wire(
        draft.state_kind,
        f"{field}.state_kind",
        unset=StateKind.FACT if kind is Kind.STATE else StateKind.NONE,
    )
    given: dict[str, Any] = {}
    # Most drafts have few of the fields: only those are looked at.
    for descriptor, value in draft.ListFields():
        known = _READERS.get(descriptor.name)
        if known is not None:
            name, read = known
            given[name] = read(draft, value, f"{field}.{descriptor.name}")
    return Fields(kind=kind, state_kind=state_kind, **given)


def remember_from_wire(
    request: memory_service_pb2.RememberRequest | memory_service_pb2.CheckRequest,
) -> Remember:
    """Return the command of a Remember or of a Check."""
    given = {descriptor.name: value for descriptor, value in request.ListFields()}
    required("memory" in given, "memory")
    draft: types_pb2.MemoryDraft = given["memory"]
    return Remember(
        agent_id=given.get("agent_id", ""),
        content=draft.content,
        fields=fields_from_wire(draft),
        vector=draft.vector,
        force=given.get("force", False),
        actions=actions_from_wire(given),
        supersede_ids=tuple(given.get("supersede_ids", ())),
        distinct_from=tuple(given.get("distinct_from", ())),
        cosine_distance_below=given.get("cosine_distance_below"),
        link_distance_below=given.get("link_distance_below"),
        links_max=given.get("links_max"),
    )


_ACTIONS = {
    "on_update": Verdict.UPDATE,
    "on_contradiction": Verdict.CONTRADICTION,
    "on_refinement": Verdict.REFINEMENT,
    "on_contained": Verdict.CONTAINED,
}


def actions_from_wire(given: Mapping[str, Any]) -> tuple[tuple[Verdict, Action], ...]:
    """Return the actions that stand in place of the collection's policy for one call.

    Parameters
    ----------
    given : mapping of str to value
        The fields of the request that are set.
    """
    return tuple(
        (verdict, ACTIONS.from_wire(given[name], name))
        for name, verdict in _ACTIONS.items()
        if name in given
    )


_update_from_wire = decoder(
    memory_service_pb2.UpdateRequest,
    Update,
    names={"mask": "update_mask"},
    without=("memory",),
    computed={
        "mask": lambda request, _: mask_from_wire(request.update_mask.paths),
        "fields": lambda request, _: fields_from_wire(request.memory),
        "content": lambda request, _: request.memory.content,
        "vector": lambda request, _: request.memory.vector,
    },
)


def update_from_wire(request: memory_service_pb2.UpdateRequest) -> Update:
    """Return the command of an Update."""
    required(request.HasField("memory"), "memory")
    return _update_from_wire(request)


forget_from_wire = decoder(memory_service_pb2.ForgetRequest, Forget, without=("dry_run", "filter"))
link_from_wire = decoder(
    memory_service_pb2.LinkRequest,
    LinkMemories,
    defaults={"type": LinkType.RELATED, "confidence": LINK_CONFIDENCE_DEFAULT},
)
unlink_from_wire = decoder(memory_service_pb2.UnlinkRequest, UnlinkMemories)


def forget_filter_from_wire(request: memory_service_pb2.ForgetRequest) -> Filter:
    """Return the conditions of a Forget by filter, which must be a dry run.

    Raises
    ------
    InvalidArgument
        MISSING_FIELD: no dry run. LIMIT_EXCEEDED: ids or expected revisions beside it.
    """
    if not request.dry_run:
        raise InvalidArgument(
            "MISSING_FIELD",
            field="dry_run",
            got="a filter without it",
            allowed="a dry run by filter, then what it shows by ids",
        )
    for name in ("ids", "expected_revisions"):
        if size := len(getattr(request, name)):
            raise InvalidArgument(
                "LIMIT_EXCEEDED", field=name, got=size, allowed="none beside a filter"
            )
    return filter_from_wire(request.filter)


def mask_from_wire(paths: Sequence[str]) -> tuple[str, ...]:
    """Return names for `Update.mask`, sorted, so that equal masks are equal commands.

    Raises
    ------
    InvalidArgument
        BAD_UPDATE_MASK: empty, an unknown field, one that cannot be changed, or more paths
        than there are fields.
    """
    wrong = [path for path in paths[: len(_MASK) + 1] if path not in _MASK]
    if wrong or not 0 < len(paths) <= len(_MASK):
        raise InvalidArgument(
            "BAD_UPDATE_MASK",
            field="update_mask",
            got=repr(wrong[0][:64]) if wrong else f"{len(paths)} paths",
            allowed=", ".join(sorted(_MASK)),
        )
    return tuple(sorted({_MASK[path] for path in paths}))


def field_to_wire(name: str) -> str:
    """Return the name in the contract of a field of a stored memory."""
    return name.removesuffix("_us") + "_time" if name.endswith("_us") else name


link_to_wire = encoder(Link, types_pb2.Link)
key_to_wire = encoder(TypedKey, types_pb2.TypedKey)


def _plain_into(name: str) -> _Setter:
    return lambda message, value: setattr(message, name, value)


def _list_into(name: str) -> _Setter:
    return lambda message, value: getattr(message, name).extend(value)


def _time_into(name: str) -> _Setter:
    return lambda message, value: time_into_wire(getattr(message, name), value)


def _message_into(name: str, to_wire: Callable[[Any], Message | None]) -> _Setter:
    return lambda message, value: getattr(message, name).CopyFrom(to_wire(value))


def _object_into(name: str) -> _Setter:
    return lambda message, value: getattr(message, name).MergeFromString(struct_bytes(value))


_SELDOM: dict[str, _Setter] = {
    "external_id": _plain_into("external_id"),
    "category": _plain_into("category"),
    "tags": _list_into("tags"),
    "attributes": _object_into("attributes"),
    "payload": _object_into("payload"),
    "emotion": _plain_into("emotion"),
    "perception_type": _plain_into("perception_type"),
    "life_stage": _plain_into("life_stage"),
    "session_id": _plain_into("session_id"),
    "thread_id": _plain_into("thread_id"),
    "entities": _list_into("entities"),
    "evidence_ids": _list_into("evidence_ids"),
    "about_time": _message_into("about_time", range_to_wire),
    "last_confirmed_us": _time_into("last_confirmed_time"),
    "done_us": _time_into("done_time"),
    "valid_from_us": _time_into("valid_from_time"),
    "valid_to_us": _time_into("valid_to_time"),
    "private": _plain_into("private"),
    "key": _message_into("key", key_to_wire),
    "namespace": _list_into("namespace"),
    "expires_after_s": _plain_into("expires_after_s"),
}
"""How fields are set that most memories have at their default, which the contract leaves out."""
_ALWAYS = frozenset(
    (
        *("kind", "state_kind", "source", "importance", "confidence", "salience"),
        *("created_us", "expires_us"),
    )
)
"""Fields that are set by hand; `created_us` is the memory's."""
if _SELDOM.keys() | _ALWAYS != set(Fields.__dataclass_fields__):
    raise MappingError("Memory: a field of the core goes nowhere")
_seldom = attrgetter(*_SELDOM)
_SELDOM_DEFAULTS = _seldom(_DEFAULTS)


def memory_into_wire(message: types_pb2.Memory, memory: Memory, include_vector: bool) -> None:
    """Fill an empty message with a stored memory as an answer shows it.

    The engine left out links that are hidden. In place, since building and copying costs twice.
    """
    fields = memory.fields
    message.id = memory.id
    message.content = memory.content
    message.content_hash = memory.content_hash
    if include_vector:
        message.vector = memory.vector
    message.kind = KINDS.to_wire(fields.kind)
    message.state_kind = STATE_KINDS.to_wire(fields.state_kind)
    message.source = SOURCES.to_wire(fields.source)
    message.importance = fields.importance
    message.confidence = fields.confidence
    message.salience = fields.salience
    message.agent_id = memory.agent_id
    time_into_wire(message.created_time, memory.created_us)
    time_into_wire(message.updated_time, memory.updated_us)
    if memory.last_access_us is not None:
        time_into_wire(message.last_access_time, memory.last_access_us)
    message.access_count = memory.access_count
    message.status = STATUSES.to_wire(memory.status)
    message.superseded_by = memory.superseded_by
    message.revision = memory.revision
    for link in memory.links:
        message.links.append(link_to_wire(link))
    ends_us = expires_us(fields, memory.last_access_us)
    if ends_us is not None:
        time_into_wire(message.expires_time, ends_us)
    values = _seldom(fields)
    if values != _SELDOM_DEFAULTS:
        for name, value, default in zip(_SELDOM, values, _SELDOM_DEFAULTS, strict=True):
            if value != default:
                _SELDOM[name](message, value)


@encodes(Memory, types_pb2.Memory)
def memory_to_wire(memory: Memory, include_vector: bool = False) -> types_pb2.Memory:
    """Return a stored memory as an answer shows it; see `memory_into_wire`."""
    message = types_pb2.Memory()
    memory_into_wire(message, memory, include_vector)
    return message


def _comparisons_from_wire(value: types_pb2.Filter, at: str) -> tuple[Comparison, ...]:
    """Return the comparisons of a filter, checked for their number before any is looked at."""
    field = f"{at}comparisons"
    if len(value.comparisons) > limits.COMPARISONS_MAX:
        raise over_limit(field, len(value.comparisons), limits.COMPARISONS_MAX)
    return tuple(
        Comparison(
            tuple(comparison.path),
            OPERATORS.from_wire(comparison.operator, f"{field}.operator"),
            value_from_wire(comparison, "value", f"{field}.value"),
        )
        for comparison in value.comparisons
    )


_filter_from_wire = decoder(
    types_pb2.Filter,
    Filter,
    computed={
        "comparisons": _comparisons_from_wire,
        # Only a status may be "not said": it means ACTIVE.
        "statuses": lambda value, at: STATUSES.list_from_wire(
            value.statuses, f"{at}statuses", unset=Status.ACTIVE
        ),
        "min_source": lambda value, at: SOURCES.from_wire(
            value.min_source, f"{at}min_source", unset=Source.EXTERNAL
        ),
    },
)


def filter_from_wire(value: types_pb2.Filter) -> Filter:
    """Return the conditions on memories; an empty message has none."""
    if not value.ByteSize():
        return NO_FILTER
    return _filter_from_wire(value, "filter.")
