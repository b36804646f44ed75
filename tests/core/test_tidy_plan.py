"""Plans: their JSON form, their checks, what they do, what keeps them from doing it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import (
    DAY_US,
    HOUR_US,
    NOON,
    InProcessEmbedding,
    Store,
    change,
    contents,
    opened,
    undo,
    update,
    vector_of,
)
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.memories import Purge, Remembered, Updated
from totonoe_core.domain.queries import OperationFilter, OperationsQuery
from totonoe_core.domain.records import TIDY_KEY, Kind, StateKind, Status
from totonoe_core.domain.tidy import PlanApplied, TidyOp, TidyUpdate
from totonoe_core.rules import tidy_plan

A, B = "mem_0123456789ab", "mem_ba9876543210"
FULL = {
    "op": "upsert",
    "state_id": A,
    "kind": "long_mood_state",
    "body_text": "平穏な日々",
    "payload": {"a": [1, {"b": None}]},
    "confidence": 0.75,
    "salience": 0,
    "valid_from_ts": "2026-01-10T14:06:59.123456+09:00",
    "valid_to_ts": None,
    "last_confirmed_at": "2026-01-10T05:06:59Z",
    "reason": "merged",
    "evidence_event_ids": [B],
    "expected_revision": 7,
}


@pytest.fixture
def store(store: Store) -> Store:
    store.set(("guard.link_distance_below", 0.0))
    return store


def plan(*updates: dict[str, Any]) -> str:
    return json.dumps({"state_updates": updates})


def with_vector(one: TidyUpdate) -> TidyUpdate:
    """With its text's own vector, where clients bring them."""
    if not one.body_text:
        return one
    return replace(one, vector=np.asarray(vector_of(one.body_text), "<f4").tobytes())


def commands(*updates: dict[str, Any], only: tuple[int, ...] = (), agent: str = "anna") -> Any:
    read = tuple(map(with_vector, tidy_plan.loads(plan(*updates))))
    return tidy_plan.commands(agent, read, only, "")


def applied(store: Store, *updates: dict[str, Any], **more: Any) -> Any:
    operation_id = more.pop("operation_id", "")
    return store.apply(*commands(*updates, **more), operation_id=operation_id)


def upsert(text: str = "", state_id: str = "", kind: str | None = None, **more: Any) -> Any:
    return {"op": "upsert", "state_id": state_id, "kind": kind, "body_text": text, **more}


def close(state_id: str, **more: Any) -> Any:
    return {"op": "close", "state_id": state_id, **more}


# -- The JSON form


def test_every_name_of_the_form_is_read() -> None:
    (one,) = tidy_plan.loads(plan(FULL))
    assert one == TidyUpdate(
        op=TidyOp.UPSERT,
        state_id=A,
        kind=StateKind.LONG_MOOD,
        body_text="平穏な日々",
        payload={"a": [1, {"b": None}]},
        confidence=0.75,
        salience=0.0,
        valid_from_us=1_768_021_619_123_456,
        last_confirmed_us=1_768_021_619_000_000,
        reason="merged",
        evidence_ids=(B,),
        expected_revision=7,
    )


