"""The one thread that writes a collection: take what waits, decide, commit, publish, answer.

    queue ──► up to GROUP_COMMIT_MAX jobs ──► each decided in a savepoint ──► one commit
          ──► publish to memory ──► answer        (each job sees those before it)

A job that lacks a vector is not decided: its texts go to the embedder and it comes back
to the queue. So equal texts and replays are answered before anything is embedded.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits, plain
from totonoe_core.clock import Clock
from totonoe_core.commands import Applied, Command
from totonoe_core.engine.decide import Decider, NeedsVector, Operation
from totonoe_core.engine.state import CollectionState
from totonoe_core.errors import AlreadyExists, ReadOnly, Unavailable
from totonoe_core.ids import new_operation_id
from totonoe_core.store.collection_file import Touched

TOUCH_FLUSH_S = 1.0
_REPLIES_DROPPED_AT_ONCE = 1000
_UPKEEP_EVERY_US = 60_000_000

Vector = NDArray[np.float32]


@dataclass(slots=True)
class Job:
    """One operation on its way through the writer."""

    operation_id: str
    commands: tuple[Command, ...]
    vectors: list[Vector | None]
    future: Future[Applied] = field(default_factory=Future)
    started: bool = False

    @property
    def agent_id(self) -> str:
        """The caller: the agent of the first command."""
        return self.commands[0].agent_id


@dataclass(slots=True)
class Group:
    """Jobs that are decided in their order, next to each other."""

    jobs: list[Job]


Call = Callable[[], None]
"""Something else to be done on the writer's thread, outside any transaction."""


