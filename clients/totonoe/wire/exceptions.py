"""The exceptions of the mapping: messages that field names alone cannot turn into a dataclass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from google.rpc import code_pb2

from totonoe.errors import TotonoeError, build
from totonoe.v1 import memory_service_pb2, reembed_pb2
from totonoe.wire.scalars import codec

M = TypeVar("M")
RETRY_DELAY_DETAIL = "retry_delay_ms"


def _reembed_stats(model: Callable[..., M], message: reembed_pb2.ReembedStats) -> M | None:
    """Figures of a re-embedding, its progress flattened; `None` if none is under way."""
    if not message.model:
        return None
    progress = message.progress
    return model(
        model=message.model,
        phase=codec(reembed_pb2.ReembedPhase.DESCRIPTOR).decode(progress.phase),
        done_count=progress.done_count,
        total_count=progress.total_count,
        per_second=progress.per_second,
        left_s=progress.left_s,
        failure=message.failure,
    )


def from_item(item: memory_service_pb2.ItemError) -> TotonoeError:
    """The exception for one failed item of a stream."""
    details = dict(item.details)
    known = item.code in code_pb2.Code.values()
    return build(
        code_pb2.Code.Name(item.code) if known else "UNKNOWN",
        item.message or item.reason,
        reason=item.reason,
        details=details,
        retry_delay_s=delay_of(details),
    )


def delay_of(details: Mapping[str, str]) -> float | None:
    """Seconds to wait before the next try, as the details of a failure say; `None`: not said."""
    try:
        return max(0.0, float(details[RETRY_DELAY_DETAIL]) / 1000.0)
    except (KeyError, ValueError):
        return None


DECODERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "totonoe.v1.ItemError": lambda _, message: from_item(message),
    "totonoe.v1.ReembedStats": _reembed_stats,
}
"""Functions that make the value of a message, by its full name, of annotation and message."""

LEFT_OUT: Mapping[str, set[str]] = {
    # A message without a change says the same.
    "totonoe.v1.WatchResponse": {"heartbeat"},
}
"""Fields that no dataclass takes, by the message's full name."""
