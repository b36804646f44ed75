"""Undo of every kind of operation: what it touched is again what it was, and again, and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import (
    Store,
    change,
    contents,
    dismiss,
    forget,
    link,
    opened,
    remember,
    undismiss,
    undo,
    unlink,
    update,
    vector_at,
    vector_of,
)
from totonoe_core.base import errors
from totonoe_core.domain.graph import CreateEpisode, DeleteEpisode
from totonoe_core.domain.memories import Merge, Remember
from totonoe_core.domain.policy import Action, Tokenizer
from totonoe_core.domain.queries import RecallMode, RecallQuery
from totonoe_core.domain.records import LinkType, Status, TypedKey, Verdict


@pytest.fixture
def store(store: Store) -> Store:
    # Links only where a test makes them.
    store.set(("guard.link_distance_below", 0.0))
    return store


def superseding(content: str, vector: np.ndarray) -> Remember:
    """A Remember that takes the place of whatever it is an update of."""
    return replace(remember(content, vector=vector), actions=((Verdict.UPDATE, Action.SUPERSEDE),))


def found(store: Store, words: str) -> list[str]:
    """Ids that a search by words finds."""
    query = RecallQuery("anna", words, mode=RecallMode.LEXICAL, touch=False)
    return [hit.memory.id for hit in store.recall(query).hits]


class World:
    """Four memories with links, on which every kind of operation is done once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.vector = vector_of("the port of the printer is 8080")
        self.a = store.save(
            "the port of the printer is 8080",
            vector=self.vector,
            tags=("a",),
            attributes={"n": 1.5},
            payload={"p": [1, None]},
            external_id="ext a",
            valid_from_us=5,
        )
        self.b = store.save("apples are red", category="fruit", importance=5)
        self.c = store.save("the sea is deep", private=True)
        self.d = store.save("colour is blue", key=TypedKey("sky", "colour"))
        store.do(link(self.a, self.b, LinkType.CAUSES, note="why", confidence=0.25))
        store.do(link(self.a, self.c))
        store.do(link(self.c, self.b, LinkType.REFINES, confidence=1.0))
        store.do(link(self.d, self.b, LinkType.CONTRADICTS))
        store.do(link(self.a, self.b))
        store.set(("guard.link_distance_below", 0.5))
        self.episode = store.do(CreateEpisode("anna", "a day", (self.a, self.b))).episode.id
        store.do(dismiss(self.a, self.d, reason="not the same"))

    def remember_linked(self) -> None:
        vector = vector_at(self.vector, 0.9)
        self.store.do(remember("a printer stands in the hall", vector=vector))

    def remember_superseding(self) -> None:
        answer = self.store.do(
            superseding("the port of the printer is 8081", vector_at(self.vector, 0.99))
        )
        assert answer.saved
        assert answer.superseded_ids == (self.a,)

    def remember_with_key(self) -> None:
        key = TypedKey("Sky", "colour")
        answer = self.store.do(remember("colour is grey", key=key))
        assert answer.superseded_ids == (self.d,)

    def remember_in_place_of_two(self) -> None:
        named = replace(remember("printers and apples"), supersede_ids=(self.a, self.b))
        self.store.do(named)

    def merge_three(self) -> None:
        content = "the printer, the apples and the sky"
        vector = vector_of(content).tobytes()
        self.store.do(Merge("anna", self.a, (self.b, self.d), content, vector, "one is enough"))

    def update_all(self) -> None:
        named = {"content": "the printer has a port", "tags": ("b",), "external_id": "ext b"}
        self.store.do(update(self.a, **named, valid_to_us=9, payload={}, reason="better"))

    def forget_some(self) -> None:
        self.store.do(forget(self.a, self.b, self.d, reason="old"))

    def link_new(self) -> None:
        self.store.do(link(self.a, self.d, LinkType.UPDATES))

    def link_again(self) -> None:
        self.store.do(link(self.b, self.a, LinkType.CAUSED_BY, note="because", confidence=0.75))

    def unlink_all(self) -> None:
        self.store.do(unlink(self.a, self.b))

    def change_settings(self) -> None:
        self.store.set(
            ("guard.tokenizer", Tokenizer.WHITESPACE.value),
            ("description", "all that matters"),
            ("decay.floor", 0.125),
        )

    def create_episode(self) -> None:
        self.store.do(CreateEpisode("anna", "another day", (self.b, self.c), importance=5))

    def delete_episode(self) -> None:
        self.store.do(DeleteEpisode("anna", self.episode))

    def dismiss_new(self) -> None:
        self.store.do(dismiss(self.b, self.a, reason="fruit"))

    def dismiss_of_another_text(self) -> None:
        self.store.apply(
            update(self.a, content="the port of the scanner is 80"),
            dismiss(self.a, self.d, reason="again"),
        )

    def undismiss(self) -> None:
        self.store.do(undismiss(self.d, self.a))

    def all_at_once(self) -> None:
        """Rows that are touched more than once, and made and forgotten in one operation."""
        self.store.apply(
            update(self.a, content="ports", tags=("x",)),
            update(self.a, external_id=""),
            update(self.b, external_id="ext a"),
            unlink(self.a, self.b),
            undismiss(self.a, self.d),
            dismiss(self.a, self.d, reason="after all"),
            dismiss(self.a, self.b),
            link(self.a, self.b, LinkType.CAUSES, note="again"),
            link(self.a, self.d),
            forget(self.c),
            change(("description", "new")),
            update(self.b, content="apples are green"),
            remember("short", external_id="short"),
            change(("description", "newer")),
            forget("ext:short"),
            forget(self.d),
            CreateEpisode("anna", "an evening", (self.b,)),
            DeleteEpisode("anna", self.episode),
        )


