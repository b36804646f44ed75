"""Messages of what the calls about memories take, and what is read of a single Get."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from totonoe.call.arguments import fits
from totonoe.call.prepared import Caller
from totonoe.enums import LinkTypeWord
from totonoe.errors import NotFound
from totonoe.memories.drafts import Comparison, Draft
from totonoe.memories.models import Memory
from totonoe.v1 import memory_service_pb2 as memory_pb
from totonoe.v1 import types_pb2
from totonoe.wire.mapping import decoder, encode
from totonoe.wire.scalars import codec, encode_texts, encode_time, encode_value

_DRAFT_FIELDS = tuple(field.name for field in types_pb2.MemoryDraft.DESCRIPTOR.fields)


def encode_draft(draft: Draft) -> types_pb2.MemoryDraft:
    """The message of a new memory. `operation_id`, `force` and such belong to the request."""
    fits(draft, Draft)
    return encode(types_pb2.MemoryDraft, {name: getattr(draft, name) for name in _DRAFT_FIELDS})


def encode_filter(conditions: Mapping[str, Any]) -> types_pb2.Filter | None:
    """The message of a filter, `None` without conditions."""
    if not conditions:
        return None
    if "comparisons" in conditions:
        compared = [_encode_comparison(comparison) for comparison in conditions["comparisons"]]
        conditions = {**conditions, "comparisons": compared}
    return encode(types_pb2.Filter, conditions)


def _encode_comparison(value: Comparison) -> types_pb2.Comparison:
    """The message of a path, an operator and a value."""
    path, operator, compared = value
    keys = path.split(".") if isinstance(path, str) else encode_texts(path, "comparisons")
    word = _SIGNS.get(operator, operator)
    number: Any = codec(types_pb2.Operator.DESCRIPTOR).encode(word, "comparisons")
    return types_pb2.Comparison(
        path=keys, operator=number, value=encode_value(compared, "comparisons")
    )


_SIGNS = {"==": "eq", "!=": "ne", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}


def encode_as_of(value: int | datetime | None) -> types_pb2.AsOf | None:
    """The message of a revision or of a time; `None` for now."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return types_pb2.AsOf(time=encode_time(value, "as_of"))
    return types_pb2.AsOf(revision=value)


def item_request(
    caller: Caller, draft: Draft, collection: str | None = None
) -> memory_pb.RememberRequest:
    """The request of one Remember. The draft's own collection wins."""
    values = {
        "collection": collection if draft.collection is None else draft.collection,
        "operation_id": draft.operation_id,
        "agent_id": draft.agent_id,
        "memory": encode_draft(draft),
        "force": draft.force,
        "on_update": draft.on_update,
        "on_contradiction": draft.on_contradiction,
        "on_refinement": draft.on_refinement,
        "on_contained": draft.on_contained,
        "supersede_ids": draft.supersede_ids,
        "distinct_from": draft.distinct_from,
        "cosine_distance_below": draft.cosine_distance_below,
        "link_distance_below": draft.link_distance_below,
        "links_max": draft.links_max,
    }
    return caller.request(memory_pb.RememberRequest, values)


def type_of(link_type: LinkTypeWord | None) -> Any:
    """The number of a link's type. An error names the argument, which the field does not."""
    if link_type is None:
        return None
    return codec(types_pb2.LinkType.DESCRIPTOR).encode(link_type, "link_type")


def only_of(memory_id: str) -> Callable[[memory_pb.GetResponse], Memory]:
    """Makes the function that reads the answer to a Get of one id. It raises `NotFound`."""

    def only(answer: memory_pb.GetResponse) -> Memory:
        if not answer.memories:
            raise NotFound(
                f"memory {memory_id!r} not found", code="NOT_FOUND", reason="MEMORY_NOT_FOUND"
            )
        return decoder(Memory, types_pb2.Memory)(answer.memories[0])

    return only
