"""What Recalls leave behind: access figures and events, noted at once and written within seconds.

Neither is an operation. What is noted and not written when the process dies is lost.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from totonoe_core import limits
from totonoe_core.engine.state import CollectionState
from totonoe_core.errors import ReadOnly
from totonoe_core.records import RecallEvent


class Touches:
    """Notes of one collection. `note` is for any thread, `flush` for the writer's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[int, None] = {}
        self._events: deque[RecallEvent] = deque(maxlen=limits.RECALL_EVENTS_KEPT_MAX)

    def note(self, rows: Sequence[int], event: RecallEvent | None = None) -> None:
        """Notes recalled rows, and the Recall."""
        with self._lock:
            if len(self._rows) < limits.PENDING_TOUCHES_MAX:
                self._rows.update(dict.fromkeys(rows))
            if event is not None:
                self._events.append(event)

    def flush(self, state: CollectionState) -> None:
        """Writes what was noted. Raises `ReadOnly`; then it stays noted."""
        with self._lock:
            rows, self._rows = list(self._rows), {}
            events = list(self._events)
            self._events.clear()
        if not (rows or events):
            return
        index = state.index
        view = index.view()
        figures = []
        for row in rows:
            slot = index.slot_by_row.get(row)
            if slot is not None and slot < view.count:
                last_us = int(view.value("last_access", slot))
                figures.append((row, last_us, int(view.value("access_count", slot))))
        try:
            with state.file.transaction():
                state.file.put_access(figures)
                if events:
                    state.file.put_recall_events(events, limits.RECALL_EVENTS_KEPT_MAX)
        except ReadOnly:
            self.note(rows)
            with self._lock:
                later = list(self._events)
                self._events.clear()
                self._events.extend([*events, *later])
            raise