KINDS = [
    name for name, value in vars(World).items() if callable(value) and not name.startswith("_")
]


class TestEveryKind:
    @pytest.mark.parametrize("kind", KINDS)
    def test_undone_and_done_again_and_undone_everything_is_as_it_was(
        self, store: Store, kind: str
    ) -> None:
        world = World(store)
        act: Callable[[], None] = getattr(world, kind)
        before = contents(store)
        act()
        after = contents(store)
        assert after != before
        revision = store.revision
        answer = store.do(undo(revision, reason="a slip"))
        assert answer.undone
        assert (answer.operation.revision, answer.operation.undone_by) == (revision, revision + 1)
        undone = contents(store)
        made = undone["memories"].keys() - before["memories"].keys()
        self.same_but_for_forgotten(undone, before, made)
        assert store.do(undo(revision + 1)).undone
        assert contents(store) == after, "undo of undo"
        assert store.do(undo(revision + 2)).undone
        assert contents(store) == undone, "undo of undo of undo"
        listed, words = store.list(), found(store, "printer port apples")
        store.reopen()
        assert (store.list(), found(store, "printer port apples")) == (listed, words)
        assert store.do(undo(revision + 3)).undone, "after opening again"
        assert contents(store) == after
        stats = store.stats()
        live = [memory for memory in after["memories"].values() if memory.status is Status.ACTIVE]
        assert stats.active_count == len(live)

    @staticmethod
    def same_but_for_forgotten(now: Any, before: Any, made: set[str]) -> None:
        rows = {now["memories"][memory_id].row for memory_id in made}
        for memory_id in made:
            assert now["memories"][memory_id].status is Status.FORGOTTEN
        assert not [key for key in now["links"] if rows & set(key[:2])]
        kept = {key: memory for key, memory in now["memories"].items() if key not in made}
        assert now | {"memories": kept} == before

    def test_preview_says_what_an_undo_does_and_changes_nothing(self, store: Store) -> None:
        world = World(store)
        world.all_at_once()
        revision, before = store.revision, contents(store)
        told, preview = store.preview(undo(revision))
        assert (told, store.revision, contents(store)) == (revision, revision, before)
        done = store.do(undo(revision))
        assert preview.undone
        assert not preview.conflicts
        stamps = {"revision": 0, "updated_us": 0}
        assert [replace(memory, **stamps, links=()) for memory in preview.memories] == [
            replace(memory, **stamps, links=()) for memory in done.memories
        ]
        assert [set(memory.links) for memory in preview.memories] == [
            set(memory.links) for memory in done.memories
        ]
        assert (preview.link_count, preview.episode_ids) == (done.link_count, done.episode_ids)
        assert preview.collection is not None
        assert done.collection is not None
        assert preview.collection.description == done.collection.description == ""
        assert preview.operation == replace(done.operation, undone_by=0)


class TestAnswer:
    def test_answer_tells_operation_memories_and_links(self, store: Store) -> None:
        world = World(store)
        answer = store.apply(forget(world.a, world.b, reason="old"), operation_id="op-1")
        store.clock.advance(1000)
        undone = store.apply(undo("op-1", reason="no"), operation_id="op-2")
        result = undone.results[0]
        assert (undone.revision, undone.operation_id) == (answer.revision + 1, "op-2")
        told = result.operation
        assert (told.operation_id, told.agent_id, told.kind, told.reason) == (
            "op-1",
            "anna",
            "Forget",
            "old",
        )
        assert told.memory_ids == (world.a, world.b)
        assert (told.link_count, told.undoes, told.settings) == (5, 0, False)
        assert result.memories == tuple(
            replace(store.one(memory_id), vector=b"") for memory_id in (world.a, world.b)
        )
        assert (result.link_count, result.episode_ids, result.collection) == (5, (), None)
        assert {link.target_id for link in result.memories[0].links} == {world.b, world.c}

    def test_same_operation_id_gives_the_first_answer_again(self, store: Store) -> None:
        saved = store.save("text")
        store.do(forget(saved))
        first = store.apply(undo(store.revision), operation_id="op-1")
        store.do(update(saved, tags=("new",)))
        again = store.apply(undo(first.revision - 1), operation_id="op-1")
        assert again == replace(first, replayed=True)
        with pytest.raises(errors.AlreadyExists):
            store.apply(undo(first.revision), operation_id="op-1")
        store.reopen()
        assert store.apply(undo(first.revision - 1), operation_id="op-1") == again

    def test_access_figures_are_not_taken_back(self, store: Store) -> None:
        saved = store.save("the sea is deep")
        store.do(update(saved, content="the sea is blue"))
        store.recall(RecallQuery("anna", "sea", mode=RecallMode.LEXICAL))
        store.do(undo(store.revision))
        assert store.one(saved).access_count == 1
        assert found(store, "deep") == [saved]
        assert found(store, "blue") == []


