"""200 clients of one process vanish in the middle of their streams; the daemon goes on."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import totonoe
from support.daemons import DaemonProcess
from support.waits import wait_s, wait_until

CLIENTS = 200
LEFT_OVER_MAX = 20
"""Descriptors and threads that a daemon may have more of, in all: pools that grew meanwhile."""

AGENTS = """
    import itertools, sys, threading
    import totonoe

    address, count = sys.argv[1], int(sys.argv[2])
    begun = threading.Semaphore(0)

    def watch(number):
        client = totonoe.Client(address, agent_id=f"watcher-{number}")
        for change in client.watch(after_revision=0):
            begun.release()

    def write(number):
        client = totonoe.Client(address, agent_id=f"writer-{number}")
        texts = (f"agent {number} note {item}" for item in itertools.count())
        for result in client.remember_many(texts):
            begun.release()

    for number in range(count):
        work = (watch, write)[number % 2]
        threading.Thread(target=work, args=(number,), daemon=True).start()
    for _ in range(5 * count):
        begun.acquire()
    print("under way", flush=True)
    threading.Event().wait()
"""


def held(pid: int) -> int:
    """Descriptors and threads of a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir())) + len(
        list(Path(f"/proc/{pid}/task").iterdir())
    )


def listed(client: totonoe.Client) -> list[str]:
    """The texts of all memories."""
    return [memory.content for memory in client.list_all(page_size=1000)]


def test_clients_that_vanish_in_mid_stream_leave_nothing(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path / "data") as daemon, totonoe.Client(daemon.address) as client:
        client.remember("there before")
        before = held(daemon.pid)
        agents = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(AGENTS), daemon.address, str(CLIENTS)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert agents.stdout is not None
        assert agents.stdout.readline() == "under way\n"
        during = held(daemon.pid)
        agents.kill()
        agents.wait(wait_s())
        agents.stdout.close()
        wait_until(
            lambda: held(daemon.pid) < before + LEFT_OVER_MAX,
            lambda: f"{before} before, {during} during, {held(daemon.pid)} now",
        )
        assert client.remember("there afterwards").saved
        # Theirs wait for their turns, and nobody waits for them.
        wait_until(
            lambda: client.stats().collections[0].queue_length == 0,
            lambda: client.stats().collections[0],
        )
        assert client.stats().collections[0].state == "serving"
        # What was saved is whole, none twice. A batch that left the queue may still be written.
        wait_until(
            lambda: len(listed(client)) == client.stats().collections[0].active_count,
            lambda: (len(listed(client)), client.stats().collections[0]),
        )
        assert len(set(listed(client))) == len(listed(client))
    assert daemon.stop() == 0
