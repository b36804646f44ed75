"""Where a text comes from: kept, filtered, and what a less trusted text may not do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.engines import Store, opened, remember, undo, update, vector_of
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.queries import RecallQuery
from totonoe_core.domain.records import Source

PORT = "The staging database listens on port 5433."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "data") as store:
        yield store


def saved(store: Store) -> dict[Source, str]:
    """Ids of a memory from each source."""
    return {one: store.save(f"A remark about the {one.value} pump", source=one) for one in Source}


def test_memory_is_the_agents_unless_its_caller_says_otherwise(store: Store) -> None:
    assert store.one(store.save(PORT)).fields.source is Source.AGENT


def test_source_is_kept_over_a_restart_and_its_change_is_undone(store: Store) -> None:
    page = store.save(PORT, source=Source.EXTERNAL)
    store.apply(update(page, source=Source.USER), operation_id="vouched")
    store.reopen()
    assert store.one(page).fields.source is Source.USER
    store.do(undo("vouched"))
    assert store.one(page).fields.source is Source.EXTERNAL
    store.do(update(page, importance=5))
    assert store.one(page).fields.source is Source.EXTERNAL, "an Update that does not name it"


@pytest.mark.parametrize(
    ("least", "found"),
    [
        (Source.EXTERNAL, {"external", "tool", "agent", "user"}),
        (Source.TOOL, {"tool", "agent", "user"}),
        (Source.AGENT, {"agent", "user"}),
        (Source.USER, {"user"}),
    ],
)
def test_recall_and_list_leave_out_less_trusted_sources(
    store: Store, least: Source, found: set[str]
) -> None:
    saved(store)
    store.reopen()
    where = Filter(min_source=least)
    assert {one.fields.source.value for one in store.list("anna", where)} == found
    asked = RecallQuery("anna", "pump", vector_of("pump").tobytes(), filter=where)
    assert {hit.memory.fields.source.value for hit in store.recall(asked).hits} == found


def test_sources_are_alternatives_and_both_conditions_hold(store: Store) -> None:
    ids = saved(store)
    where = Filter(sources=(Source.EXTERNAL, Source.USER))
    assert {one.id for one in store.list("anna", where)} == {
        ids[Source.EXTERNAL],
        ids[Source.USER],
    }
    where = Filter(sources=(Source.EXTERNAL, Source.USER), min_source=Source.TOOL)
    assert [one.id for one in store.list("anna", where)] == [ids[Source.USER]]


def test_exact_repeat_is_refused_and_changes_no_source(store: Store) -> None:
    page = store.save(PORT, source=Source.EXTERNAL)
    answer = store.do(remember(PORT, source=Source.USER))
    assert (answer.saved, answer.memory_id) == (False, page)
    assert store.one(page).fields.source is Source.EXTERNAL
