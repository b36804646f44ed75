"""Damaged pages of SQLite's indexes: found after each opening, said, and made anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from compat.make_data import fill, vector
from support.engines import (
    EVERY_STATUS,
    FakeClock,
    Store,
    dismiss,
    episode,
    forget,
    link,
    merge,
    opened,
    undo,
)
from support.likelihood import Likelihood
from support.misfits import put
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.queries import (
    AsOf,
    EpisodesQuery,
    HistoryQuery,
    ListQuery,
    OperationFilter,
    OperationsQuery,
)
from totonoe_core.domain.records import ANY_TIME
from totonoe_core.engine.jobs.verify import Pace, Verifier
from totonoe_core.store.sqlite import index_checks
from totonoe_core.store.sqlite.inspection import inspect
from totonoe_core.store.sqlite.schema import COLLECTION_TABLES, open_reader

STEPS_MAX = 500
LEAF = 10  # first byte of a leaf page of an index
INDEXES = [
    line.split(" ON ")[0].split()[-1]
    for line in COLLECTION_TABLES.splitlines()
    if " INDEX " in line
]
AUTOMATIC = ["sqlite_autoindex_memory_1", "sqlite_autoindex_reply_1"]


PLACE = vector(1, 0, 0, 1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, Any]:
    """A directory, the time of its clock, and what is told of it."""
    path = tmp_path_factory.mktemp("made") / "data"
    with opened(path, client_vector_dimension=4) as store:
        fill(store)
        boxes = [
            store.save(f"Box {number}", external_id=f"box-{number}", force=True, vector=PLACE)
            for number in range(60)
        ]
        for number in range(4):
            store.do(forget(boxes[number]))
            store.do(dismiss(boxes[number + 10], boxes[number + 20]))
            store.do(merge(boxes[number + 30], boxes[number + 40]))
            store.do(episode(f"Day {number}", boxes[50]))
            store.apply(link(boxes[50], boxes[number + 51]), operation_id=f"link-{number}")
            store.do(undo(f"link-{number}"))
        with pytest.MonkeyPatch.context() as patch:
            likelihood = Likelihood(patch)
            for number in range(3):
                likelihood.say(f"Crate {number}", f"Chest {number}", 0.9)
                for what in ("Crate", "Chest"):
                    store.save(f"{what} {number}", vector=vector(0, 1, number, 0))
        store.reopen()
        return path, store.clock.now_us, seen(store)


def seen(store: Store) -> Any:
    """What goes by indexes: lists, histories, operations, external ids, episodes, the past."""
    engine, memories = store.engine, store.list()
    return (
        memories,
        [
            engine.read("default", HistoryQuery("anna", memory.id, 100, "")).result(wait_s())
            for memory in memories[::10]
        ],
        engine.read("default", OperationsQuery("anna", OperationFilter(), 200, "")).result(
            wait_s()
        ),
        [store.one(f"ext:box-{number}") for number in range(4, 10)],
        engine.read("default", EpisodesQuery("anna", ANY_TIME, "", 100, "")).result(wait_s()),
        engine.read("default", ListQuery("anna", EVERY_STATUS, 200, "", as_of=AsOf(40))).result(
            wait_s()
        ),
    )


def file_of(path: Path) -> Path:
    return next(path.glob("collections/*/memory.db"))


class Page:
    """A leaf page of an index in a file that nobody has open."""

    def __init__(self, path: Path, index: str) -> None:
        self.path = path
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        size = int(connection.pragma("page_size"))
        root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (index,)).get
        connection.close()
        self.data = bytearray(path.read_bytes())
        self.at = (int(root) - 1) * size
        while self.data[self.at] != LEAF:
            cell = self.at + self._number(12)  # of an inner page; its first child
            self.at = (int.from_bytes(self.data[cell : cell + 4], "big") - 1) * size
        self.size = size
        self.count = self._number(3)

    def _number(self, at: int) -> int:
        return int.from_bytes(self.data[self.at + at : self.at + at + 2], "big")

    def put(self, at: int, data: bytes) -> None:
        self.data[self.at + at : self.at + at + len(data)] = data
        self.path.write_bytes(self.data)

    def cell(self, number: int) -> int:
        """Where an entry begins in the page."""
        return self._number(8 + 2 * number)


def lose_an_entry(page: Page) -> None:
    page.put(3, (page.count - 1).to_bytes(2, "big"))


def double_an_entry(page: Page) -> None:
    page.put(10, page.cell(0).to_bytes(2, "big"))


def exchange_entries(page: Page) -> None:
    first, last = page.cell(0), page.cell(page.count - 1)
    page.put(8, last.to_bytes(2, "big"))
    page.put(8 + 2 * (page.count - 1), first.to_bytes(2, "big"))


def change_a_key(page: Page) -> None:
    """The last bit of an entry: of the number of its row, or of a part of its key."""
    begin = page.cell(page.count // 2)
    end = begin + page.data[page.at + begin]
    page.put(end, bytes([page.data[page.at + end] ^ 1]))


DAMAGES = [lose_an_entry, double_an_entry, exchange_entries, change_a_key]


def compared(store: Store) -> Verifier:
    """The look at the indexes that comes at each opening, to its end."""
    verifier: Verifier = store.engine._collections.opened("default").result(wait_s()).verifier
    for _ in range(STEPS_MAX):
        if verifier._comparison.ended:
            return verifier
        verifier.step(Pace(share=1.0))
    raise AssertionError("a look that does not end")


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("index", INDEXES + AUTOMATIC)
def test_damaged_page_of_an_index_is_said_and_made_anew(
    made: tuple[Path, int, Any], tmp_path: Path, index: str, damage: Callable[[Page], None]
) -> None:
    path, now_us, right = made
    directory = tmp_path / "data"
    shutil.copytree(path, directory)
    page = Page(file_of(directory), index)
    if page.count < 2 and damage is not change_a_key:
        pytest.skip("it has one entry")
    damage(page)
    with opened(directory, clock=FakeClock(now_us), client_vector_dimension=4) as store:
        found = compared(store).figures()
        assert store.stats().verified == found
        assert (found.reindexed_count, found.damage_count) == (1, 0)
        assert seen(store) == right
    assert not any(table.findings for table in inspect(directory))


@pytest.mark.parametrize("index", INDEXES + AUTOMATIC)
def test_page_that_is_none_of_an_index_any_more_is_said(
    made: tuple[Path, int, Any], tmp_path: Path, index: str
) -> None:
    """SQLite cannot even take it away, so that the index stays as it is."""
    path, now_us, _ = made
    shutil.copytree(path, tmp_path / "data")
    page = Page(file_of(tmp_path / "data"), index)
    page.put(0, bytes(page.size))
    with opened(tmp_path / "data", clock=FakeClock(now_us), client_vector_dimension=4) as store:
        if index == "memory_by_revision":
            # The memories are counted by it when the collection is opened.
            with pytest.raises(errors.Corruption):
                store.stats()
        else:
            found = compared(store).figures()
            assert (found.reindexed_count, found.damage_count) == (0, 1)
            assert store.stats().verified == found
    assert any(table.findings for table in inspect(tmp_path / "data"))


def test_sound_indexes_are_left_alone_while_others_write(
    made: tuple[Path, int, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now_us, _ = made
    shutil.copytree(path, tmp_path / "data")
    monkeypatch.setattr("totonoe_core.base.limits.VERIFY_STEP_ROWS", 20)
    with opened(tmp_path / "data", clock=FakeClock(now_us), client_vector_dimension=4) as store:
        verifier = store.engine._collections.opened("default").result(wait_s()).verifier
        for number in range(STEPS_MAX):
            if verifier._comparison.ended:
                break
            store.save(f"Beside {number}", external_id=f"b-{number}", force=True, vector=PLACE)
            verifier.step(Pace(share=1.0))
        assert verifier._comparison.ended
        assert number > 20
        assert verifier.figures().reindexed_count == 0


def test_damaged_row_is_no_fault_of_its_indexes(
    made: tuple[Path, int, Any], tmp_path: Path
) -> None:
    path, now_us, _ = made
    shutil.copytree(path, tmp_path / "data")
    assert put(file_of(tmp_path / "data"), "memory", 3, "id", "mem_0123456789abcdef")
    with opened(tmp_path / "data", clock=FakeClock(now_us), client_vector_dimension=4) as store:
        found = compared(store).figures()
        assert (found.reindexed_count, found.damage_count) == (0, 0)
        assert found.bad_row_counts == {"memory": 1}


def test_every_statement_goes_by_the_index_that_it_looks_at(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.save("text")
        path = store.file()
    connection = open_reader(path)
    for walk in index_checks._WALKS:
        plan = " ".join(
            str(line[3])
            for line in connection.execute(
                f"EXPLAIN QUERY PLAN {walk.select} WHERE {walk.where} "
                f"ORDER BY {', '.join(walk.key)}"
            )
        )
        assert "TEMP B-TREE" not in plan, f"{walk.table}: {plan}"
        # Only the way itself goes through all; every other look finds its place.
        assert plan.count("SCAN") <= 1, f"{walk.table}: {plan}"
    connection.close()
