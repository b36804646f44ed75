"""Service that calls the judge: own threads, a bounded queue, a deadline, a cache of opinions.

    submit ──► queue of pairs ──► threads ask, in batches ──► cache ──► the request's future ends
                                                 deadline reached ──────────────────┘

A future only signals that the caller can go on; the known opinions are in the cache. After a few
failures or late answers in a row the judge is paused for a while; the daemon's own only after
failures, since it is late only where there is much to do. It then judges late pairs too, when
nobody waits: another save may need them. No method raises to a writer.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from totonoe_core.base import limits
from totonoe_core.judging.protocol import Judge, Opinion, TextPair
from totonoe_core.judging.settings import JudgeSettings, make_judge

_FAILURES_MAX = 3
PAUSE_S = 10.0
_JOIN_S = 1.0


@dataclass(frozen=True, slots=True)
class JudgingStats:
    """Counters since the start.

    Attributes
    ----------
    asked_count : int
        Pairs sent to the judge.
    cached_count : int
        Pairs answered from the cache.
    opinions_count, none_count, failed_count : int
        Pairs sent to the judge with an opinion, without one, and not answered.
    late_count : int
        Writes that went on at their deadline.
    paused_count : int
        Times that the judge was paused.
    cpu_s : float
        CPU seconds of its own processes.
    """

    asked_count: int = 0
    cached_count: int = 0
    opinions_count: int = 0
    none_count: int = 0
    failed_count: int = 0
    late_count: int = 0
    paused_count: int = 0
    cpu_s: float = 0.0


@dataclass(slots=True, eq=False)
class _Request:
    due_s: float
    missing: int = 0
    over: bool = False
    future: Future[None] = field(default_factory=Future)


@dataclass(slots=True, eq=False)
class _QueuedPair:
    pair: TextPair
    requests: list[_Request] = field(default_factory=list)


class JudgingService:
    """Thread-safe front of a judge. It owns the judge, and closes it.

    Parameters
    ----------
    judge : Judge
    settings : JudgeSettings
        Pairs to send, and the deadline.
    pause_s : float
        Length of the pause of a failing judge.
    """

    def __init__(self, judge: Judge, settings: JudgeSettings, *, pause_s: float = PAUSE_S) -> None:
        self.settings = settings
        self._judge = judge
        self._batch_max = min(judge.batch_max, limits.JUDGE_BATCH_PAIRS_MAX)
        self._pause_s = pause_s
        self._changed = threading.Condition()
        self._cache: OrderedDict[bytes, Opinion | None] = OrderedDict()
        # Pairs that somebody waits for, and of the daemon's own judge those that nobody does.
        self._queue: deque[_QueuedPair] = deque()
        self._late_pairs: deque[_QueuedPair] = deque()
        self._own = settings.kind == "own"
        self._asked: dict[bytes, _QueuedPair] = {}
        # Ordered by deadline, since all have the same time limit.
        self._requests: deque[_Request] = deque()
        self._failures_in_row = 0
        self._paused_until_s = float("-inf")
        self._closed = False
        self._stats = JudgingStats()
        work = [self._ask] * judge.thread_count + [self._watch]
        self._threads = [
            threading.Thread(target=target, name=f"judging-{n}", daemon=True)
            for n, target in enumerate(work)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def accepts(self) -> bool:
        """True if submitting may help now: it is open, not paused, and the queue has room."""
        with self._changed:
            return self._accepts()

    @property
    def is_own(self) -> bool:
        """True for the daemon's own judge: it reads what the guard nominates."""
        return self._own

    @property
    def rounds_max(self) -> int:
        """Number of times that one write may wait for the judge.

        More than once for the daemon's own judge: once about what the readings call a duplicate,
        then about what they leave open; and while a write waited, another may have been saved that
        says the same.
        """
        return limits.JUDGE_ROUNDS_MAX if self._own else 1

    def look_up(self, pair: TextPair) -> tuple[bool, Opinion | None]:
        """Return whether the judge answered about a pair, and its opinion.

        A pair of the daemon's own judge that is late counts as answered: nobody waits twice.
        """
        with self._changed:
            if pair.key not in self._cache:
                asked = self._asked.get(pair.key) if self._own else None
                return asked is not None and _nobody_waits(asked), None
            self._cache.move_to_end(pair.key)
            self._count(cached_count=1)
            return True, self._cache[pair.key]

    def is_late(self, pair: TextPair) -> bool:
        """Return whether an opinion is still to come for which nobody waits any more."""
        with self._changed:
            asked = self._asked.get(pair.key)
            return asked is not None and _nobody_waits(asked)

    def submit(self, pairs: Sequence[TextPair]) -> Future[None]:
        """Queue pairs for the judge. Returns at once.

        Returns
        -------
        Future of None
            Completes when all are answered, at the deadline, or at once if the judge cannot help;
            never fails. Its callbacks run in a thread of the service, or in the caller's.
        """
        with self._changed:
            request = _Request(time.monotonic() + self.settings.patience_s)
            # Nobody can cancel it: the service alone ends it, once.
            request.future.set_running_or_notify_cancel()
            for pair in {pair.key: pair for pair in pairs}.values():
                if pair.key in self._cache or not self._accepts():
                    continue
                asked = self._asked.get(pair.key)
                if asked is None:
                    asked = self._asked[pair.key] = _QueuedPair(pair)
                    self._queue.append(asked)
                elif asked in self._late_pairs:
                    self._late_pairs.remove(asked)
                    self._queue.append(asked)
                asked.requests.append(request)
                request.missing += 1
            request.over = not request.missing
            if not request.over:
                self._requests.append(request)
                self._changed.notify_all()
        if request.over:
            request.future.set_result(None)
        return request.future

    def forget_cached(self) -> None:
        """Empty the cache of opinions. Called by Purge."""
        with self._changed:
            self._cache.clear()

    def stats(self) -> JudgingStats:
        """Return counters since the start."""
        with self._changed:
            return replace(self._stats, cpu_s=self._judge.cpu_s)

    def close(self) -> None:
        """Release all waiting requests without an opinion. Idempotent."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            left = self._end(self._requests)
            self._queue.clear()
            self._late_pairs.clear()
            self._changed.notify_all()
        _go_on(left)
        until_s = time.monotonic() + _JOIN_S
        for thread in self._threads:
            # A judge that hangs is left behind: the threads are daemons.
            if thread is not threading.current_thread():
                thread.join(max(0.0, until_s - time.monotonic()))
        self._judge.close()

    # -- Threads

    def _ask(self) -> None:
        while batch := self._next():
            opinions: Sequence[Opinion | None] | None = None
            try:
                opinions = self._judge.ask([asked.pair for asked in batch])
            # The write goes on after any failure of the judge.
            except Exception:
                opinions = None
            with self._changed:
                ended = self._answered(batch, opinions)
            _go_on(ended)

    def _next(self) -> list[_QueuedPair]:
        """Return the next pairs, at most a batch, those first that requests wait for.

        Empty when closed.
        """
        batch: list[_QueuedPair] = []
        with self._changed:
            while not self._closed:
                while self._queue and len(batch) < self._batch_max:
                    asked = self._queue.popleft()
                    if not _nobody_waits(asked):
                        batch.append(asked)
                    else:
                        self._put_aside(asked)
                if not batch:
                    count = min(len(self._late_pairs), self._batch_max)
                    batch = [self._late_pairs.popleft() for _ in range(count)]
                if batch:
                    self._count(asked_count=len(batch))
                    return batch
                self._changed.wait()
            return []

    def _put_aside(self, asked: _QueuedPair) -> None:
        """Keep a pair that is late for an idle moment of the daemon's own judge, or drop it."""
        self._late_pairs.append(asked)
        if len(self._late_pairs) > (limits.JUDGE_LATE_PAIRS_MAX if self._own else 0):
            del self._asked[self._late_pairs.popleft().pair.key]

    def _watch(self) -> None:
        """Complete requests at their deadlines."""
        while (late := self._late()) is not None:
            _go_on(late)

    def _late(self) -> list[_Request] | None:
        """Return the next request whose deadline is reached; `None` when closed."""
        with self._changed:
            while not self._closed:
                if not self._requests:
                    self._changed.wait()
                    continue
                left_s = self._requests[0].due_s - time.monotonic()
                if left_s > 0:
                    self._changed.wait(left_s)
                    continue
                late = self._end([self._requests.popleft()])
                if late:
                    self._count(late_count=1)
                    if not self._own:
                        self._failed()
                    return late
            return None

    # -- Under the lock

    def _accepts(self) -> bool:
        return (
            not self._closed
            and max(len(self._asked), len(self._requests)) < limits.JUDGE_QUEUE_PAIRS_MAX
            and time.monotonic() >= self._paused_until_s
        )

    def _answered(
        self, batch: list[_QueuedPair], opinions: Sequence[Opinion | None] | None
    ) -> list[_Request]:
        """Store what the judge said about a batch, `None` if it failed; return who can go on."""
        for asked in batch:
            self._asked.pop(asked.pair.key, None)
        if opinions is None or len(opinions) != len(batch):
            self._count(failed_count=len(batch))
            self._failed()
        else:
            for asked, opinion in zip(batch, opinions, strict=True):
                self._count(**{"none_count" if opinion is None else "opinions_count": 1})
                self._cache[asked.pair.key] = opinion
                if len(self._cache) > limits.JUDGE_CACHE_PAIRS_MAX:
                    self._cache.popitem(last=False)
            # A judge that is always late must not count as healthy.
            if any(not request.over for asked in batch for request in asked.requests):
                self._failures_in_row = 0
        requests = [request for asked in batch for request in asked.requests]
        for request in requests:
            request.missing -= 1
        ended = self._end(request for request in requests if not request.missing)
        while self._requests and self._requests[0].over:
            self._requests.popleft()
        return ended

    @staticmethod
    def _end(requests: Iterable[_Request]) -> list[_Request]:
        """Mark requests as over; return those that were not."""
        ended = []
        for request in requests:
            # A batch names a request once for each of its pairs.
            if not request.over:
                request.over = True
                ended.append(request)
        return ended

    def _failed(self) -> None:
        self._failures_in_row += 1
        if self._failures_in_row >= _FAILURES_MAX:
            # After the pause one more failure is enough.
            self._failures_in_row = _FAILURES_MAX - 1
            self._paused_until_s = time.monotonic() + self._pause_s
            self._count(paused_count=1)

    def _count(self, **more: int) -> None:
        figures = {name: getattr(self._stats, name) + count for name, count in more.items()}
        self._stats = replace(self._stats, **figures)


def open_service(settings: JudgeSettings) -> JudgingService | None:
    """Return a running service for the settings; `None` for kind "none".

    Raises
    ------
    Precondition
        JUDGE_MISCONFIGURED.
    """
    return None if settings.kind == "none" else JudgingService(make_judge(settings), settings)


def _nobody_waits(asked: _QueuedPair) -> bool:
    return all(request.over for request in asked.requests)


def _go_on(requests: Iterable[_Request]) -> None:
    """Complete futures; this runs their callbacks, so the lock must not be held."""
    for request in requests:
        request.future.set_result(None)
