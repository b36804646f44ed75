"""What hits say about themselves, and what may stand before what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.engines import (
    EVERY_STATUS,
    HOUR_US,
    InProcessEmbedding,
    Store,
    dismiss,
    forget,
    link,
    opened,
    unlink,
    vector_at,
    vector_of,
)
from support.likelihood import Likelihood
from support.waits import wait_s
from totonoe_core.base import limits
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.domain.queries import AsOf, DiversityEffect, Hit, RecallQuery
from totonoe_core.domain.records import Fields, LinkType
from totonoe_core.embedding.use import UseEmbedder
from totonoe_core.search.why_not import Outcome, WhyNot, WhyNotQuery

PLAIN = DiversityPolicy(enabled=False)


@pytest.fixture(scope="module")
def embedding() -> InProcessEmbedding:
    return InProcessEmbedding(UseEmbedder())


@pytest.fixture
def read(tmp_path: Path, embedding: InProcessEmbedding) -> Iterator[Store]:
    """A store whose texts are read and embedded as the daemon does."""
    embedding.state = "ready"
    with opened(tmp_path, embedding=embedding) as store:
        yield store


def say(store: Store, *texts: str, **more: Any) -> list[str]:
    """Save texts an hour apart; return their ids."""
    ids = []
    for text in texts:
        store.clock.advance(HOUR_US)
        ids.append(store.save(text, text_only=True, **more))
    return ids


def recalled(store: Store, text: str, **more: Any) -> Sequence[Hit]:
    agent = more.pop("agent", "anna")
    hits: Sequence[Hit] = store.recall(RecallQuery(agent, text, touch=False, **more)).hits
    return hits


def texts_of(hits: Sequence[Hit]) -> list[str]:
    return [hit.memory.content for hit in hits]


@pytest.mark.parametrize(
    ("older", "newer", "query"),
    [
        (
            "Tomás is allergic to peanuts.",
            "Tomás is allergic to pollen.",
            "Is Tomás allergic to peanuts?",
        ),
        ("Lena speaks German.", "Lena speaks French.", "Does Lena speak German?"),
        (
            "The session store uses Redis.",
            "The session store uses Kafka.",
            "Do we use Redis for the session store?",
        ),
        ("We use Slack for chat.", "We use Slack for alerts.", "What do we use for chat?"),
        (
            "Maria owns the billing service.",
            "Maria owns the invoicing service.",
            "Who owns the billing service?",
        ),
        ("Otto ist gegen Nüsse allergisch.", "Otto ist gegen Pollen allergisch.", "Nüsse Otto"),
        ("太郎は紅茶が好きです。", "太郎はコーヒーが好きです。", "太郎は紅茶が好きですか"),
        ("小王喜欢喝茶。", "小王喜欢喝咖啡。", "小王喜欢喝茶吗"),
        ("The staging port is 5432.", "The staging port is 5433.", "Is the staging port 5432?"),
        ("The timeout is 30 s.", "The timeout is 60 s.", "Is the timeout 30 seconds?"),
    ],
)
def test_what_was_asked_for_stands_first_though_something_newer_is_linked(
    read: Store, older: str, newer: str, query: str
) -> None:
    say(read, older, newer)
    for k in (1, 2):
        assert texts_of(recalled(read, query, k=k))[0] == older


@pytest.mark.parametrize(
    ("older", "newer", "query"),
    [
        ("The staging port is 5432.", "The staging port is 5433.", "What is the staging port?"),
        ("The timeout is 30 s.", "The timeout is 60 s.", "What is the timeout?"),
        ("The build takes 12 minutes.", "The build takes 9 minutes.", "How long is the build?"),
        ("The cache is enabled.", "The cache is not enabled.", "Is the cache enabled?"),
    ],
)
def test_newer_value_stands_first_where_the_older_cannot_be_true_too(
    read: Store, older: str, newer: str, query: str
) -> None:
    old_id, new_id = say(read, older, newer)
    assert texts_of(recalled(read, query, k=2)) == [newer, older]
    (hit,) = recalled(read, query, k=1)
    assert hit.memory.content == newer
    plain = recalled(read, query, k=2, diversity=PLAIN)
    assert [hit.relevance for hit in plain] == sorted(
        (hit.relevance for hit in plain), reverse=True
    )
    assert {hit.diversity for hit in plain} == {DiversityEffect.NONE}
    (about,) = [hit.updated_by or hit.contradicted_by for hit in plain if hit.memory.id == old_id]
    assert [(memory.memory_id, memory.age, memory.snippet) for memory in about] == [
        (new_id, "just now", newer)
    ]


def test_contradiction_obeys_the_same_rule(read: Store) -> None:
    older, newer = "The event is May 29.", "The event is June 5, not May 29."
    old_id, new_id = say(read, older, newer)
    assert texts_of(recalled(read, "Is the event on May 29?", diversity=PLAIN))[0] in (older, newer)
    by_id = {hit.memory.id: hit for hit in recalled(read, "When is the event?", k=2)}
    assert [memory.memory_id for memory in by_id[old_id].contradicted_by] == [new_id]
    assert [memory.memory_id for memory in by_id[new_id].contradicted_by] == [old_id]


def test_link_of_a_person_is_certain_and_that_of_a_save_is_not(read: Store) -> None:
    older, newer = "Lena speaks German.", "Lena speaks French."
    old_id, new_id = say(read, older, newer)
    query = "What does Lena speak?"
    relevances = {hit.memory.id: hit.relevance for hit in recalled(read, query)}
    assert relevances[new_id] >= 0.75 * relevances[old_id], "the test is about the link"
    plain = texts_of(recalled(read, query, diversity=PLAIN))
    assert texts_of(recalled(read, query)) == plain
    read.do(unlink(new_id, old_id))
    read.do(link(new_id, old_id, LinkType.UPDATES))
    assert texts_of(recalled(read, query)) == [newer, older]
    assert texts_of(recalled(read, "Does Lena speak German?"))[0] == older


def test_superseded_hit_names_the_end_of_its_chain(store: Store) -> None:
    vectors = [vector_at(vector_of("q"), cosine) for cosine in (0.9, 0.8, 0.7)]
    ids = []
    for text, vector in zip(("port 1", "port 2", "port 3"), vectors, strict=True):
        command = Remember(
            "anna", text, Fields(), vector.tobytes(), force=True, supersede_ids=tuple(ids[-1:])
        )
        ids.append(store.do(command).memory_id)
    hits = {
        hit.memory.id: hit for hit in recalled(store, "port", filter=EVERY_STATUS, diversity=PLAIN)
    }
    for superseded in ids[:2]:
        assert [memory.memory_id for memory in hits[superseded].updated_by] == ids[2:]
    assert hits[ids[2]].updated_by == ()


def linked(store: Store, likelihood: Likelihood | None, *same: str) -> dict[str, str]:
    """A value, its update, and another copy of the value that is said last."""
    value, update, copy = "port 5432 of staging", "port 5433 of staging", "staging port is 5432"
    for memory_id in same:
        assert likelihood is not None
        likelihood.say(*memory_id.split("|"), 0.9)
    ids = {}
    for text, cosine in ((value, 0.9), (update, 0.88), (copy, 0.95)):
        store.clock.advance(HOUR_US)
        ids[text] = store.save(text, vector=vector_at(vector_of("q"), cosine, seed=1))
    store.do(link(ids[update], ids[value], LinkType.UPDATES))
    return ids


def test_restatement_of_an_old_value_does_not_outrank_the_update(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    value, update, copy = "port 5432 of staging", "port 5433 of staging", "staging port is 5432"
    ids = linked(store, Likelihood(monkeypatch), f"{value}|{copy}")
    vector = vector_of("q").tobytes()

    def found(**more: Any) -> Sequence[Hit]:
        return recalled(store, "staging port", vector=vector, **more)

    assert texts_of(found(diversity=PLAIN))[0] == copy
    for fold in (False, True):
        hits = found(fold=fold, k=3)
        assert hits[0].memory.content == update, fold
        (restated,) = [hit for hit in hits if hit.memory.content == copy]
        assert [memory.memory_id for memory in restated.outdated] == [ids[update]]
        assert restated.updated_by == ()
    store.do(link(ids[copy], ids[update], LinkType.UPDATES))
    hits = {hit.memory.content: hit for hit in found()}
    assert next(iter(hits)) == update, "what says an old value again updates nothing"
    assert hits[update].updated_by == ()
    store.do(dismiss(ids[copy], ids[value]))
    assert texts_of(found())[0] == copy, "it is another statement, and the newest"
    then = found(as_of=AsOf(store.revision - 1))
    assert texts_of(then)[0] == update


def test_copy_of_equal_text_is_outdated_too(store: Store) -> None:
    old = store.save("port 5432")
    again = store.save("port 5432", agent="berta", force=True)
    new = store.save("port 5433", force=True)
    store.do(link(new, old, LinkType.UPDATES))
    hits = {hit.memory.id: hit for hit in recalled(store, "port", diversity=PLAIN)}
    assert [memory.memory_id for memory in hits[old].updated_by] == [new]
    assert [memory.memory_id for memory in hits[again].outdated] == [new]
    assert (hits[new].updated_by, hits[new].outdated) == ((), ())


def test_hit_names_what_the_caller_may_see_and_what_lives(store: Store) -> None:
    old = store.save("port 5432")
    hers = store.save("port 5433", agent="berta", private=True)
    store.do(link(hers, old, LinkType.UPDATES, agent="berta"))
    denied = store.save("no port at all", agent="berta", private=True)
    store.do(link(denied, old, LinkType.CONTRADICTS, agent="berta"))

    def about(agent: str) -> tuple[int, int]:
        (hit,) = [hit for hit in recalled(store, "port", agent=agent) if hit.memory.id == old]
        return len(hit.updated_by), len(hit.contradicted_by)

    assert about("anna") == (0, 0)
    assert about("berta") == (1, 1)
    store.do(forget(hers, agent="berta"))
    assert about("berta") == (0, 1)


def test_hit_names_the_newest_few(store: Store) -> None:
    old = store.save("port 1")
    newer = []
    for number in range(2, 8):
        store.clock.advance(HOUR_US)
        newer.append(store.save(f"port {number}", force=True))
        store.do(link(newer[-1], old, LinkType.UPDATES))
    store.clock.advance(3 * HOUR_US)
    (hit,) = [hit for hit in recalled(store, "port") if hit.memory.id == old]
    named = newer[: -limits.KNOWN_PER_HIT_MAX - 1 : -1]
    assert [memory.memory_id for memory in hit.updated_by] == named
    assert [memory.age for memory in hit.updated_by] == ["3h ago", "4h ago", "5h ago"]


def test_why_not_advises_no_diversity_only_where_it_helps(read: Store) -> None:
    pairs = [
        ("The staging port is 5432.", "The staging port is 5433."),
        ("The build takes 12 minutes.", "The build takes 9 minutes."),
        ("Lena speaks German.", "Lena speaks French."),
    ]
    ids = [memory_id for pair in pairs for memory_id in say(read, *pair)]
    advised = 0
    for text in ("staging port", "How long does the build take?", "What does Lena speak?"):
        for memory_id in ids:
            for diversity in (None, PLAIN):
                query = RecallQuery("anna", text, k=1, diversity=diversity, touch=False)
                told = why_not(read, memory_id, query)
                if told.outcome is Outcome.CROWDED_OUT:
                    assert diversity is None
                    advised += 1
                    (hit,) = recalled(read, text, k=1, diversity=PLAIN)
                    assert hit.memory.id == memory_id
    assert advised


def why_not(store: Store, memory_id: str, query: RecallQuery) -> WhyNot:
    asked = store.engine.read(store.collection, WhyNotQuery(memory_id, query))
    answer: WhyNot = asked.result(wait_s())
    return answer
