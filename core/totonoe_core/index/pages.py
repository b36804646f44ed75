"""Arrays of zeros that take no memory until they are written."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BYTES_MIN = 64 * 1024


def zeros(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return zeros[shape] on pages of their own, C order, writable.

    `np.zeros` promises as much. But when collections are closed and opened, the C heap hands out
    used pages, which have to be cleared: 25 MB for a collection of one memory. It also asks for
    huge pages. Small arrays are numpy's.
    """
    bytes_count = math.prod(shape) * np.dtype(dtype).itemsize
    if bytes_count < _BYTES_MIN:
        return np.zeros(shape, dtype)
    pages = mmap.mmap(-1, bytes_count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, dtype).reshape(shape)