@pytest.mark.parametrize("op", TidyOp)
@pytest.mark.parametrize("kind", ["fact", "relation", "task", "summary", "long_mood_state", None])
def test_what_is_written_is_read_again(op: TidyOp, kind: str | None) -> None:
    read = tidy_plan.loads(plan(FULL | {"op": op.value, "kind": kind}, {"op": op.value}))
    written = tidy_plan.dumps(read)
    assert tidy_plan.loads(written) == read
    assert set(json.loads(written)["state_updates"][0]) == set(FULL)
    assert json.loads(written)["state_updates"][0]["kind"] == kind


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "op missing": ({"op": None}, "op", "MISSING_FIELD"),
    "op unknown": ({"op": "delete"}, "op", "UNKNOWN_ENUM"),
    "op no string": ({"op": 1}, "op", "MALFORMED_MESSAGE"),
    "id a fraction": ({"state_id": 1.5}, "state_id", "MALFORMED_MESSAGE"),
    "id a truth value": ({"state_id": True}, "state_id", "MALFORMED_MESSAGE"),
    "id no name": ({"state_id": "a\nb"}, "state_id", "BAD_NAME"),
    "kind unknown": ({"kind": "long_mood"}, "kind", "UNKNOWN_ENUM"),
    "text a number": ({"body_text": 5}, "body_text", "MALFORMED_MESSAGE"),
    "text blank": ({"body_text": " "}, "body_text", "EMPTY_TEXT"),
    "text with NUL": ({"body_text": "a\0"}, "body_text", "NUL_IN_TEXT"),
    "text too long": ({"body_text": "x" * 40_000}, "body_text", "LIMIT_EXCEEDED"),
    "payload a list": ({"payload": []}, "payload", "MALFORMED_MESSAGE"),
    "payload too long": ({"payload": {"a": "x" * 20_000}}, "payload", "LIMIT_EXCEEDED"),
    "confidence a string": ({"confidence": "0.5"}, "confidence", "MALFORMED_MESSAGE"),
    "confidence true": ({"confidence": True}, "confidence", "MALFORMED_MESSAGE"),
    "confidence over 1": ({"confidence": 1.1}, "confidence", "OUT_OF_RANGE"),
    "confidence beyond doubles": ({"confidence": 10**400}, "confidence", "OUT_OF_RANGE"),
    "salience below 0": ({"salience": -1}, "salience", "OUT_OF_RANGE"),
    "time without a zone": (
        {"valid_from_ts": "2026-01-10T14:06:59"},
        "valid_from_ts",
        "BAD_TIME",
    ),
    "time that is a date": ({"valid_from_ts": "2026-01-10"}, "valid_from_ts", "BAD_TIME"),
    "time that is none": ({"valid_to_ts": "tomorrow"}, "valid_to_ts", "BAD_TIME"),
    "time a number": ({"last_confirmed_at": 5}, "last_confirmed_at", "MALFORMED_MESSAGE"),
    "time without a day": ({"last_confirmed_at": "T14:00Z"}, "last_confirmed_at", "BAD_TIME"),
    "end before beginning": ({"valid_to_ts": "2020-01-01T00:00:00Z"}, "valid_to_ts", "BAD_TIME"),
    "reason too long": ({"reason": "x" * 2000}, "reason", "LIMIT_EXCEEDED"),
    "evidence no list": ({"evidence_event_ids": A}, "evidence_event_ids", "MALFORMED_MESSAGE"),
    "evidence fractions": (
        {"evidence_event_ids": [0.5]},
        "evidence_event_ids[0]",
        "MALFORMED_MESSAGE",
    ),
    "evidence no ids": ({"evidence_event_ids": ["x"]}, "evidence_event_ids", "BAD_NAME"),
    "too much evidence": (
        {"evidence_event_ids": [A] * 300},
        "evidence_event_ids",
        "LIMIT_EXCEEDED",
    ),
    "revision a float": ({"expected_revision": 1.5}, "expected_revision", "MALFORMED_MESSAGE"),
    "revision below 0": ({"expected_revision": -1}, "expected_revision", "OUT_OF_RANGE"),
    "revision of nothing": ({"state_id": ""}, "state_id", "MISSING_FIELD"),
    "unknown name": ({"text": "x"}, "text", "MALFORMED_MESSAGE"),
    "new without a kind": (
        {"state_id": None, "expected_revision": 0, "kind": None},
        "kind",
        "MISSING_FIELD",
    ),
    "new without a text": (
        {"state_id": "", "expected_revision": 0, "body_text": ""},
        "body_text",
        "EMPTY_TEXT",
    ),
    "close of nothing": ({"op": "close", "state_id": ""}, "state_id", "MISSING_FIELD"),
    "close in the future": (
        {"op": "close", "valid_to_ts": "2400-01-01T00:00:00Z"},
        "valid_to_ts",
        "BAD_TIME",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_wrong_field_is_named_with_its_kind(store: Store, name: str) -> None:
    change, field, reason = WRONG[name]
    with pytest.raises(errors.InvalidArgument) as caught:
        applied(store, {"op": "close", "state_id": B}, FULL | change)
    assert caught.value.reason == reason
    assert caught.value.details["field"] == f"state_updates[1].{field}"


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        ("", "plan_json", "MALFORMED_MESSAGE"),
        ("{", "plan_json", "MALFORMED_MESSAGE"),
        ("[" * 100_000, "plan_json", "MALFORMED_MESSAGE"),
        ('{"state_updates": [{"confidence": NaN}]}', "plan_json", "MALFORMED_MESSAGE"),
        ("[]", "plan_json", "MALFORMED_MESSAGE"),
        ("{}", "state_updates", "MALFORMED_MESSAGE"),
        ('{"state_updates": {}}', "state_updates", "MALFORMED_MESSAGE"),
        ('{"state_updates": []}', "state_updates", "MISSING_FIELD"),
        ('{"state_updates": [], "x": 1}', "plan_json.x", "MALFORMED_MESSAGE"),
        ('{"state_updates": [5]}', "state_updates[0]", "MALFORMED_MESSAGE"),
        (plan(*[FULL] * (limits.TIDY_UPDATES_MAX + 1)), "state_updates", "LIMIT_EXCEEDED"),
        (" " * (limits.TIDY_PLAN_BYTES_MAX + 1), "plan_json", "LIMIT_EXCEEDED"),
    ],
    ids=range(12),
)
def test_what_is_no_plan_is_told(text: str, field: str, reason: str) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        tidy_plan.loads(text)
    assert (caught.value.details["field"], caught.value.reason) == (field, reason)


