"""Bounds of a collection's guard that answers of its callers move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.engines import (
    Store,
    change,
    dismiss,
    merge,
    opened,
    remember,
    undo,
    vector_at,
    vector_of,
)
from support.judges import ScriptedJudge, by_the_judge_alone, service
from support.waits import wait_until
from totonoe_core.base import limits
from totonoe_core.base.errors import NotFound
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.policy import LIKELY_FROM
from totonoe_core.domain.queries import OperationFilter, OperationsQuery
from totonoe_core.judging import Relation

TEXTS = (
    ("The neighbour has a loud dog", "Next door there is a noisy animal that barks"),
    ("Anna keeps her keys in a blue bowl", "The bowl by the door is where Anna puts what opens it"),
    ("The team eats together on Fridays", "At the end of each week all have lunch at one table"),
    ("Ben grew up beside the sea", "As a child Ben lived on the coast"),
    ("The old printer jams in summer", "When it is hot the machine for paper gets stuck"),
)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    by_the_judge_alone(monkeypatch)
    monkeypatch.setattr(limits, "LEARNED_FROM_MIN", 4)
    monkeypatch.setattr(limits, "LEARNED_EVERY", 4)


@pytest.fixture
def judge() -> ScriptedJudge:
    return ScriptedJudge(Relation.SAME)


@pytest.fixture
def store(tmp_path: Path, judge: ScriptedJudge) -> Iterator[Store]:
    with opened(tmp_path, judging=service(judge, kind="own")) as opened_store:
        yield opened_store


def pairs(store: Store) -> list[tuple[str, str]]:
    """Ids of the texts, each beside its own pair, saved without asking anybody."""
    found = []
    for text, other in TEXTS:
        near = vector_at(vector_of(text), 0.7)
        first = store.do(remember(text, force=True)).memory_id
        found.append((first, store.do(remember(other, vector=near, force=True)).memory_id))
    return found


def moved(store: Store) -> CollectionInfo:
    """The settings once answers have moved a bound."""
    wait_until(lambda: store.info().learned is not None)
    return store.info()


def test_answers_move_bounds_with_a_reason_and_can_be_taken_back(
    store: Store, judge: ScriptedJudge
) -> None:
    for pair, other in pairs(store):
        assert store.info().learned is None
        store.do(dismiss(pair, other))
    found = moved(store)
    learned = found.learned
    assert learned is not None
    assert found.guard.likely_from == learned.likely_from
    assert learned.likely_from is not None
    assert LIKELY_FROM < learned.likely_from <= 0.7
    assert (learned.answer_count, learned.same_count) == (5, 0)
    assert len(judge.pairs) == 5, "each pair once"
    query = OperationsQuery("anna", OperationFilter(), page_size=1)
    (operation,) = store.read(query).operations
    assert (operation.kind, operation.agent_id) == ("UpdateCollection", "")
    assert operation.reason == "learned from 5 answers, 0 of them same"
    assert store.do(undo(operation.revision)).collection is not None
    back = store.info()
    assert (back.guard.likely_from, back.learned) == (LIKELY_FROM, None)


def test_merges_are_answers_and_what_was_learned_outlives_a_restart(store: Store) -> None:
    first, *rest = pairs(store)
    store.do(merge(*first))
    for pair in rest:
        store.do(dismiss(*pair))
    before = moved(store)
    assert before.learned is not None
    assert (before.learned.answer_count, before.learned.same_count) == (5, 1)
    store.reopen()
    after = store.info()
    assert (after.guard, after.learned) == (before.guard, before.learned)


def test_bound_that_is_set_by_hand_stays_and_the_record_goes_with_the_learned_one(
    store: Store,
) -> None:
    for pair in pairs(store):
        store.do(dismiss(*pair))
    moved(store)
    store.do(change(("guard.likely_from", 0.5)))
    found = store.info()
    assert (found.guard.likely_from, found.learned) == (0.5, None)


def test_frozen_guard_reads_no_answers(store: Store, judge: ScriptedJudge) -> None:
    store.do(change(("guard.learns", False)))
    for pair in pairs(store):
        store.do(dismiss(*pair))
    store.save("What comes after the last answer")
    assert not judge.pairs
    assert store.info().learned is None


def test_answers_that_are_replayed_or_refused_do_not_count(
    store: Store, judge: ScriptedJudge
) -> None:
    first, second, *_ = pairs(store)
    store.apply(dismiss(*first), operation_id="once")
    for _ in range(2 * limits.LEARNED_EVERY):
        assert store.apply(dismiss(*first), operation_id="once").replayed
        with pytest.raises(NotFound):
            store.do(dismiss(second[0], "mem_000000000000"))
    store.save("What comes after the last answer")
    assert not judge.pairs


def test_private_memories_are_not_learned_from(store: Store, judge: ScriptedJudge) -> None:
    for wording, other in TEXTS:
        ids = [store.save(text, private=True, force=True) for text in (wording, other)]
        store.do(dismiss(*ids))
    store.save("What comes after the last answer")
    assert store.info().learned is None
    assert not judge.pairs
