"""The same job on other stores: remember what is new, refuse what lies near something stored.

    python -m bench.peers [--stored 10000] [--items 2000] [--peers totonoe,pgvector,chroma,...]

Each store is filled first. Then threads of this process hand in items of which some restate earlier
ones, then sixteen hand in one and the same at once. `duplicates_let_in` counts, over both, what
was saved although its like was there: right is 0. A peer whose package is not installed gives a row
that says so; the extra `bench` brings them. The stores do different amounts of work for it: each
row's `note` says which.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import common, material
from bench.material import Item
from bench.peer_postgres import Postgres
from bench.peer_stores import (
    Chroma,
    HnswMutex,
    Job,
    MissingPackageError,
    QdrantEdge,
    Store,
    Totonoe,
)

STORES: dict[str, type[Store]] = {
    "totonoe": Totonoe,
    "pgvector": Postgres,
    "chroma": Chroma,
    "qdrant-edge": QdrantEdge,
    "hnswlib": HnswMutex,
}
DIMENSION = 384
DOUBLE_SHARE = 0.2
RACERS = 16
CALLERS = 8


class Tally:
    """Counts of what became of the items, by what they say."""

    def __init__(self) -> None:
        self.latencies_s: list[float] = []
        self.saved: Counter[int] = Counter()
        self.groups: set[int] = set()
        self.failed: Counter[str] = Counter()
        self._lock = threading.Lock()

    def hand_in(self, store: Store, item: Item) -> None:
        """One call, timed. A failure counts by its type and saves nothing."""
        begin_s = time.perf_counter()
        try:
            saved = store.remember(item)
        except Exception as error:
            # Each peer has errors of its own, and one of them must not end the others' run.
            with self._lock:
                self.failed[type(error).__name__] += 1
            return
        with self._lock:
            self.latencies_s.append(time.perf_counter() - begin_s)
            self.groups.add(item.group)
            self.saved[item.group] += saved

    @property
    def let_in(self) -> int:
        """How many were saved beyond the first of their like."""
        return sum(count - 1 for count in self.saved.values() if count > 1)

    @property
    def lost(self) -> int:
        """How many things were said and never saved."""
        return sum(not self.saved[group] for group in self.groups)


def together(work: Sequence[Any]) -> float:
    """Runs callables in threads that begin at once; seconds until the last has ended."""
    gate = threading.Barrier(len(work) + 1)

    def begin(one: Any) -> None:
        gate.wait()
        one()

    threads = [threading.Thread(target=begin, args=(item,)) for item in work]
    for thread in threads:
        thread.start()
    gate.wait()
    begin_s = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin_s


def measure(store: Store, items: Sequence[Item], raced: Item, limit_s: float) -> dict[str, Any]:
    """The job on one store."""
    tally, race = Tally(), Tally()
    waiting = iter(items)
    lock = threading.Lock()
    end_s = time.perf_counter() + limit_s

    def caller() -> None:
        while time.perf_counter() < end_s:
            with lock:
                item = next(waiting, None)
            if item is None:
                return
            tally.hand_in(store, item)

    cpu_before_s = store.cpu_s()
    wall_s = together([caller] * CALLERS)
    cpu_after_s = store.cpu_s()
    together([lambda: race.hand_in(store, raced)] * RACERS)
    done = len(tally.latencies_s)
    cpu_ms = None
    if cpu_before_s is not None and cpu_after_s is not None and done:
        cpu_ms = (cpu_after_s - cpu_before_s) / done * 1e3
    return {
        "ops": done,
        "saved": sum(tally.saved.values()),
        "ops_per_s": done / wall_s,
        "cpu_ms_per_op": cpu_ms,
        **common.percentiles_ms(tally.latencies_s),
        "duplicates_let_in": tally.let_in + race.let_in,
        "race_saved": sum(race.saved.values()),
        "new_refused": tally.lost,
        "errors": tally.failed + race.failed,
    }


def run(options: argparse.Namespace) -> None:
    """A row for each peer, one after the other on the same items."""
    generator = np.random.default_rng(options.seed)
    space = material.Space(options.seed, DIMENSION)
    sentences = material.texts(generator, options.stored)
    stored = list(material.items(generator, sentences, space, 0.0))
    sentences = material.texts(generator, options.items, options.stored)
    items = list(material.items(generator, sentences, space, DOUBLE_SHARE))
    vector = space.draw(generator, 1)[0].tobytes()
    raced = Item(options.items, "Sixteen say this at the same moment.", vector)
    said = {
        "n": options.stored,
        "items": options.items,
        "clients": CALLERS,
        "racers": RACERS,
        "texts": "synthetic",
    }
    with common.Report("peers", options.seed, options.out) as report:
        for peer in options.peers:
            kind = STORES[peer]
            version = common.versions([kind.package]).get(kind.package, "")
            head = said | {"peer": peer, "version": version, "note": kind.note}
            with tempfile.TemporaryDirectory(prefix="totonoe-bench-") as directory:
                try:
                    count_max = options.stored + options.items + RACERS
                    store = kind(Job(Path(directory), DIMENSION, count_max))
                except MissingPackageError as missing:
                    report.add(**head, skipped=str(missing), duplicates_let_in=None)
                    continue
                try:
                    begin_s = time.perf_counter()
                    store.fill(stored)
                    fill_s = time.perf_counter() - begin_s
                    row = measure(store, items, raced, options.limit_s)
                finally:
                    store.close()
            head["version"] = store.version or version
            report.add(**head, cpu_of=kind.cpu_of, fill_s=fill_s, **row)


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--stored", type=int, default=10_000, help="items there before")
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--limit-s", type=float, default=90.0, help="time for each peer")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=list(STORES))
    run(parser.parse_args())


if __name__ == "__main__":
    main()
