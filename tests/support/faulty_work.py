"""A day's work on a data directory, each step an operation, on a disk that fails or is watched.

python -m support.faulty_work LIBRARY: with the library of `faulty_io.c` preloaded. Reads jobs (JSON
lines), does each in a fork, and says what became of it (`Done`). Ids and times are the same in each
run, so that what a store shows after a step is too: `states` says it.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import math
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

from support.engines import FakeClock, Store, change, forget, link, remember, unlink, update
from support.operations import seen
from support.waits import wait_s
from totonoe_core.base import ids
from totonoe_core.base.errors import NotFound, TotonoeError
from totonoe_core.domain.collections import NewCollection
from totonoe_core.domain.graph import CreateEpisode
from totonoe_core.domain.memories import Merge, Purge
from totonoe_core.domain.records import Memory
from totonoe_core.domain.undo import Undo
from totonoe_core.engine.state import checkpointing, ledger
from totonoe_core.store.sqlite import acknowledged

OTHER = "other"
BROUGHT_BACK = "brought-back"
SECRET = "the safe opens with 7391"


@dataclass(frozen=True)
class Job:
    """What to do: `directory` gets `data` and `acks`. `fail`: kind, number, error (0: killed)."""

    directory: str
    trace: str = ""
    fail: tuple[str, int, int] | None = None


@dataclass
class Done:
    """What became of a job."""

    refused: list[tuple[int, str]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    problem: str = ""
    killed: bool = False


Step = Callable[[Store, dict[str, str], str], None]
"""Does one step under an operation id; ids of memories go by name."""


def saving(name: str, text: str, **fields: Any) -> Step:
    def step(store: Store, named: dict[str, str], operation_id: str) -> None:
        named[name] = store.do(remember(text, **fields), operation_id).memory_id

    return step


def doing(command: Callable[[dict[str, str]], Any]) -> Step:
    def step(store: Store, named: dict[str, str], operation_id: str) -> None:
        store.do(command(named), operation_id)

    return step


def creating(store: Store, _: dict[str, str], operation_id: str) -> None:
    store.engine.create_collection(
        NewCollection(OTHER, description="another", client_vector_dimension=8),
        operation_id,
        agent_id="anna",
    ).result(wait_s())


def elsewhere(text: str) -> Step:
    def step(store: Store, _: dict[str, str], operation_id: str) -> None:
        store.engine.apply(OTHER, operation_id, (remember(text),)).result(wait_s())

    return step


def deleting(store: Store, _: dict[str, str], operation_id: str) -> None:
    store.engine.delete_collection(OTHER, operation_id, agent_id="anna").result(wait_s())


def restoring(store: Store, _: dict[str, str], operation_id: str) -> None:
    store.restore_collection(OTHER, operation(STEPS.index(deleting)), operation_id=operation_id)


def snapshooting(store: Store, named: dict[str, str], operation_id: str) -> None:
    made = store.create_snapshot(operation_id, name="kept")
    named["snapshot"] = made.snapshot.id


def restoring_snapshot(store: Store, named: dict[str, str], operation_id: str) -> None:
    store.engine.restore_snapshot(
        named["snapshot"], BROUGHT_BACK, operation_id, agent_id="anna", confirmation_token=""
    ).result(wait_s())


def deleting_snapshot(store: Store, named: dict[str, str], operation_id: str) -> None:
    # One that failed may have come that far (docs/durability.md).
    with contextlib.suppress(NotFound):
        deleted = store.engine.delete_snapshot(named["snapshot"], operation_id, agent_id="anna")
        deleted.result(wait_s())


def reopening(store: Store, _: dict[str, str], __: str) -> None:
    """Closed and opened again: the log goes into the file."""
    store.reopen()


STEPS: tuple[Step, ...] = (
    saving("one", "the pump stands in hall one"),
    saving("two", "the valve is in hall two"),
    saving("secret", SECRET),
    doing(lambda named: link(named["one"], named["two"], confidence=0.9)),
    creating,
    elsewhere("a note of its own"),
    doing(lambda named: update(named["one"], content="the pump stands in hall three")),
    doing(lambda named: forget(named["two"], reason="moved")),
    doing(lambda _: Undo("anna", revision=6)),
    saving("three", "the boiler is new", tags=("heat",)),
    reopening,
    doing(lambda named: Merge("anna", named["one"], (named["three"],))),
    doing(lambda named: CreateEpisode("anna", "a tour", (named["one"], named["secret"]))),
    doing(lambda named: Purge("anna", (named["secret"],))),
    snapshooting,
    deleting,
    restoring,
    elsewhere("and another note"),
    restoring_snapshot,
    deleting_snapshot,
    doing(lambda _: change(("description", "changed"))),
    doing(lambda named: unlink(named["one"], named["two"])),
    *(saving(f"n{number}", f"reading {number} of the meter") for number in range(6)),
    reopening,
    saving("last", "the lights are out"),
)


def operation(step: int) -> str:
    """Operation id of a step."""
    return f"step-{step}"


@contextmanager
def same_ids(step: int) -> Iterator[None]:
    """Ids by step and count, as in each try of each run."""
    numbers = itertools.count(step * 1000 + 1)

    def counted(size: int) -> str:
        return f"{next(numbers):0{2 * size}x}"

    # No id is drawn ahead: it would be one of an earlier step.
    with (
        mock.patch.object(ids.secrets, "token_hex", counted),
        mock.patch.object(ledger, "_IDS_AT_ONCE", 1),
    ):
        yield


def shown(store: Store) -> Any:
    """All that a data directory shows, but for row numbers: what fails may leave a gap in them."""
    page = store.engine.list_collections(100, "").result(wait_s())
    names = [info.name for info in page.collections]
    other = Store.__new__(Store)
    other.engine, other.collection = store.engine, OTHER
    revision, memories, *rest = seen(store)
    there = other.list() if OTHER in names else ()
    other.collection = BROUGHT_BACK
    back = other.list() if BROUGHT_BACK in names else ()
    snapshots = [
        (
            snapshot.snapshot.name,
            snapshot.snapshot.revision,
            snapshot.snapshot.active_count,
            snapshot.collection_now,
        )
        for snapshot in store.engine.list_snapshots("", 100, "").result(wait_s()).snapshots
    ]
    collections = [_without_rows(item) for item in (memories, there, back)]
    return names, revision, rest, collections, snapshots


def _without_rows(memories: Iterable[Memory]) -> list[Memory]:
    return [replace(memory, row=0) for memory in memories]


def clock_of(step: int) -> FakeClock:
    clock = FakeClock()
    clock.advance(step * 1_000_000)
    return clock


@contextmanager
def same_calls() -> Iterator[None]:
    """The same calls to the disk in each run, those of checkpoints among them."""
    with (
        # So few memories are not worth a checkpoint: here they are, at each closing.
        mock.patch.object(checkpointing, "FROM_COUNT", 1),
        mock.patch.object(checkpointing, "CHANGED_AT_CLOSE", 1),
        # By the clock it would be synced at other calls in each run. It is synced when closed.
        mock.patch.object(acknowledged, "SYNC_S", math.inf),
    ):
        yield


def opened(directory: Path) -> Store:
    """A store whose default collection is there."""
    with same_ids(len(STEPS)):
        store = Store(directory, clock=clock_of(0))
        try:
            assert store.revision == 0
        except BaseException:
            store.close()
            raise
    return store


@same_calls()
def states(directory: Path) -> list[Any]:
    """What is shown before each step of a run without faults, and after the last."""
    found = []
    named: dict[str, str] = {}
    store = opened(directory)
    found.append(shown(store))
    for number, step in enumerate(STEPS):
        with same_ids(number):
            store.clock.now_us = clock_of(number).now_us
            step(store, named, operation(number))
        found.append(shown(store))
    store.close()
    return found


class Disk:
    """The preloaded library."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)
        self._library.faulty_count.restype = ctypes.c_long

    def below(self, directory: Path) -> None:
        self._library.faulty_below(str(directory).encode())

    def trace(self, path: str) -> None:
        self._library.faulty_trace(path.encode())

    def fail(self, kind: str, number: int, error: int) -> None:
        self._library.faulty_fail(ord(kind), ctypes.c_long(number), error)

    def calm(self) -> None:
        self._library.faulty_calm()

    def counts(self) -> dict[str, int]:
        return {kind: self._library.faulty_count(ord(kind)) for kind in "wtsr"}


