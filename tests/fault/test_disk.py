"""A disk that is full, flipped bits, cut files, other formats, two daemons on one directory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.engines import (
    FakeClock,
    Store,
    forget,
    link,
    opened,
    remember,
    update,
    vector_of,
)
from support.processes import child
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.collections import NewCollection
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.queries import ListQuery, RecallQuery
from totonoe_core.engine.embedded import EmbeddedEngine
from totonoe_core.store.sqlite.lockfile import DataDirBusy, DataDirLock
from totonoe_core.store.sqlite.schema import FORMAT
from totonoe_core.store.sqlite.store import SqliteStore


def test_disk_full_is_read_only_until_there_is_room(tmp_path: Path) -> None:
    with child("full", tmp_path) as writer:
        code = writer.end()
        said = writer.said
    assert code == 0, said
    refused, reads, state, recovered, later, (_, saved) = said
    assert refused[:3] == ["refused", "READ_ONLY", "ReadOnly"]
    count = refused[3] + 1  # and the one from before
    assert count > 3, "some were saved before the limit"
    assert reads == ["reads", count, [saved[0]]]
    assert state == ["state", "read-only", count]
    assert recovered == ["recovered", False, True, count + 1]
    assert later == ["state", "serving"]
    with opened(tmp_path) as store:
        assert [memory.id for memory in store.get(*saved).memories] == saved
        assert store.revision == len(saved)


def flip(path: Path, needle: bytes, at: int = 0) -> None:
    """Turns one bit where the needle lies in a file; it must be there once at least."""
    data = bytearray(path.read_bytes())
    place = data.index(needle) + at
    data[place] ^= 1
    path.write_bytes(data)


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A directory with two linked memories, its log written back into the file."""
    with opened(tmp_path) as store:
        one = store.save("first needle text", external_id="x1")
        two = store.save("a needle in the north")
        store.do(link(one, two, confidence=0.5, note="needle of the link"))
        store.apply(remember("first needle text"), operation_id="needle-op")
    return tmp_path


def file_of(directory: Path) -> Path:
    return next((directory / "collections").glob("*/memory.db"))


@pytest.mark.parametrize(
    "needle",
    [b"a needle in the north", vector_of("a needle in the north").tobytes()],
    ids=["text", "vector"],
)
def test_flipped_bit_in_a_memory_is_corruption_for_it_alone(closed: Path, needle: bytes) -> None:
    with opened(closed) as store:
        first, second = (memory.id for memory in store.list())
    flip(file_of(closed), needle, 5)
    with opened(closed) as store:
        assert [memory.id for memory in store.list()] == [first]
        found = store.recall(RecallQuery("anna", "needle"))
        assert [hit.memory.id for hit in found.hits] == [first]
        assert store.stats().verified.bad_row_counts == {"memory": 1}
        assert store.stats().verified.bad_memory_ids == (second,)
        with pytest.raises(errors.Corruption) as caught:
            store.get(second)
        assert caught.value.reason == "CORRUPT_ROW"
        assert caught.value.details["table"] == "memory"
        assert "needle" not in str(caught.value), "an error quotes no memory"


def test_flipped_bit_in_a_link_leaves_it_out_and_is_counted(closed: Path) -> None:
    flip(file_of(closed), b"needle of the link", 3)
    with opened(closed) as store:
        holder, other = sorted(store.list(), key=lambda one: len(one.links))
        assert (len(holder.links), len(other.links)) == (0, 1)
        assert store.stats().verified.bad_row_counts == {"link": 1}
        with pytest.raises(errors.Corruption) as caught:
            store.do(forget(holder.id))
        assert caught.value.details["table"] == "link"
        assert store.stats().active_count == 2


def test_flipped_bit_in_a_kept_answer_is_corruption_and_no_second_save(closed: Path) -> None:
    flip(file_of(closed), b"needle-op", 30)
    with opened(closed) as store:
        before = store.revision
        with pytest.raises(errors.Corruption) as caught:
            store.apply(remember("first needle text"), operation_id="needle-op")
        assert caught.value.details["table"] == "reply"
        assert store.revision == before
        assert store.do(remember("third")).saved, "others are not harmed"


