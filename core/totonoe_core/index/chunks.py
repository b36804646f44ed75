"""Grouping of scattered slots by chunk, as the kernels take them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from totonoe_core.index import arrays
from totonoe_core.index.arrays import Chunk, View


def by_chunk(
    view: View, slots: NDArray[np.int64]
) -> Iterator[tuple[slice, NDArray[np.int32], Chunk]]:
    """Yield (where in `slots`, row numbers there, chunk) for each chunk that holds any of them.

    Parameters
    ----------
    slots : int64[m]
        Ascending, below the view's count.
    """
    chunk_size = arrays.CHUNK
    at = 0
    while at < len(slots):
        number = int(slots[at]) // chunk_size
        base = number * chunk_size
        end = len(slots)
        if slots[-1] >= base + chunk_size:
            end = int(np.searchsorted(slots, base + chunk_size))
        yield slice(at, end), (slots[at:end] - base).astype(np.int32), view.chunks[number]
        at = end
