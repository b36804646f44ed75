"""A loss that is confirmed: writes go on, and no revision that was lost is given again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.cataloging import create
from support.engines import NOON, FakeClock, Store, opened, remember, undo, update
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import (
    AsOf,
    ChangesQuery,
    ListQuery,
    OperationFilter,
    OperationPage,
    OperationsQuery,
    RecallQuery,
)
from totonoe_core.engine.state import checkpointing
from totonoe_core.store.sqlite import accepting
from totonoe_core.store.sqlite.acknowledged import path_of
from totonoe_core.store.sqlite.catalog import Catalog
from totonoe_core.store.sqlite.collection_file import CollectionFile
from totonoe_core.store.sqlite.inspection import inspect

LATER = FakeClock(NOON + 1_000_000)


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    """A directory whose revisions 4 to 6 were acknowledged, and whose log was cut before them."""
    with opened(tmp_path / "whole") as store:
        for number in range(3):
            store.save(f"kept {number}")
        database = store.file()
        log = database.with_name("memory.db-wal").read_bytes()
        for number in range(3):
            store.save(f"lost {number}")
        shutil.copytree(tmp_path / "whole", tmp_path / "data")
    path = tmp_path / "data"
    next(path.glob("collections/*/memory.db-wal")).write_bytes(log)
    return path


def findings(path: Path) -> list[str]:
    return [line for file in inspect(path) for line in file.findings]


def accept(path: Path, revisions: str = "4-6", name: str = "default") -> int:
    return accepting.accept_loss(path, name, revisions, LATER)


def operations(store: Store) -> OperationPage:
    return store.read(OperationsQuery("anna", OperationFilter(), 100, ""))


def test_until_it_is_confirmed_it_is_read_and_not_written(lossy: Path) -> None:
    for _ in range(2):
        with opened(lossy) as store:
            assert [memory.content for memory in store.list()] == ["kept 0", "kept 1", "kept 2"]
            stats = store.stats()
            assert stats.state == "read-only"
            assert (stats.verified.lost_commit_count, stats.verified.lost_revisions) == (3, "4-6")
            for write in (lambda: store.save("more"), lambda: store.set(("description", "x"))):
                with pytest.raises(errors.CommitsLost) as caught:
                    write()
                assert caught.value.reason == "COMMITS_LOST"
                assert caught.value.details == {
                    "file": "memory.db",
                    "revisions": "4-6",
                    "commit_count": "3",
                }
            found = store.recall(RecallQuery("anna", "kept 1"))
            assert found.hits[0].memory.content == "kept 1"
            assert not store.check(remember("kept 1")).would_save


@pytest.mark.parametrize("revisions", ["4-5", "4-", "5-6", "", "none", "4-6 "])
def test_other_revisions_confirm_nothing(lossy: Path, revisions: str) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        accept(lossy, revisions)
    assert caught.value.details["allowed"] == "4-6"
    assert findings(lossy)
    with opened(lossy) as store, pytest.raises(errors.CommitsLost):
        store.save("more")


def test_what_is_not_there_or_not_lost_cannot_be_confirmed(lossy: Path) -> None:
    with pytest.raises(errors.NotFound):
        accept(lossy, name="nobody")
    accept(lossy)
    with pytest.raises(errors.InvalidArgument, match="no acknowledged commit is lost"):
        accept(lossy)
    with pytest.raises(errors.InvalidArgument, match="no acknowledged commit is lost"):
        accepting.accept_catalogue_loss(lossy, "1-2", LATER)


def test_confirmed_loss_lets_writes_go_on_past_every_number_that_was_given(lossy: Path) -> None:
    revision = accept(lossy)
    assert revision == 6 + limits.LOST_REVISIONS_LEFT_OUT + 1
    assert not findings(lossy)
    with opened(lossy) as store:
        assert store.revision == revision
        assert store.stats().state == "serving"
        assert store.stats().verified.lost_commit_count == 0
        kept = store.list()
        assert [memory.content for memory in kept] == ["kept 0", "kept 1", "kept 2"]
        again = store.one(store.save("lost 1"))
        assert again.revision == store.revision == revision + 1
        store.do(update(kept[0].id, content="kept and changed"))
        # Who holds a lost revision is told that the row is not at it.
        with pytest.raises(errors.StaleRevision):
            store.do(update(kept[1].id, importance=5, expected_revision=5))
        told, after = [], 3
        while after < store.revision:
            changes = store.read(ChangesQuery("anna", after, None))
            told += [change.operation.revision for change in changes.changes]
            after = changes.revision
        assert told == [revision, revision + 1, revision + 2]
    with opened(lossy) as store:
        assert store.revision == revision + 2
        assert store.stats().state == "serving"
    assert not findings(lossy)


def test_confirmed_loss_is_in_the_history_and_cannot_be_undone(lossy: Path) -> None:
    revision = accept(lossy)
    with opened(lossy, clock=FakeClock(LATER.now_us + 1_000_000)) as store:
        store.save("more")
        newest, loss, *rest = operations(store).operations
        assert (newest.revision, loss.revision) == (revision + 1, revision)
        assert loss.kind == "AcceptLoss"
        assert loss.reason == "lost and given up: 3 commits, revisions 4-6"
        assert [operation.revision for operation in rest] == [3, 2, 1]
        error = store.refused(undo(revision), errors.Precondition)
        assert error.reason == "NOT_UNDOABLE"
        assert store.do(undo(revision + 1)).undone
        # The past by time and by revision, on either side of what is left out.
        for as_of, texts in (
            (AsOf(2), ["kept 0", "kept 1"]),
            (AsOf(5), ["kept 0", "kept 1", "kept 2"]),
            (AsOf(time_us=LATER.now_us), ["kept 0", "kept 1", "kept 2"]),
            (AsOf(revision + 1), ["kept 0", "kept 1", "kept 2", "more"]),
        ):
            page = store.engine.read("default", ListQuery("anna", Filter(), 10, "", as_of=as_of))
            assert [memory.content for memory in page.result(wait_s()).memories] == texts


def test_crash_before_the_log_is_emptied_leaves_a_loss_or_none(
    lossy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_: CollectionFile) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(CollectionFile, "empty_log", crash)
        with pytest.raises(OSError, match="killed"):
            accept(lossy)
    with opened(lossy) as store:
        assert [memory.content for memory in store.list()] == ["kept 0", "kept 1", "kept 2"]
        store.save("goes on")
        assert store.revision > 6 + limits.LOST_REVISIONS_LEFT_OUT


def test_snapshot_of_what_is_left_and_a_restoration_are_other_ways_on(lossy: Path) -> None:
    with opened(lossy) as store:
        made = store.create_snapshot(name="left")
        token = ""
        for _ in range(2):
            restored = store.engine.restore_snapshot(
                made.snapshot.id, "default", "", agent_id="anna", confirmation_token=token
            ).result(wait_s())
            token = restored.confirmation_token
        assert restored.restored
        assert [memory.content for memory in store.list()] == ["kept 0", "kept 1", "kept 2"]
        store.save("goes on")
        assert store.stats().verified.lost_commit_count == 0


def test_lost_memories_do_not_come_back_by_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointing, "FROM_COUNT", 1)
    monkeypatch.setattr(checkpointing, "CHANGED_AT_CLOSE", 1)
    path = tmp_path / "data"
    with opened(path) as store:
        store.save("kept")
        shutil.copytree(path, tmp_path / "older")
        store.save("lost")
    # The file as it was, beside the checkpoint of what came later.
    database = next(path.glob("collections/*/memory.db"))
    for name in ("memory.db", "memory.db-wal"):
        shutil.copy(next(tmp_path.glob(f"older/collections/*/{name}")), database.with_name(name))
    for _ in range(2):
        with opened(path) as store:
            assert [memory.content for memory in store.list()] == ["kept"]
            assert store.stats().verified.lost_revisions == "2-2"
    accept(path, "2-2")
    for text in ("third", "fourth"):
        with opened(path) as store:
            assert "lost" not in [memory.content for memory in store.list()]
            store.save(text)
    assert not findings(path)


def test_files_of_a_loss_stay_as_they_are(lossy: Path) -> None:
    paths = [path for path in lossy.rglob("memory.*") if path.name != "memory.db-shm"]
    before = {path: path.read_bytes() for path in paths}
    with opened(lossy) as store:
        gone = store.list()[0].id
        with pytest.raises(errors.CommitsLost):
            store.do(Purge("anna", (gone,)))
    assert {path: path.read_bytes() for path in paths} == before
    assert findings(lossy)
    assert {path: path.read_bytes() for path in paths} == before


class TestCatalogue:
    @pytest.fixture
    def lossy(self, tmp_path: Path) -> Path:
        """A directory whose catalogue has lost the making of its second collection."""
        with opened(tmp_path / "whole") as store:
            store.save("of the first")
            log = (tmp_path / "whole" / "catalog.db-wal").read_bytes()
            create(store, "second")
            store.collection = "second"
            store.save("of the second")
            shutil.copytree(tmp_path / "whole", tmp_path / "data")
        (tmp_path / "data" / "catalog.db-wal").write_bytes(log)
        return tmp_path / "data"

    def test_nothing_is_made_deleted_or_cleared_away(self, lossy: Path) -> None:
        (uid,) = {path.parent.name for path in lossy.glob("collections/*/memory.db")} - set(
            names(lossy).values()
        )
        (lossy / "collections" / f"{uid}.new").touch()
        with opened(lossy) as store:
            assert [memory.content for memory in store.list()] == ["of the first"]
            store.save("the first is written")
            with pytest.raises(
                errors.CommitsLost, match=r"accept-loss --catalogue --revisions 2-2"
            ):
                create(store, "third")
            stats = store.engine.stats("", "").result(wait_s())
            assert stats.lost_catalogue_revisions == "2-2"
        assert (lossy / "collections" / uid / "memory.db").exists()
        assert accepting.accept_catalogue_loss(lossy, "2-2", LATER) > 2
        assert not findings(lossy)
        with opened(lossy) as store:
            create(store, "third")
            assert store.engine.stats("", "").result(wait_s()).lost_catalogue_revisions == ""
        assert (lossy / "collections" / uid / "memory.db").exists(), "left alone"


def names(path: Path) -> dict[str, str]:
    catalog = Catalog(path)
    try:
        return catalog.names()
    finally:
        catalog.close()


def test_confirmation_that_is_lost_itself_is_said(lossy: Path) -> None:
    shutil.copytree(lossy, lossy.with_name("before"))
    revision = accept(lossy)
    side_file = path_of(next(lossy.glob("collections/*/memory.db")))
    shutil.copy(side_file, path_of(next(lossy.with_name("before").glob("collections/*/memory.db"))))
    with opened(lossy.with_name("before")) as store:
        assert store.stats().verified.lost_revisions == f"4-{revision}"


def test_restored_collection_counts_its_own_commits(tmp_path: Path) -> None:
    """Nothing is left of the count that the first collection had."""
    path = tmp_path / "data"
    with opened(path) as store:
        store.save("kept")
        made = store.create_snapshot()
        store.engine.restore_snapshot(
            made.snapshot.id, "restored", "", agent_id="anna", confirmation_token=""
        ).result(wait_s())
        store.collection = "restored"
        store.save("lost")
        store.save("lost too")
        uid = store.engine._collections.names.uid("restored")
        shutil.copytree(path, tmp_path / "killed")
    (tmp_path / "killed" / "collections" / uid / "memory.db-wal").unlink()
    with opened(tmp_path / "killed", collection="restored") as store:
        assert [memory.content for memory in store.list()] == ["kept"]
        verified = store.stats().verified
        assert (verified.lost_commit_count, verified.lost_revisions) == (2, "2-3")
