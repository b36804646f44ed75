"""What an export and both ways of importing it take.

    python -m bench.transfer [--stored 10000,100000] [--guarded-max 10000]

A file of `--stored` memories with vectors is made, imported as it is, exported without vectors and
with them, and (up to `--guarded-max`) imported through the guard into a collection of its own. CPU
is that of the daemon between its figures before and after, what runs in the background included;
`client_cpu_s` is that of the reader or sender.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import totonoe
from bench import common
from bench.filling import DIMENSION, drawn, made
from bench.processes import Daemon

AS_IS, GUARDED = "as-is", "guarded"


def measured(
    daemon: Daemon, client: totonoe.Client, file: Path, work: Callable[[], int]
) -> dict[str, Any]:
    """Figures of some work on a file, which gives how many memories it was about."""
    before = daemon.idle()
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    count = work()
    wall_s, client_cpu_s = time.perf_counter() - begin_s, time.process_time() - begin_cpu_s
    after = client.stats()
    size_bytes, cpu_s = file.stat().st_size, after.cpu_s - before.cpu_s
    return {
        "n": count,
        "file_bytes": size_bytes,
        "bytes_per_memory": size_bytes / count,
        "wall_s": wall_s,
        "server_cpu_s": cpu_s,
        "client_cpu_s": client_cpu_s,
        "server_cpu_ms_per_op": cpu_s / count * 1e3,
        "mb_per_s": size_bytes / wall_s / 1e6,
        "mb_per_cpu_s": size_bytes / cpu_s / 1e6,
        "rss_bytes": after.rss_bytes,
    }


def one(report: common.Report, options: argparse.Namespace, count: int, folder: Path) -> None:
    """The rows of one number of memories."""
    said = {"dimension": DIMENSION, "texts": "synthetic"}
    file = folder / "export.jsonl"
    with Daemon(folder / "data") as daemon, daemon.client(AS_IS) as client:
        for name in (AS_IS, GUARDED):
            client.create_collection(name, client_vector_dimension=DIMENSION)
        made(client, drawn(options.seed, count, DIMENSION), file, vectors=True)

        def import_(collection: str = AS_IS) -> int:
            with file.open("rb") as source:
                told = client.import_file(
                    source, as_is=collection == AS_IS, collection=collection, timeout_s=600
                )
            return told.saved_count

        def export(vectors: bool) -> int:
            with client.export(include_vectors=vectors) as lines, file.open("wb") as out:
                lines.save(out)
                return lines.progress.memory_count

        row = measured(daemon, client, file, import_)
        report.add(call="import as it is", vectors=True, **said, **row)
        for vectors in (False, True):
            row = measured(daemon, client, file, lambda vectors=vectors: export(vectors))
            report.add(call="export", vectors=vectors, **said, **row)
        if count <= options.guarded_max:
            row = measured(daemon, client, file, lambda: import_(GUARDED))
            report.add(call="import through the guard", vectors=True, **said, **row)


def run(options: argparse.Namespace) -> None:
    """Rows for each number of memories, each with a daemon of its own."""
    with common.Report("transfer", options.seed, options.out) as report:
        for count in options.stored:
            with tempfile.TemporaryDirectory(prefix="totonoe-bench-") as folder:
                one(report, options, count, Path(folder))


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--stored", type=common.numbers, default=[10_000, 100_000])
    parser.add_argument("--guarded-max", type=int, default=10_000)
    run(parser.parse_args())


if __name__ == "__main__":
    main()