def test_flipped_bit_in_the_settings_is_corruption(closed: Path) -> None:
    flip(file_of(closed), b'"name":"default"', 9)
    with opened(closed) as store, pytest.raises(errors.Corruption):
        store.revision  # noqa: B018


def test_flipped_bit_in_the_catalogue_is_corruption(tmp_path: Path) -> None:
    def create(engine: EmbeddedEngine) -> Any:
        return engine.create_collection(
            NewCollection("shop", description="needle of the answer", client_vector_dimension=4),
            "needle-op",
            agent_id="anna",
        ).result(wait_s())

    with opened(tmp_path) as store:
        create(store.engine)
    good = (tmp_path / "catalog.db").read_bytes()
    flip(tmp_path / "catalog.db", b"needle of the answer")
    with opened(tmp_path) as store, pytest.raises(errors.Corruption):
        create(store.engine)
    (tmp_path / "catalog.db").write_bytes(good.replace(b"shop", b"shoq"))
    with pytest.raises(errors.Corruption):
        EmbeddedEngine(SqliteStore(tmp_path), embedding=None, clock=FakeClock())


def test_flipped_bit_while_it_is_open_is_corruption_for_that_row_only(tmp_path: Path) -> None:
    """The writer's connection changes the row; only the checksum can tell."""
    for number, meet in enumerate(
        (
            lambda store, bad: store.get(bad),
            lambda store, _: store.list(),
            lambda store, bad: store.do(update(bad, importance=1)),
            lambda store, _: store.recall(RecallQuery("anna", "bad")),
        )
    ):
        with opened(tmp_path / str(number)) as store:
            bad = store.save("bad row")
            good = store.save("good row")
            other = apsw.Connection(str(store.file()))
            other.execute("UPDATE memory SET content = 'Bad row' WHERE id = ?", (bad,))
            other.close()
            with pytest.raises(errors.Corruption):
                meet(store, bad)
            # Who meets it is told; the writer sets it aside, and the others go on.
            for _ in range(2):
                stats = store.stats()
            assert stats.verified.bad_row_counts == {"memory": 1}
            assert [memory.id for memory in store.list()] == [good]
            with pytest.raises(errors.Corruption):
                store.get(bad)
            with pytest.raises(errors.Corruption):
                store.do(update(bad, importance=1))
            assert store.do(remember("third row")).saved


def test_damaged_page_is_corruption(closed: Path) -> None:
    path = file_of(closed)
    data = bytearray(path.read_bytes())
    data[4096:8192] = os.urandom(4096)
    path.write_bytes(data)
    with opened(closed) as store, pytest.raises(errors.Corruption):
        store.list()


@pytest.mark.parametrize("keep", [0, 10, 100])
def test_file_that_is_no_database_is_corruption(closed: Path, keep: int) -> None:
    path = file_of(closed)
    path.write_bytes(path.read_bytes()[:keep] + b"not a database at all" * 50)
    with opened(closed) as store, pytest.raises(errors.Corruption):
        store.list()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.95, 1.0])
def test_log_that_is_cut_gives_an_earlier_state_and_none_between(
    tmp_path: Path, share: float
) -> None:
    store = Store(tmp_path / "a")
    store.save("text 1")
    for number in range(2, 12):
        # Two rows and two links in each operation: all or nothing of them.
        base = vector_of("base")
        store.apply(
            remember(f"text {number}", vector=base),
            remember(f"more {number}", vector=base, external_id=f"x{number}"),
        )
    # As a crash leaves it: copied while the engine still has it open.
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    store.close()
    log = file_of(tmp_path / "b").with_name("memory.db-wal")
    size = log.stat().st_size
    assert size > 0
    os.truncate(log, int(size * share))
    if share == 0.0:
        # Then not even the tables or the settings are sure to be there.
        with opened(tmp_path / "b") as cut:
            try:
                assert cut.revision == len(cut.list()) == 0
            except errors.Corruption:
                return
            return
    with opened(tmp_path / "b") as cut:
        memories = cut.list()
        revision = cut.revision
        assert revision <= 11
        assert share < 1.0 or revision == 11
        assert len(memories) == (2 * revision - 1 if revision else 0)
        assert {memory.revision for memory in memories} == set(range(1, revision + 1))
        by_id = {memory.id: memory for memory in memories}
        for memory in memories:
            for link in memory.links:
                assert memory.id in {back.target_id for back in by_id[link.target_id].links}
        if revision == 11:
            assert cut.do(remember("goes on")).saved
            assert cut.revision == revision + 1
            return
        # What was acknowledged is missed, and named.
        assert cut.stats().verified.lost_revisions == f"{revision + 1}-11"
        with pytest.raises(errors.CommitsLost):
            cut.do(remember("goes on"))


