"""Messages of the memory service and their models, both ways side by side.

`encode_*` make messages of what callers hand in and raise `ValueError` or `TypeError` that
name the field; `decode_*` make models of answers and do not fail.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from google.protobuf import timestamp_pb2
from google.protobuf.message import Message

from totonoe import models, scalars
from totonoe.drafts import Draft
from totonoe.enums import (
    Action,
    DiversityEffect,
    Finding,
    Kind,
    LinkType,
    Method,
    RecallMode,
    StateKind,
    Status,
    Verdict,
)
from totonoe.scalars import EnumCodec
from totonoe.v1 import memory_service_pb2 as memory_pb
from totonoe.v1 import types_pb2

KIND = EnumCodec(Kind, types_pb2.Kind, "KIND_")
STATE_KIND = EnumCodec(StateKind, types_pb2.StateKind, "STATE_KIND_")
STATUS = EnumCodec(Status, types_pb2.Status, "STATUS_")
LINK_TYPE = EnumCodec(LinkType, types_pb2.LinkType, "LINK_TYPE_")
METHOD = EnumCodec(Method, types_pb2.Method, "METHOD_")
VERDICT = EnumCodec(Verdict, types_pb2.Verdict, "VERDICT_")
FINDING = EnumCodec(Finding, types_pb2.Finding, "FINDING_")
ACTION = EnumCodec(Action, types_pb2.Action, "ACTION_")
RECALL_MODE = EnumCodec(RecallMode, memory_pb.RecallMode, "RECALL_MODE_")
DIVERSITY_EFFECT = EnumCodec(DiversityEffect, memory_pb.DiversityEffect, "DIVERSITY_EFFECT_")

P = TypeVar("P", bound=Message)


# -- fields of drafts and filters


def encode_range(value: models.TimeRange, field: str) -> types_pb2.TimeRange:
    """The message of a stretch of time."""
    message = types_pb2.TimeRange()
    for name in ("from_time", "to_time"):
        moment: datetime | None = getattr(value, name)
        if moment is not None:
            getattr(message, name).CopyFrom(scalars.encode_time(moment, f"{field}.{name}"))
    return message


def _decode_range(message: types_pb2.TimeRange) -> models.TimeRange:
    return models.TimeRange(
        decode_optional_time(message, "from_time"), decode_optional_time(message, "to_time")
    )


def _encode_key(value: models.TypedKey | tuple[str, str], field: str) -> types_pb2.TypedKey:
    if isinstance(value, models.TypedKey):
        return types_pb2.TypedKey(subject=value.subject, attribute=value.attribute)
    if not (isinstance(value, tuple) and len(value) == 2):
        raise TypeError(f"{field}: expected subject and attribute, got {type(value).__name__}")
    return types_pb2.TypedKey(subject=value[0], attribute=value[1])


def _enum_list(codec: EnumCodec[Any]) -> Callable[[Any, str], list[int]]:
    def encode(values: Any, field: str) -> list[int]:
        return [codec.encode(value, field) for value in scalars.encode_texts(values, field)]

    return encode


def _as_is(value: Any, _field: str) -> Any:
    return value


# How each field of a draft or filter goes onto the wire; a field that is not named here
# is a scalar and goes as it is.
_ENCODERS: dict[str, Callable[[Any, str], Any]] = {
    "vector": lambda value, _field: scalars.encode_vector(value),
    "kind": KIND.encode,
    "state_kind": STATE_KIND.encode,
    "tags": scalars.encode_texts,
    "entities": scalars.encode_texts,
    "evidence_ids": scalars.encode_texts,
    "attributes": scalars.encode_struct,
    "payload": scalars.encode_struct,
    "about_time": encode_range,
    "key": _encode_key,
    "created_time": scalars.encode_time,
    "last_confirmed_time": scalars.encode_time,
    "done_time": scalars.encode_time,
    "valid_from_time": scalars.encode_time,
    "valid_to_time": scalars.encode_time,
    "kinds": _enum_list(KIND),
    "state_kinds": _enum_list(STATE_KIND),
    "statuses": _enum_list(STATUS),
    "categories": scalars.encode_texts,
    "agent_ids": scalars.encode_texts,
    "session_ids": scalars.encode_texts,
    "thread_ids": scalars.encode_texts,
    "created": encode_range,
    "updated": encode_range,
    "about": encode_range,
    "valid": encode_range,
}

_DRAFT_FIELDS = tuple(field.name for field in types_pb2.MemoryDraft.DESCRIPTOR.fields)


def _encode_fields(message_type: type[P], values: Mapping[str, Any]) -> P:
    """A message of the values that are not `None`. Raises `TypeError` for unknown names."""
    known = message_type.DESCRIPTOR.fields_by_name
    message = message_type()
    for name, value in values.items():
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}")
        if value is None:
            continue
        encoded = _ENCODERS.get(name, _as_is)(value, name)
        try:
            message.MergeFrom(message_type(**{name: encoded}))
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return message


def encode_draft(draft: Draft) -> types_pb2.MemoryDraft:
    """The message of a new memory. `operation_id`, `force` and such belong to the request."""
    values = {name: getattr(draft, name) for name in _DRAFT_FIELDS}
    return _encode_fields(types_pb2.MemoryDraft, values)


def encode_update(values: Mapping[str, Any]) -> tuple[types_pb2.MemoryDraft, list[str]]:
    """Message and mask of the fields to change; `None` names a field without a value."""
    return _encode_fields(types_pb2.MemoryDraft, values), sorted(values)


def encode_as_of(value: int | datetime | None) -> types_pb2.AsOf | None:
    """The message of a revision or of a time; `None` for now."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return types_pb2.AsOf(time=scalars.encode_time(value, "as_of"))
    if isinstance(value, bool) or not isinstance(value, int):
        got = type(value).__name__
        raise TypeError(f"as_of: got a {got}, allowed: a revision or an aware datetime")
    return types_pb2.AsOf(revision=value)


