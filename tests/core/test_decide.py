"""What each command does: Update, Forget, links, settings; and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import (
    EVERY_STATUS,
    NOON,
    Store,
    change,
    forget,
    link,
    opened,
    remember,
    unit,
    unlink,
    update,
    vector_at,
    vector_of,
)
from totonoe_core.base import errors, limits
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.memories import Forget, Forgotten, Update
from totonoe_core.domain.records import (
    Fields,
    Kind,
    Link,
    LinkType,
    Method,
    StateKind,
    Status,
    TimeRange,
)


@pytest.fixture
def store(store: Store) -> Store:
    # Links only where a test makes them.
    store.set(("guard.link_distance_below", 0.0))
    return store


class TestUpdate:
    def test_update_changes_what_the_mask_names_and_nothing_else(self, store: Store) -> None:
        saved = store.save("old text", category="note", tags=("a",), importance=4, session_id="s")
        before = store.one(saved)
        store.clock.advance(1000)
        command = Update(
            "anna",
            saved,
            ("tags", "confidence"),
            Fields(tags=("b", "c"), confidence=0.25, category="ignored", importance=1),
        )
        answer = store.do(command)
        after = store.one(saved)
        assert answer.updated
        assert (after.fields.tags, after.fields.confidence) == (("b", "c"), 0.25)
        assert (after.fields.category, after.fields.importance) == ("note", 4)
        assert (after.content, after.vector, after.created_us) == (
            before.content,
            before.vector,
            before.created_us,
        )
        assert after.updated_us > before.updated_us
        assert after.revision == store.revision == before.revision + 1
        assert answer.guard is None, "no new text, no guard"

    def test_update_mask_can_take_a_value_back(self, store: Store) -> None:
        saved = store.save("text", category="note", tags=("a",), private=True)
        store.do(update(saved, category="", tags=(), private=False))
        fields = store.one(saved, agent="ben").fields
        assert (fields.category, fields.tags, fields.private) == ("", (), False)

    def test_update_of_text_is_found_by_new_words_only(self, store: Store) -> None:
        saved = store.save("green pump")
        store.do(update(saved, content="red valve"))
        assert store.do(remember("green pump")).saved
        assert store.do(remember("red valve")).memory_id == saved

    def test_update_to_text_that_is_there_is_an_outcome(self, store: Store) -> None:
        other, saved = store.save("one text"), store.save("another text")
        before = store.one(saved)
        answer = store.do(update(saved, content="one text", tags=("new",)))
        assert not answer.updated
        assert answer.guard.duplicate.memory_id == other
        assert answer.guard.method is Method.EXACT
        assert store.one(saved) == before, "all or nothing: the tags stay too"
        forced = store.do(update(saved, content="one text", force=True))
        assert forced.updated

    def test_update_with_its_own_text_is_no_duplicate_of_itself(self, store: Store) -> None:
        saved = store.save("the text")
        answer = store.do(update(saved, content="the text", importance=5))
        assert answer.updated
        assert store.one(saved).fields.importance == 5
        again = store.do(update(saved, content="The text.", vector=vector_of("the text")))
        assert again.updated

    def test_update_of_payload_to_that_of_its_twin_is_refused(self, store: Store) -> None:
        first = store.save("speed", payload={"rpm": 1})
        second = store.save("speed", payload={"rpm": 2})
        answer = store.do(update(second, payload={"rpm": 1}))
        assert not answer.updated
        assert answer.guard.duplicate.memory_id == first
        assert store.one(second).fields.payload == {"rpm": 2}

    def test_update_of_vector_alone_passes_the_guard(self, tmp_path: Path) -> None:
        with opened(tmp_path) as store:
            store.set(("guard.preset", "ego"))
            first, second = store.save("first"), store.save("second")
            answer = store.do(update(second, vector=vector_of("first")))
            assert not answer.updated
            assert answer.guard.duplicate.memory_id == first
            moved = store.do(update(second, vector=vector_at(vector_of("first"), 0.5)))
            assert moved.updated

    def test_update_with_stale_revision_changes_nothing(self, store: Store) -> None:
        saved = store.save("text")
        seen = store.one(saved).revision
        store.do(update(saved, importance=1))
        error = store.refused(
            update(saved, importance=2, expected_revision=seen), errors.StaleRevision
        )
        assert error.details == {"name": saved, "expected": str(seen), "actual": str(seen + 1)}
        assert store.one(saved).fields.importance == 1
        store.do(update(saved, importance=2, expected_revision=seen + 1))

    def test_update_of_forgotten_memory_is_not_active(self, store: Store) -> None:
        saved = store.save("text")
        store.do(forget(saved))
        error = store.refused(update(saved, importance=2), errors.Precondition)
        assert error.reason == "NOT_ACTIVE"

    def test_update_of_unknown_or_hidden_memory_is_not_found(self, store: Store) -> None:
        hidden = store.save("mine", private=True)
        store.refused(update("mem_0123456789ab", importance=2), errors.NotFound)
        store.refused(update(hidden, agent="ben", importance=2), errors.NotFound)

    def test_update_by_external_id_reaches_the_memory(self, store: Store) -> None:
        saved = store.save("text", external_id="x1")
        store.do(update("ext:x1", importance=5))
        assert store.one(saved).fields.importance == 5

    def test_update_to_kind_and_state_kind_that_do_not_fit_is_refused(self, store: Store) -> None:
        log = store.save("door opened", kind=Kind.EVENT, state_kind=StateKind.NONE)
        state = store.save("door is open")
        store.refused(update(log, state_kind=StateKind.FACT), errors.InvalidArgument)
        command = Update(
            "anna", state, ("state_kind",), Fields(kind=Kind.EVENT, state_kind=StateKind.NONE)
        )
        store.refused(command, errors.InvalidArgument)

    def test_update_to_validity_that_ends_before_it_began_is_refused(self, store: Store) -> None:
        saved = store.save("text", valid_from_us=NOON)
        error = store.refused(update(saved, valid_to_us=NOON - 1), errors.InvalidArgument)
        assert error.reason == "BAD_TIME"

    def test_update_keeps_links_and_access_figures(self, store: Store) -> None:
        one, two = store.save("one"), store.save("two")
        store.do(link(one, two))
        from totonoe_core.domain.queries import RecallQuery

        store.recall(RecallQuery("anna", "one", k=1))
        count = store.one(one).access_count
        assert count == 1
        store.do(update(one, content="one more"))
        after = store.one(one)
        assert after.access_count == count
        assert [found.target_id for found in after.links] == [two]


class TestExternalId:
    def test_external_id_that_is_taken_is_refused(self, store: Store) -> None:
        first = store.save("one", external_id="x")
        second = store.save("two", external_id="y")
        error = store.refused(remember("three", external_id="x"), errors.AlreadyExists)
        assert error.reason == "EXTERNAL_ID_EXISTS"
        store.refused(update(second, external_id="x"), errors.AlreadyExists)
        store.do(update(first, external_id="x"))

    def test_external_id_of_a_forgotten_memory_is_free(self, store: Store) -> None:
        first = store.save("one", external_id="x")
        store.do(forget(first))
        assert store.one("ext:x").id == first, "forgotten, but readable by its id"
        second = store.save("two", external_id="x")
        assert store.one("ext:x").id == second
        store.do(forget("ext:x"))
        assert store.one("ext:x").id == second, "the newest of the forgotten ones"
        third = store.save("three", external_id="x")
        store.reopen()
        assert store.one("ext:x").id == third

    def test_external_id_twice_in_one_operation_saves_neither(self, store: Store) -> None:
        before = store.revision
        with pytest.raises(errors.AlreadyExists):
            store.apply(remember("one", external_id="x"), remember("two", external_id="x"))
        assert store.revision == before
        assert store.list() == []
        assert store.do(remember("one")).saved, "nothing of it is in memory either"


class TestLinks:
    @pytest.mark.parametrize("type_", LinkType)
    def test_link_is_held_by_both_ends_with_inverse_types(
        self, store: Store, type_: LinkType
    ) -> None:
        one, two = store.save("one"), store.save("two")
        answer = store.do(link(one, two, type_, confidence=0.25, note="seen together"))
        assert answer.created
        assert store.one(one).links == (Link(two, type_, 0.25, "seen together"),) == (answer.link,)
        inverse = Link(one, type_.inverse, 0.25, "seen together")
        assert store.one(two).links == (inverse,) == (answer.inverse,)
        assert type_.inverse.inverse is type_
        store.reopen()
        assert store.one(two).links == (inverse,)

    def test_link_again_changes_it_from_either_end(self, store: Store) -> None:
        one, two = store.save("one"), store.save("two")
        store.do(link(one, two, LinkType.CAUSES, confidence=0.25))
        answer = store.do(link(two, one, LinkType.CAUSED_BY, confidence=0.75, note="sure"))
        assert not answer.created
        assert store.one(one).links == (Link(two, LinkType.CAUSES, 0.75, "sure"),)
        assert store.stats().link_count == 1
        again = store.do(link(one, two, LinkType.CAUSES, confidence=0.5))
        assert (again.link.note, again.inverse.note) == ("sure", "sure"), "without a note it stays"

    def test_link_of_another_type_stands_beside_the_first(self, store: Store) -> None:
        one, two = store.save("one"), store.save("two")
        store.do(link(one, two, LinkType.CAUSES, confidence=0.25))
        store.do(link(one, two, LinkType.REFINES, confidence=0.5))
        assert [found.type for found in store.one(one).links] == [LinkType.REFINES, LinkType.CAUSES]

    def test_link_to_itself_is_refused(self, store: Store) -> None:
        one = store.save("one", external_id="x")
        for target in (one, "ext:x"):
            error = store.refused(link(one, target), errors.InvalidArgument)
            assert error.reason == "SELF_LINK"

    def test_link_to_forgotten_unknown_or_hidden_is_refused(self, store: Store) -> None:
        one, gone, hidden = store.save("1"), store.save("2"), store.save("3", private=True)
        store.do(forget(gone))
        store.refused(link(one, gone), errors.Precondition)
        store.refused(link(one, "mem_0123456789ab"), errors.NotFound)
        store.refused(link(one, hidden, agent="ben"), errors.NotFound)

    def test_link_beyond_the_limit_is_refused_at_either_end(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "LINKS_PER_MEMORY_MAX", 3)
        hub, *others = (store.save(f"text {number}") for number in range(5))
        store.apply(*(link(hub, other) for other in others[:3]))
        for command in (link(hub, others[3]), link(others[3], hub)):
            error = store.refused(command, errors.InvalidArgument)
            assert error.reason == "LIMIT_EXCEEDED"
        changed = store.do(link(hub, others[0], confidence=1.0))
        assert not changed.created, "one that is there may still be changed"

    def test_unlink_takes_one_type_or_all(self, store: Store) -> None:
        one, two, three = store.save("one"), store.save("two"), store.save("three")
        for type_ in (LinkType.CAUSES, LinkType.REFINES, LinkType.RELATED):
            store.do(link(one, two, type_))
        store.do(link(one, three))
        removed = store.do(unlink(two, one, LinkType.CAUSED_BY)).removed
        assert [found.type for found in removed] == [LinkType.CAUSED_BY]
        assert {found.type for found in store.one(one).links} == {
            LinkType.REFINES,
            LinkType.RELATED,
        }
        store.do(unlink(one, two))
        assert store.one(two).links == ()
        assert [found.target_id for found in store.one(one).links] == [three]
        error = store.refused(unlink(one, two), errors.NotFound)
        assert error.reason == "LINK_NOT_FOUND"

    def test_automatic_links_join_the_five_nearest_both_ways(self, tmp_path: Path) -> None:
        base = vector_of("base")
        cosines = (0.71, 0.9, 0.75, 0.69, 0.85, 0.8, 0.72)
        with opened(tmp_path) as store:
            saved = [
                store.save(
                    f"text {at}", vector=vector_at(base, cosine, at), kind=kind, state_kind=sk
                )
                for at, (cosine, kind, sk) in enumerate(
                    zip(
                        cosines,
                        [Kind.STATE, Kind.EVENT, *[Kind.STATE] * 5],
                        [StateKind.FACT, StateKind.NONE, *[StateKind.TASK] * 5],
                        strict=True,
                    )
                )
            ]
            new = store.do(remember("new", vector=base))
            expected = [saved[at] for at in (1, 4, 5, 2, 6)]
            assert [found.target_id for found in new.links] == expected
            assert store.one(new.memory_id).links == new.links
            for found in new.links:
                back = {link.target_id: link for link in store.one(found.target_id).links}
                assert back[new.memory_id] == Link(
                    new.memory_id, LinkType.RELATED, found.confidence
                )
            assert new.memory_id not in {link.target_id for link in store.one(saved[0]).links}

    def test_automatic_links_leave_a_full_hub_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "AUTO_LINKS_PER_MEMORY_MAX", 3)
        base = vector_of("base")
        with opened(tmp_path) as store:
            hub = store.save("hub", vector=base)
            for number in range(6):
                store.save(f"text {number}", vector=vector_at(base, 0.8, number), force=True)
            assert len(store.one(hub).links) == 3
            store.do(link(hub, store.save("named", vector=-base)))


class TestForget:
    def test_forget_hides_unlinks_both_sides_and_shows_what_was(self, store: Store) -> None:
        one, two, three = store.save("one"), store.save("two"), store.save("three")
        store.do(link(one, two, LinkType.CAUSES))
        store.do(link(one, three))
        store.do(link(two, three))
        before = store.one(one)
        answer = store.do(forget(one, reason="wrong"))
        assert [memory.id for memory in answer.memories] == [one]
        assert answer.memories[0].links == before.links
        assert answer.memories[0].status is Status.ACTIVE, "as it was before"
        assert answer.unlinked_count == 2
        assert store.one(one).status is Status.FORGOTTEN
        assert store.one(one).links == ()
        assert [found.target_id for found in store.one(two).links] == [three]
        assert [found.target_id for found in store.one(three).links] == [two]
        assert store.do(remember("one")).saved, "the guard does not see it"
        assert one not in {memory.id for memory in store.list(where=Filter())}

    def test_forget_preview_says_what_apply_does(self, store: Store) -> None:
        ids = [store.save(f"text {number}") for number in range(4)]
        store.do(link(ids[0], ids[1]))
        store.do(link(ids[1], ids[2], LinkType.UPDATES))
        store.do(link(ids[0], ids[3], LinkType.CAUSES))
        store.do(forget(ids[2]))
        command = Forget("anna", (*ids, "mem_0123456789ab", ids[0]))
        revision, preview = store.preview(command)
        assert revision == store.revision
        assert [store.one(memory_id).status for memory_id in ids[:2]] == [Status.ACTIVE] * 2
        answer: Forgotten = store.do(command)
        assert preview == answer
        assert [memory.id for memory in answer.memories] == [ids[0], ids[1], ids[3]]
        assert answer.missing_ids == (ids[2], "mem_0123456789ab")
        assert answer.unlinked_count == 2

    def test_forget_of_one_unknown_id_is_not_found(self, store: Store) -> None:
        gone = store.save("text")
        store.do(forget(gone))
        for memory_id in ("mem_0123456789ab", "ext:nothing", gone):
            error = store.refused(forget(memory_id), errors.NotFound)
            assert error.reason == "MEMORY_NOT_FOUND"
            with pytest.raises(errors.NotFound):
                command = forget(memory_id)
                store.preview(command)

    def test_forget_of_several_unknown_ids_lists_them_and_is_no_operation(
        self, store: Store
    ) -> None:
        before = store.revision
        answer = store.apply(forget("mem_0123456789ab", "mem_0123456789ac"))
        assert answer.results[0].missing_ids == ("mem_0123456789ab", "mem_0123456789ac")
        assert answer.revision == store.revision == before

    def test_forget_of_a_hidden_memory_by_another_agent_finds_nothing(self, store: Store) -> None:
        hidden = store.save("mine", private=True)
        store.refused(forget(hidden, agent="ben"), errors.NotFound)
        assert store.one(hidden).status is Status.ACTIVE

    def test_forget_then_reopen_stays_forgotten(self, store: Store) -> None:
        saved = store.save("text")
        store.do(forget(saved))
        store.reopen()
        assert store.one(saved).status is Status.FORGOTTEN
        assert store.do(remember("text")).saved


class TestOneOperation:
    def test_commands_of_an_operation_see_those_before_them(self, store: Store) -> None:
        before = store.revision
        answer = store.apply(
            remember("text", external_id="x"),
            remember("text"),
            update("ext:x", importance=5),
            forget("ext:x"),
            remember("text"),
        )
        first, second, third, fourth, fifth = answer.results
        assert first.saved
        assert (second.saved, second.memory_id) == (False, first.memory_id)
        assert third.memory.fields.importance == 5
        assert [memory.id for memory in fourth.memories] == [first.memory_id]
        assert fifth.saved
        assert answer.revision == store.revision == before + 1

    def test_operation_that_fails_in_the_end_leaves_nothing(self, store: Store) -> None:
        one, two = store.save("one"), store.save("two")
        before, rows = store.revision, store.list()
        with pytest.raises(errors.NotFound):
            store.apply(
                remember("three"),
                update(one, content="four"),
                link(one, two),
                forget(two),
                change(("guard.preset", "robotmem")),
                update("mem_0123456789ab", importance=1),
            )
        assert store.revision == before
        assert store.list() == rows
        info = store.info()
        assert info.guard.preset.value == "standard"
        assert store.do(remember("one")).memory_id == one
        for text in ("three", "four"):
            assert store.check(remember(text)).would_save

    def test_images_hold_what_was_before_the_operation(self, store: Store) -> None:
        """A link that one operation makes and changes has no earlier state."""
        import apsw

        one, two = store.save("one"), store.save("two")
        store.apply(link(one, two), link(one, two, confidence=0.75))
        made = store.revision
        store.apply(link(one, two, confidence=1.0), unlink(one, two))
        ended = store.revision
        store.apply(update(one, content="first"), update(one, content="second"))
        changed = store.revision
        store.close()
        rows = apsw.Connection(str(store.file())).execute(
            "SELECT revision, entity, before FROM image WHERE revision >= ?", (made,)
        )
        found: dict[tuple[int, str], list[str]] = {}
        for revision, entity, before in rows:
            found.setdefault((revision, entity), []).append(before)
        assert (made, "link") not in found
        assert found[ended, "link"] == [f'[0.75, "", {made}]'] * 2
        assert len(found[changed, "memory"]) == 1
        assert '"one"' in found[changed, "memory"][0]


class TestSettings:
    def test_settings_change_names_paths_in_order(self, store: Store) -> None:
        answer = store.do(
            change(
                ("guard.preset", "robotmem"),
                ("guard.cosine_at_least", 0.9),
                ("description", "shop floor"),
                ("decay.floor", 0.1),
                ("diversity.enabled", False),
            )
        )
        info = answer.collection
        assert info == store.info()
        assert (info.guard.jaccard_above, info.guard.cosine_at_least) == (0.7, 0.9)
        assert (info.description, info.decay.floor, info.diversity.enabled) == (
            "shop floor",
            0.1,
            False,
        )
        assert info.settings_revision == info.revision == store.revision
        store.do(
            change(
                ("guard.cosine_at_least", None),
                ("guard.similar_above", None),
                ("decay.floor", None),
            )
        )
        info = store.info()
        assert (info.guard.cosine_at_least, info.guard.similar_above) == (None, 0.4)
        assert info.decay.floor == 0.05
        store.reopen()
        assert store.info() == info

    @pytest.mark.parametrize(
        ("path", "value", "reason"),
        [
            ("guard.nothing", 1.0, "BAD_UPDATE_MASK"),
            ("nothing", 1.0, "BAD_UPDATE_MASK"),
            ("", 1.0, "BAD_UPDATE_MASK"),
            ("guard.jaccard_above", 1.5, "OUT_OF_RANGE"),
            ("guard.jaccard_above", float("nan"), "OUT_OF_RANGE"),
            ("decay.rate_per_day", -0.1, "OUT_OF_RANGE"),
            ("diversity.mmr_lambda", 2.0, "OUT_OF_RANGE"),
            ("description", "x" * 2000, "LIMIT_EXCEEDED"),
        ],
    )
    def test_settings_that_make_no_sense_are_refused(
        self, store: Store, path: str, value: Any, reason: str
    ) -> None:
        error = store.refused(change(("description", "new"), (path, value)), errors.InvalidArgument)
        assert error.reason == reason
        assert store.info().description == ""

    def test_settings_with_stale_revision_are_refused(self, store: Store) -> None:
        seen = store.info().settings_revision
        store.set(("description", "one"))
        command = change(("description", "two"), expected_revision=seen)
        store.refused(command, errors.StaleRevision)

    def test_settings_with_another_tokenizer_tokenize_again(self, store: Store) -> None:
        store.set(("guard.jaccard_above", 0.7), ("guard.exact", False))
        saved = store.save("grip_force=12.5N works")
        again = remember("grip force 12.5N works", vector=-vector_of("grip_force=12.5N works"))
        assert store.check(again).guard.method is Method.JACCARD
        updated = store.save("to be updated")
        store.do(update(updated, content="was updated"))
        store.set(("guard.tokenizer", "whitespace"))
        assert store.check(again).would_save
        assert store.check(
            remember("works grip_force=12.5N", vector=-vector_of("x"))
        ).guard.method is (Method.JACCARD)
        assert store.one(updated).content == "was updated"
        assert len(store.list()) == 2
        store.set(("guard.tokenizer", "script_aware"))
        assert store.check(again).guard.duplicate.memory_id == saved

    def test_settings_with_another_tokenizer_keep_access_figures(self, store: Store) -> None:
        from totonoe_core.domain.queries import RecallQuery

        saved = store.save("text")
        store.recall(RecallQuery("anna", "text"))
        store.set(("guard.tokenizer", "whitespace"))
        assert store.one(saved).access_count == 1
        store.reopen()
        assert store.one(saved).access_count == 1


def test_quota_of_memories_is_refused_before_anything_is_embedded(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MEMORIES_PER_COLLECTION_MAX", 2)
    saved = store.save("one")
    store.save("two")
    error = store.refused(remember("three"), errors.Quota)
    assert error.reason == "QUOTA_EXCEEDED"
    store.do(update(saved, content="one more"))


def test_created_time_of_an_import_is_kept(store: Store) -> None:
    saved = store.save("old", created_us=NOON - 10**12, about_time=TimeRange(1, 2))
    memory = store.one(saved)
    assert (memory.created_us, memory.updated_us >= NOON) == (NOON - 10**12, True)
    assert memory.fields.created_us is None
    assert store.list(where=EVERY_STATUS)[0].id == saved


def test_vector_is_stored_with_unit_norm(store: Store) -> None:
    given = np.arange(1, 9, dtype=np.float32) * 1000
    saved = store.save("text", vector=given)
    stored = np.frombuffer(store.one(saved).vector, "<f4")
    np.testing.assert_array_equal(stored, unit(given))
    assert abs(float(np.linalg.norm(stored)) - 1.0) < 1e-6


def test_remember_with_taken_external_id_and_equal_text_is_told_of_the_duplicate(
    store: Store,
) -> None:
    saved = store.save("the pump is hot", external_id="x1")
    answer = store.do(remember("the pump is hot", external_id="x1"))
    assert (answer.saved, answer.memory_id) == (False, saved)
    store.refused(remember("the valve is open", external_id="x1"), errors.AlreadyExists)


def test_update_of_private_to_public_passes_the_guard(store: Store) -> None:
    public = store.save("the pump is hot", agent="ben")
    own = store.save("the pump is hot", agent="anna", private=True, force=True)
    answer = store.do(update(own, agent="anna", private=False))
    assert not answer.updated
    assert answer.guard.duplicate.memory_id == public
    assert store.one(own, agent="anna").fields.private


def test_remember_under_robotmem_tells_similar_words_that_lie_beyond_the_nearest_vectors(
    store: Store,
) -> None:
    store.set(("guard.preset", "robotmem"), ("guard.cosine_at_least", None))
    store.set(("guard.session_cosine_at_least", None), ("guard.link_distance_below", 0.0))
    for number in range(limits.NEIGHBOURS_SCORED_MAX + 4):
        store.save(f"filler{number}", vector=unit([1.0, 2.0 + 0.001 * number, 0, 0, 0, 0, 0, 0]))
    far = store.save("grip force works for cups", vector=unit([0, 0, 0, 0, 0, 0, 0, 1]))
    answer = store.do(remember("grip force works on plates", vector=unit([1, 0, 0, 0, 0, 0, 0, 0])))
    assert far in [memory.memory_id for memory in answer.guard.similar]
