"""Figures of all writers of an engine: decisions, commits."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable

from totonoe_core.base.histogram import SIZES, Histogram
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.figures import Decision
from totonoe_core.domain.memories import Remembered


class WriteCounters:
    """Counters that the writers of all collections share. Safe from any thread."""

    def __init__(self) -> None:
        self.commit_s = Histogram()
        self.commit_operations = Histogram(SIZES)
        self._decisions: Counter[Decision] = Counter()
        self._lock = threading.Lock()

    def commit(self, seconds: float, answers: Iterable[Applied | BaseException]) -> None:
        """Count a commit and the operations in it."""
        done = [answer for answer in answers if isinstance(answer, Applied) and not answer.replayed]
        self.commit_s.add(seconds)
        self.commit_operations.add(len(done))
        decided = [
            decision_of(result)
            for answer in done
            for result in answer.results
            if isinstance(result, Remembered)
        ]
        if decided:
            with self._lock:
                self._decisions.update(decided)

    def decisions(self) -> dict[Decision, int]:
        """Return how often was decided how."""
        with self._lock:
            return dict(self._decisions)


def decision_of(result: Remembered) -> Decision:
    """Return how a Remember was decided."""
    guard = result.guard
    verdict = "none" if guard.verdict is None else guard.verdict.value
    if not result.saved:
        return Decision(verdict, "certain", "refused")
    band = "different" if guard.nearest is None else "shown"
    band = band if guard.question is None else "likely"
    if result.superseded_ids:
        return Decision(verdict, band, "superseded")
    return Decision(verdict, band, "linked" if result.links else "saved")
