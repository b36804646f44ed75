"""Memories, drafts, links and filters: wire <-> records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from totonoe.v1 import memory_service_pb2, types_pb2
from totonoe_core import limits
from totonoe_core.commands import Forget, Remember, Update
from totonoe_core.errors import InvalidArgument
from totonoe_core.guard.policy import Action
from totonoe_core.queries import Filter
from totonoe_core.records import (
    Fields,
    Kind,
    Link,
    Memory,
    StateKind,
    Status,
    TypedKey,
    Verdict,
)
from totonoe_server.codec import (
    ACTIONS,
    KINDS,
    LINK_TYPES,
    STATE_KINDS,
    STATUSES,
    range_from_wire,
    range_to_wire,
    required,
    struct_from_wire,
    struct_to_wire,
    time_from_wire,
    time_to_wire,
)

_DEFAULTS = Fields()
_MASK = {
    name: name.removesuffix("_time") + "_us" if name.endswith("_time") else name
    for name in types_pb2.MemoryDraft.DESCRIPTOR.fields_by_name
    if name not in ("kind", "created_time", "key")
} | {"about_time": "about_time"}
"""Path of an update mask -> name that `commands.Update.mask` uses."""


def fields_from_wire(draft: types_pb2.MemoryDraft, field: str = "memory") -> Fields:
    """What a draft says besides text and vector; what it leaves out has its default."""
    kind = KINDS.from_wire(draft.kind, f"{field}.kind", unset=Kind.STATE)
    return Fields(
        external_id=draft.external_id,
        kind=kind,
        state_kind=STATE_KINDS.from_wire(
            draft.state_kind,
            f"{field}.state_kind",
            unset=StateKind.FACT if kind is Kind.STATE else StateKind.NONE,
        ),
        category=draft.category,
        # Repeats are folded and the first place counts, so that order survives.
        tags=tuple(dict.fromkeys(draft.tags)),
        attributes=struct_from_wire(draft, "attributes", f"{field}.attributes"),
        payload=struct_from_wire(draft, "payload", f"{field}.payload", limits.PAYLOAD_BYTES_MAX),
        importance=draft.importance if draft.HasField("importance") else _DEFAULTS.importance,
        confidence=draft.confidence if draft.HasField("confidence") else _DEFAULTS.confidence,
        salience=draft.salience if draft.HasField("salience") else _DEFAULTS.salience,
        emotion=draft.emotion,
        perception_type=draft.perception_type,
        life_stage=draft.life_stage,
        session_id=draft.session_id,
        thread_id=draft.thread_id,
        entities=tuple(dict.fromkeys(draft.entities)),
        evidence_ids=tuple(draft.evidence_ids),
        about_time=range_from_wire(draft, "about_time", f"{field}.about_time"),
        created_us=time_from_wire(draft, "created_time", f"{field}.created_time"),
        last_confirmed_us=time_from_wire(
            draft, "last_confirmed_time", f"{field}.last_confirmed_time"
        ),
        done_us=time_from_wire(draft, "done_time", f"{field}.done_time"),
        valid_from_us=time_from_wire(draft, "valid_from_time", f"{field}.valid_from_time"),
        valid_to_us=time_from_wire(draft, "valid_to_time", f"{field}.valid_to_time"),
        private=draft.private,
        key=TypedKey(draft.key.subject, draft.key.attribute) if draft.HasField("key") else None,
    )


def remember_from_wire(
    request: memory_service_pb2.RememberRequest | memory_service_pb2.CheckRequest,
) -> Remember:
    """The command of a Remember or of a Check."""
    required(request.HasField("memory"), "memory")
    return Remember(
        agent_id=request.agent_id,
        content=request.memory.content,
        fields=fields_from_wire(request.memory),
        vector=request.memory.vector,
        force=isinstance(request, memory_service_pb2.RememberRequest) and request.force,
        actions=actions_from_wire(request),
        supersede_ids=tuple(request.supersede_ids),
    )


def actions_from_wire(
    request: memory_service_pb2.RememberRequest | memory_service_pb2.CheckRequest,
) -> tuple[tuple[Verdict, Action], ...]:
    """What this call does in place of the collection's policy; a Check has nothing to do."""
    if isinstance(request, memory_service_pb2.CheckRequest):
        return ()
    named = (
        (Verdict.UPDATE, request.on_update, "on_update"),
        (Verdict.CONTRADICTION, request.on_contradiction, "on_contradiction"),
        (Verdict.REFINEMENT, request.on_refinement, "on_refinement"),
    )
    return tuple(
        (verdict, ACTIONS.from_wire(number, field)) for verdict, number, field in named if number
    )


