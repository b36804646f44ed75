"""Who recalled a memory, as its history says it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.engines import Store, opened, update, vector_of
from totonoe_core.base import limits
from totonoe_core.domain.consolidate import ReplayEvents
from totonoe_core.domain.queries import HistoryPage, HistoryQuery, Recaller, RecallQuery

SECOND_US = 1_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path) as made:
        yield made


def recall(store: Store, agent: str, text: str = "pump", **more: bool) -> int:
    """One Recall whose first hit is a text; when it was, in microseconds."""
    store.clock.advance(SECOND_US)
    vector = vector_of(text).tobytes()
    store.recall(RecallQuery(agent, vector=vector, k=1, **more))
    return store.clock.now_us


def history(
    store: Store, memory_id: str, agent: str = "anna", *, names: bool = True, token: str = ""
) -> HistoryPage:
    query = HistoryQuery(agent, memory_id, 1, token, names_others=names)
    return store.read(query)


def test_recallers_are_counted_the_latest_first(store: Store) -> None:
    pump, valve = store.save("pump"), store.save("valve")
    recall(store, "anna")
    ben_us = recall(store, "ben")
    recall(store, "anna", "valve")
    anna_us = recall(store, "anna")
    recall(store, "cleo", touch=False)
    # What is noted is written within a second, and before the end.
    store.reopen()
    assert history(store, pump).recallers == (
        Recaller("anna", 2, anna_us),
        Recaller("ben", 1, ben_us),
    )
    assert [recaller.agent_id for recaller in history(store, valve).recallers] == ["anna"]


def test_others_are_counted_for_who_may_not_know_their_names(store: Store) -> None:
    pump = store.save("pump")
    recall(store, "ben")
    mine_us = recall(store, "anna")
    recall(store, "cleo")
    store.reopen()
    page = history(store, pump, names=False)
    assert (page.recallers, page.other_recall_count) == ((Recaller("anna", 1, mine_us),), 2)
    assert history(store, pump).other_recall_count == 0


def test_only_the_first_page_says_it(store: Store) -> None:
    pump = store.save("pump")
    store.do(update(pump, importance=5))
    recall(store, "ben")
    store.reopen()
    first = history(store, pump)
    second = history(store, pump, token=first.next_page_token)
    assert len(first.recallers) == 1 and second.versions and second.recallers == ()


def test_more_agents_than_the_limit_are_counted_as_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RECALLERS_MAX", 2)
    pump = store.save("pump")
    for agent in ("ann", "ben", "ben", "cleo", "dora"):
        recall(store, agent)
    store.reopen()
    page = history(store, pump)
    assert [recaller.agent_id for recaller in page.recallers] == ["dora", "cleo"]
    assert page.other_recall_count == 3


def test_consolidate_uses_them_up(store: Store) -> None:
    pump = store.save("pump")
    recall(store, "ben")
    store.do(ReplayEvents("anna", 10))
    assert history(store, pump).recallers == ()
    assert store.one(pump).access_count == 1
