"""Results that are computed once in a process, however many threads ask at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import cache, wraps
from typing import TypeVar

R = TypeVar("R")


def once(load: Callable[..., R]) -> Callable[..., R]:
    """Keep what a function returns for its arguments; others wait while one thread computes it.

    `functools.cache` lets each thread compute it: a dictionary would be loaded twice at a time.
    An error is not kept.
    """
    kept, lock = cache(load), threading.Lock()

    @wraps(load)
    def get(*arguments: Hashable) -> R:
        with lock:
            return kept(*arguments)

    return get
