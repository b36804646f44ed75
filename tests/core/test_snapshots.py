"""Snapshots: what is taken is what was there, and what is restored is that again."""

from __future__ import annotations

import contextlib
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.engines import (
    EVERY_STATUS,
    HOUR_US,
    FakeClock,
    Store,
    change,
    contents,
    forget,
    link,
    opened,
    update,
)
from support.kept import FILES
from support.snapshots import listed, restore
from support.waits import wait_s
from totonoe_core.base import limits
from totonoe_core.base.errors import (
    AlreadyExists,
    Corruption,
    InvalidArgument,
    NotConfirmed,
    NotFound,
    Quota,
    ReadOnly,
    Unavailable,
    UndoRefused,
    UnsupportedFormat,
)
from totonoe_core.domain.collections import NewCollection
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import AsOf, ListQuery
from totonoe_core.domain.records import ModelIdentity
from totonoe_core.domain.snapshots import Snapshot, SnapshotSchedule, SnapshotUse
from totonoe_core.domain.undo import Undo
from totonoe_core.engine.catalog import restoring
from totonoe_core.engine.catalog.file_snapshots import adopt
from totonoe_core.store import seam
from totonoe_core.store.sqlite import snapshot as snapshot_module
from totonoe_core.store.sqlite.collection_file import CollectionFile
from totonoe_core.store.sqlite.schema import FORMAT
from totonoe_core.store.sqlite.snapshot import FileCopy, examine, seal
from totonoe_core.store.sqlite.store import SqliteStore

COMPAT = Path(__file__).parents[1] / "compat" / "data"


Keep = Callable[[Path], seam.Store]


@pytest.fixture
def keep(kept_in: str) -> Keep:
    """What makes the store at a directory."""
    if kept_in == FILES:
        return SqliteStore
    from support.postgres import store_at

    return store_at


@pytest.fixture
def store(tmp_path: Path, keep: Keep) -> Iterator[Store]:
    """An empty collection of an engine over the store of the test."""
    with opened(tmp_path, keep=keep) as made:
        yield made


def create(store: Store, operation_id: str = "", **more: Any) -> Snapshot:
    more = {"agent_id": "anna", "name": "", "comment": ""} | more
    collection = more.pop("collection", store.collection)
    return store.engine.create_snapshot(collection, operation_id, **more).result(wait_s()).snapshot


