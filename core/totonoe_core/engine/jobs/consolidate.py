"""Consolidate: runs that find pairs beside all other work, and can be left and resumed.

    the run's thread   one product of a join at a time; texts of near pairs are read and compared
    its log            slots of the pairs found, in order: a token is a place in it
    its queue          messages made of the log that wait for the reader; if full, the thread waits

Runs with the same question share the join over public memories (`join.Join.serves`). Whichever
thread has nothing to send computes its next product, and each run takes the pairs from there at
its own pace. So a slow reader delays only itself, and the join stops when the last of them leaves.

A run works on a view and holds no lock and no connection between two products. Its log holds no
text: messages are made of the rows at that time, so that memories hidden meanwhile are left out.
Judgements that are kept quote texts; a purge empties them. A run that is left ends its thread and
stays for a while; its join resumes at the product where it stopped.
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

from totonoe_core.base import limits, plain
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import InvalidArgument, OutOfRange, Quota
from totonoe_core.base.fair_lock import FairLock
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.domain.consolidate import (
    Consolidated,
    ConsolidateItem,
    ConsolidateMessage,
    ConsolidateProgress,
    ConsolidateQuery,
    EventsReplayed,
    MergeCluster,
    ReplayEvents,
    Score,
    Scored,
)
from totonoe_core.engine.jobs.join import Join, Question, Scope
from totonoe_core.engine.jobs.pairs import PairSearch
from totonoe_core.engine.seam.streams import Consolidation
from totonoe_core.engine.state import unscored
from totonoe_core.engine.state.futures import Why, ready, shutting_down, submit
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.judging import JudgingService
from totonoe_core.rules import validate
from totonoe_core.rules.consolidate import Pair
from totonoe_core.store.seam import ReaderPool

_PROGRESS_EVERY_S = 0.1
_REPLAY_WAIT_S = 0.05
_REST_S = 0.002
_BUSY_S = 0.05
"""Rest after each product, of a millisecond or two, for so long after a write was seen.

Writers get the processors first.
"""
_AT_WORK = FairLock()
"""Makes the runs of the process take their steps in turn.

