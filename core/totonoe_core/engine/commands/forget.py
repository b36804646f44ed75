"""Forget: hides and unlinks memories; they can be restored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, NotFound
from totonoe_core.domain.asking import Previewed
from totonoe_core.domain.memories import Forget, ForgetMatching, Forgotten, Matching
from totonoe_core.domain.queries import ListQuery
from totonoe_core.domain.records import Status
from totonoe_core.engine.state import reading
from totonoe_core.engine.state.ledger import DEAD, Ledger, Operation, expected_of
from totonoe_core.engine.state.sight import Sight
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index import masks
from totonoe_core.store.seam import Rows


class Forgetting:
    """Carries out Forget on one collection."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def forget(self, operation: Operation, command: Forget) -> Forgotten:
        """Hide memories and delete their links; links to hidden memories are not counted."""
        forgotten = self.preview(command)
        for shown in forgotten.memories:
            before = self._ledger.by_row(shown.row)
            self._ledger.delete_links(operation, before)
            self._ledger.replace(operation, before, replace(before, status=Status.FORGOTTEN))
        return forgotten

    def preview(self, command: Forget) -> Forgotten:
        """Return the memories that a Forget would hide.

        One id alone that is unknown is `NotFound`. A memory that is at another revision than
        expected, also because it was forgotten meanwhile, is `StaleRevision`.
        """
        memories, missing = [], []
        seen: set[int] = set()
        for memory_id in command.ids:
            memory = self._ledger.find(memory_id, command.agent_id)
            if memory is not None:
                expected = expected_of(command.expected_revisions, memory_id, memory)
                self._ledger.check_expected(memory, expected)
            if memory is None or memory.status in DEAD:
                missing.append(memory_id)
            elif memory.row not in seen:
                seen.add(memory.row)
                memories.append(self._ledger.shown(memory, command.agent_id))
        if missing and len(command.ids) == 1:
            raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=missing[0])
        sight = Sight(self._ledger.index, self._ledger.rows, command.agent_id)
        return Forgotten(tuple(memories), tuple(missing), _pairs(self._ledger.rows, seen, sight))


def matching(
    state: CollectionState, rows: Rows, command: ForgetMatching, now_us: int
) -> Previewed[Matching]:
    """Finds the memories that a Forget by filter would hide, the oldest IDS_PER_REQUEST_MAX."""
    agent_id, where = command.agent_id, command.where
    dead = DEAD.intersection(where.statuses)
    if dead:
        raise InvalidArgument(
            "UNKNOWN_ENUM",
            field="filter.statuses",
            got=", ".join(sorted(dead)),
            allowed="statuses of what is not forgotten yet",
        )
    # Counted first: at worst a later memory is in the page and not in the count.
    mask = masks.matching(
        state.index, state.index.view(), where, agent_id, state.published.decay, now_us
    )
    page = reading.scan(state, rows, ListQuery(agent_id, where, limits.IDS_PER_REQUEST_MAX), now_us)
    sight = Sight(state.index, rows, agent_id)
    unlinked = _pairs(rows, (memory.row for memory in page.memories), sight)
    memories = tuple(replace(memory, vector=b"") for memory in page.memories)
    count = max(len(memories), int(np.count_nonzero(mask)))
    return Previewed(page.revision, Matching(Forgotten(memories, (), unlinked), count))


def _pairs(rows: Rows, ends: Iterable[int], sight: Sight) -> int:
    """Count the links of some memories that the agent may see, each pair once."""
    pairs = {
        min((row, target, link.type), (target, row, link.type.inverse))
        for row, links in rows.links(ends).items()
        for target, link in links
        if sight.sees(target)
    }
    return len(pairs)
