"""Time limits of tests: they bound what hangs, and grow with the machine's load.

A limit decides nothing that a test checks. It only ends a test whose awaited event never comes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

WAIT_S = 60.0
"""Bound on every wait of an idle machine; nothing takes that long unless it hangs."""
LOAD_FACTOR_MAX = 4.0
POLL_S = 0.005


def wait_s(seconds: float = WAIT_S) -> float:
    """Return the seconds, multiplied by the runnable processes per core (1 to 4)."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return seconds * min(LOAD_FACTOR_MAX, max(1.0, load))


def wait_until(
    holds: Callable[[], object],
    shown: Callable[[], object] = lambda: "it did not happen in time",
    seconds: float = WAIT_S,
) -> None:
    """Poll until the condition holds; fail with the result of `shown` after `wait_s(seconds)`."""
    begun_s = time.monotonic()
    while not holds():
        assert time.monotonic() - begun_s < wait_s(seconds), shown()
        time.sleep(POLL_S)
