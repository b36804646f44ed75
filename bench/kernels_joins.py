"""All pairs: the joins beside other packages' ways, over arrays in memory, on one thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from bench import material
from bench.kernels_scan import flat_index
from totonoe_core.index.arrays import Arrays
from totonoe_core.joins.cosine import cosine_pairs
from totonoe_core.joins.jaccard import jaccard_pairs

COSINE_BELOW = 0.1
JACCARD_ABOVE = (0.7, 0.5)
PEER_ROWS_MAX = 20_000
"""Others' joins take minutes from here on."""
BLOCK = 1024

Row = dict[str, Any]
Join = Callable[[threading.Event], Iterator[int]]
"""Finds pairs, gives how many it found in each step, and ends when it is told to stop."""


def cosine_rows(arrays: Arrays, stored: material.Vectors, limit_s: float) -> Iterator[Row]:
    """All pairs below a distance: one run each, it takes long enough to tell.

    The first `PEER_ROWS_MAX` rows are joined by everybody, all rows by ours alone. A join that is
    not through after `limit_s` is stopped, and its row says so.
    """
    few = stored[:PEER_ROWS_MAX]
    yield from _cosine_rows(arrays, few, limit_s, with_peers=True)
    if len(stored) > len(few):
        yield from _cosine_rows(arrays, stored, limit_s, with_peers=False)


def _cosine_rows(
    arrays: Arrays, stored: material.Vectors, limit_s: float, *, with_peers: bool
) -> Iterator[Row]:
    view = arrays.view()
    slots = np.arange(len(stored), dtype=np.int64)
    flat = flat_index(stored) if with_peers else None
    least = np.float32(1.0 - COSINE_BELOW)

    def ours(stop: threading.Event) -> Iterator[int]:
        return (len(pairs.a) for pairs in cosine_pairs(view, slots, COSINE_BELOW, stop=stop))

    def blas(stop: threading.Event) -> Iterator[int]:
        for begin in range(0, len(stored), BLOCK):
            if stop.is_set():
                return
            block = stored[begin : begin + BLOCK]
            rows, columns = np.nonzero(block @ stored[begin:].T >= least)
            yield int(np.count_nonzero(columns > rows))

    def faiss_range(stop: threading.Event) -> Iterator[int]:
        assert flat is not None
        for begin in range(0, len(stored), BLOCK):
            if stop.is_set():
                return
            block = stored[begin : begin + BLOCK]
            limits, _, labels = flat.range_search(block, float(least))
            rows = np.repeat(np.arange(begin, begin + len(block)), np.diff(limits.astype(np.int64)))
            yield int(np.count_nonzero(labels > rows))

    said = {"kernel": "cosine_join", "n": len(stored), "distance": COSINE_BELOW}
    yield said | _timed("totonoe", ours, limit_s)
    if not with_peers:
        return
    yield said | _timed("numpy", blas, limit_s)
    if flat is not None:
        yield said | _timed("faiss", faiss_range, limit_s)
    yield from _semhash_row(said, stored)


def _semhash_row(said: Row, stored: material.Vectors) -> Iterator[Row]:
    """semhash drops what is near something kept, so it `found` those and not pairs.

    Its index takes all cores that there are.
    """
    try:
        semhash: Any = import_module("semhash").SemHash
    except ImportError:
        return
    names = [str(place) for place in range(len(stored))]

    def dropping(_stop: threading.Event) -> Iterator[int]:
        made = semhash.from_embeddings(stored, names, model=None)
        yield len(made.self_deduplicate(1.0 - COSINE_BELOW).filtered)

    yield said | {"note": "approximate; found: rows dropped"} | _timed("semhash", dropping, 0.0)


def jaccard_rows(arrays: Arrays, limit_s: float) -> Iterator[Row]:
    """All pairs of token sets above a similarity; stopped as the cosine join is."""
    view = arrays.view()
    slots = np.arange(view.count, dtype=np.int64)
    for above in JACCARD_ABOVE:

        def join(stop: threading.Event, above: float = above) -> Iterator[int]:
            return (len(pairs.a) for pairs in jaccard_pairs(view, slots, above, stop=stop))

        yield {"kernel": "jaccard_join", "above": above, **_timed("totonoe", join, limit_s)}


def _timed(method: str, join: Join, limit_s: float) -> Row:
    """A run of a join. `limit_s` 0: it cannot be stopped."""
    stop = threading.Event()
    timer = threading.Timer(limit_s, stop.set)
    wall_begin_s, cpu_begin_s = time.perf_counter(), time.process_time()
    first_s = None
    found = 0
    if limit_s:
        timer.start()
    try:
        for count in join(stop):
            if first_s is None and count:
                first_s = time.perf_counter() - wall_begin_s
            found += count
    finally:
        timer.cancel()
    return {
        "method": method,
        "found": found,
        "first_ms": None if first_s is None else first_s * 1e3,
        "wall_s": time.perf_counter() - wall_begin_s,
        "cpu_s": time.process_time() - cpu_begin_s,
        "finished": not stop.is_set(),
    }
