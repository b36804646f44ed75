"""The one thread that writes a collection: take what waits, decide, commit, publish, answer.

    queue ──► up to GROUP_COMMIT_MAX jobs ──► each decided in a savepoint ──► one commit
          ──► publish to memory ──► answer        (each job sees those before it)

A job that lacks a vector is not decided: its texts go to the embedder and it comes back
to the queue. So equal texts and replays are answered before anything is embedded. One that a
judge should be asked about goes the same way, alone and once: nobody waits behind it.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits
from totonoe_core.clock import Clock
from totonoe_core.commands import (
    Applied,
    Command,
    Purge,
    Purged,
    asked,
    kind_of,
    reason_of,
)
from totonoe_core.consolidate import ReplayEvents
from totonoe_core.engine import replies
from totonoe_core.engine.caches import forget_cached
from totonoe_core.engine.decide import Decider
from totonoe_core.engine.futures import Why, fail, settle, shutting_down
from totonoe_core.engine.guarding import NeedsOpinion
from totonoe_core.engine.ledger import NeedsVector, Operation
from totonoe_core.engine.state import CollectionState
from totonoe_core.engine.upkeep import TOUCH_FLUSH_S, Upkeep
from totonoe_core.errors import ReadOnly, StaleRevision, TotonoeError, Unavailable
from totonoe_core.ids import new_operation_id
from totonoe_core.judging import JudgingService, Pair
from totonoe_core.records import RecallEvent
from totonoe_core.store.collection_file import Touched
from totonoe_core.transfer import ImportRows

Vector = NDArray[np.float32]
T = TypeVar("T")


@dataclass(slots=True)
class Job:
    """One operation on its way through the writer."""

    operation_id: str
    commands: tuple[Command, ...]
    vectors: list[Vector | None]
    future: Future[Applied] = field(default_factory=Future)
    started: bool = False
    asked: bool = False
    """Whether a judge was asked; it is decided without one from then on."""
    model_number: int = 0
    """Which of the collection's models made `vectors`."""
    wanted: tuple[str, ...] = ()
    """Texts that it cannot be decided without, beside those of its commands."""
    embedded: dict[str, Vector] = field(default_factory=dict)
    """Vectors of such texts, and of all while another model is prepared, by the one that runs."""
    embedded_by: str = ""
    """That model's key."""
    stale: bool = False
    """Whether vectors are part of what it says, and another model made them."""

    @property
    def agent_id(self) -> str:
        """The caller: the agent of the first command."""
        return self.commands[0].agent_id


@dataclass(slots=True)
class Group:
    """Jobs that are decided in their order, next to each other."""

    jobs: list[Job]


@dataclass(slots=True)
class Call:
    """Something else to be done on the writer's thread, outside any transaction."""

    work: Callable[[], Any]
    future: Future[Any] = field(default_factory=Future)


Item = Group | Call | None
"""What stands in the queue; `None` only wakes the thread."""


