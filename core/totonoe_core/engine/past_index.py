"""Indexes of the past, which Recall with `as_of` searches: made when they are asked for.

An index holds all memories as they were right after one revision, each in one slot. Who may see
one is what may change later: it must be allowed now and have been allowed then.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits
from totonoe_core.guard.policy import Tokenizer
from totonoe_core.index.collection_index import CollectionIndex, Features
from totonoe_core.records import Memory, Status
from totonoe_core.store.reader import Rows

T = TypeVar("T")

_LOADED_AT_ONCE = 500
_NO_TOKENS = np.zeros(0, np.uint64)  # nobody guards the past


class PastIndex:
    """All memories as they were right after a revision, in slots by row number.

    `kept_until` is the revision up to which it knows what was made private since.
    """

    def __init__(self, rows: Rows, revision: int) -> None:
        self.revision = revision
        self.kept_until = rows.last_revision()
        self.index = CollectionIndex(0, Tokenizer.SCRIPT_AWARE)
        self._private_then: NDArray[np.uint8] = np.zeros(0, np.uint8)
        private_now = []
        for part in _parts(rows.all_memories()):
            there = [memory for memory in part if memory.status is not Status.PURGED]
            changed = [memory.row for memory in there if memory.revision > revision]
            then = rows.history.memories_after(revision, changed)
            for memory in there:
                past = then.get(memory.row) if memory.revision > revision else memory
                if past is not None:
                    self._add(past)
                    private_now.append(memory.fields.private)
            # Nobody reads it yet: this only lets go of the rows themselves.
            self.index.publish()
        view = self.index.view()
        self._private_then = view.column("private")
        for slot, private in enumerate(private_now):
            self._set_private(slot, private)

    def _add(self, memory: Memory) -> None:
        vector = np.frombuffer(memory.vector, np.float32)
        if self.index.arrays.end == 0:
            self.index = CollectionIndex(len(vector), Tokenizer.SCRIPT_AWARE)
        self.index.add(memory, Features(vector, _NO_TOKENS, 0))

    def _set_private(self, slot: int, private: bool) -> None:
        chunk, at = self.index.view().chunk_of(slot)
        chunk.columns["private"][at] = bool(self._private_then[slot]) or private

    def renew(self, rows: Rows) -> bool:
        """Learns who may see what now; false: something was purged, and it must go."""
        newest = rows.last_revision()
        if newest <= self.kept_until:
            return True
        slot_by_row = self.index.slot_by_row
        changed = [
            row
            for row in rows.history.rows_changed_after(self.kept_until)
            if slot_by_row.get(row, -1) >= 0
        ]
        for part in _parts(changed):
            for row, memory in rows.memories(part).items():
                if memory.status is Status.PURGED:
                    return False
                self._set_private(slot_by_row[row], memory.fields.private)
        self.kept_until = newest
        return True


class PastIndexes:
    """The last few indexes of one collection's past. Safe from any thread.

    One is made at a time; who asks meanwhile waits for it. `clear` waits for nobody.
    """

    def __init__(self) -> None:
        self._making = threading.Lock()
        self._lock = threading.Lock()
        self._kept: list[PastIndex] = []
        self._cleared_count = 0

    def at(self, rows: Rows, revision: int) -> CollectionIndex:
        """The index of the past right after a revision, from what a snapshot of rows holds."""
        with self._making:
            with self._lock:
                cleared_count = self._cleared_count
                kept = [one for one in self._kept if one.revision == revision]
            if kept and kept[0].renew(rows):
                return kept[0].index
            made = PastIndex(rows, revision)
            with self._lock:
                # What was cleared meanwhile may be in it.
                if cleared_count == self._cleared_count:
                    others = [one for one in self._kept if one.revision != revision]
                    self._kept = [*others, made][-limits.AS_OF_INDEXES_MAX :]
            return made.index

    def clear(self) -> None:
        """Lets go of all of them."""
        with self._lock:
            self._cleared_count += 1
            self._kept = []


def _parts(values: Iterable[T]) -> Iterator[list[T]]:
    left = iter(values)
    while part := list(islice(left, _LOADED_AT_ONCE)):
        yield part
