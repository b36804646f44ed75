"""Recall against brute force: filters, ranks, explanations, fading."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import (
    DAY_US,
    NOON,
    InProcessEmbedding,
    Store,
    forget,
    link,
    opened,
    remember,
    unit,
    update,
    vector_at,
    vector_of,
)
from support.oracles import ordered_similarity
from totonoe_core.base import errors
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.domain.queries import AsOf, DiversityEffect, RecallMode, RecallQuery
from totonoe_core.domain.records import Kind, LinkType, Memory, StateKind, Status, TimeRange

PLAIN = DiversityPolicy(enabled=False)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory):
    """120 memories of mixed fields, written once and only read."""
    rng = np.random.default_rng(11)
    with opened(tmp_path_factory.mktemp("recall")) as store:
        commands = []
        for number in range(120):
            log = number % 6 == 0
            begin = NOON - int(rng.integers(1, 100)) * DAY_US
            commands.append(
                remember(
                    f"note {number} about part{number % 7}",
                    agent=f"agent{number % 3}",
                    vector=unit(rng.normal(size=8)),
                    force=True,
                    kind=Kind.EVENT if log else Kind.STATE,
                    state_kind=StateKind.NONE
                    if log
                    else [StateKind.FACT, StateKind.TASK][number % 2],
                    category=["", "gotcha", "decision"][number % 3],
                    tags=tuple(tag for tag in ("red", "big", "old") if rng.random() < 0.4),
                    entities=tuple(name for name in ("Ada", "Bo") if rng.random() < 0.4),
                    session_id=["", "s1", "s2"][number % 3],
                    thread_id=["", "t1"][number % 2],
                    importance=1 + number % 5,
                    confidence=float(rng.integers(1, 11)) / 10,
                    private=number % 10 == 0,
                    attributes={"room": number % 4, "ok": bool(number % 2), "n": {"a": [1, 2.5]}},
                    created_us=begin,
                    about_time=TimeRange(begin, begin + DAY_US)
                    if number % 4
                    else TimeRange(None, begin)
                    if number % 8
                    else TimeRange(),
                    valid_from_us=begin if number % 3 else None,
                    valid_to_us=begin + 5 * DAY_US if number % 5 else None,
                )
            )
        store.apply(*commands)
        everything = store.list("agent0") + store.list("agent1") + store.list("agent2")
        ids = list({memory.id: memory for memory in everything})
        store.do(forget(*ids[::9], agent="agent0"))
        yield store


def shares_a_moment(begin: int | None, end: int | None, asked: TimeRange) -> bool:
    """Whether [begin, end) and the range asked overlap; `None` is open."""
    after = asked.to_us is None or begin is None or begin < asked.to_us
    return after and (asked.from_us is None or end is None or end > asked.from_us)


DAY_50 = NOON - 50 * DAY_US
LATE, EARLY = TimeRange(DAY_50, None), TimeRange(None, DAY_50)
BETWEEN = TimeRange(NOON - 60 * DAY_US, NOON - 30 * DAY_US)

Passes = Callable[[Memory], bool]
FILTERS: dict[str, tuple[Filter, Passes]] = {
    "none": (Filter(), lambda _: True),
    "kinds": (Filter(kinds=(Kind.EVENT,)), lambda m: m.fields.kind is Kind.EVENT),
    "state kinds": (
        Filter(state_kinds=(StateKind.TASK, StateKind.NONE)),
        lambda m: m.fields.state_kind in (StateKind.TASK, StateKind.NONE),
    ),
    "category": (Filter(categories=("gotcha",)), lambda m: m.fields.category == "gotcha"),
    "categories": (
        Filter(categories=("gotcha", "", "unknown")),
        lambda m: m.fields.category in ("gotcha", ""),
    ),
    "tags": (Filter(tags=("red", "old")), lambda m: {"red", "old"} <= set(m.fields.tags)),
    "agents": (Filter(agent_ids=("agent1", "nobody")), lambda m: m.agent_id == "agent1"),
    "session": (Filter(session_ids=("s2",)), lambda m: m.fields.session_id == "s2"),
    "thread": (Filter(thread_ids=("t1",)), lambda m: m.fields.thread_id == "t1"),
    "entities": (Filter(entities=("Bo",)), lambda m: "Bo" in m.fields.entities),
    "importance": (Filter(min_importance=4), lambda m: m.fields.importance >= 4),
    "created": (Filter(created=BETWEEN), lambda m: BETWEEN.from_us <= m.created_us < BETWEEN.to_us),
    "created early": (Filter(created=EARLY), lambda m: m.created_us < DAY_50),
    "updated": (Filter(updated=LATE), lambda m: m.updated_us >= DAY_50),
    "updated early": (Filter(updated=EARLY), lambda m: m.updated_us < DAY_50),
    "about": (
        Filter(about=BETWEEN),
        lambda m: (
            m.fields.about_time != TimeRange()
            and shares_a_moment(m.fields.about_time.from_us, m.fields.about_time.to_us, BETWEEN)
        ),
    ),
    "valid": (
        Filter(valid=BETWEEN),
        lambda m: shares_a_moment(m.fields.valid_from_us, m.fields.valid_to_us, BETWEEN),
    ),
    "valid late": (
        Filter(valid=LATE),
        lambda m: shares_a_moment(m.fields.valid_from_us, m.fields.valid_to_us, LATE),
    ),
    "attribute": (
        Filter(attributes={"room": 2, "ok": False}),
        lambda m: m.fields.attributes["room"] == 2 and m.fields.attributes["ok"] is False,
    ),
    "attribute object": (Filter(attributes={"n": {"a": [1, 2.5]}}), lambda _: True),
    "attribute of another type": (Filter(attributes={"room": "2"}), lambda _: False),
    "forgotten": (
        Filter(statuses=(Status.FORGOTTEN,)),
        lambda m: m.status is Status.FORGOTTEN,
    ),
    "any status": (Filter(statuses=tuple(Status)), lambda _: True),
    "several": (
        Filter(categories=("decision",), tags=("red",), min_importance=2, created=LATE),
        lambda m: (
            m.fields.category == "decision"
            and "red" in m.fields.tags
            and m.fields.importance >= 2
            and m.created_us >= DAY_50
        ),
    ),
}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("agent", ["agent0", "stranger"])
def test_filter_lets_through_what_brute_force_does(filled: Store, name: str, agent: str) -> None:
    where, passes = FILTERS[name]
    vector = vector_of("query")
    expected = sorted(
        (
            memory
            for memory in filled.list(agent)
            if passes(memory) and memory.status in (where.statuses or (Status.ACTIVE,))
        ),
        key=lambda memory: -ordered_similarity(np.frombuffer(memory.vector, "<f4"), vector),
    )
    query = RecallQuery(
        agent, "", vector.tobytes(), k=1000, filter=where, diversity=PLAIN, touch=False
    )
    found = filled.recall(query)
    assert [hit.memory.id for hit in found.hits] == [memory.id for memory in expected]
    assert found.filtered_count == len(expected)
    listed = filled.list(agent, where)
    assert {memory.id for memory in listed} == {memory.id for memory in expected}
    assert len(listed) == len(expected)
    if expected:
        one = RecallQuery(agent, "", vector.tobytes(), k=1, filter=where, diversity=PLAIN)
        assert filled.recall(one).hits[0].memory.id == expected[0].id


def test_filters_of_the_test_above_divide_the_store(filled: Store) -> None:
    memories = filled.list("agent0")
    trivial = {"none", "any status", "updated", "attribute object", "attribute of another type"}
    trivial.add("updated early")
    for name, (_, passes) in FILTERS.items():
        count = sum(map(passes, memories))
        assert name in trivial or 0 < count < len(memories), name


def test_hits_explain_both_arms_and_their_relevance(filled: Store) -> None:
    vector = vector_of("query")
    query = RecallQuery(
        "agent0", "part3 note", vector.tobytes(), k=30, diversity=PLAIN, touch=False
    )
    found = filled.recall(query)
    assert found.arms == ("vector", "lexical")
    assert (found.vector_search, found.degraded_because) == ("exact", "")
    live = filled.list("agent0", Filter())
    by_vector = sorted(
        live, key=lambda m: -ordered_similarity(np.frombuffer(m.vector, "<f4"), vector)
    )
    rank = {memory.id: place for place, memory in enumerate(by_vector, 1)}
    relevances = []
    for place, hit in enumerate(found.hits, 1):
        expected = ordered_similarity(np.frombuffer(hit.memory.vector, "<f4"), vector)
        assert hit.cosine_similarity == max(-1.0, min(1.0, expected))
        assert hit.vector_rank in (0, rank[hit.memory.id])
        assert hit.fused_rank == place
        assert hit.diversity is DiversityEffect.NONE
        assert (hit.lexical_rank > 0) <= (hit.lexical_similarity > 0)
        assert 0.0 <= hit.lexical_similarity <= 1.0
        assert hit.vector_rank or hit.lexical_rank or hit.context, "from an arm, or beside such"
        fit = (max(0.0, hit.cosine_similarity) + 2.0 * hit.lexical_similarity) / 3.0
        assert hit.relevance == pytest.approx(fit + hit.context, abs=1e-12)
        assert hit.context == 0.0 or hit.memory.fields.thread_id
        relevances.append(hit.relevance)
    words = {hit.lexical_rank for hit in found.hits} - {0}
    assert len(words) > 5
    assert found.hits[0].memory.id in rank
    assert relevances == sorted(relevances, reverse=True)
    least = relevances[10]
    strong = filled.recall(replace(query, min_relevance=least))
    assert [hit.memory.id for hit in strong.hits] == [
        hit.memory.id for hit in found.hits if hit.relevance >= least
    ]


def test_hit_by_part_number_is_first_in_the_lexical_arm(tmp_path: Path) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        for number in range(40):
            store.save(f"Bracket ASR-{1600 + number} lies in drawer {number}", text_only=True)
        for text in ("ASR-1613", "asr1613", "where is asr 1613?"):
            query = RecallQuery("anna", text, k=3, mode=RecallMode.LEXICAL)
            found = store.recall(query)
            assert "ASR-1613" in found.hits[0].memory.content, text
            assert found.arms == ("lexical",)
            assert found.hits[0].cosine_similarity is None
            assert found.hits[0].vector_rank == 0


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("倉庫の鍵は青い棚の裏にある", "青い棚"),
        ("数据库的备份在周日运行", "备份"),
        ("펌프 소음이 다시 커졌다", "소음"),
    ],
)
def test_words_of_unspaced_scripts_are_found(tmp_path: Path, text: str, query: str) -> None:
    with opened(tmp_path) as store:
        wanted = store.save(text)
        for number in range(5):
            store.save(f"それ以外の話 {number} 其他的事情 다른 이야기")
        found = store.recall(RecallQuery("anna", query, mode=RecallMode.LEXICAL))
        assert found.hits[0].memory.id == wanted
        assert found.hits[0].lexical_similarity > 0.5


def test_recall_without_vector_says_why_it_is_degraded(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        saved = store.save("red pump")
        found = store.recall(RecallQuery("anna", "pump"))
        assert [hit.memory.id for hit in found.hits] == [saved]
        assert found.arms == ("lexical",)
        assert found.degraded_because
        with pytest.raises(errors.InvalidArgument):
            store.recall(RecallQuery("anna", "pump", mode=RecallMode.VECTOR))


def test_recall_while_the_embedder_is_away_falls_back_to_words(tmp_path: Path) -> None:
    class Away(InProcessEmbedding):
        def submit(self, texts: Any) -> Any:
            if self.state == "restarting":
                raise errors.Unavailable("EMBEDDER_UNAVAILABLE", "it restarts", retry_delay_ms=5)
            return super().submit(texts)

    embedding = Away()
    with opened(tmp_path, embedding=embedding) as store:
        saved = store.save("red pump", text_only=True)
        embedding.state = "restarting"
        found = store.recall(RecallQuery("anna", "pump"))
        assert [hit.memory.id for hit in found.hits] == [saved]
        assert (found.arms, found.degraded_because) == (("lexical",), "it restarts")
        with pytest.raises(errors.Unavailable):
            store.recall(RecallQuery("anna", "pump", mode=RecallMode.VECTOR))
        with pytest.raises(errors.Unavailable):
            store.do(remember("new", text_only=True))
        embedding.state = "ready"
        assert store.recall(RecallQuery("anna", "pump")).arms == ("vector", "lexical")


def test_min_confidence_reads_what_is_left_after_fading(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        strong = store.save("strong", confidence=0.9)
        weak = store.save("weak", confidence=0.5)

        def found(least: float, touch: bool = False) -> dict[str, float]:
            query = RecallQuery(
                "anna",
                "",
                vector_of("q").tobytes(),
                filter=Filter(min_confidence=least),
                touch=touch,
            )
            return {hit.memory.id: hit.effective_confidence for hit in store.recall(query).hits}

        assert found(0.5) == {strong: 0.9, weak: 0.5}
        store.clock.advance(60 * DAY_US)
        faded = found(0.0)
        assert faded[strong] == pytest.approx(0.9 * 0.99**60, rel=1e-9)
        assert faded[weak] == pytest.approx(0.5 * 0.99**60, rel=1e-9)
        assert set(found(0.3)) == {strong}
        assert {m.id for m in store.list(where=Filter(min_confidence=0.3))} == {strong}
        assert store.one(weak).fields.confidence == 0.5, "the base never changes"
        assert set(found(0.3, touch=True)) == {strong}
        assert found(0.0)[strong] == 0.9, "an access sets the clock back"
        store.reopen()
        assert found(0.0) == {strong: 0.9, weak: faded[weak]}


def test_k_is_what_is_given_at_most(filled: Store) -> None:
    for k in (1, 3, 50, 1000):
        query = RecallQuery("agent0", "note", vector_of("query").tobytes(), k=k, touch=False)
        found = filled.recall(query)
        ids = [hit.memory.id for hit in found.hits]
        assert len(ids) == len(set(ids)) == min(k, found.filtered_count)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (RecallQuery("a", ""), "MISSING_FIELD"),
        (RecallQuery("a", " \n"), "MISSING_FIELD"),
        (RecallQuery("a", "", b"\0" * 32, mode=RecallMode.LEXICAL), "MISSING_FIELD"),
        (RecallQuery("a", "x", k=0), "OUT_OF_RANGE"),
        (RecallQuery("a", "x", k=1001), "OUT_OF_RANGE"),
        (RecallQuery("a", "x", min_relevance=1.1), "OUT_OF_RANGE"),
        (RecallQuery("a", "x", min_relevance=math.nan), "OUT_OF_RANGE"),
        (RecallQuery("a", "x", b"\0" * 32), "ZERO_VECTOR"),
        (RecallQuery("a", "x", b"\0" * 28), "DIMENSION_MISMATCH"),
        (RecallQuery("a", "x", np.full(8, np.nan, "<f4").tobytes()), "NON_FINITE_VECTOR"),
        (RecallQuery("a", "x\0"), "NUL_IN_TEXT"),
        (RecallQuery("a", "x" * 40000), "LIMIT_EXCEEDED"),
        (RecallQuery("a", "x", filter=Filter(min_confidence=1.5)), "OUT_OF_RANGE"),
        (RecallQuery("a", "x", filter=Filter(created=TimeRange(5, 5))), "BAD_TIME"),
        (RecallQuery("a", "x", filter=Filter(tags=("t",) * 101)), "LIMIT_EXCEEDED"),
        (RecallQuery("a", "x", diversity=DiversityPolicy(mmr_lambda=2.0)), "OUT_OF_RANGE"),
    ],
)
def test_recall_that_makes_no_sense_is_refused(
    filled: Store, query: RecallQuery, reason: str
) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        filled.recall(query)
    assert caught.value.reason == reason


def test_ties_are_by_age_whatever_was_updated_or_opened_since(tmp_path: Path) -> None:
    """Twins, of one text and one vector, tie in both arms."""
    base = vector_of("q")
    with opened(tmp_path) as store:
        twins = [store.save("umber twin", vector=base, force=True) for _ in range(3)]
        for number in range(5):
            store.save(f"other {number}", vector=vector_at(base, 0.5 - 0.1 * number), force=True)

        def first_three(mode: RecallMode) -> list[str]:
            query = RecallQuery(
                "anna", "umber twin", base.tobytes(), diversity=PLAIN, touch=False, mode=mode
            )
            return [hit.memory.id for hit in store.recall(query).hits][:3]

        for change in (None, *twins):
            if change is not None:
                store.do(update(change, importance=4))
            for mode in RecallMode:
                assert first_three(mode) == twins
        store.reopen()
        for mode in RecallMode:
            assert first_three(mode) == twins


def test_newer_stands_before_what_it_updates_and_comes_in_its_place(tmp_path: Path) -> None:
    base = vector_of("q")
    with opened(tmp_path) as store:
        oldest = store.save("The staging port is 5433", vector=base)
        old = store.save("The staging port is 5434", vector=vector_at(base, 0.8), force=True)
        new = store.save("The staging port is 5435", vector=vector_at(base, 0.7), force=True)
        other = store.save("staging port of call", vector=vector_at(base, 0.55), force=True)
        hers = store.save(
            "The staging port is 5436", vector=vector_at(base, 0.6), agent="berta", private=True
        )
        for newer, older, agent in (
            (old, oldest, "anna"),
            (new, old, "anna"),
            (hers, new, "berta"),
        ):
            store.do(link(newer, older, LinkType.UPDATES, agent=agent))

        def found(
            k: int, agent: str = "anna", text: str = "staging port", **more: Any
        ) -> list[tuple[str, DiversityEffect]]:
            query = RecallQuery(agent, text, base.tobytes(), k=k, touch=False, **more)
            return [(hit.memory.id, hit.diversity) for hit in store.recall(query).hits]

        assert [memory_id for memory_id, _ in found(4)] == [new, old, oldest, other]
        assert found(1) == [(new, DiversityEffect.NEWER)]
        assert found(1, "berta") == [(hers, DiversityEffect.NEWER)]
        assert [memory_id for memory_id, _ in found(4, diversity=PLAIN)] == [
            oldest,
            old,
            new,
            other,
        ]
        assert [memory_id for memory_id, _ in found(1, text="staging port 5433")] == [oldest]
        revision = store.revision
        store.do(forget(new))
        assert found(1) == [(old, DiversityEffect.NEWER)]
        query = RecallQuery("anna", "staging port", base.tobytes(), k=1, as_of=AsOf(revision))
        assert store.recall(query).hits[0].memory.id == new