def update_from_wire(request: memory_service_pb2.UpdateRequest) -> Update:
    """The command of an Update."""
    required(request.HasField("memory"), "memory")
    return Update(
        agent_id=request.agent_id,
        memory_id=request.memory_id,
        mask=mask_from_wire(request.update_mask.paths),
        fields=fields_from_wire(request.memory),
        content=request.memory.content,
        vector=request.memory.vector,
        expected_revision=request.expected_revision,
        reason=request.reason,
        force=request.force,
    )


def forget_from_wire(request: memory_service_pb2.ForgetRequest) -> Forget:
    """The command of a Forget by ids."""
    return Forget(
        agent_id=request.agent_id,
        ids=tuple(request.ids),
        reason=request.reason,
        expected_revisions=revisions_from_wire(request.expected_revisions),
    )


def forget_filter_from_wire(request: memory_service_pb2.ForgetRequest) -> Filter:
    """The conditions of a Forget by filter, which only tells what it would find.

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


def revisions_from_wire(revisions: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """A map from ids to revisions, in one order, so that equal maps are equal commands."""
    return tuple(sorted(revisions.items()))


def mask_from_wire(paths: Sequence[str]) -> tuple[str, ...]:
    """Names for `commands.Update.mask`, sorted, so that equal masks are equal commands.

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
    """Name in the contract of a field of a stored memory."""
    return name.removesuffix("_us") + "_time" if name.endswith("_us") else name


def memory_to_wire(memory: Memory, include_vector: bool = False) -> types_pb2.Memory:
    """A stored memory as an answer shows it. The engine left out the links not to be seen."""
    fields = memory.fields
    return types_pb2.Memory(
        id=memory.id,
        external_id=fields.external_id,
        content=memory.content,
        content_hash=memory.content_hash,
        vector=memory.vector if include_vector else b"",
        kind=KINDS.to_wire(fields.kind),
        state_kind=STATE_KINDS.to_wire(fields.state_kind),
        category=fields.category,
        tags=fields.tags,
        attributes=struct_to_wire(fields.attributes),
        payload=struct_to_wire(fields.payload),
        importance=fields.importance,
        confidence=fields.confidence,
        salience=fields.salience,
        emotion=fields.emotion,
        perception_type=fields.perception_type,
        life_stage=fields.life_stage,
        agent_id=memory.agent_id,
        session_id=fields.session_id,
        thread_id=fields.thread_id,
        entities=fields.entities,
        evidence_ids=fields.evidence_ids,
        about_time=range_to_wire(fields.about_time),
        created_time=time_to_wire(memory.created_us),
        updated_time=time_to_wire(memory.updated_us),
        last_access_time=time_to_wire(memory.last_access_us),
        access_count=memory.access_count,
        last_confirmed_time=time_to_wire(fields.last_confirmed_us),
        done_time=time_to_wire(fields.done_us),
        valid_from_time=time_to_wire(fields.valid_from_us),
        valid_to_time=time_to_wire(fields.valid_to_us),
        status=STATUSES.to_wire(memory.status),
        superseded_by=memory.superseded_by,
        private=fields.private,
        links=[link_to_wire(link) for link in memory.links],
        revision=memory.revision,
        key=key_to_wire(fields.key),
    )


def key_to_wire(key: TypedKey | None) -> types_pb2.TypedKey | None:
    """A typed key; none stays absent."""
    if key is None:
        return None
    return types_pb2.TypedKey(subject=key.subject, attribute=key.attribute)


def link_to_wire(link: Link) -> types_pb2.Link:
    """One direction of a link."""
    return types_pb2.Link(
        target_id=link.target_id,
        type=LINK_TYPES.to_wire(link.type),
        confidence=link.confidence,
        note=link.note,
    )


def filter_from_wire(value: types_pb2.Filter) -> Filter:
    """Conditions on memories. Only a status may be "not said": it means ACTIVE."""
    return Filter(
        kinds=KINDS.list_from_wire(value.kinds, "filter.kinds"),
        state_kinds=STATE_KINDS.list_from_wire(value.state_kinds, "filter.state_kinds"),
        categories=tuple(value.categories),
        tags=tuple(value.tags),
        agent_ids=tuple(value.agent_ids),
        session_ids=tuple(value.session_ids),
        thread_ids=tuple(value.thread_ids),
        statuses=STATUSES.list_from_wire(value.statuses, "filter.statuses", unset=Status.ACTIVE),
        created=range_from_wire(value, "created", "filter.created"),
        updated=range_from_wire(value, "updated", "filter.updated"),
        about=range_from_wire(value, "about", "filter.about"),
        valid=range_from_wire(value, "valid", "filter.valid"),
        min_confidence=value.min_confidence,
        min_importance=value.min_importance,
        attributes=struct_from_wire(value, "attributes", "filter.attributes"),
        entities=tuple(value.entities),
    )
