"""Consolidate on a filled collection, beside other ways to find near pairs.

    python -m bench.consolidate [--stored 10000,100000] [--dimension 384] [--limit-s 60]

The engine runs in this process, without its graph, on files that are written without going through
the guard. A `find` row is one Consolidate from the call to the last message (`totonoe`: all pairs
below a cosine distance of 0.10; `totonoe, 24 h`: those with a side created within the day, of 30;
`totonoe, since`: those with one of the last 100), numpy multiplying all vectors in blocks, or
semhash, which is approximate and drops rows in place of finding pairs; `totonoe, eight agents` ask
at once, all the same or each something else. A `writers` row is `agents`
threads that remember for `--limit-s`/6 at most, each of them one after the other, `beside` nothing
or as many that consolidate, one run after the other. They ask the same, and share what the writers
left as it was.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench import common, material
from totonoe_core.domain.consolidate import Consolidated, ConsolidateQuery, MergeCandidate
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.records import Fields, Memory, Status
from totonoe_core.engine.embedded import EmbeddedEngine
from totonoe_core.index.hnsw import Graph
from totonoe_core.kernels.warmup import warm_up
from totonoe_core.store.records import Touched
from totonoe_core.store.sqlite.collection_file import CollectionFile
from totonoe_core.store.sqlite.store import SqliteStore
from totonoe_core.text.normalize import refusing_hash

DISTANCE = 0.10
DAYS = 30
CHANGED = 100
DOUBLE_SHARE = 0.02
SEMHASH_ROWS_MAX = 20_000
WRITES_MAX = 2000
AGENTS = 10
TOGETHER = 8
BLOCK = 1024
WAIT_S = 600.0

Row = dict[str, Any]


def write(path: Path, texts: list[str], vectors: material.Vectors, now_us: int) -> None:
    """Makes a data directory whose default collection holds the texts.

    The last `CHANGED` of them belong to a second revision.
    """
    engine = EmbeddedEngine(
        SqliteStore(path), embedding=None, client_vector_dimension=vectors.shape[1]
    )
    engine.get_collection("default").result(WAIT_S)
    engine.close(WAIT_S)
    file = CollectionFile(next(path.glob("collections/*/memory.db")))
    step_us = DAYS * 24 * 3_600_000_000 // len(texts)
    with file.transaction():
        for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
            created_us = now_us - step_us * (len(texts) - number)
            memory = Memory(
                row=number + 1,
                id=f"mem_{number + 1:016x}",
                content=text,
                content_hash=refusing_hash(text),
                vector=vector.tobytes(),
                agent_id="bench",
                fields=Fields(),
                created_us=created_us,
                updated_us=created_us,
                status=Status.ACTIVE,
                superseded_by="",
                revision=1 + (number >= len(texts) - CHANGED),
            )
            file.put_memory(memory, None)
        for revision in (1, 2):
            operation = f"op_{revision}"
            file.put_operation(revision, operation, "bench", "Remember", "", Touched([1]), now_us)
    file.close()


def consolidate(engine: EmbeddedEngine, agent: str = "bench", **asked: Any) -> Row:
    """One Consolidate, read to its end."""
    query = ConsolidateQuery(agent, distance_below=DISTANCE, max_replay_events=0, **asked)
    wall_begin_s, cpu_begin_s = time.perf_counter(), time.process_time()
    first_s = first_cpu_s = None
    done: Any = None
    run = engine.consolidate("default", "", query).result(WAIT_S)
    while messages := run.read().result(WAIT_S):
        for message in messages:
            if first_s is None and isinstance(message.told, MergeCandidate):
                first_s = time.perf_counter() - wall_begin_s
                first_cpu_s = time.process_time() - cpu_begin_s
            done = message.told
    run.leave()
    assert isinstance(done, Consolidated)
    return {
        "found": done.pair_count,
        "first_ms": None if first_s is None else first_s * 1e3,
        "first_cpu_ms": None if first_cpu_s is None else first_cpu_s * 1e3,
        "wall_s": time.perf_counter() - wall_begin_s,
        "cpu_s": time.process_time() - cpu_begin_s,
    }


def find_rows(engine: EmbeddedEngine, vectors: material.Vectors) -> Iterator[Row]:
    """Ours in three ways, and the others."""
    # Readings and caches, once. No two rows ask the same, or the later one would find it made.
    consolidate(engine, window_hours=0.0, since_revision=1, max_merge_candidates=4)
    yield {"method": "totonoe", **consolidate(engine, window_hours=0.0)}
    yield {"method": "totonoe, 24 h", **consolidate(engine, window_hours=24.0)}
    since = consolidate(engine, window_hours=0.0, since_revision=1)
    yield {"method": "totonoe, since", **since}
    # Runs that were left keep their places until others need them.
    for kept, named in (
        ([6] * TOGETHER, "one question"),
        (range(7, 7 + TOGETHER), "a question each"),
    ):
        together = _timed(lambda kept=kept: _together(engine, kept))  # type: ignore[misc]
        yield {"method": f"totonoe, eight agents, {named}", **together}
    yield {"method": "numpy", **_timed(lambda: _numpy(vectors))}
    if len(vectors) <= SEMHASH_ROWS_MAX:
        yield from _semhash(vectors)


def _together(engine: EmbeddedEngine, kept: Sequence[int]) -> int:
    """Pairs found by agents that ask at once for so many candidates each."""
    with ThreadPoolExecutor(len(kept)) as pool:
        asked = [
            pool.submit(
                consolidate, engine, f"agent {at}", window_hours=0.0, max_merge_candidates=most
            )
            for at, most in enumerate(kept)
        ]
        return sum(int(future.result()["found"]) for future in asked)


def _numpy(vectors: material.Vectors) -> int:
    found = 0
    least = np.float32(1.0 - DISTANCE)
    for begin in range(0, len(vectors), BLOCK):
        rows, columns = np.nonzero(vectors[begin : begin + BLOCK] @ vectors[begin:].T > least)
        found += int(np.count_nonzero(columns > rows))
    return found


def _semhash(vectors: material.Vectors) -> Iterator[Row]:
    try:
        semhash: Any = import_module("semhash").SemHash
    except ImportError:
        return
    names = [str(place) for place in range(len(vectors))]

    def dropped() -> int:
        made = semhash.from_embeddings(vectors, names, model=None)
        return len(made.self_deduplicate(1.0 - DISTANCE).filtered)

    yield {"method": "semhash", "note": "approximate; found: rows dropped", **_timed(dropped)}


def _timed(work: Callable[[], int]) -> Row:
    wall_begin_s, cpu_begin_s = time.perf_counter(), time.process_time()
    found = work()
    return {
        "found": found,
        "wall_s": time.perf_counter() - wall_begin_s,
        "cpu_s": time.process_time() - cpu_begin_s,
    }


def writer_rows(
    engine: EmbeddedEngine, generator: np.random.Generator, space: material.Space, limit_s: float
) -> Iterator[Row]:
    """Latencies of Remembers alone, beside Consolidates, and alone again; by one agent, and ten."""
    turn = 0
    for agents in (1, AGENTS):
        for beside in ("nothing", "consolidate", "nothing again"):
            texts = material.texts(generator, WRITES_MAX, first=10_000_000 + turn * WRITES_MAX)
            written = list(zip(texts, space.draw(generator, WRITES_MAX), strict=True))
            turn += 1
            stop = threading.Event()
            with ThreadPoolExecutor(2 * agents) as pool:
                looking = [
                    pool.submit(_consolidate_on, engine, f"agent {number}", stop)
                    for number in range(agents if beside == "consolidate" else 0)
                ]
                writing = [
                    pool.submit(_remember, engine, written[number::agents], limit_s)
                    for number in range(agents)
                ]
                latencies_s = [value for part in writing for value in part.result()]
                stop.set()
                runs = sum(future.result() for future in looking)
            yield {
                "method": "totonoe",
                "agents": agents,
                "beside": beside,
                "ops": len(latencies_s),
                "runs": runs,
                **common.percentiles_ms(latencies_s),
            }


def _consolidate_on(engine: EmbeddedEngine, agent: str, stop: threading.Event) -> int:
    """How many Consolidates an agent read to their end."""
    runs = 0
    while not stop.is_set():
        consolidate(engine, agent, window_hours=0.0)
        runs += 1
    return runs


def _remember(
    engine: EmbeddedEngine, written: Sequence[tuple[str, np.ndarray]], limit_s: float
) -> list[float]:
    """Seconds of each Remember of one agent."""
    latencies_s = []
    end_s = time.perf_counter() + limit_s
    for text, vector in written:
        begin_s = time.perf_counter()
        command = Remember("bench", text, Fields(), vector.tobytes())
        engine.apply("default", "", (command,)).result(WAIT_S)
        latencies_s.append(time.perf_counter() - begin_s)
        if time.perf_counter() > end_s:
            break
    return latencies_s


def main() -> None:
    """Fills, runs, writes the rows."""
    parser = common.parser(__doc__)
    parser.add_argument("--stored", type=common.numbers, default=[10_000, 100_000])
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--limit-s", type=float, default=60.0, help="for the writers of one size")
    arguments: argparse.Namespace = parser.parse_args()
    # As the daemon does; others get the same.
    threadpool_limits(limits=1)
    warm_up()
    # Built in the background, it would be CPU of these rows. Writers look without it.
    Graph.due = lambda _: False  # type: ignore[method-assign]
    with common.Report("consolidate", arguments.seed, arguments.out) as report:
        for stored in arguments.stored:
            generator = np.random.default_rng(arguments.seed)
            space = material.Space(arguments.seed, arguments.dimension)
            sentences = material.texts(generator, stored)
            items = list(material.items(generator, sentences, space, DOUBLE_SHARE))
            vectors = np.stack([np.frombuffer(item.vector, np.float32) for item in items])
            said = {"n": stored, "dimension": arguments.dimension, "texts": "synthetic"}
            with tempfile.TemporaryDirectory(prefix="totonoe-bench-") as folder:
                path = Path(folder)
                write(path, [item.text for item in items], vectors, time.time_ns() // 1000)
                engine = EmbeddedEngine(SqliteStore(path), embedding=None)
                try:
                    engine.get_collection("default").result(WAIT_S)
                    for row in find_rows(engine, vectors):
                        report.add(part="find", **said, distance=DISTANCE, **row)
                    for row in writer_rows(engine, generator, space, arguments.limit_s / 6):
                        report.add(part="writers", **said, distance=DISTANCE, **row)
                finally:
                    engine.close(WAIT_S)


if __name__ == "__main__":
    main()