def tables(path: Path) -> dict[str, list[Any]]:
    """All rows of all tables, but for what a snapshot or its new name changes."""
    connection = apsw.Connection(
        path.as_uri() + "?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    try:
        names = [
            n for (n,) in connection.execute("SELECT name FROM sqlite_schema WHERE type='table'")
        ]
        return {
            name: sorted(
                (
                    row
                    for row in connection.execute(f"SELECT * FROM {name}")
                    if not (
                        name == "setting" and row[0] in ("snapshot", "collection", "batch", "uid")
                    )
                ),
                key=repr,
            )
            for name in names
        }
    finally:
        connection.close()


def file_of(store: Store, name: str) -> Path:
    return store.engine._collections.names.catalog.path(store.engine._collections.names.uid(name))


def filled(store: Store, count: int = 40) -> list[str]:
    ids = [store.save(f"note {n} about pump {n * 7}", tags=("t",)) for n in range(count)]
    store.do(link(ids[0], ids[1]))
    store.do(update(ids[2], content="the valve was changed"), operation_id="op-update")
    return ids


def purge(store: Store, *ids: str) -> None:
    store.do(Purge("anna", ids))


def about(store: Store, ids: list[str], use: SnapshotUse, dry_run: bool = False) -> Any:
    return store.engine.purge_snapshots(store.collection, "anna", ids, use, dry_run=dry_run).result(
        wait_s()
    )


def texts_of(store: Store, name: str) -> set[str]:
    page = store.engine.read(name, ListQuery("anna", EVERY_STATUS, 1000, "")).result(wait_s())
    return {memory.content for memory in page.memories}


def holding(root: Path, text: str) -> list[str]:
    """Files anywhere below that hold the bytes of a text."""
    return [
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and text.encode() in path.read_bytes()
    ]


def kept(store: Store, below: str, text: str) -> list[str]:
    """Files of a data directory, or lines of a dump of the database, that hold a text."""
    if store.kept.copies is not None:
        return holding(store.path / below, text)
    from support.postgres import dumped, store_url

    # The rows of a snapshot have its id as their uid.
    begin = "snap_" if below else ""
    lines = dumped(store_url(store.path)).splitlines()
    return [line for line in lines if text in line and line.startswith(begin)]


def test_restored_is_equal_to_the_source_in_every_row(store: Store) -> None:
    filled(store)
    snapshot = create(store, name="first", comment="before")
    assert (snapshot.revision, snapshot.active_count) == (store.revision, 40)
    path = store.engine.snapshots.kept.files.path(snapshot)
    found = examine(path)
    assert found.faults == ()
    assert sorted(file.name for file in path.parent.iterdir()) == [
        f"{snapshot.id}.json",
        f"{snapshot.id}.snapshot",
    ]
    assert path.read_bytes()[18:20] == bytes([1, 1]), "it needs no log beside it"
    answer = restore(store, snapshot, "other")
    assert answer.restored
    assert answer.collection.name == "other"
    assert tables(file_of(store, "other")) == tables(file_of(store, store.collection))
    # Also what is kept of answers.
    store.collection = "other"
    assert store.apply(
        update(store.list()[2].id, content="the valve was changed"), operation_id="op-update"
    ).replayed


@pytest.mark.both_stores
def test_restored_is_equal_to_the_source(store: Store) -> None:
    ids = filled(store)
    before = contents(store)
    snapshot = create(store, name="first", comment="before")
    assert (snapshot.revision, snapshot.active_count) == (store.revision, 40)
    assert (snapshot.name, snapshot.comment, snapshot.collection) == ("first", "before", "default")
    store.do(forget(ids[5]))
    answer = restore(store, snapshot, "other")
    assert answer.restored
    assert answer.collection.name == "other"
    store.collection = "other"
    after = contents(store)
    assert after.pop("settings") == replace(before.pop("settings"), name="other")
    assert after == before
    # Also what is kept of answers, and what an Undo needs.
    changed = update(ids[2], content="the valve was changed")
    assert store.apply(changed, operation_id="op-update").replayed
    store.do(Undo("anna", operation_id="op-update"))
    assert store.one(ids[2]).content == "note 2 about pump 14"


@pytest.mark.both_stores
def test_snapshot_while_many_write_is_a_prefix_of_the_history(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(store)
    monkeypatch.setattr(limits, "SNAPSHOT_STEP_MS", 0)
    monkeypatch.setattr(snapshot_module, "_PAGES_AT_ONCE", 1)
    done = threading.Event()

    def write(number: int) -> int:
        for count in range(400):
            if done.is_set():
                break
            saved = store.save(f"writer {number} says {count} of {count * number}")
            if count % 3 == 0:
                store.do(update(saved, importance=1 + count % 5))
            if count % 5 == 0:
                store.do(forget(saved))
        return count

    with ThreadPoolExecutor(8) as pool:
        writers = [pool.submit(write, number) for number in range(8)]
        before = store.revision
        snapshot = create(store)
        done.set()
        counts = [writer.result(wait_s()) for writer in writers]
    assert before < snapshot.revision < store.revision, counts
    assert restore(store, snapshot, "other").restored
    if store.kept.copies is not None:
        there, source = (tables(file_of(store, name)) for name in ("other", store.collection))
        upto = [row for row in source["operation"] if row[0] <= snapshot.revision]
        assert there["operation"] == upto
        assert [row[0] for row in sorted(upto)] == list(range(1, snapshot.revision + 1))
    then = store.read(ListQuery("anna", EVERY_STATUS, 1000, "", as_of=AsOf(snapshot.revision)))
    now = store.engine.read("other", ListQuery("anna", EVERY_STATUS, 1000, "")).result(wait_s())
    plainly = [[replace(memory, links=()) for memory in page.memories] for page in (then, now)]
    assert plainly[0] == plainly[1]


def test_operation_rolled_back_meanwhile_does_not_spoil_the_copy(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = filled(store)
    monkeypatch.setattr(limits, "SNAPSHOT_STEP_MS", 0)
    monkeypatch.setattr(snapshot_module, "_PAGES_AT_ONCE", 1)
    made = store.engine.create_snapshot(store.collection, "", agent_id="anna", name="", comment="")
    failed = 0
    while not made.done():
        with contextlib.suppress(NotFound):
            store.apply(update(ids[5], importance=2), forget("mem_" + "0" * 16))
        failed += 1
    assert failed
    assert examine(store.engine.snapshots.kept.files.path(made.result().snapshot)).faults == ()


def test_copy_begun_anew_over_and_over_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_STEP_MS", 0)
    source = apsw.Connection(str(tmp_path / "a.db"))
    source.execute("CREATE TABLE t (a, b)")
    source.pragma("journal_mode", "wal")
    source.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 400) "
        "INSERT INTO t SELECT i, randomblob(3000) FROM n"
    )
    copy = FileCopy(source, tmp_path / "copy")
    with pytest.raises(Unavailable, match="begun anew"):
        for _ in range(10_000):
            assert not copy.step()
            source.execute("BEGIN; UPDATE t SET a = 0 WHERE rowid = 1; ROLLBACK")
    copy.close()


@pytest.mark.parametrize("step_ms", [0, 4])
def test_writers_cannot_outrun_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_ms: int
) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_STEP_MS", step_ms)
    monkeypatch.setattr(limits, "SNAPSHOT_STEPS_MAX", 20)
    source = apsw.Connection(str(tmp_path / "a.db"))
    source.execute("CREATE TABLE t (a, b)")
    source.pragma("journal_mode", "wal")

    def grow(count: int) -> int:
        source.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?) "
            "INSERT INTO t SELECT i, randomblob(5000) FROM n",
            (count,),
        )
        return int(source.pragma("page_count"))

    begun_count = page_count = grow(1000)
    copy = FileCopy(source, tmp_path / "copy")
    while not copy.step():
        # More than a step copies by its time alone, and pages that are copied already.
        page_count = grow(200)
        source.execute("UPDATE t SET a = a + 1 WHERE rowid % 50 = 0")
    copy.close()
    assert copy.step_count <= 20
    assert begun_count < copy.copied_count < page_count + 32 * (copy.step_count + 1)
    made = apsw.Connection(str(tmp_path / "copy"))
    both = [
        list(connection.execute("SELECT a, b FROM t ORDER BY rowid"))
        for connection in (source, made)
    ]
    assert both[0] == both[1]


