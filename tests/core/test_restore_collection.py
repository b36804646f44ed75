"""A deleted collection comes back by the operation id of its deletion, until it is purged."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.engines import DAY_US, HOUR_US, Store, opened, remember, undo
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.collections import NewCollection
from totonoe_core.domain.queries import GetQuery
from totonoe_core.engine.collection.collection import Collection
from totonoe_core.store.sqlite.catalog import Catalog

OPENING_S = 0.05
"""Long enough for most openings, if nothing held it up."""


@pytest.fixture
def store(tmp_path: Path):
    with opened(tmp_path, collection="shop") as store:
        create(store)
        yield store


def create(store: Store, name: str = "shop") -> None:
    future = store.engine.create_collection(
        NewCollection(name, description="of a shop", client_vector_dimension=8), "", agent_id="anna"
    )
    future.result(wait_s())


def delete(store: Store, operation_id: str, agent: str = "anna") -> None:
    store.engine.delete_collection("shop", operation_id, agent_id=agent).result(wait_s())


def restore(
    store: Store, target: str, operation_id: str = "", *, agent: str = "anna", name: str = "shop"
) -> Any:
    future = store.engine.restore_collection(
        name, operation_id, target_operation_id=target, agent_id=agent
    )
    return future.result(wait_s())


def test_restored_collection_has_all_that_it_had(store: Store) -> None:
    saved = store.save("text")
    before = store.engine.get_collection("shop").result(wait_s())
    delete(store, "gone")
    info, operation_id, replayed = restore(store, "gone", "back")
    assert (info, operation_id, replayed) == (before, "back", False)
    assert store.one(saved).content == "text"
    assert not store.do(remember("text")).saved
    # Its own operations can be taken back as before.
    assert store.do(undo(1)).undone
    store.reopen()
    assert store.revision == 2
    names = [
        collection.name
        for collection in store.engine.list_collections(10, "").result(wait_s()).collections
    ]
    assert names == ["default", "shop"]


def test_same_operation_id_gives_the_first_answer_again(store: Store) -> None:
    delete(store, "gone")
    first = restore(store, "gone", "back")
    store.save("text")
    assert restore(store, "gone", "back") == (*first[:2], True)
    store.reopen()
    assert restore(store, "gone", "back") == (*first[:2], True)
    with pytest.raises(errors.AlreadyExists) as caught:
        restore(store, "other", "back")
    assert caught.value.reason == "OPERATION_ID_REUSED"


def test_name_that_is_taken_keeps_it_away(store: Store) -> None:
    delete(store, "gone")
    create(store)
    for _ in range(2):
        with pytest.raises(errors.AlreadyExists) as caught:
            restore(store, "gone")
        assert caught.value.reason == "COLLECTION_EXISTS"
        store.reopen()
    delete(store, "gone again")
    restore(store, "gone")
    with pytest.raises(errors.AlreadyExists):
        restore(store, "gone")


def test_each_deletion_brings_back_its_own(store: Store) -> None:
    store.save("of the first")
    delete(store, "one")
    create(store)
    second = store.save("of the second")
    delete(store, "two")
    restore(store, "two")
    assert store.one(second).content == "of the second"
    delete(store, "three")
    restore(store, "one")
    assert [memory.content for memory in store.list()] == ["of the first"]


def test_unknown_deletion_is_not_found(store: Store) -> None:
    delete(store, "gone")
    for target, name in (("nothing", "shop"), ("gone", "other")):
        with pytest.raises(errors.NotFound) as caught:
            restore(store, target, name=name)
        assert caught.value.reason == "OPERATION_NOT_FOUND"
    for target in ("", "x" * (limits.OPERATION_ID_BYTES_MAX + 1)):
        with pytest.raises(errors.InvalidArgument):
            restore(store, target)


def test_of_several_with_one_id_the_callers_own_is_meant(store: Store) -> None:
    store.save("of anna")
    delete(store, "gone", "anna")
    create(store)
    store.save("of bob")
    delete(store, "gone", "bob")
    with pytest.raises(errors.InvalidArgument):
        restore(store, "gone", agent="carol")
    restore(store, "gone", agent="bob")
    assert [memory.content for memory in store.list()] == ["of bob"]


def test_too_many_collections_are_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    delete(store, "gone")
    create(store, "other")
    monkeypatch.setattr(limits, "COLLECTIONS_MAX", 1)
    with pytest.raises(errors.Quota):
        restore(store, "gone")


def test_restored_while_it_is_still_being_closed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody opens the file before its first writer is done with it."""
    saved = store.save("text")
    closing, go_on = threading.Event(), threading.Event()
    close = Collection.close

    def slowly(collection: Collection, timeout_s: float, *why: Any) -> None:
        closing.set()
        assert go_on.wait(wait_s())
        close(collection, timeout_s, *why)

    monkeypatch.setattr(Collection, "close", slowly)
    deleted = store.engine.delete_collection("shop", "gone", agent_id="anna")
    assert closing.wait(wait_s())
    restore(store, "gone")
    getting = store.engine.read("shop", GetQuery("anna", (saved,)))
    assert not wait([getting], OPENING_S).done, "opened beside the writer that goes"
    go_on.set()
    assert getting.result(wait_s()).memories[0].content == "text"
    assert deleted.result(wait_s())[0] == 1


# -- Purged after so many days


