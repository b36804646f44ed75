"""Background maintenance of one collection: prefix, graph, vectors of keys, checkpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from totonoe_core.base import heap
from totonoe_core.engine.collection.key_vectors import KeyVectors
from totonoe_core.engine.state.checkpointing import Checkpointing
from totonoe_core.engine.state.state import CollectionState


class Indexing:
    """Background maintenance of one collection, on the thread that all collections share."""

    def __init__(
        self,
        state: CollectionState,
        checkpointing: Checkpointing,
        key_vectors: KeyVectors,
        indexer: ThreadPoolExecutor,
        stop: threading.Event,
    ) -> None:
        self._state = state
        self._checkpointing = checkpointing
        self._key_vectors = key_vectors
        self._indexer = indexer
        self._stop = stop
        self._running = threading.Lock()

    @property
    def running(self) -> bool:
        """True if any of it runs, or waits for another collection's."""
        return self._running.locked()

    def catch_up(self) -> None:
        """Take a checkpoint on this thread, if the newest one is far behind.

        Does nothing while the maintenance runs, which takes one in its turn.
        """
        if not self._running.acquire(blocking=False):
            return
        try:
            if self._checkpointing.behind():
                self._checkpointing.write(self._stop)
        finally:
            self._running.release()
        self.consider()

    def consider(self) -> None:
        """Start it if there is enough to do. Cheap: called on every write."""
        index = self._state.index
        # The prefix first: a graph takes minutes to build.
        due: list[Callable[[threading.Event], None]] = [
            part.maintain for part in (index.prefix, self._key_vectors, index.graph) if part.due()
        ]
        # Last, so that it includes their results.
        if self._checkpointing.due():
            due.append(self._checkpointing.write)
        if not due or not self._running.acquire(blocking=False):
            return

        def work() -> None:
            try:
                for maintain in due:
                    maintain(self._stop)
                heap.trim()
            finally:
                self._running.release()
            # Writes during the work may be enough for another round, and none may follow.
            if not self._stop.is_set():
                self.consider()

        try:
            self._indexer.submit(work)
        except RuntimeError:  # the engine is closing
            self._running.release()
