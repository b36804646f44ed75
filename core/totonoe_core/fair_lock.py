"""A lock that is handed on in the order of asking."""

from __future__ import annotations

import threading
from collections import deque


class FairLock:
    """Mutual exclusion, first come, first served; not reentrant.

    `threading.Lock` makes no such promise: who gives it back and asks again mostly has it again
    before anybody who waits has woken up.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = False
        self._gates: deque[threading.Lock] = deque()

    def __enter__(self) -> None:
        with self._lock:
            if not self._held:
                self._held = True
                return
            gate = threading.Lock()
            gate.acquire()
            self._gates.append(gate)
        gate.acquire()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._gates:
                # It stays held: by the next one.
                self._gates.popleft().release()
            else:
                self._held = False
