"""Guarded, durable Remembers over the wire, beside a bare echo of the same payload.

    python -m bench.guard [--stored 1000,10000] [--clients 1,8,64] [--no-near-duplicates]
                          [--texts FILE]

For each number of memories stored, clients in other processes remember as fast as they are
answered, one call each at a time; one item in ten restates another. Then the same bytes go to the
echo. Rows whose `store` is `near_duplicates` ask a store of which half are forced copies of
five things, and half of what they ask says one of these again. Server CPU is that of the daemon's
own process, background work included, by `Stats`.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import totonoe
from bench import common, echo, material
from bench.processes import BenchError, Crew, Daemon, echo_server

DIMENSION = 384
DOUBLE_SHARE = 0.1
OPERATIONS_MAX = 2000
FRESH_MAX = 2000
IN_FLIGHT_MAX = 1024
STORE_BATCH = 5000
COPY_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Work:
    """What is pushed, by whom, for how long."""

    seed: int
    clients: int
    mode: str
    limit_s: float
    texts: list[str]
    near_duplicates: bool = False

    @property
    def items_per_message(self) -> int:
        """64, fewer for many clients: what is in flight stays far below the daemon's queue."""
        return min(64, IN_FLIGHT_MAX // self.clients) if self.mode == "stream" else 1

    def orders(self, server: str, address: str, collection: str, turn: int) -> list[dict[str, Any]]:
        """One order for each worker process; `turn` keeps the texts of rows apart."""
        workers = {1: 1, 8: 2}.get(self.clients, min(4, self.clients))
        count = OPERATIONS_MAX // workers
        orders = []
        for worker in range(workers):
            tasks = self.clients // workers + (worker < self.clients % workers)
            texts = self.texts[worker::workers]
            orders.append(
                {
                    "server": server,
                    "address": address,
                    "collection": collection,
                    # "text" is unary without vectors.
                    "mode": "unary" if self.mode == "text" else self.mode,
                    "tasks": tasks,
                    "items_per_message": self.items_per_message,
                    "limit_s": self.limit_s,
                    "seed": self.seed,
                    "worker": 1 + turn * 8 + worker,
                    "count": count,
                    "dimension": 0 if self.mode == "text" else DIMENSION,
                    "double_share": DOUBLE_SHARE,
                    "copy_share": COPY_SHARE if self.near_duplicates else 0.0,
                    "texts": texts,
                }
            )
        return orders


def push(orders: list[dict[str, Any]], worker: str = "bench.pushing") -> dict[str, Any]:
    """Carries out orders at once; rate, latencies and outcomes over all workers."""
    with Crew(worker, orders) as crew:
        answers = crew.run()
    wall_s = max(one["end_s"] for one in answers) - min(one["begin_s"] for one in answers)
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


def store(
    client: totonoe.Client,
    seed: int,
    have: int,
    want: int,
    dimension: int,
    near_duplicates: bool = False,
) -> None:
    """Fills a collection from `have` to `want` memories that do not repeat each other.

    With `near_duplicates`, half of them are forced copies of a few things.
    """
    space = material.Space(seed, dimension or 8)
    for first in range(have, want, STORE_BATCH):
        size = min(STORE_BATCH, want - first)
        generator = np.random.default_rng([seed, 0, first])
        copied = int(size * COPY_SHARE) if near_duplicates else 0
        sentences = material.texts(generator, size - copied, first)
        items = chain(
            material.items(generator, sentences, space, 0.0),
            material.copies(generator, seed, space, copied, first),
        )
        drafts = (
            totonoe.Draft(
                item.text, vector=item.vector if dimension else None, force=near_duplicates
            )
            for item in items
        )
        for result in client.remember_many(drafts):
            if result.error is not None:
                raise result.error


def measure_daemon(daemon: Daemon, work: Work, collection: str, turn: int) -> dict[str, Any]:
    """One row's figures of the daemon."""
    orders = work.orders("totonoe", daemon.address, collection, turn)
    before = daemon.idle()
    row = push(orders)
    with daemon.client() as client:
        after = client.stats()
    stored = next(one for one in after.collections if one.name == collection)
    ms = 1e3 / row["ops"]
    return row | {
        "active_after": stored.active_count,
        "server_cpu_ms_per_op": (after.cpu_s - before.cpu_s) * ms,
        "embedder_cpu_ms_per_op": (after.embedder_cpu_s - before.embedder_cpu_s) * ms,
        "rss_bytes": after.rss_bytes,
    }


def measure_echo(work: Work, limit_s: float) -> dict[str, Any]:
    """The same payloads to the echo: CPU for each item.

    Items of Multiplex are compared with the single calls that they take the place of.
    """
    with echo_server() as address:
        mode = "unary" if work.mode == "multiplex" else work.mode
        short = Work(work.seed, work.clients, mode, limit_s, work.texts)
        # A first call wakes the server up.
        before_s = echo.cpu_s(address)
        row = push(short.orders("echo", address, "", 0))
        cpu_s = echo.cpu_s(address) - before_s
    return {
        "echo_cpu_ms_per_op": cpu_s / row["ops"] * 1e3,
        "echo_ops_per_s": row["ops_per_s"],
        "echo_p50_ms": row["p50_ms"],
    }


def parts(n: int, modes: list[str], crowds: list[int]) -> list[tuple[list[str], list[int]]]:
    """Which rows share a collection: a small one would soon not be small, so each row has its own.

    What is filled slowly serves all rows; `active_after` tells how much it has grown.
    """
    if n > FRESH_MAX:
        return [(modes, crowds)]
    return [([mode], [crowd]) for mode in modes for crowd in crowds]


def run(options: argparse.Namespace) -> None:
    """All rows."""
    texts = material.read_texts(options.texts) if options.texts else []
    source = options.texts.name if options.texts else "synthetic"
    vector_modes = [mode for mode in options.modes if mode != "text"]
    rows = len(options.clients) * (len(vector_modes) * len(options.stored) + 2)
    # Each row has texts of its own: what an earlier row saved would only be refused.
    share = min(OPERATIONS_MAX, len(texts) // rows)
    turn = 0
    with (
        common.Report("guard", options.seed, options.out) as report,
        tempfile.TemporaryDirectory(prefix="totonoe-bench-") as directory,
    ):
        echoes: dict[tuple[str, int], dict[str, Any]] = {}

        def measure(
            daemon: Daemon,
            collection: str,
            n: int,
            modes: list[str],
            crowds: list[int],
            near_duplicates: bool = False,
        ) -> None:
            nonlocal turn
            for mode in modes:
                for clients in crowds:
                    turn += 1
                    own = texts[(turn - 1) * share : turn * share]
                    work = Work(options.seed, clients, mode, options.limit_s, own, near_duplicates)
                    figures = measure_daemon(daemon, work, collection, turn)
                    # The echo does not know how much is stored: once for each payload will do.
                    if (mode, clients) not in echoes:
                        echoes[mode, clients] = measure_echo(work, options.limit_s / 2)
                    figures |= echoes[mode, clients]
                    ratio = figures["server_cpu_ms_per_op"] / figures["echo_cpu_ms_per_op"]
                    report.add(
                        n=n,
                        clients=clients,
                        mode=mode,
                        store="near_duplicates" if near_duplicates else "distinct",
                        items_per_message=work.items_per_message,
                        dimension=0 if mode == "text" else DIMENSION,
                        texts=source,
                        echo_ratio=ratio,
                        **figures,
                    )

        if vector_modes:
            with Daemon(Path(directory) / "vectors") as daemon:
                for n in options.stored:
                    for number, part in enumerate(parts(n, vector_modes, options.clients)):
                        name = f"stored-{n}-{number}"
                        with daemon.client(name) as client:
                            client.create_collection(name, client_vector_dimension=DIMENSION)
                            store(client, options.seed, 0, n, DIMENSION)
                            measure(daemon, name, n, *part)
                            client.delete_collection(name)
                n = max(options.stored)
                if options.near_duplicates and "unary" in vector_modes:
                    with daemon.client("copies") as client:
                        client.create_collection("copies", client_vector_dimension=DIMENSION)
                        store(client, options.seed, 0, n, DIMENSION, near_duplicates=True)
                    measure(daemon, "copies", n, ["unary"], options.clients, near_duplicates=True)
        if "text" in options.modes:
            n = min(options.stored)
            with Daemon(Path(directory) / "texts", embedder=options.embedder) as daemon:
                with daemon.client() as client:
                    client.create_collection("texts")
                with daemon.client("texts") as client:
                    store(client, options.seed, 0, n, 0)
                measure(daemon, "texts", n, ["text"], options.clients)


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--stored", type=common.numbers, default=[1_000, 10_000])
    parser.add_argument("--clients", type=common.numbers, default=[1, 8, 64])
    parser.add_argument(
        "--modes", type=lambda text: text.split(","), default="unary,multiplex,stream,text"
    )
    parser.add_argument(
        "--near-duplicates",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="rows for a store full of forced copies, of the largest size",
    )
    parser.add_argument("--limit-s", type=float, default=5.0, help="time for each row")
    parser.add_argument("--embedder", default="use", help="of the mode text")
    parser.add_argument(
        "--texts", type=Path, help="what to remember, a text a line; not stored before"
    )
    run(parser.parse_args())


if __name__ == "__main__":
    main()
