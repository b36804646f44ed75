"""What an operation touched, and what of it an agent may take back."""

from __future__ import annotations

from dataclasses import dataclass

from totonoe_core.engine.sight import may_see, sees_episode
from totonoe_core.records import LinkType, Memory, Status
from totonoe_core.store.aside import corrupt_memory
from totonoe_core.store.collection_file import Touched
from totonoe_core.store.history import OperationRow
from totonoe_core.store.reader import Rows

LinkKey = tuple[int, int, LinkType]
"""Source row, target row and type of a link as the source holds it; the inverse goes with it."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What an agent reaches of an operation.

    Attributes
    ----------
    rows : tuple of int
        Memories that were touched, hidden ones too.
    now, before : dict of int to Memory
        Every memory and link end as it is now, and the touched ones as they were before, by row
        number; of one that the operation made there is no `before`.
    visible : frozenset of int
        Rows that the agent may see, and might see before and after the operation.
    links : tuple of LinkKey
        Each link once, hidden ones too.
    episodes : tuple of str
        Those that the agent may see.
    dismissals : tuple of (int, int)
        Pairs of rows, hidden ones too.
    settings : bool
        Whether the settings were touched.
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
    """What an agent reaches of an operation. For the writer's thread.

    Raises `Corruption` if a memory that it touched is set aside: what to do with it is not known.
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
            # Of a purged one the empty row alone is left to decide.
            if row not in after:
                return False
            versions.append(after[row])
        return all(may_see(one, agent_id) for one in versions)

    return Reach(
        tuple(dict.fromkeys(touched.memories)),
        now,
        before,
        frozenset(row for row, memory in now.items() if visible(row, memory)),
        tuple(sorted(links)),
        tuple(one for one in dict.fromkeys(touched.episodes) if sees_episode(rows, one, agent_id)),
        tuple(dict.fromkeys(touched.dismissals)),
        touched.settings,
    )


def one_way(link: LinkKey) -> LinkKey:
    """The same for a link and for its inverse."""
    source, target, type_ = link
    return min(link, (target, source, type_.inverse))
