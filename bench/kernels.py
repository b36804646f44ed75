"""The engine's exact kernels and its guard query, beside numpy/BLAS and hnswlib, in one process.

    python -m bench.kernels [--stored 10000,100000] [--dimensions 384,512] [--large] [--texts FILE]

One thread each. One made vector in twenty is nearly a copy of another. Half of the queries lie
close to a stored vector, half are new. `found` is the mean number of rows that a scan reports, so
that equal work can be told. hnswlib answers approximately: its rows carry `recall_at_k` against the
exact answer. It is built up to 10,000 rows only, because 100,000 take minutes, unless `--large` is
given.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import hnswlib
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bench import common, kernels_guard, kernels_joins, material
from totonoe_core.decay import DAY_US, effective_confidence
from totonoe_core.guard.policy import DecayPolicy
from totonoe_core.kernels import cosine, jaccard
from totonoe_core.text.tokens import token_hashes, tokens

DISTANCES = (0.05, 0.15, 0.30)
JACCARD_ABOVE = (0.5, 0.7)
K = 10
QUERIES = 200
HNSW_M, HNSW_EF_CONSTRUCTION, HNSW_EF = 16, 200, 100
HNSW_STORED_MAX = 10_000
LARGE = 1_000_000
JOIN_LIMIT_S = 60.0
DECAYED = 1_000_000

Vectors = material.Vectors
Row = dict[str, Any]


def with_doubles(generator: np.random.Generator, rows: Vectors) -> Vectors:
    """Turns one row in twenty into a near copy of another (distance 0.005 to 0.2), in place."""
    count = len(rows) // 20
    places = generator.permutation(len(rows))
    copied = rows[places[count : 2 * count]]
    rows[places[:count]] = material.near(generator, copied, generator.uniform(0.005, 0.2, count))
    return rows


def queries(generator: np.random.Generator, stored: Vectors, own: Vectors) -> Vectors:
    """Half near a stored row (distance 0.01 to 0.3), half new."""
    half = len(own) // 2
    rows = stored[generator.integers(len(stored), size=half)]
    close = material.near(generator, rows, generator.uniform(0.01, 0.3, size=half))
    return np.concatenate([close, own[half:]])[generator.permutation(len(own))]


def scan_rows(stored: Vectors, asked: Vectors, limit_s: float) -> Iterator[Row]:
    """Threshold scans of one block."""
    n = len(stored)
    mask, rows, values = np.ones(n, np.uint8), np.empty(n, np.int32), np.empty(n, np.float32)
    counts: list[int] = []
    for distance in DISTANCES:
        threshold = 1.0 - distance

        def ours(number: int, threshold: float = threshold) -> None:
            query = asked[number % len(asked)]
            counts.append(cosine.scan_at_least(stored, mask, query, threshold, rows, values))

        def blas(number: int, threshold: float = threshold) -> None:
            found = stored @ asked[number % len(asked)]
            counts.append(len(np.flatnonzero(found >= np.float32(threshold))))

        for method, work in (("totonoe", ours), ("numpy", blas)):
            counts.clear()
            times = common.repeat(work, QUERIES, limit_s)
            yield {
                "kernel": "scan",
                "method": method,
                "distance": distance,
                "found": float(np.mean(counts[1:])),
                **times.row(),
            }


def top_rows(stored: Vectors, asked: Vectors, limit_s: float, with_graph: bool) -> Iterator[Row]:
    """The ten nearest: exact in two ways, and approximate."""
    n = len(stored)
    mask = np.ones(n, np.uint8)
    exact: dict[int, set[int]] = {}

    def ours(number: int) -> None:
        place = number % len(asked)
        heap, slots = np.empty(K, np.float32), np.empty(K, np.int64)
        size = cosine.top_k_merge(stored, mask, asked[place], 0, heap, slots, 0)
        cosine.top_k_sort(heap, slots, size)
        exact[place] = set(slots[:size].tolist())

    def blas(number: int) -> None:
        found = stored @ asked[number % len(asked)]
        best = np.argpartition(-found, K)[:K]
        best[np.argsort(-found[best])]

    for method, work in (("totonoe", ours), ("numpy", blas)):
        times = common.repeat(work, QUERIES, limit_s)
        yield {"kernel": "top_k", "method": method, "k": K, **times.row()}
    if not with_graph:
        return
    begin_s = time.process_time()
    graph = hnswlib.Index(space="ip", dim=stored.shape[1])
    graph.init_index(n, M=HNSW_M, ef_construction=HNSW_EF_CONSTRUCTION, random_seed=1)
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
    recall = float(np.mean([len(exact[place] & near[place]) / K for place in both]))
    yield {
        "kernel": "top_k",
        "method": "hnswlib",
        "k": K,
        "ef": HNSW_EF,
        "build_cpu_s": build_cpu_s,
        "recall_at_k": recall,
        **times.row(),
    }


def jaccard_rows(sentences: list[str], limit_s: float) -> Iterator[Row]:
    """One text against all, by the kernel and by whole-array numpy; and all against all."""
    sets = [token_hashes(tokens(sentence)) for sentence in sentences]
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in sets])]).astype(np.int64)
    values = np.concatenate(sets)
    n = len(sets)
    sizes = np.diff(indptr)
    mask, rows, found = np.ones(n, np.uint8), np.empty(n, np.int32), np.empty(n, np.float64)
    counts: list[int] = []
    for above in JACCARD_ABOVE:

        def ours(number: int, above: float = above) -> None:
            query = sets[number * 37 % n]
            counts.append(jaccard.scan_above(indptr, values, mask, query, above, rows, found))

        def whole(number: int, above: float = above) -> None:
            query = sets[number * 37 % n]
            shared = np.concatenate([[0], np.cumsum(np.isin(values, query))])
            common_count = shared[indptr[1:]] - shared[indptr[:-1]]
            similarity = common_count / np.maximum(1, sizes + len(query) - common_count)
            counts.append(len(np.flatnonzero(similarity > above)))

        for method, work in (("totonoe", ours), ("numpy", whole)):
            counts.clear()
            times = common.repeat(work, QUERIES, limit_s)
            yield {
                "kernel": "jaccard",
                "method": method,
                "above": above,
                "tokens_mean": float(sizes.mean()),
                "found": float(np.mean(counts[1:])),
                **times.row(),
            }
    yield from kernels_joins.jaccard_rows(indptr, values, JOIN_LIMIT_S)


def decay_row(generator: np.random.Generator, count: int, limit_s: float) -> Row:
    """Effective confidence of many memories, as a filter asks for it."""
    base = generator.uniform(0.3, 1.0, size=count)
    now_us = 400 * DAY_US
    since_us: NDArray[np.int64] = generator.integers(0, now_us, size=count)
    policy = DecayPolicy()

    def work(_number: int) -> None:
        effective_confidence(base, since_us, policy, now_us)

    times = common.repeat(work, 20, limit_s)
    return {"kernel": "decay", "method": "totonoe", "n": count, **times.row()}


def embedded(sentences: list[str]) -> Vectors:
    """Vectors of real texts by the bundled model; several milliseconds each."""
    from totonoe_core.embedding.use import UseEmbedder

    embedder = UseEmbedder()
    # By length, as the daemon's batches: a batch costs as much as its longest text.
    order = sorted(range(len(sentences)), key=lambda number: len(sentences[number]))
    out: Vectors = np.empty((len(sentences), embedder.identity.dimension), np.float32)
    for start in range(0, len(order), 32):
        part = order[start : start + 32]
        out[part] = embedder.embed([sentences[number] for number in part])
    return out


def run(options: argparse.Namespace) -> None:
    """All rows: each dimension and size, then Jaccard and decay."""
    limit_s = options.limit_s
    generator = np.random.default_rng(options.seed)
    real = (
        material.read_texts(options.texts)[: max(options.stored) + QUERIES] if options.texts else []
    )
    source = options.texts.name if options.texts else "synthetic"
    sizes = [*options.stored, LARGE] if options.large else options.stored
    if options.texts:
        if len(real) <= QUERIES:
            raise SystemExit(f"--texts: {len(real)} texts, more than {QUERIES} are needed")
        sizes = sorted({min(n, len(real) - QUERIES) for n in sizes})
    graph_max = max(options.stored) if options.large else HNSW_STORED_MAX
    with (
        common.Report("kernels", options.seed, options.out) as report,
        threadpool_limits(limits=1),
    ):
        for dimension, draw in sources(options, generator, real):
            for n in sizes:
                drawn = draw(n + QUERIES)
                stored = drawn[:n]
                asked = queries(generator, stored, drawn[n:])
                said = {"n": n, "dimension": dimension, "texts": source}
                for row in scan_rows(stored, asked, limit_s):
                    report.add(**said, **row)
                for row in top_rows(stored, asked, limit_s, n <= graph_max):
                    report.add(**said, **row)
                if n != LARGE:
                    sentences = real[: n + QUERIES] or material.texts(generator, n + QUERIES)
                    arrays = kernels_guard.filled(stored, sentences[:n])
                    asking = sentences[n:]
                    for row in chain(
                        kernels_joins.prefix_rows(arrays, asked, DISTANCES, QUERIES, limit_s),
                        kernels_guard.rows(arrays, asked, asking, QUERIES, limit_s),
                        kernels_joins.cosine_rows(arrays, JOIN_LIMIT_S),
                    ):
                        report.add(**said, **row)
                    del arrays
                del stored, drawn
        for n in sizes:
            if n == LARGE:
                continue
            sentences = real[:n] or material.texts(generator, n)
            for row in jaccard_rows(sentences, limit_s):
                report.add(n=len(sentences), dimension=0, texts=source, **row)
        report.add(dimension=0, texts="synthetic", **decay_row(generator, options.decayed, limit_s))


def sources(
    options: argparse.Namespace, generator: np.random.Generator, real: list[str]
) -> Iterator[tuple[int, Callable[[int], Vectors]]]:
    """(dimension, a function that gives so many vectors): made ones, or those of real texts."""
    if real:
        made = embedded(real)
        yield made.shape[1], lambda count: made[:count]
        return
    for dimension in options.dimensions:
        space = material.Space(options.seed, dimension)
        yield dimension, partial(_drawn, generator, space)


def _drawn(generator: np.random.Generator, space: material.Space, count: int) -> Vectors:
    return with_doubles(generator, space.draw(generator, count))


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--stored", type=common.numbers, default=[10_000, 100_000])
    parser.add_argument("--dimensions", type=common.numbers, default=[384, 512])
    parser.add_argument("--large", action="store_true", help="a million rows too, hnswlib at 100k")
    parser.add_argument("--decayed", type=int, default=DECAYED, help="memories that decay")
    parser.add_argument("--limit-s", type=float, default=3.0, help="time for each row")
    parser.add_argument("--texts", type=Path, help="real texts, one a line; embedded by the model")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
