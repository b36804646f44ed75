"""Sight of operations: what an agent may see of each.

A memory of an operation counts if the agent may see it now, and might see its version before (for a
new one: after). For a purged one its empty row decides. A link counts if both ends do, and so does
a dismissed pair. An operation that touched none of these (settings) is visible to all. If nothing
of an operation counts, neither its id nor its reason is shown: it is in no list.

ListOperations, History and Undo read their inputs here; Watch, where many read the same operation,
passes rows that it has read before (`engine/state/recent.py`). The rule is `counts`, and `info_of`
builds the answer, for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from totonoe_core.base import limits
from totonoe_core.domain.records import LinkType, Memory
from totonoe_core.domain.undo import OperationInfo
from totonoe_core.engine.state.sight import may_see, sees_episode
from totonoe_core.store.records import OperationRow, Touched
from totonoe_core.store.seam import Rows


def counts(seen_now: bool, before: Memory | None, after: Memory | None, agent_id: str) -> bool:
    """Return whether a memory counts; `before` and `after` are its versions, if they exist."""
    version = before or after
    return seen_now and (version is None or may_see(version, agent_id))


def pairs_of(links: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, LinkType]]:
    """Return each touched pair once, in the direction in which it was touched first."""
    found: dict[tuple[int, int, LinkType], None] = {}
    for source, target, name in links:
        type_ = LinkType(name)
        if (target, source, type_.inverse) not in found:
            found[source, target, type_] = None
    return list(found)


def info_of(
    operation: OperationRow,
    touched: Touched,
    undone_by: int,
    memory_ids: Sequence[str],
    episode_ids: Sequence[str],
    link_count: int,
) -> OperationInfo:
    """Return an operation with those parts that count."""
    is_open = bool(memory_ids or episode_ids or link_count or touched.settings)
    return OperationInfo(
        revision=operation.revision,
        operation_id=operation.operation_id if is_open else "",
        agent_id=operation.agent_id,
        kind=operation.kind,
        reason=operation.reason if is_open else "",
        time_us=operation.time_us,
        memory_ids=tuple(memory_ids[: limits.IDS_PER_REQUEST_MAX]),
        episode_ids=tuple(episode_ids),
        link_count=link_count,
        settings=touched.settings,
        undoes=operation.undoes or 0,
        undone_by=undone_by,
    )


def operation_info(rows: Rows, operation: OperationRow, agent_id: str) -> OperationInfo | None:
    """Return an operation as the agent may see it; `None` if nothing of it counts."""
    return next(operation_infos(rows, [operation], agent_id))


def operation_infos(
    rows: Rows,
    operations: Sequence[OperationRow],
    agent_id: str,
    *,
    of_seen: bool = False,
) -> Iterator[OperationInfo | None]:
    """Yield several operations as the agent may see them.

    Each is read when its turn comes, for one of an Import touches hundreds of memories.
    With `of_seen` the answer shows other parts of each, so that none is left out; one of which
    nothing counts lacks id and reason.
    """
    undone_by = rows.history.undone_by([row.revision for row in operations])
    reading = _Reading(rows, agent_id, of_seen)
    for row in operations:
        yield reading.info(row, undone_by.get(row.revision, 0))


class _MemoryNow(NamedTuple):
    """The kept part of a memory as it is now."""

    id: str
    revision: int
    own: bool
    seen: bool


class _Reading:
    """Reads of an agent's sight of operations, with each present memory read once."""

    def __init__(self, rows: Rows, agent_id: str, of_seen: bool) -> None:
        self._rows = rows
        self._agent_id = agent_id
        self._of_seen = of_seen
        self._now: dict[int, _MemoryNow] = {}

    def info(self, operation: OperationRow, undone_by: int) -> OperationInfo | None:
        touched = Touched.loads(operation.touched)
        pairs = pairs_of(touched.links)
        ends = {row for source, target, _ in pairs for row in (source, target)}
        memories = dict.fromkeys(touched.memories)
        dismissed = dict.fromkeys(row for pair in touched.dismissals for row in pair)
        every = memories | dict.fromkeys(sorted(ends)) | dismissed
        counting = self._counting(operation.revision, every)
        named = dict.fromkeys(row for row in memories if row in counting)
        for pair in touched.dismissals:
            if counting.issuperset(pair):
                named |= dict.fromkeys(pair)
        memory_ids = [self._now[row].id for row in named]
        link_count = sum(counting.issuperset(pair[:2]) for pair in pairs)
        episode_ids = [
            episode_id
            for episode_id in dict.fromkeys(touched.episodes)
            if sees_episode(self._rows, episode_id, self._agent_id)
        ]
        nothing = not (memory_ids or link_count or episode_ids or touched.settings)
        if nothing and not self._of_seen:
            return None
        return info_of(operation, touched, undone_by, memory_ids, episode_ids, link_count)

    def _counting(self, revision: int, wanted: Iterable[int]) -> set[int]:
        """Return those of some rows that count."""
        wanted = list(wanted)
        self._read([row for row in wanted if row not in self._now])
        now = {row: self._now[row] for row in wanted if row in self._now}
        others = [row for row, touch in now.items() if touch.seen and not touch.own]
        # An agent sees every version of its own memories.
        own = {row for row, touch in now.items() if touch.own}
        if not others:
            return own
        before = self._rows.history.memory_images(revision)
        changed = [row for row in others if row not in before and now[row].revision > revision]
        after = self._rows.history.memories_after(revision, changed)
        return own.union(
            row for row in others if counts(True, before.get(row), after.get(row), self._agent_id)
        )

    def _read(self, wanted: Sequence[int]) -> None:
        for row, memory in self._rows.memories(wanted).items():
            own = memory.agent_id == self._agent_id
            self._now[row] = _MemoryNow(
                memory.id, memory.revision, own, may_see(memory, self._agent_id)
            )
