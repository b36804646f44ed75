"""What an agent may see of an operation: its memories, links and episodes, now and then."""

from __future__ import annotations

from dataclasses import dataclass

from totonoe_core import limits
from totonoe_core.commands import OperationInfo
from totonoe_core.records import Episode, LinkType, Memory, Status
from totonoe_core.store.collection_file import Touched
from totonoe_core.store.history import OperationRow
from totonoe_core.store.reader import Rows

LinkKey = tuple[int, int, LinkType]
"""Source row, target row and type of a link as the source holds it; the inverse goes with it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What an operation touched.

    `now` has every memory and every link end as it is now, by row number; `visible` are those
    that the agent may see, and might see right after the operation. `pairs` are all of the links,
    each once; `episodes` the ids of the visible ones.
    """

    touched: Touched
    now: dict[int, Memory]
    visible: frozenset[int]
    pairs: tuple[LinkKey, ...]
    episodes: tuple[str, ...]

    def both_visible(self, pair: LinkKey) -> bool:
        """Whether the agent may see both ends of a link."""
        return pair[0] in self.visible and pair[1] in self.visible

    def __bool__(self) -> bool:
        return (
            self.touched.settings
            or bool(self.episodes)
            or any(row in self.visible for row in self.touched.memories)
            or any(self.both_visible(pair) for pair in self.pairs)
        )


def may_see(one: Memory | Episode, agent_id: str) -> bool:
    """Whether a memory or episode is public, or the agent's own."""
    private = one.fields.private if isinstance(one, Memory) else one.private
    return not private or one.agent_id == agent_id


def unordered(pair: LinkKey) -> LinkKey:
    """The same for a link and for its inverse."""
    source, target, type_ = pair
    return min(pair, (target, source, type_.inverse))


def seen(rows: Rows, operation: OperationRow, agent_id: str) -> Seen:
    """What an operation touched, and what of it an agent may see."""
    touched = Touched.loads(operation.touched)
    pairs: dict[LinkKey, LinkKey] = {}
    for source, target, type_ in touched.links:
        pair = source, target, LinkType(type_)
        pairs.setdefault(unordered(pair), pair)
    ends = (row for source, target, _ in pairs for row in (source, target))
    now = rows.memories(list(dict.fromkeys([*touched.memories, *ends])))
    later = [row for row, memory in now.items() if memory.revision > operation.revision]
    then = rows.history.memories_after(operation.revision, later)
    visible = {
        row
        for row, memory in now.items()
        if may_see(memory, agent_id)
        # Of a purged one nothing is left to be hidden.
        and (
            memory.revision <= operation.revision
            or memory.status is Status.PURGED
            or (row in then and may_see(then[row], agent_id))
        )
    }
    return Seen(
        touched,
        now,
        frozenset(visible),
        tuple(pairs.values()),
        tuple(one for one in dict.fromkeys(touched.episodes) if _shows(rows, one, agent_id)),
    )


def _shows(rows: Rows, episode_id: str, agent_id: str) -> bool:
    now = rows.episode(episode_id)
    versions = [now] if now is not None else rows.history.episode_versions(episode_id)
    return bool(versions) and may_see(versions[-1], agent_id)


def operation_info(rows: Rows, operation: OperationRow, agent_id: str) -> OperationInfo | None:
    """An operation as an agent may see it; `None` if all that it touched is hidden from it."""
    return info_of(rows, operation, seen(rows, operation, agent_id))


def info_of(rows: Rows, operation: OperationRow, found: Seen) -> OperationInfo | None:
    """The same of what was seen already."""
    if not found:
        return None
    memory_ids = [
        found.now[row].id for row in dict.fromkeys(found.touched.memories) if row in found.visible
    ]
    return OperationInfo(
        revision=operation.revision,
        operation_id=operation.operation_id,
        agent_id=operation.agent_id,
        kind=operation.kind,
        reason=operation.reason,
        time_us=operation.time_us,
        memory_ids=tuple(memory_ids[: limits.IDS_PER_REQUEST_MAX]),
        episode_ids=found.episodes,
        link_count=sum(found.both_visible(pair) for pair in found.pairs),
        settings=found.touched.settings,
        undoes=operation.undoes or 0,
        undone_by=rows.history.undone_by([operation.revision]).get(operation.revision, 0),
    )
