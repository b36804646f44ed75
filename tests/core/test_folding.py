"""Recall shows what is probably the same as one hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from support.engines import Store, dismiss, remember, undo, vector_at, vector_of
from support.likelihood import Likelihood
from totonoe_core.base import limits
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.domain.queries import AsOf, Hit, RecallMode, RecallQuery
from totonoe_core.domain.records import Verdict
from totonoe_core.index.arrays import View
from totonoe_core.search.folding import fold
from totonoe_core.search.why_not import Outcome, WhyNotQuery

ASKED = vector_of("asked")


def save(store: Store, likelihood: Likelihood, texts: dict[str, float], *same: str, **more: Any):
    """Save texts at a cosine to the query, each a second after the one before.

    Each of `same` names two texts that are likely the same.
    """
    for pair in same:
        one, other = pair.split()
        likelihood.say(one, other, 0.9)
    ids = {}
    for text, cosine in texts.items():
        store.clock.advance(1)
        command = remember(text, vector=vector_at(ASKED, cosine, seed=1), **more)
        ids[text] = store.do(command).memory_id
    return ids


def query(**more: Any) -> RecallQuery:
    asked = RecallQuery(
        "anna", vector=ASKED.tobytes(), mode=RecallMode.VECTOR, fold=True,
        diversity=DiversityPolicy(enabled=False),
    )  # fmt: skip
    return replace(asked, **more)


def shown(hits: Sequence[Hit]) -> list[tuple[str, ...]]:
    """The texts of each hit, its own first."""
    return [(hit.memory.content, *(item.memory.content for item in hit.also)) for hit in hits]


def test_newest_stands_at_the_place_of_the_best_and_carries_the_others(
    store: Store, likelihood: Likelihood
) -> None:
    texts = {"old": 0.98, "other": 0.95, "new": 0.9, "far": 0.85}
    save(store, likelihood, texts, "old new")
    hits = store.recall(query()).hits
    assert shown(hits) == [("new", "old"), ("other",), ("far",)]
    assert hits[0].also_count == 1
    assert hits[0].relevance > hits[1].relevance > hits[2].relevance
    assert hits[0].cosine_similarity == pytest.approx(0.9, abs=1e-6)
    assert hits[0].also[0].judgement.verdict is Verdict.RELATED
    assert shown(store.recall(query(fold=False)).hits) == [("old",), ("other",), ("new",), ("far",)]


def test_group_is_a_star_and_no_chain(store: Store, likelihood: Likelihood) -> None:
    save(store, likelihood, {"a": 0.98, "b": 0.95, "c": 0.9}, "a b", "b c")
    assert shown(store.recall(query()).hits) == [("b", "a"), ("c",)]


def test_k_counts_shown_hits_and_is_refilled(store: Store, likelihood: Likelihood) -> None:
    texts = {"a": 0.98, "b": 0.97, "c": 0.96, "d": 0.9}
    save(store, likelihood, texts, "a b", "a c", "b c")
    assert shown(store.recall(query(k=2)).hits) == [("c", "a", "b"), ("d",)]


def test_group_passes_by_its_best_member(store: Store, likelihood: Likelihood) -> None:
    save(store, likelihood, {"old": 0.95, "new": 0.8, "alone": 0.8}, "old new")
    assert shown(store.recall(query(min_relevance=0.9)).hits) == [("new", "old")]


def test_at_most_five_are_carried_and_all_are_counted(store: Store, likelihood: Likelihood) -> None:
    names = [f"t{number}" for number in range(8)]
    likely = limits.LIKELY_LINKS_PER_SAVE
    save(store, likelihood, dict.fromkeys(names[:-1], 0.95))
    for name in names[:-1]:
        likelihood.say(name, names[-1], 0.9)
    save(store, likelihood, {names[-1]: 0.94})
    (first, *_) = store.recall(query()).hits
    assert first.memory.content == names[-1]
    assert first.also_count == min(likely, 7)
    assert len(first.also) == min(first.also_count, limits.FOLDED_HITS_MAX)


def test_only_the_shown_hit_counts_an_access(store: Store, likelihood: Likelihood) -> None:
    ids = save(store, likelihood, {"old": 0.98, "new": 0.9}, "old new")
    store.recall(query())
    assert (store.one(ids["old"]).access_count, store.one(ids["new"]).access_count) == (0, 1)


def test_dismissed_pair_is_shown_apart_and_together_again_after_undo(
    store: Store, likelihood: Likelihood
) -> None:
    ids = save(store, likelihood, {"old": 0.98, "new": 0.9}, "old new")
    before = store.revision
    store.do(dismiss(ids["old"], ids["new"]))
    apart = store.revision
    assert shown(store.recall(query()).hits) == [("old",), ("new",)]
    store.do(undo(apart))
    assert shown(store.recall(query()).hits) == [("new", "old")]
    for revision, then in (
        (before - 1, [("old",)]),
        (before, [("new", "old")]),
        (apart, [("old",), ("new",)]),
        (store.revision, [("new", "old")]),
    ):
        found = store.recall(query(as_of=AsOf(revision), touch=False))
        assert shown(found.hits) == then, revision


def test_private_memory_is_folded_for_its_own_agent_alone(
    store: Store, likelihood: Likelihood
) -> None:
    save(store, likelihood, {"old": 0.98})
    save(store, likelihood, {"new": 0.9}, "old new", private=True)
    assert shown(store.recall(query()).hits) == [("new", "old")]
    assert shown(store.recall(query(agent_id="ben")).hits) == [("old",)]


def test_why_not_names_the_hit_that_carries_it(store: Store, likelihood: Likelihood) -> None:
    ids = save(store, likelihood, {"first": 0.99, "old": 0.98, "new": 0.9}, "old new")

    def why(name: str, **more: Any) -> Any:
        asked = WhyNotQuery(ids[name], query(**more))
        return store.read(asked)

    found = why("old")
    assert (found.outcome, found.standing.place, found.near_id) == (Outcome.FOLDED, 2, ids["new"])
    assert found.standing.near_similarity > 0.8
    assert (why("new").outcome, why("new").standing.place) == (Outcome.CAME, 2)
    assert why("old", fold=False).outcome is Outcome.CAME
    assert why("old", k=1).outcome is Outcome.BEYOND_K


class Columns:
    """A view with the columns that folding reads."""

    def __init__(self, created: Sequence[int], source: Sequence[int]) -> None:
        self._columns = {"created": np.array(created), "source": np.array(source)}

    def take(self, name: str, slots: Any) -> Any:
        return slots if name == "row" else self._columns[name][slots]


def test_every_candidate_stands_in_exactly_one_group() -> None:
    rng = np.random.default_rng(7)
    for _ in range(200):
        count = int(rng.integers(1, 12))
        view: View = Columns(rng.integers(0, 5, count), rng.integers(0, 2, count))  # type: ignore
        slots = rng.permutation(count).astype(np.int64)
        linked: dict[int, list[int]] = {}
        for number in range(count):
            for other in range(number):
                if rng.random() < 0.3:
                    linked.setdefault(number, []).append(other)
                    linked.setdefault(other, []).append(number)
        found = fold(view, slots, lambda _view, _slots, linked=linked: linked)
        carried = [slot for also in found.also.values() for slot in also]
        assert sorted([*slots[found.shown].tolist(), *carried]) == list(range(count))
        assert found.best.tolist() == sorted(found.best.tolist())
        for slot, also in found.also.items():
            assert set(also) <= set(linked[slot])
            for hit in also:
                ages = [
                    [view.take(name, at) for name in ("source", "created")] for at in (hit, slot)
                ]
                assert ages[0] <= ages[1]
