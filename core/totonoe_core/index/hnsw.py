"""The HNSW graph of a collection: nominates neighbours for Recall, decides nothing.

hnswlib 0.8 allows searches side by side but no add, save or resize beside them, loses
labels with `allow_replace_deleted`, never shrinks, raises when it finds fewer than k, and
checks no input (FACTS on hnswlib, 2-10). Hence: a readers-writer lock; slots as labels,
which are never reused; no resizing, a full graph is built anew and swapped; own liveness
masks; errors mean "search exactly". Slots that are not in the graph yet are the caller's
to scan.

Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
Hierarchical Navigable Small World graphs" (2016).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import hnswlib
import numpy as np
from numpy.typing import NDArray

from totonoe_core.index.arrays import STATUSES, Arrays, View
from totonoe_core.records import Status

FROM_COUNT = 4096
"""Live memories from which on the graph is worth its cost; below, exact search is cheap."""

M = 16
EF_CONSTRUCTION = 200
EF_MIN = 96
_SEED = 20_240_701
_BATCH = 32  # slots added under one hold of the lock: about 30 ms
_TAIL_MIN = 1024
_DEAD_SHARE_MAX = 0.3


class ReadersWriterLock:
    """Many readers or one writer; a waiting writer holds new readers back."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers = 0
        self._writing = False
        self._waiting = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Shared hold."""
        with self._condition:
            while self._writing or self._waiting:
                self._condition.wait()
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Exclusive hold."""
        with self._condition:
            self._waiting += 1
            while self._writing or self._readers:
                self._condition.wait()
            self._waiting -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._condition:
                self._writing = False
                self._condition.notify_all()


class Graph:
    """Graph over the slots below `indexed`. One maintaining thread, any searching ones."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self._lock = ReadersWriterLock()
        self._index: hnswlib.Index | None = None
        self._capacity = 0
        self._indexed = 0
        self._count = 0

    @property
    def indexed(self) -> int:
        """Slots below this are in the graph if they were live when it came by."""
        return self._indexed

    @property
    def count(self) -> int:
        """Elements of the graph, dead ones included; 0: there is none."""
        return self._count

    def search(self, query: NDArray[np.float32], k: int) -> tuple[NDArray[np.int64], int] | None:
        """At most k slots near the query, and the first slot that the caller must scan.

        `None`: there is no graph, or it cannot answer; search exactly.
        """
        with self._lock.reading():
            if self._index is None:
                return None
            # One row at a time and k clamped: each exception of hnswlib leaks its buffers.
            k = min(k, self._count)
            if k == 0:
                return None
            try:
                self._index.set_ef(max(EF_MIN, 2 * k, int(8 * np.log2(self._count + 1))))
                labels, _ = self._index.knn_query(query, k=k, num_threads=1)
            except RuntimeError:
                return None
            return labels[0].astype(np.int64), self._indexed

    def due(self) -> bool:
        """Whether `maintain` has something to do."""
        view = self.arrays.view()
        if self._index is None:
            return view.count >= FROM_COUNT and self._live_count() >= FROM_COUNT
        tail = view.count - self._indexed
        return tail > max(_TAIL_MIN, self._count // 50) or self._dead_share() > _DEAD_SHARE_MAX

    def maintain(self, stop: threading.Event) -> None:
        """Adds the tail, or builds anew when full or too dead. Searches go on meanwhile."""
        view = self.arrays.view()
        full = self._count + (view.count - self._indexed) > self._capacity
        if self._index is None or full or self._dead_share() > _DEAD_SHARE_MAX:
            self._rebuild(stop)
        else:
            self._append(view, stop)

    def _rebuild(self, stop: threading.Event) -> None:
        view = self.arrays.view()
        slots = self._live_slots(0, view.count)
        capacity = max(2 * FROM_COUNT, 2 * len(slots))
        index = hnswlib.Index(space="ip", dim=self.arrays.dimension)
        index.init_index(capacity, ef_construction=EF_CONSTRUCTION, M=M, random_seed=_SEED)
        for start in range(0, len(slots), 4 * _BATCH):
            if stop.is_set():
                return
            part = slots[start : start + 4 * _BATCH]
            index.add_items(view.vectors(part), part, num_threads=1)
        with self._lock.writing():
            self._index, self._capacity = index, capacity
            self._indexed, self._count = view.count, len(slots)

    def _append(self, view: View, stop: threading.Event) -> None:
        for start in range(self._indexed, view.count, _BATCH):
            if stop.is_set():
                return
            end = min(view.count, start + _BATCH)
            slots = self._live_slots(start, end)
            with self._lock.writing():
                if len(slots) and self._index is not None:
                    self._index.add_items(view.vectors(slots), slots, num_threads=1)
                self._indexed, self._count = end, self._count + len(slots)

    def _live_slots(self, start: int, end: int) -> NDArray[np.int64]:
        status = self.arrays.view().column("status")[start:end]
        return np.flatnonzero(status == STATUSES[Status.ACTIVE]).astype(np.int64) + start

    def _live_count(self) -> int:
        return len(self._live_slots(0, self.arrays.view().count))

    def _dead_share(self) -> float:
        live = len(self._live_slots(0, self._indexed))
        return 1.0 - live / self._count if self._count else 0.0
