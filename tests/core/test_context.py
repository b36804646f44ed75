"""What neighbours in its thread lend a memory in a Recall: against a plain twin, and what is seen.

Hidden, ended and filtered memories lend nothing, and stand between nobody.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracles_joins
from support.engines import InProcessEmbedding, Store, forget, opened, remember, update, vector_of
from support.oracles import ordered_similarity
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.domain.queries import AsOf, RecallMode, RecallQuery
from totonoe_core.domain.records import Memory
from totonoe_core.index.lexical import InvertedIndex, bm25
from totonoe_core.search.context import context_coverage
from totonoe_core.search.why_not import Outcome, WhyNotQuery
from totonoe_core.text.query_terms import query_terms
from totonoe_core.text.tokens import search_terms

PLAIN = DiversityPolicy(enabled=False)
WORDS = ["pump", "valve", "motor", "sensor", "cable", "relay"]
ASKED = "pump valve motor"
SHARE_BY_DISTANCE = {1: 0.5, 2: 0.25}
FOR_K = 100


def asks(text: str = ASKED, **more: object) -> RecallQuery:
    return RecallQuery(
        "anna", text, vector_of("asked").tobytes(), k=FOR_K, diversity=PLAIN, touch=False, **more
    )  # fmt: skip


def near_by_twin(memories: Sequence[Memory]) -> list[dict[int, float]]:
    """For each memory the shares of those at most two away in its thread, by their places."""
    near: list[dict[int, float]] = [{} for _ in memories]
    for thread in {memory.fields.thread_id for memory in memories} - {""}:
        places = [at for at, memory in enumerate(memories) if memory.fields.thread_id == thread]
        places.sort(key=lambda at: memories[at].row)
        for here, at in enumerate(places):
            for there, other in enumerate(places):
                if abs(here - there) in SHARE_BY_DISTANCE:
                    near[at][other] = SHARE_BY_DISTANCE[abs(here - there)]
    return near


def relevance_by_twin(memories: Sequence[Memory], text: str) -> dict[str, tuple[float, float]]:
    """Relevance of each memory by its id, and what of it neighbours add."""
    near, vector = near_by_twin(memories), vector_of("asked")
    texts = [search_terms(memory.content) for memory in memories]
    everybody, terms = [True] * len(texts), query_terms(text)
    _, own = oracles_joins.bm25(texts, everybody, terms)
    raised = oracles_joins.context_coverage(texts, everybody, terms, near)
    cosines = [
        max(0.0, ordered_similarity(np.frombuffer(memory.vector, "<f4"), vector))
        for memory in memories
    ]
    found = {}
    for at, memory in enumerate(memories):
        lent = [share * (cosines[other] - cosines[at]) for other, share in near[at].items()]
        cosine = cosines[at] + max(0.0, max(lent, default=0.0))
        fit, alone = (cosine + 2 * raised[at]) / 3, (cosines[at] + 2 * own[at]) / 3
        found[memory.id] = (fit, fit - alone)
    return found


NOTE = st.tuples(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    st.sampled_from(["", "a", "b"]),
    st.sampled_from(["anna", "ben"]),
    st.booleans(),
    st.sampled_from(["", "", "", "forgotten", "updated", "unimportant"]),
)


@settings(max_examples=25, deadline=None)
@given(notes=st.lists(NOTE, min_size=2, max_size=20))
def test_context_is_that_of_what_the_caller_finds_and_of_nothing_else(notes) -> None:
    with tempfile.TemporaryDirectory() as directory, opened(Path(directory)) as store:
        store.set(("guard.link_distance_below", 0.0))
        for number, (words, thread, agent, private, fate) in enumerate(notes):
            saved = store.save(
                f"{' '.join(words)} n{number}",
                agent=agent,
                private=private,
                thread_id=thread,
                importance=1 if fate == "unimportant" else 3,
                force=True,
            )
            if fate == "forgotten":
                store.do(forget(saved, agent=agent))
            elif fate == "updated":
                changed = update(saved, agent=agent, content=f"relay cable u{number}", force=True)
                store.do(changed)
        where = Filter(min_importance=2)
        for text in (ASKED, "relay"):
            expected = relevance_by_twin(store.list("anna", where), text)
            hits = store.recall(asks(text, filter=where)).hits
            assert {hit.memory.id for hit in hits} == set(expected)
            for hit in hits:
                told = expected[hit.memory.id]
                assert (hit.relevance, hit.context) == pytest.approx(told, abs=1e-9)
                reached = WhyNotQuery(hit.memory.id, asks(text, filter=where))
                standing = store.read(reached).standing
                assert (standing.relevance, standing.context) == pytest.approx(told, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_coverage_with_neighbours_equals_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = [f"w{number}" for number in range(12)]
    texts = [rng.choice(words, int(rng.integers(0, 6))).tolist() for _ in range(60)]
    index = InvertedIndex()
    counts = np.array([index.add(slot, terms) for slot, terms in enumerate(texts)], np.int32)
    query = dict.fromkeys([*words[:7], "unknown"], 1.0) | {"w1": 0.2}
    mask = rng.random(60) < 0.7
    involved = rng.permutation(np.flatnonzero(mask))
    asked, shares = len(involved) // 2, np.array([0.5, 0.5, 0.25, 0.25])
    # Threads of seven along the involved ones.
    near = np.full((len(involved), 4), -1, np.int32)
    by_slot: list[dict[int, float]] = [{} for _ in texts]
    for place in range(len(involved)):
        for column, step in enumerate((-1, 1, -2, 2)):
            other = place + step
            if 0 <= other < len(involved) and other // 7 == place // 7:
                near[place, column] = other
                by_slot[involved[place]][int(involved[other])] = float(shares[column])
    found = context_coverage(index, query, mask, involved, asked, near, shares)
    expected = oracles_joins.context_coverage(texts, mask.tolist(), query, by_slot)
    np.testing.assert_allclose(found, [expected[slot] for slot in involved[:asked]], rtol=1e-12)
    nobody = np.full_like(near, -1)
    alone = context_coverage(index, query, mask, involved, asked, nobody, shares)
    _, coverage = bm25(index, query, counts, mask)
    np.testing.assert_array_equal(alone, coverage[involved[:asked]])
    assert (found > alone).any()


TALK = (
    "Have you been to the harbour museum in Bremen lately?",
    "Yes, with Ida, on the second Tuesday of May!",
    "Nice. And what did she like best?",
    "The lighthouse lamp. She drew it twice.",
)
OTHERS = (
    "The museum shop sells tickets until five",
    "Bremen has a new tram line",
    "The harbour is closed to cars at night",
    "Lately the coffee machine leaks",
)


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        yield store


def save_talk(store: Store, thread: str) -> list[str]:
    """Ids of the turns, with unrelated notes saved between them."""
    ids = []
    for turn, other in zip(TALK, OTHERS, strict=True):
        ids.append(store.save(turn, text_only=True, thread_id=thread, force=True))
        store.save(other, text_only=True, force=True)
    return ids


QUESTION = RecallQuery("anna", "When were they at the harbour museum in Bremen?", k=3, touch=False)


def test_answer_is_found_beside_the_question_that_it_answers(talk: Store) -> None:
    ids = save_talk(talk, "a chat")
    hits = talk.recall(QUESTION).hits
    assert [hit.memory.id for hit in hits[:2]] == ids[:2]
    assert hits[1].context > 0.2
    assert hits[1].lexical_similarity is not None
    assert hits[1].lexical_similarity < 0.1, "it says none of that itself"


def test_turns_of_no_thread_lend_each_other_nothing(talk: Store) -> None:
    ids = save_talk(talk, "")
    hits = talk.recall(QUESTION).hits
    assert ids[1] not in [hit.memory.id for hit in hits]
    assert {hit.context for hit in hits} == {0.0}


def test_without_words_the_vectors_alone_decide(talk: Store) -> None:
    save_talk(talk, "a chat")
    for mode in RecallMode.VECTOR, RecallMode.LEXICAL:
        hits = talk.recall(replace(QUESTION, mode=mode)).hits
        assert any(hit.context for hit in hits) is (mode is RecallMode.LEXICAL)


def test_why_not_counts_neighbours_of_what_is_beyond_the_hits(talk: Store) -> None:
    ids = save_talk(talk, "a chat")
    asked = WhyNotQuery(ids[1], replace(QUESTION, k=1))
    told = talk.read(asked)
    assert (told.outcome, told.standing.fused_rank) == (Outcome.BEYOND_K, 2)
    assert 0.2 < told.standing.context < told.standing.relevance
    strict = replace(QUESTION, k=1, min_relevance=told.standing.relevance + 0.01)
    told = talk.read(WhyNotQuery(ids[1], strict))
    assert told.outcome is Outcome.TOO_WEAK


def test_context_of_the_past_is_that_of_then(talk: Store) -> None:
    ids = save_talk(talk, "a chat")
    revision, before = talk.revision, talk.recall(QUESTION).hits
    talk.do(forget(ids[0]))
    now = talk.recall(QUESTION).hits
    assert ids[1] not in [hit.memory.id for hit in now]
    then = talk.recall(replace(QUESTION, as_of=AsOf(revision))).hits
    assert [(hit.memory.id, hit.relevance, hit.context) for hit in then] == [
        (hit.memory.id, hit.relevance, hit.context) for hit in before
    ]


def test_private_turn_of_another_agent_lends_nothing(talk: Store) -> None:
    hers = talk.do(
        remember(TALK[0], agent="ben", private=True, thread_id="a chat", text_only=True)
    ).memory_id
    answer = talk.save(TALK[1], thread_id="a chat", text_only=True, force=True)
    found = {hit.memory.id: hit for hit in talk.recall(QUESTION).hits}
    assert hers not in found
    assert found[answer].context == 0.0
    his = {hit.memory.id: hit for hit in talk.recall(replace(QUESTION, agent_id="ben")).hits}
    assert his[answer].context > 0.2
