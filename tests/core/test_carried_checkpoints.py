"""A checkpoint travels with its snapshot: a restored collection opens from it, or from its rows."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import EVERY_STATUS, Store, opened
from support.snapshots import restore
from support.waits import wait_s
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import ListQuery, RecallQuery
from totonoe_core.domain.snapshots import Snapshot, SnapshotUse
from totonoe_core.engine.catalog.file_snapshots import adopt
from totonoe_core.engine.state import checkpointing
from totonoe_core.store.sqlite import snapshot as snapshot_file
from totonoe_core.store.sqlite.store import SqliteStore

SECRET = "Zanzibar is the password of pump seven"


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few memories are worth a checkpoint."""
    monkeypatch.setattr(checkpointing, "FROM_COUNT", 1)
    monkeypatch.setattr(checkpointing, "CHANGED_AT_CLOSE", 1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "data") as made:
        for number in range(30):
            made.save(f"note {number} about pump {number * 7}")
        yield made


def create(store: Store) -> Snapshot:
    made = store.engine.create_snapshot("default", "", agent_id="anna", name="", comment="")
    return made.result(wait_s()).snapshot


def carried(store: Store, snapshot: Snapshot) -> Path:
    return store.engine.snapshots.kept.files.checkpoint(snapshot)


def opening_of(store: Store, name: str) -> tuple[int, int, int]:
    """Revision of the checkpoint that a collection was opened from, rows read, bad ones."""
    (found,) = store.engine.stats(name, "anna").result(wait_s()).collections
    figures = found.checkpoint
    return figures.opened_from_revision, figures.replayed_count, figures.bad_count


def shown(store: Store, name: str) -> tuple[list[Any], list[Any]]:
    page = store.engine.read(name, ListQuery("anna", EVERY_STATUS, 1000, "")).result(wait_s())
    hits = store.engine.read(name, RecallQuery("anna", "pump 49", k=5)).result(wait_s()).hits
    return [(memory.id, memory.content) for memory in page.memories], [
        memory.memory.id for memory in hits
    ]


def test_restored_collection_opens_from_the_checkpoint_of_its_snapshot(store: Store) -> None:
    snapshot = create(store)
    (own,) = (store.file().parent / "checkpoint").iterdir()
    for file in own.iterdir():
        assert file.samefile(carried(store, snapshot) / file.name), "nothing is copied"
    # The checkpoint of a later time is no part of it.
    store.save("saved after the snapshot")
    restore(store, snapshot, "other")
    assert opening_of(store, "other") == (snapshot.revision, 0, 0)
    assert shown(store, "other")[1] == shown(store, "default")[1]
    assert len(shown(store, "other")[0]) == 30
    before = shown(store, "other")
    store.reopen()
    assert shown(store, "other") == before


def test_restore_opens_no_closed_collection(store: Store) -> None:
    snapshot = create(store)
    store.reopen()
    assert restore(store, snapshot, "other").restored
    assert store.engine._collections.open_figures().count == 0
    assert store.save("saved after it, so that its name can be opened again")


@pytest.mark.parametrize("how", ["gone", "flipped", "foreign"])
def test_checkpoint_that_is_gone_or_damaged_costs_time_alone(store: Store, how: str) -> None:
    snapshot = create(store)
    expected = shown(store, "default")
    path = carried(store, snapshot)
    if how == "gone":
        shutil.rmtree(path)
    else:
        # Written anew: the collection's own checkpoint has the same files.
        file = path / ("arrays" if how == "flipped" else "MANIFEST")
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.unlink()
        file.write_bytes(data)
    restore(store, snapshot, "other")
    assert opening_of(store, "other") == (0, 30, 1 if how == "flipped" else 0)
    assert shown(store, "other") == expected


def test_nothing_purged_is_in_a_checkpoint_that_travels(store: Store) -> None:
    secret = store.save(SECRET, vector=np.arange(1, 9, dtype=np.float32))
    needle = store.one(secret).vector
    create(store)
    store.do(Purge("anna", (secret,)))
    later = create(store)
    for file in carried(store, later).iterdir():
        assert needle not in file.read_bytes()
    (listed,) = (
        holding
        for holding in store.engine.purge_snapshots(
            "default", "anna", [secret], SnapshotUse.REWRITE, dry_run=False
        ).result(wait_s())
        if holding.rewritten
    )
    assert not carried(store, listed.snapshot).exists(), "it held the purged vector"
    assert restore(store, listed.snapshot, "other").restored
    assert opening_of(store, "other")[0] == 0
    root = store.path
    left = [path for path in root.rglob("*") if path.is_file() and needle in path.read_bytes()]
    assert left == []


