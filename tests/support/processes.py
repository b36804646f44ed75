"""Child processes that write and are killed: python -m support.processes ROLE DIRECTORY ..."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from support.waits import wait_s

ROOT = Path(__file__).parents[2]
THREADS = 4


def environment() -> dict[str, str]:
    """The environment of a child, which finds the packages and `support` there."""
    paths = [ROOT / name for name in ("core", "server", "clients", "tests")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}


def at_once(
    command: list[str], jobs: list[dict[str, Any]], folder: Path, **more: str
) -> list[list[str]]:
    """Run a process for each job, from the moment on that all are ready; return their lines.

    Each reads its job as JSON, says "ready", and begins when the file that the job names as its
    start is there. More is what its environment has besides.
    """
    start = folder / "start"
    started = []
    for job in jobs:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | more, text=True
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(job | {"start": str(start)}))
        process.stdin.close()
        started.append(process)
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    start.touch()
    said = []
    for process in started:
        assert process.stdout is not None
        said.append(list(process.stdout))
        process.stdout.close()
        assert process.wait(wait_s()) == 0
    start.unlink()
    return said


class Child:
    """A child that says one JSON line for each thing that is certain."""

    def __init__(self, role: str, directory: Path, *arguments: object) -> None:
        command = [sys.executable, "-m", "support.processes", role, str(directory)]
        self.process = subprocess.Popen(
            [*command, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
        )
        assert self.process.stdout is not None
        self._output = self.process.stdout
        self._rest = b""
        self.said: list[Any] = []

    def listen(self, until_count: int) -> None:
        """Reads until that many lines are here or the child has ended."""
        timeout_s = wait_s()
        deadline_s = time.monotonic() + timeout_s
        while len(self.said) < until_count:
            left_s = deadline_s - time.monotonic()
            assert left_s > 0, f"only {len(self.said)} of {until_count} lines in {timeout_s} s"
            ready, _, _ = select.select([self._output], [], [], left_s)
            if ready and not self._read():
                return

    def listen_for(self, time_s: float) -> None:
        """Reads for a time: the child goes on at its own pace."""
        deadline_s = time.monotonic() + time_s
        while (left_s := deadline_s - time.monotonic()) > 0:
            ready, _, _ = select.select([self._output], [], [], left_s)
            if ready and not self._read():
                return

    def _read(self) -> bool:
        data = os.read(self._output.fileno(), 1 << 16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.said += [json.loads(line) for line in lines]
        return bool(data)

    def kill(self) -> None:
        """kill -9, and what the child said before it died."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(wait_s())
        # A line that was cut off is not said.
        while self._read():
            pass

    def tell(self, word: str) -> None:
        """One line to the child."""
        assert self.process.stdin is not None
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()

    def end(self) -> int:
        """Waits for the child's own end; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        while self._read():
            pass
        return self.process.wait(wait_s())

    def close(self) -> None:
        """Ends the child, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(wait_s())
        self._output.close()
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.stdin.close()


@contextmanager
def child(role: str, directory: Path, *arguments: object) -> Iterator[Child]:
    """A child that does not outlive the test."""
    made = Child(role, directory, *arguments)
    try:
        yield made
    finally:
        made.close()


def say(value: Any) -> None:
    """One line, in one write, to the parent."""
    os.write(1, json.dumps(value).encode() + b"\n")


def load_text(seed: int, thread: int, number: int) -> tuple[str, np.ndarray]:
    """Text and vector of one Remember under load; every third repeats one before."""
    place = number - number % 3 if number % 3 == 2 else number
    text = f"seed {seed} thread {thread if number % 5 else 0} note {place}"
    generator = np.random.default_rng([seed, place])
    vector = generator.normal(size=8).astype(np.float32)
    return text, vector / np.linalg.norm(vector)


def load_operation(seed: int, thread: int, number: int) -> str:
    return f"op-{seed}-{thread}-{number}"