@pytest.mark.parametrize("only", [(2,), (-1,), (0, 5)])
def test_an_update_that_is_not_in_the_plan_is_told(only: tuple[int, ...]) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        commands(close(A), close(B), only=only)
    assert caught.value.reason == "BAD_PLAN"


# -- What a plan does


def test_a_plan_grows_one_closes_others_and_is_one_operation(store: Store) -> None:
    event = store.save("They talked.", kind=Kind.EVENT, state_kind=StateKind.NONE)
    one = store.save("Anna likes tea.", payload={"a": 1}, evidence_ids=(A,))
    other = store.save("Tea is what Anna likes.")
    task = store.save("Buy tea.", state_kind=StateKind.TASK)
    revision = store.revision
    before = contents(store)
    answer = applied(
        store,
        upsert(
            "Anna likes green tea.",
            one,
            "fact",
            confidence=0.9,
            salience=0.1,
            last_confirmed_at="2026-01-10T14:06:59+09:00",
            reason="both say so",
            evidence_event_ids=[event],
            expected_revision=store.one(one).revision,
        ),
        close(other, reason="said by the first"),
        {"op": "mark_done", "state_id": task, "kind": "task"},
        upsert("Tea is a topic.", kind="summary", payload={"n": 2}),
    )
    head, grown, made = answer.results
    assert head == PlanApplied(((1, other),), ((2, task),), (0, 3))
    assert isinstance(grown, Updated)
    assert isinstance(made, Remembered)
    assert grown.updated
    assert made.saved
    assert store.revision == revision + 1
    memory = store.one(one)
    assert memory.content == "Anna likes green tea."
    assert memory.fields.evidence_ids == (A, event)
    assert (memory.fields.confidence, memory.fields.salience) == (0.9, 0.1)
    assert memory.fields.payload == {
        "a": 1,
        TIDY_KEY: {"plan": str(store.revision), "reason": "both say so"},
    }
    assert store.one(other).status is Status.CLOSED
    assert store.one(other).fields.payload[TIDY_KEY]["reason"] == "said by the first"
    assert store.one(other).fields.valid_to_us == store.one(other).updated_us
    assert store.one(task).status is Status.CLOSED
    assert store.one(task).fields.done_us == store.one(task).updated_us
    new = store.one(made.memory_id)
    assert (new.fields.state_kind, new.fields.payload["n"]) == (StateKind.SUMMARY, 2)
    page = store.read(OperationsQuery("anna", OperationFilter(), 1, ""))
    (operation,) = page.operations
    assert (operation.kind, operation.reason) == ("ApplyTidyPlan", "tidy plan")
    # Undone as one: but for the new one, which is forgotten, all is as it was.
    assert store.do(undo(store.revision)).undone
    after = contents(store)
    assert after["memories"].pop(made.memory_id).status is Status.FORGOTTEN
    assert after == before


def test_only_what_is_asked_for_is_done(store: Store) -> None:
    ids = [store.save(f"text {number}") for number in range(3)]
    answer = applied(store, *map(close, ids), only=(2, 0))
    assert answer.results[0].closed == ((0, ids[0]), (2, ids[2]))
    assert [memory.status for memory in store.list()] == [
        Status.CLOSED,
        Status.ACTIVE,
        Status.CLOSED,
    ]


def test_a_text_may_repeat_what_the_plan_closes_and_nothing_else(store: Store) -> None:
    one, other, third = (store.save(text) for text in ("First.", "Second.", "Third."))
    answer = applied(store, upsert("Second.", one), close(other))
    assert answer.results[1].updated
    answer = applied(store, upsert("Third.", one), upsert("Fourth.", kind="fact"))
    refused, made = answer.results[1:]
    assert not refused.updated
    assert refused.guard.duplicate.memory_id == third
    assert made.saved
    assert store.one(one).content == "Second."
    answer = applied(store, upsert("Third.", kind="fact"))
    assert (answer.results[1].saved, answer.results[1].memory_id) == (False, third)


def test_figures_change_without_the_guard(store: Store) -> None:
    one = store.save("The same.")
    store.save("The same.", force=True)
    answer = applied(store, upsert("The same.", one, confidence=0.3))
    assert answer.results[1].updated
    assert store.one(one).fields.confidence == 0.3


