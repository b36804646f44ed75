"""A page ends by its bytes as well as by its rows; its token goes on, and nothing is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.engines import Store, remember, update, vector_at, vector_of
from support.likelihood import Likelihood
from totonoe_core.base import limits
from totonoe_core.domain.graph import CreateEpisode
from totonoe_core.domain.queries import (
    AsOf,
    EpisodesQuery,
    HistoryQuery,
    ListQuery,
    OperationFilter,
    OperationsQuery,
)
from totonoe_core.domain.questions import QuestionsQuery

LONG = "x" * 900
ROOM = 2500
"""For two rows of some 1,000 bytes."""


@pytest.fixture
def store(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(limits, "PAGE_BYTES_GOAL", ROOM)
    return store


def pages(store: Store, query: Any, rows: str) -> list[list[Any]]:
    """Return the rows of all pages, page by page."""
    found: list[list[Any]] = []
    for _ in range(50):
        answer = store.read(query)
        found.append(list(getattr(answer, rows)))
        if not answer.next_page_token:
            return found
        query = replace(query, page_token=answer.next_page_token)
    raise AssertionError("pages without an end")


def lengths(found: list[list[Any]]) -> list[int]:
    return [len(page) for page in found]


def test_list_ends_by_bytes_now_and_as_of(store: Store) -> None:
    saved = [store.save(f"{number} {LONG}", force=True) for number in range(5)]
    for as_of in (None, AsOf(store.revision)):
        found = pages(store, ListQuery("anna", as_of=as_of), "memories")
        assert lengths(found) == [2, 2, 1]
        assert [memory.id for page in found for memory in page] == saved


def test_list_by_bytes_counts_attributes_and_vectors_that_are_asked_for(store: Store) -> None:
    for number in range(4):
        store.save(f"note {number}", force=True, attributes={"a": "y" * 900, "b": [1, {"c": "z"}]})
    assert lengths(pages(store, ListQuery("anna"), "memories")) == [2, 2]
    found = pages(store, ListQuery("anna", include_vectors=True), "memories")
    assert sum(lengths(found)) == 4


def test_row_that_is_longer_than_a_page_is_a_page(store: Store) -> None:
    for number in range(3):
        store.save(f"{number} {LONG * 5}", force=True)
    assert lengths(pages(store, ListQuery("anna"), "memories")) == [1, 1, 1]


def test_row_that_is_hidden_meanwhile_ends_no_list(store: Store) -> None:
    for number in range(4):
        store.save(f"{number} {LONG}", force=True, agent="ben", private=number in (1, 2))
    assert sum(lengths(pages(store, ListQuery("anna"), "memories"))) == 2


def test_history_ends_by_bytes(store: Store) -> None:
    one = store.save(f"0 {LONG}")
    for number in range(1, 5):
        store.do(update(one, content=f"{number} {LONG}", force=True))
    found = pages(store, HistoryQuery("anna", one), "versions")
    assert max(lengths(found)) <= 2
    texts = [version.memory.content[0] for page in found for version in page]
    assert texts == ["4", "3", "2", "1", "0"]


def test_operations_end_by_bytes(store: Store) -> None:
    one = store.save("pump")
    for number in range(4):
        store.do(update(one, importance=1 + number, reason=LONG))
    found = pages(store, OperationsQuery("anna", OperationFilter()), "operations")
    assert max(lengths(found)) <= 3
    assert [item.revision for page in found for item in page] == [5, 4, 3, 2, 1]


def test_episodes_end_by_bytes(store: Store) -> None:
    one = store.save("pump")
    for number in range(5):
        store.do(CreateEpisode("anna", f"{number} {LONG}", (one,)))
    found = pages(store, EpisodesQuery("anna"), "episodes")
    # A page ends behind the row that reaches its end.
    assert lengths(found) == [3, 2]


def test_questions_end_by_bytes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood = Likelihood(monkeypatch)
    first = f"The backup runs at night. {LONG}"
    others = [f"The backup runs nightly {number}. {LONG}" for number in range(3)]
    near = vector_of(first)
    store.do(remember(first, vector=near))
    for number, text in enumerate(others):
        likelihood.say(first, text, 0.9)
        store.do(remember(text, vector=vector_at(near, 0.9, seed=number), force=False))
    every = pages(store, QuestionsQuery("anna"), "questions")
    assert lengths(every) == [1] * len(every)
    assert len(every) > 1
