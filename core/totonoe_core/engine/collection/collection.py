"""One open collection: its writer, its readers, its upkeep, and the path of each call.

apply    check, then the writer's queue; texts without vectors go by the embedder, and a
         calibration by embedder and readers' pool; a clean-up is planned in the readers' pool
preview  on the writer's thread, so that it sees what the command would see (`previewing`)
read     in the readers' pool, on what is published
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import ModelMismatch, NotCaughtUp, Unavailable
from totonoe_core.base.fair_pool import ReadPool
from totonoe_core.domain.asking import Previewable, Previewed, Query
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.domain.figures import CollectionFigures
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.queries import CollectionStats, GetQuery, Recalled, RecallMode, RecallQuery
from totonoe_core.domain.records import RecallEvent, Status
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine.collection.indexing import Indexing
from totonoe_core.engine.collection.key_vectors import KeyVectors
from totonoe_core.engine.collection.learning import Learning
from totonoe_core.engine.collection.previewing import Previewing
from totonoe_core.engine.collection.turns import Turns
from totonoe_core.engine.collection.vectors import Vectors
from totonoe_core.engine.collection.waiting import Waiters
from totonoe_core.engine.commands import tidy as tidying
from totonoe_core.engine.jobs.consolidate import Consolidating
from totonoe_core.engine.jobs.copying import Copying
from totonoe_core.engine.jobs.reembed import Reembedding
from totonoe_core.engine.jobs.transfers import Transfers
from totonoe_core.engine.jobs.verify import Verifier
from totonoe_core.engine.queries import past
from totonoe_core.engine.queries.reads import Reads
from totonoe_core.engine.state import reading
from totonoe_core.engine.state.caches import forget_cached
from totonoe_core.engine.state.checkpointing import Checkpointing
from totonoe_core.engine.state.futures import Why, settled, shutting_down, submit, then
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.engine.writer.writer import Group, Job, Vector, Writer
from totonoe_core.engine.writer.written import WriteCounters
from totonoe_core.index.arrays import STATUSES
from totonoe_core.judging import JudgingService
from totonoe_core.rules import validate
from totonoe_core.search.why_not import WhyNotQuery
from totonoe_core.store.records import Place
from totonoe_core.store.seam import Store
from totonoe_core.text.reading import loading

T = TypeVar("T")
Ask = Callable[[Vector | None, int, str], Future[T]]
"""Called with a vector and the number of its model, or the reason why there is none."""

READERS = 4
SHOWN = tuple(status for status in Status if status is not Status.PURGED)
"""Kinds of memories that figures count: a purged one is gone."""
_WRITER_CLOSE_S = 10.0


class Collection:
    """One open collection. All methods are safe from any thread."""

    def __init__(
        self,
        store: Store,
        place: Place,
        *,
        embedding: EmbeddingService | None,
        judging: JudgingService | None,
        clock: Clock,
        searchers: ReadPool,
        indexer: ThreadPoolExecutor,
        written: WriteCounters,
    ) -> None:
        self._store = store
        self._place = place
        self._embedding = embedding
        self._judging = judging
        self._clock = clock
        self._searchers = searchers
        self._stop = threading.Event()
        self._until_s = 0.0
        self.recall_count = 0
        self._opened_us = clock()
        self._writer = Writer(
            lambda: CollectionState.load(store, place, embedding is not None),
            clock,
            lambda group: self.vectors.embed(group),
            self._consider_indexing,
            self._tell,
            self._at_end,
            name=place.uid,
            judging=judging,
            forget_cached=self._forget_cached,
            written=written,
        )
        self._state = self._writer.loaded()
        self._checkpointing = Checkpointing(self._state, clock, self._on_writer)
        self._key_vectors = KeyVectors(self._state, lambda: self.vectors.embedder())
        self._indexing = Indexing(
            self._state, self._checkpointing, self._key_vectors, indexer, self._stop
        )
        try:
            self._readers = store.readers(place, READERS, self._state.aside)
        except BaseException:
            # Always one writer for each file, also if this collection is reopened.
            self._writer.close(_WRITER_CLOSE_S)
            raise
        self.waiters = Waiters(searchers, self._state.revision)
        self.copying = Copying(self._writer, self._state.file, store)
        self.turns = Turns(self._state, self._writer, clock)
        self.reads = Reads(
            self._state, self._readers, searchers, clock, self._stop, self._touch_read
        )
        self.vectors = Vectors(
            self._state, embedding, clock, searchers, self._writer.submit, self.reads
        )
        self._learning = Learning(
            self._state, self.reads.judged_pairs, self.apply, searchers, clock, judging
        )
        self._previewing = Previewing(
            self._state,
            clock,
            self._on_writer,
            self._writer.trial,
            judging,
            self.vectors,
            self.reads,
        )
        self.consolidating = Consolidating(
            self._state, self._readers, searchers, clock, self.apply, judging
        )
        self.transfers = Transfers(
            self._state,
            self._readers,
            apply=self.apply,
            get=lambda agent_id, ids: self.reads.get(GetQuery(agent_id, tuple(ids))),
            embedder=self.vectors.embedder,
        )
        self.verifier = Verifier(
            store, place, self._state, self._readers, clock, self._on_writer, self._stop
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
        """Bytes in memory: arrays, graph, and indexes of the past."""
        index = self._state.index
        arrays_bytes = index.nbytes() - index.arrays.unused_bytes()
        return arrays_bytes + index.graph.nbytes() + self._state.past.nbytes()

    def busy(self) -> bool:
        """Return whether work is running that no call waits for."""
        return bool(
            self._writer.queue_length
            or self.turns.running
            or self._indexing.running
            or self._state.file.to_clean
            or self.consolidating.busy()
            or self.transfers.busy()
            or self.reembedding.busy()
            or self._learning.running
        )

    @property
    def uid(self) -> str:
        """Id of the collection, whatever its name."""
        return self._place.uid

    def catch_up(self) -> None:
        """Take a checkpoint if the newest one is far behind. Not on the writer's thread."""
        self._indexing.catch_up()

    def end(self, gone: Why) -> None:
        """Fail the calls of a deleted collection that would not end by themselves; others go on."""
        self.stop()
        self.waiters.close(gone)
        self.consolidating.stop(0.0, gone)
        self.transfers.end(gone)

    def stop(self) -> None:
        """Stop background work; calls go on."""
        self._stop.set()
        self._learning.stop()
        self._state.past.stop()

    def close(self, timeout_s: float, why: Why = shutting_down) -> None:
        """Finish queued writes within the time and close the file. Later calls fail with `why`."""
        self.stop()
        self.consolidating.stop(timeout_s, why)
        self.reembedding.stop(timeout_s)
        self.waiters.close(why)
        self.transfers.close(why)
        self.verifier.close()
        # Half of the time for a checkpoint, which the next opening can do without.
        self._until_s = time.monotonic() + timeout_s / 2
        self._writer.close(timeout_s, why)
        self.reads.close()

    def _forget_cached(self) -> None:
        """Empty every cache that may hold words, vectors or opinions of purged memories."""
        forget_cached()
        self.consolidating.forget()
        for service in (self._embedding, self._judging):
            if service is not None:
                service.forget_cached()

    # -- Writing

    def apply(self, requests: Sequence[tuple[str, Sequence[Command]]]) -> list[Future[Applied]]:
        """Queue operations, to be decided next to each other, in order.

        A request that fails its checks fails only its own future.
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
            self._learning.watch(commands, future)
            for command in commands:
                if isinstance(command, Remember):
                    # Meanwhile the text is embedded and waits for the writer.
                    loading.begin_for(command.content)
        if jobs and self.vectors.preparing() is not None:
            self.vectors.embed(Group(jobs))
        elif jobs:
            self._writer.submit(Group(jobs))
        return futures

    # -- Reading on the writer's thread

    def preview(self, command: Previewable[T]) -> Future[Previewed[T]]:
        """Shows what a command would be answered now."""
        return self._previewing.preview(command)

    def _on_writer(self, work: Callable[[], T]) -> Future[T]:
        def step() -> T:
            with self._state.file.reading():
                return work()

        return self._writer.call(step)

    # -- Reading

    def await_revision(self, revision: int) -> Future[int]:
        """Return the newest revision, once it is this one or later.

        What other daemons committed is taken in now, and not only in a second. Raises `NotCaughtUp`
        if there are none; else as `Waiters.wait`, and `Unavailable` if the writer's queue is full.
        """
        if not self._state.shared and self._state.published.revision < revision:
            raise NotCaughtUp(revision)
        waiting = self.waiters.wait(revision - 1)
        if not waiting.done():
            try:
                self.look_after_others()
            except BaseException:
                waiting.cancel()
                raise
        return waiting

    def look_after_others(self) -> None:
        """Let the writer take in soon what other daemons committed. Raises `Unavailable`."""
        # It looks behind any call.
        self._writer.call(lambda: None)

    def read(self, query: Query[T]) -> Future[T]:
        """Answers a query: one with a text to look for by its vector too."""
        answer: Future[Any]
        match query:
            case RecallQuery():
                answer = self._asking(query, lambda *found: self._searching(query, *found))
            case WhyNotQuery():
                validate.memory_id(query.memory_id, "memory_id")
                answer = self._asking(
                    query.recall, lambda *found: self.reads.why_not(query, *found)
                )
            case _:
                answer = self.reads.read(query)
        return answer

    def _asking(self, query: RecallQuery, ask: Ask[T]) -> Future[T]:
        """Run a query with its vector, or without one and with the reason."""
        info = self._state.published
        dimension = self.vectors.dimension(query.vector)
        given = validate.recall(query, dimension)
        # Who asks in a language saves in it as a rule, and hits are compared with one another.
        loading.begin_for(query.text)
        if given is not None:
            keys = self._key_vectors.embedded(self._state.index)
            return then(keys, lambda _: ask(given, info.model_number, ""))
        if query.mode is RecallMode.LEXICAL:
            return ask(None, 0, "")
        if query.mode is RecallMode.HYBRID and self.vectors.preparing() is not None:
            return ask(None, 0, "the collection is being re-embedded with the daemon's model")
        if query.mode is RecallMode.HYBRID and not info.model.embeds:
            why = "no vector was given, and the collection has no model"
            way = "" if self._embedding is None else "; a re-embedding gives it the daemon's"
            return ask(None, 0, why + way)

        def without(error: Unavailable | ModelMismatch) -> Future[T]:
            if query.mode is RecallMode.VECTOR:
                raise error
            return ask(None, 0, error.message)

        def embedded(vectors: Future[NDArray[np.float32]]) -> Future[T]:
            try:
                vector = vectors.result()[0]
            except (Unavailable, ModelMismatch) as error:
                return without(error)
            return then(keys, lambda _: ask(vector, info.model_number, ""))

        try:
            vectors = self.vectors.embedder().submit([query.text])
        except (Unavailable, ModelMismatch) as error:
            return without(error)
        keys = self._key_vectors.embedded(self._state.index)
        return then(settled(vectors), embedded)

    def _searching(
        self, query: RecallQuery, vector: Vector | None, model_number: int, degraded: str
    ) -> Future[Recalled]:
        def work() -> Recalled:
            self.recall_count += 1
            asked = reading.EmbeddedQuery(query, vector, model_number, degraded)
            if vector is not None and model_number == self._state.index.model_number:
                # The first vector may have been stored after the query was checked.
                self._state.check_dimension(len(vector))
            with self._readers.rows() as rows:
                if query.as_of is not None:
                    return past.recall(
                        self._state, rows, asked, self._clock(), self._key_vectors.fill
                    )
                recalled = reading.recall(self._state, rows, asked, self._clock())
            if query.touch and recalled.hits:
                self._touch(query.agent_id, [hit.memory.row for hit in recalled.hits])
            self._consider_indexing(self._state)
            return recalled

        return submit(self._searchers.of(query.k), work)

    def _touch(self, agent_id: str, rows: Sequence[int]) -> None:
        now_us = self._touch_rows(rows)
        hits = tuple(rows[: limits.RECALL_EVENT_HITS_MAX])
        self._writer.touch(rows, RecallEvent(agent_id, now_us, hits))

    def _touch_read(self, rows: Sequence[int]) -> None:
        """Count a read that is no Recall: nothing came to mind together."""
        self._touch_rows(rows)
        self._writer.touch(rows, None)

    def _touch_rows(self, rows: Sequence[int]) -> int:
        index, now_us = self._state.index, self._clock()
        slots = [slot for row in rows if (slot := index.slot_by_row.get(row)) is not None]
        index.touch(np.array(slots, np.int64), now_us)
        return now_us

    def stats(self, agent_id: str | None) -> Future[CollectionStats]:
        """Return figures of this collection, as an agent sees it; `None` counts all memories."""

        def work() -> CollectionStats:
            return CollectionStats(
                name=self.info.name,
                saved_count=self._writer.saved_count,
                refused_counts=dict(self._writer.refused_counts),
                recall_count=self.recall_count,
                counted_from_us=self._opened_us,
                file_bytes=self._store.size_bytes(self._place),
                state=self._writer.state,
                queue_length=self._writer.queue_length,
                tidy=tidying.state_of(self._state.file.rows),
                verified=self.verifier.figures(),
                checkpoint=self._checkpointing.figures(),
                reembed=self.reembedding.state(),
                **reading.figures(self._state, agent_id),
            )

        return self._on_writer(work)

    def figures(self) -> CollectionFigures:
        """Return figures of this collection at once. Raises `OSError` if its file is gone."""
        index = self._state.index
        codes = np.bincount(index.view().column("status"), minlength=len(STATUSES)).tolist()
        recall, rated_count = index.graph.recall_at_k()
        last = self._checkpointing.last()
        return CollectionFigures(
            name=self.info.name,
            memory_counts={
                status: codes[code] for status, code in STATUSES.items() if status in SHOWN
            },
            file_bytes=self._store.size_bytes(self._place),
            queue_length=self._writer.queue_length,
            missed_share=1.0 - recall if rated_count else 0.0,
            rated_count=rated_count,
            checkpoint_us=0 if last is None else last.saved_us,
            writable=self._writer.state == "serving",
        )

    def _tell(self, state: CollectionState, purged: bool) -> None:
        """Publish revisions after each commit that made any. On the writer's thread."""
        if purged:
            state.recent.clear()
        self.waiters.publish(state.revision)

    def _at_end(self, _: CollectionState) -> None:
        """Stop background work before the writer closes the file. On the writer's thread."""
        self._checkpointing.write_at_end(self._until_s)

    def _consider_indexing(self, _: CollectionState) -> None:
        self.consolidating.drop_old()
        self._indexing.consider()
