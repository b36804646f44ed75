"""Consolidate: runs that look for pairs beside all other work, and can be left and gone on with.

    the run's thread   one product of a join at a time; texts of near pairs are read and compared
    its log            slots of what was found, in order: a token is a place in it
    its queue          what was made of the log and waits for the reader; full, the thread waits

A run works on a view and holds no lock and no connection between two products. Its log holds no
text: what is told is made of rows as they are then, so that a purge leaves nothing in it, and what
was hidden meanwhile is not told. A run that is left ends its thread and stays for a while; its join
goes on from the product where it was left.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from dataclasses import replace

from totonoe_core import limits, plain, validate
from totonoe_core.clock import Clock
from totonoe_core.commands import Applied, Command
from totonoe_core.consolidate import (
    Consolidated,
    ConsolidateMessage,
    ConsolidateProgress,
    ConsolidateQuery,
    EventsReplayed,
    MergeCluster,
    Pair,
    ReplayEvents,
    Told,
)
from totonoe_core.engine.futures import Why, ready, shutting_down, submit
from totonoe_core.engine.pairs import PairSearch
from totonoe_core.engine.state import CollectionState
from totonoe_core.engine.streams import Consolidation
from totonoe_core.errors import InvalidArgument, OutOfRange, Quota
from totonoe_core.fair_lock import FairLock
from totonoe_core.store.reader import ReaderPool

_PROGRESS_EVERY_S = 0.1
_REPLAY_WAIT_S = 0.05
_REST_S = 0.002
_BUSY_S = 0.05
"""After each product, of a millisecond or two, for so long after a write that was seen: writers are
to have the processors first.
"""
_AT_WORK = FairLock()
"""Runs take their steps in turn, all of the process: ten at once take no more from the writers than
one does, rests included.
"""
_NUMBER = re.compile(r"[0-9]{1,9}\Z")
_END: tuple[ConsolidateMessage, ...] = ()

_Entry = Pair | MergeCluster | None
"""What is told: a pair of slots, a cluster, or the end."""


class Run:
    """One Consolidate. Safe from any thread; one reader at a time."""

    def __init__(
        self,
        state: CollectionState,
        readers: ReaderPool,
        query: ConsolidateQuery,
        replay: Future[Applied] | None,
        clock: Clock,
    ) -> None:
        self.id = secrets.token_hex(8)
        self.asked = asked(query)
        self.left_since_s: float | None = time.monotonic()
        self._replay = replay
        self._search = PairSearch(state, readers, query, clock)
        self._steps = self._found()
        self._log: list[_Entry] = []
        self._complete = False
        self._changed = threading.Condition()
        self._ready: deque[tuple[int, Told]] = deque()
        self._next = 0
        self._told = 0
        self._progress: ConsolidateProgress | None = None
        self._forgotten_count = 0
        self._reader = 0
        self._waiting: Future[tuple[ConsolidateMessage, ...]] | None = None
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    # -- The reader's side

    def attach(self, number: int) -> Reader:
        """A reader of what comes after the first `number` entries; one before it ends.

        Raises `InvalidArgument` for a place that the log has not.
        """
        with self._changed:
            if not 0 <= number <= len(self._log):
                raise bad_token()
            self._reader += 1
            if self._waiting is not None and self._waiting.set_running_or_notify_cancel():
                self._waiting.set_result(_END)
            self._waiting = None
            self._ready.clear()
            self._next = self._told = number
            self.left_since_s = None
            if self._thread is None and self._failure is None:
                self._start()
            self._changed.notify_all()
            return Reader(self, self._reader)

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="consolidate", daemon=True)
        self._thread.start()

    def read(self, reader: int) -> Future[tuple[ConsolidateMessage, ...]]:
        """What there is to tell, at least one message; none: it is over."""
        future: Future[tuple[ConsolidateMessage, ...]] = Future()
        with self._changed:
            if reader != self._reader:
                future.set_result(_END)
            else:
                self._waiting = future
                self._settle()
        return future

    def leave(self, reader: int) -> None:
        """Ends the thread soon; what was found stays for who goes on."""
        with self._changed:
            if reader == self._reader:
                self.left_since_s = time.monotonic()
                self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """Ends it for good."""
        with self._changed:
            if self._failure is None:
                self._failure = error
            self.left_since_s = time.monotonic()
            self._settle()
            self._changed.notify_all()

    def forget(self) -> None:
        """Lets go of texts that wait for the reader: they are made again of what is there then."""
        with self._changed:
            if self._ready:
                self._next = self._ready[0][0]
                self._ready.clear()
            self._forgotten_count += 1
            self._changed.notify_all()

    def join(self, timeout_s: float) -> None:
        """Waits for the thread, which was told to end."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)

    @property
    def failed(self) -> bool:
        """Whether it ended by an error."""
        return self._failure is not None

    def _settle(self) -> None:
        """Answers who waits, if there is anything to answer. Under the lock."""
        future = self._waiting
        if future is None:
            return
        over = self._failure is None and self._complete and self._next == len(self._log)
        if not (self._ready or self._progress or self._failure or over):
            return
        self._waiting = None
        if not future.set_running_or_notify_cancel():
            return
        if self._failure is not None and not self._ready:
            future.set_exception(self._failure)
            return
        messages = []
        if self._progress is not None:
            messages.append(ConsolidateMessage(self._token(), self._progress))
            self._progress = None
        while self._ready:
            number, told = self._ready.popleft()
            self._told = number + 1
            messages.append(ConsolidateMessage(self._token(), told))
        self._changed.notify_all()
        future.set_result(tuple(messages))

    def _token(self) -> str:
        return f"{self.id}-{self._told}"

    # -- The thread's side

    def _work(self) -> None:
        try:
            while (number := self._turn()) is not None:
                with _AT_WORK:
                    if number < 0:
                        if next(self._steps, True):
                            self._end()
                    else:
                        forgotten_count = self._forgotten_count
                        self._put(number, self._made(self._log[number]), forgotten_count)
        except BaseException as error:
            self.fail(error)
        finally:
            with self._changed:
                self._thread = None
                if self._failure is None and self.left_since_s is None and not self._over():
                    # Somebody came back while it ended.
                    self._start()

    def _over(self) -> bool:
        return self._complete and self._next == len(self._log)

    def _turn(self) -> int | None:
        """What to do next: the number of an entry to tell, -1 to look further, `None` to end."""
        with self._changed:
            while True:
                if self._failure is not None or self.left_since_s is not None:
                    return None
                if len(self._ready) >= limits.CONSOLIDATE_QUEUE_MAX:
                    self._changed.wait()
                elif self._next < len(self._log):
                    return self._next
                elif self._complete:
                    self._settle()
                    return None
                else:
                    return -1

    def _put(self, number: int, told: Told | None, forgotten_count: int) -> None:
        with self._changed:
            # A reader that came meanwhile may want it again, or have it; after a purge it may say
            # what is gone.
            if number != self._next or forgotten_count != self._forgotten_count:
                return
            self._next = number + 1
            if told is not None:
                self._ready.append((number, told))
            self._settle()

    def _end(self) -> None:
        with self._changed:
            self._complete = True
            self._settle()

    def _made(self, entry: _Entry) -> Told | None:
        """A message of an entry; `None` where what it is about has changed."""
        if isinstance(entry, MergeCluster):
            return entry
        if entry is not None:
            return next(iter(self._search.candidates([entry])), None)
        search = self._search
        done = Consolidated(
            revision=search.revision,
            candidates=tuple(search.candidates(search.kept())),
            memory_count=search.memory_count,
            pair_count=search.pair_count,
            replay=EventsReplayed(),
        )
        if self._replay is None:
            return done
        applied = self._replay.result()
        (result,) = applied.results
        assert isinstance(result, EventsReplayed)
        return replace(
            done, replay=result, operation_id=applied.operation_id, replayed=applied.replayed
        )

    def _found(self) -> Iterator[bool]:
        """Looks for pairs, a product a step, and writes the log; false while there is more."""
        begun_s = due_s = busy_until_s = time.monotonic()
        active_s = 0.0
        seen_revision = self._search.revision
        for new in self._search.steps():
            self._check_replay()
            for pair in new:
                if len(self._log) < limits.PROVISIONAL_CANDIDATES_MAX:
                    self._log.append(pair)
            now_s = time.monotonic()
            # What passed while it was left, or waited for its reader, is no work.
            active_s += min(now_s - begun_s, 1.0)
            begun_s = now_s
            if now_s >= due_s:
                due_s = now_s + _PROGRESS_EVERY_S
                self._show(active_s)
            yield False
            if self._search.newest_revision != seen_revision:
                seen_revision = self._search.newest_revision
                busy_until_s = time.monotonic() + _BUSY_S
            if time.monotonic() < busy_until_s:
                time.sleep(_REST_S)
        self._show(active_s)
        while self._replay is not None and not self._replay.done():
            wait([self._replay], _REPLAY_WAIT_S)
            yield False
        self._check_replay()
        self._log += self._search.clusters()
        self._log.append(None)

    def _check_replay(self) -> None:
        if self._replay is not None and self._replay.done():
            self._replay.result()

    def _show(self, active_s: float) -> None:
        search = self._search
        scanned, total = search.scanned_count, search.total_count
        rate = scanned / active_s if active_s > 0.0 else 0.0
        left_s = (total - scanned) / rate if rate else 0.0
        with self._changed:
            self._progress = ConsolidateProgress(scanned, total, rate, left_s)
            self._settle()


