"""Giving freed memory back to the system, after work that took a lot of it for a moment."""

from __future__ import annotations

import ctypes


def trim() -> None:
    """Returns free pages of the C heap to the system; does nothing where libc has no such call.

    glibc keeps what was freed below something that is still in use, so that fitting the prefix or
    loading a collection would count as memory of the daemon for good. Costs a few milliseconds,
    without the GIL.
    """
    # glibc's malloc_trim(3); musl and macOS have none.
    found = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if found is not None:
        found(0)