def write_until_killed(directory: Path, seed: int) -> None:
    """Several threads remember, and each answer is told."""
    from support.engines import Store, remember
    from totonoe_core.base.clock import system_clock

    store = Store(directory, clock=system_clock)

    def work(thread: int) -> None:
        for number in range(1_000_000):
            text, vector = load_text(seed, thread, number)
            command = remember(text, agent=f"agent-{thread}", vector=vector)
            operation_id = load_operation(seed, thread, number)
            answer = store.apply(command, operation_id=operation_id)
            result = answer.results[0]
            say([thread, number, result.saved, result.memory_id, answer.revision])

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(THREADS)]
    store.revision  # noqa: B018 - opens the collection
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def write_to_full_disk(directory: Path) -> None:
    """Fills its file size limit, tells what it was answered, goes on with the limit lifted."""
    from support.engines import Store, remember, vector_of
    from totonoe_core.base.errors import TotonoeError
    from totonoe_core.domain.queries import RecallQuery

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = Store(directory)
    first = store.save("before the disk is full")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
    saved = [first]
    reason = ""
    for number in range(1000):
        try:
            answer = store.apply(
                remember(f"note {number} " + "x" * 5000), operation_id=f"op-{number}"
            )
        except TotonoeError as error:
            reason = error.reason
            say(["refused", reason, type(error).__name__, number])
            break
        saved.append(answer.results[0].memory_id)
    found = store.get(*saved)
    query = RecallQuery("anna", "before", vector_of("before the disk is full").tobytes())
    say(["reads", len(found.memories), [hit.memory.id for hit in store.recall(query).hits][:1]])
    say(["state", store.stats().state, store.revision])
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    answer = store.apply(remember(f"note {number} " + "x" * 5000), operation_id=f"op-{number}")
    say(["recovered", answer.replayed, answer.results[0].saved, answer.revision])
    saved.append(answer.results[0].memory_id)
    say(["state", store.stats().state])
    store.close()
    say(["saved", saved])


def purged_text(seed: int, number: int) -> str:
    """A text that is in no other one."""
    return f"secret {seed}-{number}-{seed * 7919 + number * 104729:x} of the vault"


def purge_until_killed(directory: Path, seed: int) -> None:
    """Saves a few, changes and links them, and purges them: tells each before and after."""
    from support.engines import Store, link, remember, update, vector_of
    from totonoe_core.base.clock import system_clock
    from totonoe_core.domain.memories import Purge

    store = Store(directory, clock=system_clock)
    kept = store.save("what stays")
    for start in range(0, 1_000_000, 8):
        texts = [purged_text(seed, number) for number in range(start, start + 8)]
        ids = []
        for number, text in enumerate(texts, start):
            command = remember(text, vector=vector_of(text))
            saved = store.apply(command, operation_id=f"op {number}").results[0]
            ids.append(saved.memory_id)
            store.do(update(ids[-1], content=text + " again", force=True))
            store.do(link(ids[-1], kept, note="as in " + text))
        say(["saved", start, ids])
        store.apply(Purge("anna", tuple(ids)), operation_id=f"purge {start}")
        say(["purged", start, ids])


def hold_lock(directory: Path) -> None:
    """Takes the data directory and keeps it until its input ends."""
    from totonoe_core.store.sqlite.lockfile import DataDirLock

    lock = DataDirLock(directory)
    lock.acquire("127.0.0.1:7766")
    say("held")
    sys.stdin.readline()


def load_words_without_files() -> None:
    """Loads the word lists with no descriptor to spare, until the third try."""
    import logging

    from totonoe_server.life import daemon

    warnings: list[str] = []
    deaths: list[object] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said = record.msg
            warnings.append(said["event"] if isinstance(said, dict) else str(said))

    class Stop(threading.Event):
        waits = 0

        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            Stop.waits += 1
            if Stop.waits == 3:
                resource.setrlimit(resource.RLIMIT_NOFILE, before)
            return False

    logging.getLogger("totonoe").addHandler(Keep())
    threading.excepthook = deaths.append
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    thread = threading.Thread(target=daemon.load_words, args=(Stop(),))
    thread.start()
    thread.join(wait_s())
    loaded = "totonoe_core.text.reading.english.read" in sys.modules
    say([Stop.waits, warnings, len(deaths), loaded])


def make_checkpoint(directory: Path) -> None:
    """Makes a data directory with a checkpoint."""
    from support.damaging import make

    make(directory)


def open_damaged_checkpoints(directory: Path, kind: str, count: int, seed: int) -> None:
    """Tells how each of many damages to a checkpoint was taken."""
    from support.damaging import open_damaged

    for told in open_damaged(directory, kind, count, seed):
        say(told)


if __name__ == "__main__":
    role, directory = sys.argv[1], Path(sys.argv[2])
    if role == "load":
        write_until_killed(directory, int(sys.argv[3]))
    elif role == "full":
        write_to_full_disk(directory)
    elif role == "purge":
        purge_until_killed(directory, int(sys.argv[3]))
    elif role == "words":
        load_words_without_files()
    elif role == "make-checkpoint":
        make_checkpoint(directory)
    elif role == "checkpoints":
        open_damaged_checkpoints(directory, sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    elif role == "lock":
        hold_lock(directory)
    else:
        raise SystemExit(f"unknown role {role}")
