"""The exceptions of the mapping: messages that field names alone cannot turn into a dataclass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from totonoe.collections.models import ReembedStats
from totonoe.errors import TotonoeError
from totonoe.v1 import memory_service_pb2, reembed_pb2
from totonoe.wire.scalars import codec


def _reembed_stats(message: reembed_pb2.ReembedStats) -> ReembedStats | None:
    """Figures of a re-embedding, its progress flattened; `None` if none is under way."""
    if not message.model:
        return None
    progress = message.progress
    return ReembedStats(
        model=message.model,
        phase=codec(reembed_pb2.ReembedPhase.DESCRIPTOR).decode(progress.phase),
        done_count=progress.done_count,
        total_count=progress.total_count,
        per_second=progress.per_second,
        left_s=progress.left_s,
        failure=message.failure,
    )


def _item_error(message: memory_service_pb2.ItemError) -> TotonoeError:
    """The exception for a failed item."""
    # It is built like the exceptions of failed calls, by a module that needs this package.
    from totonoe.call.status import from_item

    return from_item(message)


DECODERS: Mapping[str, Callable[[Any], Any]] = {
    "totonoe.v1.ItemError": _item_error,
    "totonoe.v1.ReembedStats": _reembed_stats,
}
"""Functions that make the value of a message, by its full name."""

LEFT_OUT: Mapping[str, set[str]] = {
    # A message without a change says the same.
    "totonoe.v1.WatchResponse": {"heartbeat"},
}
"""Fields that no dataclass takes, by the message's full name."""
