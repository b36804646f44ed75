"""Indexes of the past, for Recall with `as_of`: built on demand.

An index holds all memories as they were right after one revision, each in one slot. Only sight may
change later: an agent must be allowed to see a memory now and then.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.base.errors import Unavailable
from totonoe_core.domain import expiry
from totonoe_core.domain.policy import Tokenizer
from totonoe_core.domain.records import Memory, Status
from totonoe_core.index.collection_index import Added, CollectionIndex, Features
from totonoe_core.store.seam import Rows

T = TypeVar("T")

_LOADED_AT_ONCE = 500
_MAKING_S = 1  # after which a retry is useful: 10,000 memories
_MOVED_MAX = 8  # revisions
_NO_TOKENS = np.zeros(0, np.uint64)  # the guard does not use the past


class PastIndex:
    """All memories as they were right after a revision, in slots by row number.

    It knows, up to a later revision, the memories made private since. Memories without a vector of
    the given model, whose number and dimension are passed, have a zero vector. Raises `Unavailable`
    once `stopping`.
    """

    def __init__(
        self,
        rows: Rows,
        revision: int,
        stopping: threading.Event,
        model_number: int,
        dimension: int,
    ) -> None:
        self.revision = revision
        self.model = model_number, dimension
        self._lock = threading.Lock()
        self._known_until = rows.last_revision()
        self.index = CollectionIndex(dimension, Tokenizer.SCRIPT_AWARE, model_number)
        self._private_then: NDArray[np.uint8] = np.zeros(0, np.uint8)
        private_now = []
        for part in _parts(rows.beside.of_model(model_number, rows.all_memories())):
            if stopping.is_set():
                raise _unavailable("SHUTTING_DOWN", "the collection is being closed")
            there = [memory for memory in part if memory.status is not Status.PURGED]
            changed = [memory.row for memory in there if memory.revision > revision]
            then = rows.history.memories_after(revision, changed)
            added: list[Added] = []
            for memory in there:
                past = then.get(memory.row) if memory.revision > revision else memory
                if past is not None:
                    added.append(self._added(past))
                    private_now.append(memory.fields.private)
            self.index.add_all(added)
            # Nobody reads it yet, so publishing only frees the rows themselves.
            self.index.publish()
        view = self.index.view()
        self._private_then = view.column("private")
        for slot, private in enumerate(private_now):
            self._set_private(slot, private)

    def _added(self, memory: Memory) -> Added:
        vector = np.frombuffer(memory.vector, np.float32)
        if memory.model_number != self.index.model_number or not len(vector):
            vector = np.zeros(self.index.arrays.dimension, np.float32)
        if memory.fields.expires_after_s is not None:
            # Reads are not remembered, which may have put it off: it is as its row says.
            memory = replace(memory, fields=expiry.lasting(memory.fields))
        return memory, Features(vector, _NO_TOKENS, 0), None

    def _set_private(self, slot: int, private: bool) -> None:
        chunk, at = self.index.view().chunk_of(slot)
        chunk.put("private", at, bool(self._private_then[slot]) or private)

    def renew(self, rows: Rows) -> bool:
        """Update the present sight of memories; return false if a purge makes the index stale."""
        newest = rows.last_revision()
        slot_by_row = self.index.slot_by_row
        with self._lock:
            if newest <= self._known_until:
                return True
            changed = rows.history.rows_changed_after(self._known_until)
            for part in _parts(row for row in changed if slot_by_row.get(row, -1) >= 0):
                for row, memory in rows.memories(part).items():
                    if memory.status is Status.PURGED:
                        return False
                    self._set_private(slot_by_row[row], memory.fields.private)
            self._known_until = newest
            return True


class PastIndexes:
    """Cached indexes of one collection's past. Safe from any thread.

    One index is built at a time. A call that needs another meanwhile is refused: waiting would hold
    a thread that Recalls of the present need. `clear` and `stop` do not wait.
    """

    def __init__(self) -> None:
        self._making = threading.Lock()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._kept: list[PastIndex] = []
        self._cleared_count = 0
        self._moved: dict[int, tuple[int, frozenset[int]]] = {}

    def at(self, rows: Rows, revision: int, model_number: int, dimension: int) -> CollectionIndex:
        """Return the index right after a revision, from a snapshot of rows.

        Raises `Unavailable` while one is being made for another caller, or the collection closed.
        """
        model = model_number, dimension
        index = self._renewed(rows, revision, model)
        if index is not None:
            return index
        if not self._making.acquire(blocking=False):
            raise _unavailable("OVERLOADED", "another index of the past is being made")
        try:
            # The other call may have built this one.
            index = self._renewed(rows, revision, model)
            return self._made(rows, revision, model) if index is None else index
        finally:
            self._making.release()

    def _renewed(self, rows: Rows, revision: int, model: tuple[int, int]) -> CollectionIndex | None:
        with self._lock:
            kept = [
                index for index in self._kept if (index.revision, index.model) == (revision, model)
            ]
        return kept[0].index if kept and kept[0].renew(rows) else None

    def _made(self, rows: Rows, revision: int, model: tuple[int, int]) -> CollectionIndex:
        with self._lock:
            cleared_count = self._cleared_count
        made = PastIndex(rows, revision, self._stopping, *model)
        with self._lock:
            # It may hold memories that were cleared meanwhile.
            if cleared_count == self._cleared_count:
                others = [index for index in self._kept if index.revision != revision]
                self._kept = [*others, made][-limits.AS_OF_INDEXES_MAX :]
        return made.index

    def moved(self, rows: Rows, revision: int) -> frozenset[int]:
        """Return rows whose created time may have been another right after a revision.

        Cached for the next page, which then reads only later images.
        """
        newest = rows.last_revision()
        with self._lock:
            known_until, found = self._moved.get(revision, (revision, frozenset()))
        if newest > known_until:
            found = found.union(rows.history.rows_moved_after(known_until))
            with self._lock:
                self._moved.pop(revision, None)
                self._moved[revision] = newest, found
                while len(self._moved) > _MOVED_MAX:
                    del self._moved[next(iter(self._moved))]
        return found

    def nbytes(self) -> int:
        """Bytes of the arrays of all cached indexes."""
        with self._lock:
            return sum(index.index.nbytes() for index in self._kept)

    def clear(self) -> None:
        """Drop every index."""
        with self._lock:
            self._cleared_count += 1
            self._kept = []

    def stop(self) -> None:
        """Stop a running build, and refuse further ones."""
        self._stopping.set()


def _unavailable(reason: str, message: str) -> Unavailable:
    return Unavailable(reason, message, retry_delay_ms=1000 * _MAKING_S)


def _parts(values: Iterable[T]) -> Iterator[list[T]]:
    left = iter(values)
    while part := list(islice(left, _LOADED_AT_ONCE)):
        yield part
