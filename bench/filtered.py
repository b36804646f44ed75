"""Nearest memories under a filter, beside hnswlib with a filter callback and with over-fetching.

    python -m bench.filtered [--stored 50000] [--dimension 384] [--passing 1,0.25,0.01]

One thread. All three have the same graph: the one that a collection builds. `by` says which slots
pass: `chance`, or `topic`, those nearest to one memory, which is far from most queries; a filter by
project or agent is often like that. Half of the queries lie close to a stored vector, half are new.
`recall_at_k` is against numpy's exact answer, `answered_share` the share of the k places that were
filled.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Iterator
from typing import Any

import hnswlib
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bench import common, material
from bench.kernels import QUERIES, queries, with_doubles
from bench.kernels_guard import filled
from totonoe_core.index import hnsw
from totonoe_core.search import arms, recall

K = 10
OVERFETCHED = 10 * K
EF = 200

Slots = NDArray[np.int64]


def passing(
    generator: np.random.Generator, stored: material.Vectors, share: float
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Masks of a share of the rows; at 1 there is only one."""
    count = max(1, round(share * len(stored)))
    near = np.argsort(-(stored @ stored[0]), kind="stable")[:count]
    chosen = {"chance": generator.permutation(len(stored))[:count], "topic": near}
    for by, slots in chosen.items():
        mask = np.zeros(len(stored), np.bool_)
        mask[slots] = True
        yield by, mask
        if count == len(stored):
            return


def nearest(stored: material.Vectors, query: material.Vectors, mask: NDArray[np.bool_]) -> Slots:
    """The exact answer, by numpy."""
    similarity = np.where(mask, stored @ query, -2.0)
    return np.argsort(-similarity, kind="stable")[: min(K, int(mask.sum()))]


def peer(stored: material.Vectors) -> hnswlib.Index:
    """A graph of the same parameters, with the whole library at hand."""
    graph = hnswlib.Index(space="ip", dim=stored.shape[1])
    graph.init_index(
        len(stored), M=hnsw.M, ef_construction=hnsw.EF_CONSTRUCTION, random_seed=common.SEED
    )
    graph.add_items(stored, num_threads=1)
    graph.set_ef(EF)
    return graph


def rows(
    options: argparse.Namespace, generator: np.random.Generator, space: material.Space
) -> Iterator[dict[str, Any]]:
    """A row for each filter and method."""
    n = options.stored
    drawn = with_doubles(generator, space.draw(generator, n + QUERIES))
    stored = drawn[:n]
    asked = queries(generator, stored, drawn[n:])
    arrays = filled(stored, [""] * n)
    ours = hnsw.Graph(arrays)
    if ours.due():
        ours.maintain(threading.Event())
    theirs, view = peer(stored), arrays.view()
    for share in options.passing:
        for by, mask in passing(generator, stored, share):
            exact = [set(nearest(stored, query, mask).tolist()) for query in asked]
            how: set[str] = set()

            def totonoe(query: material.Vectors, mask: Any = mask, how: set[str] = how) -> Slots:
                # As deep as a Recall of k = 10 asks.
                ranking, way = arms.by_vector(view, query, mask, recall.CANDIDATES_MIN, ours)
                how.add(way)
                return ranking.slots[:K]

            def callback(query: material.Vectors, mask: Any = mask) -> Slots:
                try:
                    return theirs.knn_query(query, K, num_threads=1, filter=mask.__getitem__)[0][0]
                except RuntimeError:  # fewer than k found: it answers nothing
                    return np.zeros(0, np.int64)

            def overfetched(query: material.Vectors, mask: Any = mask) -> Slots:
                found = theirs.knn_query(query, min(n, OVERFETCHED), num_threads=1)[0][0]
                return found[mask[found]][:K]

            methods = {"totonoe": totonoe, "hnswlib": callback, "hnswlib_overfetch": overfetched}
            for method, search in methods.items():
                said = {"n": n, "dimension": stored.shape[1], "passing": share, "by": by, "k": K}
                measured = timed(search, asked, exact, options.limit_s)
                searched = {"vector_search": "/".join(sorted(how))} if method == "totonoe" else {}
                yield {"method": method, **said, **searched, **measured}


def timed(
    search: Callable[[material.Vectors], Slots],
    asked: material.Vectors,
    exact: list[set[int]],
    limit_s: float,
) -> dict[str, Any]:
    """Times of a search, and what it finds."""
    found: dict[int, list[int]] = {}

    def work(number: int) -> None:
        place = number % len(asked)
        found[place] = search(asked[place]).tolist()

    times = common.repeat(work, QUERIES, limit_s)
    hits = [len(exact[place].intersection(slots)) for place, slots in found.items()]
    wanted = [len(exact[place]) for place in found]
    return {
        "recall_at_k": sum(hits) / sum(wanted),
        "answered_share": sum(map(len, found.values())) / sum(wanted),
        **times.row(),
    }


def run(options: argparse.Namespace) -> None:
    """All rows."""
    generator = np.random.default_rng(options.seed)
    space = material.Space(options.seed, options.dimension)
    with (
        common.Report("filtered", options.seed, options.out) as report,
        threadpool_limits(limits=1),
    ):
        for row in rows(options, generator, space):
            report.add(texts="synthetic", **row)


def shares(text: str) -> list[float]:
    """Several shares with commas, each above 0 and at most 1."""
    found = [float(part) for part in text.split(",")]
    if not all(0.0 < share <= 1.0 for share in found):
        raise argparse.ArgumentTypeError(f"shares are above 0 and at most 1, got {text}")
    return found


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--stored", type=int, default=50_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--passing", type=shares, default=[1.0, 0.25, 0.01])
    parser.add_argument("--limit-s", type=float, default=5.0, help="time for each row")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
