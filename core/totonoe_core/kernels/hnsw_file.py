"""Check of the links in a graph's file, before hnswlib follows them unchecked.

`index/hnsw_file.py` has the layout. Oracle: `tests/support/oracles_graph.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.flags import int32_in, int32_out, kernel, uint8_in
from totonoe_core.kernels.postings import uint8_out

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]


@kernel(types.int64(uint8_in, types.int64), exact=True)
def _uint32(data: UInt8, at: int) -> int:
    """Read four bytes, the lowest first."""
    value = np.int64(0)
    for byte in range(4):
        value |= np.int64(data[at + byte]) << 8 * byte
    return int(value)


@kernel(types.int64(uint8_in, types.int64, types.int64, int32_out), exact=True)
def read_levels(data: UInt8, at: int, unit: int, levels: Int32) -> int:
    """Count the levels of links above the lowest of each element.

    Parameters
    ----------
    data : uint8[n]
        Anything; for each element from `at` on four bytes for a size, and so many bytes of links.
    at, unit : int64
        Place of the first size, in [0, n], and the bytes of the links of one level.
    levels : int32[elements]
        Receives the levels.

    Returns
    -------
    int
        Bytes of all links, or -1 if a size does not fit or bytes are left over.
    """
    total = np.int64(0)
    for element in range(levels.shape[0]):
        if data.shape[0] - at < 4:
            return -1
        size = _uint32(data, at)
        at += 4
        if size % unit != 0 or size > data.shape[0] - at:
            return -1
        levels[element] = size // unit
        total += size
        at += size
    return int(total) if at == data.shape[0] else -1


@kernel(types.boolean(uint8_in, types.int64, types.int64, int32_in, types.int64), exact=True)
def _links_lead(data: UInt8, at: int, links_max: int, levels: Int32, level: int) -> bool:
    """Return whether an element's links on one level lead to elements that have that level."""
    count = np.int64(data[at]) | np.int64(data[at + 1]) << 8
    # After the count: the mark of a deleted element, and a byte that is 0.
    if count > links_max or data[at + 2] != 0 or data[at + 3] != 0:
        return False
    for link in range(count):
        other = _uint32(data, at + 4 + 4 * link)
        if other >= levels.shape[0] or levels[other] < level:
            return False
    return True


@kernel(
    types.boolean(
        uint8_in,
        types.int64,
        types.int64,
        types.int64,
        types.int64,
        types.int64,
        int32_in,
        uint8_out,
    ),
    exact=True,
)
def copy_links(
    data: UInt8,
    first: int,
    stride: int,
    at: int,
    lowest_max: int,
    upper_max: int,
    levels: Int32,
    out: UInt8,
) -> bool:
    """Check the links of every element, and copy those above the lowest level.

    Parameters
    ----------
    data : uint8[n]
        Anything that `read_levels` has accepted from `at` on.
    first, stride : int64
        Where the first element begins, and the bytes of each; all lie before `at`.
    at : int64
        As `read_levels` takes it.
    lowest_max, upper_max : int64
        Links that an element may have on the lowest level, and on each above it.
    levels : int32[elements]
        As `read_levels` leaves them.
    out : uint8[m]
        Receives the links above the lowest level; m is what `read_levels` returned.

    Returns
    -------
    bool
        True if every link leads to an existing element, on its level.
    """
    unit, end = 4 + 4 * upper_max, np.int64(0)
    for element in range(levels.shape[0]):
        if not _links_lead(data, first + element * stride, lowest_max, levels, 0):
            return False
        at += 4
        for level in range(1, levels[element] + 1):
            if not _links_lead(data, at, upper_max, levels, level):
                return False
            for byte in range(unit):
                out[end + byte] = data[at + byte]
            at += unit
            end += unit
    return True
