"""What texts that are dear to read cost, and what they cost the other callers.

    python -m bench.hard [--sizes 2000,32000] [--families N] [--limit-s 10]

`read`: CPU of a Remember against 16 similar memories of its family, caches empty; `ratio`, that to
an ordinary text of the same length. `beside`: p99 of ordinary Remembers alone, and while one stream
of RememberMany brings the dearest texts as fast as it is answered; `ratio` is that of both.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import tempfile
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np

import totonoe
from bench import common, hard_texts, material
from bench.processes import Daemon
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.records import Fields
from totonoe_core.engine.embedded import EmbeddedEngine
from totonoe_core.engine.state.caches import forget_cached
from totonoe_core.store.sqlite.store import SqliteStore

DIMENSION = 8
SIMILAR = 16
WAIT_S = 60.0
ORDINARY = "ordinary"
Vector = Any


def _near(base: Vector, seed: int) -> Vector:
    noise = np.random.default_rng(seed).normal(scale=0.05, size=DIMENSION)
    found = base + noise
    return (found / np.linalg.norm(found)).astype(np.float32)


def _text(family: str, seed: int, size_bytes: int) -> str:
    if family != ORDINARY:
        return hard_texts.text(family, seed, size_bytes)
    sentences = material.texts(np.random.default_rng(seed), size_bytes // 20, seed * 10_000)
    return " ".join(f"{sentence}." for sentence in sentences)[:size_bytes]


def read(family: str, size_bytes: int) -> dict[str, Any]:
    """CPU of one Remember against similar memories, and what its cosine layer did not read."""
    base = np.ones(DIMENSION) / np.sqrt(DIMENSION)

    def remember(seed: int, text: str, force: bool) -> Any:
        vector = _near(base, seed).tobytes()
        command = Remember("bench", text, Fields(), vector, force)
        future: Future[Any] = engine.apply("default", "", [command])
        return future.result(WAIT_S).results[0]

    with tempfile.TemporaryDirectory(prefix="totonoe-bench-") as folder:
        engine = EmbeddedEngine(
            SqliteStore(Path(folder)), embedding=None, client_vector_dimension=DIMENSION
        )
        try:
            for seed in range(SIMILAR):
                remember(seed, _text(family, seed, size_bytes), True)
            remember(98, _text(family, 98, min(200, size_bytes)), False)  # loads word lists
            forget_cached()
            begun_s = time.process_time()
            answer = remember(99, _text(family, 99, size_bytes), False)
            cpu_ms = (time.process_time() - begun_s) * 1e3
        finally:
            engine.close(WAIT_S)
    unread_count = sum(layer.unread_count for layer in answer.guard.layers)
    return {"cpu_ms": cpu_ms, "unread_count": unread_count, "saved": answer.saved}


def push(address: str, family: str, size_bytes: int, until_s: float) -> None:
    """Brings texts of a family on one stream until a time, as fast as they are answered."""
    base = np.ones(DIMENSION) / np.sqrt(DIMENSION)

    def drafts() -> Any:
        for seed in itertools.count():
            if time.time() > until_s:
                return
            text = _text(family, seed, size_bytes)
            yield totonoe.Draft(text, vector=_near(base, seed).tolist(), force=False)

    with totonoe.Client(address, agent_id="push", timeout_s=WAIT_S) as client:
        for _ in client.remember_many(drafts()):
            pass


def latencies(client: totonoe.Client, first: int, limit_s: float) -> list[float]:
    """Seconds of ordinary Remembers, one after the other."""
    found: list[float] = []
    end_s = time.perf_counter() + limit_s
    sentences = material.texts(np.random.default_rng(first), 2000, first)
    for number, sentence in enumerate(sentences):
        begun_s = time.perf_counter()
        client.remember(sentence, vector=_far(first + number))
        found.append(time.perf_counter() - begun_s)
        if time.perf_counter() > end_s:
            break
    return found


def _far(seed: int) -> list[float]:
    found: list[float] = np.random.default_rng(seed).normal(size=DIMENSION).tolist()
    return found


def beside(report: common.Report, family: str, size_bytes: int, limit_s: float) -> None:
    """The rows of other callers, alone and beside a stream of a family."""
    with (
        tempfile.TemporaryDirectory(prefix="totonoe-bench-") as folder,
        Daemon(Path(folder) / "data") as daemon,
        daemon.client() as client,
    ):
        client.remember("first", vector=_far(0))
        alone = common.percentiles_ms(latencies(client, 1, limit_s))
        until_s = time.time() + limit_s + 2.0
        pusher = multiprocessing.get_context("spawn").Process(
            target=push, args=(daemon.address, family, size_bytes, until_s)
        )
        pusher.start()
        time.sleep(2.0)  # its interpreter starts meanwhile
        shared = common.percentiles_ms(latencies(client, 1_000_000, limit_s))
        pusher.join(WAIT_S)
    said = {"part": "beside", "family": family, "bytes": size_bytes, "texts": "synthetic"}
    report.add(callers="alone", **said, **alone, ratio=1.0)
    report.add(callers="beside", **said, **shared, ratio=shared["p99_ms"] / alone["p99_ms"])


def run(options: argparse.Namespace) -> None:
    """Rows of each family and size, then of other callers beside the dearest."""
    families = list(hard_texts.FAMILIES)[: options.families]
    with common.Report("hard", options.seed, options.out) as report:
        dearest: dict[int, tuple[float, str]] = {}
        for size_bytes in options.sizes:
            read(ORDINARY, 200)
            ordinary_ms = read(ORDINARY, size_bytes)["cpu_ms"]
            for family in (ORDINARY, *families):
                row = read(family, size_bytes)
                said = {"part": "read", "family": family, "bytes": size_bytes, "texts": "synthetic"}
                report.add(**said, **row, ratio=row["cpu_ms"] / ordinary_ms)
                best = dearest.get(size_bytes, (0.0, ""))
                if family != ORDINARY:
                    dearest[size_bytes] = max(best, (row["cpu_ms"], family))
        beside(report, dearest[options.sizes[0]][1], options.sizes[0], options.limit_s)


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--sizes", type=common.numbers, default=[2000, 32_000])
    parser.add_argument("--families", type=int, default=len(hard_texts.FAMILIES))
    parser.add_argument("--limit-s", type=float, default=10.0)
    run(parser.parse_args())


if __name__ == "__main__":
    main()
