"""The one thread that writes a collection: take jobs, decide, commit, publish, answer.

    queue ──► up to GROUP_COMMIT_MAX jobs ──► each decided in a savepoint ──► one commit
          ──► publish to memory ──► answer        (each job sees those before it)

Callers take turns in the queue (`turn_queue`). A batch that lasts BATCH_MS_MAX is committed, and
its undecided jobs go back to the front of the queue.

A job that lacks a vector is not decided: its texts go to the embedder and it comes back to the
queue. So equal texts and replays are answered before anything is embedded. A job for a judge goes
the same way, alone and a bounded number of times: nobody waits behind it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import (
    Corruption,
    ReadOnly,
    StaleRevision,
    TotonoeError,
    Unanswered,
    Unavailable,
    typed,
)
from totonoe_core.base.ids import new_operation_id
from totonoe_core.base.stages import STAGES, Lacking, Name, Stage, Stages
from totonoe_core.base.turn import TURN, Turn
from totonoe_core.domain.commands import Applied, Command, asked, kind_of, reason_of
from totonoe_core.domain.consolidate import ReplayEvents
from totonoe_core.domain.expiry import Expire
from totonoe_core.domain.memories import Purge, Purged
from totonoe_core.domain.records import RecallEvent
from totonoe_core.domain.transfer import ImportRows
from totonoe_core.engine.commands import expire
from totonoe_core.engine.guarding.judging import NeedsOpinion
from totonoe_core.engine.state.caches import forget_cached
from totonoe_core.engine.state.futures import Why, fail, settle, shutting_down
from totonoe_core.engine.state.ledger import NeedsVector, Operation
from totonoe_core.engine.state.scans import guarded
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.engine.writer import replies
from totonoe_core.engine.writer.batch_time import BatchTime
from totonoe_core.engine.writer.decide import Decider
from totonoe_core.engine.writer.turn_queue import TurnQueue
from totonoe_core.engine.writer.upkeep import TOUCH_FLUSH_S, Upkeep
from totonoe_core.engine.writer.written import WriteCounters
from totonoe_core.judging import JudgingService, TextPair
from totonoe_core.store.records import Touched

_PENDING_READ_EVERY_S = 0.5
_LOOKED_AGAIN_S = (0.1, 0.4, 1.5)
"""How long to wait before a store that was lost during a commit is asked again."""

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
    asked_count: int = 0
    """Times that a judge was asked; from `JudgingService.rounds_max` on it is decided without."""
    model_number: int = 0
    """Number of the collection's model that made `vectors`."""
    wanted: tuple[str, ...] = ()
    """Texts whose vectors it needs, beside those of its commands."""
    embedded: dict[str, Vector] = field(default_factory=dict)
    """Vectors of such texts, and of all while another model is prepared, by the running model."""
    embedded_by: str = ""
    """Key of that model."""
    digest: bytes = b""
    """Of what its caller asked, once it was compared with the kept answers."""
    stale: bool = False
    """True if its results depend on vectors, and another model made them."""
    turn: Turn = field(default_factory=TURN.get)
    """The flow that it waits in."""
    group: Group | None = None
    """The jobs submitted with it."""
    stages: Stages | None = field(default_factory=STAGES.get)
    """Where its stages are marked."""
    stage: Stage | None = None
    """The stage that it is in."""
    on_trial: bool = False
    """True if it is taken back."""

    def enter(self, stage: Name) -> None:
        """Mark that a stage begins; the one before is over."""
        if self.stages is not None:
            self.stage = self.stages.begin(stage, self.stage)

    def leave(self, lacking: Lacking = "") -> None:
        """Mark that the stage is over."""
        if self.stage is not None:
            self.stage.end(lacking)
            self.stage = None

    @property
    def agent_id(self) -> str:
        """The caller: the agent of the first command."""
        return self.commands[0].agent_id

    def rest(self) -> list[Job]:
        """Return the job, and those behind it in its group."""
        if self.group is None:
            return [self]
        place = next(at for at, job in enumerate(self.group.jobs) if job is self)
        return self.group.jobs[place:]


