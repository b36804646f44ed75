"""Time limits of a batch of the writer, and expected times of jobs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from totonoe_core.base import limits
from totonoe_core.base.turn import Turn

_FLOWS_NOTED = 1024


class BatchTime:
    """Time limit of each batch, BATCH_MS_MAX. For the writer's thread."""

    def __init__(self) -> None:
        self._until_s = 0.0
        self._lasted_s: dict[Turn, float] = {}

    def begin(self) -> None:
        """Start a batch."""
        self._until_s = time.monotonic() + limits.BATCH_MS_MAX / 1000

    def suffices(self, turn: Turn) -> bool:
        """Return whether the next job of a flow is expected to end in time.

        It is expected to last as long as the flow's job before it. So a caller with costly texts
        does not delay the answers to others that are in the batch already.
        """
        return time.monotonic() + self._lasted_s.get(turn, 0.0) <= self._until_s

    @contextmanager
    def measured(self, turn: Turn) -> Iterator[None]:
        """Measure a job of a flow."""
        begun_s = time.monotonic()
        try:
            yield
        finally:
            if len(self._lasted_s) >= _FLOWS_NOTED:
                self._lasted_s.clear()
            self._lasted_s[turn] = time.monotonic() - begun_s