def test_another_vector_of_the_same_text_passes_the_guard(store: Store) -> None:
    store.do(change(("guard.preset", "ego")))
    kept, own = store.save("The pump is on."), store.save("The valve is shut.")
    (read,) = tidy_plan.loads(plan(upsert("The valve is shut.", own)))
    near = replace(read, vector=np.asarray(vector_of("The pump is on."), "<f4").tobytes())
    answer = store.apply(*tidy_plan.commands("anna", (near,), (), ""))
    assert not answer.results[1].updated
    assert answer.results[1].guard.duplicate.memory_id == kept
    assert applied(store, upsert("The valve is shut.", own)).results[1].updated


def test_a_time_given_ends_the_validity(store: Store) -> None:
    one = store.save("Was so.", valid_from_us=NOON - DAY_US)
    end = "2026-09-21T00:00:00Z"
    assert NOON - DAY_US < 1_789_948_800_000_000 < NOON + DAY_US
    applied(store, close(one, valid_to_ts=end))
    assert store.one(one).fields.valid_to_us == 1_789_948_800_000_000
    later = store.save("Not yet.", valid_from_us=store.clock() + DAY_US)
    applied(store, close(later))
    assert store.one(later).fields.valid_to_us == store.one(later).fields.valid_from_us + 1


def test_texts_are_embedded_by_the_daemon(tmp_path: Path) -> None:
    embedding = InProcessEmbedding()
    with opened(tmp_path, embedding=embedding) as store:
        one = store.save("The first text of all.", text_only=True)
        updates = tidy_plan.loads(
            plan(upsert("Something else entirely.", one), upsert("And a third.", kind="relation"))
        )
        answer = store.apply(*tidy_plan.commands("anna", updates, (), ""))
        assert answer.results[1].updated
        assert answer.results[2].saved
        assert embedding.texts[-2:] == ["Something else entirely.", "And a third."]


def test_a_retry_gives_the_first_answer(store: Store) -> None:
    one = store.save("Once.")
    first = applied(store, close(one), upsert("New.", kind="fact"), operation_id="op_1")
    again = applied(store, close(one), upsert("New.", kind="fact"), operation_id="op_1")
    assert again.replayed
    assert again.results == first.results


# -- What keeps it from being done


def refused(
    store: Store, kind: type[errors.TotonoeError], *updates: Any, agent: str = "anna"
) -> errors.TotonoeError:
    """The error of a plan, of which nothing may be done."""
    before, revision = contents(store), store.revision
    with pytest.raises(kind) as caught:
        applied(store, *updates, agent=agent)
    assert (contents(store), store.revision) == (before, revision)
    return caught.value


def test_a_row_that_changed_since_aborts_all_of_it(store: Store) -> None:
    one, other = store.save("First."), store.save("Second.")
    read = {memory_id: store.one(memory_id).revision for memory_id in (one, other)}
    store.do(update(other, confidence=0.2, agent="bert"))
    updates = [
        close(one, expected_revision=read[one]),
        upsert("New.", kind="fact"),
        upsert("Grown.", other, expected_revision=read[other]),
    ]
    for some in (updates, updates[::-1]):
        assert refused(store, errors.StaleRevision, *some).reason == "STALE_REVISION"
    store.do(update(other, confidence=0.8))
    updates[2]["expected_revision"] = store.one(other).revision
    assert applied(store, *updates).results[2].updated


def test_what_another_closed_first_aborts(store: Store) -> None:
    one = store.save("First.")
    revision = store.one(one).revision
    applied(store, close(one), agent="bert")
    assert refused(store, errors.StaleRevision, close(one, expected_revision=revision))
    assert refused(store, errors.Precondition, close(one)).reason == "NOT_ACTIVE"


def test_private_states_of_others_are_not_there(store: Store) -> None:
    secret = store.save("Mine.", private=True)
    open_ = store.save("Ours.")
    for update_ in (close(secret), upsert("x", secret), {"op": "mark_done", "state_id": secret}):
        error = refused(store, errors.NotFound, close(open_), update_, agent="bert")
        assert error.reason == "MEMORY_NOT_FOUND"
    evidence = upsert("y", kind="fact", evidence_event_ids=[secret])
    assert refused(store, errors.NotFound, evidence, agent="bert").reason == "MEMORY_NOT_FOUND"
    assert refused(store, errors.NotFound, close(A)).reason == "MEMORY_NOT_FOUND"


