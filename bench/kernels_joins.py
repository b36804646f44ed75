"""The scan that prunes by a prefix, and the joins: over arrays in memory, on one thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import common, kernels_guard, material
from totonoe_core.index.arrays import Arrays
from totonoe_core.index.prefix import Prefix
from totonoe_core.joins.cosine import cosine_pairs
from totonoe_core.joins.jaccard import jaccard_pairs_of_sets

COSINE_BELOW = 0.1
JACCARD_ABOVE = (0.7, 0.5)


def prefix_rows(
    arrays: Arrays,
    asked: material.Vectors,
    distances: Iterable[float],
    count: int,
    limit_s: float,
) -> Iterator[dict[str, Any]]:
    """The same scans as `scan` of `bench.kernels`, with the answer the same up to rounding."""
    prefix = Prefix(arrays)
    begin_s = time.process_time()
    if prefix.due():
        prefix.maintain(threading.Event())
    build_cpu_s = time.process_time() - begin_s
    view = arrays.view()
    mask = np.ones(view.count, np.bool_)
    for distance in distances:
        found: list[int] = []

        def work(number: int, distance: float = distance, found: list[int] = found) -> None:
            query = asked[number % len(asked)]
            found.append(len(prefix.reaching(view, query, mask, 1.0 - distance)[0]))

        times = common.repeat(work, count, limit_s)
        yield {
            "kernel": "scan",
            "method": "totonoe_prefix",
            "distance": distance,
            "found": float(np.mean(found[1:])),
            "built": prefix.built,
            "build_cpu_s": build_cpu_s,
            **times.row(),
        }
    yield from kernels_guard.batch_rows(prefix, asked, distances, count, limit_s)


def cosine_rows(arrays: Arrays, limit_s: float) -> Iterator[dict[str, Any]]:
    """All pairs below a distance: one run, it takes long enough to tell.

    A join that is not through after `limit_s` is stopped, and its row says so.
    """
    view = arrays.view()
    slots = np.arange(view.count, dtype=np.int64)

    def join(stop: threading.Event) -> Iterator[Any]:
        return cosine_pairs(view, slots, COSINE_BELOW, stop=stop)

    yield {"kernel": "cosine_join", "distance": COSINE_BELOW, **_timed(join, limit_s)}


def jaccard_rows(
    indptr: NDArray[np.int64], values: NDArray[np.uint64], limit_s: float
) -> Iterator[dict[str, Any]]:
    """All pairs of token sets above a similarity; stopped as the cosine join is."""
    for above in JACCARD_ABOVE:

        def join(stop: threading.Event, above: float = above) -> Iterator[Any]:
            return jaccard_pairs_of_sets(indptr, values, above, stop=stop)

        yield {"kernel": "jaccard_join", "above": above, **_timed(join, limit_s)}


def _timed(join: Callable[[threading.Event], Iterator[Any]], limit_s: float) -> dict[str, Any]:
    stop = threading.Event()
    timer = threading.Timer(limit_s, stop.set)
    wall_begin_s, cpu_begin_s = time.perf_counter(), time.process_time()
    first_s = None
    found = 0
    timer.start()
    try:
        for pairs in join(stop):
            if first_s is None:
                first_s = time.perf_counter() - wall_begin_s
            found += len(pairs.a)
    finally:
        timer.cancel()
    return {
        "method": "totonoe",
        "found": found,
        "first_ms": None if first_s is None else first_s * 1e3,
        "wall_s": time.perf_counter() - wall_begin_s,
        "cpu_s": time.process_time() - cpu_begin_s,
        "finished": not stop.is_set(),
    }
