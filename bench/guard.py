"""Guarded, durable Remembers over the wire, beside a bare echo of the same payload.

    python -m bench.guard [--stored 1000,10000,100000] [--clients 1,8,64]
                          [--modes unary,multiplex,stream,text] [--texts FILE]

For each number of memories stored, clients in other processes remember as fast as they are
answered, one call each at a time; one item in ten restates another. From 10,000 on the store is
filled by an import as it is. The same bytes go to the echo, half of them before and half after.
Rows whose `store` is `near_duplicates` ask a store of which half are copies of five things, and
half of what they ask says one of these again. Rows whose `texts` is `notes`, or the name of FILE,
store and remember texts that are not put together from parts (`bench.notes`). Server CPU is that of
the daemon's own process, background work included, by `Stats`.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import totonoe
from bench import common, echo, material, notes
from bench.filling import DIMENSION, drawn, fill, made, store
from bench.material import Item
from bench.processes import BenchError, Crew, Daemon, echo_server

DOUBLE_SHARE = 0.1
OPERATIONS_MAX = 2000
IMPORTED_FROM = 10_000
FRESH_MAX = 10_000
TEXT_MAX = 10_000
NEAR_DUPLICATES_MAX = 10_000
IN_FLIGHT_MAX = 1024
WARM_UP = 400
COPY_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Work:
    """Calls of one row: how many clients, in which mode, for how long, with which texts.

    Without `said` the texts are synthetic.
    """

    seed: int
    clients: int
    mode: str
    limit_s: float
    said: Sequence[Item] = ()
    near_duplicates: bool = False

    @property
    def items_per_message(self) -> int:
        """64, fewer for many clients: what is in flight stays far below the daemon's queue."""
        return min(64, IN_FLIGHT_MAX // self.clients) if self.mode == "stream" else 1

    @property
    def dimension(self) -> int:
        """Of the vectors that are sent; 0: the daemon embeds."""
        if self.mode == "text":
            return 0
        return len(self.said[0].vector) // 4 if self.said else DIMENSION

    def orders(self, server: str, address: str, collection: str, turn: int) -> list[dict[str, Any]]:
        """One order for each worker process; `turn` keeps the texts of rows apart."""
        workers = {1: 1, 8: 2}.get(self.clients, min(4, self.clients))
        return [
            {
                "server": server,
                "address": address,
                "collection": collection,
                # "text" is unary without vectors.
                "mode": "unary" if self.mode == "text" else self.mode,
                "tasks": self.clients // workers + (worker < self.clients % workers),
                "items_per_message": self.items_per_message,
                "limit_s": self.limit_s,
                "seed": self.seed,
                "worker": 1 + turn * 8 + worker,
                "count": OPERATIONS_MAX // workers,
                "dimension": self.dimension,
                "double_share": DOUBLE_SHARE,
                "copy_share": COPY_SHARE if self.near_duplicates else 0.0,
                "said": self.said
                and [
                    (item.text, b64encode(item.vector).decode())
                    for item in self.said[worker::workers]
                ],
            }
            for worker in range(workers)
        ]


def push(orders: list[dict[str, Any]], worker: str = "bench.pushing") -> dict[str, Any]:
    """Carries out orders at once; rate, latencies and outcomes over all workers."""
    with Crew(worker, orders) as crew:
        answers = crew.run()
    wall_s = max(answer["end_s"] for answer in answers) - min(
        answer["begin_s"] for answer in answers
    )
    outcomes: dict[str, int] = {}
    for answer in answers:
        for name, count in answer["outcomes"].items():
            outcomes[name] = outcomes.get(name, 0) + count
    done = sum(outcomes.get(name, 0) for name in ("saved", "refused", "recalled", "echoed"))
    if not done:
        raise BenchError(f"nothing was answered: {outcomes}")
    latencies_s = [value for answer in answers for value in answer["latencies_s"]]
    return {
        "ops": done,
        "ops_per_s": done / wall_s,
        **common.percentiles_ms(latencies_s),
        "outcomes": outcomes,
    }


@dataclass(frozen=True, slots=True)
class Stored:
    """Contents of a collection, and the texts that rows remember in it if not synthetic ones."""

    n: int
    store: str
    texts: str
    dimension: int
    items: Callable[[], Iterable[Item]]
    said: Sequence[Item] = ()

    def warm_up(self) -> Sequence[Item]:
        """Notes that no row remembers: by them a daemon loads what reads their languages."""
        return self.said[: min(WARM_UP, len(self.said) // 4)]

    def rows(self, seed: int, modes: list[str], crowds: list[int], limit_s: float) -> list[Work]:
        """The work of each row.

        Each has notes of its own: the daemon keeps what it has read and compared.
        """
        pairs = [(mode, clients) for mode in modes for clients in crowds]
        said, full = self.said[len(self.warm_up()) :], self.store == "near_duplicates"
        return [
            Work(seed, clients, mode, limit_s, said[place :: len(pairs)][:OPERATIONS_MAX], full)
            for place, (mode, clients) in enumerate(pairs)
        ]


def distinct(seed: int, n: int, dimension: int) -> Stored:
    """Synthetic memories that do not repeat each other."""
    return Stored(n, "distinct", "synthetic", dimension, lambda: drawn(seed, n, dimension))


def near_duplicates(seed: int, n: int) -> Stored:
    """Synthetic memories of which half are copies of a few things."""
    copied = int(n * COPY_SHARE)

    def items() -> Iterator[Item]:
        generator, space = np.random.default_rng([seed, n]), material.Space(seed, DIMENSION)
        copies = material.copies(generator, seed, space, copied, 0)
        return itertools.chain(drawn(seed, n - copied, DIMENSION), copies)

    return Stored(n, "near_duplicates", "synthetic", DIMENSION, items)


def of_notes(found: notes.Notes, *, vectors: bool) -> Stored:
    """Notes, with the model's vectors or none."""
    dimension = len(found.stored[0].vector) // 4 if vectors else 0
    items = [item if vectors else replace(item, vector=b"") for item in found.stored]
    return Stored(len(items), found.store, found.name, dimension, lambda: items, found.said)


class Bench:
    """Rows of one run, each with the echo in turn."""

    def __init__(
        self, report: common.Report, options: argparse.Namespace, folder: Path, echo_address: str
    ) -> None:
        self._report, self._options, self._echo = report, options, echo_address
        self._file = folder / "export.jsonl"
        self._turn, self._names = 0, itertools.count()

    def rows(self, daemon: Daemon, stored: Stored, modes: list[str]) -> None:
        """All rows of one filling.

        A small collection would soon not be small, so each row has its own. A large one takes long
        to fill and serves all rows; `active_after` tells how much it has grown.
        """
        options = self._options
        works = stored.rows(options.seed, modes, options.clients, options.limit_s)
        size = 1 if stored.n <= FRESH_MAX else len(works)
        self._file.unlink(missing_ok=True)
        if stored.warm_up():
            with self._filled(daemon, stored) as (client, _):
                for item in stored.warm_up():
                    client.remember(item.text, vector=item.vector if stored.dimension else None)
        for first in range(0, len(works), size):
            with self._filled(daemon, stored) as (_, name):
                for work in works[first : first + size]:
                    self._row(daemon, name, stored, work)

    @contextmanager
    def _filled(self, daemon: Daemon, stored: Stored) -> Iterator[tuple[totonoe.Client, str]]:
        """A collection for some rows."""
        name, vectors = f"rows-{next(self._names)}", stored.dimension > 0
        with daemon.client(name) as client:
            client.create_collection(name, client_vector_dimension=stored.dimension)
            if stored.n < IMPORTED_FROM and stored.store == "distinct":
                store(client, self._options.seed, stored.n, stored.dimension)
            else:
                if not self._file.exists():
                    made(client, stored.items(), self._file, vectors=vectors)
                fill(daemon, name, self._file)
            yield client, name
            client.delete_collection(name)

    def _row(self, daemon: Daemon, collection: str, stored: Stored, work: Work) -> None:
        """One row: half of the echo, the daemon, the other half."""
        self._turn += 1
        halves = [self._echoed(work, collection)]
        figures = measure_daemon(daemon, work, collection, self._turn)
        halves.append(self._echoed(work, collection))
        figures |= both(halves)
        self._report.add(
            n=stored.n,
            clients=work.clients,
            mode=work.mode,
            store=stored.store,
            items_per_message=work.items_per_message,
            dimension=work.dimension,
            texts=stored.texts,
            judge=self._options.judge,
            echo_ratio=figures["server_cpu_ms_per_op"] / figures["echo_cpu_ms_per_op"],
            **figures,
        )

    def _echoed(self, work: Work, collection: str) -> dict[str, Any]:
        """The same payloads to the echo, for a quarter of the row's time.

        Items of Multiplex are compared with the single calls that they take the place of.
        """
        mode = "unary" if work.mode in ("multiplex", "text") else work.mode
        short = replace(work, limit_s=work.limit_s / 4)
        orders = [
            order | {"mode": mode}
            for order in short.orders("echo", self._echo, collection, self._turn)
        ]
        before_s = echo.cpu_s(self._echo)
        row = push(orders)
        return row | {"cpu_s": echo.cpu_s(self._echo) - before_s}


def measure_daemon(daemon: Daemon, work: Work, collection: str, turn: int) -> dict[str, Any]:
    """One row's figures of the daemon."""
    orders = work.orders("totonoe", daemon.address, collection, turn)
    before = daemon.idle()
    row = push(orders)
    with daemon.client() as client:
        after = client.stats()
    stored = next(stats for stats in after.collections if stats.name == collection)
    ms = 1e3 / row["ops"]
    return row | {
        "active_after": stored.active_count,
        "server_cpu_ms_per_op": (after.cpu_s - before.cpu_s) * ms,
        "embedder_cpu_ms_per_op": (after.embedder_cpu_s - before.embedder_cpu_s) * ms,
        "judge_cpu_ms_per_op": (after.judge_cpu_s - before.judge_cpu_s) * ms,
        "rss_bytes": after.rss_bytes,
    }


def both(halves: list[dict[str, Any]]) -> dict[str, float]:
    """The echo's figures: CPU over both halves, means of their rates and medians."""
    ops = sum(half["ops"] for half in halves)
    return {
        "echo_cpu_ms_per_op": sum(half["cpu_s"] for half in halves) / ops * 1e3,
        "echo_ops_per_s": sum(half["ops_per_s"] for half in halves) / len(halves),
        "echo_p50_ms": sum(half["p50_ms"] for half in halves) / len(halves),
    }


def warm_up(daemon: Daemon, seed: int, dimension: int) -> None:
    """Lets a daemon load what its first calls load, in a collection of its own."""
    with daemon.client("warm") as client:
        client.create_collection("warm", client_vector_dimension=dimension)
        store(client, seed, WARM_UP, dimension)
        client.delete_collection("warm")


def run(options: argparse.Namespace) -> None:
    """All rows."""
    seed, sizes = options.seed, options.stored
    found = notes.of_file(options.texts) if options.texts else notes.shipped(seed)
    vector_modes = [mode for mode in options.modes if mode != "text"]
    # The shipped ones are too few for messages of many.
    note_modes = [mode for mode in vector_modes if options.texts or mode != "stream"]
    with (
        common.Report("guard", seed, options.out) as report,
        tempfile.TemporaryDirectory(prefix="totonoe-bench-") as directory,
        echo_server() as echo_address,
    ):
        bench = Bench(report, options, Path(directory), echo_address)
        if vector_modes:
            with Daemon(Path(directory) / "vectors", judge=options.judge) as daemon:
                warm_up(daemon, seed, DIMENSION)
                for n in sizes:
                    bench.rows(daemon, distinct(seed, n, DIMENSION), vector_modes)
                bench.rows(daemon, of_notes(found, vectors=True), note_modes)
                if options.near_duplicates:
                    full = near_duplicates(seed, min(NEAR_DUPLICATES_MAX, max(sizes)))
                    bench.rows(daemon, full, ["unary"])
        if "text" in options.modes:
            place = Path(directory) / "texts"
            with Daemon(place, embedder=options.embedder, judge=options.judge) as daemon:
                warm_up(daemon, seed, 0)
                for n in sorted({min(TEXT_MAX, n) for n in sizes}):
                    bench.rows(daemon, distinct(seed, n, 0), ["text"])
                bench.rows(daemon, of_notes(found, vectors=False), ["text"])


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--stored", type=common.numbers, default=[1_000, 10_000, 100_000])
    parser.add_argument("--clients", type=common.numbers, default=[1, 8, 64])
    parser.add_argument(
        "--modes", type=lambda text: text.split(","), default="unary,multiplex,stream,text"
    )
    parser.add_argument(
        "--near-duplicates",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="rows for a store full of copies",
    )
    parser.add_argument("--limit-s", type=float, default=3.0, help="time for each row")
    parser.add_argument("--embedder", default="use", help="of the mode text")
    parser.add_argument("--judge", choices=["own", "none"], default="own")
    parser.add_argument(
        "--texts", type=Path, help="notes, one a line, in place of those that the package ships"
    )
    run(parser.parse_args())


if __name__ == "__main__":
    main()