def test_restore_that_purges_again_takes_no_checkpoint(store: Store) -> None:
    secret = store.save(SECRET, vector=np.arange(1, 9, dtype=np.float32))
    needle = store.one(secret).vector
    snapshot = create(store)
    store.do(Purge("anna", (secret,)))
    assert restore(store, snapshot, "other").purged_again_count == 1
    uid = store.engine._collections.names.uid("other")
    found = (store.path / "collections" / uid).rglob("*")
    assert [path for path in found if path.is_file() and needle in path.read_bytes()] == []


def test_snapshot_is_deleted_and_swept_with_its_checkpoint(store: Store) -> None:
    first, second = create(store), create(store)
    store.engine.delete_snapshot(first.id, "", agent_id="anna").result(wait_s())
    assert not carried(store, first).exists()
    path = carried(store, second)
    shutil.copytree(path, path.with_name("snap_0000000000000000.checkpoint"))
    shutil.copytree(path, path.with_name("snap_1111111111111111.tmp.checkpoint"))
    path.with_name(f"{second.id}.json").unlink()
    store.reopen()
    store.engine.snapshots._submit(lambda: None).result(wait_s())
    assert sorted(file.name for file in path.parent.iterdir()) == [
        f"{second.id}.checkpoint",
        f"{second.id}.json",
        f"{second.id}.snapshot",
    ]
    restore(store, second, "other")
    assert opening_of(store, "other")[0] == second.revision


def test_checkpoint_beside_an_imported_file_comes_along_as_a_copy(
    store: Store, tmp_path: Path
) -> None:
    snapshot = create(store)
    file, beside = tmp_path / "before.snapshot", tmp_path / "before.checkpoint"
    shutil.copy(store.engine.snapshots.kept.files.path(snapshot), file)
    shutil.copytree(carried(store, snapshot), beside)
    with opened(tmp_path / "elsewhere") as other:
        adopt(SqliteStore(tmp_path / "elsewhere").copies, file)
        there = carried(other, snapshot)
        assert not (there / "arrays").samefile(beside / "arrays")
        restore(other, snapshot, "other")
        assert opening_of(other, "other")[0] == snapshot.revision


def test_progress_of_a_restore_is_in_stats_until_it_ends(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = create(store)
    original, reached, go = snapshot_file.examine, threading.Event(), threading.Event()

    def held(path: Path, examined: Any) -> Any:
        examined(0.5)
        reached.set()
        assert go.wait(wait_s())
        return original(path, examined)

    monkeypatch.setattr(snapshot_file, "examine", held)
    assert store.engine.snapshots.stats(None).running is None
    restored = store.engine.restore_snapshot(
        snapshot.id, "other", "op-restore", agent_id="anna", confirmation_token=""
    )
    assert reached.wait(wait_s())
    running = store.engine.snapshots.stats(None).running
    assert running is not None
    assert (running.kind, running.snapshot_id) == ("restore", snapshot.id)
    assert (running.step, running.step_share) == ("checking", 0.5)
    seen = [store.engine.snapshots.stats({"default": sees}.get).running for sees in (True, False)]
    assert seen == [running, None], "as the collection of the snapshot is seen"
    # Its caller gives up, and asks again with the same operation id.
    assert not restored.cancel()
    again = store.engine.restore_snapshot(
        snapshot.id, "other", "op-restore", agent_id="anna", confirmation_token=""
    )
    go.set()
    assert again.result(wait_s()).replayed
    assert store.engine.snapshots.stats(None).running is None


@pytest.mark.parametrize("how", ["cut", "gone", "foreign", "zeros"])
@pytest.mark.parametrize("name", ["again", "default"])
def test_snapshot_of_a_damaged_collection_is_restored(store: Store, how: str, name: str) -> None:
    expected = shown(store, "default")[0]
    snapshot = create(store)
    path = store.file()
    store.engine.close(wait_s())
    shutil.rmtree(path.parent / "checkpoint")
    data = path.read_bytes()
    if how == "cut":
        os.truncate(path, len(data) // 2)
    elif how == "gone":
        path.unlink()
    elif how == "foreign":
        shutil.copy(store.path / "catalog.db", path)
    else:
        path.write_bytes(data[:8192] + bytes(20_000) + data[28_192:])
    store.engine = store._opened()
    answer = restore(store, snapshot, name)
    if name == "default":
        assert not answer.restored
        answer = store.engine.restore_snapshot(
            snapshot.id, name, "", agent_id="anna", confirmation_token=answer.confirmation_token
        ).result(wait_s())
    assert answer.restored
    # Its purges are not known, and the answer says so.
    assert how == "zeros" or answer.unread_uids == (path.parent.name,)
    assert shown(store, name)[0] == expected