def encode_filter(values: Mapping[str, Any]) -> types_pb2.Filter | None:
    """The message of a filter, `None` without conditions."""
    return _encode_fields(types_pb2.Filter, values) if values else None


# -- memories and their parts


def decode_optional_time(message: Any, field: str) -> datetime | None:
    """The time in a field of a message, `None` if it is absent."""
    stamp: timestamp_pb2.Timestamp = getattr(message, field)
    return scalars.decode_time(stamp) if message.HasField(field) else None


def decode_link(message: types_pb2.Link) -> models.Link:
    """One direction of a link."""
    return models.Link(
        target_id=message.target_id,
        type=LINK_TYPE.decode(message.type),
        confidence=message.confidence,
        note=message.note,
    )


def decode_memory(message: types_pb2.Memory) -> models.Memory:
    """A stored memory."""
    vector: array[float] | None = scalars.decode_vector(message.vector)
    return models.Memory(
        id=message.id,
        external_id=message.external_id,
        content=message.content,
        content_hash=message.content_hash.hex(),
        vector=vector,
        kind=KIND.decode(message.kind),
        state_kind=STATE_KIND.decode_optional(message.state_kind),
        category=message.category,
        tags=tuple(message.tags),
        attributes=scalars.decode_struct(message.attributes),
        payload=scalars.decode_struct(message.payload),
        importance=message.importance,
        confidence=message.confidence,
        salience=message.salience,
        emotion=message.emotion,
        perception_type=message.perception_type,
        life_stage=message.life_stage,
        agent_id=message.agent_id,
        session_id=message.session_id,
        thread_id=message.thread_id,
        entities=tuple(message.entities),
        evidence_ids=tuple(message.evidence_ids),
        about_time=_decode_range(message.about_time) if message.HasField("about_time") else None,
        created_time=scalars.decode_time(message.created_time),
        updated_time=scalars.decode_time(message.updated_time),
        last_access_time=decode_optional_time(message, "last_access_time"),
        access_count=message.access_count,
        last_confirmed_time=decode_optional_time(message, "last_confirmed_time"),
        done_time=decode_optional_time(message, "done_time"),
        valid_from_time=decode_optional_time(message, "valid_from_time"),
        valid_to_time=decode_optional_time(message, "valid_to_time"),
        status=STATUS.decode(message.status),
        superseded_by=message.superseded_by,
        private=message.private,
        links=tuple(decode_link(link) for link in message.links),
        revision=message.revision,
        key=(
            models.TypedKey(message.key.subject, message.key.attribute)
            if message.HasField("key")
            else None
        ),
    )


# -- what the guard says


def decode_judgement(holder: Any) -> models.Judgement | None:
    """The field `judgement` of a message, `None` if it is absent."""
    if not holder.HasField("judgement"):
        return None
    message: types_pb2.Judgement = holder.judgement
    return models.Judgement(
        verdict=VERDICT.decode(message.verdict),
        confidence=message.confidence,
        evidence=tuple(
            models.Evidence(
                finding=FINDING.decode(one.finding),
                own=_span(one, "own"),
                other=_span(one, "other"),
                own_text=one.own_text,
                other_text=one.other_text,
            )
            for one in message.evidence
        ),
    )


def _span(evidence: types_pb2.Evidence, side: str) -> tuple[int, int] | None:
    span: types_pb2.Span = getattr(evidence, side)
    return (span.start, span.end) if evidence.HasField(side) else None


def decode_duplicate(answer: Any) -> models.Duplicate | None:
    """The field `duplicate` of an answer, `None` if it is absent."""
    if not answer.HasField("duplicate"):
        return None
    message: types_pb2.Duplicate = answer.duplicate
    return models.Duplicate(
        memory_id=message.memory_id,
        age=message.age,
        snippet=message.snippet,
        similarity=message.similarity,
        method=METHOD.decode(message.method),
        judgement=decode_judgement(message),
    )


def _decode_similar(message: types_pb2.SimilarMemory) -> models.Similar:
    return models.Similar(
        memory_id=message.memory_id,
        cosine_similarity=message.cosine_similarity,
        jaccard_similarity=message.jaccard_similarity,
        snippet=message.snippet,
        age=message.age,
        same_text=message.same_text,
        judgement=decode_judgement(message),
    )