Ten at once slow the writers no more than one does, rests included.
"""
_NUMBER = re.compile(r"[0-9]{1,9}\Z")
_END: tuple[ConsolidateMessage, ...] = ()

_Entry = Pair | MergeCluster | None
"""An entry of the log: a pair of slots, a cluster, or the end."""


class Run:
    """One Consolidate. Safe from any thread; one reader at a time."""

    def __init__(
        self,
        state: CollectionState,
        readers: ReaderPool,
        query: ConsolidateQuery,
        search: PairSearch,
        replay: Future[Applied] | None,
        score: Callable[[], Future[Applied]],
    ) -> None:
        self.id = secrets.token_hex(8)
        self.asked = asked(query)
        self.left_since_s: float | None = time.monotonic()
        self._replay = replay
        self._search = search
        self._steps = self._found()
        self._log: list[_Entry] = []
        self._complete = False
        self._changed = threading.Condition()
        self._ready: deque[tuple[int, ConsolidateItem]] = deque()
        self._next = 0
        self._told = 0
        self._progress: ConsolidateProgress | None = None
        self._forgotten_count = 0
        self._reader = 0
        self._waiting: Future[tuple[ConsolidateMessage, ...]] | None = None
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._state, self._readers, self._apply_score = state, readers, score
        self._scored = Scored()

    # -- The reader's side

    def attach(self, number: int) -> Reader:
        """Return a reader of everything after the first `number` entries; an earlier reader ends.

        Raises `InvalidArgument` for a place that is not in the log.
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
        """Return the next messages, at least one; none at the end."""
        future: Future[tuple[ConsolidateMessage, ...]] = Future()
        with self._changed:
            if reader != self._reader:
                future.set_result(_END)
            else:
                self._waiting = future
                self._settle()
        return future

    def leave(self, reader: int) -> None:
        """Stop the thread soon; the log stays, so that the run can be resumed."""
        with self._changed:
            if reader == self._reader:
                self.left_since_s = time.monotonic()
                self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """End the run with an error."""
        with self._changed:
            if self._failure is None:
                self._failure = error
            self.left_since_s = time.monotonic()
            self._settle()
            self._changed.notify_all()

    @property
    def public(self) -> Join:
        """The join that it may share with others."""
        return self._search.public

    def forget(self) -> None:
        """Drop texts that wait for the reader: they are made again from the rows of that time."""
        self._search.forget()
        with self._changed:
            if self._ready:
                self._next = self._ready[0][0]
                self._ready.clear()
            self._forgotten_count += 1
            self._changed.notify_all()

    def join(self, timeout_s: float) -> None:
        """Wait for the stopped thread to end."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)

    @property
    def failed(self) -> bool:
        """True if it ended with an error."""
        return self._failure is not None

    def _settle(self) -> None:
        """Answer the waiting read, if there is an answer. Under the lock."""
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
                    # A reader came back while the thread ended.
                    self._start()

    def _over(self) -> bool:
        return self._complete and self._next == len(self._log)

    def _turn(self) -> int | None:
        """Return the next entry's number, -1 to search further, `None` to end."""
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

    def _put(self, number: int, told: ConsolidateItem | None, forgotten_count: int) -> None:
        with self._changed:
            # A new reader may want it again, or have it; after a purge it may quote purged words.
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

    def _made(self, entry: _Entry) -> ConsolidateItem | None:
        """Return the message of an entry; `None` if its memories have changed."""
        if isinstance(entry, MergeCluster):
            return entry
        if entry is not None:
            return next(iter(self._search.candidates([entry])), None)
        search = self._search
        done = Consolidated(
            revision=search.scope.revision,
            candidates=tuple(search.candidates(search.kept())),
            memory_count=search.memory_count,
            pair_count=search.pair_count,
            replay=EventsReplayed(),
            scored=self._scored,
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
        """Search for pairs, a product a step, and write the log; yield false while more is left."""
        begun_s = due_s = busy_until_s = time.monotonic()
        active_s = 0.0
        seen_revision = self._search.scope.revision
        for new in self._search.steps():
            self._check_replay()
            for pair in new:
                if len(self._log) < limits.PROVISIONAL_CANDIDATES_MAX:
                    self._log.append(pair)
            now_s = time.monotonic()
            # Time while it was left, or waited for its reader, is no work.
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
        yield from self._score()
        for asked in self._search.asked():
            while not asked.done():
                wait([asked], _REPLAY_WAIT_S)
                yield False
        self._log += self._search.clusters()
        self._log.append(None)

    def _score(self) -> Iterator[bool]:
        """Score memories for questions, an operation a step; yield false while one is under way."""
        total = self._scored
        while total.scored_count < limits.SCORED_PER_RUN_MAX and self._unscored():
            scoring = self._apply_score()
            while not scoring.done():
                wait([scoring], _REPLAY_WAIT_S)
                yield False
            (done,) = scoring.result().results
            assert isinstance(done, Scored)
            total = self._scored = Scored(
                total.scored_count + done.scored_count,
                total.link_count + done.link_count,
                done.left_count,
            )
            yield False

    def _unscored(self) -> bool:
        """Return whether some memories wait to be scored."""
        if not self._state.published.guard.asks:
            return False
        with self._readers.rows() as rows:
            return bool(unscored.ranges(rows))

    def _check_replay(self) -> None:
        if self._replay is not None and self._replay.done():
            self._replay.result()

    def _show(self, active_s: float) -> None:
        search = self._search
        scanned, total = search.scanned_count, search.total_count
        rate = search.scanned_now_count / active_s if active_s > 0.0 else 0.0
        left_s = (total - scanned) / rate if rate else 0.0
        with self._changed:
            self._progress = ConsolidateProgress(scanned, total, rate, left_s)
            self._settle()


class Reader:
    """One reader of a run."""

    def __init__(self, run: Run, number: int) -> None:
        self._run = run
        self._number = number

    def read(self) -> Future[tuple[ConsolidateMessage, ...]]:
        """Return the next messages, at least one; none at the end. One read at a time."""
        return self._run.read(self._number)

    def leave(self) -> None:
        """Stop the work soon; the token of the last message stays valid for a while. Idempotent."""
        self._run.leave(self._number)


class Consolidating:
    """The runs of one collection: those with a reader, and those left recently.

    Safe from any thread. `apply` queues operations, as `Collection.apply` does.
    """

    def __init__(
        self,
        state: CollectionState,
        readers: ReaderPool,
        executor: Executor,
        clock: Clock,
        apply: Callable[[Sequence[tuple[str, Sequence[Command]]]], list[Future[Applied]]],
        judging: JudgingService | None = None,
    ) -> None:
        self._state = state
        self._readers = readers
        self._executor = executor
        self._clock = clock
        self._apply = apply
        self._judging = judging
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._runs: dict[str, Run] = {}
        self._stopped: Why | None = None

    def start(self, operation_id: str, query: ConsolidateQuery) -> Future[Consolidation]:
        """Use up Recall events and find pairs beside all other work, or resume a run.

        Raises
        ------
        InvalidArgument
            Also BAD_PAGE_TOKEN, for a token without a run.
        OutOfRange
            The collection has not reached `since_revision`.
        Quota
            CONSOLIDATE_RUNS_MAX have a reader, or those of CONSOLIDATIONS_MAX questions. The future
            fails so, too.
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
        # One after the other, so that of several with one question the first computes for all.
        with self._starting:
            scope = Scope(self._state, self._readers, query, self._clock())
            question = Question.of(query)
            public = next(
                (join for join in self._joins() if join.serves(scope, question)), None
            ) or Join(self._readers, scope, question, scope.public)
            with self._lock:
                if self._stopped is not None:
                    raise self._stopped()
                self._make_room(public)
                replay = None
                if query.max_replay_events:
                    command = ReplayEvents(query.agent_id, query.max_replay_events)
                    (replay,) = self._apply([(operation_id, (command,))])
                run = Run(
                    self._state,
                    self._readers,
                    query,
                    PairSearch(self._state, self._readers, query, scope, public, self._judging),
                    replay,
                    lambda: self._apply([("", (Score(query.agent_id),))])[0],
                )
                self._runs[run.id] = run
                return run.attach(0)

    def _joins(self) -> set[Join]:
        return {run.public for run in self._all()}

    def _make_room(self, public: Join) -> None:
        """Drop runs that nobody reads if there are too many. Raises `Quota`. Under the lock."""
        for kept_s in (None, 0.0):
            self._drop(kept_s)
            joins = {run.public for run in self._runs.values()} | {public}
            fits = len(self._runs) < limits.CONSOLIDATE_RUNS_MAX
            if fits and len(joins) <= limits.CONSOLIDATIONS_MAX:
                return
        raise Quota(
            "QUOTA_EXCEEDED",
            f"{limits.CONSOLIDATE_RUNS_MAX} Consolidates of one collection are under way, or those "
            f"of {limits.CONSOLIDATIONS_MAX} different questions: the most at once",
        )

    def _resumed(self, query: ConsolidateQuery) -> Consolidation:
        run_id, _, number = query.resume_token.partition("-")
        with self._lock:
            self._drop(None)
            run = self._runs.get(run_id)
            if run is None or run.asked != asked(query) or not _NUMBER.match(number):
                raise bad_token()
            return run.attach(int(number))

    def _drop(self, kept_s: float | None) -> None:
        """Drop runs that failed or were left too long ago. Under the lock."""
        kept_s = limits.CONSOLIDATION_KEPT_S if kept_s is None else kept_s
        now_s = time.monotonic()
        for run in list(self._runs.values()):
            left_s = run.left_since_s
            if run.failed or (left_s is not None and now_s - left_s >= kept_s):
                del self._runs[run.id]

    def drop_old(self) -> None:
        """Drop runs that nobody resumed."""
        if self._runs:
            with self._lock:
                self._drop(None)

    def forget(self) -> None:
        """Make every run drop its texts, for a purge."""
        for run in self._all():
            run.forget()

    def busy(self) -> bool:
        """Return whether there is a run with a reader, or one that may be resumed."""
        self.drop_old()
        return bool(self._runs)

    def stop(self, timeout_s: float, why: Why = shutting_down) -> None:
        """Fail all of them and wait for their threads. Idempotent."""
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
    """Return the question of a run and its caller, to which a token is bound."""
    return plain.dumps(replace(query, resume_token=""))


def bad_token() -> InvalidArgument:
    """Return the error for a token without a run."""
    return InvalidArgument(
        "BAD_PAGE_TOKEN",
        field="resume_token",
        got="a token of another question, or of a run that is gone",
        allowed=f"the last token of a run left within {limits.CONSOLIDATION_KEPT_S} s",
    )
