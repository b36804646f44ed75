"""Results for texts, kept within a bound of characters rather than of entries.

What is derived from a text (a reading, its letter groups) takes memory by the text's length: 100 to
300 bytes a character. A cache of so many entries would hold a hundred times more where the texts
are long.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_ENTRY_CHARS = 64
"""Characters that an entry counts beside its text: for itself, and for the least result."""


class Kept(Generic[P, T]):
    """A pure function of texts whose results are kept. Safe from any thread.

    Results lie in two halves. A new or reused one goes into the young half; when that is full it
    becomes the old half, and what was old is dropped. So a result stays while it is used at least
    once in half a cache, and a hit among the young takes no lock. Arguments are given by position.
    """

    def __init__(self, work: Callable[P, T], chars_max: int) -> None:
        self._work = work
        self._half_chars = chars_max // 2
        self._lock = threading.Lock()
        self._young: dict[tuple[object, ...], T] = {}
        self._old: dict[tuple[object, ...], T] = {}
        self._chars = 0
        functools.update_wrapper(self, work)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result for some arguments, kept or computed."""
        assert not kwargs, "by position"
        try:
            return self._young[args]
        except KeyError:
            pass
        old = self._old
        result = old[args] if args in old else self._work(*args, **kwargs)
        size = _ENTRY_CHARS + sum(len(arg) for arg in args if isinstance(arg, str))
        if size <= self._half_chars:
            with self._lock:
                if self._chars + size > self._half_chars:
                    self._old, self._young, self._chars = self._young, {}, 0
                self._young[args] = result
                self._chars += size
        return result

    @property
    def count(self) -> int:
        """Number of results that are kept."""
        return len(self._young) + len(self._old)

    def cache_clear(self) -> None:
        """Drop every result. For Purge."""
        with self._lock:
            self._old, self._young, self._chars = {}, {}, 0


def kept(chars_max: int) -> Callable[[Callable[P, T]], Kept[P, T]]:
    """Keep the results of a function for texts of at most so many characters in all."""
    return lambda work: Kept(work, chars_max)
