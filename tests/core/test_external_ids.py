"""External ids: unique among what one agent may see, and silent about what is hidden."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.engines import Store, forget, opened, remember, undo, update, vector_of
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import AsOf, GetQuery
from totonoe_core.domain.records import Fields, Memory, StateKind, Status
from totonoe_core.domain.transfer import ImportRows
from totonoe_core.domain.undo import ConflictKind
from totonoe_core.store import rows


def named(store: Store, agent: str, as_of: int | None = None) -> str:
    """Content of the memory that `ext:x` names for an agent; empty: it names none."""
    moment = None if as_of is None else AsOf(as_of)
    asked = store.engine.read(store.collection, GetQuery(agent, ("ext:x",), as_of=moment))
    try:
        (found,) = asked.result(wait_s()).memories
    except (errors.NotFound, errors.NotYet):
        return ""
    return found.content


def private(store: Store, content: str, agent: str) -> str:
    return store.save(content, agent=agent, external_id="x", private=True)


def taken(store: Store, *commands: Any) -> None:
    """All of them are refused, and nothing is changed."""
    before = store.revision
    for command in commands:
        error = store.refused(command, errors.AlreadyExists)
        assert error.reason == "EXTERNAL_ID_EXISTS"
    assert store.revision == before


def three(store: Store) -> tuple[str, str, str]:
    """A private memory of anna, one of ben, and a public one of cleo, each with the id."""
    anna, ben = private(store, "of anna", "anna"), private(store, "of ben", "ben")
    return anna, ben, store.save("for all", agent="cleo", external_id="x")


def test_key_of_a_private_memory_has_its_agent_and_of_a_public_one_none() -> None:
    both = rows.external_keys("x", "anna")
    assert rows.external_key(Fields(external_id="x"), "anna") == both[1] == "x"
    assert rows.external_key(Fields(external_id="x", private=True), "anna") == both[0]
    assert rows.external_key(Fields(private=True), "anna") == ""
    # However the two flow together.
    keys = {
        rows.external_keys(text, two)[0] for text, two in (("x", "ab"), ("xa", "b"), ("xab", ""))
    }
    assert len(keys) == 3


class TestUnique:
    def test_hidden_memory_does_not_keep_its_id_from_others(self, store: Store) -> None:
        three(store)
        told = [named(store, agent) for agent in ("anna", "ben", "cleo", "dora")]
        assert told == ["of anna", "of ben", "for all", "for all"]
        store.reopen()
        assert [named(store, agent) for agent in ("anna", "ben", "cleo", "dora")] == told

    def test_visible_memory_does(self, store: Store) -> None:
        three(store)
        for agent in ("anna", "ben", "cleo", "dora"):
            for hidden in (False, True):
                text = remember("another", agent=agent, external_id="x", private=hidden)
                taken(store, text)

    def test_own_private_memory_keeps_it_from_an_own_public_one(self, store: Store) -> None:
        private(store, "of anna", "anna")
        taken(store, remember("another", external_id="x"))

    def test_superseded_memory_keeps_it_for_its_own_agent(self, store: Store) -> None:
        old = private(store, "the port is 8080", "anna")
        new = replace(remember("the port is 9090", private=True), supersede_ids=(old,))
        assert store.do(new).superseded_ids == (old,)
        taken(store, remember("another", external_id="x", private=True))
        assert store.save("another", agent="ben", external_id="x")

    def test_forgotten_memory_gives_it_free(self, store: Store) -> None:
        old = private(store, "of anna", "anna")
        store.do(forget(old))
        assert named(store, "anna") == "of anna"
        assert named(store, "ben") == ""
        private(store, "once more", "anna")
        assert named(store, "anna") == "once more"
        store.do(forget("ext:x"))
        store.save("for all", agent="ben", external_id="x")
        assert named(store, "anna") == "for all", "live before forgotten"

    def test_summary_grows_the_memory_as_private_as_itself(self, store: Store) -> None:
        more: Any = {"state_kind": StateKind.SUMMARY, "external_id": "x"}
        own = store.save("anna alone", private=True, **more)
        public = store.save("for all", agent="ben", **more)
        grown = store.do(remember("anna alone, on Monday", private=True, **more))
        assert grown.grown_id == own
        grown = store.do(remember("for all, on Monday", agent="ben", **more))
        assert grown.grown_id == public


class TestUpdate:
    def test_that_makes_a_memory_public_meets_the_public_one(self, store: Store) -> None:
        anna, _, public = three(store)
        taken(store, update(anna, private=False))
        assert store.do(update(anna, private=False, external_id="y")).updated
        assert named(store, "anna") == "for all"
        store.do(update(public, agent="cleo", external_id=""))
        assert store.do(update(anna, external_id="x")).updated
        assert named(store, "dora") == "of anna"
        assert named(store, "ben") == "of ben"

    def test_that_makes_a_memory_private_meets_an_own_private_one(self, store: Store) -> None:
        private(store, "of anna", "anna")
        public = store.save("for all")
        # Ben does not see the private one.
        assert store.do(update(public, agent="ben", external_id="x")).updated
        taken(store, update(public, private=True))

    def test_of_another_agents_memory_says_nothing_of_its_private_ones(self, store: Store) -> None:
        private(store, "of anna", "anna")
        public = store.save("for all")
        taken(store, update(public, external_id="x"))
        assert store.do(update(public, agent="ben", external_id="x")).updated
        assert named(store, "ben") == "for all"
        assert named(store, "anna") == "of anna"

    def test_of_something_else_does_not_ask_for_the_id(self, store: Store) -> None:
        anna, _, public = three(store)
        assert store.do(update(anna, importance=5, external_id="x")).updated
        assert store.do(update(public, agent="cleo", tags=("a",))).updated


class TestUndo:
    def test_private_memory_comes_back_beside_a_public_one(self, store: Store) -> None:
        anna, _, _ = three(store)
        forgot = store.revision + 1
        store.do(forget(anna))
        assert named(store, "anna") == "for all"
        assert store.do(undo(forgot)).undone
        assert named(store, "anna") == "of anna"

    def test_private_memory_meets_a_private_one_of_its_agent(self, store: Store) -> None:
        old = private(store, "of anna", "anna")
        store.do(forget(old))
        private(store, "of ben", "ben")
        private(store, "once more", "anna")
        with pytest.raises(errors.UndoRefused):
            store.do(undo(2))
        (conflict,) = store.do(undo(2, partial=True)).conflicts
        assert (conflict.kind, conflict.memory_id) == (ConflictKind.EXTERNAL_ID_TAKEN, old)

    @pytest.mark.parametrize("hidden", [False, True], ids=["hidden to all", "forgotten"])
    def test_memory_that_is_to_be_public_again_meets_the_public_one(
        self, store: Store, hidden: bool
    ) -> None:
        old = store.save("of anna", external_id="x")
        store.do(update(old, private=True) if hidden else forget(old))
        if hidden:
            taken(store, remember("mine", external_id="x"))
        store.save("for all", agent="ben", external_id="x")
        with pytest.raises(errors.UndoRefused):
            store.do(undo(2))
        preview = store.preview(undo(2))[1]
        assert [conflict.kind for conflict in preview.conflicts] == [ConflictKind.EXTERNAL_ID_TAKEN]
        store.do(forget("ext:x", agent="ben"))
        assert store.do(undo(2)).undone
        assert named(store, "ben") == "of anna"

    def test_memory_that_was_made_public_is_private_again(self, store: Store) -> None:
        old = private(store, "of anna", "anna")
        store.do(update(old, private=False))
        assert named(store, "ben") == "of anna"
        assert store.do(undo(2)).undone
        assert named(store, "ben") == ""
        store.save("for all", agent="ben", external_id="x")

    def test_id_goes_round_between_a_private_and_a_public_memory(self, store: Store) -> None:
        two = private(store, "second", "anna")
        one = store.save("first")
        store.do(update(one, agent="ben", external_id="x"))
        store.apply(update(two, external_id="z"), update(one, private=True))
        assert (named(store, "anna"), named(store, "ben")) == ("first", "")
        assert store.do(undo(store.revision)).undone
        assert (named(store, "anna"), named(store, "ben")) == ("second", "first")


class TestPast:
    def test_each_agent_finds_what_it_saw_then(self, store: Store) -> None:
        anna, ben, public = three(store)
        store.do(update(anna, external_id="y"))
        store.do(update(ben, agent="ben", private=False, external_id="z"))
        store.do(update(public, agent="cleo", external_id="w"))
        told = {
            agent: [named(store, agent, at) for at in range(1, store.revision + 1)]
            for agent in ("anna", "ben", "dora")
        }
        assert told["anna"] == ["of anna", "of anna", "of anna", "for all", "for all", ""]
        assert told["ben"] == ["", "of ben", "of ben", "of ben", "for all", ""]
        assert told["dora"] == ["", "", "for all", "for all", "for all", ""]


def as_is(memories: list[Memory], digest: str, *, first: bool) -> ImportRows:
    vectors = [vector_of(memory.content).tobytes() for memory in memories]
    records = [
        replace(memory, vector=vector) for memory, vector in zip(memories, vectors, strict=True)
    ]
    return ImportRows("cleo", digest, first, records=tuple(enumerate(records, 2)))


def test_import_as_it_is_keeps_a_private_memory_beside_a_public_one(
    store: Store, tmp_path: Path
) -> None:
    three(store)
    exported = store.list("anna")
    assert sorted(memory.content for memory in exported) == ["for all", "of anna"]
    with opened(tmp_path / "other") as other:
        other.do(as_is(exported, "all", first=True))
        assert (named(other, "anna"), named(other, "ben")) == ("of anna", "for all")
        for at, memory in enumerate(exported):
            again = replace(memory, id=f"mem_{at:016x}")
            with pytest.raises(errors.BadImport) as caught:
                other.do(as_is([again], again.id, first=False))
            assert caught.value.details["field"] == "external_id"


def test_purge_leaves_no_byte_of_the_id(store: Store, tmp_path: Path) -> None:
    secret = store.save("of anna", external_id="zanzibar-x", private=True)
    store.do(update(secret, importance=5))
    store.do(update(secret, private=False))
    store.do(update(secret, private=True))
    store.do(Purge("anna", (secret,)))
    store.close()
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"zanzibar" not in path.read_bytes(), path


def test_bad_row_of_a_private_memory_is_known_to_its_agent_alone(store: Store) -> None:
    secret = private(store, "of anna", "anna")
    assert store.one(secret).status is Status.ACTIVE
    row = store.one(secret).row
    store.alter("UPDATE memory SET crc = crc + 1 WHERE row = ?", (row,))
    store.reopen()
    assert store.save("for all", agent="ben", external_id="x")
    with pytest.raises(errors.Corruption):
        store.do(remember("another", external_id="x"))
    with pytest.raises(errors.Corruption):
        named(store, "anna")
    assert named(store, "ben") == "for all"