class TestWhatGoes:
    def test_memory_that_goes_loses_the_links_that_it_got_since(self, store: Store) -> None:
        saved, other = store.save("text"), store.save("other")
        made = store.revision - 1
        store.do(link(saved, other, LinkType.CAUSES))
        answer = store.do(undo(made))
        assert answer.link_count == 1
        assert store.one(other).links == ()
        assert store.one(saved).status is Status.FORGOTTEN
        store.do(undo(store.revision))
        assert [item.target_id for item in store.one(other).links] == [saved]

    def test_memory_that_is_forgotten_again_loses_the_links_that_it_got_since(
        self, store: Store
    ) -> None:
        saved, other = store.save("text"), store.save("other")
        store.do(forget(saved))
        store.do(undo(store.revision))
        store.do(link(saved, other))
        store.do(undo(store.revision - 1))
        assert store.one(saved).status is Status.FORGOTTEN
        assert store.one(other).links == ()

    def test_first_memory_of_a_collection_without_a_dimension_can_be_taken_back(
        self, tmp_path: Path
    ) -> None:
        with opened(tmp_path, client_vector_dimension=0) as store:
            store.set(("description", "before"))
            saved = store.save("text")
            store.do(undo(2))
            assert store.one(saved).status is Status.FORGOTTEN
            store.do(undo(3))
            assert store.one(saved).status is Status.ACTIVE
            # The image of the settings knew no dimension.
            answer = store.do(undo(1))
            assert (answer.collection.description, answer.collection.model.dimension) == ("", 8)
            store.reopen()
            assert store.save("more")
            assert store.one(saved).content == "text"


class TestWhatTookItsPlace:
    def test_hidden_memory_points_again_to_what_took_its_place(self, store: Store) -> None:
        secret = store.save("a secret", private=True)
        told = store.do(replace(remember("told"), supersede_ids=(secret,))).memory_id
        keep = store.save("the public one")
        before = contents(store)
        store.do(Merge("anna", keep, (told,)))
        assert store.one(secret).superseded_by == keep
        answer = store.do(undo(store.revision, agent="bob"))
        assert {memory.id for memory in answer.memories} == {keep, told}
        assert contents(store) == before


class TestTarget:
    def test_unknown_operation_is_not_found(self, store: Store) -> None:
        for target in (99, store.revision + 1, "nothing"):
            error = store.refused(undo(target), errors.NotFound)
            assert error.reason == "OPERATION_NOT_FOUND"

    def test_neither_or_both_names_are_refused(self, store: Store) -> None:
        for command in (undo(0), undo(""), undo(1, operation_id="x")):
            with pytest.raises(errors.InvalidArgument):
                store.do(command)

    def test_of_several_with_one_id_the_callers_own_is_meant(self, store: Store) -> None:
        saved = {}
        for agent in ("anna", "bob"):
            command = remember(f"{agent} has a text", agent=agent)
            answer = store.apply(command, operation_id="op")
            saved[agent] = answer.results[0].memory_id
        assert store.do(undo("op", agent="bob")).operation.agent_id == "bob"
        assert store.one(saved["bob"]).status is Status.FORGOTTEN
        error = store.refused(undo("op", agent="carol"), errors.InvalidArgument)
        assert error.details["field"] == "target_revision"
        assert store.one(saved["anna"]).status is Status.ACTIVE

    def test_the_only_one_of_an_id_is_meant_whoever_made_it(self, store: Store) -> None:
        answer = store.apply(remember("text"), operation_id="op")
        assert store.do(undo("op", agent="bob")).operation.revision == answer.revision


def test_own_only_refuses_another_agents_operation(store: Store) -> None:
    saved = store.save("Anna likes tea.", agent="anna")
    store.do(forget(saved, agent="ben"))
    revision = store.revision
    error = store.refused(undo(revision, own_only=True), errors.NotOwner)
    assert (error.reason, store.revision) == ("NOT_OWNER", revision)
    assert store.do(undo(revision, agent="ben", own_only=True)).undone
    assert store.do(undo(revision + 1)).undone