@dataclass(slots=True)
class Group:
    """Jobs of one flow that are decided in their order; jobs of others may come in between."""

    jobs: list[Job]


@dataclass(slots=True)
class Call:
    """Other work for the writer's thread, outside any transaction."""

    work: Callable[[], Any]
    future: Future[Any] = field(default_factory=Future)
    turn: Turn = field(default_factory=TURN.get)
    vector: Vector | None = None
    """The vector that the guard will look for, if any."""


Item = Job | Call
"""An entry of the queue."""


class Writer:
    """The writer thread of one collection.

    `embed(group)` must give the jobs their missing vectors (plans, and a Calibrate its result) and
    submit the group again, or fail them; `maintain(state)` is called now and then, since there may
    be something to update; `published(state, purged)` is called after each commit of revisions,
    before the callers' futures complete. All are called on the writer's thread and must not wait.
    `ending(state)` is called last, when all is written and before the file is closed. `judging`
    decides borderline pairs. `forget_cached` empties every cache that may hold words of purged
    memories. `written` counts what is decided and committed.
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
        written: WriteCounters | None = None,
    ) -> None:
        self._load = load
        self._forget_cached = forget_cached
        self._judging = judging
        self._written = written or WriteCounters()
        self._clock = clock
        self._embed = embed
        self._maintain = maintain
        self._published = published
        self._ending = ending
        self._queue: TurnQueue[Item] = TurnQueue(limits.WRITER_QUEUE_MAX)
        self._time = BatchTime()
        self._pending_read_s = 0.0
        self._closing = threading.Event()
        self._why: Why = shutting_down
        # The thread must not end between the check of `_closing` and queueing.
        self._gate = threading.Lock()
        self.state = "serving"
        self.saved_count = 0
        self.refused_counts: dict[str, int] = {}
        self._loaded: Future[CollectionState] = Future()
        self._thread = threading.Thread(target=self._run, name=f"writer {name}", daemon=True)
        self._thread.start()

    def loaded(self) -> CollectionState:
        """Wait until the file is read; raise its error, if any."""
        return self._loaded.result()

    @property
    def queue_length(self) -> int:
        """Number of waiting jobs and calls."""
        return len(self._queue)

    def submit(self, group: Group) -> None:
        """Queue jobs, which complete their futures. A full queue fails them with `Unavailable`."""
        for job in group.jobs:
            job.group = group
            job.enter("queue")
        try:
            self._put(group.jobs)
        except TotonoeError as error:
            self._fail(group.jobs, error)

    def call(self, work: Callable[[], T], vector: Vector | None = None) -> Future[T]:
        """Queue other work for the writer's thread. Raises `Unavailable`, `ReadOnly`.

        The guard will look for `vector`, if given: one scan may serve several calls.
        """
        stages = STAGES.get()
        call = Call(work if stages is None else stages.timed(work), vector=vector)
        self._put([call])
        return call.future

    def _put(self, items: Collection[Item]) -> None:
        with self._gate:
            if self.state == "failed":
                raise _failed()
            if self._closing.is_set():
                raise self._why()
            try:
                self._queue.put(items)
            except queue.Full:
                raise _overloaded() from None

    def trial(self, job: Job) -> Future[Applied]:
        """Queue a job that is decided and taken back: its answer is what it would be now.

        The answer's revision is the newest. A job that lacks a vector or an opinion fails with
        `NeedsVector` or `NeedsOpinion`.
        """
        vectors = [vector for vector in job.vectors if vector is not None]
        return self.call(lambda: self._tried(job), vectors[0] if vectors else None)

    def _tried(self, job: Job) -> Applied:
        self._fit(job)
        before = self._state.remembered()
        try:
            with self._state.file.trial():
                if self._state.shared and self._caught_up():
                    before = self._state.remembered()
                return replace(self._decide(job), revision=before.revision)
        finally:
            self._state.take_back(before)

    def alone(self, job: Job) -> Future[Applied]:
        """Queue a job that is decided alone, after everything before it is published."""
        self.call(lambda: self._batch([job]))
        return job.future

    def touch(self, rows: Sequence[int], event: RecallEvent | None) -> None:
        """Note read rows, and the Recall if it was one; figures are written within seconds."""
        self._upkeep.touch(rows, event)

    def close(self, timeout_s: float, why: Why = shutting_down) -> None:
        """Finish queued work, write access figures, close the file. Idempotent."""
        with self._gate:
            self._why = why
            self._closing.set()
            self._queue.wake()
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
        if state.file.commits.loss is not None:
            self._refused()
        self._loaded.set_result(state)
        try:
            while len(self._queue) or not self._closing.is_set():
                batch = self._queue.take(limits.GROUP_COMMIT_MAX, TOUCH_FLUSH_S)
                try:
                    self._work(batch)
                except BaseException as error:
                    # A bug: memory may differ from the file. All futures fail, and nothing is
                    # written until the collection is reopened.
                    self._give_up(batch, error)
                    raise
            self._upkeep.flush_touches()
            self._ending(state)
        finally:
            state.file.close()

    def _work(self, batch: Sequence[Item]) -> None:
        self._expire()
        self._expect(batch)
        calls = [item for item in batch if isinstance(item, Call)]
        left: list[Item] = list(self._called(calls))
        # A job that came behind a call of its flow does not overtake it.
        held = {call.turn for call in left}
        jobs = [item for item in batch if isinstance(item, Job) and item.turn not in held]
        if jobs:
            if any(map(_replays, jobs)):
                self._upkeep.flush_touches()  # includes the latest Recalls
            left += self._batch(jobs)
        left += [item for item in batch if isinstance(item, Job) and item.turn in held]
        if left:
            undone = set(map(id, left))
            self._queue.put_back(item for item in batch if id(item) in undone)
        self._expect(left)
        self._upkeep.run()
        if self._state.shared and not left and not jobs:
            # A batch has caught up already.
            self._look_after_others()

    def _called(self, calls: Sequence[Call]) -> Sequence[Call]:
        """Run calls one after the other; return those left over when the time is up."""
        self._time.begin()
        for done, call in enumerate(calls):
            if done and not self._time.suffices(call.turn):
                return calls[done:]
            if call.future.set_running_or_notify_cancel():
                with self._time.measured(call.turn):
                    settle(call.future, call.work)
        return ()

    def _give_up(self, batch: Sequence[Item], error: BaseException) -> None:
        with self._gate:
            self.state = "failed"
            self._closing.set()
        self._fail(batch, error)
        self._fail(list(self._queue.drained()), _failed())

    def _batch(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Decide jobs in order, commit once, publish, answer.

        Returns the jobs left over when the time is up; the first is always decided.
        """
        state = self._state
        before = state.remembered()
        answers: list[tuple[Job, Applied | BaseException]] = []
        waiting: list[Group] = []
        asking: list[tuple[Job, Sequence[TextPair]]] = []
        for job in jobs:
            self._fit(job)
        try:
            asked = {(job.agent_id, job.operation_id) for job in jobs if job.operation_id}
            with state.file.transaction(asked):
                if state.shared and self._caught_up():
                    before = state.remembered()
                    # Another daemon may have changed the model.
                    for job in jobs:
                        self._fit(job)
                    # What was scanned ahead lacks what came since.
                    self._expect(jobs)
                left = self._decide_in_time(jobs, answers, waiting, asking)
                decided_s = time.perf_counter()
        except BaseException as error:
            if not (isinstance(error, Unanswered) and self._is_stored(answers)):
                state.take_back(before)
                self.state = "read-only" if isinstance(error, ReadOnly) else self.state
                self._fail([*jobs, *(job for group in waiting for job in group.jobs)], error)
                return ()
        self.state = "serving"
        committed_s = time.perf_counter() - decided_s
        _mark_commit(answers, decided_s, committed_s)
        state.publish()
        purged = self._finish_purges([answer for _, answer in answers])
        if state.revision != before.revision:
            self._published(state, purged)
        if answers:
            self._written.commit(committed_s, [answer for _, answer in answers])
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
        return left

    def _is_stored(self, answers: Sequence[tuple[Job, Applied | BaseException]]) -> bool:
        """Return whether a batch is stored whose commit got no answer; one operation tells.

        The look takes the lock, which the lost transaction holds until its end. False too if the
        store does not answer in time: then nobody knows, and a repeated operation id will tell.
        """
        decided = [
            answer for _, answer in answers if isinstance(answer, Applied) and not answer.replayed
        ]
        file = self._state.file
        for wait_s in _LOOKED_AGAIN_S:
            try:
                with file.trial():
                    seals = [
                        (answer, file.rows.history.seal(answer.revision)) for answer in decided
                    ]
                return any(seal and seal[0] == answer.operation_id for answer, seal in seals)
            except TotonoeError:
                self._closing.wait(wait_s)
        return False

    def _look_after_others(self) -> None:
        """Catch up between batches, so that reads show what other daemons committed.

        In one snapshot in place of the lock: no commit falls between its reads. What is committed
        meanwhile is for the next look.
        """
        file = self._state.file
        try:
            with file.reading():
                if self._state.may_be_behind():
                    with file.rows.snapshot():
                        self._caught_up()
                elif time.monotonic() - self._pending_read_s > _PENDING_READ_EVERY_S:
                    # It begins without a revision of its own.
                    self._pending_read_s = time.monotonic()
                    self._state.read_pending()
        except TotonoeError as error:
            self._upkeep.skipped(error)

    def _caught_up(self) -> bool:
        """Take in what other daemons committed; return whether there was anything."""
        purged = self._state.catch_up()
        if purged is None:
            return False
        if purged:
            self._forget_cached()
        self._published(self._state, purged)
        return True

    def _expect(self, items: Sequence[Item]) -> None:
        """Announce the vectors of a batch to the guard, which scans for many at once."""
        calls = [item for item in items if isinstance(item, Call)]
        vectors = [call.vector for call in calls if call.vector is not None]
        for job in items:
            if isinstance(job, Job):
                for command, vector in zip(job.commands, job.vectors, strict=True):
                    if vector is not None and guarded(command):
                        vectors.append(vector)
        self._state.scans.expect(self._state.index, self._state.info.guard, vectors)

    def _decide_in_time(
        self,
        jobs: Sequence[Job],
        answers: list[tuple[Job, Applied | BaseException]],
        waiting: list[Group],
        asking: list[tuple[Job, Sequence[TextPair]]],
    ) -> Sequence[Job]:
        """Decide jobs; return those left over when the time is up.

        Behind a job that lacks a vector, an equal text or a replay in its group cannot be
        recognised before it is decided: all of them go to `waiting` with it. A job for a judge goes
        to `asking`; those behind it go on.
        """
        self._time.begin()
        gone: set[int] = set()
        for done, job in enumerate(jobs):
            if id(job) in gone:
                continue
            if done and not self._time.suffices(job.turn):
                return [job for job in jobs[done:] if id(job) not in gone]
            if not job.started:
                # From here on it runs to its end, even if the caller cancels.
                if not job.future.set_running_or_notify_cancel():
                    continue
                job.started = True
            job.enter("decide")
            try:
                with self._time.measured(job.turn):
                    answer: Applied | BaseException = self._decide(job)
            except NeedsVector as needed:
                job.leave("vector")
                job.wanted = needed.texts
                rest = job.rest()
                self._queue.drop(rest)
                gone.update(map(id, rest))
                waiting.append(Group(rest))
                continue
            except NeedsOpinion as needed:
                job.leave("opinion")
                asking.append((job, needed.pairs))
                continue
            except ReadOnly:
                raise
            except Exception as error:
                answer = typed(error)
            job.leave()
            answers.append((job, answer))
        return ()

    def _finish_purges(self, answers: Sequence[Applied | BaseException]) -> bool:
        """Remove purged memories of a committed batch from memory and file; return whether any.

        Not earlier: a batch that fails must leave everything as it was.
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

    def _expire(self) -> None:
        """Forget what has expired, an operation for each EXPIRED_PER_OPERATION_MAX memories.

        If the disk refuses, reads hide it all the same.
        """
        if self._state.file.commits.loss is not None:
            return
        for command in self._due():
            self._batch([Job("", (command,), [None])])

    def _due(self) -> Sequence[Expire]:
        """Return the commands that forget what has expired; none if an error prevents it.

        A bad row in the way is set aside soon, and the others follow.
        """
        now_us = max(self._state.last_time_us + 1, self._clock())
        try:
            with self._state.file.reading():
                return list(expire.due(self._state, now_us))
        except Exception as error:
            if not isinstance(error, Corruption):
                self._upkeep.skipped(error)
            return ()

    def _purge(self, command: Purge) -> None:
        """Run a purge of the daemon's own, for upkeep."""
        self._batch([Job("", (command,), [None])])

    def _refused(self) -> None:
        """Note that the disk refused a write."""
        self.state = "read-only"

    def _ask(self, job: Job, pairs: Sequence[TextPair]) -> None:
        """Put pairs to the judge; the job comes back with the answer or at the deadline."""
        assert self._judging is not None
        job.asked_count += 1
        job.enter("judge")
        self._judging.submit(pairs).add_done_callback(lambda _: self.submit(Group([job])))

    def _decide(self, job: Job) -> Applied:
        """Decide a job, after whatever has expired by then is forgotten."""
        if not isinstance(job.commands[0], Expire):
            with suppress(Corruption):
                for command in self._due():
                    self._decide_alone(Job("", (command,), [None]))
        return self._decide_alone(job)

    def _decide_alone(self, job: Job) -> Applied:
        state = self._state
        if job.operation_id:
            # A job comes twice if its text is embedded; what its caller asked stays the same.
            job.digest = job.digest or replies.digest_of(tuple(map(asked, job.commands)))
            first = replies.first_answer(state.file, job.agent_id, job.operation_id, job.digest)
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
            may_ask=self._judging is not None and job.asked_count < self._judging.rounds_max,
            words_only=state.words_only,
            on_trial=job.on_trial,
        )
        if job.embedded_by == state.info.model.key:
            operation.embedded = job.embedded
        elif state.pending is not None and job.embedded_by == state.pending.model.key:
            operation.next_vectors = job.embedded
        if not job.embedded:
            self._decider.check_vectors(job.commands, job.vectors)
        before = state.remembered()
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
                    replies.keep(state.file, job.agent_id, job.digest, answer, operation.now_us)
        except BaseException:
            state.take_back(before)
            raise
        if operation.touched:
            state.newest = operation_id, operation.now_us
        state.revision = revision
        state.last_time_us = operation.now_us
        return answer

    def _fit(self, job: Job) -> None:
        """Drop vectors of another model than the collection has now."""
        number = self._state.info.model_number
        if job.model_number != number:
            job.vectors, job.model_number = [None] * len(job.vectors), number
            job.stale = any(isinstance(command, ImportRows) for command in job.commands)

    def _count(self, answer: Applied) -> None:
        if answer.replayed:
            return
        for result in answer.results:
            guard = getattr(result, "guard", None)
            if getattr(result, "saved", None) is True:
                self.saved_count += 1
            elif getattr(result, "saved", None) is False and guard is not None:
                # No layer refused it, but a forgotten memory says the same.
                method = "forgotten" if guard.duplicate is None else guard.method.value
                self.refused_counts[method] = self.refused_counts.get(method, 0) + 1

    def _fail(self, items: Sequence[Item], error: BaseException) -> None:
        for item in items:
            fail(item.future, error)


def _mark_commit(
    answers: Sequence[tuple[Job, Applied | BaseException]], decided_s: float, committed_s: float
) -> None:
    """Mark the commit that decided jobs share, before their callers hear of it."""
    for job, _ in answers:
        if job.stages is not None:
            ended_s = decided_s + committed_s
            job.stages.add(Stage("commit", decided_s, ended_s, operations_count=len(answers)))


def _replays(job: Job) -> bool:
    """Return whether any of a job's commands uses up Recall events."""
    return any(isinstance(command, ReplayEvents) for command in job.commands)


def _overloaded() -> Unavailable:
    return Unavailable(
        "OVERLOADED", "the write queue is full", retry_delay_ms=limits.RETRY_DELAY_MS
    )


def _failed() -> ReadOnly:
    return ReadOnly(
        "READ_ONLY", "the collection's writer failed; the daemon must be restarted to write again"
    )
