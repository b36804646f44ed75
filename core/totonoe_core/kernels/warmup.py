"""Compile or load every kernel before the daemon says it serves."""

from __future__ import annotations

import time

import numpy as np


def warm_up() -> float:
    """Import every kernel and call it once, with writable and with read-only arrays.

    Importing compiles; the first call of each combination of array types also teaches numba's
    dispatcher the conversion, which is not a request's work.

    Returns
    -------
    float
        Seconds it took.
    """
    begin = time.perf_counter()
    # Imported here, so that a caller times the compilation and can report it.
    from totonoe_core.kernels import cosine, jaccard

    for writable in (True, False):
        block = np.eye(2, 4, dtype=np.float32)
        query = np.eye(1, 4, dtype=np.float32)[0]
        rows = np.arange(2, dtype=np.int32)
        mask = np.ones(2, dtype=np.uint8)
        indptr = np.array([0, 1, 2], dtype=np.int64)
        values = np.array([1, 2], dtype=np.uint64)
        for array in (block, query, rows, mask, indptr, values):
            array.flags.writeable = writable
        out_rows = np.empty(2, dtype=np.int32)
        out32 = np.empty(2, dtype=np.float32)
        out64 = np.empty(2, dtype=np.float64)
        slots = np.empty(2, dtype=np.int64)

        cosine.dot_rows(block, rows, query, out32)
        cosine.scan_at_least(block, mask, query, 0.5, out_rows, out32)
        size = cosine.top_k_merge(block, mask, query, 0, out32, slots, 0)
        cosine.top_k_sort(out32, slots, size)
        cosine.similarity64(block[0], query)
        cosine.similarity64_rows(block, rows, query, out64)
        cosine.normalize_rows(block)
        cosine.unit(query)
        jaccard.jaccard_pair(values, values)
        jaccard.scan_above(indptr, values, mask, values, 0.5, out_rows, out64)
    return time.perf_counter() - begin
