"""A collection's file that is shorter than it must be: said at once, never served or filled up."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest

from compat.make_data import fill
from support.engines import FakeClock, Store, opened
from support.every_call import ways
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.store.sqlite import length, wal
from totonoe_core.store.sqlite.inspection import inspect
from totonoe_core.store.sqlite.snapshot import examine

PAGE = 4096
LOCK_BYTE = 0x4000_0000


@dataclass(frozen=True)
class Made:
    """A closed directory, a copy of it that was killed with a log, and what it answered."""

    closed: Path
    killed: Path
    shown: list[Any]
    now_us: int
    ids: dict[str, str]

    def copied(self, kind: str, to: Path) -> Path:
        shutil.copytree(getattr(self, kind), to)
        return to


def shown(store: Store) -> list[Any]:
    return [(memory.id, memory.content, memory.status) for memory in store.list()]


def file_of(directory: Path) -> Path:
    return next(directory.glob("collections/*/memory.db"))


def writer_of(store: Store, work: Callable[[Any], Any]) -> Any:
    """What `work` returns on the connection that writes, between two batches."""
    found = store.engine._collections.opened("default").result(wait_s())
    connection = found._state.file._connection
    return found.copying.pause(lambda: work(connection)).result(wait_s())


def snapshot(store: Store) -> Any:
    return store.create_snapshot().snapshot


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    path = tmp_path_factory.mktemp("made")
    with opened(path / "data", client_vector_dimension=4) as store:
        ids = fill(store)
        # The log begins anew, so that the file has pages that the log has not.
        writer_of(store, lambda one: one.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART))
        for number in range(30):
            store.save(f"Box {number} stands in room {number * 7}", vector=[number + 1, 1, 1, 1])
        told, now_us = shown(store), store.clock.now_us
        shutil.copytree(path / "data", path / "killed")
    return Made(path / "data", path / "killed", told, now_us, ids)


def cuts(path: Path) -> list[int]:
    """Sizes to cut a file to: at each of its pages, and within the last one."""
    size = path.stat().st_size
    return [*range(0, size, PAGE), size - PAGE + 512, size - 1]


def test_cut_file_is_corruption_when_it_is_opened_and_nothing_is_written(
    made: Made, tmp_path: Path
) -> None:
    for size in cuts(file_of(made.closed)):
        directory = made.copied("closed", tmp_path / str(size))
        os.truncate(file_of(directory), size)
        with opened(directory) as store:
            for call in (store.list, lambda store=store: snapshot(store), store.stats):
                with pytest.raises(errors.Corruption):
                    call()
        assert file_of(directory).stat().st_size == size, "no checkpoint fills the hole"
        assert not list(directory.glob("snapshots/*/*"))
        (found,) = (table for table in inspect(directory) if table.path.endswith("memory.db"))
        assert found.findings
        shutil.rmtree(directory)


def test_cut_file_with_a_log_is_served_whole_or_not_at_all(made: Made, tmp_path: Path) -> None:
    path = file_of(made.killed)
    whole = path.stat().st_size
    log = wal.scan(path.with_name("memory.db-wal"))
    assert log.page_count * PAGE > whole, "the log has pages beyond the end of the file"
    served, refused = 0, 0
    for size in (whole, *cuts(path)):
        directory = made.copied("killed", tmp_path / str(size))
        os.truncate(file_of(directory), size)
        with opened(directory) as store:
            try:
                found = shown(store)
            except errors.Corruption:
                refused += 1
            else:
                served += 1
                assert found == made.shown
                path = store.engine.snapshots.kept.files.path(snapshot(store))
                assert not examine(path).faults
        shutil.rmtree(directory)
    assert served
    assert refused


def test_file_that_is_cut_while_it_is_open_has_only_typed_errors(
    made: Made, tmp_path: Path
) -> None:
    wrong = {}
    for size in cuts(file_of(made.closed))[::6]:
        directory = made.copied("closed", tmp_path / str(size))
        store = Store(directory, clock=FakeClock(made.now_us), client_vector_dimension=4)
        try:
            store.list()
            os.truncate(file_of(directory), size)
            for name, call in ways(store, made.ids).items():
                try:
                    call()
                except errors.TotonoeError:
                    continue
                except Exception as error:
                    wrong[size, name] = error
        finally:
            store.close()
        shutil.rmtree(directory)
    assert not wrong


def test_cut_file_is_not_filled_up_by_checkpoints_and_takes_no_writes(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = made.copied("closed", tmp_path / "data")
    path = file_of(directory)
    # Every commit is written back, unless the file lacks pages.
    monkeypatch.setattr(length, "CHECKPOINT_PAGES", 1)
    with opened(directory, clock=FakeClock(made.now_us), client_vector_dimension=4) as store:
        store.save("A long text, whose pages are the last ones. " * 700, vector=[9, 8, 7, 6])
        size = path.stat().st_size - 4 * PAGE
        os.truncate(path, size)
        kept = store.save("Saved in pages that are there", vector=[1, -8, 7, -6])
        assert store.one(kept).content, "it was committed, and is in the log"
        with pytest.raises(errors.Corruption) as caught:
            store.save("Refused", vector=[-1, -8, -7, 6])
        assert "is cut" in caught.value.message
        with pytest.raises(errors.Corruption) as caught:
            snapshot(store)
        assert "is cut" in caught.value.message
    assert path.stat().st_size == size, "closing does not write the log back"
    with opened(directory) as store, pytest.raises(errors.Corruption):
        store.list()


def test_cut_catalogue_is_corruption_at_the_start(made: Made, tmp_path: Path) -> None:
    directory = made.copied("closed", tmp_path / "data")
    path = directory / "catalog.db"
    size = path.stat().st_size - 1
    os.truncate(path, size)
    with pytest.raises(errors.Corruption) as caught:
        Store(directory)
    assert caught.value.details["file"] == "catalog.db"
    assert path.stat().st_size == size


def test_snapshot_that_is_not_sound_is_no_snapshot(made: Made, tmp_path: Path) -> None:
    directory = made.copied("closed", tmp_path / "data")
    data = file_of(directory).read_bytes()
    place = data.index(b"Box 7 stands")
    file_of(directory).write_bytes(data[:place] + b"Bag" + data[place + 3 :])
    with opened(directory) as store:
        with pytest.raises(errors.Corruption) as caught:
            snapshot(store)
        assert "no snapshot of collection 'default' was taken" in caught.value.message
        assert "Bag" not in caught.value.message, "an error quotes no memory"
        assert not list(store.engine.snapshots.kept.files.all())
    assert not list(directory.glob("snapshots/*/*"))


def test_page_that_sqlite_never_writes_is_not_missed(tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.execute("CREATE TABLE row (text TEXT)")
    connection.close()
    count = LOCK_BYTE // PAGE + 2
    header = bytearray(path.read_bytes()[:PAGE])
    header[28:32] = count.to_bytes(4, "big")
    with path.open("r+b") as file:
        file.write(header)
        file.truncate((count - 2) * PAGE)  # to the byte that is locked
    last = wal.LogScan(2, page_bytes=PAGE, page_count=count, pages=wal._words(b"", "<u4"))
    with pytest.raises(errors.Corruption, match="1 of them"):
        length.check(path, last)
    with path.open("r+b") as file:
        file.truncate(count * PAGE)
    length.check(path, last)
