"""Idle connections beside clients that work: what they cost those, and the daemon.

    python -m bench.idle [--connections 10000] [--clients 16] [--limit-s 20] [--turns 2]

In turns without and with the idle connections, 16 clients read a page every 50 ms. An idle
connection has said hello by HTTP/2, answers each PING and makes no call. Each needs a file of
this process and one of the daemon: `ulimit -n` bounds how many there are, and a line says so.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import selectors
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import common
from bench.filling import store
from bench.processes import BenchError, Daemon
from totonoe_server.life.process import connections_max

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, PING, ACK = 4, 6, 1
FILES_LEFT = 256
"""For the clients of the bench and for Python itself."""
PAUSE_S = 0.05
SETTLE_S = 2.0


def frame(kind: int, payload: bytes = b"", flags: int = 0) -> bytes:
    """A frame of HTTP/2 on stream 0."""
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + bytes(4) + payload


class Idle:
    """Connections that answer what HTTP/2 asks and nothing else. Close them when done."""

    def __init__(self, address: str, count: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._ended = threading.Event()
        self._unread: dict[socket.socket, bytes] = {}
        self.lost = 0
        host, _, port = address.rpartition(":")
        self._answering = threading.Thread(target=self._answer, daemon=True)
        self._answering.start()
        for _ in range(count):
            made = socket.create_connection((host, int(port)), 30.0)
            made.sendall(PREFACE + frame(SETTINGS))
            self._unread[made] = b""
            self._selector.register(made, selectors.EVENT_READ)

    def _answer(self) -> None:
        while not self._ended.is_set():
            if not self._unread:
                time.sleep(PAUSE_S)
                continue
            for key, _ in self._selector.select(0.2):
                assert isinstance(key.fileobj, socket.socket)
                self._read(key.fileobj)

    def _read(self, connection: socket.socket) -> None:
        data = b""
        with contextlib.suppress(OSError):
            data = connection.recv(4096)
        if not data:
            self.lost += 1
            self._selector.unregister(connection)
            return
        data = self._unread[connection] + data
        while len(data) >= 9 and len(data) >= 9 + (size := int.from_bytes(data[:3], "big")):
            kind, flags, payload = data[3], data[4], data[9 : 9 + size]
            if kind in (SETTINGS, PING) and not flags & ACK:
                connection.sendall(frame(kind, payload if kind == PING else b"", ACK))
            data = data[9 + size :]
        self._unread[connection] = data

    def close(self) -> None:
        """Ends them all."""
        self._ended.set()
        self._answering.join()
        for connection in self._unread:
            connection.close()


@contextmanager
def idle(address: str, count: int) -> Iterator[Idle | None]:
    """So many idle connections; `None` for none."""
    made = Idle(address, count) if count else None
    try:
        yield made
    finally:
        if made is not None:
            made.close()


def latencies_s(daemon: Daemon, clients: int, limit_s: float) -> list[float]:
    """Seconds of each call of so many clients."""
    found: list[float] = []

    def work() -> None:
        with daemon.client() as client:
            client.list(page_size=10)
            until_s = time.perf_counter() + limit_s
            while time.perf_counter() < until_s:
                begin_s = time.perf_counter()
                client.list(page_size=10)
                found.append(time.perf_counter() - begin_s)
                time.sleep(PAUSE_S)

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def affordable(asked: int, clients: int) -> int:
    """Connections that the open files allow; says so if these are fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    free = asked if soft == resource.RLIM_INFINITY else soft - FILES_LEFT - clients
    count = max(0, min(asked, free, connections_max() - clients))
    if count < asked:
        print(f"{count} connections instead of {asked}: `ulimit -n` is {soft}", flush=True)
    return count


def run(options: argparse.Namespace) -> None:
    """A row for each turn."""
    count = affordable(options.connections, options.clients)
    with (
        common.Report("idle", options.seed, options.out) as report,
        tempfile.TemporaryDirectory(prefix="totonoe-bench-") as directory,
        Daemon(Path(directory) / "data") as daemon,
    ):
        with daemon.client() as client:
            store(client, options.seed, options.stored, 0)
        daemon.idle()
        for turn in range(options.turns):
            for connections in (0, count):
                with idle(daemon.address, connections) as held, daemon.client() as client:
                    time.sleep(SETTLE_S if connections else 0.0)
                    before, begin_s = client.stats(), time.perf_counter()
                    taken_s = latencies_s(daemon, options.clients, options.limit_s)
                    after, wall_s = client.stats(), time.perf_counter() - begin_s
                    if held is not None and held.lost:
                        raise BenchError(f"the daemon closed {held.lost} idle connections")
                cpu_s = after.cpu_s - before.cpu_s
                report.add(
                    turn=turn,
                    connections=connections,
                    clients=options.clients,
                    n=options.stored,
                    texts="synthetic",
                    ops=len(taken_s),
                    **common.percentiles_ms(taken_s),
                    server_cpu_ms_per_op=cpu_s / max(1, len(taken_s)) * 1e3,
                    server_cpu_share=cpu_s / wall_s,
                    rss_bytes=after.rss_bytes,
                )


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--connections", type=int, default=10_000, help="idle ones")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--limit-s", type=float, default=20.0, help="of each turn")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--stored", type=int, default=200, help="memories there before")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