def test_disk_full_leaves_nothing_and_writers_go_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(store)
    connect = apsw.Connection

    def small(path: str, *rest: Any, **more: Any) -> apsw.Connection:
        made = connect(path, *rest, **more)
        if path.endswith(".tmp"):
            made.pragma("max_page_count", 5)
        return made

    monkeypatch.setattr(apsw, "Connection", small)
    with pytest.raises(ReadOnly, match="full"):
        create(store)
    assert not list(store.path.rglob("snap_*"))
    store.save("written after it")
    monkeypatch.undo()
    assert create(store).revision == store.revision


@pytest.mark.both_stores
def test_idempotent_by_operation_id_also_where_its_answer_was_not_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(store, 3)

    def lost(*_: Any, **__: Any) -> None:
        raise ReadOnly("READ_ONLY", "the catalogue cannot be written")

    with monkeypatch.context() as patch:
        patch.setattr(store.engine._collections.names, "keep", lost)
        with pytest.raises(ReadOnly):
            create(store, "op-1")
    first = create(store, "op-1")
    assert create(store, "op-1") == first
    assert listed(store) == [first]
    with pytest.raises(AlreadyExists, match="op-1"):
        create(store, "op-1", name="other")


@pytest.mark.both_stores
def test_list_pages_newest_first_and_says_what_the_collection_is_called_now(
    tmp_path: Path, keep: Keep
) -> None:
    clock = FakeClock()
    with opened(tmp_path, clock=clock, keep=keep) as store:
        store.save("one")
        made = []
        for _ in range(5):
            clock.advance(HOUR_US)
            made.append(create(store))
        store.engine.create_collection(
            NewCollection("b", client_vector_dimension=8), "", agent_id="anna"
        ).result(wait_s())
        clock.advance(HOUR_US)
        other = create(store, collection="b")
        assert listed(store) == [other, *reversed(made)]
        found, token = [], ""
        for _ in range(3):
            page = store.engine.list_snapshots(store.collection, 2, token).result(wait_s())
            found += [snapshot.snapshot for snapshot in page.snapshots]
            token = page.next_page_token
        assert found == list(reversed(made))
        assert not token
        store.engine.delete_collection("b", "", agent_id="anna").result(wait_s())
        page = store.engine.list_snapshots("", 1, "").result(wait_s())
        assert [snapshot.collection_now for snapshot in page.snapshots] == [""]
        assert restore(store, other, "b").restored