@pytest.mark.parametrize(
    "fields",
    [
        {"category": "gotcha"},
        {"confidence": 0.95},
        {"state_kind": StateKind.LONG_MOOD},
        {"perception_type": "visual"},
    ],
    ids=str,
)
def test_what_is_protected_is_not_closed(store: Store, fields: dict[str, Any]) -> None:
    one = store.save("Stays.", **fields)
    assert refused(store, errors.Precondition, close(one)).reason == "PROTECTED"
    assert applied(store, upsert("Grows.", one)).results[1].updated


def test_logs_are_not_touched(store: Store) -> None:
    event = store.save("It was.", kind=Kind.EVENT, state_kind=StateKind.NONE)
    for item in (close(event), upsert("It was not.", event)):
        assert refused(store, errors.Precondition, item).reason == "APPEND_ONLY"


def test_kinds_and_ops_must_fit_the_state(store: Store) -> None:
    fact = store.save("A fact.", external_id="x")
    wrong = (
        upsert("Still a fact.", fact, "task"),
        close(fact, kind="summary"),
        {"op": "mark_done", "state_id": fact},
    )
    for pair in wrong:
        assert refused(store, errors.InvalidArgument, pair).reason == "BAD_PLAN"
    for second in (fact, "ext:x"):
        error = refused(store, errors.InvalidArgument, upsert("Changed.", fact), close(second))
        assert error.reason == "BAD_PLAN"
    early = upsert("", fact, valid_to_ts="2026-01-01T00:00:00Z", valid_from_ts=None)
    store.do(update(fact, valid_from_us=NOON))
    assert refused(store, errors.InvalidArgument, early).reason == "BAD_TIME"


def test_more_than_the_blast_radius_is_not_closed(store: Store) -> None:
    store.set(("blast.rows_min", 2))
    ids = [store.save(f"text {number}") for number in range(5)]
    assert refused(store, errors.Quota, *map(close, ids[:3])).reason == "BLAST_RADIUS"
    applied(store, *map(close, ids[:2]))
    assert refused(store, errors.Quota, close(ids[2])).reason == "BLAST_RADIUS"
    store.clock.advance(25 * HOUR_US)
    applied(store, close(ids[2]))
    assert [memory.id for memory in store.list(where=Filter())] == ids[3:]


def test_of_two_plans_at_once_one_is_done_and_the_other_does_nothing(store: Store) -> None:
    one, other = store.save("First."), store.save("Second.")
    read = {memory_id: store.one(memory_id).revision for memory_id in (one, other)}
    plans = [
        commands(
            upsert(f"Both, says {agent}.", one, expected_revision=read[one]),
            close(other, expected_revision=read[other]),
            agent=agent,
        )
        for agent in ("anna", "bert")
    ]
    futures = [store.engine.apply(store.collection, "", plan) for plan in plans]
    ended = [future.exception(wait_s()) for future in futures]
    assert sorted(type(error).__name__ for error in ended) == ["NoneType", "StaleRevision"]
    winner = ("anna", "bert")[ended.index(None)]
    assert store.one(one).content == f"Both, says {winner}."
    assert store.one(other).status is Status.CLOSED


def test_kept_answers_say_nothing_of_what_is_purged(store: Store) -> None:
    one = store.save("Nobody knows of the velvet anchor.")
    applied(store, upsert("It is the velvet anchor.", one, reason="velvet"), operation_id="op_1")
    applied(store, upsert("A velvet anchor, too.", kind="fact"), close(one), operation_id="op_2")
    made = [memory.id for memory in store.list()]
    store.do(Purge("anna", tuple(made)))
    again = applied(
        store, upsert("It is the velvet anchor.", one, reason="velvet"), operation_id="op_1"
    )
    assert again.replayed
    assert again.results[1].memory.content == ""
    store.close()
    assert b"velvet" not in store.file().read_bytes()


def test_numbers_of_document_004_are_external_ids(store: Store) -> None:
    """Its example has `"state_id": 0` for a new state, and `[123]` as evidence."""
    saved = store.save("The motor stops at 12.5N.", external_id="7")
    new = {"op": "upsert", "state_id": 0, "kind": "fact", "body_text": "The valve is shut."}
    close = {"op": "close", "state_id": 7, "reason": "old"}
    answer = store.apply(*commands(new | {"evidence_event_ids": [7]}, close))
    assert store.one(saved).status is Status.CLOSED
    (memory,) = [other for other in store.list() if other.content == "The valve is shut."]
    assert memory.fields.evidence_ids == ("ext:7",)
    assert answer.revision == store.revision
    with pytest.raises(errors.NotFound, match="ext:8"):
        store.apply(*commands(close | {"state_id": 8}))
