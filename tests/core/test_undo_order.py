"""In which order operations can be undone: a row is taken back if all that came later is undone."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import apsw
import pytest

from support.engines import (
    Store,
    change,
    contents,
    dismiss,
    episode,
    forget,
    link,
    merge,
    remember,
    undismiss,
    undo,
    unlink,
    update,
)
from support.layered import is_as_before, stacks_of, standing
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.commands import Command
from totonoe_core.domain.graph import DeleteEpisode
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.records import Fields, LinkType, Memory, Status, TypedKey
from totonoe_core.domain.undo import ConflictKind, UndoConflict
from totonoe_core.engine.commands.layers import Layers, Row
from totonoe_core.store import rows
from totonoe_core.store.sqlite.session import Session
from totonoe_core.store.tables.history import History
from totonoe_core.store.tables.sql import PUT_MEMORY


@pytest.fixture
def store(store: Store) -> Store:
    store.set(("guard.link_distance_below", 0.0))
    return store


def conflicts(store: Store, target: int, **more: Any) -> tuple[UndoConflict, ...]:
    """What an Undo says is in the way, whether it is refused or answers that nothing is done."""
    preview = store.preview(undo(target, **more))[1]
    revision = store.revision
    try:
        answer = store.do(undo(target, **more))
    except errors.UndoRefused:
        pass
    else:
        assert answer == preview
    assert not preview.undone
    assert preview.conflicts
    assert store.revision == revision
    return preview.conflicts


# -- Stacks of operations

KEY = TypedKey("sky", "colour")
Commands = Generator[Command, Any, None]


class Stack:
    """Commands on two memories, one after the other; each may use the result of the one before."""

    def updates(self, one: str, _other: str) -> Commands:
        yield update(one, content="the lake is shallow")
        yield update(one, tags=("x",), external_id="x")
        yield update(one, content="the sea is deep again")

    def forgets(self, one: str, other: str) -> Commands:
        yield update(one, importance=5)
        yield forget(one, other)
        yield remember("the sea is deep")

    def merges(self, one: str, other: str) -> Commands:
        yield link(other, one, LinkType.CAUSES)
        yield merge(one, other, content="all of it")
        more = yield remember("one more")
        yield merge(more.memory_id, one)

    def supersedes(self, one: str, other: str) -> Commands:
        yield replace(remember("new"), supersede_ids=(one,))
        yield replace(remember("newer"), supersede_ids=(other,))

    def typed_keys(self, _one: str, _other: str) -> Commands:
        for colour in ("blue", "grey", "red"):
            yield remember(f"colour is {colour}", key=KEY)

    def settings(self, _one: str, _other: str) -> Commands:
        yield change(("description", "one"), ("decay.floor", 0.25))
        yield change(("guard.tokenizer", "whitespace"))
        yield change(("description", "two"))

    def links(self, one: str, other: str) -> Commands:
        yield link(one, other)
        yield link(one, other, confidence=0.75)
        yield unlink(one, other)
        yield link(other, one)

    def episodes(self, one: str, other: str) -> Commands:
        for _ in range(2):
            made = yield episode("a day", one, other)
            yield DeleteEpisode("anna", made.episode.id)

    def dismissals(self, one: str, other: str) -> Commands:
        yield dismiss(one, other)
        yield undismiss(one, other)
        yield dismiss(other, one, reason="again")

    def doubles(self, one: str, _other: str) -> Commands:
        yield remember("the sea is deep", force=True)
        yield forget(one)
        yield remember("the sea is deep", force=True)


class TestStack:
    @pytest.mark.parametrize("name", [name for name in vars(Stack) if not name.startswith("_")])
    def test_operations_are_undone_to_the_beginning_and_redone(
        self, store: Store, name: str
    ) -> None:
        commands = getattr(Stack(), name)(store.save("the sea is deep"), store.save("apples"))
        first = store.revision + 1
        seen, result = [contents(store)], None
        with suppress(StopIteration):
            while True:
                result = store.do(commands.send(result))
                seen.append(contents(store))
        last = store.revision
        assert last - first + 2 == len(seen) > 2
        does = {revision: revision for revision in range(first, last + 1)}
        for _ in range(2):
            takes = {}
            for revision in range(last, first - 1, -1):
                answer = store.do(undo(does[revision]))
                assert (answer.undone, answer.conflicts) == (True, ())
                takes[revision] = store.revision
                self.is_as(store, seen[revision - first])
            for revision in range(first, last + 1):
                assert store.do(undo(takes[revision])).undone
                does[revision] = store.revision
                self.is_as(store, seen[revision - first + 1])

    @staticmethod
    def is_as(store: Store, then: dict[str, Any]) -> None:
        now = contents(store)
        later = now["memories"].keys() - then["memories"].keys()
        assert {now["memories"].pop(item).status for item in later} <= {Status.FORGOTTEN}
        assert now == then

    def test_any_undo_of_the_same_says_what_to_undo_next(self, store: Store) -> None:
        saved = store.save("the sea is deep")
        made = store.revision
        for tag in "abc":
            store.do(update(saved, tags=(tag,)))
        store.do(undo(made + 3))
        # Follows what stands in the way until the first is undone.
        target, asked = made, []
        while store.one(saved).status is Status.ACTIVE:
            try:
                store.do(undo(target))
                target = made
            except errors.UndoRefused:
                (conflict,) = conflicts(store, target)
                assert conflict.kind is ConflictKind.CHANGED
                target = conflict.revision
                asked.append(target)
        assert asked == [made + 2, made + 1]


# -- Whose change it is


class TestOthers:
    def test_equal_change_of_another_is_not_taken_back_with_mine(self, store: Store) -> None:
        saved, other = store.save("the sea is deep"), store.save("apples are red")
        store.do(update(saved, tags=("x",)))
        mine = store.revision
        store.do(update(saved, agent="ben", tags=("y",)))
        store.do(update(saved, agent="ben", tags=("x",)))
        store.do(link(saved, other))
        linked = store.revision
        store.do(unlink(saved, other, agent="ben"))
        store.do(link(saved, other, agent="ben"))
        expected = UndoConflict(ConflictKind.CHANGED, saved, revision=mine + 2)
        assert conflicts(store, mine) == (expected,)
        assert conflicts(store, mine, force=True, partial=True) == (expected,)
        (conflict,) = conflicts(store, linked)
        assert (conflict.kind, conflict.revision) == (ConflictKind.CHANGED, linked + 2)
        # Once the other's are undone, mine can be.
        for revision in (linked + 2, linked + 1, linked, mine + 2, mine + 1, mine):
            assert store.do(undo(revision)).undone
        assert store.one(saved).fields.tags == ()

    def test_alternating_changes_of_two_agents_are_undone_in_turn(self, store: Store) -> None:
        saved, other = store.save("the sea is deep"), store.save("apples are red")
        before, first = contents(store), store.revision + 1
        for at in range(6):
            agent = ("anna", "ben")[at % 2]
            command = update(saved, agent=agent, importance=at % 5 + 1)
            store.apply(command, update(other, agent=agent, tags=(str(at),)))
        for revision in range(first + 5, first - 1, -1):
            for older in range(first, revision):
                assert {conflict.kind for conflict in conflicts(store, older)} == {
                    ConflictKind.CHANGED
                }
            store.do(undo(revision, agent=("ben", "anna")[revision % 2]))
        assert contents(store) == before

    def test_what_an_undo_left_alone_is_undone_by_another(self, store: Store) -> None:
        one, two = store.save("first"), store.save("second")
        store.apply(update(one, tags=("x",)), update(two, tags=("x",)))
        both = store.revision
        store.do(update(one, tags=("y",)))
        assert len(store.do(undo(both, partial=True)).memories) == 1
        store.do(undo(both + 1))
        # `two` is undone already, which keeps nobody from undoing the rest.
        answer = store.do(undo(both))
        assert ([each.id for each in answer.memories], answer.conflicts) == ([one], ())
        assert store.one(one).fields.tags == store.one(two).fields.tags == ()
        # Each Undo is undone for what it took back itself.
        store.do(undo(store.revision))
        assert (store.one(one).fields.tags, store.one(two).fields.tags) == (("x",), ())
        store.do(undo(both + 2))
        assert store.one(two).fields.tags == ("x",)

    def test_what_was_hidden_from_the_one_who_undid_is_undone_by_its_owner(
        self, store: Store
    ) -> None:
        secret, known = store.save("a secret", private=True), store.save("known to all")
        before = contents(store)
        store.do(forget(secret, known))
        gone = store.revision
        store.do(undo(gone, agent="ben"))
        assert [memory.id for memory in store.do(undo(gone)).memories] == [secret]
        assert contents(store) == before

    def test_undo_beside_other_commands_is_a_change_like_any(self, store: Store) -> None:
        saved = store.save("the sea is deep")
        store.do(update(saved, tags=("x",)))
        changed = store.revision
        store.apply(undo(changed), update(saved, importance=5))
        (conflict,) = conflicts(store, changed)
        assert (conflict.kind, conflict.revision) == (ConflictKind.CHANGED, changed + 1)
        store.do(undo(changed + 1))
        assert store.do(undo(changed)).undone
        assert store.one(saved).fields == Fields()


# -- Nothing to do


class TestNothingToDo:
    def test_undone_already_names_the_undo(self, store: Store) -> None:
        saved = store.save("the sea is deep")
        store.do(forget(saved))
        gone = store.revision
        store.do(undo(gone))
        expected = UndoConflict(ConflictKind.UNDONE_ALREADY, saved, revision=gone + 1)
        assert conflicts(store, gone) == (expected,)
        assert conflicts(store, gone, partial=True) == (expected,)
        with pytest.raises(errors.UndoRefused, match=f"undone already by revision {gone + 1}$"):
            store.do(undo(gone))
        store.do(update(saved, tags=("x",)))
        assert conflicts(store, gone) == (expected,), "whatever came later"
        store.do(undo(store.revision))
        store.do(undo(gone + 1))
        done_again = store.revision
        assert conflicts(store, gone + 1) == (replace(expected, revision=done_again),)
        assert store.do(undo(gone)).undone, "it is done again, and so can be undone again"
        assert conflicts(store, done_again) == (replace(expected, revision=done_again + 1),)

    def test_undo_of_an_undo_waits_for_what_was_undone_before_it(self, store: Store) -> None:
        saved = store.save("the sea is deep")
        made = store.revision
        store.do(update(saved, tags=("x",)))
        store.do(undo(made + 1))
        store.do(undo(made))
        # The change would be one of a memory that is not there.
        expected = UndoConflict(ConflictKind.CHANGED, saved, revision=made + 3)
        assert conflicts(store, made + 2) == (expected,)
        store.do(undo(made + 3))
        store.do(undo(made + 2))
        assert store.one(saved).fields.tags == ("x",)

    def test_link_and_dismissal_whose_other_end_was_purged_say_so(self, store: Store) -> None:
        one, other = store.save("the sea is deep"), store.save("apples are red")
        store.do(link(one, other))
        store.do(dismiss(one, other))
        store.do(unlink(one, other))
        last = store.revision
        store.do(Purge("anna", (other,)))
        expected = UndoConflict(
            ConflictKind.NOTHING_LEFT, one, target_id=other, revision=store.revision
        )
        for revision in (last, last - 1, last - 2):
            assert conflicts(store, revision) == (expected,)
            answer = store.do(undo(revision))
            assert (answer.undone, answer.conflicts) == (False, (expected,))

    def test_operation_that_left_nothing_says_so(self, store: Store) -> None:
        one, other = store.save("the sea is deep"), store.save("apples are red")
        store.apply(link(one, other), unlink(one, other))
        expected = UndoConflict(ConflictKind.NOTHING_LEFT)
        assert conflicts(store, store.revision) == (expected,)
        store.do(link(one, other))
        assert conflicts(store, store.revision - 1) == (expected,)


# -- What no Undo takes back


def test_row_that_a_purge_changed_since_says_so(store: Store) -> None:
    one, two, three = (store.save(text) for text in ("first", "second", "third"))
    store.do(merge(two, one))
    merged = store.revision
    store.do(merge(three, two))
    # The chain leads around what is purged, from its start.
    store.do(undo(store.revision))
    store.do(replace(remember("fourth"), supersede_ids=(two,)))
    store.do(Purge("anna", (two,)))
    found = {(each.kind, each.memory_id, each.revision) for each in conflicts(store, merged)}
    assert found == {
        (ConflictKind.CHANGED_FOR_GOOD, one, store.revision),
        (ConflictKind.PURGED, two, store.revision),
    }


# -- Beside others


def test_tidy_that_named_a_cluster_is_undone_beside_a_double(store: Store) -> None:
    saved = store.save("the sea is deep")
    payload = {"p": 1}
    store.do(update(saved, payload=payload))
    store.do(update(saved, payload={**payload, "_tidy": {"cluster": "1-1"}}))
    named = store.revision
    store.save("the sea is deep", payload=payload, force=True)
    assert store.do(undo(named)).undone
    assert store.one(saved).fields.payload == payload


def test_key_that_two_held_before_keeps_none_from_coming_back(store: Store) -> None:
    secret = store.save("blue", key=KEY, private=True)
    public = store.save("grey", agent="ben", key=KEY)
    assert store.one(secret).status is Status.ACTIVE
    store.do(forget(public, agent="ben"))
    assert store.do(undo(store.revision)).undone
    assert {store.one(memory_id).status for memory_id in (secret, public)} == {Status.ACTIVE}


def test_double_that_was_changed_and_is_as_before_stood_beside(store: Store) -> None:
    saved, other = store.save("the same"), store.save("the same", force=True)
    store.do(forget(saved))
    gone = store.revision
    store.do(update(other, importance=5))
    assert [conflict.kind for conflict in conflicts(store, gone)] == [ConflictKind.DUPLICATE]
    store.do(undo(store.revision))
    assert store.do(undo(gone)).undone


# -- Limits and damage


def test_over_the_limit_of_what_is_read_it_says_changed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = store.save("the sea is deep")
    store.do(update(saved, tags=("x",)))
    changed = store.revision
    store.do(undo(changed))
    for tag in "abc":
        store.do(update(saved, tags=(tag,)))
    assert conflicts(store, changed)[0].kind is ConflictKind.UNDONE_ALREADY
    monkeypatch.setattr(limits, "UNDO_LATER_READ_MAX", 3)
    expected = UndoConflict(ConflictKind.CHANGED, saved, revision=changed + 4)
    assert conflicts(store, changed) == (expected,)
    for revision in range(changed + 4, changed + 1, -1):
        store.do(undo(revision))
    assert [conflict.kind for conflict in conflicts(store, changed)] == [ConflictKind.CHANGED]


def test_undos_of_undos_over_the_limit_are_a_conflict(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = store.save("the sea is deep")
    made = store.revision
    store.do(update(saved, tags=("x",)))
    for _ in range(6):
        store.do(undo(store.revision))
    monkeypatch.setattr(limits, "UNDO_STEPS_MAX", 1)
    assert conflicts(store, made + 1)
    # The last one can always be undone.
    for _ in range(2):
        assert store.do(undo(store.revision)).undone
    monkeypatch.undo()
    assert store.do(undo(made + 1)).undone


def test_undo_down_a_long_history_reads_no_more_than_down_a_short_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    images: list[int] = []
    read = History.images_from

    def counted(self: History, *asked: Any) -> Any:
        found = read(self, *asked)
        images.append(len(found))
        return found

    monkeypatch.setattr(History, "images_from", counted)
    saved = store.save("the sea is deep")
    made, count = store.revision, 60
    for tag in range(count):
        store.do(update(saved, tags=(str(tag),)))
    reads = []
    for revision in range(made + count, made, -1):
        images.clear()
        store.do(undo(revision))
        reads.append(sum(images))
    assert reads[0] == 0, "what is the newest needs no look"
    assert max(reads) == reads[1] <= 8


def test_row_that_its_history_does_not_lead_to_is_corruption(store: Store) -> None:
    saved = store.save("the sea is deep")
    store.do(update(saved, tags=("x",)))
    changed = store.revision
    store.do(update(saved, tags=("y",)))
    store.do(undo(store.revision))
    file = store.file()
    store.close()
    connection = apsw.Connection(str(file))
    found = connection.execute(
        f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE id = ?", (saved,)
    ).fetchone()
    memory: Memory = rows.memory(found)
    other = replace(memory, fields=replace(memory.fields, importance=1))
    Session(connection).write(PUT_MEMORY, rows.memory_row(other))
    connection.close()
    store.engine = store._opened()
    revision = store.revision
    error = store.refused(undo(changed), errors.Corruption)
    assert error.reason == "CORRUPT_ROW"
    assert store.revision == revision


# -- The oracle


@pytest.mark.parametrize("depth", [1, 40])
def test_layers_are_those_of_the_oracle(store: Store, depth: int) -> None:
    """Up and down a stack, and Undos of Undos; each row asked of each operation."""
    saved = store.save("the sea is deep")
    undoes: dict[int, int] = {}
    first = store.revision
    for tag in range(3):
        store.do(update(saved, tags=(str(tag),)))
    for target in [first + 3, first + 2, *[-1] * depth, first + 1]:
        target = store.revision if target < 0 else target
        if store.do(undo(target, partial=True)).undone:
            undoes[store.revision] = target
    last = store.revision
    stacks = stacks_of(range(first, last + 1), undoes)
    memory = store.engine._collections.opened("default").result(wait_s())._state.file.rows
    row = Row("memory", str(store_row(store, saved)), last)
    for target in range(first, last + 1):
        layers = Layers(memory.history, target)
        found = layers.standing(row)
        place, by = standing(stacks, undoes, target)
        assert found.place.name == {"top": "ON_TOP"}.get(place, place.upper())
        assert found.revision == by
        assert layers.as_before(row) == is_as_before(stacks, target)


def store_row(store: Store, memory_id: str) -> int:
    return int(contents(store)["memories"][memory_id].row)
