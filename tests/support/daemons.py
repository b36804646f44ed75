"""A real daemon in a process of its own, as a user starts it."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import totonoe
from support.waits import wait_s

PORTS = range(20_000, 32_000)
"""Below those that Linux, macOS and Windows give to outgoing calls and to port 0: no other test's
call can take one between the choice and the daemon's start."""


def free_ports(count: int) -> range:
    """That many loopback ports in a row which were free a moment ago."""
    for _ in range(100):
        first = random.choice(PORTS)
        ports = range(first, first + count)
        if all(_is_free(port) for port in ports):
            return ports
    raise OSError(f"found no {count} free ports in a row in {PORTS}")


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    return free_ports(1)[0]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class DaemonProcess:
    """`python -m totonoe_server` on a data directory; `with` starts and stops it.

    Without a judge unless one is named: its process costs a quarter of a start. With the address of
    a database as `store`, the directory only names its log.
    """

    def __init__(
        self, data_dir: Path, *, embedder: str = "hashing", judge: str = "none", store: str = ""
    ) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self.data_dir = data_dir
        self._embedder, self._judge = embedder, judge
        self._place = ("--store", store) if store else ("--data-dir", str(data_dir))
        self._process: subprocess.Popen[bytes] | None = None
        self.log = data_dir.parent / f"{data_dir.name}.log"

    def command(self) -> list[str]:
        """What is started, without options."""
        return [sys.executable, "-m", "totonoe_server"]

    def environment(self) -> dict[str, str]:
        """Variables that it is started with."""
        return {**os.environ, "TOTONOE_LOG_FORMAT": "json"}

    def start(self) -> None:
        """Starts it and returns when it answers."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *self.command(),
                    *("--address", self.address),
                    *self._place,
                    *("--embedder", self._embedder, "--judge", self._judge),
                ],
                stdout=log,
                stderr=log,
                env=self.environment(),
            )
        begun_s = time.monotonic()
        while time.monotonic() - begun_s < wait_s():
            if self._process.poll() is not None:
                raise RuntimeError(f"the daemon ended: {self.log.read_text()}")
            try:
                with totonoe.Client(self.address, timeout_s=wait_s(2.0)) as client:
                    client.stats()
                    return
            except totonoe.TotonoeError:
                time.sleep(0.05)
        raise TimeoutError(self.log.read_text())

    @property
    def pid(self) -> int:
        """Process id."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(wait_s())

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        return self._process.wait(wait_s())

    def __enter__(self) -> DaemonProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _command(daemon: DaemonProcess, arguments: tuple[str, ...]) -> list[str]:
    script = Path(sys.executable).parent / "totonoe"
    return [str(script), "--address", daemon.address, *arguments]


def run_command(daemon: DaemonProcess, *arguments: str) -> str:
    """What `totonoe ...` prints; it must end with 0."""
    done = subprocess.run(
        _command(daemon, arguments), capture_output=True, text=True, timeout=wait_s(), check=False
    )
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


@contextmanager
def command_process(
    daemon: DaemonProcess, *arguments: str, stdout: IO[bytes] | int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """`totonoe ...` as a process that goes on; it does not outlive the `with`."""
    process = subprocess.Popen(_command(daemon, arguments), stdout=stdout)
    try:
        yield process
    finally:
        process.kill()
        process.wait(wait_s())
