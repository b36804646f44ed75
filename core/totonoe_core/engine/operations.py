"""Operations as an agent may see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from totonoe_core import limits
from totonoe_core.commands import OperationInfo
from totonoe_core.engine.state import CollectionState
from totonoe_core.records import LinkType, Memory
from totonoe_core.store.collection_file import Touched
from totonoe_core.store.history import OperationRow
from totonoe_core.store.reader import Rows


def may_see(memory: Memory, agent_id: str) -> bool:
    """Whether an agent may see a version of a memory: it is public, or the agent's own."""
    return not memory.fields.private or memory.agent_id == agent_id


def operation_info(
    state: CollectionState, rows: Rows, operation: OperationRow, agent_id: str
) -> OperationInfo | None:
    """An operation with what the agent may see of it; `None`: all it touched is hidden.

    A memory counts if the agent may see it now, and might see what it was before the operation
    (where that made it: what it was after). Of a purged one its empty row decides. A link counts
    if both ends do. What touched no memory and no link (settings) is seen by all.
    """
    return operation_infos(state, rows, [operation], agent_id)[0]


def operation_infos(
    state: CollectionState,  # noqa: ARG001 - as of every room
    rows: Rows,
    operations: Sequence[OperationRow],
    agent_id: str,
    seen_row: int | None = None,
) -> list[OperationInfo | None]:
    """The same for several operations; `seen_row` counts wherever it was touched."""
    undone_by = rows.history.undone_by([one.revision for one in operations])
    sight = _Sight(rows, agent_id, seen_row)
    return [sight.info(one, undone_by.get(one.revision, 0)) for one in operations]


@dataclass(frozen=True, slots=True)
class _Now:
    """What is kept of a memory as it is now."""

    id: str
    revision: int
    own: bool
    hidden: bool


class _Sight:
    """What an agent sees of operations; what memories are now is read once for all of them."""

    def __init__(self, rows: Rows, agent_id: str, seen_row: int | None) -> None:
        self._rows = rows
        self._agent_id = agent_id
        self._seen_row = seen_row
        self._now: dict[int, _Now] = {}

    def info(self, operation: OperationRow, undone_by: int) -> OperationInfo | None:
        touched = Touched.loads(operation.touched)
        pairs = {_pair(*one) for one in touched.links}
        ends = {row for source, target, _ in pairs for row in (source, target)}
        rows = dict.fromkeys([*touched.memories, *sorted(ends)])
        seen = self._seen(operation.revision, rows)
        memory_ids = [self._now[row].id for row in dict.fromkeys(touched.memories) if row in seen]
        link_count = sum(source in seen and target in seen for source, target, _ in pairs)
        episode_ids = [one for one in touched.episodes if self._sees_episode(one)]
        if touched and not (memory_ids or link_count or episode_ids or touched.settings):
            return None
        return OperationInfo(
            revision=operation.revision,
            operation_id=operation.operation_id,
            agent_id=operation.agent_id,
            kind=operation.kind,
            reason=operation.reason,
            time_us=operation.time_us,
            memory_ids=tuple(memory_ids[: limits.IDS_PER_REQUEST_MAX]),
            episode_ids=tuple(episode_ids),
            link_count=link_count,
            settings=touched.settings,
            undoes=operation.undoes or 0,
            undone_by=undone_by,
        )

    def _seen(self, revision: int, wanted: Iterable[int]) -> set[int]:
        """Those of some rows that the agent sees now and saw when an operation touched them."""
        wanted = list(wanted)
        self._read([row for row in wanted if row not in self._now])
        seen, others = set(), []
        for row in wanted:
            now = self._now.get(row)
            if now is None or now.hidden:
                continue
            if now.own or row == self._seen_row:
                seen.add(row)
            else:
                others.append(row)
        if not others:
            return seen
        before = self._rows.history.memory_images(revision)
        made = [row for row in others if row not in before]
        changed = [row for row in made if self._now[row].revision > revision]
        after = self._rows.history.memories_after(revision, changed)
        for row in others:
            version = before.get(row) or after.get(row)
            if version is None or may_see(version, self._agent_id):
                seen.add(row)
        return seen

    def _read(self, wanted: Sequence[int]) -> None:
        for row, memory in self._rows.memories(wanted).items():
            self._now[row] = _Now(
                memory.id,
                memory.revision,
                memory.agent_id == self._agent_id,
                not may_see(memory, self._agent_id),
            )

    def _sees_episode(self, episode_id: str) -> bool:
        episode = self._rows.episode(episode_id) or self._rows.history.last_episode(episode_id)
        if episode is None:
            return False
        return not episode.private or episode.agent_id == self._agent_id


def _pair(source: int, target: int, type_: str) -> tuple[int, int, str]:
    """One name for a link and its inverse."""
    return min((source, target, type_), (target, source, LinkType(type_).inverse.value))
