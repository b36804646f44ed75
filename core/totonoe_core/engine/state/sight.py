"""Sight: another agent's private memory appears not to exist.

    may_see      one version of a memory     now, then, before or after an operation
    Sight        present memories            by rows and ids, for one answer

All answers decide by these two. A past version is shown if the memory may be seen now and might be
seen then. An answer names no hidden memory: links, `superseded_by` and evidence that refer to one
are left out. Evidence by external id stays: it is a name, and does not reveal whether a memory has
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from totonoe_core.domain.records import Episode, Memory, Status
from totonoe_core.index.arrays import STATUSES
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.store.seam import Rows

_PURGED = STATUSES[Status.PURGED]


def may_see(memory: Memory, agent_id: str) -> bool:
    """Return whether an agent may see a version of a memory: it is public, or the agent's own."""
    return not memory.fields.private or memory.agent_id == agent_id


def may_see_episode(episode: Episode, agent_id: str) -> bool:
    """Return whether an agent may see an episode."""
    return not episode.private or episode.agent_id == agent_id


def sees_episode(rows: Rows, episode_id: str, agent_id: str) -> bool:
    """Return whether an agent may see an episode that an operation touched, deleted or not."""
    episode = rows.episode(episode_id) or rows.history.last_episode(episode_id)
    return episode is not None and may_see_episode(episode, agent_id)


def seen_by(rows: Rows, agent_id: str, ids: Sequence[str], *, purged: bool) -> list[str]:
    """Return ids whose memory an agent may see, or might if it were not purged.

    With `purged`, only those of tombstones.
    """
    out = []
    for memory_id in ids:
        row = rows.row_of_id(memory_id)
        memory = None if row is None else rows.memories([row]).get(row)
        if memory is None or not may_see(memory, agent_id):
            continue
        if not purged or memory.status is Status.PURGED:
            out.append(memory_id)
    return out


class Sight:
    """An agent's sight of present memories. For one answer; on any thread.

    It uses the columns of published slots; memories without one are read from `rows`, which on the
    writer's thread include decided changes.
    """

    def __init__(self, index: CollectionIndex, rows: Rows, agent_id: str) -> None:
        self._index = index
        self._rows = rows
        self._agent_id = agent_id
        self._view = index.view()
        self._agent = index.arrays.agents.find(agent_id)
        self._known: dict[int, bool] = {}

    def sees(self, row: int) -> bool:
        """Return whether the agent sees the memory of a row; each row is looked up once."""
        known = self._known.get(row)
        if known is None:
            known = self._known[row] = self._look(row)
        return known

    def look_at(self, rows: Iterable[int]) -> None:
        """Look many rows up at once, so that `sees` need not look up each."""
        slot_by_row, end = self._index.slot_by_row, self._view.count
        found = [(row, slot) for row in rows if 0 <= (slot := slot_by_row.get(row, -1)) < end]
        if not found:
            return
        looked, slots = np.array(found, np.int64).T
        private, agent, held = self._view.takes(("private", "agent", "row"), slots)
        seen = (private == 0) | (agent == self._agent)
        # After a rollback the slot may be another memory's.
        sure = held == looked
        self._known.update(zip(looked[sure].tolist(), seen[sure].tolist(), strict=True))

    def _look(self, row: int) -> bool:
        slot = self._index.slot_by_row.get(row)
        if slot is not None and slot < self._view.count:
            chunk, at = self._view.chunk_of(slot)
            # After a rollback the slot may be another memory's.
            if chunk.columns["row"][at] == row:
                columns = chunk.columns
                return bool(not columns["private"][at] or columns["agent"][at] == self._agent)
        memory = self._rows.memories([row]).get(row)
        return memory is not None and may_see(memory, self._agent_id)

    def hides(self, memory_id: str) -> bool:
        """Return whether an id is of a memory that the agent may not see; false for unknown ids."""
        slot = self._index.slot_by_id.get(memory_id)
        if slot is None:
            # Unknown, or purged before the collection was opened.
            row = self._rows.row_of_id(memory_id)
        else:
            # A view for each look: the newest slot may be newer than this answer.
            row = int(self._index.arrays.writer_view().value("row", slot))
        return row is not None and not self.sees(row)

    def is_purged(self, memory_id: str) -> bool:
        """Return whether no memory of an id is there any more."""
        slot = self._index.slot_by_id.get(memory_id)
        # Purged before the collection was opened, it has no slot.
        return slot is None or self._index.arrays.writer_view().value("status", slot) == _PURGED

    def told(self, memory: Memory) -> Memory:
        """Return a memory without the ids of hidden memories."""
        return without(memory, self.hides, self.is_purged)


def without(
    memory: Memory, hides: Callable[[str], bool], is_purged: Callable[[str], bool]
) -> Memory:
    """Return a memory without hidden ids in its evidence, and in `superseded_by` nor purged ones.

    A row keeps the id of a purged memory that superseded it: so an Undo still finds what it did.
    """
    superseded_by, evidence_ids = memory.superseded_by, memory.fields.evidence_ids
    if superseded_by and (hides(superseded_by) or is_purged(superseded_by)):
        memory = replace(memory, superseded_by="")
    if evidence_ids and any(map(hides, evidence_ids)):
        seen = tuple(evidence_id for evidence_id in evidence_ids if not hides(evidence_id))
        memory = replace(memory, fields=replace(memory.fields, evidence_ids=seen))
    return memory
