"""Many collections: made, started with, listed, opened one after the other.

The engine makes them in this process (`create`), then a daemon starts on them (`start`). `list`
reads the settings of all, page by page, twice: the second time they are known. `use` remembers one
text in each of some, more than are open at once, twice: the second time most were closed since.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import totonoe
from bench import common, material
from bench.processes import BenchError, Daemon
from totonoe_core.base import limits
from totonoe_core.domain.collections import NewCollection
from totonoe_core.engine.embedded import EmbeddedEngine
from totonoe_core.store.sqlite.store import SqliteStore

DIMENSION = 384
PAGE_SIZE = 100


def create(data_dir: Path, count: int) -> dict[str, Any]:
    """Makes them; figures of one."""
    engine = EmbeddedEngine(SqliteStore(data_dir), embedding=None)
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    for number in range(count):
        new = NewCollection(name(number), client_vector_dimension=DIMENSION)
        engine.create_collection(new, "", agent_id="bench").result()
    wall_s, cpu_s = time.perf_counter() - begin_s, time.process_time() - begin_cpu_s
    engine.close(60.0)
    used = sum(4096 * -(-path.stat().st_size // 4096) for path in data_dir.rglob("*.db"))
    return {
        "wall_s": wall_s,
        "wall_ms_per_op": wall_s / count * 1e3,
        "cpu_ms_per_op": cpu_s / count * 1e3,
        "file_bytes_per_collection": used / count,
    }


def name(number: int) -> str:
    """Name of a collection."""
    return f"project-{number:05d}"


def measured(client: totonoe.Client, work: Callable[[], int]) -> dict[str, Any]:
    """Measure what calls cost the daemon; `work` makes them and returns their number."""
    before, begin_s = client.stats(), time.perf_counter()
    ops = work()
    wall_s, after = time.perf_counter() - begin_s, client.stats()
    return {
        "ops": ops,
        "wall_s": wall_s,
        "server_cpu_ms_per_op": (after.cpu_s - before.cpu_s) / ops * 1e3,
        "open_count": after.open.count,
        "rss_bytes": after.rss_bytes,
    }


def list_all(client: totonoe.Client) -> int:
    """Every page; returns how many collections there are."""
    found, token = 0, ""
    while True:
        page = client.list_collections(page_size=PAGE_SIZE, page_token=token)
        found, token = found + len(page.collections), page.next_page_token
        if not token:
            return found


def use(client: totonoe.Client, vectors: list[bytes]) -> int:
    """A Remember in each of some collections, as many as there are vectors."""
    for number, vector in enumerate(vectors):
        client.remember(f"text of {number}", vector=vector, collection=name(number), force=True)
    return len(vectors)


def run(options: argparse.Namespace) -> None:
    """A row for making them, one for each start, and those of what is called then."""
    with (
        common.Report("collections", options.seed, options.out) as report,
        tempfile.TemporaryDirectory(prefix="totonoe-bench-") as directory,
    ):
        data_dir = Path(directory) / "data"
        said = {"n": options.stored, "dimension": DIMENSION, "texts": "synthetic"}
        report.add(phase="create", **said, **create(data_dir, options.stored))
        for number in range(options.repeats):
            with Daemon(data_dir) as daemon, daemon.client() as client:
                if not client.health():
                    raise BenchError("ready, but not serving")
                serving_s = time.perf_counter() - daemon.begun_s
                stats = client.stats()
            figures = {"serving_s": serving_s, "cpu_s": stats.cpu_s, "rss_bytes": stats.rss_bytes}
            report.add(phase="start", repeat=number, **said, **figures)
        rows = np.random.default_rng(options.seed)
        used = min(options.used, options.stored)
        drawn = material.Space(options.seed, DIMENSION).draw(rows, used)
        vectors = [row.tobytes() for row in drawn]
        with Daemon(data_dir) as daemon, daemon.client() as client:
            daemon.idle()
            for number in range(2):
                row = measured(client, lambda: list_all(client))
                report.add(phase="list", repeat=number, page_size=PAGE_SIZE, **said, **row)
            for number in range(2):
                row = measured(client, lambda: use(client, vectors))
                report.add(phase="use", repeat=number, used=used, **said, **row)


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    # The default collection is one more.
    parser.add_argument("--stored", type=int, default=limits.COLLECTIONS_MAX - 1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--used", type=int, default=2 * limits.COLLECTIONS_OPEN_MAX)
    run(parser.parse_args())


if __name__ == "__main__":
    main()
