"""Rows that do not match their checksum: set aside, never served, counted.

Reads of several memories skip a bad row of `memory` (`Rows`); a read by its id raises. A bad row is
found when a collection is loaded, or later when it is read. Then that call fails and reports the
row with `suspect`; the writer's thread reads it again and sets it aside. Bad rows of other tables
are only counted: calls that need one fail.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from totonoe_core.base import limits
from totonoe_core.base.errors import Corruption


@dataclass(frozen=True, slots=True)
class BadRow:
    """The readable rest of a bad row of `memory`; none of it is certain.

    If nothing is readable, `id` and `agent_id` are empty and the row counts as public.
    """

    row: int
    id: str = ""
    agent_id: str = ""
    private: bool = False

    def may_be_known_to(self, agent_id: str) -> bool:
        """Return whether an agent may learn that this memory exists."""
        return not self.private or self.agent_id == agent_id


class Aside:
    """The bad rows of one collection's file. Safe from any thread; only the writer sets aside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Replaced, never changed in place: readers need no lock.
        self._memories: dict[int, BadRow] = {}
        self._others: frozenset[tuple[str, str]] = frozenset()
        self._suspects: dict[int, None] = {}

    def __contains__(self, row: int) -> bool:
        return row in self._memories

    def __len__(self) -> int:
        return len(self._memories)

    def memories(self) -> list[BadRow]:
        """Bad rows of memories, by row number."""
        return [bad for _, bad in sorted(self._memories.items())]

    def get(self, row: int) -> BadRow | None:
        """Return the rest of a row that is set aside."""
        return self._memories.get(row)

    def row_of_id(self, memory_id: str) -> int | None:
        """Return the row that was set aside with an id."""
        held = self._memories.values()
        return next((bad.row for bad in held if bad.id == memory_id), None) if memory_id else None

    def add(self, bad: BadRow) -> bool:
        """Set a row aside; return whether it is new."""
        with self._lock:
            new = bad.row not in self._memories
            self._memories = self._memories | {bad.row: bad}
        return new

    def discard(self, row: int) -> None:
        """Remove a row that is sound again, or gone."""
        if row in self._memories:
            with self._lock:
                self._memories = {at: bad for at, bad in self._memories.items() if at != row}

    def counts(self) -> dict[str, int]:
        """Number of bad rows found, by table."""
        counts = {"memory": len(self._memories)} if self._memories else {}
        for table, _ in self._others:
            counts[table] = counts.get(table, 0) + 1
        return counts

    def note(self, table: str, key: str) -> bool:
        """Count a bad row of another table once, up to BAD_ROWS_NOTED_MAX; return true if new."""
        with self._lock:
            if (table, key) in self._others or len(self._others) >= limits.BAD_ROWS_NOTED_MAX:
                return False
            self._others = self._others | {(table, key)}
            return True

    def replace_noted(self, found: frozenset[tuple[str, str]]) -> None:
        """Replace the counted rows of other tables by the result of a whole pass."""
        with self._lock:
            self._others = found

    def suspect(self, row: int) -> None:
        """Ask the writer to read a row of `memory` again."""
        with self._lock:
            if len(self._suspects) < limits.BAD_ROWS_NOTED_MAX:
                self._suspects[row] = None

    def take_suspects(self) -> list[int]:
        """Return the rows that the writer was asked to read again, each once."""
        if not self._suspects:
            return []
        with self._lock:
            taken, self._suspects = list(self._suspects), {}
        return taken


def corrupt_memory(row: int, memory_id: str = "") -> Corruption:
    """The error for a memory whose row is bad."""
    name = f"memory {memory_id}" if memory_id else f"row {row} of table memory"
    return Corruption(
        "CORRUPT_ROW",
        f"{name} does not match its checksum; it can be purged by its id, or come back from a "
        "snapshot",
        table="memory",
        row=row,
    )
