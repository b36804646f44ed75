"""One query, or a batch, against all rows: threshold scans and the ten nearest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import hnswlib
import numpy as np

from bench import common, material
from totonoe_core.index.arrays import Arrays
from totonoe_core.index.prefix import Prefix
from totonoe_core.search.arms import by_vector

DISTANCES = (0.05, 0.15, 0.30)
BATCHES = (1, 32)
K = 10
QUERIES = 200
HNSW_M, HNSW_EF_CONSTRUCTION, HNSW_EF = 16, 200, 100

Vectors = material.Vectors
Row = dict[str, Any]
Scan = Callable[[Vectors, float], int]
"""Rows found for queries float32[b, dim], over all of them, below a cosine distance."""


def flat_index(stored: Vectors) -> Any | None:
    """faiss' exact index of the rows, on one thread; `None` if it is not installed."""
    try:
        faiss: Any = import_module("faiss")
    except ImportError:
        return None
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(stored.shape[1])
    index.add(stored)
    return index


def scan_rows(
    arrays: Arrays, stored: Vectors, flat: Any | None, asked: Vectors, limit_s: float
) -> Iterator[Row]:
    """Threshold scans: the guard's with its prefix and without, numpy's, faiss'."""
    view = arrays.view()
    mask = np.ones(view.count, np.bool_)
    plain, pruned = Prefix(arrays), Prefix(arrays)
    begin_s = time.process_time()
    if pruned.due():
        pruned.maintain(threading.Event())
    build_cpu_s = time.process_time() - begin_s

    def by_prefix(prefix: Prefix) -> Scan:
        def scan(block: Vectors, distance: float) -> int:
            found = prefix.reaching_many(view, block, mask, 1.0 - distance)
            return sum(len(slots) for slots, _ in found)

        return scan

    def blas(block: Vectors, distance: float) -> int:
        product = stored @ block[0] if len(block) == 1 else block @ stored.T
        return len(np.flatnonzero(product >= np.float32(1.0 - distance)))

    def faiss_range(block: Vectors, distance: float) -> int:
        assert flat is not None
        limits, _, _ = flat.range_search(block, 1.0 - distance)
        return int(limits[-1])

    scans: list[tuple[str, Scan]] = [("totonoe", by_prefix(pruned)), ("plain", by_prefix(plain))]
    scans.append(("numpy", blas))
    if flat is not None:
        scans.append(("faiss", faiss_range))
    for distance in DISTANCES:
        for batch in BATCHES:
            for method, scan in scans:

                def work(
                    number: int, scan: Scan = scan, batch: int = batch, distance: float = distance
                ) -> None:
                    scan(_some(asked, number, batch), distance)

                times = common.repeat(work, QUERIES, limit_s)
                # Of the same queries for each method: how many repeats it has time for differs.
                numbers = range(BATCHES[-1] // batch)
                found = sum(scan(_some(asked, number, batch), distance) for number in numbers)
                row = {"kernel": "scan", "method": method, "distance": distance, "batch": batch}
                row |= {"found": found / BATCHES[-1], **times.row(batch)}
                if method == "totonoe":
                    row |= {"built": pruned.built, "build_cpu_s": build_cpu_s}
                yield row


def _some(asked: Vectors, number: int, batch: int) -> Vectors:
    first = number * batch % max(1, len(asked) - batch + 1)
    return asked[first : first + batch]


def top_rows(
    arrays: Arrays,
    stored: Vectors,
    flat: Any | None,
    asked: Vectors,
    limit_s: float,
    with_graph: bool,
) -> Iterator[Row]:
    """The ten nearest: exact in three ways, and approximate."""
    view = arrays.view()
    mask = np.ones(view.count, np.bool_)
    exact: dict[int, set[int]] = {}

    def ours(number: int) -> None:
        place = number % len(asked)
        exact[place] = set(by_vector(view, asked[place], mask, K, None)[0].slots.tolist())

    def blas(number: int) -> None:
        found = stored @ asked[number % len(asked)]
        best = np.argpartition(-found, K)[:K]
        best[np.argsort(-found[best])]

    def faiss_search(number: int) -> None:
        assert flat is not None
        place = number % len(asked)
        flat.search(asked[place : place + 1], K)

    works = [("totonoe", ours), ("numpy", blas)]
    if flat is not None:
        works.append(("faiss", faiss_search))
    for method, work in works:
        times = common.repeat(work, QUERIES, limit_s)
        yield {"kernel": "top_k", "method": method, "k": K, **times.row()}
    if with_graph:
        yield _graph_row(stored, asked, exact, limit_s)


def _graph_row(stored: Vectors, asked: Vectors, exact: dict[int, set[int]], limit_s: float) -> Row:
    begin_s = time.process_time()
    graph = hnswlib.Index(space="ip", dim=stored.shape[1])
    graph.init_index(len(stored), M=HNSW_M, ef_construction=HNSW_EF_CONSTRUCTION, random_seed=1)
    graph.add_items(stored, num_threads=1)
    graph.set_ef(HNSW_EF)
    build_cpu_s = time.process_time() - begin_s
    near: dict[int, set[int]] = {}

    def approximate(number: int) -> None:
        place = number % len(asked)
        labels, _ = graph.knn_query(asked[place], k=K, num_threads=1)
        near[place] = set(labels[0].tolist())

    times = common.repeat(approximate, QUERIES, limit_s)
    both = exact.keys() & near.keys()
    return {
        "kernel": "top_k",
        "method": "hnswlib",
        "k": K,
        "ef": HNSW_EF,
        "build_cpu_s": build_cpu_s,
        "recall_at_k": float(np.mean([len(exact[place] & near[place]) / K for place in both])),
        **times.row(),
    }
