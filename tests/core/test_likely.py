"""Memories that probably say the same: saved, linked, asked about, and scored anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.engines import (
    Store,
    dismiss,
    remember,
    undo,
    update,
    vector_at,
    vector_of,
)
from support.likelihood import Likelihood
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, NotFound
from totonoe_core.domain.consolidate import Scored
from totonoe_core.domain.memories import Merge, Remembered
from totonoe_core.domain.records import LinkType, Verdict

BACKUP = "The backup runs at night"
NIGHTLY = "The backup runs nightly"
DAILY = "The backup runs daily"
NEAR = vector_of(BACKUP)


def save(store: Store, text: str, cosine: float = 0.9, **more: Any) -> Remembered:
    """A Remember near the text BACKUP."""
    distinct = more.pop("distinct_from", ())
    vector = NEAR if text == BACKUP else vector_at(NEAR, cosine, seed=len(text))
    return store.do(replace(remember(text, vector=vector, **more), distinct_from=distinct))


def test_likely_same_is_saved_linked_both_ways_and_asked_about(
    store: Store, likelihood: Likelihood
) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.9)
    first = save(store, BACKUP).memory_id
    answer = save(store, NIGHTLY)
    assert answer.saved
    assert answer.guard.question is not None
    question = answer.guard.question
    assert (question.memory_id, question.revision) == (first, store.one(first).revision)
    assert question.judgement is not None
    assert question.judgement.same_probability == 0.9
    assert store.likely(answer.memory_id) == {first: 0.9}
    assert store.likely(first) == {answer.memory_id: 0.9}


def test_likely_link_stands_beside_the_others_and_is_not_counted(
    store: Store, likelihood: Likelihood
) -> None:
    first = save(store, BACKUP).memory_id
    likelihood.say(BACKUP, NIGHTLY, 0.9)
    answer = store.do(replace(remember(NIGHTLY, vector=vector_at(NEAR, 0.9)), links_max=1))
    assert {link.type for link in answer.links} == {LinkType.RELATED, LinkType.LIKELY_SAME}
    assert {link.target_id for link in answer.links} == {first}


@pytest.mark.parametrize(
    ("probability", "hard"), [(0.1, False), (0.95, True)], ids=["improbable", "hard"]
)
def test_pair_that_is_not_likely_is_not_asked_about(
    store: Store, likelihood: Likelihood, probability: float, hard: bool
) -> None:
    likelihood.say(BACKUP, NIGHTLY, probability, hard=hard)
    first = save(store, BACKUP).memory_id
    answer = save(store, NIGHTLY)
    assert (answer.saved, answer.guard.question) == (True, None)
    assert store.likely(first) == {}


def test_duplicate_is_refused_only_if_the_probability_is_not_against_it(
    store: Store, likelihood: Likelihood
) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.2, Verdict.DUPLICATE)
    likelihood.say(BACKUP, DAILY, 0.9, Verdict.DUPLICATE)
    first = save(store, BACKUP).memory_id
    unsure = save(store, NIGHTLY)
    assert unsure.saved
    assert unsure.guard.verdict is Verdict.RELATED
    assert save(store, DAILY).memory_id == first


def test_other_payload_is_a_difference_whatever_the_probability(
    store: Store, likelihood: Likelihood
) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.95)
    save(store, BACKUP)
    answer = save(store, NIGHTLY, payload='{"host":"db2"}')
    assert (answer.saved, answer.guard.question) == (True, None)


def test_policy_without_the_band_asks_nothing(store: Store, likelihood: Likelihood) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.9)
    store.set(("guard.likely_from", None))
    save(store, BACKUP)
    assert save(store, NIGHTLY).guard.question is None


def test_at_most_three_are_linked_the_most_probable_first(
    store: Store, likelihood: Likelihood
) -> None:
    texts = [f"{BACKUP} {place}" for place in "abcde"]
    for number, text in enumerate(texts):
        likelihood.say(text, NIGHTLY, 0.6 + number / 20)
    ids = [save(store, text).memory_id for text in texts]
    answer = save(store, NIGHTLY)
    assert set(store.likely(answer.memory_id)) == set(ids[-limits.LIKELY_LINKS_PER_SAVE :])
    assert answer.guard.question is not None
    assert answer.guard.question.memory_id == ids[-1]


# -- distinct_from


def test_distinct_from_dismisses_the_pair_in_the_same_operation(
    store: Store, likelihood: Likelihood
) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.9)
    first = save(store, BACKUP).memory_id
    answer = save(store, NIGHTLY, distinct_from=(first,))
    assert (answer.saved, answer.guard.question) == (True, None)
    assert store.likely(first) == {}
    assert store.do(dismiss(first, answer.memory_id)).changed is False, "it was dismissed"


def test_distinct_from_never_overrules_a_certain_duplicate(
    store: Store, likelihood: Likelihood
) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.97, Verdict.DUPLICATE)
    first = save(store, BACKUP).memory_id
    answer = save(store, NIGHTLY, distinct_from=(first,))
    assert (answer.saved, answer.memory_id) == (False, first)


def test_distinct_from_names_memories_that_the_caller_may_read(store: Store) -> None:
    hidden = save(store, BACKUP, agent="bert", private=True).memory_id
    with pytest.raises(NotFound):
        save(store, NIGHTLY, distinct_from=(hidden,))
    with pytest.raises(InvalidArgument, match="distinct_from"):
        save(store, NIGHTLY, distinct_from=(hidden,) * (limits.DISTINCT_FROM_MAX + 1))


# -- Scored anew


def test_update_scores_its_links_again(store: Store, likelihood: Likelihood) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.9)
    likelihood.say(NIGHTLY, DAILY, 0.7)
    first = save(store, BACKUP).memory_id
    second = save(store, NIGHTLY).memory_id
    store.do(update(first, content="The cat sleeps", vector=vector_of("cat")))
    assert (store.likely(first), store.likely(second)) == ({}, {})
    answer = store.do(update(first, content=DAILY, vector=vector_at(NEAR, 0.95)))
    assert answer.guard.question.memory_id == second
    assert store.likely(second) == {first: 0.7}
    store.do(undo(store.revision))
    assert store.likely(second) == {}


def test_update_that_is_forced_keeps_what_still_holds(store: Store, likelihood: Likelihood) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.9)
    likelihood.say(NIGHTLY, DAILY, 0.7)
    first = save(store, BACKUP).memory_id
    second = save(store, NIGHTLY).memory_id
    store.do(update(first, content=DAILY, vector=vector_at(NEAR, 0.95), force=True))
    assert store.likely(second) == {first: 0.7}


def test_update_of_other_fields_leaves_the_links(store: Store, likelihood: Likelihood) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.9)
    first = save(store, BACKUP).memory_id
    second = save(store, NIGHTLY).memory_id
    store.do(update(first, importance=5))
    assert store.likely(second) == {first: 0.9}


def test_merge_scores_against_the_text_that_stays(store: Store, likelihood: Likelihood) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.9)
    likelihood.say(NIGHTLY, DAILY, 0.8)
    likelihood.say(BACKUP, DAILY, 0.1)
    first = save(store, BACKUP).memory_id
    second = save(store, NIGHTLY).memory_id
    third = save(store, DAILY).memory_id
    assert store.likely(second) == {first: 0.9, third: 0.8}
    store.do(Merge("anna", first, (second,)))
    assert (store.likely(first), store.likely(third)) == ({}, {}), "0.1 is not likely"
    store.do(undo(store.revision))
    assert store.likely(second) == {first: 0.9, third: 0.8}
    likelihood.say(BACKUP, DAILY, 0.6)
    store.do(Merge("anna", first, (second,)))
    assert store.likely(third) == {first: 0.6}


# -- Scored later


def test_policy_that_begins_to_ask_has_consolidate_score_what_is_there(
    store: Store, likelihood: Likelihood
) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.9)
    store.set(("guard.likely_from", None))
    first = save(store, BACKUP).memory_id
    second = save(store, NIGHTLY).memory_id
    hidden = save(store, DAILY, agent="bert", private=True).memory_id
    likelihood.say(BACKUP, DAILY, 0.8)
    assert store.stats().unscored_count == 0, "nothing waits while nobody asks"
    store.set(("guard.likely_from", 0.5))
    assert store.stats().unscored_count == 2, "the third is private to another agent"
    assert store.consolidate().scored == Scored(scored_count=2, link_count=1)
    assert store.likely(first) == {second: 0.9}, "the other is private"
    assert [link.target_id for link in store.one(hidden, "bert").links if link.confidence == 0.8]
    assert store.stats().unscored_count == 0
    revision = store.revision
    assert store.consolidate().scored == Scored()
    assert store.revision == revision


def test_run_scores_in_bounded_operations(
    store: Store, likelihood: Likelihood, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SCORED_PER_OPERATION", 2)
    monkeypatch.setattr(limits, "SCORED_PER_RUN_MAX", 4)
    store.set(("guard.likely_from", None))
    texts = [f"{BACKUP} {place}" for place in "abcde"]
    for text in texts:
        likelihood.say(text, texts[-1], 0.9)
        save(store, text)
    store.set(("guard.likely_from", 0.5))
    first = store.consolidate().scored
    assert (first.scored_count, first.left_count) == (4, 1)
    store.reopen()
    assert store.stats().unscored_count == 1
    assert store.consolidate().scored.scored_count == 1
