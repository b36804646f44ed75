"""Purge of rows that are not open as a collection: a snapshot, or one that is being restored.

It runs the steps of an open collection by the same code, without an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from totonoe_core.base.errors import Unavailable
from totonoe_core.base.limits import RETRY_DELAY_MS
from totonoe_core.domain.commands import kind_of
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.records import Memory, Status
from totonoe_core.engine.commands.purge import Purging
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.store.aside import corrupt_memory
from totonoe_core.store.records import Touched
from totonoe_core.store.seam import CollectionFile

_CLEAN_STEPS_MAX = 1_000_000


class _AnySlot:
    """A map with a slot for every row, for code that never looks into slots."""

    def get(self, _: int) -> int:
        """Return the slot of a row."""
        return 0


class _NoIndex:
    """Stands for the index in a purge without one."""

    def __init__(self) -> None:
        self.slot_by_row = _AnySlot()

    def set_status(self, *_: object) -> None:
        """Do nothing: nobody reads it."""


class _FileState:
    """The part of a collection's state that a purge needs, on a file alone."""

    def __init__(self, file: CollectionFile) -> None:
        self.file = file
        self.aside = file.aside
        self.index = _NoIndex()

    def find(self, _: object, memory_id: str, __: str) -> Memory | None:
        """Return the memory of an id, private or not."""
        row = self.file.rows.row_of_id(memory_id)
        if row is None:
            return None
        memory = self.file.rows.memories([row]).get(row)
        if memory is None:
            raise corrupt_memory(row)
        return None if memory.status is Status.PURGED else memory

    def current(self, memory: Memory) -> Memory:
        """Return the memory as stored in its row: nobody compares vectors here."""
        return memory

    def bad_row(self, *_: object) -> None:
        """Return none: no row is set aside here; a damaged one ends the purge as `Corruption`."""


def purge_rows(file: CollectionFile, memory_ids: Sequence[str], reason: str, now_us: int) -> int:
    """Purge memories as one operation, and clean the file; return how many there were.

    Unknown and already purged ids are skipped. Raises `ReadOnly`, `Corruption`.
    """
    _, revision, last_us = file.last_numbers()
    state = cast(CollectionState, _FileState(file))
    ledger = Ledger(state)
    there = tuple(memory_id for memory_id in memory_ids if ledger.find(memory_id, "") is not None)
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
        "OVERLOADED", f"{file.path.name} cannot be cleaned now", retry_delay_ms=RETRY_DELAY_MS
    )
