"""Changes of a collection as lines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from totonoe.words.text import snippet

if TYPE_CHECKING:
    from totonoe.watch.models import Change


def change_lines(change: Change) -> Iterator[str]:
    """Yield time, revision, agent, type, id and text of each memory and link of a change."""
    operation = change.operation
    begin = f"{_time(operation.time)}  {operation.revision:>6}  {operation.agent_id or '-'}  "
    reason = f" ({snippet(operation.reason)})" if operation.reason else ""
    for item in change.memories:
        text = f"  {snippet(item.memory.content)}" if item.memory is not None else ""
        if item.memory is not None and item.memory.superseded_by:
            text = f" by {item.memory.superseded_by}{text}"
        yield f"{begin}{item.type}  {item.memory_id}{text}{reason}"
    for link in change.links:
        what = "unlinked" if link.removed else "linked"
        note = f"  {snippet(link.link.note)}" if link.link.note else ""
        yield f"{begin}{what}  {link.source_id} {link.link.type} {link.link.target_id}{note}"
    if not (change.memories or change.links):
        settings = ["settings"] if operation.settings else []
        # Of a dismissed pair no memory changes, and the operation names both.
        about = ", ".join((*settings, *operation.episode_ids, *operation.memory_ids))
        yield f"{begin}{operation.kind}  {about}{reason}"


def _time(moment: datetime | None) -> str:
    return "-" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
