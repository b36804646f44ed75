"""EndSession: who is grouped, who stays, and what never is."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest

from support.engines import (
    DAY_US,
    HOUR_US,
    NOON,
    Store,
    contents,
    remember,
    undo,
    unit,
    update,
    vector_at,
)
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.cleanup import EndSession, GroupBy, Measure, SessionEnded
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import OperationFilter, OperationsQuery, RecallQuery
from totonoe_core.domain.records import Kind, StateKind, Status
from totonoe_core.text.tokens import tokens

ROBOT = (
    "the gripper holds cups at the blue station",
    "the gripper holds cups at the blue station firmly",
    "the gripper holds cups at the blue station firmly today",
)
"""Each two are similar above 0.5, none updates another."""
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")


def save(store: Store, *texts: str, **more: Any) -> list[str]:
    """Saved by force: what the guard would refuse is what a session is cleaned of."""
    more.setdefault("session_id", "s")
    return [store.save(text, force=True, **more) for text in texts]


def end(store: Store, session: str = "s", **more: Any) -> SessionEnded:
    found: SessionEnded = store.do(EndSession("anna", session, **more))
    return found


def preview(store: Store, command: EndSession) -> SessionEnded:
    return store.preview(command)[1]


def statuses(store: Store, ids: list[str]) -> list[Status]:
    return [memory.status for memory in store.get(*ids).memories]


def jaccard(one: str, other: str) -> float:
    a, b = set(tokens(one)), set(tokens(other))
    return len(a & b) / len(a | b)


def test_the_most_trusted_takes_the_place_of_what_says_the_same(store: Store) -> None:
    ids = [
        *save(store, ROBOT[0], confidence=0.85),
        *save(store, ROBOT[1], confidence=0.9),
        *save(store, ROBOT[2], confidence=0.8),
        *save(store, "red paint dries slowly in winter", confidence=0.85),
        *save(store, ROBOT[0] + " always", category="constraint", confidence=0.95),
    ]
    found = end(store)
    (group,) = found.groups
    assert group.kept_id == ids[1]
    assert [memory.memory_id for memory in group.superseded] == [ids[0], ids[2]]
    sims = [jaccard(ROBOT[a], ROBOT[b]) for a, b in ((0, 1), (1, 2), (0, 2))]
    assert [memory.similarity for memory in group.superseded] == pytest.approx(sims[:2])
    assert found.avg_similarity == pytest.approx(sum(sims) / 3)
    assert found.consolidatable_count == 4
    assert (found.superseded_count, found.compression_ratio) == (2, 0.5)
    memories = store.get(*ids).memories
    assert [memory.status.value for memory in memories] == [
        "superseded", "active", "superseded", "active", "active",
    ]  # fmt: skip
    assert {memories[0].superseded_by, memories[2].superseded_by} == {ids[1]}
    assert found.decay.live_count == 3


def test_fewer_than_three_are_left_alone(store: Store) -> None:
    save(store, ROBOT[0], ROBOT[1])
    save(store, ROBOT[2], category="gotcha")
    before = store.revision
    found = end(store)
    assert (found.groups, found.consolidatable_count) == ((), 2)
    assert (found.superseded_count, found.compression_ratio, found.avg_similarity) == (0, 0.0, 0.0)
    assert store.revision == before
    # Two of one category among three of the session are enough.
    save(store, "something else entirely", category="other")
    assert end(store).superseded_count == 1


@pytest.mark.parametrize(
    "more",
    [
        {"category": "constraint"},
        {"category": "postmortem"},
        {"category": "gotcha"},
        {"confidence": 0.95},
        {"perception_type": "vision"},
        {"kind": Kind.EVENT, "state_kind": StateKind.NONE},
        {"kind": Kind.AFFECT, "state_kind": StateKind.NONE},
        {"state_kind": StateKind.LONG_MOOD},
        {"session_id": ""},
        {"session_id": "t"},
    ],
)
def test_what_is_protected_or_of_no_session_stays(store: Store, more: dict[str, Any]) -> None:
    ids = save(store, *ROBOT, **more)
    save(store, "one thing", "and another matter", "all quiet here")
    assert end(store).groups == ()
    assert set(statuses(store, ids)) == {Status.ACTIVE}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"category": "a"}, {"category": "b"}),
        ({}, {"state_kind": StateKind.TASK}),
        ({"private": True}, {"private": False}),
        ({"payload": {"n": 1}}, {"payload": {"n": 2}}),
    ],
)
def test_what_differs_in_more_than_words_stays_apart(store: Store, one: Any, other: Any) -> None:
    save(store, ROBOT[0], **one)
    save(store, ROBOT[1], **other)
    save(store, "filler of another kind")
    assert end(store).groups == ()


def test_what_updates_or_contradicts_stays_apart(store: Store) -> None:
    ids = save(
        store,
        "the build server listens on port 8080 behind the proxy",
        "the build server listens on port 8081 behind the proxy",
        "the build server does not listen on port 8080 behind the proxy",
    )
    assert all(
        jaccard(*pair) > 0.5
        for pair in itertools.combinations(
            [memory.content for memory in store.get(*ids).memories], 2
        )
    )
    assert end(store).groups == ()
    assert set(statuses(store, ids)) == {Status.ACTIVE}


def test_a_chain_is_no_group(store: Store) -> None:
    texts = [" ".join(WORDS[at : at + 6]) for at in (0, 1, 3)]
    assert jaccard(texts[0], texts[1]) > 0.5
    assert jaccard(texts[1], texts[2]) == 0.5
    save(store, *texts)
    found = end(store)
    assert [len(group.superseded) for group in found.groups] == [1]


def test_another_agents_private_memories_are_not_looked_at(store: Store) -> None:
    hidden = save(store, *ROBOT, agent="ben", private=True)
    assert end(store).consolidatable_count == 0
    seen = [store.one(memory_id, agent="ben").status for memory_id in hidden]
    assert set(seen) == {Status.ACTIVE}


def test_by_agent_takes_its_own_of_all_sessions(store: Store) -> None:
    own = [*save(store, ROBOT[0], ROBOT[1]), *save(store, ROBOT[2], session_id="t")]
    others = save(store, ROBOT[0], agent="ben")
    found = end(store, "", by=GroupBy.AGENT)
    assert found.superseded_count == 2
    assert statuses(store, own).count(Status.ACTIVE) == 1
    assert statuses(store, others) == [Status.ACTIVE]


def test_by_cosine_and_by_verdict(store: Store) -> None:
    base = unit(range(1, 9))
    near = [vector_at(base, cosine, seed) for seed, cosine in enumerate((1.0, 0.97, 0.96))]
    texts = (
        "We meet on Tuesdays.",
        "Meetings take place every Tuesday.",
        "The meeting room has a green door.",
    )
    ids = [
        store.save(text, vector=vector, force=True, session_id="s")
        for text, vector in zip(texts, near, strict=True)
    ]
    command = EndSession("anna", "s")
    assert preview(store, command).groups == ()
    (group,) = preview(store, replace(command, measure=Measure.COSINE)).groups
    assert {group.kept_id, *(memory.memory_id for memory in group.superseded)} == set(ids)
    strict = replace(command, measure=Measure.COSINE, threshold=0.999)
    assert preview(store, strict).groups == ()
    twice = store.save("We meet on Tuesdays!", vector=near[0], force=True, session_id="s")
    (group,) = preview(store, replace(command, measure=Measure.VERDICT)).groups
    assert {group.kept_id, group.superseded[0].memory_id} == {ids[0], twice}


def test_again_supersedes_nothing_more(store: Store) -> None:
    seeded = random.Random(11)
    words = ["red", "blue", "green", "round", "small", "heavy", "wet", "cold", "fast", "new"]
    texts = {" ".join(seeded.sample(words, 6)) for _ in range(40)}
    save(store, *sorted(texts))
    assert end(store).superseded_count > 3
    revision = store.revision
    assert end(store).superseded_count == 0
    assert store.revision == revision


def test_a_later_run_compares_with_all_that_a_memory_stands_for(store: Store) -> None:
    first, kept, later = (" ".join(WORDS[at : at + 7]) for at in (0, 1, 3))
    save(store, first, confidence=0.5)
    save(store, kept, confidence=0.9)
    save(store, "filler here")
    assert end(store).superseded_count == 1
    save(store, later, confidence=0.5)
    assert jaccard(kept, later) > 0.5 > jaccard(first, later)
    assert end(store).superseded_count == 0
    save(store, kept + " " + WORDS[0], confidence=0.5)
    assert end(store).superseded_count == 1


def test_the_same_operation_id_gives_the_first_answer(store: Store) -> None:
    save(store, *ROBOT)
    command = EndSession("anna", "s")
    first = store.apply(command, operation_id="once")
    again = store.apply(command, operation_id="once")
    assert again.replayed
    assert again.results == first.results
    with pytest.raises(errors.AlreadyExists):
        store.apply(replace(command, measure=Measure.COSINE), operation_id="once")


def test_groups_do_not_depend_on_the_order_of_insertion(store: Store) -> None:
    """100 orders, the same created times: the same texts stay and the same go."""
    seeded = random.Random(5)
    words = ["red", "blue", "green", "round", "small", "heavy", "wet", "cold"]
    texts = sorted({" ".join(seeded.sample(words, 5)) for _ in range(5)})
    commands, contents_of = [], []
    for number in range(100):
        for at in seeded.sample(range(len(texts)), len(texts)):
            more: dict[str, Any] = {"session_id": f"s{number}", "created_us": NOON - HOUR_US}
            commands.append(remember(texts[at], force=True, confidence=0.5 + at / 100, **more))
            contents_of.append(texts[at])
    answers = store.apply(*commands).results
    content = {answer.memory_id: text for answer, text in zip(answers, contents_of, strict=True)}
    known = set()
    for number in range(100):
        groups = preview(store, EndSession("anna", f"s{number}")).groups
        ids = [
            (group.kept_id, *(other.memory_id for other in group.superseded)) for group in groups
        ]
        known.add(tuple(tuple(content[memory_id] for memory_id in group) for group in ids))
    assert len(known) == 1
    assert known != {()}


def test_nothing_is_lost(store: Store) -> None:
    ids = save(store, *ROBOT, "an odd one out", ROBOT[0] + " twice")
    said = {memory.content for memory in store.list()}
    found = end(store)
    assert found.superseded_count == 3
    assert {memory.content for memory in store.list()} == said
    for memory in store.get(*ids).memories:
        head = memory
        while head.status is Status.SUPERSEDED:
            head = store.one(head.superseded_by)
        assert head.status is Status.ACTIVE


def test_undo_brings_everything_back(store: Store) -> None:
    # One is an exact double, which the guard would refuse if it came alone.
    ids = save(store, *ROBOT, ROBOT[0])
    before = contents(store)
    assert end(store).superseded_count == 3
    operation = store.read(OperationsQuery("anna", OperationFilter(), 1, "")).operations[0]
    assert (operation.kind, operation.reason) == ("EndSession", "end of session")
    assert store.do(undo(operation.revision)).undone
    assert contents(store) == before
    assert set(statuses(store, ids)) == {Status.ACTIVE}
    assert end(store).superseded_count == 3


def test_a_dry_run_tells_and_changes_nothing(store: Store) -> None:
    save(store, *ROBOT)
    before, revision = contents(store), store.revision
    told = preview(store, EndSession("anna", "s"))
    assert (contents(store), store.revision) == (before, revision)
    assert end(store) == told


def test_what_changed_since_the_plan_stays_as_it_is(store: Store) -> None:
    ids = save(store, *ROBOT)
    command = EndSession("anna", "s")
    planned = store.engine._collections.opened("default").result().reads.planned(command)
    stale = planned.result(wait_s())
    store.do(update(ids[2], importance=5))
    answer = store.do(stale)
    assert answer.groups == ()
    assert set(statuses(store, ids)) == {Status.ACTIVE}


def test_access_decides_between_equals_and_recall_is_told(store: Store) -> None:
    ids = save(store, *ROBOT, confidence=0.5)
    query = RecallQuery("anna", text="gripper today", k=1, touch=True)
    hit = store.recall(query).hits[0].memory.id
    store.clock.advance(DAY_US)
    (group,) = end(store).groups
    assert group.kept_id == hit
    assert not any(memory.recalled for memory in group.superseded)
    assert set(statuses(store, [memory_id for memory_id in ids if memory_id != hit])) == {
        Status.SUPERSEDED
    }


def test_of_too_many_the_newest_are_looked_at(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SESSION_MEMORIES_MAX", 3)
    old = save(store, "the oldest of all of them", created_us=NOON - DAY_US)
    save(store, *ROBOT)
    found = end(store)
    assert (found.left_out_count, found.consolidatable_count, found.superseded_count) == (1, 3, 2)
    assert statuses(store, old) == [Status.ACTIVE]


def test_pairs_that_are_not_read_stay_apart_and_are_counted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SESSION_PAIRS_READ_MAX", 1)
    save(store, *ROBOT)
    found = end(store)
    assert (found.unread_pair_count, found.superseded_count) == (2, 1)


def test_a_purge_takes_its_words_out_of_the_kept_answer(store: Store) -> None:
    ids = save(store, *ROBOT)
    command = EndSession("anna", "s")
    (group,) = store.apply(command, operation_id="once").results[0].groups
    assert group.snippet
    store.do(Purge("anna", tuple(ids)))
    (group,) = store.apply(command, operation_id="once").results[0].groups
    assert [group.snippet, *(memory.snippet for memory in group.superseded)] == ["", "", ""]


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (EndSession("anna"), "session_id"),
        (EndSession("", by=GroupBy.AGENT), "agent_id"),
        (EndSession("anna", "s", by=GroupBy.AGENT), "session_id"),
        (EndSession("anna", "s", threshold=1.0), "threshold"),
        (EndSession("anna", "s", threshold=-0.1), "threshold"),
        (EndSession("anna", "s", threshold=float("nan")), "threshold"),
        (EndSession("anna", "s" * 300), "session_id"),
        (EndSession("anna", "s", reason="r" * 2000), "reason"),
    ],
)
def test_bad_input_is_named(store: Store, command: EndSession, field: str) -> None:
    for call in (store.do, lambda one: preview(store, one)):
        with pytest.raises(errors.InvalidArgument) as caught:
            call(command)
        assert caught.value.details["field"] == field
