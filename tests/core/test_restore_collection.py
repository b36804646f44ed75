"""A deleted collection comes back by the operation id of its deletion."""

from __future__ import annotations

import threading
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import pytest

from support.engines import WAIT_S, Store, opened, remember, undo
from totonoe_core import errors, limits
from totonoe_core.engine.collection import Collection
from totonoe_core.guard.policy import PRESETS, DecayPolicy, DiversityPolicy, Preset

OPENING_S = 0.05
"""Long enough for most openings, if nothing held it up."""


@pytest.fixture
def store(tmp_path: Path):
    with opened(tmp_path, collection="shop") as store:
        create(store)
        yield store


def create(store: Store, name: str = "shop") -> None:
    future = store.engine.create_collection(
        name,
        "",
        agent_id="anna",
        description="of a shop",
        guard=PRESETS[Preset.STANDARD],
        diversity=DiversityPolicy(),
        decay=DecayPolicy(),
        client_vector_dimension=8,
    )
    future.result(WAIT_S)


def delete(store: Store, operation_id: str, agent: str = "anna") -> None:
    store.engine.delete_collection("shop", operation_id, agent_id=agent).result(WAIT_S)


def restore(
    store: Store, target: str, operation_id: str = "", *, agent: str = "anna", name: str = "shop"
) -> Any:
    future = store.engine.restore_collection(
        name, operation_id, target_operation_id=target, agent_id=agent
    )
    return future.result(WAIT_S)


def test_restored_collection_has_all_that_it_had(store: Store) -> None:
    saved = store.save("text")
    before = store.engine.get_collection("shop").result(WAIT_S)
    delete(store, "gone")
    info, operation_id, replayed = restore(store, "gone", "back")
    assert (info, operation_id, replayed) == (before, "back", False)
    assert store.one(saved).content == "text"
    assert not store.do(remember("text")).saved
    # Its own operations can be taken back as before.
    assert store.do(undo(1)).undone
    store.reopen()
    assert store.revision == 2
    names = [one.name for one in store.engine.list_collections(10, "").result(WAIT_S).collections]
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

    def slowly(collection: Collection, timeout_s: float) -> None:
        closing.set()
        assert go_on.wait(WAIT_S)
        close(collection, timeout_s)

    monkeypatch.setattr(Collection, "close", slowly)
    deleted = store.engine.delete_collection("shop", "gone", agent_id="anna")
    assert closing.wait(WAIT_S)
    restore(store, "gone")
    getting = store.engine.get("shop", "anna", [saved])
    assert not wait([getting], OPENING_S).done, "opened beside the writer that goes"
    go_on.set()
    assert getting.result(WAIT_S).memories[0].content == "text"
    assert deleted.result(WAIT_S)[0] == 1
