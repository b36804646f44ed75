"""A text that was forgotten is remembered again: told so, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.engines import DAY_US, InProcessEmbedding, Store, forget, opened, remember, update
from totonoe_core.domain.records import Kind, StateKind, Status, TypedKey

TEXT = "Deploys need two approvals."


def forgotten(store: Store, text: str = TEXT, reason: str = "no longer so", **more: Any) -> str:
    """Id of a memory that was forgotten three days ago."""
    memory_id = store.save(text, **more)
    store.do(forget(memory_id, agent=more.get("agent", "anna"), reason=reason))
    store.clock.advance(3 * DAY_US + 1000)
    return memory_id


def test_what_was_forgotten_is_saved_with_a_note_of_who_why_and_when(store: Store) -> None:
    gone = forgotten(store, agent="berta")
    answer = store.do(remember(TEXT))
    assert answer.saved
    note = answer.guard.forgotten
    assert (note.memory_id, note.agent_id, note.reason) == (gone, "berta", "no longer so")
    assert (note.age, note.snippet, note.revision) == ("3d ago", TEXT, 2)
    assert answer.guard.duplicate is None


def test_check_says_what_remember_says(store: Store) -> None:
    gone = forgotten(store)
    found = store.check(remember(TEXT))
    assert found.would_save
    assert found.guard.forgotten.memory_id == gone
    store.set(("guard.refuse_forgotten", True))
    refused = store.check(remember(TEXT))
    assert not refused.would_save
    assert refused.guard == store.do(remember(TEXT)).guard


def test_policy_refuses_without_a_vector_and_changes_nothing(tmp_path: Path) -> None:
    embedding = InProcessEmbedding()
    with opened(tmp_path, embedding=embedding) as store:
        gone = forgotten(store, text_only=True)
        store.set(("guard.refuse_forgotten", True))
        revision, embedded = store.revision, len(embedding.texts)
        answer = store.do(remember("deploys need two approvals", text_only=True))
        assert (answer.saved, answer.memory_id) == (False, gone)
        assert answer.guard.duplicate is None
        assert answer.guard.forgotten.memory_id == gone
        assert (store.revision, len(embedding.texts)) == (revision, embedded)


def test_force_saves_with_the_note(store: Store) -> None:
    gone = forgotten(store)
    store.set(("guard.refuse_forgotten", True))
    answer = store.do(remember(TEXT, force=True))
    assert answer.saved
    assert answer.guard.forgotten.memory_id == gone
    assert store.check(remember(TEXT, force=True, vector=None)).guard.forgotten is not None


def test_the_one_forgotten_last_is_named(store: Store) -> None:
    one, two = store.save(TEXT), store.save(TEXT, force=True)
    store.do(forget(two))
    store.do(forget(one, reason="the last word"))
    note = store.do(remember(TEXT)).guard.forgotten
    assert (note.memory_id, note.reason) == (one, "the last word")


def test_a_live_memory_that_says_it_comes_first(store: Store) -> None:
    forgotten(store)
    store.set(("guard.refuse_forgotten", True))
    live = store.save(TEXT, force=True)
    answer = store.do(remember(TEXT))
    assert (answer.saved, answer.memory_id, answer.guard.forgotten) == (False, live, None)


@pytest.mark.parametrize(
    "more",
    [
        {"text": "Deploys need three approvals."},
        {"kind": Kind.EVENT, "state_kind": StateKind.NONE},
        {"state_kind": StateKind.TASK},
        {"payload": {"count": 2}},
        {"key": TypedKey("deploys", "approvals")},
    ],
)
def test_what_says_something_else_gets_no_note(store: Store, more: dict[str, Any]) -> None:
    forgotten(store)
    store.set(("guard.refuse_forgotten", True))
    answer = store.do(remember(more.pop("text", TEXT), **more))
    assert answer.saved
    assert answer.guard.forgotten is None


def test_the_same_typed_key_is_told_and_refused(store: Store) -> None:
    key = TypedKey("deploys", "approvals")
    gone = forgotten(store, key=key)
    assert store.check(remember(TEXT, key=key)).guard.forgotten.memory_id == gone
    store.set(("guard.refuse_forgotten", True))
    assert store.do(remember(TEXT, key=key)).memory_id == gone


def test_logs_are_never_told(store: Store) -> None:
    log = {"kind": Kind.EVENT, "state_kind": StateKind.NONE}
    forgotten(store, **log)
    store.set(("guard.refuse_forgotten", True))
    answer = store.do(remember(TEXT, **log))
    assert answer.saved
    assert answer.guard.forgotten is None


def test_another_agents_private_memory_is_not_told(store: Store) -> None:
    forgotten(store, agent="berta", private=True)
    assert store.do(remember(TEXT)).guard.forgotten is None
    assert store.do(remember(TEXT, agent="berta", force=True)).guard.forgotten is not None


def test_only_the_last_text_of_a_forgotten_memory_counts(store: Store) -> None:
    one = store.save(TEXT)
    store.do(update(one, content="Deploys need one approval."))
    store.do(forget(one))
    assert store.check(remember(TEXT)).guard.forgotten is None
    assert store.check(remember("Deploys need one approval.")).guard.forgotten is not None


def test_a_note_survives_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        gone = forgotten(store)
        store.reopen()
        assert store.check(remember(TEXT)).guard.forgotten.memory_id == gone


def test_forget_then_remember_in_one_operation_is_no_surprise(store: Store) -> None:
    store.set(("guard.refuse_forgotten", True))
    one = store.save(TEXT)
    _, answer = store.apply(forget(one), remember(TEXT)).results
    assert answer.saved
    assert answer.guard.forgotten is None
    assert store.one(one).status is Status.FORGOTTEN
