"""Return memory to the system after work that needed a lot of it for a short time."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

_ARENA_MAX, _ARENAS = -8, 2
"""glibc's M_ARENA_MAX; the main arena, and one for the threads that find it taken."""


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


def unmap(*endings: str, maps: Path = Path("/proc/self/smaps")) -> None:
    """Let go of pages of mapped files, which loading has read; do nothing but on Linux.

    The system counts each page that a process has touched once as its memory. A page that is read
    again comes back from the system's copy of the file, without disk as long as that lasts (1 us).
    Mappings that were written, or relocated, are left alone.

    Parameters
    ----------
    endings : str
        Of the files' names.
    """
    try:
        lines = maps.read_text().splitlines()
    except OSError:
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    start = length = 0
    for line in lines:
        first, *rest = line.split(maxsplit=5)
        if not first.endswith(":"):
            begin, end = (int(bound, 16) for bound in first.split("-"))
            ours = len(rest) == 5 and rest[4].endswith(endings) and "w" not in rest[0]
            start, length = begin, end - begin if ours else 0
        elif first == "Anonymous:" and length and rest[0] == "0":
            advise(start, length, mmap.MADV_DONTNEED)
