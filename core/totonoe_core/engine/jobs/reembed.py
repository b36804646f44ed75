"""Re-embed: a collection gets the vectors of another model while it is written and read.

    begin     the model gets a number, and the file records the work: a second call joins it, and it
              goes on by itself after a crash or a restart
    embed     texts in the order of their rows, a small batch at the embedder at a time; the vectors
              lie beside the rows (`BesideRows`). Texts written meanwhile are embedded on their way
              to the writer, and rows that change otherwise are done again
    index     a second set of vectors, prefix and graph are made beside (`model_swap.py`)
    swap      one operation of one commit, decided alone: settings, models, the index. The vectors
              stay where they lie, and each carries its model's number
    settle    rows exchange their vectors with those beside them, some at a time; those of the
              model before are kept there until the next Reembed, for the way back

It has a thread of its own, which ends when the work is done. The thread waits for the writer, never
the other way round. The work is the collection's: only a cancel ends it, not a caller that leaves.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits, names, plain
from totonoe_core.base.errors import Precondition, ReadOnly, TotonoeError, Unavailable
from totonoe_core.base.ids import new_operation_id
from totonoe_core.domain.commands import Applied, asked
from totonoe_core.domain.records import Memory, ModelIdentity, Status
from totonoe_core.domain.reembed import (
    MODELS_MAX,
    KnownModel,
    Pending,
    Phase,
    Reembed,
    ReembedMessage,
    ReembedProgress,
    ReembedState,
)
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine.commands.model_swap import NotPreparedError, Prepared
from totonoe_core.engine.jobs.progress import Watch, Watches, told
from totonoe_core.engine.state.futures import Stop, shutting_down, then
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.engine.writer import replies
from totonoe_core.engine.writer.writer import Job, Writer
from totonoe_core.rules import validate
from totonoe_core.store.rows import Embedding
from totonoe_core.store.seam import ReaderPool
from totonoe_core.store.settings import read_settings

T = TypeVar("T")

_LOOKED_EVERY_S = 0.2
"""Interval between two checks whether to stop, while waiting."""
_TRIED_AGAIN_S = 1.0
_SWAPS_TRIED = 3
"""Turns of a swap that may find texts of other daemons without a vector, before it embeds them."""
_EMBEDDED_S_MAX = 2.0
"""How long all wait for that."""
_NOT_YET = ReembedProgress(Phase.WAITING, 0, 0, 0.0, 0.0)


class _HaltedError(Exception):
    """It was cancelled, or the collection is closed."""


class Reembedding:
    """The re-embedding of one collection. Safe from any thread."""

    def __init__(
        self,
        state: CollectionState,
        writer: Writer,
        readers: ReaderPool,
        embedding: EmbeddingService | None,
        stop: threading.Event,
    ) -> None:
        self._state = state
        self._writer = writer
        self._readers = readers
        self._embedding = embedding
        self._stop = stop
        self._halt = Stop(stop)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked = False
        self._watches = Watches(limits.REEMBED_WATCHERS_MAX)
        self._cancels: list[Future[int]] = []
        self._progress = _NOT_YET
        self._failure = ""
        self._model_key = ""
        self._begun_s, self._begun_count = 0.0, 0

    # -- Calls

    def start(self, operation_id: str, command: Reembed) -> Future[Watch]:
        """Start it, or join a running one; return its progress stream.

        Raises
        ------
        Precondition
            NOTHING_TO_REEMBED: the daemon has no model, or it is the collection's and every memory
            has its vector. REEMBEDDING: with another model, or it is being cancelled.
        AlreadyExists
            The operation id was used for something else.
        Quota
            REEMBED_WATCHERS_MAX watch it.
        Unavailable
            The embedder does not run now.
        """
        names.check(command.agent_id, "agent_id")
        validate.optional_text(command.reason, "reason", limits.REASON_BYTES_MAX)
        validate.operation_id(operation_id)
        service = self._embedding
        if service is None:
            raise Precondition("NOTHING_TO_REEMBED", "the daemon runs no embedder")

        def begin(_: object) -> Future[Watch]:
            model = service.wait_ready(0.0)
            step = self._writer.call(lambda: self._begin(model, operation_id, command))
            return then(step, self._attached)

        # During the embedder's first load, texts wait for it.
        return begin(None) if service.identity else then(service.submit(["."]), begin)

    def _attached(self, done: Applied | None) -> Future[Watch]:
        watch = self._watches.add()
        if done is not None:
            watch.end(told(done))
        else:
            watch.tell(ReembedMessage(self._progress))
            self.go_on()
        future: Future[Watch] = Future()
        future.set_result(watch)
        return future

    def cancel(self) -> Future[int]:
        """Cancel it and drop its vectors; return how many, -1 if none was running."""

        def step() -> Future[int]:
            future: Future[int] = Future()
            if self._change_pending(lambda pending: replace(pending, cancelled=True)) is None:
                future.set_result(-1)
                return future
            with self._lock:
                self._cancels.append(future)
                self._halt.set()
            self.go_on()
            return future

        return then(self._writer.call(step), lambda future: future)

    def state(self) -> ReembedState | None:
        """Return the running or waiting re-embedding."""
        pending = self._state.pending
        if pending is not None:
            return ReembedState(pending.model, self._progress, self._failure)
        if self._thread is not None and self._progress.phase is Phase.SETTLING:
            return ReembedState(self._state.published.model, self._progress, self._failure)
        return None

    def busy(self) -> bool:
        """Return whether it works, or waits for its embedder."""
        return self._thread is not None

    def go_on(self) -> None:
        """Start the thread, if there is work and it does not run."""
        with self._lock:
            self._asked = True
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._work, name="reembed", daemon=True)
                self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """Wait for the stopped thread to end. Idempotent.

        The work goes on when the collection is opened again.
        """
        self._halt.set()
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)
        self._watches.fail(shutting_down())

    # -- On the writer's thread

    def _begin(self, model: ModelIdentity, operation_id: str, command: Reembed) -> Applied | None:
        """Record the work in the file; return the first answer if it was done already."""
        state = self._state
        digest = replies.digest_of((asked(command),))
        with state.file.transaction():
            first = replies.first_answer(state.file, command.agent_id, operation_id, digest)
            if first is not None:
                return first
            self._check_model()
            pending = state.read_pending()
            if pending is not None:
                if pending.cancelled or pending.model.key != model.key:
                    raise Precondition(
                        "REEMBEDDING",
                        "it is being cancelled"
                        if pending.cancelled
                        else "it is being re-embedded with another model; cancel that first",
                        model=pending.model.key,
                        running=model.key,
                    )
                return None
            if model.key == state.info.model.key and not state.index.lacking_count():
                raise Precondition(
                    "NOTHING_TO_REEMBED",
                    f"the collection has the vectors of {model.key}, the model that the daemon "
                    "runs",
                    model=model.key,
                )
            models = state.models()
            numbers = [at for at, known in enumerate(models) if known.model.key == model.key]
            if not numbers:
                if len(models) >= MODELS_MAX:
                    raise Precondition("REEMBEDDING", f"it had {MODELS_MAX} models, the most")
                models, numbers = (*models, KnownModel(model)), [len(models)]
            # Also without an id of the caller: by the kept answer other daemons learn of the end.
            pending = Pending(model, numbers[0], command, operation_id or new_operation_id())
            state.put_models(models)
            state.put_pending(pending)
        state.pending = pending
        self._progress = _NOT_YET
        return None

    def _check_model(self) -> None:
        """Raise `Unavailable` if another daemon has changed the model since the last look."""
        state = self._state
        if state.shared and read_settings(state.file.rows).model_number != state.info.model_number:
            raise Unavailable(
                "OVERLOADED",
                "another daemon has changed the model just now",
                retry_delay_ms=limits.RETRY_DELAY_MS,
            )

    def _change_pending(self, change: Callable[[Pending], Pending | None]) -> Pending | None:
        """Change the record of the work, and return it as it was; `None` if there was none."""
        state = self._state
        with state.file.transaction():
            before = state.read_pending()
            after = None if before is None else change(before)
            if after != before:
                state.put_pending(after)
        state.pending = after
        return before

    def _store(self, found: Sequence[Embedding], contents: Sequence[bytes]) -> int:
        """Store vectors beside the rows whose texts are unchanged; return how many."""
        state = self._state
        with state.file.transaction():
            # All is read here within: what is read before, another daemon may change.
            pending = state.read_pending()
            if pending is None or pending.cancelled:
                raise _HaltedError
            now = state.file.rows.excerpts([embedding.row for embedding in found])
            fit = [
                embedding
                for embedding, content_hash in zip(found, contents, strict=True)
                if embedding.model_number == pending.model_number
                and embedding.row in now
                and now[embedding.row].content_hash == content_hash
            ]
            pending = replace(pending, embedded_count=pending.embedded_count + len(fit))
            state.file.beside.put(fit)
            state.put_pending(pending)
        state.pending = pending
        return len(fit)

    def _exchange(self, rows: Sequence[int]) -> None:
        """Give rows the vectors of the collection's model that lie beside them."""
        file, number = self._state.file, self._state.info.model_number
        with file.transaction():
            self._check_model()
            memories, beside = file.rows.memories(rows), file.rows.beside.embeddings(rows)
            file.beside.exchange(
                (memory, beside[row])
                for row, memory in memories.items()
                if memory.status is not Status.PURGED
                and row in beside
                and beside[row].model_number == number
                and not (memory.vector and memory.model_number == number)
            )

    def _drop(self, rows: Sequence[int], model_number: int) -> bool:
        """Delete vectors beside rows; return false if another daemon has done with it by then."""
        file = self._state.file
        with file.transaction():
            pending = self._state.read_pending()
            if pending is None or not pending.cancelled:
                # It may have begun anew, with the same model.
                return False
            beside = file.rows.beside.embeddings(rows).items()
            file.beside.delete(
                row for row, embedding in beside if embedding.model_number == model_number
            )
        return True

    # -- On its own thread

    def _work(self) -> None:
        while True:
            try:
                again = not self._step()
            except (_HaltedError, NotPreparedError):
                again = True
            except (Unavailable, ReadOnly, OSError) as error:
                self._failure = getattr(error, "message", type(error).__name__)
                self._told_phase(Phase.WAITING)
                self._stop.wait(_TRIED_AGAIN_S)
                again = True
            except BaseException as error:
                self._failure = getattr(error, "message", type(error).__name__)
                self._watches.fail(error)
                again = False
                if not isinstance(error, TotonoeError):
                    with self._lock:
                        self._thread = None
                    raise
            with self._lock:
                # A new request may have come at this moment.
                if self._stop.is_set() or not (again or self._asked):
                    self._thread = None
                    return

    def _step(self) -> bool:
        """Do the next step; return true if none is left."""
        self._asked = False
        pending = self._state.pending
        if pending is not None and pending.cancelled:
            self._cancel(pending)
            return False
        with self._lock:
            if not self._stop.is_set() and not self._cancels:
                self._halt.clear()
        if self._on_writer(lambda: self._state.settling):
            self._settle()
        if pending is None:
            self._on_writer(self._end_by_others)
            return True
        self._model_key = pending.model.key
        service = self._embedding
        running = None if service is None else service.wait_ready(_LOOKED_EVERY_S)
        if service is None or running is None or running.key != pending.model.key:
            self._failure = "the daemon runs another model: " + (
                "none" if running is None else running.key
            )
            self._told_phase(Phase.WAITING)
            self._watches.fail(
                Precondition(
                    "REEMBEDDING",
                    self._failure,
                    model=pending.model.key,
                    running="none" if running is None else running.key,
                )
            )
            return True
        self._failure = ""
        self._embed_all(pending, service)
        self._swap(pending, service)
        return False

    def _end_by_others(self) -> None:
        """Tell who watches how another daemon ended the work. On the writer's thread."""
        state = self._state
        if state.pending is not None or not self._watches.any():
            return
        self._check_model()
        rows, info = state.file.rows, state.info
        made = rows.history.operation(info.model_since)
        kept = None if made is None else state.file.reply(made.agent_id, made.operation_id)
        if kept is None or info.model.key != self._model_key:
            self._watches.fail(Precondition("REEMBEDDING", "another daemon ended it"))
        else:
            self._watches.end(told(plain.loads(Applied, kept.answer)))

    def _embed_all(self, pending: Pending, service: EmbeddingService) -> None:
        """Embed texts without a vector of the model, in the order of the rows."""
        self._begun_s, self._begun_count = time.monotonic(), 0
        total = len(self._state.index.slot_by_row)
        self._show(Phase.EMBEDDING, 0, total)
        row = done = 0
        while True:
            self._check()
            with self._readers.rows() as rows:
                numbers = rows.beside.rows_from(row, limits.REEMBED_STORED_AT_ONCE)
                page = list(rows.memories(numbers).values())
                lacking = self._lacking(list(rows.beside.of_model(pending.model_number, page)))
            if not numbers:
                return
            row = numbers[-1]
            self._embed(lacking, pending, service)
            done += sum(memory.status is not Status.PURGED for memory in page)
            self._show(Phase.EMBEDDING, done, max(total, done))

    @staticmethod
    def _lacking(memories: Sequence[Memory]) -> list[Memory]:
        return [
            memory
            for memory in memories
            if not memory.vector and memory.status is not Status.PURGED
        ]

    def _embed(
        self, memories: Sequence[Memory], pending: Pending, service: EmbeddingService
    ) -> None:
        """Embed texts, one batch after the other, and store them together."""
        embeddings: list[Embedding] = []
        for start in range(0, len(memories), limits.REEMBED_BATCH_TEXTS):
            part = memories[start : start + limits.REEMBED_BATCH_TEXTS]
            vectors = self._wait(service.submit([memory.content for memory in part]))
            self._begun_count += len(part)
            embeddings += [
                Embedding(memory.row, memory.revision, vector.tobytes(), pending.model_number)
                for memory, vector in zip(part, vectors, strict=True)
            ]
        for start in range(0, len(embeddings), limits.REEMBED_STORED_AT_ONCE):
            end = start + limits.REEMBED_STORED_AT_ONCE
            vectors_now = embeddings[start:end]
            contents = [memory.content_hash for memory in memories[start:end]]
            self._on_writer(lambda: self._store(vectors_now, contents))  # noqa: B023 - waited for

    def _embed_rows(
        self, wanted: Sequence[int], pending: Pending, service: EmbeddingService
    ) -> None:
        step = limits.REEMBED_STORED_AT_ONCE
        for start in range(0, len(wanted), step):
            with self._readers.rows() as rows:
                found = rows.memories(wanted[start : start + step]).values()
                lacking = self._lacking(list(rows.beside.of_model(pending.model_number, found)))
            self._embed(lacking, pending, service)

    def _swap(self, pending: Pending, service: EmbeddingService) -> None:
        """Prepare the index beside, and swap it in."""
        total = len(self._state.index.slot_by_row)
        self._show(Phase.INDEXING, total, total)
        prepared = Prepared.begun(self._state, pending.model_number, pending.model.dimension)
        with self._readers.rows() as rows:
            prepared.fill(rows, rows.all_memories())
        self._catch_up(prepared, pending, service)
        for index in (prepared.index.prefix, prepared.index.graph):
            if index.due():
                index.maintain(self._halt)
        for tried in itertools.count(1):
            self._check()
            going_on = self._state.pending
            if going_on is None or going_on.cancelled or not prepared.fits(self._state):
                raise NotPreparedError
            if self._state.shared and tried > _SWAPS_TRIED:
                prepared.embed = lambda texts: _embedded_soon(service, texts)
            self._catch_up(prepared, pending, service)
            command = replace(pending.command, prepared=prepared)
            number = self._state.published.model_number
            job = Job(pending.operation_id, (command,), [None], model_number=number)
            try:
                applied = self._wait(self._writer.alone(job))
            except NotPreparedError:
                continue
            self._watches.end(told(applied))
            return

    def _catch_up(self, prepared: Prepared, pending: Pending, service: EmbeddingService) -> None:
        """Fill in rows written meanwhile, until no vector is missing."""
        while True:
            self._check()
            published = self._state.published.revision
            with self._readers.rows() as rows:
                prepared.catch_up(rows, published)
            if not prepared.lacking:
                return
            self._embed_rows(sorted(prepared.lacking), pending, service)

    def _settle(self) -> None:
        """Exchange vectors, so that rows have the current ones and the former ones lie beside."""
        number = self._state.published.model_number
        total = len(self._state.index.slot_by_row)
        row = done = 0
        self._begun_s, self._begun_count = time.monotonic(), 0
        while True:
            self._check()
            with self._readers.rows() as rows:
                page = rows.beside.embeddings_from(row, limits.REEMBED_STORED_AT_ONCE)
            if not page:
                break
            row = page[-1].row
            own = [embedding.row for embedding in page if embedding.model_number == number]
            if own:
                self._on_writer(lambda: self._exchange(own))  # noqa: B023 - waited for
            done += len(page)
            self._begun_count = done
            self._show(Phase.SETTLING, done, max(total, done))

        def settled() -> None:
            with self._state.file.transaction():
                self._state.put_settling(False)

        self._on_writer(settled)

    def _cancel(self, pending: Pending) -> None:
        """Drop the vectors and the record of the work."""
        self._told_phase(Phase.CANCELLING)
        row = dropped = 0
        while True:
            if self._stop.is_set():
                raise _HaltedError
            with self._readers.rows() as rows:
                page = rows.beside.embeddings_from(row, limits.REEMBED_STORED_AT_ONCE)
            if not page:
                break
            row = page[-1].row
            own = [
                embedding.row
                for embedding in page
                if embedding.model_number == pending.model_number
            ]
            if own:
                number = pending.model_number
                if not self._on_writer(lambda: self._drop(own, number)):  # noqa: B023 - waited for
                    break
            dropped += len(own)
        self._on_writer(
            lambda: self._change_pending(lambda found: None if found.cancelled else found)
        )
        self._failure = ""
        self._watches.fail(Precondition("REEMBEDDING", "it was cancelled"))
        with self._lock:
            cancels, self._cancels = self._cancels, []
        for future in cancels:
            future.set_result(dropped)

    # -- Waiting and progress

    def _check(self) -> None:
        if self._halt.is_set():
            raise _HaltedError

    def _on_writer(self, work: Callable[[], T]) -> T:
        """Run work on the writer's thread, and wait for its end."""
        future = self._writer.call(work)
        while True:
            try:
                return future.result(_LOOKED_EVERY_S)
            except FutureTimeoutError:
                if self._stop.is_set() and future.cancel():
                    raise _HaltedError from None

    def _wait(self, future: Future[T]) -> T:
        while True:
            try:
                return future.result(_LOOKED_EVERY_S)
            except FutureTimeoutError:
                if self._halt.is_set() and future.cancel():
                    raise _HaltedError from None

    def _told_phase(self, phase: Phase) -> None:
        self._progress = replace(self._progress, phase=phase, per_second=0.0, left_s=0.0)
        self._watches.tell(ReembedMessage(self._progress))

    def _show(self, phase: Phase, done: int, total: int) -> None:
        active_s = time.monotonic() - self._begun_s
        rate = self._begun_count / active_s if active_s > 0.0 else 0.0
        left_s = (total - done) / rate if rate else 0.0
        self._progress = ReembedProgress(phase, done, total, rate, left_s)
        self._watches.tell(ReembedMessage(self._progress))


def _embedded_soon(service: EmbeddingService, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed texts while others wait. Raises `NotPreparedError` if that takes too long."""
    until_s = time.monotonic() + _EMBEDDED_S_MAX
    found = []
    for start in range(0, len(texts), limits.REEMBED_BATCH_TEXTS):
        future = service.submit(texts[start : start + limits.REEMBED_BATCH_TEXTS])
        try:
            found.append(future.result(max(0.0, until_s - time.monotonic())))
        except FutureTimeoutError:
            future.cancel()
            raise NotPreparedError from None
    return np.concatenate(found)
