"""The writer's chores between batches: access figures, retention, expired data."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from totonoe_core.base import limits
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import Corruption, NotFound, ReadOnly, Unavailable
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.records import RecallEvent
from totonoe_core.engine.state.state import CollectionState

_log = logging.getLogger(__name__)

TOUCH_FLUSH_S = 1.0
_REPLIES_DROPPED_AT_ONCE = 1000
_EVERY_US = 60_000_000
_MAINTAINED_SLOTS = 64
_DAY_US = 24 * 3600 * 1_000_000


class Upkeep:
    """The upkeep of one collection. On its writer thread, but for `touch`.

    `maintain(state)` is called now and then, since there may be something to update;
    `purge(command)` carries out a Purge of the daemon's own; `refused()` is called when the disk
    refuses a write.
    """

    def __init__(
        self,
        state: CollectionState,
        clock: Clock,
        maintain: Callable[[CollectionState], None],
        purge: Callable[[Purge], None],
        refused: Callable[[], None],
    ) -> None:
        self._state = state
        self._clock = clock
        self._maintain = maintain
        self._purge = purge
        self._refused = refused
        self._maintained_end = 0
        self._touches: dict[int, None] = {}
        self._events: deque[RecallEvent] = deque(maxlen=limits.RECALL_EVENTS_KEPT_MAX)
        self._touch_lock = threading.Lock()
        self._next_flush_s = 0.0
        self._next_us = 0
        self._damage_told = False
        self._skipped_for: set[type[Exception]] = set()

    def touch(self, rows: Iterable[int], event: RecallEvent | None = None) -> None:
        """Note a Recall and its rows, at most PENDING_TOUCHES_MAX and those of one answer.

        Any thread.
        """
        with self._touch_lock:
            if len(self._touches) < limits.PENDING_TOUCHES_MAX:
                self._touches.update(dict.fromkeys(rows))
            if event is not None:
                self._events.append(event)

    def run(self) -> None:
        """Do all due chores. One that an error prevents is skipped, logged, and tried again."""
        retained: Purge | None = None
        try:
            retained = self._run()
        except Exception as error:
            self.skipped(error)
        if retained is not None:
            self._purge(retained)

    def skipped(self, error: Exception) -> None:
        """Log the error that prevented a chore, each kind once.

        No chore leaves memory other than the file, so none may end the writer.
        """
        if isinstance(error, Corruption):
            self._damaged(error)
        elif type(error) not in self._skipped_for:
            self._skipped_for.add(type(error))
            # What the store says is no bug, and has a message of its own.
            trace = None if isinstance(error, Unavailable | NotFound) else error
            why = f": {error}" if trace is None else ""
            name = self._state.file.path.parent.name
            _log.error("upkeep of %s%s", name, why, exc_info=trace)

    def _damaged(self, error: Corruption) -> None:
        if not self._damage_told:
            self._damage_told = True
            _log.error("upkeep of %s: %s", self._state.file.path.parent.name, error.message)

    def _run(self) -> Purge | None:
        """Do all due chores but a purge by retention, which is returned."""
        with self._state.file.reading():
            self._state.look_at_suspects()
        # Not with every batch: a flush is a commit of its own, and finding due maintenance
        # reads every slot.
        end = self._state.index.arrays.end
        idle = time.monotonic() >= self._next_flush_s
        if idle:
            self._next_flush_s = time.monotonic() + TOUCH_FLUSH_S
            self.flush_touches()
            if self._state.file.to_clean:
                self.clean()
        if idle or abs(end - self._maintained_end) >= _MAINTAINED_SLOTS:
            self._maintained_end = end
            self._maintain(self._state)
        now_us = self._clock()
        if now_us < self._next_us:
            return None
        self._next_us = now_us + _EVERY_US
        before_us = now_us - limits.REPLAY_KEPT_S * 1_000_000
        try:
            with self._state.file.transaction():
                self._state.file.drop_replies(before_us, _REPLIES_DROPPED_AT_ONCE)
        except ReadOnly:
            self._refused()
        return self._retained(now_us)

    def clean(self) -> None:
        """Do one step of cleaning the file, and the files beside it, after a purge.

        If a reader or the size prevents the end, later steps go on.
        """
        try:
            self._state.file.clean()
        except (ReadOnly, Corruption):
            self._refused()

    def _retained(self, now_us: int) -> Purge | None:
        """Return the purge of memories forgotten longer ago than the collection keeps them."""
        state = self._state
        days = state.info.retention.purge_forgotten_days
        if not days:
            return None
        before_us = now_us - int(days * _DAY_US)
        with state.file.reading():
            ids = state.file.rows.forgotten_before(before_us, limits.PURGED_BY_RETENTION_MAX)
        # A memory with a bad row is left to its owner.
        ids = [memory_id for memory_id in ids if memory_id in state.index.slot_by_id]
        return Purge("", tuple(ids), "retention", by_retention=True) if ids else None

    def flush_touches(self) -> None:
        """Write access figures and Recalls; keep them if the disk refuses."""
        with self._touch_lock:
            rows, self._touches = list(self._touches), {}
            events = list(self._events)
            self._events.clear()
        if not (rows or events):
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
                self._state.file.recalls.put_access(figures)
                if events:
                    self._state.file.recalls.put_events(events, limits.RECALL_EVENTS_KEPT_MAX)
        except Corruption as error:
            # These would be refused for ever.
            self._damaged(error)
        except NotFound as error:
            # Another daemon deleted the collection.
            self.skipped(error)
        except (ReadOnly, Unavailable) as error:
            if isinstance(error, ReadOnly):
                self._refused()
            self.touch(rows)
            with self._touch_lock:
                later = list(self._events)
                self._events.clear()
                self._events.extend([*events, *later])
