"""Return memory to the system after work that needed a lot of it for a short time."""

from __future__ import annotations

import ctypes
import mmap
from contextlib import suppress
from pathlib import Path

_ARENA_MAX, _ARENAS = -8, 2
"""glibc's M_ARENA_MAX; the main arena, and one for the threads that find it taken."""
_PAGE_ENTRY_BYTES, _PAGE_STATE_SHIFT = 8, 61
_OWN_STATES = (0b010, 0b100)
"""Of a page, in Linux's pagemap: in memory (4), swapped out (2), of a file (1)."""


def trim() -> None:
    """Return free pages of the C heap to the system; do nothing where libc has no such call.

    glibc keeps freed memory that lies below memory in use. Without this call, fitting the prefix or
    loading a collection would leave the daemon large for good. Costs a few milliseconds, without
    the GIL.
    """
    # glibc's malloc_trim(3); musl and macOS have none.
    found = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if found is not None:
        found(0)


def share_arenas() -> None:
    """Let all threads that begin from now on share two arenas of the C heap.

    glibc gives each thread one of its own, up to eight for a core, and what is free in one is of no
    use to another. Does nothing where libc has no such call.
    """
    if (found := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        found(_ARENA_MAX, _ARENAS)


def unmap(*endings: str, proc: Path = Path("/proc/self")) -> None:
    """Let go of pages of mapped files, which loading has read; do nothing but on Linux.

    The system counts each page that a process has touched once as its memory. A page that is read
    again comes back from the system's copy of the file, without disk as long as that lasts (1 us).
    Mappings that were written, or relocated, are left alone.

    Parameters
    ----------
    endings : str
        Of the files' names.
    """
    # The daemon settles the number of numpy's threads after it imported this module.
    import numpy as np

    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    with suppress(OSError), (proc / "pagemap").open("rb", buffering=0) as pages:
        for line in (proc / "maps").read_text().splitlines():
            bounds, modes, *rest = line.split(maxsplit=5)
            if len(rest) < 4 or not rest[3].endswith(endings) or "w" in modes:
                continue
            start, end = (int(bound, 16) for bound in bounds.split("-"))
            pages.seek(start // mmap.PAGESIZE * _PAGE_ENTRY_BYTES)
            found = pages.read((end - start) // mmap.PAGESIZE * _PAGE_ENTRY_BYTES)
            states = (np.frombuffer(found, np.uint64) >> np.uint64(_PAGE_STATE_SHIFT)).astype(
                np.uint8
            )
            if not any((states == own).any() for own in _OWN_STATES):
                advise(start, end - start, mmap.MADV_DONTNEED)
