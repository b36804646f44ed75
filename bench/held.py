"""A quiet agent beside agents that read long answers: how long its calls wait.

    python -m bench.held [--rows 500] [--agents 8] [--limit-s 8]

One collection has memories with 900 attributes each. Some agents read all of them by one call,
again and again, each on a connection of its own, and throw the bytes away. Meanwhile another agent
gets one memory of another collection, ten times a second at most.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import grpc
from google.protobuf.message import Message

from bench import common
from bench.processes import Daemon
from totonoe import Client, Draft
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import types_pb2

PAUSE_S = 0.1
ATTRIBUTES = {f"k{number}": float(number) for number in range(900)}
LONG = "long"

MEMORIES = "/totonoe.v1.MemoryService/"


def requests(ids: list[str], rows: int) -> dict[str, Message]:
    """The call of the readers by its name."""
    only = types_pb2.Filter(categories=["file"])
    asked = {"collection": LONG, "agent_id": "bench"}
    return {
        "List": pb.ListRequest(page_size=rows, **asked),
        "Get": pb.GetRequest(ids=ids, **asked),
        "Recall": pb.RecallRequest(text="note", k=rows, filter=only, **asked),
    }


class Readers:
    """Threads that call again and again, each on a connection of its own, until they are closed."""

    def __init__(self, address: str, name: str, request: Message, count: int) -> None:
        self._ended = threading.Event()
        self.counts = [0] * count
        self._threads = [
            threading.Thread(target=self._read, args=(at, address, name, request))
            for at in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, at: int, address: str, name: str, request: Message) -> None:
        # Else all share one connection, and its turn.
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        with grpc.insecure_channel(address, options) as channel:
            call = channel.unary_unary(MEMORIES + name, type(request).SerializeToString)
            while not self._ended.is_set():
                call(request)
                self.counts[at] += 1

    def close(self) -> None:
        """Ends them when their calls are answered."""
        self._ended.set()
        for thread in self._threads:
            thread.join()


def fill(client: Client, rows: int) -> tuple[str, list[str]]:
    """The id of the quiet agent's memory, and those of the long ones."""
    client.create_collection(LONG)
    drafts = [
        Draft(f"note {number}", attributes=ATTRIBUTES, category="file") for number in range(rows)
    ]
    for _ in client.remember_many(drafts, collection=LONG):
        pass
    ids = [memory.id for memory in client.list_all(collection=LONG)]
    return client.remember("The pump is serviced in May.").memory_id, ids


def waits_s(daemon: Daemon, memory_id: str, limit_s: float) -> list[float]:
    """Seconds of each call of the quiet agent."""
    found = []
    with daemon.client() as client:
        client.get(memory_id)
        until_s = time.perf_counter() + limit_s
        while time.perf_counter() < until_s:
            begin_s = time.perf_counter()
            client.get(memory_id)
            found.append(time.perf_counter() - begin_s)
            time.sleep(PAUSE_S)
    return found


def run(options: argparse.Namespace) -> None:
    """A row for each call and number of agents."""
    with (
        common.Report("held", options.seed, options.out) as report,
        tempfile.TemporaryDirectory(prefix="totonoe-bench-") as directory,
        Daemon(Path(directory) / "data") as daemon,
    ):
        with daemon.client() as client:
            memory_id, ids = fill(client, options.rows)
        daemon.idle()
        for name, request in requests(ids, options.rows).items():
            for agents in (0, 1, options.agents):
                with closing(Readers(daemon.address, name, request, agents)) as readers:
                    taken_s = waits_s(daemon, memory_id, options.limit_s)
                report.add(
                    call=name,
                    agents=agents,
                    rows=options.rows,
                    texts="synthetic",
                    ops=len(taken_s),
                    read_count=sum(readers.counts),
                    **common.percentiles_ms(taken_s),
                    longest_ms=max(taken_s) * 1e3,
                )


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--rows", type=int, default=500, help="long memories")
    parser.add_argument("--agents", type=int, default=8, help="that read them")
    parser.add_argument("--limit-s", type=float, default=8.0, help="of each row")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
