"""How long until a daemon serves and answers, and how much memory each memory takes.

    python -m bench.startup [--stored 10000] [--repeats 3] [--embedder use] [--direct]

A daemon is filled with `--stored` memories, stopped, and started anew several times, each time once
after its checkpoints were deleted and once with the one that this start then left. `serving_s`
is the time from starting the process to SERVING; `first_answer_s` to the answer to a first Recall,
which opens the collection (`opening_engine_s` of it as the daemon counts it);
`first_text_answer_s` to that of a Recall by text, which needs the model. Then the graph is built or
read in the background, until `settled_s`. Bytes for each memory are counted from the daemon as it
was when the collection was empty.

Rows of the phase `command` are calls of the command line against the daemon: `cpu_s` of a process
from its start to its end, the median of `--calls`.

With `--direct` the rows are written to the file in place of being remembered, one daemon is not
filled, and no model is loaded: 100,000 memories take seconds, not ten minutes.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import totonoe
from bench import common, material
from bench.consolidate import write
from bench.filling import DIMENSION, store
from bench.processes import BenchError, Daemon
from totonoe.collections.models import CollectionStats
from totonoe_core.engine.state.checkpointing import CHANGED_MIN

COLLECTION = "vectors"
WAIT_S = 600.0
COMMANDS = (
    ("remember", "The port is 8080.", "--force"),
    ("recall", "Which port is it?", "--k", "1"),
    ("list", "--limit", "5"),
    ("operations", "--limit", "5"),
)


def start(
    data_dir: Path, embedder: str, seed: int, collection: str, *, database: str = ""
) -> dict[str, Any]:
    """Starts, asks, waits until the background work is done, stops."""
    query = material.Space(seed, DIMENSION).draw(np.random.default_rng(seed), 1)[0]
    with (
        Daemon(data_dir, embedder=embedder, store=database) as daemon,
        daemon.client(timeout_s=WAIT_S) as client,
    ):
        if not client.health():
            raise BenchError("ready, but not serving")
        serving_s = time.perf_counter() - daemon.begun_s
        client.recall(vector=query.tobytes(), k=10, collection=collection, no_touch=True)
        first_s = time.perf_counter() - daemon.begun_s
        first = client.stats()
        text_s = None
        if embedder != "none":
            client.recall("Which port does it listen on?", k=1)
            text_s = time.perf_counter() - daemon.begun_s
        settled = daemon.idle()
        stored = _of(settled, collection)
        # On a machine that others keep busy it may look idle before its checkpoint is written.
        deadline_s = time.perf_counter() + WAIT_S
        while not stored.checkpoint.bytes and stored.active_count >= CHANGED_MIN:
            if time.perf_counter() > deadline_s:
                raise BenchError("the daemon writes no checkpoint")
            time.sleep(1.0)
            settled = daemon.idle()
            stored = _of(settled, collection)
        settled_s = time.perf_counter() - daemon.begun_s
    return {
        "n": stored.active_count,
        "checkpoint": stored.checkpoint.opened_from_revision > 0,
        "replayed": stored.checkpoint.replayed_count,
        "opening_engine_s": stored.checkpoint.opening_s,
        "checkpoint_bytes": stored.checkpoint.bytes,
        "serving_s": serving_s,
        "first_answer_s": first_s,
        "opening_s": first_s - serving_s,
        "first_text_answer_s": text_s,
        "settled_s": settled_s,
        "cpu_s": first.cpu_s,
        "settled_cpu_s": settled.cpu_s,
        "rss_bytes": first.rss_bytes,
        "settled_rss_bytes": settled.rss_bytes,
        "array_bytes": stored.array_bytes,
        "file_bytes": stored.file_bytes,
        "hnsw_count": stored.hnsw_count,
    }


def _of(stats: totonoe.Stats, collection: str) -> CollectionStats:
    return next(item for item in stats.collections if item.name == collection)


def grown(row: dict[str, Any], empty: totonoe.Stats) -> dict[str, Any]:
    """Bytes that each memory adds to the process, with the graph and without."""
    count = row["n"]
    return {
        "rss_bytes_per_memory": (row["rss_bytes"] - empty.rss_bytes) / count,
        "settled_rss_bytes_per_memory": (row["settled_rss_bytes"] - empty.rss_bytes) / count,
        "vector_bytes_per_memory": 4 * DIMENSION,
        "file_bytes_per_memory": row["file_bytes"] / count,
    }


def run(options: argparse.Namespace) -> None:
    """A row for the daemon that was filled while it ran, and one for each start after it."""
    with (
        common.Report("startup", options.seed, options.out) as report,
        tempfile.TemporaryDirectory(prefix="totonoe-bench-") as directory,
    ):
        data_dir = Path(directory) / "data"
        embedder = "none" if options.direct else options.embedder
        said = {"embedder": embedder, "dimension": DIMENSION, "texts": "synthetic"}
        if options.direct:
            collection = "default"
            empty = direct(data_dir, options.stored, options.seed)
        else:
            collection = COLLECTION
            empty = fill(report, data_dir, options, said)
        for number in range(options.repeats):
            for fresh in (True, False):
                if fresh:
                    for saved in data_dir.glob("collections/*/checkpoint"):
                        shutil.rmtree(saved)
                row = start(data_dir, embedder, options.seed, collection)
                report.add(phase="start", repeat=number, **said, **row, **grown(row, empty))
        commands(report, data_dir, embedder, options.calls)


def commands(report: common.Report, data_dir: Path, embedder: str, calls: int) -> None:
    """Adds a row for each of some commands, and one for a command that calls nobody."""
    program = str(Path(sys.executable).with_name("totonoe"))
    with Daemon(data_dir, embedder=embedder) as daemon:
        address = ("--address", daemon.address)
        for words in (("--version",), *((*words, *address) for words in COMMANDS)):
            spent = [processor_s([program, *words]) for _ in range(calls)]
            taken = statistics.median(spent)
            report.add(phase="command", command=words[0], cpu_s=taken, n=calls, texts="synthetic")


def processor_s(command: list[str]) -> float:
    """Seconds of CPU that a process takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def direct(data_dir: Path, count: int, seed: int) -> totonoe.Stats:
    """Writes rows to the file of a data directory; figures of a daemon without any."""
    with Daemon(data_dir) as daemon:
        empty = daemon.idle()
    shutil.rmtree(data_dir)
    generator = np.random.default_rng(seed)
    vectors = material.Space(seed, DIMENSION).draw(generator, count)
    write(data_dir, material.texts(generator, count), vectors, time.time_ns() // 1000)
    return empty


def fill(
    report: common.Report, data_dir: Path, options: argparse.Namespace, said: dict[str, Any]
) -> totonoe.Stats:
    """Fills a daemon and reports it; figures of when it was empty."""
    with Daemon(data_dir) as daemon, daemon.client(COLLECTION) as client:
        client.create_collection(COLLECTION, client_vector_dimension=DIMENSION)
        empty, begin_s = daemon.idle(), time.perf_counter()
        store(client, options.seed, options.stored, DIMENSION)
        fill_s = time.perf_counter() - begin_s
        row = filled(empty, daemon.idle(), fill_s)
        # Nothing is embedded here: clients bring the vectors.
        report.add(phase="fill", **(said | {"embedder": "none"}), **row)
    return empty


def filled(before: totonoe.Stats, after: totonoe.Stats, fill_s: float) -> dict[str, Any]:
    """Return figures of a daemon that was filled without a break, background work included."""
    stored = next(stats for stats in after.collections if stats.name == COLLECTION)
    count = max(1, stored.active_count)
    return {
        "n": stored.active_count,
        "wall_s": fill_s,
        "cpu_s": after.cpu_s - before.cpu_s,
        "server_cpu_ms_per_op": (after.cpu_s - before.cpu_s) / count * 1e3,
        "settled_rss_bytes": after.rss_bytes,
        "settled_rss_bytes_per_memory": (after.rss_bytes - before.rss_bytes) / count,
        "hnsw_count": stored.hnsw_count,
    }


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--stored", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--calls", type=int, default=9, help="of each command")
    parser.add_argument("--embedder", default="use")
    parser.add_argument("--direct", action="store_true", help="write rows in place of calls")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
