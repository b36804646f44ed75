"""The engine's exact kernels, its guard query and its joins, beside numpy/BLAS, faiss and others.

    python -m bench.kernels [--stored 10000,100000] [--dimensions 384,512] [--large] [--texts FILE]

One process and one thread. Packages that are not installed have no rows; the extra `bench` brings
them. One made vector in twenty is nearly a copy of another. Half of the queries lie close to a
stored vector, half are new. `found` is the mean number of rows that a scan reports for a query, so
that equal work can be told. hnswlib answers approximately: its rows carry `recall_at_k` against the
exact answer. It is built up to 10,000 rows only, because 100,000 take minutes, unless `--large` is
given.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bench import common, kernels_guard, kernels_joins, kernels_scan, material
from totonoe_core.domain.decay import DAY_US, effective_confidence
from totonoe_core.domain.policy import DecayPolicy
from totonoe_core.index.token_index import TokenIndex

QUERIES = kernels_scan.QUERIES
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


def jaccard_rows(sentences: list[str], limit_s: float) -> Iterator[Row]:
    """One text against all, by the guard's index and by whole-array numpy; and all against all."""
    # Rows of one value: only the tokens count here.
    arrays = kernels_guard.filled(np.ones((len(sentences), 1), np.float32), sentences)
    view = arrays.view()
    lexicon = TokenIndex()
    lexicon.catch_up(view)
    mask = np.ones(view.count, np.bool_)
    sets = [view.tokens(slot) for slot in range(view.count)]
    values, sizes = np.concatenate(sets), np.array([len(array) for array in sets])
    ends = np.cumsum(sizes)
    counts: list[int] = []
    for above in kernels_joins.JACCARD_ABOVE:

        def ours(number: int, above: float = above) -> None:
            query = sets[number * 37 % len(sets)]
            counts.append(len(lexicon.above(view, query, above, mask)[0]))

        def whole(number: int, above: float = above) -> None:
            query = sets[number * 37 % len(sets)]
            shared = np.concatenate([[0], np.cumsum(np.isin(values, query))])
            common_count = shared[ends] - shared[ends - sizes]
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
    yield from kernels_joins.jaccard_rows(arrays, JOIN_LIMIT_S)


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


def vector_rows(
    stored: Vectors, sentences: list[str], asked: Vectors, options: argparse.Namespace
) -> Iterator[Row]:
    """All rows of some vectors; `sentences` are theirs and then the queries', or none."""
    n, limit_s = len(stored), options.limit_s
    arrays = kernels_guard.filled(stored, sentences[:n])
    flat = kernels_scan.flat_index(stored)
    with_graph = n <= (max(options.stored) if options.large else HNSW_STORED_MAX)
    yield from kernels_scan.scan_rows(arrays, stored, flat, asked, limit_s)
    yield from kernels_scan.top_rows(arrays, stored, flat, asked, limit_s, with_graph)
    if sentences:
        yield from kernels_guard.rows(arrays, asked, sentences[n:], QUERIES, limit_s)
        yield from kernels_joins.cosine_rows(arrays, stored, JOIN_LIMIT_S)


def run(options: argparse.Namespace) -> None:
    """All rows: each source, dimension and size, then Jaccard and decay."""
    generator = np.random.default_rng(options.seed)
    with (
        common.Report("kernels", options.seed, options.out) as report,
        threadpool_limits(limits=1),
    ):
        for source in sources(options, generator):
            for n in source.sizes:
                drawn = source.draw(n + QUERIES)
                stored = drawn[:n]
                asked = queries(generator, stored, drawn[n:])
                # A million texts would take minutes to cut into tokens.
                sentences = source.texts(n + QUERIES) if n < LARGE else []
                said = {"n": n, "dimension": drawn.shape[1], "texts": source.name}
                for row in vector_rows(stored, sentences, asked, options):
                    report.add(**said | row)
                del stored, drawn
            for n in source.jaccard_sizes:
                said = {"n": n, "dimension": 0, "texts": source.name}
                for row in jaccard_rows(source.texts(n), options.limit_s):
                    report.add(**said, **row)
        row = decay_row(generator, options.decayed, options.limit_s)
        report.add(dimension=0, texts="synthetic", **row)


@dataclass(frozen=True, slots=True)
class Source:
    """Vectors and texts of one kind, and how many of them are measured."""

    name: str
    sizes: list[int]
    jaccard_sizes: list[int]
    draw: Callable[[int], Vectors]
    texts: Callable[[int], list[str]]


def sources(options: argparse.Namespace, generator: np.random.Generator) -> Iterator[Source]:
    """Made vectors of each dimension, then the real texts and their vectors if there are any."""
    sizes = [*options.stored, LARGE] if options.large else options.stored
    made = partial(material.texts, generator)
    for number, dimension in enumerate(options.dimensions):
        draw = partial(_drawn, generator, material.Space(options.seed, dimension))
        # Words know no dimension: once is enough.
        jaccard_sizes = [] if number else options.stored
        yield Source("synthetic", sizes, jaccard_sizes, draw, made)
    if options.texts:
        real = material.read_texts(options.texts)[: max(options.stored) + QUERIES]
        if len(real) <= QUERIES:
            raise SystemExit(f"--texts: {len(real)} texts, more than {QUERIES} are needed")
        sizes = sorted({min(n, len(real) - QUERIES) for n in options.stored})
        vectors = material.embedded(real)
        yield Source(
            options.texts.name,
            sizes,
            sizes,
            lambda count: vectors[:count],
            lambda count: real[:count],
        )


def _drawn(generator: np.random.Generator, space: material.Space, count: int) -> Vectors:
    return with_doubles(generator, space.draw(generator, count))


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--stored", type=common.numbers, default=[10_000, 100_000])
    parser.add_argument("--dimensions", type=common.numbers, default=[384, 512])
    parser.add_argument("--large", action="store_true", help="a million rows too, hnswlib at 100k")
    parser.add_argument("--decayed", type=int, default=DECAYED, help="memories that decay")
    parser.add_argument("--limit-s", type=float, default=1.0, help="time for each row")
    parser.add_argument(
        "--texts", type=Path, help="real texts too, one a line; embedded by the model"
    )
    run(parser.parse_args())


if __name__ == "__main__":
    main()
