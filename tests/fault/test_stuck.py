"""A thread that never ends: the daemon ends all the same, and what was answered is there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import totonoe
from support.daemons import DaemonProcess
from support.waits import wait_s, wait_until
from totonoe_server.life.watchdog import ExitCode

TESTS = Path(__file__).parents[1]
CALLS_MAX = 3
TEXTS = [f"Note {number}: the kiln of studio {number} is serviced in May." for number in range(8)]


class StuckDaemon(DaemonProcess):
    """A daemon of `support.stuck_daemon`."""

    def __init__(self, data_dir: Path, what: str, grace_s: float = 0.5) -> None:
        super().__init__(data_dir)
        self._what, self._grace_s = what, grace_s

    def command(self) -> list[str]:
        return [sys.executable, "-m", "support.stuck_daemon", self._what]

    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        return {**super().environment(), "PYTHONPATH": path, "TOTONOE_GRACE_S": str(self._grace_s)}

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def wait_for(self, words: str) -> None:
        """Waits until the log has the words."""
        wait_until(lambda: words in self.log.read_text(), self.log.read_text)

    def exit_code(self) -> int:
        """Waits for the end; a process that does not end fails the test."""
        assert self._process is not None
        return self._process.wait(wait_s())

    def launch(self) -> None:
        """Starts it and waits for nothing."""
        with self.log.open("ab") as log:
            place = ("--address", self.address, "--data-dir", str(self.data_dir))
            command = [*self.command(), *place, "--embedder", "hashing", "--judge", "none"]
            self._process = subprocess.Popen(command, stderr=log, env=self.environment())

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(wait_s())


def get(client: totonoe.Client) -> None:
    client.get("mem_0000000000000001")


def open_other(client: totonoe.Client) -> None:
    client.create_collection("other")
    client.remember("Anything.", collection="other")


STICKING: dict[str, Callable[[totonoe.Client], object] | None] = {
    "kernel-of-a-reader": get,
    "opening-of-a-collection": open_other,
    "event-loop": get,
    "writer-at-its-end": None,
    "embedder-at-its-end": None,
    "interpreter": None,
}


def saved(daemon: DaemonProcess) -> list[str]:
    with totonoe.Client(daemon.address) as client:
        return [client.remember(text).memory_id for text in TEXTS]


def stick(daemon: StuckDaemon, call: Callable[[totonoe.Client], object]) -> threading.Thread:
    """Makes a call that does not end, on a thread, and waits until it has begun.

    A call that ended before it has begun, since a busy machine refused it, is made again.
    """
    failed: list[totonoe.TotonoeError] = []

    def is_stuck() -> bool:
        return "stuck now" in daemon.log.read_text()

    def work() -> None:
        # Once: nobody answers a second time.
        once = totonoe.RetryPolicy(attempts_max=1)
        for _ in range(CALLS_MAX):
            if is_stuck():
                return
            try:
                with totonoe.Client(daemon.address, timeout_s=20, retry=once) as client:
                    call(client)
            except totonoe.TotonoeError as error:
                failed.append(error)

    caller = threading.Thread(target=work)
    caller.start()
    wait_until(is_stuck, lambda: (failed, daemon.log.read_text()))
    return caller


@pytest.mark.parametrize("what", STICKING)
def test_stop_ends_whatever_a_thread_does_and_names_it(tmp_path: Path, what: str) -> None:
    call = STICKING[what]
    with StuckDaemon(tmp_path / "data", what) as daemon:
        ids = saved(daemon)
        caller = None if call is None else stick(daemon, call)
        daemon.signal(signal.SIGTERM)
        code = daemon.exit_code()
        if caller is not None:
            caller.join(wait_s())
    log = daemon.log.read_text()
    if what == "interpreter":
        # No Python runs any more: the last resort prints where each thread stands.
        assert code == ExitCode.FAILED
        assert "hold_interpreter" in log
    else:
        assert code == ExitCode.STUCK
        (line,) = [line for line in log.splitlines() if "held up" in line]
        assert any("forever (stuck_daemon.py:" in thread for thread in json.loads(line)["threads"])
    with DaemonProcess(tmp_path / "data") as again, totonoe.Client(again.address) as client:
        assert [memory.content for memory in client.get_many(ids).memories] == TEXTS
    assert not any(text in log for text in TEXTS)


def test_second_interrupt_ends_at_once_what_a_kernel_holds_up(tmp_path: Path) -> None:
    with StuckDaemon(tmp_path / "data", "kernel-of-a-reader", grace_s=3600) as daemon:
        caller = stick(daemon, get)
        daemon.signal(signal.SIGINT)
        daemon.wait_for("stopping")
        daemon.signal(signal.SIGINT)
        assert daemon.exit_code() == ExitCode.FORCED
        caller.join(wait_s())


def test_start_that_is_stuck_ends_with_a_signal(tmp_path: Path) -> None:
    daemon = StuckDaemon(tmp_path / "data", "start")
    daemon.launch()
    try:
        daemon.wait_for("stuck now")
        daemon.signal(signal.SIGTERM)
        assert daemon.exit_code() == ExitCode.STUCK
    finally:
        daemon.__exit__()
