"""Stages of a call: when it waited, was embedded, decided and committed.

A server that wants these times sets `STAGES` while it hands a call over. The code that does the
work marks them, on whatever thread; the server reads them when the call has ended. With `None`,
the default, nothing is marked, and a stage costs one look at a variable.

Stages hold times and words of a closed set: no text, id or name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeVar

from totonoe_core.base import limits

T = TypeVar("T")
Name = Literal["queue", "embed", "judge", "decide", "commit", "read"]
Lacking = Literal["", "vector", "opinion"]


@dataclass(slots=True)
class Stage:
    """One stage of a call.

    Attributes
    ----------
    begun_s, ended_s : float
        Seconds of `time.perf_counter`; `ended_s` is 0 while the stage lasts.
    lacking : str
        For `decide`: what was missing, so that nothing was decided yet; else empty.
    operations_count : int
        For `commit`: the operations that shared it; else 0.
    """

    name: Name
    begun_s: float
    ended_s: float = 0.0
    lacking: Lacking = ""
    operations_count: int = 0

    def end(self, lacking: Lacking = "") -> None:
        """Mark that the stage is over."""
        self.ended_s = time.perf_counter()
        self.lacking = lacking


class Stages:
    """The stages of one call, in the order of their beginnings. Safe from any thread.

    At most STAGES_PER_CALL_MAX are kept; `left_out_count` further ones are counted.
    """

    __slots__ = ("_closed", "_stages", "left_out_count")

    def __init__(self) -> None:
        self._stages: list[Stage] = []
        self._closed = False
        self.left_out_count = 0

    def begin(self, name: Name, before: Stage | None = None) -> Stage | None:
        """Mark that a stage begins and, at the same moment, that another one is over."""
        stage = Stage(name, time.perf_counter())
        if before is not None:
            before.ended_s = stage.begun_s
        return stage if self.add(stage) else None

    def add(self, stage: Stage) -> bool:
        """Keep a stage, and return true, unless the call is over or has too many."""
        if self._closed:
            return False
        if len(self._stages) >= limits.STAGES_PER_CALL_MAX:
            self.left_out_count += 1
            return False
        self._stages.append(stage)
        return True

    def timed(self, work: Callable[[], T]) -> Callable[[], T]:
        """Mark `queue` from now until the returned function runs `work`, and `read` meanwhile."""
        waiting = self.begin("queue")

        def run() -> T:
            stage = self.begin("read", waiting)
            try:
                return work()
            finally:
                if stage is not None:
                    stage.end()

        return run

    def close(self) -> list[Stage]:
        """Return copies of all stages, and keep no more. What still lasts ends now."""
        self._closed = True
        now_s = time.perf_counter()
        return [
            Stage(
                stage.name,
                stage.begun_s,
                stage.ended_s or now_s,
                stage.lacking,
                stage.operations_count,
            )
            for stage in [*self._stages]
        ]


STAGES: ContextVar[Stages | None] = ContextVar("stages", default=None)
"""Where the stages of the current call are marked; `None`: nowhere."""


@contextmanager
def marking(stages: Stages | None) -> Iterator[None]:
    """Mark the stages of a `with` block for another call than the current one."""
    before = STAGES.set(stages)
    try:
        yield
    finally:
        STAGES.reset(before)
