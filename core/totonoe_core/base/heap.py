"""Return freed memory to the system after work that needed a lot of it for a short time."""

from __future__ import annotations

import ctypes


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