@pytest.mark.parametrize("name", ["memory.db", "catalog.db"])
def test_file_of_a_newer_format_is_refused_and_not_touched(closed: Path, name: str) -> None:
    path = closed / name if name == "catalog.db" else file_of(closed)
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", FORMAT + 1)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(errors.UnsupportedFormat) as caught, opened(closed) as store:
        store.list()
    assert caught.value.reason == "UNSUPPORTED_FORMAT"
    assert path.read_bytes() == before


def test_file_of_another_program_is_refused_and_not_touched(closed: Path) -> None:
    path = file_of(closed)
    for file in path.parent.iterdir():
        file.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    before = path.read_bytes()
    with opened(closed) as store, pytest.raises(errors.UnsupportedFormat):
        store.list()
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_file_that_is_gone_is_not_taken_for_an_empty_collection(closed: Path) -> None:
    file_of(closed).unlink()
    with opened(closed) as store, pytest.raises(errors.Corruption):
        store.list()


def test_directory_that_cannot_be_written_is_read_only(tmp_path: Path) -> None:
    blocked = tmp_path / "data"
    (blocked / "catalog.db").mkdir(parents=True)
    with pytest.raises(errors.ReadOnly):
        EmbeddedEngine(SqliteStore(blocked), embedding=None)


def test_lock_that_is_held_names_pid_and_address(tmp_path: Path) -> None:
    with child("lock", tmp_path) as holder:
        holder.listen(1)
        lock = DataDirLock(tmp_path)
        with pytest.raises(DataDirBusy) as caught:
            lock.acquire("127.0.0.1:1")
        pid = str(holder.process.pid)
        assert caught.value.details == {"pid": pid, "address": "127.0.0.1:7766"}
        assert pid in caught.value.message
        assert "127.0.0.1:7766" in caught.value.message
        holder.kill()
        lock.acquire("127.0.0.1:2")  # it goes with its holder
    with pytest.raises(DataDirBusy) as caught:
        DataDirLock(tmp_path).acquire("127.0.0.1:3")
    assert caught.value.details == {"pid": str(os.getpid()), "address": "127.0.0.1:2"}
    lock.release()
    lock.release()
    again = DataDirLock(tmp_path)
    again.acquire("127.0.0.1:4")
    again.release()


def test_data_directory_is_for_its_owner_only(tmp_path: Path) -> None:
    with opened(tmp_path / "data") as store:
        store.save("text")
        assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "data" / "collections").stat().st_mode & 0o777 == 0o700
        page = store.read(ListQuery("anna", Filter(), 10, ""))
        assert len(page.memories) == 1


@pytest.mark.parametrize("empty", [False, True])
def test_catalogue_that_is_gone_is_not_taken_for_a_new_one(closed: Path, empty: bool) -> None:
    catalogue = closed / "catalog.db"
    kept = catalogue.read_bytes()
    catalogue.unlink()
    if empty:
        catalogue.touch()
    with pytest.raises(errors.Corruption, match=r"bring (the catalogue|it and its log) back"):
        Store(closed)
    for part in closed.glob("catalog.db*"):
        part.unlink()
    catalogue.write_bytes(kept)
    with opened(closed) as store:
        assert [memory.content for memory in store.list()] == [
            "first needle text",
            "a needle in the north",
        ]