class Reader:
    """What a run tells to one reader."""

    def __init__(self, run: Run, number: int) -> None:
        self._run = run
        self._number = number

    def read(self) -> Future[tuple[ConsolidateMessage, ...]]:
        """The next messages, at least one; none: it is over. One read at a time."""
        return self._run.read(self._number)

    def leave(self) -> None:
        """Ends the work soon; the token of the last message goes on for a while. Idempotent."""
        self._run.leave(self._number)


class Consolidating:
    """The runs of one collection: those that have a reader, and those left lately.

    Safe from any thread. `apply` queues operations, as `Collection.apply` does.
    """

    def __init__(
        self,
        state: CollectionState,
        readers: ReaderPool,
        executor: Executor,
        clock: Clock,
        apply: Callable[[Sequence[tuple[str, Sequence[Command]]]], list[Future[Applied]]],
    ) -> None:
        self._state = state
        self._readers = readers
        self._executor = executor
        self._clock = clock
        self._apply = apply
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}
        self._stopped: Why | None = None

    def start(self, operation_id: str, query: ConsolidateQuery) -> Future[Consolidation]:
        """Uses up Recall events and looks for pairs beside all other work, or goes on with that.

        Raises
        ------
        InvalidArgument
            Also BAD_PAGE_TOKEN, for a token that leads to no run.
        OutOfRange
            The collection has not reached `since_revision`.
        Quota
            CONSOLIDATIONS_MAX have a reader. The future fails so, too.
        Unavailable
            The collection is being closed.
        """
        validate.consolidate(query)
        validate.operation_id(operation_id)
        if query.resume_token:
            return ready(self._resumed(query))
        newest = self._state.published.revision
        if query.since_revision > newest:
            raise OutOfRange(field="since_revision", got=query.since_revision, newest=newest)
        return submit(self._executor, lambda: self._started(operation_id, query))

    def _started(self, operation_id: str, query: ConsolidateQuery) -> Consolidation:
        with self._lock:
            if self._stopped is not None:
                raise self._stopped()
            self._drop(0.0 if len(self._runs) >= limits.CONSOLIDATIONS_MAX else None)
            if len(self._runs) >= limits.CONSOLIDATIONS_MAX:
                raise Quota(
                    "QUOTA_EXCEEDED",
                    f"{limits.CONSOLIDATIONS_MAX} Consolidates of one collection are under way, "
                    "the most at once",
                )
            replay = None
            if query.max_replay_events:
                command = ReplayEvents(query.agent_id, query.max_replay_events)
                (replay,) = self._apply([(operation_id, (command,))])
            run = Run(self._state, self._readers, query, replay, self._clock)
            self._runs[run.id] = run
            return run.attach(0)

    def _resumed(self, query: ConsolidateQuery) -> Consolidation:
        run_id, _, number = query.resume_token.partition("-")
        with self._lock:
            self._drop(None)
            run = self._runs.get(run_id)
            if run is None or run.asked != asked(query) or not _NUMBER.match(number):
                raise bad_token()
            return run.attach(int(number))

    def _drop(self, kept_s: float | None) -> None:
        """Lets go of what failed or was left too long ago. Under the lock."""
        kept_s = limits.CONSOLIDATION_KEPT_S if kept_s is None else kept_s
        now_s = time.monotonic()
        for run in list(self._runs.values()):
            left_s = run.left_since_s
            if run.failed or (left_s is not None and now_s - left_s >= kept_s):
                del self._runs[run.id]

    def drop_old(self) -> None:
        """Lets go of runs that nobody went on with."""
        if self._runs:
            with self._lock:
                self._drop(None)

    def forget(self) -> None:
        """For a purge: no run keeps a text."""
        for run in self._all():
            run.forget()

    def busy(self) -> bool:
        """Whether there is a run that somebody reads, or may go on with."""
        self.drop_old()
        return bool(self._runs)

    def stop(self, timeout_s: float, why: Why = shutting_down) -> None:
        """Fails all of them and waits for their threads. Idempotent."""
        with self._lock:
            self._stopped = self._stopped or why
        for run in self._all():
            run.fail(why())
        end_s = time.monotonic() + timeout_s
        for run in self._all():
            run.join(max(0.0, end_s - time.monotonic()))

    def _all(self) -> Sequence[Run]:
        with self._lock:
            return list(self._runs.values())


def asked(query: ConsolidateQuery) -> str:
    """What a run looks for, and for whom: a token goes with it."""
    return plain.dumps(replace(query, resume_token=""))


def bad_token() -> InvalidArgument:
    """What is raised for a token that leads nowhere."""
    return InvalidArgument(
        "BAD_PAGE_TOKEN",
        field="resume_token",
        got="a token of another question, or of a run that is gone",
        allowed=f"the last token of a run left within {limits.CONSOLIDATION_KEPT_S} s",
    )
