"""One open collection: its writer, its readers, its upkeep, and the way of each call.

apply    check, then the writer's queue; texts without vectors go by the embedder, and a
         calibration by embedder and readers' pool; a clean-up is planned in the readers' pool
check    on the writer's thread, so that it sees what Remember would see (`checking`)
search   in the readers' pool, on what is published
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits, tidy_plan, validate
from totonoe_core.cleanup import Planned
from totonoe_core.clock import Clock
from totonoe_core.commands import (
    Applied,
    Calibrate,
    CollectionInfo,
    Command,
    Merge,
    Remember,
    Update,
    asked,
)
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine import calibrating, past, reading, tidying
from totonoe_core.engine.caches import forget_cached
from totonoe_core.engine.checking import Checking
from totonoe_core.engine.checkpointing import Checkpointing
from totonoe_core.engine.consolidating import Consolidating
from totonoe_core.engine.copying import Copying
from totonoe_core.engine.futures import (
    Why,
    attempt,
    fail,
    ready,
    settled,
    shutting_down,
    submit,
    then,
)
from totonoe_core.engine.indexing import Indexing
from totonoe_core.engine.previewing import Previewing
from totonoe_core.engine.reads import Reads
from totonoe_core.engine.state import CollectionState
from totonoe_core.engine.transfers import Transfers
from totonoe_core.engine.turns import Turns
from totonoe_core.engine.verifying import Verifier
from totonoe_core.engine.waiting import Waiters
from totonoe_core.engine.writer import Group, Job, Vector, Writer
from totonoe_core.errors import InvalidArgument, ModelMismatch, Unavailable
from totonoe_core.guard.calibration import Fitted
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
from totonoe_core.tidy import ApplyTidyPlan, TidyUpsert
from totonoe_core.why_not import WhyNot

T = TypeVar("T")
Ask = Callable[[Vector | None, str], Future[T]]

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
            self._embed,
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
        self._checking = Checking(self._state, judging, clock, self._embedder, self._on_writer)
        self.previewing = Previewing(self._state, clock, self._on_writer, self._fitted)
        self.waiters = Waiters(searchers, self._state.revision)
        self.copying = Copying(self._writer, self._state.file)
        self.turns = Turns(self._state, self._writer, clock)
        self.reads = Reads(self._state, self._readers, searchers, clock, self._stop)
        self.consolidating = Consolidating(self._state, self._readers, searchers, clock, self.apply)
        self.transfers = Transfers(
            self._state,
            self._readers,
            apply=self.apply,
            get=lambda agent_id, ids: self.reads.get(agent_id, ids, None, False),
            embedder=self._embedder,
        )
        self.verifier = Verifier(
            path, self._state, self._readers, clock, self._on_writer, self._stop
        )
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
                vectors = self._checked(operation_id, commands)
            except Exception as error:
                future.set_exception(error)
                continue
            jobs.append(Job(operation_id, tuple(commands), vectors, future))
        if jobs:
            self._writer.submit(Group(jobs))
        return futures

    def _checked(self, operation_id: str, commands: Sequence[Command]) -> list[Vector | None]:
        """Checks commands; returns the vectors that were given with them."""
        validate.operation_id(operation_id)
        vectors: list[Vector | None] = []
        now_us = self._clock()
        for command in commands:
            validate.command(command, now_us)
            if isinstance(command, ApplyTidyPlan):
                tidy_plan.check(command.updates, now_us)
            vector = None
            if isinstance(command, Remember | Update | Merge) and command.vector:
                dimension = self._dimension(command.vector)
                field = "vector" if isinstance(command, Merge) else "memory.vector"
                vector = validate.vector(command.vector, field, dimension)
            elif isinstance(command, TidyUpsert) and command.update.vector:
                given = command.update.vector
                vector = validate.vector(given, "state_updates.vector", self._dimension(given))
            elif isinstance(command, Update) and "vector" in command.mask:
                raise InvalidArgument(
                    "MISSING_FIELD", field="memory.vector", got="nothing", allowed="a vector"
                )
            vectors.append(vector)
        return vectors

    def _dimension(self, given: bytes) -> int:
        """The collection's dimension; while it has none yet, that of the vector given."""
        own = self._state.published.model.dimension
        return own or min(len(given) // 4, limits.VECTOR_DIMENSION_MAX)

    def _embed(self, group: Group) -> None:
        """Gets the missing vectors and gives the group back to the writer.

        Jobs whose texts cannot be embedded fail; the others go on, in their order.
        """
        wanting: list[tuple[Job, Future[None]]] = []
        for job in group.jobs:
            wanting += [
                (job, self._work_out(job, position, command))
                for position, command in enumerate(job.commands)
                if isinstance(command, Calibrate | Planned) and asked(command) == command
            ]
            texts = {
                position: text
                for position, command in enumerate(job.commands)
                if job.vectors[position] is None and (text := _text_of(command))
            }
            if not texts:
                continue
            # A request for each job, for each to fail alone; they share batches all the same.
            wanting.append((job, self._vectors(job, texts)))
        # Counted under a lock: the embedder answers from a thread for each of its processes.
        lock, left = threading.Lock(), len(wanting)

        def done(_: Future[None]) -> None:
            nonlocal left
            with lock:
                left -= 1
                last = left == 0
            if last:
                self._embedded_group(group, wanting)

        for _, future in wanting:
            future.add_done_callback(done)

    def _vectors(self, job: Job, texts: Mapping[int, str]) -> Future[None]:
        """Gives a job the vectors of the texts, which are by the place of their command."""

        def keep(found: NDArray[np.float32]) -> Future[None]:
            for position, vector in zip(texts, found, strict=True):
                job.vectors[position] = vector
            return ready(None)

        return then(attempt(lambda: self._embedder().submit(list(texts.values()))), keep)

    def _work_out(self, job: Job, position: int, command: Calibrate | Planned) -> Future[None]:
        """Gives a job's command what is found out before it can be decided."""

        def keep(found: Command) -> Future[None]:
            job.commands = (*job.commands[:position], found, *job.commands[position + 1 :])
            return ready(None)

        if isinstance(command, Calibrate):
            return then(
                attempt(lambda: self._fitted(command)),
                lambda fitted: keep(replace(command, fitted=fitted)),
            )
        return then(attempt(lambda: self.reads.planned(command)), keep)

    def _fitted(self, command: Calibrate) -> Future[Fitted]:
        model = self._state.published.model
        if model.name == "none":
            raise InvalidArgument(
                "VECTOR_REQUIRED",
                field="collection",
                got=f"{self.info.name!r}, whose clients bring the vectors",
                allowed="one whose texts the daemon embeds",
            )
        service = self._embedder()
        budget, now_us = command.false_merge_budget, self._clock()
        return then(
            self.reads.judged_pairs(),
            lambda own: calibrating.fitted(service, model, budget, now_us, self._searchers, own),
        )

    def _embedded_group(self, group: Group, wanting: Sequence[tuple[Job, Future[None]]]) -> None:
        failed = set()
        for job, future in wanting:
            try:
                future.result()
            except BaseException as error:
                fail(job.future, error)
                failed.add(id(job))
        rest = [job for job in group.jobs if id(job) not in failed]
        if rest:
            self._writer.submit(Group(rest))

    def _embedder(self) -> EmbeddingService:
        """The embedder, if it is the one that made this collection's vectors.

        Raises `InvalidArgument` (VECTOR_REQUIRED) where the clients bring vectors,
        `ModelMismatch` for another model, `Unavailable` while it loads again.
        """
        model = self._state.published.model
        if model.name == "none":
            raise InvalidArgument(
                "VECTOR_REQUIRED",
                field="vector",
                got="none",
                allowed=f"a vector: the clients of collection {self.info.name!r} bring them",
            )
        service = self._embedding
        if service is None:
            raise ModelMismatch(collection=self.info.name, stamped=model.key, running="none")
        identity = service.identity
        if identity is not None and identity.key != model.key:
            raise ModelMismatch(collection=self.info.name, stamped=model.key, running=identity.key)
        return service

    # -- Reading on the writer's thread

    def check(self, command: Remember) -> Future[Checked]:
        """What Remember would answer now."""
        vector = self._checked("", [command])[0]
        return self._checking.check(command, vector)

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
        dimension = self._dimension(query.vector)
        validate.recall(query, dimension)
        if query.vector:
            return ask(validate.vector(query.vector, "vector", dimension), "")
        if query.mode is RecallMode.LEXICAL:
            return ask(None, "")
        if query.mode is RecallMode.HYBRID and self._state.published.model.name == "none":
            return ask(None, "the clients bring the vectors, and none was given")

        def without(error: Unavailable) -> Future[T]:
            if query.mode is RecallMode.VECTOR:
                raise error
            return ask(None, error.message)

        def embedded(vectors: Future[NDArray[np.float32]]) -> Future[T]:
            try:
                vector = vectors.result()[0]
            except Unavailable as error:
                return without(error)
            return ask(vector, "")

        try:
            vectors = self._embedder().submit([query.text])
        except Unavailable as error:
            return without(error)
        return then(settled(vectors), embedded)

    def _searching(
        self, query: RecallQuery, vector: Vector | None, degraded: str
    ) -> Future[Recalled]:
        def work() -> Recalled:
            self.recall_count += 1
            graph = self._state.index.graph
            if vector is not None:
                # The first vector may have been stored since the query was checked.
                self._state.check_dimension(len(vector))
            with self._readers.rows() as rows:
                if query.as_of is not None:
                    return past.recall(self._state, rows, query, vector, degraded)
                found = reading.recall(
                    self._state, rows, graph, query, vector, degraded, self._clock()
                )
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


def _text_of(command: Command) -> str:
    """The text that a command needs a vector of, unless one was given with it."""
    match command:
        case Remember(content=text) | Merge(content=text):
            return text
        case Update(mask=mask, content=text) if "content" in mask:
            return text
        case TidyUpsert(update=update):
            return update.body_text
    return ""


def _size(path: Path) -> int:
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
