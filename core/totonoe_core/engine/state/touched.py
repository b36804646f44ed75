"""Rows touched by an operation, and the part that an agent may undo."""

from __future__ import annotations

from dataclasses import dataclass

from totonoe_core.domain.records import LinkType, Memory, Status
from totonoe_core.engine.state.sight import may_see, sees_episode
from totonoe_core.store.aside import corrupt_memory
from totonoe_core.store.records import OperationRow, Touched
from totonoe_core.store.seam import Rows

LinkKey = tuple[int, int, LinkType]
"""Source row, target row and type of a link as the source holds it; the inverse goes with it."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The part of an operation that an agent reaches.

    Attributes
    ----------
    rows : tuple of int
        Touched memories, with hidden ones.
    now, before : dict of int to Memory
        Every memory and link end as it is now, and touched ones as they were before, by row
        number; a memory that the operation made has no `before`.
    visible : frozenset of int
        Rows that the agent may see, and might see before and after the operation.
    links : tuple of LinkKey
        Each link once, hidden ones too.
    episodes : tuple of str
        Episodes that the agent may see.
    dismissals : tuple of (int, int)
        Pairs of rows, hidden ones too.
    settings : bool
        True if the settings were touched.
    """

    rows: tuple[int, ...]
    now: dict[int, Memory]
    before: dict[int, Memory]
    visible: frozenset[int]
    links: tuple[LinkKey, ...]
    episodes: tuple[str, ...]
    dismissals: tuple[tuple[int, int], ...]
    settings: bool

    def __bool__(self) -> bool:
        return (
            self.settings
            or bool(self.episodes)
            or not self.visible.isdisjoint(self.rows)
            or any(self.visible.issuperset(link[:2]) for link in self.links)
            or any(map(self.visible.issuperset, self.dismissals))
        )


def reach(rows: Rows, operation: OperationRow, agent_id: str) -> Reach:
    """Return the part of an operation that an agent reaches. For the writer's thread.

    Raises `Corruption` if it touched a memory that is set aside, whose state is unknown.
    """
    history, revision = rows.history, operation.revision
    touched = Touched.loads(operation.touched)
    links = {one_way((source, target, LinkType(type_))) for source, target, type_ in touched.links}
    wanted = dict.fromkeys(touched.memories)
    wanted |= dict.fromkeys(sorted(row for link in links for row in link[:2]))
    wanted |= dict.fromkeys(row for pair in touched.dismissals for row in pair)
    for row in wanted:
        bad = rows.aside.get(row)
        if bad is not None and bad.may_be_known_to(agent_id):
            raise corrupt_memory(row)
    now = rows.memories(list(wanted))
    before = history.memory_images(revision)
    changed = [row for row, memory in now.items() if memory.revision > revision]
    after = history.memories_after(revision, changed)

    def visible(row: int, memory: Memory) -> bool:
        versions = [memory, before.get(row, memory)]
        if memory.revision > revision and memory.status is not Status.PURGED:
            # For a purged memory only the empty row can decide.
            if row not in after:
                return False
            versions.append(after[row])
        return all(may_see(version, agent_id) for version in versions)

    return Reach(
        tuple(dict.fromkeys(touched.memories)),
        now,
        before,
        frozenset(row for row, memory in now.items() if visible(row, memory)),
        tuple(sorted(links)),
        tuple(
            episode_id
            for episode_id in dict.fromkeys(touched.episodes)
            if sees_episode(rows, episode_id, agent_id)
        ),
        tuple(dict.fromkeys(touched.dismissals)),
        touched.settings,
    )


def one_way(link: LinkKey) -> LinkKey:
    """Return the same key for a link and for its inverse."""
    source, target, type_ = link
    return min(link, (target, source, type_.inverse))
