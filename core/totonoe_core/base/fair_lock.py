"""A lock that serves waiting threads in the order in which they asked."""

from __future__ import annotations

import threading
from collections import deque


class FairLock:
    """Mutual exclusion, first come, first served; not reentrant.

    `threading.Lock` makes no such promise: a thread that releases it and asks again usually gets it
    back before any waiting thread wakes up.
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
                # The lock stays held: the next thread in the line owns it now.
                self._gates.popleft().release()
            else:
                self._held = False
