"""Processes of a bench: the daemon, the echo, and workers; all ended whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import totonoe
from totonoe_core.base.prepared import cache_places
from totonoe_server.tools.demo import processes as demo
from totonoe_server.tools.demo.processes import spawn

START_LIMIT_S = 120.0
STOP_LIMIT_S = 30.0
IDLE_LIMIT_S = 600.0
_POLL_S = 0.005


class BenchError(Exception):
    """The bench cannot go on; the message says why."""


end = partial(demo.end, limit_s=STOP_LIMIT_S)
"""SIGTERM, and if that is not enough SIGKILL."""


class Daemon:
    """`python -m totonoe_server` on a data directory and a port that the system chooses.

    With the address of a database as `store`, the directory holds what is derived from it.

    Attributes
    ----------
    address : str
        Where it listens.
    pid : int
    begun_s : float
        `time.perf_counter()` when it was started.
    """

    def __init__(
        self, data_dir: Path, *, embedder: str = "none", judge: str = "", store: str = ""
    ) -> None:
        self.begun_s = time.perf_counter()
        self._log = data_dir.parent / f"{data_dir.name}.log"
        command = [sys.executable, "-m", "totonoe_server", "--address", "127.0.0.1:0"]
        command += ["--store", store] if store else ["--data-dir", str(data_dir)]
        command += ["--embedder", embedder]
        command += ["--judge", judge] if judge else []
        command += ["--log-format", "json", "--log-level", "info"]
        if store:
            command = ["env", f"XDG_CACHE_HOME={_cache_at(data_dir)}", *command]
        with self._log.open("wb") as stderr:
            self._process = spawn(command, stdin=subprocess.DEVNULL, stderr=stderr)
        self.pid = self._process.pid
        try:
            self.address = self._wait_ready()
        except BaseException:
            end(self._process)
            raise

    def _wait_ready(self) -> str:
        while time.perf_counter() < self.begun_s + START_LIMIT_S:
            for line in self._log.read_text(errors="replace").splitlines():
                if '"ready"' in line:
                    return str(json.loads(line)["address"])
            if self._process.poll() is not None:
                break
            time.sleep(_POLL_S)
        raise BenchError(f"the daemon did not start:\n{self._log.read_text(errors='replace')}")

    def client(self, collection: str = "", *, timeout_s: float = 120.0) -> totonoe.Client:
        """A client with a deadline that bulk work on a busy machine keeps."""
        return totonoe.Client(
            self.address, agent_id="bench", collection=collection, timeout_s=timeout_s
        )

    def idle(self) -> totonoe.Stats:
        """Waits until the daemon's background work (its graph) is done; figures of then.

        Raises
        ------
        BenchError
            It is still busy after `IDLE_LIMIT_S`.
        """
        deadline_s = time.perf_counter() + IDLE_LIMIT_S
        with self.client() as client:
            before = client.stats()
            while time.perf_counter() < deadline_s:
                time.sleep(0.5)
                now = client.stats()
                # Two figures may cost a few milliseconds themselves.
                if now.cpu_s - before.cpu_s < 0.05 and now.embedder_state != "loading":
                    return now
                before = now
        raise BenchError(f"the daemon is still busy after {IDLE_LIMIT_S:.0f} s")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        end(self._process)


def _cache_at(directory: Path) -> Path:
    """A directory for derived files which shares the compiled kernels with this user's own."""
    place = directory / "totonoe"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for own in cache_places()[0].glob("*"):
        if own.name != "stores" and not (place / own.name).exists():
            (place / own.name).symlink_to(own)
    return directory


class Crew:
    """Worker processes of one module: told one JSON object, they answer with one.

    They say a line when they have connected, and begin when all have: importing gRPC is not part
    of what is measured.
    """

    def __init__(self, module: str, orders: Sequence[dict[str, Any]]) -> None:
        command = [sys.executable, "-m", module]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._workers: list[subprocess.Popen[bytes]] = []
        try:
            for order in orders:
                self._workers.append(spawn(command, **pipes))
                self._say(self._workers[-1], order)
            for worker in self._workers:
                self._hear(worker)
        except BaseException:
            self.close()
            raise

    def run(self) -> list[dict[str, Any]]:
        """Lets all begin, and returns what each has to say in the end."""
        for worker in self._workers:
            self._say(worker, {"go": True})
        return [self._hear(worker) for worker in self._workers]

    def close(self) -> None:
        """Ends them."""
        for worker in self._workers:
            end(worker)
            for stream in (worker.stdin, worker.stdout):
                if stream is not None:
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @staticmethod
    def _say(worker: subprocess.Popen[bytes], order: dict[str, Any]) -> None:
        assert worker.stdin is not None
        worker.stdin.write(json.dumps(order).encode() + b"\n")
        worker.stdin.flush()

    @staticmethod
    def _hear(worker: subprocess.Popen[bytes]) -> dict[str, Any]:
        assert worker.stdout is not None
        line = worker.stdout.readline()
        if not line:
            raise BenchError(f"a worker ended with code {worker.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def say(answer: dict[str, Any]) -> None:
    """A worker's answer to its bench."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def heard() -> dict[str, Any]:
    """A worker's next order; leaves the process if the bench is gone."""
    line = sys.stdin.readline()
    if not line:
        raise SystemExit("the bench is gone")
    order: dict[str, Any] = json.loads(line)
    return order


@contextmanager
def echo_server() -> Iterator[str]:
    """The bare echo (`bench.echo`) in a process of its own; gives its address."""
    process = spawn([sys.executable, "-m", "bench.echo"], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise BenchError("the echo did not start")
        yield str(json.loads(line)["address"])
    finally:
        end(process)
        if process.stdout is not None:
            process.stdout.close()


def cpu_of(pid: int) -> float | None:
    """CPU seconds of a process that has no call for it, and of the children it has or had.

    `None`: only Linux can tell.
    """
    ticks, found = 0, False
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if path.parent.name == str(pid):
            found = True
            ticks += sum(map(int, fields[11:15]))
        elif fields[1] == str(pid):
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK") if found else None
