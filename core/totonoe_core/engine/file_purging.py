"""Purge of a file that is not open as a collection: a snapshot, or what is to be restored of one.

The same steps as in an open one, by the same code, but for the index, of which there is none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from totonoe_core.commands import Purge, kind_of
from totonoe_core.engine.ledger import Ledger, Operation
from totonoe_core.engine.purging import Purging
from totonoe_core.engine.state import CollectionState
from totonoe_core.errors import Unavailable
from totonoe_core.limits import RETRY_DELAY_MS
from totonoe_core.records import Memory, Status
from totonoe_core.store.collection_file import CollectionFile, Touched

_CLEAN_STEPS_MAX = 1_000_000


class _NoIndex:
    """What an index is told by a purge, where there is none."""

    def __init__(self) -> None:
        self.slot_by_row: dict[int, int] = defaultdict(int)

    def set_status(self, *_: object) -> None:
        """Nobody reads it."""


class _FileState:
    """What a purge needs of a collection's state, on its file alone."""

    def __init__(self, file: CollectionFile) -> None:
        self.file = file
        self.aside = file.aside
        self.index = _NoIndex()

    def find(self, _: object, memory_id: str, __: str) -> Memory | None:
        """The memory of an id, whoever may see it."""
        row = self.file.rows.row_of_id(memory_id)
        if row is None:
            return None
        found = self.file.rows.memories([row])[row]
        return None if found.status is Status.PURGED else found

    def current(self, memory: Memory) -> Memory:
        """As it lies in its row: nobody compares vectors here."""
        return memory

    def bad_row(self, *_: object) -> None:
        """None is set aside where nobody reads: a damaged one ends the purge as `Corruption`."""


def purge_file(path: Path, memory_ids: Sequence[str], reason: str, now_us: int) -> int:
    """Purges memories from a file as one operation, and cleans it; says how many there were.

    Ids that are not there, or purged already, are passed over. A file of an earlier format is
    brought forward. Raises `ReadOnly`, `Corruption`.
    """
    file = CollectionFile(path)
    try:
        _, revision, last_us = file.last_numbers()
        state = cast(CollectionState, _FileState(file))
        ledger = Ledger(state)
        there = tuple(one for one in memory_ids if ledger.find(one, "") is not None)
        if there:
            command = Purge("", there, reason)
            operation = Operation(revision + 1, max(last_us + 1, now_us), Touched())
            with file.transaction():
                Purging(ledger).purge(operation, command)
                file.put_operation(
                    operation.revision,
                    "",
                    "",
                    kind_of(command),
                    reason,
                    operation.touched,
                    operation.now_us,
                )
            file.begin_cleaning()
        for _ in range(_CLEAN_STEPS_MAX):
            if not file.to_clean:
                return len(there)
            if not file.clean():
                break
        raise Unavailable(
            "OVERLOADED", f"{path.name} cannot be cleaned now", retry_delay_ms=RETRY_DELAY_MS
        )
    finally:
        file.close()
