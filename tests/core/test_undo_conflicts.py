"""What keeps an Undo from being whole, who may take back what, and the guard on what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.engines import (
    Store,
    change,
    contents,
    forget,
    link,
    merge,
    opened,
    remember,
    undo,
    unlink,
    update,
    vector_at,
    vector_of,
)
from support.judges import ScriptedJudge, service
from totonoe_core.base import errors, limits
from totonoe_core.domain.cleanup import CleanUpDuplicates, EndSession
from totonoe_core.domain.commands import Command
from totonoe_core.domain.graph import CreateEpisode, DeleteEpisode
from totonoe_core.domain.memories import Purge, Remember
from totonoe_core.domain.questions import Answer, Resolve
from totonoe_core.domain.records import Kind, LinkType, StateKind, Status, TypedKey
from totonoe_core.domain.tidy import Tidy
from totonoe_core.domain.undo import ConflictKind, UndoConflict, Undone


@pytest.fixture
def store(store: Store) -> Store:
    store.set(("guard.link_distance_below", 0.0))
    return store


def previewed(store: Store, target: int, **more: Any) -> Undone:
    """Answer of a dry run."""
    return store.preview(undo(target, **more))[1]


def refused(store: Store, target: int, **more: Any) -> tuple[UndoConflict, ...]:
    """The conflicts of an Undo that is refused and changes nothing."""
    before, revision = contents(store), store.revision
    error = store.refused(undo(target, **more), errors.UndoRefused)
    assert error.reason == "UNDO_CONFLICT"
    assert (contents(store), store.revision) == (before, revision)
    conflicts = previewed(store, target, **more).conflicts
    assert error.details["conflict_count"] == str(len(conflicts))
    assert not previewed(store, target, **more).undone
    return conflicts


class TestChanged:
    def test_memory_that_changed_since_is_a_conflict(self, store: Store) -> None:
        saved = store.save("text")
        store.do(update(saved, tags=("one",)))
        changed = store.revision
        store.do(update(saved, tags=("two",)))
        expected = UndoConflict(ConflictKind.CHANGED, saved, revision=changed + 1)
        assert refused(store, changed) == (expected,)
        assert refused(store, changed, force=True) == (expected,)
        store.do(undo(changed + 1))
        assert store.do(undo(changed)).undone
        assert store.one(saved).fields.tags == ()

    def test_second_undo_of_the_same_is_refused(self, store: Store) -> None:
        saved, other = store.save("text"), store.save("other")
        store.do(link(saved, other))
        store.do(forget(saved))
        done = store.revision
        store.do(undo(done))
        kinds = [(conflict.kind, conflict.target_id) for conflict in refused(store, done)]
        already = ConflictKind.UNDONE_ALREADY
        assert sorted(kinds) == [(already, ""), (already, other)]

    def test_partial_takes_back_the_rest(self, store: Store) -> None:
        one, two = store.save("first"), store.save("second")
        store.apply(update(one, tags=("x",)), update(two, tags=("x",)))
        changed = store.revision
        store.do(update(one, tags=("y",)))
        preview = previewed(store, changed, partial=True)
        answer = store.do(undo(changed, partial=True))
        assert preview.undone
        assert answer.undone
        assert answer.conflicts == preview.conflicts
        assert answer.conflicts == (UndoConflict(ConflictKind.CHANGED, one, revision=changed + 1),)
        assert [memory.id for memory in answer.memories] == [two]
        assert (store.one(one).fields.tags, store.one(two).fields.tags) == (("y",), ())

    def test_partial_with_nothing_left_changes_nothing(self, store: Store) -> None:
        saved = store.save("text")
        store.do(update(saved, tags=("one",)))
        store.do(update(saved, tags=("two",)))
        revision = store.revision
        answer = store.do(undo(revision - 1, partial=True))
        assert (answer.undone, len(answer.conflicts), store.revision) == (False, 1, revision)

    def test_link_that_changed_since_is_a_conflict(self, store: Store) -> None:
        saved, other = store.save("text"), store.save("other")
        store.do(link(saved, other))
        made = store.revision
        store.do(link(saved, other, confidence=0.75))
        (conflict,) = refused(store, made)
        assert {conflict.memory_id, conflict.target_id} == {saved, other}
        assert (conflict.kind, conflict.revision) == (ConflictKind.CHANGED, made + 1)
        store.do(unlink(saved, other))
        assert refused(store, made)[0].revision == made + 2, "the one to undo first"
        store.do(link(saved, other))
        assert refused(store, made + 2)[0].revision == made + 3, "made anew"

    def test_settings_that_changed_since_are_a_conflict(self, store: Store) -> None:
        store.set(("description", "one"))
        changed = store.revision
        store.set(("description", "two"))
        expected = UndoConflict(ConflictKind.CHANGED, settings=True, revision=changed + 1)
        assert refused(store, changed) == (expected,)
        for revision, description in ((changed + 1, "one"), (changed, "")):
            store.do(undo(revision))
            assert store.info().description == description

    def test_episode_that_went_or_came_since_is_a_conflict(self, store: Store) -> None:
        saved = store.save("text")
        episode = store.do(CreateEpisode("anna", "a day", (saved,))).episode.id
        made = store.revision
        store.do(DeleteEpisode("anna", episode))
        expected = UndoConflict(ConflictKind.CHANGED, episode_id=episode, revision=made + 1)
        assert refused(store, made) == (expected,)
        store.do(undo(made + 1))
        already = replace(expected, kind=ConflictKind.UNDONE_ALREADY, revision=made + 2)
        assert refused(store, made + 1) == (already,)
        assert store.do(undo(made)).episode_ids == (episode,)

    def test_purged_memory_is_a_conflict_and_a_purge_is_final(self, store: Store) -> None:
        saved, other = store.save("text"), store.save("other")
        store.apply(update(saved, tags=("x",)), update(other, tags=("x",)), link(saved, other))
        changed = store.revision
        store.do(Purge("anna", (saved,)))
        kinds = {(conflict.kind, conflict.memory_id) for conflict in refused(store, changed)}
        assert (ConflictKind.PURGED, saved) in kinds
        assert [memory.id for memory in store.do(undo(changed, partial=True)).memories] == [other]
        error = store.refused(undo(changed + 1), errors.Precondition)
        assert error.reason == "NOT_UNDOABLE"


class TestLinks:
    def test_gone_end_is_told_beside_the_duplicate_of_the_other(self, store: Store) -> None:
        one, two = store.save("first"), store.save("second")
        store.do(link(one, two))
        store.do(forget(one))
        gone = store.revision
        store.do(forget(two))
        store.save("first")
        kinds = {conflict.kind for conflict in refused(store, gone)}
        assert kinds == {ConflictKind.DUPLICATE, ConflictKind.LINK_END_GONE}
        # Not told that force would do, which it would not.
        assert [conflict.kind for conflict in refused(store, gone, force=True)] == [
            ConflictKind.LINK_END_GONE
        ]

    def test_link_to_what_is_forgotten_since_stays_away(self, store: Store) -> None:
        one, two, three = (store.save(text) for text in ("first", "second", "third"))
        store.do(link(one, two))
        store.do(link(one, three))
        store.do(forget(one))
        gone = store.revision
        store.do(forget(two))
        expected = UndoConflict(ConflictKind.LINK_END_GONE, one, target_id=two)
        assert refused(store, gone) == (expected,)
        answer = store.do(undo(gone, partial=True))
        assert (answer.conflicts, answer.link_count) == ((expected,), 1)
        assert [found.target_id for found in store.one(one).links] == [three]
        assert store.one(two).links == ()

    def test_in_the_order_back_every_link_comes_back(self, store: Store) -> None:
        one, two = store.save("first"), store.save("second")
        store.do(link(one, two, LinkType.CAUSES, note="why"))
        before = contents(store)
        store.do(forget(one))
        store.do(forget(two))
        store.do(undo(store.revision))
        store.do(undo(store.revision - 2))
        assert contents(store) == before

    def test_link_over_the_limit_is_a_conflict(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "LINKS_PER_MEMORY_MAX", 1)
        one, two, three = (store.save(text) for text in ("first", "second", "third"))
        store.do(link(one, two))
        store.do(forget(two))
        gone = store.revision
        store.do(link(one, three))
        expected = UndoConflict(ConflictKind.CHANGED, one, target_id=two)
        assert refused(store, gone) == (expected,)
        assert store.do(undo(gone, partial=True)).conflicts == (expected,)
        assert store.one(two).status is Status.ACTIVE
        assert [found.target_id for found in store.one(one).links] == [three]

    def test_link_that_goes_makes_room_for_the_one_that_comes(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "LINKS_PER_MEMORY_MAX", 1)
        one, two, three = (store.save(text) for text in ("first", "second", "third"))
        store.do(link(one, two))
        before = contents(store)
        store.apply(unlink(one, two), link(one, three))
        assert store.do(undo(store.revision)).link_count == 2
        assert contents(store) == before


class TestTaken:
    def test_external_id_that_another_has_now_is_a_conflict(self, store: Store) -> None:
        saved = store.save("text", external_id="x")
        store.do(forget(saved))
        gone = store.revision
        other = store.save("other", external_id="x")
        expected = UndoConflict(ConflictKind.EXTERNAL_ID_TAKEN, saved)
        assert refused(store, gone) == (expected,)
        assert refused(store, gone, force=True) == (expected,)
        store.do(forget(other))
        assert store.do(undo(gone)).undone
        assert store.one("ext:x").id == saved

    def test_external_ids_go_round_among_the_memories_of_an_operation(self, store: Store) -> None:
        one, two = store.save("first", external_id="1"), store.save("second", external_id="2")
        before = contents(store)
        store.apply(
            update(one, external_id=""), update(two, external_id="1"), update(one, external_id="2")
        )
        swapped = contents(store)
        store.do(undo(store.revision))
        assert contents(store) == before
        store.do(undo(store.revision))
        assert contents(store) == swapped
        assert (store.one("ext:1").id, store.one("ext:2").id) == (two, one)

    def test_key_whose_value_another_holds_now_is_a_conflict(self, store: Store) -> None:
        key = TypedKey("sky", "colour")
        saved = store.save("blue", key=key)
        store.do(forget(saved))
        gone = store.revision
        other = store.save("grey", key=key)
        expected = UndoConflict(ConflictKind.KEY_TAKEN, saved)
        assert refused(store, gone) == (expected,)
        store.do(forget(other))
        assert store.do(undo(gone)).undone


class TestGuard:
    def test_text_that_another_says_now_is_refused_without_an_error(self, store: Store) -> None:
        saved = store.save("the sea is deep")
        store.do(forget(saved))
        gone = store.revision
        other = store.save("the sea is deep")
        revision = store.revision
        answer = store.do(undo(gone))
        assert (answer.undone, answer.memories, store.revision) == (False, (), revision)
        (conflict,) = answer.conflicts
        assert (conflict.kind, conflict.memory_id) == (ConflictKind.DUPLICATE, saved)
        assert conflict.duplicate is not None
        assert conflict.duplicate.memory_id == other
        assert previewed(store, gone) == answer
        assert store.do(undo(gone, force=True)).undone
        assert {store.one(memory_id).status for memory_id in (saved, other)} == {Status.ACTIVE}

    def test_only_duplicates_are_no_error_and_their_links_no_conflict_of_their_own(
        self, store: Store
    ) -> None:
        saved, friend = store.save("the sea is deep"), store.save("a friend")
        store.do(link(saved, friend))
        store.do(forget(saved, friend))
        gone = store.revision
        store.save("the sea is deep")
        answer = store.do(undo(gone))
        assert [conflict.kind for conflict in answer.conflicts] == [ConflictKind.DUPLICATE]
        partial = store.do(undo(gone, partial=True))
        assert ([memory.id for memory in partial.memories], partial.link_count) == ([friend], 0)

    def test_text_of_an_update_comes_back_only_if_nobody_else_says_it(self, store: Store) -> None:
        saved = store.save("the sea is deep")
        store.do(update(saved, content="the lake is shallow"))
        changed = store.revision
        other = store.save("the sea is deep")
        assert not store.do(undo(changed)).undone
        store.do(forget(other))
        answer = store.do(undo(changed))
        assert answer.memories[0].content == "the sea is deep"

    def test_what_stays_refuses_what_would_come_back_beside_it(self, store: Store) -> None:
        """Two change places; as one of them must stay as it is, the other may not repeat it."""
        one, two = store.save("the sea is deep"), store.save("a lake is near")
        store.apply(
            update(one, content="nothing of the kind"), update(two, content="the sea is deep")
        )
        changed = store.revision
        store.save("a lake is near")
        answer = store.do(undo(changed, partial=True))
        assert not answer.undone
        assert [conflict.memory_id for conflict in answer.conflicts] == [two, one]
        assert [conflict.kind for conflict in answer.conflicts] == [ConflictKind.DUPLICATE] * 2

    def test_change_of_labels_is_taken_back_beside_a_forced_double(self, store: Store) -> None:
        saved = store.save("the sea is deep")
        store.save("the sea is deep", force=True)
        store.do(update(saved, tags=("x",)))
        assert store.do(undo(store.revision)).undone

    def test_logs_are_never_refused(self, store: Store) -> None:
        log = {"kind": Kind.EVENT, "state_kind": StateKind.NONE}
        saved = store.save("the bell rang", **log)
        store.do(forget(saved))
        store.save("the bell rang", **log)
        assert store.do(undo(store.revision - 1)).undone

    def test_judge_is_asked_once_about_all_that_comes_back(self, tmp_path: Path) -> None:
        judge = ScriptedJudge()
        bases = vector_of("one base"), vector_of("another base")
        with opened(tmp_path / "judged", judging=service(judge)) as store:
            first = store.save("The neighbour has a loud dog", vector=bases[0])
            second = store.save("The farm keeps a quiet cat", vector=bases[1])
            store.do(forget(first, second))
            gone = store.revision
            texts = ("The neighbour has a loud puppy", "The farm keeps a quiet kitten")
            for text, base in zip(texts, bases, strict=True):
                store.save(text, vector=vector_at(base, 0.9))
            assert not judge.pairs
            answer = store.do(undo(gone))
            assert not answer.undone
            assert [conflict.memory_id for conflict in answer.conflicts] == [first, second]
            assert {pair.one for pair in judge.pairs} | {pair.other for pair in judge.pairs} >= {
                *texts
            }

    def test_what_stood_beside_before_is_no_conflict(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        saved = store.save("the same")
        doubles = [store.save("the same", force=True) for _ in range(2)]
        store.do(forget(saved))
        target = store.revision
        assert previewed(store, target).undone
        # Above the limit it takes force, as before.
        monkeypatch.setattr(limits, "UNDO_BESIDE_MAX", 1)
        assert [shown.kind for shown in previewed(store, target).conflicts] == [
            ConflictKind.DUPLICATE
        ]
        monkeypatch.undo()
        # What was changed since may have been meant to take its place.
        store.do(update(doubles[1], importance=5))
        (conflict,) = previewed(store, target).conflicts
        assert conflict.duplicate is not None
        assert conflict.duplicate.memory_id == doubles[1]
        store.do(forget(doubles[1]))
        assert store.do(undo(target)).undone
        assert store.one(saved).status is Status.ACTIVE

    def test_what_took_the_place_may_have_changed_since(self, store: Store) -> None:
        saved, kept = store.save("the same"), store.save("the same", force=True)
        assert store.do(CleanUpDuplicates("anna")).duplicates
        target = store.revision
        gone, stays = (saved, kept) if store.one(kept).status is Status.ACTIVE else (kept, saved)
        store.do(update(stays, importance=5))
        assert store.do(undo(target)).undone
        assert store.one(gone).status is Status.ACTIVE


# How a memory takes the place of another one: each returns one that it superseded or closed.


def _in_place_of(other: str) -> Remember:
    """A text that is refused, so that what says it already takes the place of another memory."""
    return replace(remember(DEEP), supersede_ids=(other,))


def _cleaned(store: Store, kept: str, command: Command) -> str:
    double = store.save(DEEP, force=True, confidence=0.5)
    store.do(command)
    assert store.one(kept).status is Status.ACTIVE
    return double


def _session_ended(store: Store) -> str:
    others = [store.save(f"{DEEP} {place}", session_id="s") for place in ("here", "there")]
    assert store.do(EndSession("anna", "s")).superseded_count == 2
    return others[1]


def _with(store: Store, command: Callable[[str], Command]) -> str:
    other = store.save("an ocean is never shallow")
    store.do(command(other))
    return other


DEEP = "the sea is deep"
TAKES_PLACE: dict[str, Callable[[Store, str], str]] = {
    "replaces": lambda store, kept: _with(
        store, lambda other: Resolve("anna", kept, other, Answer.REPLACES)
    ),
    "replaced by": lambda store, kept: _with(
        store, lambda other: Resolve("anna", other, kept, Answer.REPLACED_BY)
    ),
    "same": lambda store, kept: _with(
        store, lambda other: Resolve("anna", kept, other, Answer.SAME)
    ),
    "merge": lambda store, kept: _with(store, lambda other: merge(kept, other)),
    "refused": lambda store, _: _with(store, _in_place_of),
    "clean-up": lambda store, kept: _cleaned(store, kept, CleanUpDuplicates("anna")),
    "tidy": lambda store, kept: _cleaned(store, kept, Tidy("anna")),
    "session": lambda store, _: _session_ended(store),
}


class TestLastCopy:
    """What took the place of another memory cannot go and leave nothing there."""

    @pytest.mark.parametrize("take_place", TAKES_PLACE.values(), ids=TAKES_PLACE)
    def test_memory_that_took_a_place_since_stays(
        self, store: Store, take_place: Callable[[Store, str], str]
    ) -> None:
        kept = store.save(DEEP, session_id="s", confidence=0.9)
        saved = store.revision
        other = take_place(store, kept)
        taken = store.revision
        gone = [memory for memory in store.list() if memory.status is not Status.ACTIVE]
        assert other in [memory.id for memory in gone]
        for more in ({}, {"force": True}):
            (conflict,) = refused(store, saved, **more)
            assert conflict.kind in (ConflictKind.LAST_COPY, ConflictKind.CHANGED)
            assert (conflict.memory_id, conflict.revision) == (kept, taken)
            assert conflict.target_id in ("", *(memory.id for memory in gone))
        answer = store.do(undo(saved, partial=True))
        assert (answer.undone, answer.conflicts) == (False, (conflict,))
        store.do(undo(taken))
        assert store.one(other).status is Status.ACTIVE
        assert store.do(undo(saved)).undone
        assert store.one(kept).status is Status.FORGOTTEN

    @pytest.mark.parametrize(
        "change",
        [{"content": "the lake is shallow"}, {"payload": {"at": "noon"}}, {"private": False}],
        ids=["text", "payload", "privacy"],
    )
    def test_what_the_memory_says_since_stays_too(
        self, store: Store, change: dict[str, Any]
    ) -> None:
        kept = store.save(DEEP, private="private" in change)
        store.do(update(kept, **change))
        changed = store.revision
        other = store.save("an ocean is never shallow")
        store.do(Resolve("anna", kept, other, Answer.REPLACES))
        (conflict,) = refused(store, changed)
        expected = ConflictKind.LAST_COPY, kept, other, store.revision
        assert (
            conflict.kind,
            conflict.memory_id,
            conflict.target_id,
            conflict.revision,
        ) == expected

    def test_labels_are_taken_back_whatever_place_it_took(self, store: Store) -> None:
        kept = store.save(DEEP)
        store.do(update(kept, tags=("x",)))
        changed = store.revision
        other = store.save("an ocean is never shallow")
        store.do(Resolve("anna", kept, other, Answer.REPLACES))
        assert store.do(undo(changed)).undone

    def test_whole_stack_is_undone_and_redone(self, store: Store) -> None:
        kept, other = store.save(DEEP), store.save("an ocean is never shallow")
        store.do(Resolve("anna", kept, other, Answer.REPLACES))
        store.do(forget(kept))
        before = contents(store)
        store.do(undo(store.revision))
        # The other was lost behind the forgotten memory before, and may be again.
        assert store.do(undo(store.revision)).undone
        assert contents(store) == before

    def test_place_is_not_given_back_to_a_memory_that_is_gone(self, store: Store) -> None:
        old, new = store.save(DEEP), store.save(DEEP, force=True)
        store.do(merge(new, old))
        store.do(undo(store.revision))
        back = store.revision
        store.do(forget(new))
        kind = ConflictKind.SUCCESSOR_GONE
        expected = UndoConflict(kind, old, target_id=new, revision=store.revision)
        assert expected in refused(store, back)
        store.do(undo(store.revision))
        assert store.do(undo(back)).undone
        assert store.one(old).superseded_by == new

    def test_memory_stays_if_what_it_replaced_cannot_come_back(self, store: Store) -> None:
        key = TypedKey("sea", "depth")
        old = store.save("the sea is flat", key=key)
        new = store.do(replace(remember(DEEP), supersede_ids=(old,))).memory_id
        replaced = store.revision
        store.save("nobody knows", key=key)
        conflicts = (
            UndoConflict(ConflictKind.KEY_TAKEN, old),
            UndoConflict(ConflictKind.LAST_COPY, new, target_id=old),
        )
        assert refused(store, replaced) == conflicts
        assert not store.do(undo(replaced, partial=True)).undone
        assert store.one(new).status is Status.ACTIVE
        assert [link.target_id for link in store.one(new).links] == [old]

    def test_place_of_a_hidden_memory_is_not_told(self, store: Store) -> None:
        kept = store.save(DEEP)
        saved = store.revision
        hidden = store.save("an ocean is never shallow", agent="bob", private=True)
        store.do(Resolve("bob", kept, hidden, Answer.REPLACES))
        answer = store.do(undo(saved))
        assert (answer.undone, answer.conflicts) == (True, ())


class TestPrivacy:
    def test_what_is_on_hidden_memories_is_not_found(self, store: Store) -> None:
        secret = store.save("a secret", private=True)
        store.do(update(secret, tags=("x",)))
        other = store.save("known to all")
        store.do(link(secret, other))
        for target in (2, 3, 5):
            error = store.refused(undo(target, agent="bob"), errors.NotFound)
            assert error.reason == "OPERATION_NOT_FOUND"
        assert store.do(undo(5)).undone

    def test_what_was_hidden_then_is_not_found(self, store: Store) -> None:
        saved = store.save("a secret", private=True)
        store.do(update(saved, private=False))
        told = store.revision
        # It may be seen now, but what would come back may not.
        for target in (told - 1, told):
            with pytest.raises(errors.NotFound):
                store.do(undo(target, agent="bob"))
        assert not store.one(saved, agent="bob").fields.private
        assert store.do(undo(told)).undone

    def test_links_to_hidden_memories_come_back_and_are_not_told(self, store: Store) -> None:
        secret, known, third = (
            store.save("a secret", private=True),
            store.save("known to all"),
            store.save("known as well"),
        )
        store.do(link(secret, known))
        store.do(link(third, known))
        before = contents(store)
        store.do(forget(known, agent="bob"))
        answer = store.do(undo(store.revision, agent="bob"))
        assert (answer.link_count, answer.operation.link_count) == (1, 1)
        assert [other.target_id for other in answer.memories[0].links] == [third]
        assert contents(store) == before

    def test_conflict_at_a_hidden_end_is_not_told(self, store: Store) -> None:
        secret, known = store.save("a secret", private=True), store.save("known to all")
        store.do(link(secret, known))
        store.do(forget(known, agent="bob"))
        gone = store.revision
        store.do(forget(secret))
        answer = store.do(undo(gone, agent="bob"))
        assert (answer.undone, answer.conflicts) == (True, ())
        assert store.one(known).links == ()

    def test_hidden_part_of_an_operation_stays_as_it_is(self, store: Store) -> None:
        secret, known = store.save("a secret", private=True), store.save("known to all")
        store.do(forget(secret, known))
        answer = store.do(undo(store.revision, agent="bob"))
        assert [memory.id for memory in answer.memories] == [known]
        assert answer.operation.memory_ids == (known,)
        assert store.one(secret).status is Status.FORGOTTEN

    def test_private_episode_of_another_is_not_found(self, store: Store) -> None:
        saved = store.save("text")
        episode = store.do(CreateEpisode("anna", "mine", (saved,), private=True)).episode.id
        store.do(DeleteEpisode("anna", episode))
        for target in (store.revision, store.revision - 1):
            with pytest.raises(errors.NotFound):
                store.do(undo(target, agent="bob"))
        assert store.do(undo(store.revision)).episode_ids == (episode,)

    def test_guard_quotes_nothing_hidden(self, store: Store) -> None:
        saved = store.save("the sea is deep")
        store.do(forget(saved))
        store.save("the sea is deep", private=True)
        assert store.do(undo(store.revision - 1, agent="bob")).undone


def test_undo_that_fails_leaves_the_index_as_it_was(store: Store) -> None:
    """A change of tokenizer makes another index; the operation around it is refused."""
    saved = store.save("text")
    store.set(("guard.tokenizer", "whitespace"))
    changed = store.revision
    with pytest.raises(errors.NotFound):
        store.apply(undo(changed), forget("mem_000000000000"))
    assert store.one(saved).content == "text"
    assert store.do(undo(changed)).undone
    assert not store.do(remember("text")).saved


def test_settings_and_memories_of_one_operation_come_back_together(store: Store) -> None:
    saved = store.save("the sea is deep")
    before = contents(store)
    store.apply(
        change(("guard.tokenizer", "whitespace")), update(saved, content="a lake"), forget(saved)
    )
    answer = store.do(undo(store.revision))
    assert answer.collection.guard.tokenizer.value != "whitespace"
    assert contents(store) == before
    assert not store.do(remember("the sea is deep")).saved
