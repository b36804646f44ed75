"""What a call costs the daemon beside the engine: single, and as an item of a Multiplex stream.

    python -m bench.transport [--clients 1,8,64] [--limit-s 3]

The daemon runs in a process of its own over an engine that answers every Remember at once, so that
its CPU is that of the wire: gRPC, identity, limits, decoding, checks, encoding. The bare echo gets
the single calls in turn.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from bench import common, echo
from bench.guard import Work, push
from bench.processes import BenchError, cpu_of, echo_server, end, spawn

MODES = ("unary", "multiplex")


class Instant:
    """An engine that has saved everything already."""

    def __init__(self) -> None:
        from totonoe_core.domain.commands import Applied
        from totonoe_core.domain.memories import Remembered
        from totonoe_core.domain.records import GuardReport, Method

        report = GuardReport(None, Method.NONE, 0.0, (), ())
        result = Remembered(True, "mem_0123456789abcdef", report)
        self._answer = Applied("op_0123456789abcdef", 1, (result,))

    def apply(self, *_: Any) -> Future[Any]:
        """The same answer to everything."""
        answered: Future[Any] = Future()
        answered.set_result(self._answer)
        return answered

    def close(self, timeout_s: float) -> None:
        """Nothing is open; `timeout_s` is the engine's."""


def serve() -> None:
    """The daemon, until standard input ends."""
    from totonoe_server.tools.testing import running_server

    engine: Any = Instant()
    with running_server(engine=engine) as server:
        print(json.dumps({"address": server.address}), flush=True)
        sys.stdin.read()


@contextmanager
def _daemon() -> Iterator[tuple[str, int]]:
    """Its address and its process."""
    command = [sys.executable, "-m", "bench.transport", "--serve"]
    process = spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise BenchError("the daemon did not start")
        yield json.loads(line)["address"], process.pid
    finally:
        end(process)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _cpu_s(pid: int) -> float:
    found = cpu_of(pid)
    if found is None:
        raise BenchError("only Linux tells the CPU of another process")
    return found


def run(options: argparse.Namespace) -> None:
    """All rows: the echo, then each mode, as often as `--rounds` says."""
    with (
        common.Report("transport", options.seed, options.out) as report,
        echo_server() as echo_address,
        _daemon() as (address, pid),
    ):
        turn = 0
        for clients in options.clients:
            for _ in range(options.rounds):
                work = Work(options.seed, clients, "unary", options.limit_s)
                before_s = echo.cpu_s(echo_address)
                row = push(work.orders("echo", echo_address, "", 0))
                echo_ms = (echo.cpu_s(echo_address) - before_s) / row["ops"] * 1e3
                for mode in MODES:
                    turn += 1
                    work = Work(options.seed, clients, mode, options.limit_s)
                    before_s = _cpu_s(pid)
                    row = push(work.orders("totonoe", address, "", turn))
                    cpu_ms = (_cpu_s(pid) - before_s) / row["ops"] * 1e3
                    report.add(
                        clients=clients,
                        mode=mode,
                        texts="synthetic",
                        server_cpu_ms_per_op=cpu_ms,
                        echo_cpu_ms_per_op=echo_ms,
                        echo_ratio=cpu_ms / echo_ms,
                        **row,
                    )


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--clients", type=common.numbers, default=[1, 8, 64])
    parser.add_argument("--limit-s", type=float, default=3.0, help="time for each row")
    parser.add_argument("--rounds", type=int, default=3, help="rows of each sort, in turn")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
    else:
        run(options)


if __name__ == "__main__":
    main()