class Writer:
    """The writer thread of one collection.

    `embed(group)` must give the jobs their missing vectors (and plans, and a Calibrate what it
    finds out) and submit the group again, or fail them; `maintain(state)` is told now and then
    that there may be something to bring up to date; `published(state, purged)` that there are new
    revisions, before they are answered. All are called on the writer's thread and must not wait.
    `ending(state)` is called last, when all is written and before the file is closed. `judging` is
    asked about what is borderline. `forget_cached` empties every cache that may hold
    words of what was purged.
    """

    def __init__(
        self,
        load: Callable[[], CollectionState],
        clock: Clock,
        embed: Callable[[Group], None],
        maintain: Callable[[CollectionState], None],
        published: Callable[[CollectionState, bool], None],
        ending: Callable[[CollectionState], None],
        name: str,
        judging: JudgingService | None = None,
        forget_cached: Callable[[], None] = forget_cached,
    ) -> None:
        self._load = load
        self._forget_cached = forget_cached
        self._judging = judging
        self._clock = clock
        self._embed = embed
        self._maintain = maintain
        self._published = published
        self._ending = ending
        self._queue: queue.Queue[Item] = queue.Queue(limits.WRITER_QUEUE_MAX)
        self._closing = threading.Event()
        self._why: Why = shutting_down
        # Between looking at `_closing` and queueing, the thread must not end.
        self._gate = threading.Lock()
        self.state = "serving"
        self.saved_count = 0
        self.refused_counts: dict[str, int] = {}
        self._loaded: Future[CollectionState] = Future()
        self._thread = threading.Thread(target=self._run, name=f"writer {name}", daemon=True)
        self._thread.start()

    def loaded(self) -> CollectionState:
        """Waits until the file is read; raises what went wrong."""
        return self._loaded.result()

    @property
    def queue_length(self) -> int:
        """Groups that wait."""
        return self._queue.qsize()

    def submit(self, group: Group) -> None:
        """Queues jobs; their futures answer. A full queue fails them with `Unavailable`."""
        try:
            self._put(group)
        except TotonoeError as error:
            self._fail([group], error)

    def call(self, work: Callable[[], T]) -> Future[T]:
        """Queues something else for the writer's thread. Raises `Unavailable`, `ReadOnly`."""
        call = Call(work)
        self._put(call)
        return call.future

    def _put(self, item: Group | Call) -> None:
        with self._gate:
            if self.state == "failed":
                raise _failed()
            if self._closing.is_set():
                raise self._why()
            try:
                self._queue.put_nowait(item)
            except queue.Full:
                raise _overloaded() from None

    def alone(self, job: Job) -> Future[Applied]:
        """Queues a job that is decided with none beside it: when all is published before it."""
        self.call(lambda: self._batch([Group([job])]))
        return job.future

    def touch(self, rows: Sequence[int], event: RecallEvent) -> None:
        """Notes recalled rows; their figures are written within seconds."""
        self._upkeep.touch(rows, event)

    def close(self, timeout_s: float, why: Why = shutting_down) -> None:
        """Finishes what is queued, writes access figures, closes the file. Idempotent."""
        with self._gate:
            self._why = why
            self._closing.set()
            # Wakes the thread; if the queue is full, it is awake.
            with contextlib.suppress(queue.Full):
                self._queue.put_nowait(None)
        self._thread.join(timeout_s)

    # -- On the writer's thread

    def _run(self) -> None:
        try:
            state = self._load()
        except BaseException as error:
            self._closing.set()
            self._loaded.set_exception(error)
            return
        self._decider = Decider(state, self._judging)
        self._state = state
        self._upkeep = Upkeep(state, self._clock, self._maintain, self._purge, self._refused)
        self._loaded.set_result(state)
        try:
            while not (self._closing.is_set() and self._queue.empty()):
                batch = self._take()
                try:
                    self._work(batch)
                except BaseException as error:
                    # A bug: what is in memory may differ from the file. Nobody waits for
                    # ever, and nothing is written until the collection is opened anew.
                    self._give_up(batch, error)
                    raise
            self._upkeep.flush_touches()
            self._ending(state)
        finally:
            state.file.close()

    def _work(self, batch: Sequence[Item]) -> None:
        groups = [item for item in batch if isinstance(item, Group)]
        for item in batch:
            if isinstance(item, Call) and item.future.set_running_or_notify_cancel():
                settle(item.future, item.work)
        if groups:
            if any(_replays(group) for group in groups):
                self._upkeep.flush_touches()  # what was recalled a moment ago counts too
            self._batch(groups)
        self._upkeep.run()

    def _give_up(self, batch: Sequence[Item], error: BaseException) -> None:
        with self._gate:
            self.state = "failed"
            self._closing.set()
        self._fail(batch, error)
        while True:
            try:
                self._fail([self._queue.get_nowait()], _failed())
            except queue.Empty:
                return

    def _take(self) -> list[Item]:
        try:
            batch = [self._queue.get(timeout=TOUCH_FLUSH_S)]
        except queue.Empty:
            return []
        size = _size(batch[0])
        while size < limits.GROUP_COMMIT_MAX:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            batch.append(item)
            size += _size(item)
        return batch

    def _batch(self, groups: Sequence[Group]) -> None:
        """Decides groups in order, commits once, publishes, answers."""
        state = self._state
        undo = (state.index, state.index.mark(), state.info, state.revision, state.last_time_us)
        answers: list[tuple[Job, Applied | BaseException]] = []
        waiting: list[Group] = []
        asking: list[tuple[Job, Sequence[Pair]]] = []
        jobs = [job for group in groups for job in group.jobs]
        for job in jobs:
            self._fit(job)
        self._decider.guarding.expect((job.commands, job.vectors) for job in jobs)
        try:
            with state.file.transaction():
                for group in groups:
                    rest = self._decide_group(group, answers, asking)
                    if rest is not None:
                        waiting.append(rest)
        except BaseException as error:
            state.index, mark, state.info, state.revision, state.last_time_us = undo
            state.next_index = None
            state.index.rollback(mark)
            self.state = "read-only" if isinstance(error, ReadOnly) else self.state
            self._fail(groups, error)
            return
        finally:
            self._decider.guarding.expect(())
        self.state = "serving"
        state.publish()
        purged = self._finish_purges([answer for _, answer in answers])
        if state.revision != undo[3]:
            self._published(state, purged)
        for job, answer in answers:
            if isinstance(answer, BaseException):
                job.future.set_exception(answer)
            else:
                self._count(answer)
                job.future.set_result(answer)
        for rest in waiting:
            self._embed(rest)
        for job, pairs in asking:
            self._ask(job, pairs)

    def _finish_purges(self, answers: Sequence[Applied | BaseException]) -> bool:
        """Takes what a committed batch purged out of memory and out of the file, if anything.

        Not before: a batch that fails must leave everything as it was.
        """
        purged_ids = [
            memory_id
            for answer in answers
            if isinstance(answer, Applied) and not answer.replayed
            for result in answer.results
            if isinstance(result, Purged)
            for memory_id in result.purged_ids
        ]
        if not purged_ids:
            return False
        for memory_id in purged_ids:
            self._state.index.purge(memory_id)
        self._state.forget_purged_bad()
        self._state.forget_past()
        self._forget_cached()
        self._state.file.begin_cleaning()
        self._upkeep.clean()
        return True

    def _purge(self, command: Purge) -> None:
        """A purge of the daemon's own, for upkeep."""
        self._batch([Group([Job("", (command,), [None])])])

    def _refused(self) -> None:
        """The disk took no write."""
        self.state = "read-only"

    def _ask(self, job: Job, pairs: Sequence[Pair]) -> None:
        """Has a judge asked; the job comes back with its answer or at the deadline."""
        assert self._judging is not None
        job.asked = True
        self._judging.submit(pairs).add_done_callback(lambda _: self.submit(Group([job])))

    def _decide_group(
        self,
        group: Group,
        answers: list[tuple[Job, Applied | BaseException]],
        asking: list[tuple[Job, Sequence[Pair]]],
    ) -> Group | None:
        """Answers jobs up to the first that lacks a vector; the rest is returned.

        A job that a judge should be asked about is left to `asking`; those behind it go on.

        Of the rest, those that an equal text or a replay would answer cannot be told
        apart before the one in front is decided, so all of them are embedded.
        """
        for position, job in enumerate(group.jobs):
            if not job.started:
                # From here on it runs to its end, whatever the caller does.
                if not job.future.set_running_or_notify_cancel():
                    continue
                job.started = True
            try:
                answer: Applied | BaseException = self._decide(job)
            except NeedsVector as needed:
                job.wanted = needed.texts
                return Group(group.jobs[position:])
            except NeedsOpinion as needed:
                asking.append((job, needed.pairs))
                continue
            except ReadOnly:
                raise
            except Exception as error:
                answer = error
            answers.append((job, answer))
        return None

    def _decide(self, job: Job) -> Applied:
        state = self._state
        digest = replies.digest_of(tuple(map(asked, job.commands)))
        first = replies.first_answer(state.file, job.agent_id, job.operation_id, digest)
        if first is not None:
            return first
        if job.stale:
            raise StaleRevision(
                name="the collection's model",
                expected=state.info.model_since - 1,
                actual=state.info.model_since,
            )
        operation_id = job.operation_id or new_operation_id()
        operation = Operation(
            revision=state.revision + 1,
            now_us=max(state.last_time_us + 1, self._clock()),
            touched=Touched(),
            may_ask=self._judging is not None and not job.asked,
        )
        if job.embedded_by == state.info.model.key:
            operation.embedded = job.embedded
        elif state.pending is not None and job.embedded_by == state.pending.model.key:
            operation.ahead = job.embedded
        index, mark, info = state.index, state.index.mark(), state.info
        try:
            with state.file.savepoint():
                results = self._decider.apply(operation, job.commands, job.vectors)
                revision = operation.revision if operation.touched else state.revision
                answer = Applied(operation_id, revision, results)
                if operation.touched:
                    state.file.put_operation(
                        operation.revision,
                        operation_id,
                        job.agent_id,
                        kind_of(job.commands[0]),
                        reason_of(job.commands),
                        operation.touched,
                        operation.now_us,
                        operation.undoes,
                    )
                if job.operation_id:
                    replies.keep(state.file, job.agent_id, digest, answer, operation.now_us)
        except BaseException:
            state.index, state.info = index, info
            state.next_index = None
            state.index.rollback(mark)
            raise
        state.revision = revision
        state.last_time_us = operation.now_us
        return answer

    def _fit(self, job: Job) -> None:
        """Lets go of vectors that another model made than the collection has by now."""
        number = self._state.info.model_number
        if job.model_number != number:
            job.vectors, job.model_number = [None] * len(job.vectors), number
            job.stale = any(isinstance(one, ImportRows) for one in job.commands)

    def _count(self, answer: Applied) -> None:
        if answer.replayed:
            return
        for result in answer.results:
            guard = getattr(result, "guard", None)
            if getattr(result, "saved", None) is True:
                self.saved_count += 1
            elif getattr(result, "saved", None) is False and guard is not None:
                # By no layer: a forgotten memory says the same.
                method = "forgotten" if guard.duplicate is None else guard.method.value
                self.refused_counts[method] = self.refused_counts.get(method, 0) + 1

    def _fail(self, items: Sequence[Item], error: BaseException) -> None:
        for item in items:
            if isinstance(item, Group):
                futures: list[Future[Any]] = [job.future for job in item.jobs]
            else:
                futures = [] if item is None else [item.future]
            for future in futures:
                fail(future, error)


def _replays(group: Group) -> bool:
    """Whether any of its commands uses up Recall events."""
    return any(isinstance(one, ReplayEvents) for job in group.jobs for one in job.commands)


def _size(item: Item) -> int:
    return len(item.jobs) if isinstance(item, Group) else 1


def _overloaded() -> Unavailable:
    return Unavailable(
        "OVERLOADED", "the write queue is full", retry_delay_ms=limits.RETRY_DELAY_MS
    )


def _failed() -> ReadOnly:
    return ReadOnly(
        "READ_ONLY", "the collection's writer failed; the daemon must be restarted to write again"
    )
