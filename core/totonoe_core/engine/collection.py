"""One open collection: its writer, its readers, its upkeep, and the way of each call.

apply    check, then the writer's queue; texts without vectors go by the embedder, and a
         calibration by embedder and readers' pool; a clean-up is planned in the readers' pool
check    on the writer's thread, so that it sees what Remember would see (`checking`)
search   in the readers' pool, on what is published
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits, validate
from totonoe_core.clock import Clock
from totonoe_core.commands import (
    Applied,
    CollectionInfo,
    Command,
    Remember,
)
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine import past, reading, tidying
from totonoe_core.engine.caches import forget_cached
from totonoe_core.engine.checking import Checking
from totonoe_core.engine.checkpointing import Checkpointing
from totonoe_core.engine.consolidating import Consolidating
from totonoe_core.engine.copying import Copying
from totonoe_core.engine.futures import Why, settled, shutting_down, submit, then
from totonoe_core.engine.indexing import Indexing
from totonoe_core.engine.previewing import Previewing
from totonoe_core.engine.reads import Reads
from totonoe_core.engine.reembedding import Reembedding
from totonoe_core.engine.state import CollectionState
from totonoe_core.engine.transfers import Transfers
from totonoe_core.engine.turns import Turns
from totonoe_core.engine.vectors import Vectors
from totonoe_core.engine.verifying import Verifier
from totonoe_core.engine.waiting import Waiters
from totonoe_core.engine.writer import Group, Job, Vector, Writer
from totonoe_core.errors import Unavailable
from totonoe_core.judging import JudgingService
from totonoe_core.queries import (
    Checked,
    CollectionStats,
    Recalled,
    RecallMode,
    RecallQuery,
)
from totonoe_core.records import RecallEvent
from totonoe_core.store.reader import ReaderPool
from totonoe_core.why_not import WhyNot

T = TypeVar("T")
Ask = Callable[[Vector | None, int, str], Future[T]]
"""With a vector and the number of the model that made it, or why there is none."""

READERS = 4
_WRITER_CLOSE_S = 10.0


class Collection:
    """One open collection. All methods are safe from any thread."""

    def __init__(
        self,
        path: Path,
        *,
        embedding: EmbeddingService | None,
        judging: JudgingService | None,
        clock: Clock,
        searchers: Executor,
        indexer: ThreadPoolExecutor,
    ) -> None:
        self._path = path
        self._embedding = embedding
        self._judging = judging
        self._clock = clock
        self._searchers = searchers
        self._stop = threading.Event()
        self._until_s = 0.0
        self.recall_count = 0
        self._writer = Writer(
            lambda: CollectionState.load(path),
            clock,
            lambda group: self.vectors.embed(group),
            self._consider_indexing,
            self._tell,
            self._at_end,
            name=path.parent.name,
            judging=judging,
            forget_cached=self._forget_cached,
        )
        self._state = self._writer.loaded()
        self._checkpointing = Checkpointing(self._state, clock, self._on_writer)
        self._indexing = Indexing(self._state, self._checkpointing, indexer, self._stop)
        try:
            self._readers = ReaderPool(path, READERS, self._state.aside)
        except BaseException:
            # One writer for each file, also if this collection is opened again.
            self._writer.close(_WRITER_CLOSE_S)
            raise
        self.waiters = Waiters(searchers, self._state.revision)
        self.copying = Copying(self._writer, self._state.file)
        self.turns = Turns(self._state, self._writer, clock)
        self.reads = Reads(self._state, self._readers, searchers, clock, self._stop)
        self.vectors = Vectors(
            self._state, embedding, clock, searchers, self._writer.submit, self.reads
        )
        self._checking = Checking(
            self._state, judging, clock, self.vectors.embedded, self._on_writer
        )
        self.previewing = Previewing(self._state, clock, self._on_writer, self.vectors)
        self.consolidating = Consolidating(self._state, self._readers, searchers, clock, self.apply)
        self.transfers = Transfers(
            self._state,
            self._readers,
            apply=self.apply,
            get=lambda agent_id, ids: self.reads.get(agent_id, ids, None, False),
            embedder=self.vectors.embedder,
        )
        self.verifier = Verifier(
            path, self._state, self._readers, clock, self._on_writer, self._stop
        )
        self.reembedding = Reembedding(
            self._state, self._writer, self._readers, embedding, self._stop
        )
        if self._state.pending is not None or self._state.settling_at_start:
            self.reembedding.go_on()
        self._consider_indexing(self._state)

    @property
    def info(self) -> CollectionInfo:
        """Settings, with the newest revision."""
        return self._state.published

    def nbytes(self) -> int:
        """Bytes of what is in memory: arrays, graph, and indexes of the past."""
        index = self._state.index
        arrays_bytes = index.nbytes() - index.arrays.unused_bytes()
        return arrays_bytes + index.graph.nbytes() + self._state.past.nbytes()

    def busy(self) -> bool:
        """Whether something is under way that nobody's call waits for."""
        return bool(
            self._writer.queue_length
            or self.turns.running
            or self._indexing.running
            or self._state.file.to_clean
            or self.consolidating.busy()
            or self.transfers.busy()
            or self.reembedding.busy()
        )

    def end(self, gone: Why) -> None:
        """Fails what would not end by itself, of a collection that is deleted; calls go on."""
        self.stop()
        self.waiters.close(gone)
        self.consolidating.stop(0.0, gone)
        self.transfers.end(gone)

    def stop(self) -> None:
        """Stops background work; calls go on."""
        self._stop.set()
        self._state.past.stop()

    def close(self, timeout_s: float, why: Why = shutting_down) -> None:
        """Finishes queued writes within the time and closes the file. Who comes later hears why."""
        self.stop()
        self.consolidating.stop(timeout_s, why)
        self.reembedding.stop(timeout_s)
        self.waiters.close(why)
        self.transfers.close(why)
        self.verifier.close()
        # Half of the time for what the next opening may do without.
        self._until_s = time.monotonic() + timeout_s / 2
        self._writer.close(timeout_s, why)
        self.reads.close()

    def _forget_cached(self) -> None:
        """Empties every cache that may hold words, vectors or opinions of what was purged."""
        forget_cached()
        self.consolidating.forget()
        for service in (self._embedding, self._judging):
            if service is not None:
                service.forget_cached()

    # -- Writing

    def apply(self, requests: Sequence[tuple[str, Sequence[Command]]]) -> list[Future[Applied]]:
        """Queues operations to be decided next to each other, in order.

        A request that fails its checks fails its own future and none of the others.
        """
        jobs, futures = [], []
        for operation_id, commands in requests:
            future: Future[Applied] = Future()
            futures.append(future)
            try:
                number = self._state.published.model_number
                vectors = self.vectors.checked(operation_id, commands)
            except Exception as error:
                future.set_exception(error)
                continue
            job = Job(operation_id, tuple(commands), vectors, future, model_number=number)
            jobs.append(job)
        if jobs and self.vectors.preparing() is not None:
            self.vectors.embed(Group(jobs))
        elif jobs:
            self._writer.submit(Group(jobs))
        return futures

    # -- Reading on the writer's thread

    def check(self, command: Remember) -> Future[Checked]:
        """What Remember would answer now."""
        number = self._state.published.model_number
        vector = self.vectors.checked("", [command])[0]
        return self._checking.check(command, vector, number)

    def _on_writer(self, work: Callable[[], T]) -> Future[T]:
        def step() -> T:
            with self._state.file.reading():
                return work()

        return self._writer.call(step)

    # -- Reading

    def search(self, query: RecallQuery) -> Future[Recalled]:
        """Finds memories; without an embedder at hand by words alone, and says so."""
        return self._asking(query, lambda *found: self._searching(query, *found))

    def why_not(self, memory_id: str, query: RecallQuery) -> Future[WhyNot]:
        """Why a memory does not come in a search, or where it comes."""
        validate.memory_id(memory_id, "memory_id")
        return self._asking(query, lambda *found: self.reads.why_not(memory_id, query, *found))

    def _asking(self, query: RecallQuery, ask: Ask[T]) -> Future[T]:
        """Asks with the vector of a query, or without one and why that is."""
        info = self._state.published
        dimension = self.vectors.dimension(query.vector)
        validate.recall(query, dimension)
        if query.vector:
            given = validate.vector(query.vector, "vector", dimension)
            return ask(given, info.model_number, "")
        if query.mode is RecallMode.LEXICAL:
            return ask(None, 0, "")
        if query.mode is RecallMode.HYBRID and self.vectors.preparing() is not None:
            return ask(None, 0, "the collection is being re-embedded with the daemon's model")
        if query.mode is RecallMode.HYBRID and info.model.name == "none":
            return ask(None, 0, "the clients bring the vectors, and none was given")

        def without(error: Unavailable) -> Future[T]:
            if query.mode is RecallMode.VECTOR:
                raise error
            return ask(None, 0, error.message)

        def embedded(vectors: Future[NDArray[np.float32]]) -> Future[T]:
            try:
                vector = vectors.result()[0]
            except Unavailable as error:
                return without(error)
            return ask(vector, info.model_number, "")

        try:
            vectors = self.vectors.embedder().submit([query.text])
        except Unavailable as error:
            return without(error)
        return then(settled(vectors), embedded)

    def _searching(
        self, query: RecallQuery, vector: Vector | None, model_number: int, degraded: str
    ) -> Future[Recalled]:
        def work() -> Recalled:
            self.recall_count += 1
            asked = reading.Asked(query, vector, model_number, degraded)
            if vector is not None and model_number == self._state.index.model_number:
                # The first vector may have been stored since the query was checked.
                self._state.check_dimension(len(vector))
            with self._readers.rows() as rows:
                if query.as_of is not None:
                    return past.recall(self._state, rows, asked)
                found = reading.recall(self._state, rows, asked, self._clock())
            if query.touch and found.hits:
                self._touch(query.agent_id, [hit.memory.row for hit in found.hits])
            self._consider_indexing(self._state)
            return found

        return submit(self._searchers, work)

    def _touch(self, agent_id: str, rows: Sequence[int]) -> None:
        index, now_us = self._state.index, self._clock()
        slots = [slot for row in rows if (slot := index.slot_by_row.get(row)) is not None]
        index.touch(np.array(slots, np.int64), now_us)
        hits = tuple(rows[: limits.RECALL_EVENT_HITS_MAX])
        self._writer.touch(rows, RecallEvent(agent_id, now_us, hits))

    def stats(self) -> Future[CollectionStats]:
        """Figures of this collection."""

        def work() -> CollectionStats:
            return CollectionStats(
                name=self.info.name,
                saved_count=self._writer.saved_count,
                refused_counts=dict(self._writer.refused_counts),
                recall_count=self.recall_count,
                file_bytes=_size(self._path),
                state=self._writer.state,
                queue_length=self._writer.queue_length,
                tidy=tidying.state_of(self._state.file.rows),
                verified=self.verifier.figures(),
                checkpoint=self._checkpointing.figures(),
                reembed=self.reembedding.state(),
                **reading.figures(self._state),
            )

        return self._on_writer(work)

    def _tell(self, state: CollectionState, purged: bool) -> None:
        """On the writer's thread, after each commit that made revisions."""
        if purged:
            state.recent.clear()
        self.waiters.publish(state.revision)

    def _at_end(self, _: CollectionState) -> None:
        """On the writer's thread, before it closes the file."""
        self._checkpointing.write_at_end(self._until_s)

    def _consider_indexing(self, _: CollectionState) -> None:
        self.consolidating.drop_old()
        self._indexing.consider()


def _size(path: Path) -> int:
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
