"""Measure a large collection: filling it, a Remember, a Recall, a snapshot, a start, its memory.

    python -m bench.scale [--stored 300000] [--dimension 384] [--ops 200] [--limit-s 3600]

A daemon is warmed up on a collection of its own, filled by one import as it is, over the wire, and
left until its graph is built. Then one caller, and then sixteen at once, send `--ops` Remembers
with vectors that nothing repeats, and as many Recalls of ten hits by a vector. A snapshot is taken
while nobody writes, and one beside sixteen that do. Last the daemon starts anew, from the
checkpoint that it left, and a process of its own loads the collection and says what each `part`
takes. CPU is that of the daemon between its figures before and after, background work included.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import totonoe
from bench import common, material
from bench.filling import GRAPH_SHARE, drawn, lines_of
from bench.processes import BenchError, Daemon
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index.hnsw import FROM_COUNT
from totonoe_core.store.records import Place
from totonoe_core.store.sqlite.store import SqliteStore

COLLECTION, WARM = "scale", "warm"
CALLERS = 16
WAIT_S = 600.0
_POLL_S = 1.0

Row = dict[str, Any]


class Scale:
    """One size: its daemon, and the rows about it."""

    def __init__(self, report: common.Report, options: argparse.Namespace, count: int) -> None:
        self._options, self._count = options, count
        self._space = material.Space(options.seed, options.dimension)
        self._report = report
        self._said = {"n": count, "dimension": options.dimension, "texts": "synthetic"}
        self._drawn = count

    def add(self, phase: str, **row: Any) -> None:
        """Adds a row."""
        self._report.add(phase=phase, **self._said, **row)

    def run(self, data_dir: Path) -> None:
        """All rows."""
        with Daemon(data_dir) as daemon, daemon.client(COLLECTION, timeout_s=WAIT_S) as client:
            for name in (WARM, COLLECTION):
                client.create_collection(name, client_vector_dimension=self._options.dimension)
            self._warm_up(client)
            empty = daemon.idle()
            self._fill(client, empty)
            self._settle(daemon, client, empty)
            for callers in (1, CALLERS):
                self._calls(client, callers)
            self._snapshots(client)
        self._start(data_dir, empty)
        # That of the warm-up is smaller.
        path = max(data_dir.glob("collections/*/memory.db"), key=lambda one: one.stat().st_size)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            for part, size in pool.apply(parts_of, (path,)).items():
                self.add("part", part=part, bytes_per_memory=size)

    def _draw(self, count: int) -> Iterator[tuple[str, bytes]]:
        """Texts and vectors that nobody drew before."""
        first, self._drawn = self._drawn, self._drawn + count
        generator = np.random.default_rng([self._options.seed, first])
        texts = material.texts(generator, count, first)
        for text, vector in zip(texts, self._space.draw(generator, count), strict=True):
            yield text, vector.tobytes()

    def _warm_up(self, client: totonoe.Client) -> None:
        """Loads what the first calls of a process load."""
        for text, vector in self._draw(20):
            client.remember(text, vector=vector, collection=WARM)
            client.recall(vector=vector, k=10, collection=WARM)

    def _fill(self, client: totonoe.Client, empty: totonoe.Stats) -> None:
        with client.export(include_vectors=True) as lines:
            head = next(lines)
        begin_s = time.perf_counter()
        source = lines_of(head, drawn(self._options.seed, self._count, self._options.dimension))
        told = client.import_file(source, as_is=True, timeout_s=self._options.limit_s)
        wall_s, after = time.perf_counter() - begin_s, client.stats()
        if told.saved_count != self._count:
            raise BenchError(f"{told.saved_count} of {self._count} were imported")
        self.add(
            "fill",
            wall_s=wall_s,
            server_cpu_ms_per_op=(after.cpu_s - empty.cpu_s) / self._count * 1e3,
            rss_bytes_per_memory=(after.rss_bytes - empty.rss_bytes) / self._count,
        )

    def _settle(self, daemon: Daemon, client: totonoe.Client, empty: totonoe.Stats) -> None:
        """Waits for the graph, and for the checkpoint after it."""
        begin_s, before = time.perf_counter(), client.stats()
        while self._count >= FROM_COUNT:
            found = stored(client.stats())
            if found.hnsw_count >= GRAPH_SHARE * self._count and found.checkpoint.revision:
                break
            if time.perf_counter() > begin_s + self._options.limit_s:
                raise BenchError(f"the graph has {found.hnsw_count} of {self._count}")
            time.sleep(_POLL_S)
        after = daemon.idle()
        self.add(
            "settled",
            wall_s=time.perf_counter() - begin_s,
            server_cpu_s=after.cpu_s - before.cpu_s,
            rss_bytes_per_memory=(after.rss_bytes - empty.rss_bytes) / self._count,
            file_bytes_per_memory=stored(after).file_bytes / self._count,
            checkpoint_bytes=stored(after).checkpoint.bytes,
            hnsw_count=stored(after).hnsw_count,
        )

    def _calls(self, client: totonoe.Client, callers: int) -> None:
        """The rows of Remember and Recall by so many callers at once."""

        def remember(text: str, vector: bytes) -> None:
            client.remember(text, vector=vector)

        def recall(_: str, vector: bytes) -> None:
            client.recall(vector=vector, k=10)

        for phase, call in (("remember", remember), ("recall", recall)):
            drawn = list(self._draw(self._options.ops))
            before = client.stats()
            with ThreadPoolExecutor(callers) as pool:
                latencies_s = list(pool.map(lambda one, call=call: _timed(call, *one), drawn))
            cpu_s = client.stats().cpu_s - before.cpu_s
            self.add(
                phase,
                callers=callers,
                ops=len(drawn),
                server_cpu_ms_per_op=cpu_s / len(drawn) * 1e3,
                **common.percentiles_ms(latencies_s),
            )

    def _snapshots(self, client: totonoe.Client) -> None:
        """The rows of a snapshot alone, and beside callers that write until it is taken."""
        for callers in (0, CALLERS):
            done, before = threading.Event(), client.stats()
            drawn = [list(self._draw(self._options.ops)) for _ in range(callers)]
            with ThreadPoolExecutor(callers + 1) as pool:
                writing = [pool.submit(_write, client, part, done) for part in drawn]
                begin_s = time.perf_counter()
                snapshot = client.create_snapshot(timeout_s=self._options.limit_s).snapshot
                wall_s = time.perf_counter() - begin_s
                done.set()
                written = [value for part in writing for value in part.result()]
            self.add(
                "snapshot",
                callers=callers,
                wall_s=wall_s,
                server_cpu_s=client.stats().cpu_s - before.cpu_s,
                file_bytes=snapshot.file_bytes,
                ops=len(written),
                **common.percentiles_ms(written),
            )

    def _start(self, data_dir: Path, empty: totonoe.Stats) -> None:
        """A start from the checkpoint, to the answer to a first Recall."""
        ((_, vector),) = self._draw(1)
        with Daemon(data_dir) as daemon, daemon.client(COLLECTION, timeout_s=WAIT_S) as client:
            client.health()
            serving_s = time.perf_counter() - daemon.begun_s
            client.recall(vector=vector, k=10, no_touch=True)
            first_s, found = time.perf_counter() - daemon.begun_s, client.stats()
            self.add(
                "start",
                serving_s=serving_s,
                first_answer_s=first_s,
                opening_s=stored(found).checkpoint.opening_s,
                replayed_count=stored(found).checkpoint.replayed_count,
                cpu_s=found.cpu_s,
                rss_bytes_per_memory=(found.rss_bytes - empty.rss_bytes) / self._count,
            )


def stored(stats: totonoe.Stats) -> Any:
    """Figures of the collection."""
    return next(collection for collection in stats.collections if collection.name == COLLECTION)


def _timed(call: Callable[[str, bytes], None], text: str, vector: bytes) -> float:
    begin_s = time.perf_counter()
    call(text, vector)
    return time.perf_counter() - begin_s


def _write(
    client: totonoe.Client, drawn: Sequence[tuple[str, bytes]], done: threading.Event
) -> list[float]:
    """Seconds of each Remember of one caller."""
    latencies_s = []
    for text, vector in drawn:
        if done.is_set():
            break
        begin_s = time.perf_counter()
        client.remember(text, vector=vector)
        latencies_s.append(time.perf_counter() - begin_s)
    return latencies_s


def parts_of(path: Path) -> dict[str, float]:
    """Bytes for each memory of the parts of a collection's index, without room not used yet."""
    state = CollectionState.load(SqliteStore(path.parents[2]), Place(path, path.parent.name, ""))
    try:
        index = state.index
        for part in (index.prefix, index.graph):
            if part.due():
                part.maintain(threading.Event())
        chunks = [(chunk, size) for _, size, chunk in index.view().parts()]
        columns = sum(
            size * column.itemsize
            for chunk, size in chunks
            for column in chunk.columns.values()
            if column.flags.writeable
        )
        count = index.view().count
        sizes = {
            "vectors": sum(size * chunk.vectors.strides[0] for chunk, size in chunks),
            "columns": columns,
            "tokens": sum(8 * (int(chunk.indptr[size]) + size) for chunk, size in chunks),
            "prefix": index.prefix.row_bytes * index.prefix.built,
            "graph": index.graph.row_bytes * index.graph.count,
            "token index": index.token_index.nbytes(),
            "terms": index.terms.nbytes(),
            "labels and numbers": index.labels.nbytes() + index.numbers.nbytes(),
            "maps": index.map_bytes(),
        }
        return {part: size / count for part, size in sizes.items()}
    finally:
        state.file.close()


def run(options: argparse.Namespace) -> None:
    """Rows for each size, each with a daemon of its own."""
    with common.Report("scale", options.seed, options.out) as report:
        for count in options.stored:
            with tempfile.TemporaryDirectory(prefix="totonoe-bench-") as folder:
                Scale(report, options, count).run(Path(folder) / "data")


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--stored", type=common.numbers, default=[20_000])
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--ops", type=int, default=200, help="of each caller")
    parser.add_argument("--limit-s", type=float, default=3600.0, help="for a fill, or a graph")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
