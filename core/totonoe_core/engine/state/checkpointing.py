"""Checkpointing of a collection: its schedule, and its contents.

The writer's thread only makes the cut, between two batches; the rest runs on the thread that
maintains the graph, or on the writer's when the collection is closed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import numpy as np

from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import TotonoeError
from totonoe_core.domain.queries import CheckpointFigures
from totonoe_core.engine.state import loading
from totonoe_core.engine.state.loading import Checkpoint
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index import dump, hnsw
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.index.dump import IndexCut
from totonoe_core.store.checkpoint import Abandoned, Header, Writing

_log = logging.getLogger(__name__)

FROM_COUNT = 2048
"""Memories from which on a checkpoint is worth its files."""
CHANGED_MIN, CHANGED_SHARE = 20_000, 0.2
"""Number of changed slots after which the next checkpoint is taken in the background."""
CHANGED_AT_CLOSE = 1024
"""The same when the collection is closed: so many rows are read in a tenth of a second."""
RETRY_S = 60.0

Taken = tuple[CollectionIndex, IndexCut, int, int, Header | None, int]


class Checkpointing:
    """Checkpoints of one open collection.

    `on_writer(work)` runs work on the writer's thread, between two batches.
    """

    def __init__(
        self,
        state: CollectionState,
        clock: Clock,
        on_writer: Callable[[Callable[[], Taken]], Future[Taken]],
    ) -> None:
        self._state = state
        self._clock = clock
        self._on_writer = on_writer
        self._last = state.opening.checkpoint
        self._bad_count = state.checkpoints.bad_count
        self._epoch = state.checkpoints.epoch
        self._index = state.index
        # Replayed rows count as changed: they would have to be replayed again.
        self._changed_before = state.index.arrays.changed_count - state.opening.replayed_count
        self._not_before_s = 0.0

    def last(self) -> Checkpoint | None:
        """Return the newest good checkpoint, or `None`."""
        checkpoints = self._state.checkpoints
        if (self._epoch, self._bad_count) != (checkpoints.epoch, checkpoints.bad_count):
            self._last = None
            self._epoch, self._bad_count = checkpoints.epoch, checkpoints.bad_count
        return self._last

    def figures(self) -> CheckpointFigures:
        """Return figures of the newest one, and of how the collection was opened."""
        opening, last = self._state.opening, self.last()
        return CheckpointFigures(
            revision=0 if last is None else last.revision,
            saved_us=0 if last is None else last.saved_us,
            bytes=0 if last is None else last.bytes,
            opened_from_revision=0 if opening.checkpoint is None else opening.checkpoint.revision,
            replayed_count=opening.replayed_count,
            opening_s=opening.seconds,
            bad_count=self._state.checkpoints.bad_count,
            bad=self._state.checkpoints.bad,
        )

    def due(self) -> bool:
        """Return whether `write` has work. Cheap: called on every write."""
        count = len(self._state.index.slot_by_row)
        if count < FROM_COUNT or time.monotonic() < self._not_before_s:
            return False
        if self._state.file.to_clean or len(self._state.aside):
            return False  # it would be dropped; the next opening has to read bad rows again
        return self._changed() >= max(CHANGED_MIN, CHANGED_SHARE * count) or self._graph_grew()

    def behind(self) -> bool:
        """Return whether an opening from the newest one would take much longer than it need."""
        state = self._state
        if len(state.index.slot_by_row) < FROM_COUNT or len(state.aside) or state.file.to_clean:
            return False
        return self._changed() >= CHANGED_AT_CLOSE or self._graph_grew()

    def _changed(self) -> int:
        """Return the number of slots changed since the last one."""
        arrays, last = self._state.index.arrays, self.last()
        if last is None or self._state.index is not self._index:
            return arrays.changed_count
        return arrays.changed_count - self._changed_before

    def _graph_grew(self) -> bool:
        """Return whether the graph holds far more than the saved one."""
        graph, last = self._state.index.graph, self.last()
        saved = 0 if last is None else last.graph_slots
        return graph.count > 0 and graph.indexed - saved >= max(hnsw.FROM_COUNT, saved)

    def write(self, stop: threading.Event) -> None:
        """Take a checkpoint, beside the writer and readers. Rests as long as each step takes."""

        def pause(seconds: float) -> None:
            if stop.wait(seconds):
                raise Abandoned("the collection is being closed")

        try:
            taken = self._on_writer(self._take).result()
        except TotonoeError:
            return  # it is being closed
        self._write(taken, pause)

    def write_at_end(self, until_s: float) -> None:
        """Take one on the writer's thread if it saves the next opening much time.

        Gives up at a time of the monotonic clock.
        """
        state = self._state
        if len(state.index.slot_by_row) < FROM_COUNT or len(state.aside):
            return
        changed = self._changed()
        if changed < CHANGED_AT_CLOSE and not self._graph_grew():
            return
        if state.index.graph.awaited and changed < CHANGED_MIN:
            return  # the one before has a graph, and this one would have none
        state.file.finish_cleaning()
        if state.file.to_clean:
            return

        def pause(_: float) -> None:
            if time.monotonic() > until_s:
                raise Abandoned("there was no time left")

        try:
            with state.file.reading():
                taken = self._take()
        except TotonoeError:
            return  # the file is damaged: the next opening reports it
        self._write(taken, pause)

    def _take(self) -> Taken:
        """Make the cut between two batches. Writer only."""
        state, index = self._state, self._state.index
        header = loading.header_of(state.file, state.info, state.revision, self._clock())
        epoch = state.checkpoints.epoch
        changed_count = index.arrays.changed_count
        return index, IndexCut.of(index), changed_count, state.revision, header, epoch

    def _write(self, taken: Taken, pause: Callable[[float], None]) -> None:
        state = self._state
        index, cut, changed_count, revision, header, epoch = taken
        if header is None:
            return
        header = {**header, "graph": None}

        def fill(writing: Writing) -> None:
            writing.pause = pause
            dump.dump(index, cut, writing)
            header["graph"] = _put_graph(index, cut, writing)

        name = state.file.path.parent.name
        try:
            written = state.checkpoints.write(revision, header, epoch, fill)
        except Abandoned as why:
            _log.info("a checkpoint of %s was given up: %s", name, why)
            return
        except Exception as error:
            # Any error: nothing is lost with a checkpoint.
            what = error if isinstance(error, OSError) else repr(error)
            _log.warning("a checkpoint of %s cannot be written: %s", name, what)
            self._not_before_s = time.monotonic() + RETRY_S
            return
        graph = header["graph"]
        self.last()  # earlier drops and set-asides do not concern this one
        self._last = Checkpoint(
            written.path,
            written.revision,
            header["saved_us"],
            written.bytes,
            0 if graph is None else graph["indexed"],
        )
        self._index, self._changed_before = index, changed_count


def _put_graph(index: CollectionIndex, cut: IndexCut, writing: Writing) -> Header | None:
    """Write the graph, if there is one, with the slots of its labels in the dump."""
    if not index.graph.count:
        return None
    graphs: list[hnsw.SavedGraph] = []

    def save(path: Path) -> int | None:
        saved = index.graph.save(path)
        if saved is None:
            return None
        graphs.append(saved)
        return saved.bytes

    if not writing.save(loading.GRAPH, save):
        return None
    new_slots, saved = cut.new_slots(), graphs[0]
    known = (saved.slots >= 0) & (saved.slots < len(new_slots))
    slots = np.where(known, new_slots[np.where(known, saved.slots, 0)], -1).astype(np.int64)
    writing.put(loading.GRAPH_SLOTS, [slots])
    writing.put(loading.GRAPH_BASIS, [saved.basis])
    indexed = int(np.count_nonzero(new_slots[: saved.indexed] >= 0))
    return {"parameters": hnsw.parameters(), "indexed": indexed}
