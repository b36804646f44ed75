"""A judge in this process that says what a test tells it to, when it tells it to."""

from __future__ import annotations

import threading
from typing import Any

from support.engines import WAIT_S
from totonoe_core.judging import JudgeSettings, JudgingService, Opinion, Pair
from totonoe_core.records import Verdict

DEADLINE_S = 10.0
"""Longer than any test that does not wait for it."""


class ScriptedJudge:
    """Says `verdict` of every pair, or nothing (`None`), or raises `error`; waits while held."""

    thread_count = 1

    def __init__(self, verdict: Verdict | None = Verdict.DUPLICATE) -> None:
        self.verdict = verdict
        self.error: Exception | None = None
        self.pairs: list[Pair] = []
        self.asked = threading.Event()
        self.closed = False
        self._released = threading.Event()
        self._released.set()

    def hold(self) -> None:
        self._released.clear()

    def release(self) -> None:
        self._released.set()

    def ask(self, pair: Pair) -> Opinion | None:
        self.pairs.append(pair)
        self.asked.set()
        assert self._released.wait(WAIT_S)
        if self.error is not None:
            raise self.error
        return None if self.verdict is None else Opinion(self.verdict, 0.75, "scripted")

    def close(self) -> None:
        self.closed = True


def service(judge: ScriptedJudge, *, pause_s: float = WAIT_S, **settings: Any) -> JudgingService:
    """A service on a scripted judge; the caller closes it, or the engine that has it does."""
    chosen = {"deadline_s": DEADLINE_S} | settings
    return JudgingService(judge, JudgeSettings(**chosen), pause_s=pause_s)


def pair(name: str, other: str = "other") -> Pair:
    """A pair whose key belongs to its texts."""
    return Pair.of(name, name.encode().ljust(16), other, other.encode().ljust(16))