def purge(store: Store) -> None:
    store.engine._collections.purge_deleted()


def directories(store: Store) -> set[str]:
    return {path.name for path in (store.path / "collections").iterdir()}


@pytest.fixture
def keeping(tmp_path: Path):
    with opened(tmp_path, collection="shop", purge_deleted_days=2.0) as store:
        create(store)
        yield store


def test_deleted_collection_is_purged_when_its_days_are_over(keeping: Store) -> None:
    store = keeping
    create(store, "other")
    kept = directories(store)
    store.save("text")
    delete(store, "gone")
    store.clock.advance(2 * DAY_US)
    purge(store)
    assert directories(store) == kept
    store.clock.advance(HOUR_US)
    purge(store)
    assert len(directories(store)) == 1
    for _ in range(2):
        with pytest.raises(errors.Precondition) as caught:
            restore(store, "gone")
        assert caught.value.reason == "NOT_UNDOABLE"
        with pytest.raises(errors.NotFound):
            restore(store, "never")
        store.reopen()
    # Its own call is answered as before, and the name is free.
    assert store.engine.delete_collection("shop", "gone", agent_id="anna").result(wait_s())[0] == 1
    create(store)
    assert [memory.content for memory in store.list()] == []


def test_nothing_is_purged_without_the_setting(store: Store) -> None:
    delete(store, "gone")
    store.clock.advance(10_000 * DAY_US)
    purge(store)
    restore(store, "gone")


def test_restored_collection_is_not_purged(keeping: Store) -> None:
    saved = keeping.save("text")
    delete(keeping, "gone")
    restore(keeping, "gone")
    keeping.clock.advance(3 * DAY_US)
    purge(keeping)
    assert keeping.one(saved).content == "text"


def test_many_deleted_ones_are_purged_some_at_once(
    keeping: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = keeping
    monkeypatch.setattr(limits, "COLLECTIONS_PURGED_AT_ONCE_MAX", 2)
    delete(store, "gone")
    for number in range(4):
        create(store)
        delete(store, f"gone {number}")
    store.clock.advance(3 * DAY_US)
    for left in (3, 1, 0):
        purge(store)
        assert len(directories(store)) == left


# -- Crashes


class Died(BaseException):
    """The process is no more."""


def crash_in(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise Died

    monkeypatch.setattr(owner, name, die)


def test_crash_before_a_new_collection_is_listed_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = directories(store)
    with monkeypatch.context() as patch:
        crash_in(patch, Catalog, "put")
        with pytest.raises(Died):
            create(store, "other")
    assert len(directories(store)) == len(before) + 2
    store.reopen()
    assert directories(store) == before
    create(store, "other")


def test_new_collection_that_the_disk_refuses_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = directories(store)

    def refuse(*_: Any) -> None:
        raise apsw.FullError

    with monkeypatch.context() as patch:
        patch.setattr(Catalog, "_put_operation", refuse)
        with pytest.raises(errors.ReadOnly):
            create(store, "other")
    assert directories(store) == before
    create(store, "other")


def test_crash_after_a_new_collection_is_listed_leaves_it_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        crash_in(patch, Catalog, "_unmark")
        with pytest.raises(Died):
            create(store, "other")
    store.reopen()
    store.collection = "other"
    saved = store.save("text")
    store.reopen()
    assert store.one(saved).content == "text"
    assert all(name.isalnum() for name in directories(store))


def test_mark_that_the_disk_will_not_let_go_does_not_matter(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        create(store, "other")
    store.collection = "other"
    saved = store.save("text")
    store.reopen()
    assert store.one(saved).content == "text"
    assert all(name.isalnum() for name in directories(store))


def test_crash_while_a_collection_is_purged_ends_it_at_the_next_start(
    keeping: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = keeping
    delete(store, "gone")
    store.clock.advance(3 * DAY_US)
    with monkeypatch.context() as patch:
        crash_in(patch, shutil, "rmtree")
        with pytest.raises(Died):
            purge(store)
    assert len(directories(store)) == 1
    with pytest.raises(errors.Precondition):
        restore(store, "gone")
    store.reopen()
    assert directories(store) == set()


def test_crash_before_the_catalogue_purges_leaves_it_deleted(
    keeping: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = keeping
    saved = store.save("text")
    delete(store, "gone")
    store.clock.advance(3 * DAY_US)
    with monkeypatch.context() as patch:
        crash_in(patch, Catalog, "_put_operation")
        with pytest.raises(Died):
            purge(store)
    store.reopen()
    restore(store, "gone")
    assert store.one(saved).content == "text"


def test_crash_before_the_catalogue_deletes_leaves_it_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = store.save("text")
    with monkeypatch.context() as patch:
        crash_in(patch, Catalog, "_put_operation")
        with pytest.raises(Died):
            delete(store, "gone")
    assert store.one(saved).content == "text"
    store.reopen()
    assert store.one(saved).content == "text"
    delete(store, "gone")


def test_directory_that_nothing_accounts_for_is_left_alone(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.save("text")
    store.close()
    stray = store.path / "collections" / "0123456789abcdef"
    stray.mkdir()
    (stray / "memory.db").write_bytes(b"who knows")
    before = directories(store)
    store.engine = store._opened()
    assert directories(store) == before
    assert any(stray.name in record.message for record in caplog.records)
    assert store.list()[0].content == "text"