@same_calls()
def carry_out(job: Job, disk: Disk) -> Done:
    """All steps. One that the disk refuses is done again, with its operation id, on a calm disk."""
    done, folder = Done(), Path(job.directory)
    acks = os.open(folder / "acks", os.O_WRONLY | os.O_CREAT, 0o600)
    named: dict[str, str] = {}
    # Acknowledgements are part of the story, and none of the disk's business.
    disk.below(folder if job.trace else folder / "data")
    if job.trace:
        disk.trace(job.trace)
    disk.fail(*(job.fail or ("-", -1, 0)))
    store: Store | None = None
    for position, step in enumerate(STEPS):
        for turn in range(2):
            try:
                store = store or opened(folder / "data")
                with same_ids(position):
                    store.clock.now_us = clock_of(position).now_us
                    step(store, named, operation(position))
                break
            except (TotonoeError, OSError) as refused:
                if turn:
                    raise
                done.refused.append((position, getattr(refused, "reason", repr(refused))))
                disk.calm()
        os.write(acks, f"{position}\n".encode())
    assert store is not None
    store.close()
    done.counts = disk.counts()
    return done


def serve(disk: Disk) -> None:
    """Forks for each job, before anything has a thread."""
    for line in sys.stdin:
        job = Job(**json.loads(line))
        said, say = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                done = carry_out(job, disk)
            except BaseException:
                done = replace(Done(), problem=traceback.format_exc())
            disk.calm()
            os.write(say, json.dumps(asdict(done)).encode())
            os._exit(0)
        os.close(say)
        answer = b""
        while part := os.read(said, 65536):
            answer += part
        os.close(said)
        _, status = os.waitpid(pid, 0)
        if os.waitstatus_to_exitcode(status) == -signal.SIGKILL:
            answer = json.dumps(asdict(Done(killed=True))).encode()
        os.write(1, answer + b"\n")


if __name__ == "__main__":
    serve(Disk(sys.argv[1]))