@pytest.mark.both_stores
def test_bounds(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.save("one")
    for wrong in ({"name": "No Name"}, {"comment": "x" * 1025}):
        with pytest.raises(InvalidArgument):
            create(store, **wrong)
    with pytest.raises(InvalidArgument):
        store.engine.delete_snapshot("../x", "", agent_id="anna")
    with pytest.raises(NotFound):
        create(store, collection="nowhere")
    monkeypatch.setattr(limits, "SNAPSHOTS_PER_COLLECTION_MAX", 1)
    create(store)
    with pytest.raises(Quota):
        create(store)


# -- Restore


@pytest.mark.both_stores
def test_restore_over_takes_a_token_for_just_this(store: Store) -> None:
    filled(store, 3)
    first, second = create(store), create(store)
    store.save("later")
    asked = restore(store, first, store.collection)
    assert (asked.restored, asked.replaced_revision) == (False, store.revision)
    assert asked.replaced_active_count == 4
    for snapshot, into, token in (
        (second, store.collection, asked.confirmation_token),
        (first, store.collection, "0" * 32),
        (first, "free", asked.confirmation_token),
    ):
        with pytest.raises(NotConfirmed):
            restore(store, snapshot, into, token)
    store.save("later still")
    with pytest.raises(NotConfirmed):
        restore(store, first, store.collection, asked.confirmation_token)
    assert len(store.list()) == 5
    assert not list((store.path / "collections").glob("*.tmp"))


@pytest.mark.both_stores
def test_write_between_look_and_swap_is_not_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(store, 3)
    snapshot = create(store)
    token = restore(store, snapshot, store.collection).confirmation_token
    original = restoring.Restoring._replaced

    def slow(*given: Any) -> tuple[int, int]:
        found = original(*given)
        store.save("in between")
        return found

    monkeypatch.setattr(restoring.Restoring, "_replaced", slow)
    with pytest.raises(NotConfirmed):
        restore(store, snapshot, store.collection, token)
    assert "in between" in texts_of(store, store.collection)


@pytest.mark.both_stores
def test_restore_over_is_undone_and_done_again(store: Store) -> None:
    filled(store, 3)
    snapshot = create(store)
    store.save("later")
    token = restore(store, snapshot, store.collection).confirmation_token
    done = restore(store, snapshot, store.collection, token, "op-restore")
    assert restore(store, snapshot, store.collection, token, "op-restore").replayed
    assert "later" not in texts_of(store, store.collection)
    store.save("in the restored one")

    def undo(target: str, operation_id: str) -> Any:
        return store.restore_collection(store.collection, target, operation_id=operation_id)

    info, operation_id, replayed = undo("op-restore", "op-undo")
    assert (info.revision, operation_id, replayed) == (done.replaced_revision, "op-undo", False)
    assert undo("op-restore", "op-undo") == (info, "op-undo", True)
    assert "later" in texts_of(store, store.collection)
    with pytest.raises(UndoRefused):
        undo("op-restore", "")
    undo("op-undo", "op-again")
    store.reopen()
    assert "in the restored one" in texts_of(store, store.collection)
    assert "later" not in texts_of(store, store.collection)


@pytest.mark.both_stores
def test_restore_into_a_new_name_is_undone(store: Store) -> None:
    filled(store, 3)
    snapshot = create(store)
    restore(store, snapshot, "other", operation_id="op-restore")
    store.restore_collection("other", "op-restore", operation_id="op-undo")
    with pytest.raises(NotFound):
        texts_of(store, "other")
    store.restore_collection("other", "op-undo")
    assert len(texts_of(store, "other")) == 3


@pytest.mark.both_stores
def test_undo_of_settings_in_a_restored_one_keeps_its_name(store: Store) -> None:
    store.save("one")
    store.apply(change(("description", "new")), operation_id="op-settings")
    restore(store, create(store), "other")
    store.collection = "other"
    store.do(Undo("anna", operation_id="op-settings"))
    info = store.engine.get_collection("other").result(wait_s())
    assert (info.name, info.description) == ("other", "")


# -- Damage


def test_every_cut_and_flip_is_refused_and_told(store: Store) -> None:
    filled(store, 6)
    snapshot = create(store)
    path = store.engine.snapshots.kept.files.path(snapshot)
    whole = path.read_bytes()
    good = tables(path)
    said = [at for at, byte in enumerate(whole) if byte]
    generator = random.Random(7)
    damaged = [whole[: generator.randrange(len(whole))] for _ in range(30)]
    for _ in range(150):
        # Most bytes are in no row and no header.
        at, bit = generator.choice(said), 1 << generator.randrange(8)
        damaged.append(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
    found_count = 0
    for data in damaged:
        path.write_bytes(data)
        try:
            found = examine(path)
        except UnsupportedFormat:
            found_count += 1
            continue
        if found.faults:
            found_count += 1
        else:
            # Harmless: a byte that says nothing. Without its sha256 nothing else tells.
            assert tables(path) == good
    assert found_count > len(damaged) * 0.6
    for data in damaged[::20]:
        path.write_bytes(data)
        with pytest.raises(Corruption):
            restore(store, snapshot, "other")
    assert not list((store.path / "collections").glob("*.tmp"))
    path.write_bytes(whole)
    assert restore(store, snapshot, "other").restored


def test_collections_own_file_is_no_snapshot(store: Store) -> None:
    filled(store, 3)
    store.close()
    assert any("no seal" in fault for fault in examine(store.file()).faults)


def test_file_with_a_trigger_is_refused(store: Store) -> None:
    filled(store, 3)
    path = store.engine.snapshots.kept.files.path(create(store))
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TRIGGER t AFTER INSERT ON memory BEGIN DELETE FROM memory; END")
    connection.close()
    assert any("trigger" in fault for fault in examine(path).faults)


# -- Purge


@pytest.mark.both_stores
def test_purged_memory_does_not_come_back(store: Store) -> None:
    ids = filled(store)
    snapshot = create(store)
    purge(store, ids[3], ids[4])
    answer = restore(store, snapshot, "other")
    assert answer.purged_again_count == 2
    assert "note 3 about pump 21" not in texts_of(store, "other")
    assert len(texts_of(store, "other")) == 38
    # What was purged in what was restored of it counts as well, whichever name it has.
    store.collection = "other"
    purge(store, ids[5])
    assert restore(store, snapshot, "third").purged_again_count == 3
    store.reopen()
    assert len(texts_of(store, "third")) == 37
    if store.kept.copies is not None:
        assert holding(file_of(store, "third").parent, "note 3 about") == []


@pytest.mark.both_stores
def test_purge_just_before_the_name_is_given_counts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = filled(store)
    snapshot = create(store)
    original, seen = restoring.purge_rows, []

    def after_it(*given: Any) -> int:
        count = original(*given)
        if not seen:
            seen.append(purge(store, ids[7]))
        return count

    monkeypatch.setattr(restoring, "purge_rows", after_it)
    assert restore(store, snapshot, "other").purged_again_count == 1
    assert "note 7 about pump 49" not in texts_of(store, "other")


@pytest.mark.both_stores
@pytest.mark.parametrize("use", [SnapshotUse.REWRITE, SnapshotUse.DELETE])
def test_purge_with_snapshots_leaves_no_byte(store: Store, use: SnapshotUse) -> None:
    ids = filled(store, 20)
    secret = store.save("Zanzibar is the password of pump seven")
    for number in range(60):
        store.do(update(ids[number % 20], content=f"note {number} " + "long " * (number % 9)))
    first = create(store)
    store.do(update(secret, content="Zanzibar was the password of pump seven"))
    second = create(store)
    restore(store, first, "copy")
    third = create(store, collection="copy")
    purge(store, secret)
    would = about(store, [secret], use, dry_run=True)
    assert {(item.snapshot.id, item.memory_count) for item in would} == {
        (snapshot.id, 1) for snapshot in (first, second, third)
    }
    assert kept(store, "snapshots", "Zanzibar")
    done = about(store, [secret], use)
    assert len(done) == 3
    assert not kept(store, "snapshots", "Zanzibar")
    assert about(store, [secret], use) == ()
    left = {snapshot.id: snapshot for snapshot in listed(store)}
    if use is SnapshotUse.DELETE:
        assert left == {}
        return
    assert all(item.rewritten for item in done)
    for before in (first, second, third):
        after = left[before.id]
        assert (after.revision, after.purged_count, after.rewrite_count) == (before.revision, 1, 1)
        assert after.sha256 != before.sha256
        if store.kept.copies is not None:
            path = store.engine.snapshots.kept.files.path(after)
            assert path.name == f"{after.id}.1.snapshot"
            assert examine(path).faults == ()
            assert len(list(path.parent.glob(f"{after.id}*"))) == 2
    answer = restore(store, left[first.id], "back")
    assert answer.purged_again_count == 0
    assert len(texts_of(store, "back")) == 20


@pytest.mark.both_stores
def test_purge_reaches_what_was_replaced(store: Store) -> None:
    filled(store, 5)
    secret = store.save("Zanzibar is the password of pump seven")
    snapshot = create(store)
    token = restore(store, snapshot, store.collection).confirmation_token
    restore(store, snapshot, store.collection, token, "op-restore")
    purge(store, secret)
    about(store, [secret], SnapshotUse.DELETE)
    store.restore_collection(store.collection, "op-restore")
    assert len(store.list()) == 5
    store.close()
    assert not kept(store, "", "Zanzibar")


def test_snapshot_of_a_file_that_is_not_cleaned_yet_is_clean(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = filled(store, 30)
    secret = store.save("Zanzibar is the password of pump seven")
    for number in range(60):
        store.do(update(ids[number % 30], content=f"note {number} " + "long " * (number % 9)))
    monkeypatch.setattr(CollectionFile, "clean", lambda _: False)
    purge(store, secret)
    snapshot = create(store)
    assert holding(store.path / "snapshots", "Zanzibar") == []
    assert examine(store.engine.snapshots.kept.files.path(snapshot)).faults == ()


@pytest.mark.both_stores
def test_private_memory_of_another_is_not_looked_for(store: Store) -> None:
    secret = store.save("mine alone", private=True)
    create(store)
    purge(store, secret)
    asked = store.engine.purge_snapshots(
        store.collection, "ben", [secret], SnapshotUse.DELETE, dry_run=False
    )
    assert asked.result(wait_s()) == ()
    assert len(listed(store)) == 1


# -- By itself


@pytest.mark.both_stores
def test_schedule_takes_what_changed_and_keeps_the_newest(tmp_path: Path, keep: Keep) -> None:
    clock = FakeClock()
    more: dict[str, Any] = {"snapshot_schedule": SnapshotSchedule(2.0, 2)}
    with opened(tmp_path, clock=clock, keep=keep, **more) as store:

        def due() -> int:
            return store.engine.snapshots._submit(store.engine.snapshots.run_due).result(wait_s())

        assert due() == 0, "nothing is in it"
        manual = []
        for number in range(4):
            store.save(f"note {number}")
            clock.advance(2 * HOUR_US)
            assert due() == 1
            assert due() == 0
            if number == 0:
                store.save("in between")
                manual.append(create(store))
        scheduled = [snapshot for snapshot in listed(store) if snapshot.scheduled]
        assert len(scheduled) == 2
        assert [snapshot for snapshot in listed(store) if not snapshot.scheduled] == manual
        assert scheduled[0].revision == store.revision
        clock.advance(2 * HOUR_US)
        assert due() == 0, "nothing changed"
        store.save("one more")
        assert due() == 0, "it was looked at just now"
        stats = store.engine.stats("", "").result(wait_s()).snapshots
        assert (stats.count, stats.scheduled_count, stats.failed_count) == (3, 4, 0)
        assert stats.newest_us == max(snapshot.created_us for snapshot in listed(store))
        store.reopen()
        clock.advance(HOUR_US)
        assert due() == 1, "its time was in the files"
        clock.advance(-50 * HOUR_US)
        store.save("with another clock")
        assert due() == 1


@pytest.mark.both_stores
def test_schedule_counts_what_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: Keep
) -> None:
    clock = FakeClock()
    more: dict[str, Any] = {"snapshot_schedule": SnapshotSchedule(2.0, 2)}
    with opened(tmp_path, clock=clock, keep=keep, **more) as store:
        store.save("one")
        monkeypatch.setattr(limits, "SNAPSHOTS_PER_COLLECTION_MAX", 0)
        clock.advance(2 * HOUR_US)
        assert store.engine.snapshots._submit(store.engine.snapshots.run_due).result(wait_s()) == 0
        assert store.engine.stats("", "").result(wait_s()).snapshots.failed_count == 1


# -- From elsewhere


def test_snapshot_of_another_directory_is_imported_and_restored(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as store:
        filled(store, 5)
        snapshot = create(store)
        source = store.engine.snapshots.kept.files.path(snapshot)
    with opened(tmp_path / "b") as other:
        carried = tmp_path / "carried.file"
        shutil.copy(source, carried)
        found = adopt(SqliteStore(tmp_path / "b").copies, carried)
        assert found == snapshot
        assert adopt(SqliteStore(tmp_path / "b").copies, carried) == snapshot
        assert listed(other) == [snapshot]
        assert restore(other, snapshot, "from-a").restored
        assert len(texts_of(other, "from-a")) == 5
        carried.write_bytes(carried.read_bytes()[:-4096])
        with pytest.raises(Corruption):
            adopt(SqliteStore(tmp_path / "b").copies, carried)


def test_snapshot_of_an_earlier_format_is_brought_forward(tmp_path: Path) -> None:
    (old,) = (COMPAT / "format-3/data/collections").glob("2191*/memory.db")
    path = tmp_path / "old.snapshot"
    shutil.copy(old, path)
    draft = Snapshot(
        "snap_" + "1" * 16, "2" * 16, "", "", "", 5, 0, 0, 0, ModelIdentity("", "", "", 0), 0
    )
    assert seal(path, draft).format == 3
    with opened(tmp_path / "data", client_vector_dimension=4) as store:
        snapshot = adopt(SqliteStore(tmp_path / "data").copies, path)
        answer = restore(store, snapshot, "old")
        assert answer.restored
        assert len(texts_of(store, "old")) == snapshot.total_count
        file = file_of(store, "old")
        assert [entry.name for entry in file.parent.glob("*format*")] == []
        assert create(store, collection="old").format == FORMAT


def test_lost_manifest_is_made_again_and_leftovers_go(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        filled(store, 3)
        snapshot = create(store)
        path = store.engine.snapshots.kept.files.path(snapshot)
    path.with_name(f"{snapshot.id}.json").unlink()
    for name in ("snap_1.tmp", "snap_1.tmp-journal", f"{snapshot.id}.tmp.json"):
        path.with_name(name).write_text("x")
    unfinished = tmp_path / "collections" / ("a" * 16 + ".tmp")
    unfinished.mkdir()
    with opened(tmp_path) as store:
        store.engine.snapshots._submit(lambda: None).result(wait_s())
        assert listed(store) == [snapshot]
        assert sorted(file.name for file in path.parent.iterdir()) == [
            f"{snapshot.id}.json",
            path.name,
        ]
        assert not unfinished.exists()
