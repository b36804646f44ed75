"""A text that says again what a superseded memory said: saved, named, and behind the newer one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.engines import Store, forget, merge, remember, undo, vector_at, vector_of
from totonoe_core.base import limits
from totonoe_core.domain.memories import Remember, Remembered
from totonoe_core.domain.policy import Action
from totonoe_core.domain.queries import RecallQuery
from totonoe_core.domain.records import (
    Kind,
    LinkType,
    OutdatedMatch,
    StateKind,
    Status,
    TypedKey,
    Verdict,
)

BASE = vector_of("base")
OLD = "The staging server listens on port 8080"
NEW = "The staging server listens on port 8081"
BY_VERDICT = ((Verdict.UPDATE, Action.SUPERSEDE),)


def saying(text: str, cosine: float = 0.97, **more: Any) -> Remember:
    """A Remember that supersedes what it updates."""
    command = remember(text, vector=vector_at(BASE, cosine, seed=len(text)), **more)
    return replace(command, actions=BY_VERDICT)


def replaced(store: Store, old: str = OLD, new: str = NEW, **more: Any) -> tuple[str, str]:
    """A superseded memory, and the live one that took its place."""
    first = store.do(saying(old, **more)).memory_id
    answer = store.do(replace(saying(new, **more), supersede_ids=(first,)))
    assert answer.superseded_ids == (first,)
    return first, answer.memory_id


def links(store: Store, memory_id: str) -> set[tuple[str, LinkType]]:
    return {(link.target_id, link.type) for link in store.one(memory_id).links}


def recalled(store: Store, text: str) -> list[str]:
    query = RecallQuery("anna", text, vector=BASE.astype("<f4").tobytes())
    answer = store.read(query)
    return [hit.memory.content for hit in answer.hits]


@pytest.mark.parametrize(
    "again", [OLD, OLD + ".", "**" + OLD + "**", "Note: the staging server listens on port 8080"]
)
def test_outdated_restatement_is_saved_named_and_supersedes_nothing(
    store: Store, again: str
) -> None:
    old, new = replaced(store)
    command = saying(again)
    would = store.check(command)
    assert (would.would_save, would.superseded_ids) == (True, ())
    answer: Remembered = store.do(command)
    assert (answer.saved, answer.superseded_ids) == (True, ())
    assert answer.guard.outdated == OutdatedMatch(old, "just now", OLD, new, NEW)
    assert would.guard.outdated == answer.guard.outdated
    assert store.one(new).status is Status.ACTIVE
    assert links(store, answer.memory_id) >= {(new, LinkType.UPDATED_BY)}
    assert (answer.memory_id, LinkType.UPDATES) in links(store, new)
    assert (new, LinkType.UPDATES) not in links(store, answer.memory_id)


def test_outdated_restatement_stands_behind_the_newer_one(store: Store) -> None:
    replaced(store)
    store.do(saying(OLD))
    assert recalled(store, "staging server port") == [NEW, OLD]
    assert recalled(store, OLD) == [OLD, NEW], "it is what was asked for"


def test_repeated_outdated_restatement_is_refused_and_supersedes_nothing(store: Store) -> None:
    # In other words than the superseded one: it is found by its chain alone.
    old, new = replaced(store, "Timeout: 30s", "Timeout: 40s")
    again = saying("The timeout is 30 seconds.")
    live = store.do(again).memory_id
    for command in (again, saying("timeout is 30 seconds")):
        answer = store.do(command)
        assert (answer.saved, answer.memory_id, answer.superseded_ids) == (False, live, ())
        assert answer.guard.outdated.memory_id == old
        assert store.check(command).superseded_ids == ()
    assert store.one(new).status is Status.ACTIVE


def test_newer_value_said_again_supersedes_the_outdated_restatement(store: Store) -> None:
    _, new = replaced(store)
    again = store.do(saying(OLD)).memory_id
    answer = store.do(saying(NEW))
    assert (answer.memory_id, answer.superseded_ids) == (new, (again,))
    assert answer.guard.outdated is None


def test_longer_chain_leads_to_the_live_end(store: Store) -> None:
    old, second = replaced(store)
    third = store.do(replace(saying(NEW.replace("8081", "8082")), supersede_ids=(second,)))
    for text, first in ((OLD, old), (NEW, second)):
        found = store.check(saying("note: " + text)).guard.outdated
        assert (found.memory_id, found.replaced_by_id) == (first, third.memory_id)


def test_only_so_many_superseded_ones_are_compared(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced(store)
    monkeypatch.setattr(limits, "OUTDATED_WALKED_MAX", 0)
    assert store.check(saying("note: " + OLD)).guard.outdated is None
    assert store.check(saying(OLD)).guard.outdated is not None


def test_caller_that_names_the_newer_one_goes_back_to_the_old_value(store: Store) -> None:
    old, new = replaced(store)
    answer = store.do(replace(saying(OLD), supersede_ids=(new,)))
    assert (answer.saved, answer.superseded_ids, answer.guard.outdated) == (True, (new,), None)
    assert store.check(saying(OLD)).guard.outdated is None
    assert store.check(saying(NEW)).guard.outdated.replaced_by_id == answer.memory_id
    assert store.one(old).status is Status.SUPERSEDED


def test_key_goes_back_to_the_old_value(store: Store) -> None:
    key = TypedKey("staging", "port")
    _, new = replaced(store, key=key)
    answer = store.do(saying(OLD, key=key))
    assert (answer.superseded_ids, answer.guard.outdated) == ((new,), None)


def test_replacement_that_is_gone_or_says_the_same_makes_nothing_outdated(store: Store) -> None:
    _, new = replaced(store)
    store.do(forget(new))
    assert store.check(saying(OLD)).guard.outdated is None
    store.do(undo(store.revision))
    assert store.check(saying(OLD)).guard.outdated is not None
    first, second = store.save("Backups run nightly."), store.save("Restores are tested monthly.")
    text = "Backups run nightly. Restores are tested monthly."
    store.do(replace(merge(first, second), content=text, vector=vector_of(text).tobytes()))
    assert store.check(remember("Backups run nightly.")).guard.outdated is None


@pytest.mark.parametrize(
    "more",
    [
        {"kind": Kind.EVENT, "state_kind": StateKind.NONE},
        {"state_kind": StateKind.TASK},
        {"payload": {"count": 2}},
        {"force": True},
    ],
)
def test_text_of_another_kind_or_payload_says_nothing_again(
    store: Store, more: dict[str, Any]
) -> None:
    replaced(store)
    answer = store.do(saying(OLD, **more))
    assert (answer.saved, answer.guard.outdated) == (True, None)


def test_another_agents_private_memories_are_not_named(store: Store) -> None:
    replaced(store, agent="ben", private=True)
    assert store.do(saying(OLD)).guard.outdated is None


def test_private_replacement_of_another_agent_is_not_named(store: Store) -> None:
    old, new = replaced(store, private=True)
    assert store.check(saying(OLD)).guard.outdated.replaced_by_id == new
    assert store.check(saying(OLD, agent="ben")).guard.outdated is None
    assert store.one(old).status is Status.SUPERSEDED


@pytest.mark.parametrize("preset", ["ego", "robotmem"])
def test_presets_of_sources_look_for_nothing_outdated(store: Store, preset: str) -> None:
    store.set(("guard.preset", preset))
    first = store.save(OLD)
    store.do(replace(remember("Elsewhere"), supersede_ids=(first,)))
    assert store.do(remember(OLD)).guard.outdated is None


def test_undo_of_the_restatement_leaves_the_newer_one_as_it_was(store: Store) -> None:
    _, new = replaced(store)
    before = links(store, new)
    store.do(saying(OLD))
    store.do(undo(store.revision))
    assert links(store, new) == before
