"""WhyNot: what it says of a memory is what a Recall does with it, and why, however far down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import (
    DAY_US,
    NOON,
    HeldEmbedding,
    InProcessEmbedding,
    Store,
    forget,
    opened,
    remember,
    unit,
    update,
    vector_at,
    vector_of,
)
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.domain.queries import DiversityEffect, RecallMode, RecallQuery
from totonoe_core.domain.records import Kind, Source, StateKind, Status, TimeRange, TypedKey
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.search import why_not
from totonoe_core.search.filters import Unmet
from totonoe_core.search.why_not import Condition, Outcome, WhyNot, WhyNotQuery

UNKNOWN = "mem_0123456789abcdef"
WORDS = ["pump", "valve", "motor", "sensor", "cable", "switch", "relay", "fuse"]


def ask(store: Store, memory_id: str, query: RecallQuery) -> WhyNot:
    return store.read(WhyNotQuery(memory_id, query))


def query(text: str = "", *, agent: str = "anna", vector: Any = None, **more: Any) -> RecallQuery:
    given = b"" if vector is None else np.asarray(vector, "<f4").tobytes()
    return RecallQuery(agent, text, given, touch=False, **more)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """300 memories of many kinds, some near each other, some hidden in each way."""
    rng = np.random.default_rng(7)
    with opened(tmp_path_factory.mktemp("why")) as store:
        store.set(("guard.link_distance_below", 0.0))
        centre = vector_of("centre")
        commands = []
        for number in range(300):
            words = " ".join(rng.choice(WORDS, 3))
            kind = (Kind.STATE, Kind.EVENT)[number % 5 == 0]
            commands.append(
                remember(
                    f"{words} {number}",
                    vector=vector_at(centre, float(rng.uniform(-0.5, 1.0)), number),
                    agent=("anna", "ben")[number % 3 == 0],
                    private=number % 7 == 0,
                    kind=kind,
                    state_kind=StateKind.FACT if kind is Kind.STATE else StateKind.NONE,
                    importance=1 + number % 5,
                    thread_id=("", "a", "b")[number % 3],
                    force=True,
                )
            )
        store.apply(*commands)
        ids = [memory.id for memory in store.list("anna")]
        store.do(forget(*ids[3:6]))
        yield store


@pytest.mark.parametrize("seed", range(6))
def test_what_it_says_is_what_a_recall_does(filled: Store, seed: int) -> None:
    rng = np.random.default_rng(seed)
    asked = query(
        "" if seed == 5 else " ".join(rng.choice(WORDS, 2)) + f" {rng.integers(300)}",
        vector=vector_at(vector_of("centre"), 0.9, 1000 + seed) if seed != 4 else None,
        k=int(rng.integers(1, 40)),
        mode={4: RecallMode.LEXICAL, 5: RecallMode.VECTOR}.get(seed, RecallMode.HYBRID),
        filter=Filter(min_importance=int(rng.integers(0, 3))),
        diversity=DiversityPolicy(enabled=seed != 1, thread_share_max=0.3),
    )  # fmt: skip
    recalled = filled.recall(asked)
    places = {hit.memory.id: at for at, hit in enumerate(recalled.hits, 1)}
    memories = [*filled.list("anna"), *filled.list("ben")]
    met = {memory.id for memory in filled.list("anna", asked.filter)}
    outcomes = set()
    for memory in {other.id: other for other in memories}.values():
        told = ask(filled, memory.id, asked)
        outcomes.add(told.outcome)
        if memory.fields.private and memory.agent_id != "anna":
            assert told == WhyNot(told.revision, memory.id, Outcome.NOT_THERE, asked.k)
            continue
        standing = told.standing
        assert standing is not None
        if told.outcome is not Outcome.EXCLUDED:
            assert standing.place == places.get(memory.id, 0)
        assert (told.outcome is Outcome.CAME) == (memory.id in places)
        assert (told.outcome is Outcome.EXCLUDED) == (memory.id not in met) == bool(told.unmet)
        assert standing.passing_count == recalled.filtered_count
        if memory.id in places:
            hit = recalled.hits[places[memory.id] - 1]
            assert standing.fused_rank == hit.fused_rank
            assert standing.diversity is hit.diversity
            for arm, rank, similarity in (
                (standing.vector, hit.vector_rank, hit.cosine_similarity),
                (standing.lexical, hit.lexical_rank, hit.lexical_similarity),
            ):
                if arm is not None:
                    assert arm.candidate == bool(rank)
                    assert arm.similarity == pytest.approx(similarity)
                    assert not rank or arm.rank == rank
        elif told.outcome is Outcome.BEYOND_K:
            assert standing.fused_rank > asked.k
        elif told.outcome is Outcome.CROWDED_OUT:
            assert 1 <= standing.fused_rank <= asked.k
            assert (standing.diversity is DiversityEffect.OVER_BUDGET) == bool(standing.budget)
            assert bool(standing.budget) != bool(told.near_id)
        elif told.outcome is Outcome.OUT_OF_REACH:
            assert standing.fused_rank == 0
            for arm in (standing.vector, standing.lexical):
                assert arm is None or not arm.rank or arm.rank > arm.depth
    assert outcomes >= {Outcome.CAME, Outcome.NOT_THERE, Outcome.EXCLUDED}


def test_ranks_are_exact_however_far_down(filled: Store) -> None:
    towards = vector_at(vector_of("centre"), 0.9, 77)
    asked = query("pump", vector=towards, k=1, filter=Filter(agent_ids=("anna",)))
    met = filled.list("anna", asked.filter)
    similarity = {
        memory.id: float(np.frombuffer(memory.vector, np.float32).astype(np.float64) @ towards)
        for memory in met
    }
    order = sorted(met, key=lambda one: (-similarity[one.id], one.row))
    for rank, memory in enumerate(order, 1):
        standing = ask(filled, memory.id, asked).standing
        assert standing is not None
        assert standing.vector is not None
        assert standing.vector.rank == rank
        assert standing.vector.candidate == (rank <= standing.vector.depth)
        assert standing.vector.similarity == pytest.approx(similarity[memory.id], abs=1e-6)
        assert standing.lexical is not None
        assert bool(standing.lexical.rank) == ("pump" in memory.content)


def test_what_is_not_there_is_an_answer(store: Store) -> None:
    hers = store.save("hers", agent="berta", private=True)
    for memory_id in (UNKNOWN, hers, "ext:none"):
        told = ask(store, memory_id, query("hers"))
        assert told == WhyNot(1, memory_id, Outcome.NOT_THERE, 10)
    assert ask(store, hers, query("hers", agent="berta")).outcome is Outcome.CAME


def test_every_condition_that_keeps_it_out_is_named_with_both_values(store: Store) -> None:
    one = store.save("the pump is hot", category="fact", tags=("a",), importance=2, confidence=0.5,
                     attributes={"n": 1}, about_time=TimeRange(NOON, NOON + DAY_US))  # fmt: skip
    where = Filter(
        categories=("rule", "fear"),
        tags=("a", "b"),
        created=TimeRange(None, NOON),
        about=TimeRange(NOON + DAY_US, None),
        min_importance=3,
        min_confidence=0.4,
        attributes={"n": 2},
        entities=("Ada",),
        sources=(Source.USER, Source.TOOL),
        min_source=Source.USER,
    )
    store.clock.advance(40 * DAY_US)
    told = ask(store, one, query("pump", filter=where))
    assert told.outcome is Outcome.EXCLUDED
    assert {item.name: (item.asked, item.held) for item in told.unmet} == {
        "categories": ("rule, fear", "fact"),
        "tags": ("b", "a"),
        "created": ("[, 2026-09-21T14:13:20+00:00)",
                    "[2026-09-21T14:13:20+00:00, 2026-09-21T14:13:20.000001+00:00)"),
        "about": ("[2026-09-22T14:13:20+00:00, )",
                  "[2026-09-21T14:13:20+00:00, 2026-09-22T14:13:20+00:00)"),
        "min_importance": ("3", "2"),
        "min_confidence": ("0.4", f"{0.5 * 0.99**40:.4g}"),
        "attributes": ('{"n": 2}', '{"n": 1}'),
        "entities": ("Ada", ""),
        "sources": ("user, tool", "agent"),
        "min_source": ("user", "agent"),
    }  # fmt: skip
    assert (told.confidence, told.effective_confidence) == (0.5, pytest.approx(0.5 * 0.99**40))
    assert told.standing is not None
    assert told.standing.lexical is not None
    assert told.standing.lexical.rank == 1, "as if it had been let through"


def test_status_keeps_it_out_and_what_took_its_place_is_named(store: Store) -> None:
    key = TypedKey("server", "port")
    old = store.save("the port is 8080", key=key)
    new = store.save("the port is 8081", key=key)
    told = ask(store, old, query("port"))
    assert (told.outcome, told.status) == (Outcome.EXCLUDED, Status.SUPERSEDED)
    assert (told.superseded_by, told.unmet) == (
        new,
        (Condition("statuses", "active", "superseded"),),
    )
    store.do(forget(new))
    assert ask(store, new, query("port")).unmet == (Condition("statuses", "active", "forgotten"),)
    every = Filter(statuses=(Status.SUPERSEDED,))
    assert ask(store, old, query("port", filter=every)).outcome is Outcome.CAME


def test_words_that_it_lacks_are_named(store: Store) -> None:
    one = store.save("The pump of hall 4 is hot")
    store.save("nothing of that")
    told = ask(store, one, query("Is the PUMP of hall 5 loud?", mode=RecallMode.LEXICAL))
    assert told.outcome is Outcome.CAME
    assert told.standing is not None
    assert set(told.standing.missing_words) == {"5", "loud"}
    told = ask(store, one, query("zebra", mode=RecallMode.LEXICAL))
    assert told.outcome is Outcome.NO_MATCH
    assert told.standing is not None
    assert (told.standing.vector, told.standing.missing_words) == (None, ("zebra",))
    assert told.standing.lexical is not None
    assert (told.standing.lexical.rank, told.standing.lexical.similarity) == (0, 0.0)


def test_what_has_too_many_before_it_is_out_of_reach_or_beyond_k(store: Store) -> None:
    base = unit([1, 0, 0, 0, 0, 0, 0, 0])
    cosines = np.linspace(0.99, 0.2, 60)
    ids = [
        store.save(f"memory {number}", vector=vector_at(base, float(cosine), number), force=True)
        for number, cosine in enumerate(cosines)
    ]
    asked = query(vector=base, k=5, mode=RecallMode.VECTOR, diversity=DiversityPolicy(False))
    for number, memory_id in enumerate(ids):
        told = ask(store, memory_id, asked)
        expected = Outcome.CAME if number < 5 else Outcome.BEYOND_K
        if number >= 50:
            expected = Outcome.OUT_OF_REACH
        assert told.outcome is expected
        assert told.standing is not None
        assert told.standing.vector is not None
        assert told.standing.vector.rank == number + 1
        assert told.standing.fused_rank == (number + 1 if number < 50 else 0)


def test_what_diversity_put_aside_names_the_hit_or_the_budget(store: Store) -> None:
    base = vector_of("base")
    first = store.save("one", vector=base, thread_id="t")
    twin = store.save("two", vector=vector_at(base, 0.999, 1), thread_id="t", force=True)
    store.save("three", vector=vector_at(base, 0.9, 2))
    asked = query(vector=base, k=2, mode=RecallMode.VECTOR)
    near = replace(asked, diversity=DiversityPolicy(mmr_lambda=0.3))
    told = ask(store, twin, near)
    assert (told.outcome, told.near_id) == (Outcome.CROWDED_OUT, first)
    assert told.standing is not None
    assert told.standing.diversity is DiversityEffect.LOWERED
    assert told.standing.near_similarity == pytest.approx(0.999, abs=1e-4)
    shares = replace(asked, diversity=DiversityPolicy(mmr_lambda=1.0, thread_share_max=0.5))
    told = ask(store, twin, shares)
    assert told.outcome is Outcome.CROWDED_OUT
    assert told.standing is not None
    assert (told.standing.diversity, told.standing.budget) == (
        DiversityEffect.OVER_BUDGET,
        "thread",
    )
    assert told.near_id == ""


def test_what_the_graph_passed_by_is_said_to_be_missed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = vector_of("base")
    ids = [
        store.save(
            f"memory {number}", vector=vector_at(base, 0.9 - number / 100, number), force=True
        )
        for number in range(40)
    ]
    index: CollectionIndex = (
        store.engine._collections.opened("default").result(wait_s())._state.index
    )

    class Blind:
        """A graph that finds the far half only."""

        arrays, count, indexed = index.arrays, 40, 40

        def due(self) -> bool:
            return False

        def search(self, query: Any, k: int) -> tuple[np.ndarray, int]:  # noqa: ARG002
            return np.arange(20, 40), 40

    monkeypatch.setattr(index, "graph", Blind())
    monkeypatch.setattr("totonoe_core.search.arms.STEP_ROWS", 0)
    monkeypatch.setattr("totonoe_core.search.recall.CANDIDATES_MIN", 20)
    asked = query(vector=base, k=5, mode=RecallMode.VECTOR, diversity=DiversityPolicy(False))
    assert [hit.memory.id for hit in store.recall(asked).hits] == ids[20:25]
    told = ask(store, ids[0], asked)
    assert told.outcome is Outcome.MISSED
    assert told.standing is not None
    assert (told.standing.vector_search, told.standing.vector.rank) == ("hnsw", 1)
    assert ask(store, ids[20], asked).outcome is Outcome.CAME


def test_text_without_a_vector_is_embedded_or_the_lack_is_told(tmp_path: Path) -> None:
    embedding = HeldEmbedding()
    with opened(tmp_path, embedding=embedding) as store:
        one = store.save("the pump", vector=embedding.vectors(["the pump"])[0])
        waiting = store.engine.read("default", WhyNotQuery(one, query("pump")))
        embedding.release(errors.Unavailable("EMBEDDER_BUSY", "too much to do", retry_delay_ms=1))
        told = waiting.result(wait_s())
        assert (told.outcome, told.degraded_because) == (Outcome.CAME, "too much to do")
        assert told.standing is not None
        assert told.standing.vector is None
        waiting = store.engine.read("default", WhyNotQuery(one, query("pump")))
        embedding.release()
        told = waiting.result(wait_s())
        assert told.standing is not None
        assert told.standing.vector is not None
        assert told.degraded_because == ""


def test_asking_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        one = store.save("the pump", text_only=True)
        ask(store, one, replace(query("pump"), touch=True))
        assert store.one(one).access_count == 0
        assert store.stats().recall_count == 0
        assert store.revision == 1


@pytest.mark.parametrize(
    ("memory_id", "asked", "reason"),
    [
        (UNKNOWN, query(""), "MISSING_FIELD"),
        (UNKNOWN, query("x", k=0), "OUT_OF_RANGE"),
        (UNKNOWN, query("x", vector=[1.0]), "DIMENSION_MISMATCH"),
    ],
)
def test_what_makes_no_sense_is_refused(
    store: Store, memory_id: str, asked: RecallQuery, reason: str
) -> None:
    with pytest.raises(errors.TotonoeError) as caught:
        ask(store, memory_id, asked)
    assert caught.value.reason == reason


def test_times_that_no_calendar_holds_are_told_as_they_are() -> None:
    far = Unmet("created", TimeRange(2**62, None), TimeRange(None, -(2**62)))
    (told,) = why_not.conditions([far])
    assert told == Condition("created", f"[{2**62} us, )", f"[, {-(2**62)} us)")


def test_a_memory_that_was_changed_since_is_asked_about_as_it_is(store: Store) -> None:
    one = store.save("the pump")
    store.do(update(one, content="the valve"))
    told = ask(store, one, query("pump", mode=RecallMode.LEXICAL))
    assert told.outcome is Outcome.NO_MATCH
    assert ask(store, one, query("valve", mode=RecallMode.LEXICAL)).outcome is Outcome.CAME
