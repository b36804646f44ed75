"""Measure what the past costs: Forget and its Undo, Merge, Purge, pages, reads of the past, Watch.

    python -m bench.history [--stored 10000] [--items 1000] [--watchers 1,100] [--repeats 5]

One collection with ready-made vectors, one caller, one call at a time. Every answer is checked:
what does not do its work is an error and no row. `items` are the memories of one call, or the
watchers of a write. Server CPU is that of the daemon's own process by `Stats`.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import grpc
import grpc.aio
import numpy as np

from bench import common, material
from bench.filling import DIMENSION, store
from bench.processes import BenchError, Daemon
from totonoe.call.channel import channel_options
from totonoe.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    graph_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    operations_pb2,
    types_pb2,
)

T = TypeVar("T")

COLLECTION = "history"
NAMED: dict[str, Any] = {"collection": COLLECTION, "agent_id": "bench"}
PAGE = 100
MERGED = 3
WRITES = 100
WAIT_S = 60.0


class Bench:
    """A daemon, its stubs, and the report that rows go to."""

    def __init__(self, daemon: Daemon, channel: grpc.Channel, report: common.Report) -> None:
        self.daemon = daemon
        self.memory: Any = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self.admin: Any = admin_service_pb2_grpc.AdminServiceStub(channel)
        self._report = report
        self.n = 0

    def cpu_s(self) -> float:
        """CPU seconds of the daemon so far."""
        with self.daemon.client() as client:
            return client.stats().cpu_s

    def add(
        self, call: str, items: int, latencies_s: list[float], cpu_s: float, **more: Any
    ) -> None:
        """A row."""
        self._report.add(
            call=call,
            n=self.n,
            items=items,
            ops=len(latencies_s),
            server_cpu_ms_per_op=cpu_s / len(latencies_s) * 1e3,
            **common.percentiles_ms(latencies_s),
            texts="synthetic",
            **more,
        )

    def measure(
        self, call: str, items: int, repeats: int, work: Callable[[int], T], **more: Any
    ) -> list[T]:
        """Does `work(0), work(1), ...`, adds their row, returns their answers."""
        latencies_s, answers = [], []
        before_s = self.cpu_s()
        for number in range(repeats):
            begin_s = time.perf_counter()
            answers.append(work(number))
            latencies_s.append(time.perf_counter() - begin_s)
        self.add(call, items, latencies_s, self.cpu_s() - before_s, **more)
        return answers


def expect(holds: bool, what: str) -> None:
    """Raises `BenchError`: a call that does nothing is no figure."""
    if not holds:
        raise BenchError(what)


def fill(bench: Bench, seed: int, stored: int) -> list[str]:
    """A collection of so many memories; their ids, oldest first."""
    with bench.daemon.client(COLLECTION) as client:
        client.create_collection(COLLECTION, client_vector_dimension=DIMENSION)
        store(client, seed, stored, DIMENSION)
        ids = [memory.id for memory in client.list_all()]
    bench.daemon.idle()
    bench.n = len(ids)
    return ids


def taken_back(bench: Bench, ids: list[str], repeats: int) -> None:
    """Forget of many, and its Undo."""
    revisions: list[int] = []
    for number in range(repeats):
        request = memory_service_pb2.ForgetRequest(ids=ids, **NAMED)
        (forgotten,) = bench.measure(
            "Forget", len(ids), 1, lambda _, r=request: bench.memory.Forget(r), repeat=number
        )
        expect(len(forgotten.forgotten) == len(ids), "not all were forgotten")
        revisions.append(forgotten.revision)
        undo = operations_pb2.UndoRequest(target_revision=revisions[-1], **NAMED)
        (undone,) = bench.measure(
            "Undo of it", len(ids), 1, lambda _, r=undo: bench.memory.Undo(r), repeat=number
        )
        expect(undone.undone, "not undone")


def merges(bench: Bench, ids: list[str], repeats: int) -> None:
    """Merges of a few memories each, and the Undo of each."""
    groups = [ids[at : at + MERGED] for at in range(0, repeats * MERGED, MERGED)]
    made = bench.measure(
        "Merge",
        MERGED,
        len(groups),
        lambda number: bench.memory.Merge(
            graph_pb2.MergeRequest(
                keep_id=groups[number][0], remove_ids=groups[number][1:], **NAMED
            )
        ),
    )
    expect(all(item.merged for item in made), "not merged")
    undone = bench.measure(
        "Undo of a Merge",
        MERGED,
        len(made),
        lambda number: bench.memory.Undo(
            operations_pb2.UndoRequest(
                # The newest first: a link between two groups is the later one's.
                target_revision=made[-1 - number].revision,
                force=True,
                **NAMED,
            )
        ),
    )
    expect(all(item.undone for item in undone), "not undone")


def reads(bench: Bench, ids: list[str], seed: int, repeats: int) -> None:
    """Pages, neighbours, and reads of half of the past beside those of today."""
    middle = bench.memory.List(memory_service_pb2.ListRequest(page_size=1, **NAMED)).revision // 2
    generator = np.random.default_rng(seed)
    queries = material.Space(seed, DIMENSION).draw(generator, repeats)
    chosen = [ids[at] for at in generator.integers(len(ids) // 2, size=repeats)]

    def page(number: int) -> Any:
        del number
        return bench.memory.ListOperations(
            operations_pb2.ListOperationsRequest(page_size=PAGE, **NAMED)
        )

    expect(len(bench.measure("ListOperations", PAGE, repeats, page)[0].operations) > 0, "no page")
    bench.measure(
        "History",
        1,
        repeats,
        lambda number: bench.memory.History(
            operations_pb2.HistoryRequest(memory_id=chosen[number], **NAMED)
        ),
    )
    bench.measure(
        "Neighbors",
        1,
        repeats,
        lambda number: bench.memory.Neighbors(
            graph_pb2.NeighborsRequest(ids=[chosen[number]], depth=2, **NAMED)
        ),
    )
    for when, as_of in (("now", None), ("as of", types_pb2.AsOf(revision=middle))):
        bench.measure(
            f"Get {when}",
            1,
            repeats,
            lambda number, as_of=as_of: bench.memory.Get(
                memory_service_pb2.GetRequest(ids=[chosen[number]], as_of=as_of, **NAMED)
            ),
        )
        bench.measure(
            f"List {when}",
            PAGE,
            repeats,
            lambda _, as_of=as_of: bench.memory.List(
                memory_service_pb2.ListRequest(page_size=PAGE, as_of=as_of, **NAMED)
            ),
        )

        def recall(number: int, as_of: Any = as_of) -> Any:
            return bench.memory.Recall(
                memory_service_pb2.RecallRequest(
                    vector=queries[number].tobytes(), no_touch=True, as_of=as_of, **NAMED
                )
            )

        if as_of is not None:
            # The first one makes an index of that moment.
            bench.measure(f"Recall {when}, first", 1, 1, recall)
        bench.measure(f"Recall {when}", 1, repeats, recall)


def watch(bench: Bench, seed: int, watchers: int) -> None:
    """Writes, one after the other, while so many watch; and the same where nobody does."""
    generator = np.random.default_rng([seed, watchers])
    space = material.Space(seed, DIMENSION)
    sentences = material.texts(generator, WRITES, 10_000_000 * (1 + watchers))
    requests = []
    for item in material.items(generator, sentences, space, 0.0):
        request = memory_service_pb2.RememberRequest(force=True, **NAMED)
        request.memory.content, request.memory.vector = item.text, item.vector
        requests.append(request)

    async def follow(stub: Any, begun: asyncio.Semaphore, last: asyncio.Future[int]) -> None:
        call = stub.Watch(operations_pb2.WatchRequest(**NAMED))
        async for message in call:
            if message.HasField("heartbeat"):
                begun.release()
            if last.done() and message.revision >= last.result():
                break
        call.cancel()

    async def run() -> tuple[list[float], float]:
        async with grpc.aio.insecure_channel(
            bench.daemon.address, options=channel_options()
        ) as channel:
            stub: Any = memory_service_pb2_grpc.MemoryServiceStub(channel)
            begun = asyncio.Semaphore(0)
            last: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            following = [asyncio.ensure_future(follow(stub, begun, last)) for _ in range(watchers)]
            for _ in following:
                await begun.acquire()
            before_s = await asyncio.to_thread(bench.cpu_s)
            latencies_s = []
            for request in requests[:-1]:
                begin_s = time.perf_counter()
                await stub.Remember(request)
                latencies_s.append(time.perf_counter() - begin_s)
            # Told before it happens, so that nobody waits for one more.
            info = await stub.List(memory_service_pb2.ListRequest(page_size=1, **NAMED))
            last.set_result(info.revision + 1)
            begin_s = time.perf_counter()
            await stub.Remember(requests[-1])
            latencies_s.append(time.perf_counter() - begin_s)
            await asyncio.wait_for(asyncio.gather(*following), WAIT_S)
            return latencies_s, await asyncio.to_thread(bench.cpu_s) - before_s

    latencies_s, cpu_s = asyncio.run(run())
    bench.add("Remember, watched", watchers, latencies_s, cpu_s)


def purges(bench: Bench, ids: list[str], repeats: int) -> None:
    """Purges of one and of many: each looks at every kept answer once, and cleans the file."""

    def purge(chosen: list[str]) -> Any:
        return bench.admin.Purge(admin_service_pb2.PurgeRequest(ids=chosen, **NAMED))

    answers = bench.measure("Purge", 1, repeats, lambda number: purge([ids[number]]))
    rest = ids[repeats:]
    answers += bench.measure("Purge", len(rest), 1, lambda _: purge(rest))
    expect(sum(len(answer.purged_ids) for answer in answers) == len(ids), "not all were purged")


def run(options: argparse.Namespace) -> None:
    """All rows."""
    with (
        common.Report("history", options.seed, options.out) as report,
        tempfile.TemporaryDirectory(prefix="totonoe-bench-") as directory,
        Daemon(Path(directory) / "data") as daemon,
        grpc.insecure_channel(daemon.address, options=channel_options()) as channel,
    ):
        bench = Bench(daemon, channel, report)
        ids = fill(bench, options.seed, options.stored)
        many = ids[: min(options.items, len(ids) // 2)]
        taken_back(bench, many, 2)
        merges(bench, ids[len(ids) // 2 :], min(options.repeats, len(ids) // 2 // MERGED))
        reads(bench, ids, options.seed, options.repeats)
        for watchers in (0, *options.watchers):
            watch(bench, options.seed, watchers)
        purges(bench, many, min(options.repeats, len(many) - 1))


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--stored", type=int, default=10_000)
    parser.add_argument("--items", type=int, default=1_000, help="of a Forget and its Undo")
    parser.add_argument("--watchers", type=common.numbers, default=[1, 100])
    parser.add_argument("--repeats", type=int, default=50, help="of each other call")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