class Writer:
    """The writer thread of one collection.

    `embed(group)` must give the jobs their missing vectors and submit the group again, or
    fail them; it is called on the writer's thread and must not wait.
    """

    def __init__(
        self,
        load: Callable[[], CollectionState],
        clock: Clock,
        embed: Callable[[Group], None],
        name: str,
    ) -> None:
        self._load = load
        self._clock = clock
        self._embed = embed
        self._queue: queue.Queue[Group | Call | None] = queue.Queue(limits.WRITER_QUEUE_MAX)
        self._touches: dict[int, None] = {}
        self._touch_lock = threading.Lock()
        self._next_flush_s = 0.0
        self._next_upkeep_us = 0
        self._closing = threading.Event()
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
        if self._closing.is_set():
            self._fail(group.jobs, _shutting_down())
            return
        try:
            self._queue.put_nowait(group)
        except queue.Full:
            self._fail(group.jobs, _overloaded())

    def call(self, function: Call) -> None:
        """Queues something else for the writer's thread."""
        if self._closing.is_set():
            raise _shutting_down()
        try:
            self._queue.put_nowait(function)
        except queue.Full:
            raise _overloaded() from None

    def touch(self, rows: Sequence[int]) -> None:
        """Notes recalled rows; their figures are written within seconds."""
        with self._touch_lock:
            if len(self._touches) < limits.PENDING_TOUCHES_MAX:
                self._touches.update(dict.fromkeys(rows))

    def close(self, timeout_s: float) -> None:
        """Finishes what is queued, writes access figures, closes the file. Idempotent."""
        if not self._closing.is_set():
            self._closing.set()
            # The queue may be full; the thread sees the flag when it has emptied it.
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
        self._decider = Decider(state)
        self._state = state
        self._loaded.set_result(state)
        try:
            while True:
                batch = self._take()
                jobs = [job for item in batch if isinstance(item, Group) for job in item.jobs]
                try:
                    for item in batch:
                        if callable(item):
                            item()
                    if jobs:
                        self._batch([item for item in batch if isinstance(item, Group)])
                    self._upkeep()
                except BaseException as error:
                    # Nobody waits for ever, whatever happens here.
                    self._fail(jobs, error)
                if self._closing.is_set() and self._queue.empty():
                    return
        finally:
            self._flush_touches()
            state.file.close()

    def _take(self) -> list[Group | Call | None]:
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
        try:
            with state.file.transaction():
                for group in groups:
                    rest = self._decide_group(group, answers)
                    if rest is not None:
                        waiting.append(rest)
        except BaseException as error:
            state.index, mark, state.info, state.revision, state.last_time_us = undo
            state.index.rollback(mark)
            self.state = "read-only" if isinstance(error, ReadOnly) else self.state
            self._fail([job for group in groups for job in group.jobs], error)
            return
        self.state = "serving"
        state.index.publish()
        for job, answer in answers:
            if isinstance(answer, BaseException):
                job.future.set_exception(answer)
            else:
                self._count(answer)
                job.future.set_result(answer)
        for rest in waiting:
            self._embed(rest)

    def _decide_group(
        self, group: Group, answers: list[tuple[Job, Applied | BaseException]]
    ) -> Group | None:
        """Answers jobs up to the first that lacks a vector; the rest is returned.

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
            except NeedsVector:
                return Group(group.jobs[position:])
            except ReadOnly:
                raise
            except Exception as error:
                answer = error
            answers.append((job, answer))
        return None

    def _decide(self, job: Job) -> Applied:
        state = self._state
        digest = _digest(job.commands)
        if job.operation_id:
            kept = state.file.reply(job.agent_id, job.operation_id)
            if kept is not None:
                if kept.digest != digest:
                    raise AlreadyExists(
                        "OPERATION_ID_REUSED",
                        kind="operation id",
                        name=job.operation_id,
                        hint="it was used with another payload",
                    )
                first = plain.loads(Applied, kept.answer)
                return Applied(first.operation_id, first.revision, first.results, replayed=True)
        operation_id = job.operation_id or new_operation_id()
        operation = Operation(
            revision=state.revision + 1,
            now_us=max(state.last_time_us + 1, self._clock()),
            touched=Touched(),
        )
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
                        type(job.commands[0]).__name__,
                        next(
                            filter(None, (getattr(one, "reason", "") for one in job.commands)), ""
                        ),
                        operation.touched,
                        operation.now_us,
                    )
                if job.operation_id:
                    kept_answer = plain.dumps(answer)
                    state.file.put_reply(
                        job.agent_id, operation_id, digest, kept_answer, operation.now_us
                    )
        except BaseException:
            state.index, state.info = index, info
            state.index.rollback(mark)
            raise
        state.revision = revision
        state.last_time_us = operation.now_us
        return answer

    def _count(self, answer: Applied) -> None:
        if answer.replayed:
            return
        for result in answer.results:
            guard = getattr(result, "guard", None)
            if getattr(result, "saved", None) is True:
                self.saved_count += 1
            elif getattr(result, "saved", None) is False and guard is not None:
                method = guard.method.value
                self.refused_counts[method] = self.refused_counts.get(method, 0) + 1

    def _fail(self, jobs: Sequence[Job], error: BaseException) -> None:
        for job in jobs:
            if not job.future.done():
                job.future.set_exception(error)

    def _upkeep(self) -> None:
        """Between batches: access figures, and replay answers past their time."""
        # Not with every batch: each flush is a commit of its own.
        if time.monotonic() >= self._next_flush_s:
            self._next_flush_s = time.monotonic() + TOUCH_FLUSH_S
            self._flush_touches()
        now_us = self._clock()
        if now_us < self._next_upkeep_us:
            return
        self._next_upkeep_us = now_us + _UPKEEP_EVERY_US
        before_us = now_us - limits.REPLAY_KEPT_S * 1_000_000
        try:
            with self._state.file.transaction():
                self._state.file.drop_replies(before_us, _REPLIES_DROPPED_AT_ONCE)
        except ReadOnly:
            self.state = "read-only"

    def _flush_touches(self) -> None:
        with self._touch_lock:
            rows, self._touches = list(self._touches), {}
        if not rows:
            return
        index = self._state.index
        view = index.view()
        figures = []
        for row in rows:
            slot = index.slot_by_row.get(row)
            if slot is not None and slot < view.count:
                last_us = int(view.value("last_access", slot))
                figures.append((row, last_us, int(view.value("access_count", slot))))
        try:
            with self._state.file.transaction():
                self._state.file.put_access(figures)
        except ReadOnly:
            self.state = "read-only"
            self.touch(rows)


def _size(item: Group | Call | None) -> int:
    return len(item.jobs) if isinstance(item, Group) else 1


def _digest(commands: tuple[Command, ...]) -> bytes:
    return blake2b(plain.dumps(commands).encode(), digest_size=16).digest()


def _overloaded() -> Unavailable:
    return Unavailable(
        "OVERLOADED", "the write queue is full", retry_delay_ms=limits.RETRY_DELAY_MS
    )


def _shutting_down() -> Unavailable:
    return Unavailable(
        "SHUTTING_DOWN", "the daemon is stopping", retry_delay_ms=limits.RETRY_DELAY_MS
    )
