"""Growth: a second summary or long mood of a scope is the next version of the one there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.engines import (
    HOUR_US,
    InProcessEmbedding,
    Store,
    forget,
    link,
    opened,
    remember,
    undo,
    vector_of,
)
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.memories import Remembered
from totonoe_core.domain.policy import Action
from totonoe_core.domain.queries import HistoryQuery
from totonoe_core.domain.records import (
    TIDY_KEY,
    Kind,
    LinkType,
    Method,
    StateKind,
    Status,
    TypedKey,
    Verdict,
)
from totonoe_core.domain.tidy import TidyOp, TidyUpdate
from totonoe_core.rules import tidy_plan

SUMMARY, MOOD = StateKind.SUMMARY, StateKind.LONG_MOOD
FIRST, SECOND, THIRD = "Ben tests the pump.", "The release went out.", "Rain since Monday."


def say(store: Store, content: str, state_kind: StateKind = SUMMARY, **more: Any) -> Remembered:
    return store.do(remember(content, state_kind=state_kind, **more))


@pytest.mark.parametrize("state_kind", [SUMMARY, MOOD])
def test_a_second_one_is_the_next_version_of_the_first(store: Store, state_kind: StateKind) -> None:
    first = say(store, FIRST, state_kind, category="work")
    assert (first.saved, first.grown_id) == (True, "")
    before, revision = store.one(first.memory_id), store.revision
    store.clock.advance(HOUR_US)
    told = store.check(remember(SECOND, state_kind=state_kind, category="work"))
    assert (told.would_save, told.grown_id, told.guard.verdict) == (
        True,
        first.memory_id,
        Verdict.UPDATE,
    )
    assert (store.one(first.memory_id), store.revision) == (before, revision)
    second = say(store, SECOND, state_kind, category="work")
    assert (second.saved, second.memory_id, second.grown_id) == (True, *[first.memory_id] * 2)
    assert second.guard == told.guard
    after = store.one(first.memory_id)
    assert (after.content, after.revision) == (SECOND, revision + 1)
    assert (after.created_us, after.updated_us) == (before.created_us, store.clock())
    assert len(store.list()) == 1
    page = store.read(HistoryQuery("anna", first.memory_id, 10, ""))
    assert [version.memory.content for version in page.versions] == [SECOND, FIRST]
    assert store.do(undo(store.revision)).undone
    back = store.one(first.memory_id)
    assert (back.content, back.fields, back.status) == (FIRST, before.fields, Status.ACTIVE)


def test_what_is_said_replaces_and_the_rest_stays(store: Store) -> None:
    evidence = [store.save(f"seen {number}") for number in range(2)]
    other = store.save("about it")
    one = say(
        store, FIRST, thread_id="t", session_id="s1", importance=5, confidence=0.9,
        payload={"n": 1}, evidence_ids=(evidence[0],), valid_to_us=store.clock() + HOUR_US,
    ).memory_id  # fmt: skip
    store.do(link(one, other, LinkType.CAUSES))
    created_us = store.one(one).created_us
    say(
        store, SECOND, thread_id="t", session_id="s2", agent="ben", confidence=0.7,
        evidence_ids=(evidence[1], evidence[0]), valid_from_us=store.clock() + 2 * HOUR_US,
        created_us=store.clock() - HOUR_US,
    )  # fmt: skip
    after = store.one(one)
    assert (after.content, after.agent_id) == (SECOND, "anna")
    assert after.created_us == created_us
    fields = after.fields
    assert (fields.thread_id, fields.session_id) == ("t", "s2")
    assert (fields.importance, fields.confidence, fields.payload) == (5, 0.7, {"n": 1})
    assert fields.evidence_ids == tuple(evidence)
    # The end that it had lies before the new beginning.
    assert (fields.valid_from_us, fields.valid_to_us) == (store.clock() + 2 * HOUR_US, None)
    assert [item.type for item in after.links] == [LinkType.CAUSES]
    say(store, THIRD, thread_id="t", payload={"m": 2})
    assert store.one(one).fields.payload == {"m": 2}


SCOPES: dict[str, dict[str, Any]] = {
    "agent": {},
    "thread": {"thread_id": "t"},
    "other thread": {"thread_id": "u"},
    "session": {"session_id": "s"},
    "thread in a session": {"thread_id": "v", "session_id": "s"},
    "category": {"category": "work"},
    "kind": {"state_kind": MOOD},
    "private": {"private": True},
    "private thread": {"private": True, "thread_id": "t"},
    "another agent": {"agent": "ben"},
    "another agent's private": {"agent": "ben", "private": True},
}


def test_each_scope_has_one_and_grows_no_other(store: Store) -> None:
    made = {name: say(store, f"First of {name}.", **more) for name, more in SCOPES.items()}
    assert [remembered.grown_id for remembered in made.values()] == [""] * len(SCOPES)
    for name, more in reversed(SCOPES.items()):
        grown = say(store, f"Next of the {name}, {name}.", **more)
        assert grown.grown_id == made[name].memory_id, name
    # Scopes of all agents: whoever speaks of a thread or a session.
    for name in ("thread", "session"):
        grown = say(store, f"Ben on {name}.", agent="ben", **SCOPES[name])
        assert grown.grown_id == made[name].memory_id


@pytest.mark.parametrize(
    "more",
    [
        {"force": True},
        {"key": TypedKey("release", "state")},
        {"external_id": "own"},
        {"valid_to_us": 1_000_000},
    ],
)
def test_what_says_itself_what_it_is_grows_nothing(store: Store, more: dict[str, Any]) -> None:
    first = say(store, FIRST)
    second = say(store, SECOND, **more)
    assert (second.saved, second.grown_id) == (True, "")
    assert second.memory_id != first.memory_id
    assert store.one(first.memory_id).content == FIRST


def test_a_named_place_is_taken_and_not_grown(store: Store) -> None:
    first = say(store, FIRST).memory_id
    command = replace(remember(SECOND, state_kind=SUMMARY), supersede_ids=(first,))
    assert store.check(command).grown_id == ""
    answer = store.do(command)
    assert (answer.superseded_ids, answer.grown_id) == ((first,), "")


def test_a_typed_key_comes_first_and_its_value_is_not_grown(store: Store) -> None:
    key = TypedKey("release", "state")
    first = say(store, FIRST, key=key).memory_id
    assert say(store, SECOND, key=key).superseded_ids == (first,)
    assert say(store, THIRD).grown_id == ""


def test_facts_and_logs_are_not_grown(store: Store) -> None:
    for more in (
        {"state_kind": StateKind.FACT},
        {"kind": Kind.EVENT, "state_kind": StateKind.NONE},
    ):
        first, second = (store.do(remember(text, **more)) for text in (FIRST, SECOND))
        assert second.grown_id == ""
        assert first.memory_id != second.memory_id


@pytest.mark.parametrize("preset", ["standard", "ego"])
def test_equal_text_is_refused_and_with_another_payload_grows(store: Store, preset: str) -> None:
    store.set(("guard.preset", preset))
    first = say(store, FIRST, payload={"n": 1}).memory_id
    revision = store.revision
    command = remember(FIRST, state_kind=SUMMARY, payload={"n": 1})
    told, again = store.check(command), store.do(command)
    assert (told.would_save, told.grown_id) == (False, "")
    assert (again.saved, again.memory_id, again.grown_id) == (False, first, "")
    # Nor where no payload is said, which leaves its own.
    assert not say(store, FIRST, importance=5).saved
    assert store.revision == revision
    assert say(store, FIRST, payload={"n": 2}).grown_id == first
    assert store.one(first).fields.payload == {"n": 2}


def test_where_no_layer_refuses_equal_text_is_one_memory_all_the_same(store: Store) -> None:
    store.set(("guard.preset", "ego"), ("guard.cosine_distance_below", None))
    first = say(store, FIRST).memory_id
    assert say(store, FIRST, importance=5).grown_id == first
    assert store.one(first).fields.importance == 5


def test_another_memory_that_says_the_same_refuses(store: Store) -> None:
    first, other = say(store, FIRST).memory_id, say(store, SECOND, thread_id="t").memory_id
    answer = say(store, SECOND)
    assert (answer.saved, answer.memory_id, answer.guard.method) == (False, other, Method.EXACT)
    assert store.one(first).content == FIRST
    near = remember("The release  went out!", state_kind=SUMMARY, vector=vector_of(SECOND))
    answer = store.do(near)
    assert (answer.saved, answer.memory_id) == (False, other)
    # What it takes the place of refuses nothing.
    near = remember("Ben tests the pump!", state_kind=SUMMARY, vector=vector_of(FIRST))
    assert store.do(near).grown_id == first


def test_the_newest_live_one_grows_where_there_are_several(store: Store) -> None:
    old, new, gone = (say(store, f"Of old, {n}.", force=True).memory_id for n in range(3))
    store.do(forget(gone))
    past = remember("Made long ago.", state_kind=SUMMARY, created_us=1_000_000, force=True)
    store.do(past)
    assert say(store, FIRST).grown_id == new
    assert [store.one(memory_id).content for memory_id in (old, new)] == ["Of old, 0.", FIRST]


def test_what_is_over_or_closed_is_not_grown(store: Store) -> None:
    first = say(store, FIRST, valid_to_us=store.clock() + HOUR_US).memory_id
    store.clock.advance(HOUR_US)
    second = say(store, SECOND)
    assert (second.grown_id, store.one(first).content) == ("", FIRST)


def test_an_external_id_names_the_one_that_grows(store: Store) -> None:
    first = say(store, FIRST, external_id="a").memory_id
    newer = say(store, SECOND, external_id="b").memory_id
    assert say(store, THIRD, external_id="a").grown_id == first
    assert store.one(first).fields.external_id == "a"
    assert say(store, "Without one.").grown_id == newer
    assert store.one(newer).fields.external_id == "b"
    for more in ({"thread_id": "t"}, {"state_kind": MOOD}):
        with pytest.raises(errors.AlreadyExists) as caught:
            say(store, "In another scope.", external_id="a", **more)
        assert caught.value.reason == "EXTERNAL_ID_EXISTS"


def test_growth_supersedes_nothing_and_makes_no_link(store: Store) -> None:
    say(store, FIRST)
    port = say(store, "The port is 8080.", thread_id="t").memory_id
    command = replace(
        remember("The port is 9090.", state_kind=SUMMARY, vector=vector_of("The port is 8080.")),
        actions=((Verdict.UPDATE, Action.SUPERSEDE),),
    )
    answer = store.do(command)
    assert (answer.superseded_ids, answer.links) == ((), ())
    assert store.one(port).status is Status.ACTIVE


def test_the_same_operation_id_grows_once_and_of_many_at_once_one_is_left(store: Store) -> None:
    first = say(store, FIRST).memory_id
    command = remember(SECOND, state_kind=SUMMARY)
    told = store.apply(command, operation_id="o")
    again = store.apply(command, operation_id="o")
    assert (again.replayed, again.results) == (True, told.results)
    texts = [f"Word {number} of the day." for number in range(30)]
    requests = [("", [remember(text, state_kind=SUMMARY)]) for text in texts]
    found = [future.result(wait_s()) for future in store.engine.apply_all("default", requests)]
    assert {applied.results[0].grown_id for applied in found} == {first}
    versions = store.read(HistoryQuery("anna", first, 100, "")).versions
    assert [version.memory.content for version in versions] == [*reversed(texts), SECOND, FIRST]
    store.reopen()
    (live,) = store.list()
    assert live.content == texts[-1]
    assert say(store, THIRD).grown_id == first


def test_a_text_to_be_embedded_grows_too(tmp_path: Path) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        first = say(store, FIRST, text_only=True).memory_id
        assert store.check(remember(SECOND, state_kind=SUMMARY, text_only=True)).grown_id == first
        assert say(store, SECOND, text_only=True).grown_id == first


def test_a_full_collection_still_grows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first = say(store, FIRST).memory_id
    monkeypatch.setattr("totonoe_core.base.limits.MEMORIES_PER_COLLECTION_MAX", 1)
    assert say(store, SECOND).grown_id == first
    with pytest.raises(errors.Quota):
        say(store, THIRD, thread_id="t")


def test_a_tidy_plan_grows_the_summary_of_its_scope(store: Store) -> None:
    first = say(store, FIRST, payload={"n": 1}, evidence_ids=("mem_0123456789abcdef",)).memory_id
    seen = store.save("seen")

    def new(text: str) -> TidyUpdate:
        return TidyUpdate(
            TidyOp.UPSERT, kind=SUMMARY, body_text=text, reason="grown", evidence_ids=(seen,),
            vector=vector_of(text).tobytes(),
        )  # fmt: skip

    before = store.one(first).fields
    _, one, other = store.apply(
        *tidy_plan.commands("anna", (new(SECOND), new(THIRD)), (), "")
    ).results
    assert [(one.saved, one.grown_id), (other.saved, other.grown_id)] == [(True, first)] * 2
    after = store.one(first)
    assert after.content == THIRD
    assert after.fields.evidence_ids == ("mem_0123456789abcdef", seen)
    assert after.fields.payload == {
        "n": 1,
        TIDY_KEY: {"plan": str(store.revision), "reason": "grown"},
    }
    assert store.do(undo(store.revision)).undone
    assert (store.one(first).content, store.one(first).fields) == (FIRST, before)


def test_two_new_summaries_of_a_plan_are_one_that_an_undo_takes_away(store: Store) -> None:
    updates = tuple(
        TidyUpdate(TidyOp.UPSERT, kind=SUMMARY, body_text=text, vector=vector_of(text).tobytes())
        for text in (FIRST, SECOND)
    )
    _, made, grown = store.apply(*tidy_plan.commands("anna", updates, (), "")).results
    assert (made.grown_id, grown.grown_id) == ("", made.memory_id)
    assert store.do(undo(store.revision)).undone
    assert store.one(made.memory_id).status is Status.FORGOTTEN
    assert [memory.id for memory in store.list()] == [made.memory_id]
