"""kill -9 before every change of a file's name while a snapshot is taken, rewritten, deleted or
restored: what is listed is whole, and nothing is left of what is not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.engines import EVERY_STATUS, Store, opened
from support.forking import KILLED, Forker, forker
from support.snapshot_jobs import KINDS, SECRET
from support.waits import wait_s
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import ListQuery
from totonoe_core.domain.snapshots import SnapshotUse
from totonoe_core.store.sqlite.snapshot import examine, sha256_of

CHANGES_MAX = 60


@pytest.fixture(scope="module")
def killer() -> Iterator[Forker]:
    with forker("support.snapshot_jobs") as made:
        yield made


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    directory = tmp_path_factory.mktemp("prepared") / "data"
    with opened(directory) as store:
        for number in range(8):
            store.save(f"note {number} of pump {number * 3}")
        secret = store.save(SECRET)
        made = store.create_snapshot()
        store.save("what came later")
        named = {
            "secret": secret,
            "snapshot": made.snapshot.id,
            "collection": store.collection,
        }
    return directory, named


def settled(directory: Path) -> set[str]:
    """Opens it, so that what is left goes; ids of snapshots, each of which is looked through."""
    with opened(directory) as store:
        files = store.engine.snapshots.kept.files
        store.engine.snapshots._submit(lambda: None).result(wait_s())
        every = list(files.all())
        for item in every:
            path = files.path(item)
            assert examine(path).faults == ()
            assert sha256_of(path) == item.sha256
        named = {files.path(item) for item in every}
        named |= {path.with_name(path.name.partition(".")[0] + ".json") for path in named}
        there = {file for file in (directory / "snapshots").rglob("*") if file.is_file()}
        assert there - {directory / "snapshots" / "catalog.db"} == named
        assert not list((directory / "collections").glob("*.tmp"))
        return {item.id for item in every}


def texts(store: Store, name: str) -> set[str]:
    page = store.engine.read(name, ListQuery("anna", EVERY_STATUS, 1000, "")).result(wait_s())
    return {memory.content for memory in page.memories}


def check(directory: Path, kind: str, named: dict[str, str], answered: bool) -> bool:
    """Whether it is done; it is so whole, or not at all."""
    listed = settled(directory)
    with opened(directory) as store:
        store.collection = named["collection"]
        now = texts(store, store.collection)
        names = [
            info.name
            for info in store.engine.list_collections(100, "").result(wait_s()).collections
        ]
        if kind == "create":
            return len(listed) == 2
        if kind == "delete":
            return not listed
        if kind == "rewrite":
            if SECRET in now:
                return False
            # Asked for again it is done, wherever it was cut off.
            store.apply(Purge("anna", (named["secret"],)), operation_id="op")
            store.engine.purge_snapshots(
                store.collection, "anna", [named["secret"]], SnapshotUse.REWRITE, dry_run=False
            ).result(wait_s())
            held = [path for path in directory.rglob("*") if path.is_file()]
            assert not [path for path in held if SECRET.encode() in path.read_bytes()]
            return answered
        if kind == "restore":
            if "other" not in names:
                return False
            assert texts(store, "other") == now - {"what came later"}
            return True
        return "what came later" not in now


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", KINDS)
def test_killed_anywhere_it_is_done_or_not(
    killer: Forker, base: tuple[Path, dict[str, str]], tmp_path: Path, kind: str
) -> None:
    directory, named = base
    done_from = None
    for last in range(CHANGES_MAX):
        copy = tmp_path / str(last)
        shutil.copytree(directory, copy)
        answered, code = killer.ask(directory=str(copy), kind=kind, named=named, last=last)
        assert code in (KILLED, 0)
        done = check(copy, kind, named, answered)
        assert done or not answered, "what was answered is lost"
        if done and done_from is None:
            done_from = last
        assert done or done_from is None, "what was done went away"
        shutil.rmtree(copy)
        if code == 0:
            break
    assert code == 0
    assert answered
    assert last >= 2, "the hook saw nothing"
