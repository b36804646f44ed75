"""A disk that loses power or refuses calls: what was answered is there, whole, or comes again.

Linux only: the calls are intercepted by a library that is compiled here and preloaded.
"""

from __future__ import annotations

import errno
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.engines import Store, remember
from support.faulty_io import Disk, built, calls, compiler
from support.faulty_work import SECRET, STEPS, Done, Job, clock_of, shown, states
from support.forking import Forker, forker
from support.waits import wait_s

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or compiler() is None, reason="needs Linux and a C compiler"
)

PURGED_FROM = 14
"""Steps from which on nothing may hold the purged text."""
FAILURES_OF_A_KIND = 5
KILLS_OF_A_KIND = 6
KINDS = ("w", "s", "t", "r")
"""Writes, syncs, truncations, renames."""


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forker]:
    """Forks children that do the day's work."""
    library = str(built(tmp_path_factory.mktemp("library")))
    with forker("support.faulty_work", library, LD_PRELOAD=library) as made:
        yield made


def do(worker: Forker, job: Job) -> Done:
    """What became of a job, whose directory is made."""
    Path(job.directory).mkdir()
    done = Done(**worker.ask(**job.__dict__))
    assert not done.problem, done.problem
    return done


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return states(tmp_path_factory.mktemp("whole") / "data")


def look(directory: Path) -> Any:
    """What a directory shows; it must also take a write."""
    store = Store(directory, clock=clock_of(len(STEPS)))
    try:
        found = shown(store)
        assert not store.engine.stats("", "").result(wait_s()).lost_catalogue_revisions
        # Takes a write: no loss of power and no kill is taken for a loss of commits.
        assert store.do(remember("after the fault")).saved
    finally:
        store.close()
    return found


def check(directory: Path, expected: list[Any], acknowledged: int, where: str) -> None:
    """A directory shows what it did after some step from the last acknowledged one on."""
    found = look(directory)
    possible = expected[acknowledged : acknowledged + 2]
    assert found in possible, f"{where}: not what it was after step {acknowledged}"
    if acknowledged >= PURGED_FROM:
        held = [path for path in directory.rglob("*") if path.is_file()]
        assert not [path for path in held if SECRET.encode() in path.read_bytes()], where


def lose_power(worker: Forker, expected: list[Any], tmp_path: Path, seed: int | None) -> None:
    """Cuts the power at every sync; with a seed any of what was not synced is left."""
    folder, trace = tmp_path / "work", tmp_path / "trace"
    done = do(worker, Job(str(folder), str(trace)))
    assert not done.refused
    disk, acknowledged, syncs = Disk(folder), 0, 0
    for number, call in enumerate(calls(trace)):
        if call.path == str(folder / "acks"):
            acknowledged += call.kind == "w"
            continue
        if call.kind == "s":
            syncs += 1
            image = tmp_path / f"image-{number}"
            image.mkdir()
            disk.write(image, None if seed is None else random.Random(seed + number))
            check(image / "data", expected, acknowledged, f"call {number}")
            shutil.rmtree(image)
        disk.apply(call)
    assert syncs > len(STEPS)
    assert acknowledged == len(STEPS)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [None, 1], ids=["nothing unsynced", "any of it"])
def test_loss_of_power_at_every_sync_loses_nothing_that_was_answered(
    worker: Forker, expected: list[Any], tmp_path: Path, seed: int | None
) -> None:
    lose_power(worker, expected, tmp_path, seed)


def killed_and_checked(
    worker: Forker, expected: list[Any], folder: Path, kind: str, number: int
) -> int:
    """Kills the day's work at a call; returns how many steps had been answered."""
    done = do(worker, Job(str(folder), fail=(kind, number, 0)))
    assert done.killed
    acknowledged = len((folder / "acks").read_bytes().splitlines())
    check(folder / "data", expected, acknowledged, f"killed at {kind} {number}")
    shutil.rmtree(folder)
    return acknowledged


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", KINDS)
def test_kill_before_a_call_loses_nothing_that_was_answered(
    worker: Forker, expected: list[Any], tmp_path: Path, kind: str
) -> None:
    count = do(worker, Job(str(tmp_path / "calm"))).counts[kind]
    places = random.Random(kind).sample(range(count), min(count, KILLS_OF_A_KIND))
    answered = {
        killed_and_checked(worker, expected, tmp_path / f"dies-{number}", kind, number)
        for number in places
    }
    assert len(answered) > 2, "it died at one place only"


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_kill_before_every_call_loses_nothing_that_was_answered(
    worker: Forker, expected: list[Any], tmp_path: Path, kind: str
) -> None:
    count = do(worker, Job(str(tmp_path / "calm"))).counts[kind]
    for number in range(count):
        killed_and_checked(worker, expected, tmp_path / f"dies-{number}", kind, number)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_loss_of_power_leaves_any_of_what_was_not_synced(
    worker: Forker, expected: list[Any], tmp_path: Path, seed: int
) -> None:
    lose_power(worker, expected, tmp_path, seed)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", KINDS)
def test_disk_that_fails_at_any_call_refuses_and_recovers(
    worker: Forker, expected: list[Any], tmp_path: Path, kind: str
) -> None:
    count = do(worker, Job(str(tmp_path / "calm"))).counts[kind]
    step = max(1, count // FAILURES_OF_A_KIND)
    refused = 0
    for number in range(0, count, step):
        error = errno.ENOSPC if number // step % 2 else errno.EIO
        folder = tmp_path / f"fails-{number}"
        done = do(worker, Job(str(folder), fail=(kind, number, error)))
        refused += len(done.refused)
        check(folder / "data", expected, len(STEPS), f"{kind} {number}: {done.refused}")
        shutil.rmtree(folder)
    assert refused, "no step met the failure"
