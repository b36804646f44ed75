"""Check: a Remember that is taken back leaves nothing behind."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from support.engines import Store, remember, vector_at, vector_of
from support.waits import wait_s
from totonoe_core.base import limits
from totonoe_core.base.errors import Quota
from totonoe_core.domain.policy import Action
from totonoe_core.domain.records import Verdict

BASE = vector_of("base")
OLD, NEW = "The timeout is 30 s", "The timeout is 60 s"


def left(store: Store) -> object:
    """What a caller can see of the store, what its file has, and the names in memory."""
    memories = [asdict(memory) for memory in store.list()]
    state = store.engine._collections.opened("default").result(wait_s())._state
    names = [names.count for names in state.index.arrays.names]
    return store.revision, memories, store.file().read_bytes(), names


def test_check_answers_as_remember_would_with_links_and_what_gives_way(store: Store) -> None:
    first = store.save(OLD, vector=BASE)
    store.set(("guard.on_update", Action.SUPERSEDE))
    new = remember(NEW, vector=vector_at(BASE, 0.9))
    checked = store.check(new)
    assert (checked.would_save, checked.superseded_ids) == (True, (first,))
    saved = store.do(new)
    assert saved.guard == checked.guard
    assert saved.guard.verdict is Verdict.UPDATE
    assert saved.superseded_ids == checked.superseded_ids


def test_check_leaves_no_trace(store: Store) -> None:
    first = store.save(OLD, vector=BASE)
    store.set(("guard.on_update", Action.SUPERSEDE))
    store.reopen()
    before = left(store)
    for number in range(20):
        new = remember(
            f"{NEW} in case {number}",
            vector=vector_at(BASE, 0.9),
            agent=f"agent-{number}",
            namespace=f"place-{number}",
            session_id=f"session-{number}",
        )
        assert store.check(new).would_save
    store.check(remember(NEW, vector=vector_at(BASE, 0.9)))
    assert left(store) == before
    assert store.one(first).superseded_by == ""
    second = store.one(store.save("Something else", vector=vector_of("else")))
    assert second.row == store.one(first).row + 1, "row numbers have no gap"


def test_check_of_a_full_collection_says_so_as_remember_does(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(OLD, vector=BASE)
    monkeypatch.setattr(limits, "MEMORIES_PER_COLLECTION_MAX", 1)
    new = remember("Something else", vector=vector_of("else"))
    for ask in (store.check, store.do):
        with pytest.raises(Quota):
            ask(new)