def _decode_forgotten_match(answer: Any) -> models.ForgottenMatch | None:
    if not answer.HasField("forgotten"):
        return None
    message: types_pb2.ForgottenMatch = answer.forgotten
    return models.ForgottenMatch(
        memory_id=message.memory_id,
        age=message.age,
        snippet=message.snippet,
        reason=message.reason,
        agent_id=message.agent_id,
        revision=message.revision,
    )


def decode_layer(message: types_pb2.LayerReport) -> models.LayerReport:
    """What one layer of the guard did."""
    has_best = message.HasField("best_similarity")
    return models.LayerReport(
        layer=METHOD.decode(message.layer),
        ran=message.ran,
        skipped_because=message.skipped_because,
        best_similarity=message.best_similarity if has_best else None,
    )


# -- answers


def decode_remembered(answer: memory_pb.RememberResponse) -> models.Remembered:
    """Answer of Remember."""
    return models.Remembered(
        saved=answer.saved,
        memory_id=answer.memory_id,
        duplicate=decode_duplicate(answer),
        method=METHOD.decode(answer.method),
        similarity=answer.similarity,
        similar=tuple(_decode_similar(item) for item in answer.similar),
        links=tuple(decode_link(item) for item in answer.links),
        layers=tuple(decode_layer(item) for item in answer.layers),
        verdict=VERDICT.decode_optional(answer.verdict),
        superseded_ids=tuple(answer.superseded_ids),
        grown_id=answer.grown_id,
        forgotten=_decode_forgotten_match(answer),
        revision=answer.revision,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_checked(answer: memory_pb.CheckResponse) -> models.Checked:
    """Answer of Check."""
    return models.Checked(
        would_save=answer.would_save,
        duplicate=decode_duplicate(answer),
        method=METHOD.decode(answer.method),
        similarity=answer.similarity,
        similar=tuple(_decode_similar(item) for item in answer.similar),
        layers=tuple(decode_layer(item) for item in answer.layers),
        verdict=VERDICT.decode_optional(answer.verdict),
        grown_id=answer.grown_id,
        forgotten=_decode_forgotten_match(answer),
        revision=answer.revision,
    )


def _decode_hit(hit: memory_pb.Hit) -> models.Hit:
    return models.Hit(
        memory=decode_memory(hit.memory),
        cosine_similarity=hit.cosine_similarity if hit.HasField("cosine_similarity") else None,
        lexical_similarity=hit.lexical_similarity if hit.HasField("lexical_similarity") else None,
        vector_rank=hit.vector_rank,
        lexical_rank=hit.lexical_rank,
        fused_rank=hit.fused_rank,
        diversity=DIVERSITY_EFFECT.decode(hit.diversity),
        effective_confidence=hit.effective_confidence,
    )


def decode_recalled(answer: memory_pb.RecallResponse) -> models.Recalled:
    """Answer of Recall."""
    return models.Recalled(
        hits=tuple(_decode_hit(hit) for hit in answer.hits),
        arms=tuple(answer.arms),
        degraded_because=answer.degraded_because,
        vector_search=answer.vector_search,
        filtered_count=answer.filtered_count,
        as_of_revision=answer.as_of_revision,
        revision=answer.revision,
    )


def decode_found(answer: memory_pb.GetResponse) -> models.Found:
    """Answer of Get."""
    return models.Found(
        memories=tuple(decode_memory(memory) for memory in answer.memories),
        missing_ids=tuple(answer.missing_ids),
        redirects=dict(answer.redirects),
        as_of_revision=answer.as_of_revision,
        revision=answer.revision,
    )


def decode_page(answer: memory_pb.ListResponse) -> models.Page:
    """Answer of List."""
    return models.Page(
        memories=tuple(decode_memory(memory) for memory in answer.memories),
        next_page_token=answer.next_page_token,
        as_of_revision=answer.as_of_revision,
        revision=answer.revision,
    )


def decode_updated(answer: memory_pb.UpdateResponse) -> models.Updated:
    """Answer of Update."""
    return models.Updated(
        updated=answer.updated,
        memory=decode_memory(answer.memory),
        duplicate=decode_duplicate(answer),
        layers=tuple(decode_layer(item) for item in answer.layers),
        revision=answer.revision,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_forgotten(answer: memory_pb.ForgetResponse) -> models.Forgotten:
    """Answer of Forget."""
    return models.Forgotten(
        forgotten=tuple(decode_memory(memory) for memory in answer.forgotten),
        missing_ids=tuple(answer.missing_ids),
        unlinked_count=answer.unlinked_count,
        matching_count=answer.matching_count,
        dry_run=answer.dry_run,
        revision=answer.revision,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_linked(answer: memory_pb.LinkResponse) -> models.Linked:
    """Answer of Link."""
    return models.Linked(
        link=decode_link(answer.link),
        inverse=decode_link(answer.inverse),
        created=answer.created,
        revision=answer.revision,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_unlinked(answer: memory_pb.UnlinkResponse) -> models.Unlinked:
    """Answer of Unlink."""
    return models.Unlinked(
        removed=tuple(decode_link(link) for link in answer.removed),
        revision=answer.revision,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )
