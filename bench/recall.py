"""Recalls over the wire, beside a bare echo of the same requests, and the share of each step.

    python -m bench.recall [--stored 1000,10000,100000] [--clients 1,8]
                           [--modes vector,folded,words,both]

For each number of memories, imported as they are and their graph built, clients in other processes
ask for ten hits as fast as they are answered, one call each at a time: by a vector, by the same
with likely copies folded, by words, by vector and words with folding, as the library asks. Then the
same bytes go to the echo. Server CPU is that of the daemon itself, background work included, by
`Stats`. Last, the same Recalls run in this process, and the thread CPU time of each step is taken:
`steps_us`, without that of the steps within it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench import common, echo
from bench.filling import DIMENSION, drawn, fill, made
from bench.guard import push
from bench.processes import IDLE_LIMIT_S, Daemon, echo_server
from bench.recalling import MODES, K, requests
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.engine.collection import collection as collections
from totonoe_core.engine.embedded import EmbeddedEngine
from totonoe_core.engine.state import reading
from totonoe_core.engine.state.futures import submit
from totonoe_core.index import hnsw, masks
from totonoe_core.rules import validate
from totonoe_core.search import arms, recall
from totonoe_core.store.sqlite.reader import Rows
from totonoe_core.store.sqlite.store import SqliteStore
from totonoe_server.wire import answers

COLLECTION = "recalled"
REPEATS = 300
_STEPS: tuple[tuple[Any, str, str], ...] = (
    (answers, "recall_from_wire", "decode"),
    (validate, "recall", "validate"),
    (collections, "submit", "hand over"),
    (masks, "recalled", "filter"),
    (arms, "by_vector", "vector search"),
    (arms, "by_words", "word search"),
    (recall, "candidates", "fusion"),
    (recall, "spread", "diversity"),
    (recall, "fold", "folding"),
    (Rows, "memories", "contents"),
    (Rows, "links", "links"),
    (reading, "recalled", "answer"),
    (collections.Collection, "_touch", "access figures"),
    (answers, "recalled_to_wire", "encode"),
)
"""What a step does: its function and its name. The rest of the engine's work is "other"."""


def orders(address: str, server: str, seed: int, clients: int, mode: str, limit_s: float) -> Any:
    """One order for each worker process."""
    workers = {1: 1, 8: 2}.get(clients, min(4, clients))
    return [
        {
            "server": server,
            "address": address,
            "collection": COLLECTION,
            "mode": mode,
            "tasks": clients // workers + (worker < clients % workers),
            "limit_s": limit_s,
            "seed": seed,
            "worker": worker,
            "dimension": DIMENSION,
        }
        for worker in range(workers)
    ]


def measure(daemon: Daemon, seed: int, clients: int, mode: str, limit_s: float) -> dict[str, Any]:
    """Figures of one row: the daemon's, then the echo's of the same requests."""
    # A first turn pays for what is made once, as prepared statements.
    push(orders(daemon.address, "totonoe", seed + 1, clients, mode, limit_s / 4), "bench.recalling")
    before = daemon.idle()
    row = push(orders(daemon.address, "totonoe", seed, clients, mode, limit_s), "bench.recalling")
    with daemon.client() as client:
        after = client.stats()
    cpu_ms = (after.cpu_s - before.cpu_s) / row["ops"] * 1e3
    with echo_server() as address:
        before_s = echo.cpu_s(address)
        theirs = push(orders(address, "echo", seed, clients, mode, limit_s / 2), "bench.recalling")
        echo_ms = (echo.cpu_s(address) - before_s) / theirs["ops"] * 1e3
    return row | {
        "server_cpu_ms_per_op": cpu_ms,
        "echo_cpu_ms_per_op": echo_ms,
        "echo_ratio": cpu_ms / echo_ms,
        "echo_p50_ms": theirs["p50_ms"],
        "rss_bytes": after.rss_bytes,
    }


@contextmanager
def stepwise() -> Iterator[dict[str, float]]:
    """Take the thread CPU seconds of each step within the block, on one thread."""
    spent: dict[str, float] = defaultdict(float)
    inner: list[float] = []

    def timed(function: Any, name: str) -> Any:
        def run(*given: Any, **named: Any) -> Any:
            inner.append(0.0)
            begun_s = time.thread_time()
            try:
                return function(*given, **named)
            finally:
                own_s = time.thread_time() - begun_s
                spent[name] += own_s - inner.pop()
                if inner:
                    inner[-1] += own_s

        return run

    def at_once(_: Any, work: Any) -> Future[Any]:
        out: Future[Any] = Future()
        out.set_result(work())
        return out

    with ExitStack() as stack:
        for holder, name, step in _STEPS:
            function = getattr(holder, name)
            if function is submit:
                # Handed over below, and alone: the work must stay on this thread.
                stack.enter_context(patch.object(holder, name, at_once))
                continue
            wrapped = timed(function, step)
            for item in [holder, *sys.modules.values()]:
                if vars(item).get(name) is function:
                    stack.enter_context(patch.object(item, name, wrapped))
        yield spent


def steps(data_dir: Path, seed: int, mode: str, n: int) -> dict[str, Any]:
    """CPU of each step of a Recall, microseconds, on a data directory that no daemon uses."""
    sent = [
        request.SerializeToString() for request in requests(seed, 0, COLLECTION, mode, DIMENSION)
    ]
    sent = sent[:REPEATS]
    engine = EmbeddedEngine(SqliteStore(data_dir), embedding=None)
    try:

        def ask(data: bytes) -> bytes:
            query = answers.recall_from_wire(pb.RecallRequest.FromString(data), DiversityPolicy())
            found = engine.read(COLLECTION, query).result()
            return answers.recalled_to_wire(found, False).SerializeToString()

        first = engine.stats(COLLECTION, "").result().collections[0]
        deadline_s = time.monotonic() + IDLE_LIMIT_S
        while (
            (first.hnsw_count < n >= hnsw.FROM_COUNT or first.recall_low)
            and time.monotonic() < deadline_s
        ):  # fmt: skip
            time.sleep(0.1)
            first = engine.stats(COLLECTION, "").result().collections[0]
        for data in sent[: REPEATS // 10]:
            ask(data)
        with stepwise() as spent:
            begun_s = time.thread_time()
            size = sum(len(ask(data)) for data in sent)
            whole_s = time.thread_time() - begun_s
        spent["other"] = whole_s - sum(spent.values())
        begun_s = time.process_time()
        with ThreadPoolExecutor(1) as pool:
            for _ in sent:
                submit(pool, int).result()
        spent["hand over"] = time.process_time() - begun_s
    finally:
        engine.close(10.0)
    per_call = 1e6 / len(sent)
    return {
        "steps_us": {name: round(spent[name] * per_call, 1) for name in spent},
        "steps_total_us": (whole_s + spent["hand over"]) * per_call,
        "answer_bytes": size // len(sent),
    }


def run(options: argparse.Namespace) -> None:
    """All rows."""
    texts = "synthetic"
    with (
        common.Report("recall", options.seed, options.out) as report,
        tempfile.TemporaryDirectory(prefix="totonoe-bench-") as directory,
    ):
        for n in options.stored:
            folder = Path(directory) / str(n)
            folder.mkdir()
            with Daemon(folder / "data") as daemon:
                filled(daemon, options.seed, n, folder / "export.jsonl")
                for mode in options.modes:
                    for clients in options.clients:
                        row = measure(daemon, options.seed, clients, mode, options.limit_s)
                        said = {"dimension": DIMENSION, "k": K, "texts": texts}
                        report.add(n=n, clients=clients, mode=mode, **said, **row)
            for mode in options.modes:
                row = steps(folder / "data", options.seed, mode, n)
                report.add(n=n, clients=0, mode=mode, dimension=DIMENSION, k=K, texts=texts, **row)


def filled(daemon: Daemon, seed: int, count: int, file: Path) -> None:
    """Import `count` memories as they are, and wait until their graph is built."""
    with daemon.client(COLLECTION) as client:
        client.create_collection(COLLECTION, client_vector_dimension=DIMENSION)
        made(client, drawn(seed, count, DIMENSION), file, vectors=True)
    fill(daemon, COLLECTION, file)
    file.unlink()


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--stored", type=common.numbers, default=[1_000, 10_000, 100_000])
    parser.add_argument("--clients", type=common.numbers, default=[1, 8])
    parser.add_argument("--modes", type=lambda text: text.split(","), default=list(MODES))
    parser.add_argument("--limit-s", type=float, default=5.0, help="time for each row")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
