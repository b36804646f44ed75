"""Answers on their way to callers who have not taken them yet: bounded in bytes for each caller.

gRPC keeps an answer until its caller takes it, and offers no way to take it back but the end of the
connection. So the bound is held before: a caller who leaves too much unread gets no further answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from totonoe_core.base import limits
from totonoe_core.base.errors import TotonoeError, Unavailable

CALL_BYTES = 16 * 1024
"""Cost of a call beside its answer, about: thousands of short answers are a load, too."""


class Unread:
    """Bytes of unread answers by caller. Event loop only."""

    def __init__(self) -> None:
        self._bytes: Counter[str] = Counter()

    def check(self, caller: str) -> None:
        """Raises `Unavailable` (OVERLOADED) if a caller has left as much unread as it may."""
        if self._bytes[caller] >= limits.UNREAD_ANSWER_BYTES_MAX:
            raise _too_much()

    def hold(self, caller: str, answer_bytes: int) -> None:
        """Count the answer of the running task, until gRPC has sent it and the task has ended.

        Raises
        ------
        Unavailable
            OVERLOADED: with it the caller would leave more unread than it may. Nothing is counted.
        """
        size = answer_bytes + CALL_BYTES
        if self._bytes[caller] and self._bytes[caller] + size > limits.UNREAD_ANSWER_BYTES_MAX:
            raise _too_much()
        task = asyncio.current_task()
        assert task is not None
        self._bytes[caller] += size
        task.add_done_callback(lambda _: self._release(caller, size))

    def _release(self, caller: str, size: int) -> None:
        self._bytes[caller] -= size
        if not self._bytes[caller]:
            del self._bytes[caller]


def _too_much() -> TotonoeError:
    return Unavailable(
        "OVERLOADED",
        f"answers of {limits.UNREAD_ANSWER_BYTES_MAX} bytes are unread; read them first",
        retry_delay_ms=limits.RETRY_DELAY_MS,
    )
