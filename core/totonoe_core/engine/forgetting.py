"""Forget: memories are hidden and unlinked, and stay restorable."""

from __future__ import annotations

from dataclasses import replace

from totonoe_core.commands import Forget, Forgotten
from totonoe_core.engine.ledger import DEAD, Ledger, Operation
from totonoe_core.errors import NotFound
from totonoe_core.records import Status


class Forgetting:
    """Carries out Forget on one collection."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def forget(self, operation: Operation, command: Forget) -> Forgotten:
        """Hides memories and takes their links away."""
        forgotten = self.preview(command)
        unlinked = 0
        for shown in forgotten.memories:
            before = self._ledger.by_row(shown.row)
            unlinked += self._ledger.delete_links(operation, before)
            self._ledger.replace(operation, before, replace(before, status=Status.FORGOTTEN))
        return replace(forgotten, unlinked_count=unlinked)

    def preview(self, command: Forget) -> Forgotten:
        """What a Forget would hide. One id alone that is unknown is `NotFound`."""
        memories, missing = [], []
        seen: set[int] = set()
        for memory_id in command.ids:
            found = self._ledger.find(memory_id, command.agent_id)
            if found is None or found.status in DEAD:
                missing.append(memory_id)
            elif found.row not in seen:
                seen.add(found.row)
                memories.append(self._ledger.shown(found, command.agent_id))
        if missing and len(command.ids) == 1:
            raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=missing[0])
        pairs = {
            min((row, target, link.type), (target, row, link.type.inverse))
            for row, links in self._ledger.rows.links(seen).items()
            for target, link in links
        }
        return Forgotten(tuple(memories), tuple(missing), len(pairs))
