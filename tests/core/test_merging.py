"""Merge, and Remember in the place of others: what changes, what is refused, what is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.engines import (
    InProcessEmbedding,
    Store,
    contents,
    dismiss,
    forget,
    link,
    merge,
    opened,
    remember,
    update,
    vector_at,
    vector_of,
)
from support.judges import ScriptedJudge, service
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.memories import Merged, Remember
from totonoe_core.domain.queries import GetQuery, RecallMode, RecallQuery
from totonoe_core.domain.records import (
    Finding,
    Kind,
    Link,
    LinkType,
    Memory,
    StateKind,
    Status,
    TypedKey,
)
from totonoe_core.judging import Relation
from totonoe_core.store.records import Touched

RELATED, UPDATES, UPDATED_BY = LinkType.RELATED, LinkType.UPDATES, LinkType.UPDATED_BY


@pytest.fixture
def store(store: Store) -> Store:
    # Links only where a test makes them.
    store.set(("guard.link_distance_below", 0.0))
    return store


def refused(store: Store, command: Any, kind: type[errors.TotonoeError]) -> errors.TotonoeError:
    """The error of a command, which must change nothing."""
    before, memories = store.revision, store.list()
    error = store.refused(command, kind)
    assert (store.revision, store.list()) == (before, memories)
    return error


def links_of(store: Store, memory_id: str, agent: str = "anna") -> set[tuple[str, LinkType, float]]:
    """Links of a memory; each must be held by the other end as well."""
    memory = store.one(memory_id, agent)
    for edge in memory.links:
        back = Link(memory.id, edge.type.inverse, edge.confidence, edge.note)
        assert back in store.one(edge.target_id, agent).links
    return {(link.target_id, link.type, link.confidence) for link in memory.links}


def replacing(content: str, *ids: str, **more: Any) -> Remember:
    """A Remember that takes the place of others."""
    return replace(remember(content, **more), supersede_ids=ids)


def state_of(store: Store) -> Any:
    return store.engine._collections.opened("default").result(wait_s())._state


def head(store: Store, memory_id: str, agent: str = "anna") -> str:
    """Id of the memory that stands in the place of one."""
    found = store.read(GetQuery(agent, (memory_id,), follow_superseded=True))
    return found.memories[0].id


def live(store: Store, agent: str = "anna") -> list[str]:
    return [memory.id for memory in store.list(agent, Filter())]


def words(text: str, k: int = 10, agent: str = "anna") -> RecallQuery:
    return RecallQuery(agent_id=agent, text=text, mode=RecallMode.LEXICAL, k=k)


def hits(store: Store, query: RecallQuery) -> list[str]:
    return [hit.memory.id for hit in store.recall(query).hits]


class TestMerge:
    def test_keep_takes_over_and_the_others_are_superseded_in_one_operation(
        self, store: Store
    ) -> None:
        keep = store.save("first", tags=("a",), importance=2, confidence=0.5)
        store.clock.advance(1000)
        one = store.save("second", tags=("b",), importance=5, attributes={"x": 1})
        two = store.save("third", confidence=0.9)
        before = [store.one(memory_id) for memory_id in (keep, one, two)]
        revision = store.revision
        answer: Merged = store.do(merge(keep, one, two, reason="the same"))
        assert answer.merged
        assert store.revision == revision + 1
        kept = store.one(keep)
        assert answer.memory == _without_vector(kept)
        assert answer.sources == tuple(map(_without_vector, before[1:]))
        assert answer.guard is None, "no new text, no guard"
        assert (kept.content, kept.vector, kept.status) == (
            "first",
            before[0].vector,
            Status.ACTIVE,
        )
        assert (kept.fields.tags, kept.fields.importance) == (("a", "b"), 5)
        assert (kept.fields.confidence, kept.fields.attributes) == (0.9, {"x": 1})
        assert kept.created_us == before[0].created_us
        for memory_id, old in zip((one, two), before[1:], strict=True):
            now = store.one(memory_id)
            assert (now.status, now.superseded_by) == (Status.SUPERSEDED, keep)
            assert (now.content, now.fields) == (old.content, old.fields)
        assert {store.one(each).revision for each in (keep, one, two)} == {revision + 1}
        assert live(store) == [keep]

    def test_earliest_creation_is_taken_over(self, store: Store) -> None:
        early = store.save("first")
        store.clock.advance(1000)
        keep = store.save("second")
        created_us = store.one(early).created_us
        assert store.do(merge(keep, early)).memory.created_us == created_us
        assert store.list(where=Filter())[0].created_us == created_us

    def test_new_text_is_found_and_the_old_ones_are_not(self, store: Store) -> None:
        keep, one = store.save("alpha apples"), store.save("beta bananas")
        answer = store.do(merge(keep, one, content="gamma grapes"))
        assert answer.memory.content == "gamma grapes"
        assert answer.guard is not None and answer.guard.duplicate is None
        assert hits(store, words("gamma")) == [keep]
        assert hits(store, words("alpha beta")) == []
        query = RecallQuery(agent_id="anna", vector=vector_of("gamma grapes").tobytes(), k=5)
        (hit,) = store.recall(query).hits
        assert (hit.memory.id, round(hit.cosine_similarity, 5)) == (keep, 1.0)
        store.reopen()
        assert hits(store, words("gamma")) == [keep]
        assert store.one(keep).content == "gamma grapes"

    def test_text_of_a_source_brings_its_vector(self, store: Store) -> None:
        keep, one = store.save("first"), store.save("second")
        answer = store.do(merge(keep, one, content="second", text_only=True))
        assert answer.merged
        assert store.one(keep).vector == store.one(one).vector

    def test_new_text_without_a_vector_has_none_where_no_model_runs(self, store: Store) -> None:
        keep, one = store.save("first"), store.save("second")
        assert store.do(merge(keep, one, content="third", text_only=True)).merged
        assert (store.one(keep).content, store.one(keep).vector) == ("third", b"")
        assert hits(store, words("third")) == [keep]

    def test_vector_of_another_dimension_is_refused(self, store: Store) -> None:
        keep, one = store.save("first"), store.save("second")
        command = merge(keep, one, content="third", vector=vector_of("third", 16))
        assert refused(store, command, errors.InvalidArgument).reason == "DIMENSION_MISMATCH"

    def test_access_figures_are_summed_and_survive(self, store: Store) -> None:
        keep, one, two = store.save("alpha"), store.save("beta"), store.save("gamma")
        recalled = (("alpha", 2), ("beta", 3))
        for text, times in recalled:
            for _ in range(times):
                store.clock.advance(1000)
                assert len(store.recall(words(text)).hits) == 1
        last_us = store.one(one).last_access_us
        answer = store.do(merge(keep, one, two))
        assert [memory.access_count for memory in answer.sources] == [3, 0]
        assert (answer.memory.access_count, answer.memory.last_access_us) == (5, last_us)
        file = state_of(store).file
        row = store.one(keep).row
        assert file.recalls.access()[row] == (last_us, 5), "on disk with the merge"
        store.reopen()
        kept = store.one(keep)
        assert (kept.access_count, kept.last_access_us) == (5, last_us)

    def test_never_recalled_stay_never_recalled(self, store: Store) -> None:
        keep, one = store.save("alpha"), store.save("beta")
        memory = store.do(merge(keep, one)).memory
        assert (memory.access_count, memory.last_access_us) == (0, None)

    def test_refused_second_command_takes_the_merge_back(self, store: Store) -> None:
        keep, one, far = store.save("alpha"), store.save("beta"), store.save("far")
        store.do(link(one, far))
        store.recall(words("beta"))
        before = store.list()
        with pytest.raises(errors.NotFound):
            store.apply(merge(keep, one, content="gamma"), forget("mem_00000000ffff"))
        assert store.list() == before
        assert hits(store, words("gamma")) == []
        store.reopen()
        assert [memory.access_count for memory in store.list()] == [0, 1, 0]

    def test_two_merges_in_one_operation_follow_each_other(self, store: Store) -> None:
        keep, one, two = store.save("alpha"), store.save("beta"), store.save("gamma")
        revision = store.revision
        store.apply(merge(one, two), merge(keep, one))
        assert store.revision == revision + 1
        assert {store.one(each).superseded_by for each in (one, two)} == {keep}
        assert live(store) == [keep]


class TestRefused:
    def test_bad_lists(self, store: Store) -> None:
        keep, one = store.save("first", external_id="x"), store.save("second", external_id="y")
        for command in (
            merge(keep, keep),
            merge(keep, "ext:x"),
            merge(keep, one, keep),
            merge(keep, one, one),
            merge(keep, one, "ext:y"),
        ):
            assert refused(store, command, errors.InvalidArgument).reason == "BAD_MERGE"
        assert refused(store, merge(keep), errors.InvalidArgument).reason == "MISSING_FIELD"
        many = ["mem_0000000000aa"] * (limits.MERGE_IDS_MAX + 1)
        assert refused(store, merge(keep, *many), errors.InvalidArgument).reason == (
            "LIMIT_EXCEEDED"
        )

    def test_unknown_hidden_forgotten_and_superseded(self, store: Store) -> None:
        keep, gone, old = store.save("first"), store.save("second"), store.save("third")
        hidden = store.save("fourth", agent="ben", private=True)
        store.do(forget(gone))
        store.do(merge(keep, old))
        for other in ("mem_00000000ffff", hidden, "ext:nobody"):
            assert refused(store, merge(keep, other), errors.NotFound).reason == "MEMORY_NOT_FOUND"
            assert refused(store, merge(other, keep), errors.NotFound).reason == "MEMORY_NOT_FOUND"
        for other in (gone, old):
            assert refused(store, merge(keep, other), errors.Precondition).reason == "NOT_ACTIVE"
            assert refused(store, merge(other, keep), errors.Precondition).reason == "NOT_ACTIVE"

    def test_what_was_replaced_names_the_end_of_its_chain(self, store: Store) -> None:
        first, second, third = (store.save(text) for text in ("first", "second", "third"))
        other = store.save("fourth")
        store.do(merge(second, first))
        store.do(merge(third, second))
        for command in (merge(other, first), merge(first, other), dismiss(first, other)):
            error = refused(store, command, errors.Precondition)
            assert error.details == {
                "memory_id": first,
                "status": "superseded",
                "superseded_by": third,
            }
            assert error.message == f"memory {first} is superseded by {third}, not active"
        store.do(forget(other))
        assert (
            "superseded_by" not in refused(store, merge(third, other), errors.Precondition).details
        )

    def test_what_was_replaced_names_no_private_memory_of_another(self, store: Store) -> None:
        first, second = (store.save(text, private=True) for text in ("first", "second"))
        store.do(merge(second, first))
        shown = store.save("third", agent="ben")
        late = refused(store, merge(shown, first, agent="ben"), errors.NotFound)
        assert second not in str(late.details)

    @pytest.mark.parametrize("kind", [Kind.EVENT, Kind.AFFECT])
    def test_logs_are_never_merged(self, store: Store, kind: Kind) -> None:
        keep = store.save("first")
        log = store.save("second", kind=kind, state_kind=StateKind.NONE)
        other = store.save("third", kind=kind, state_kind=StateKind.NONE)
        for command in (merge(keep, log), merge(log, keep), merge(log, other)):
            assert refused(store, command, errors.Precondition).reason == "APPEND_ONLY"

    def test_state_kinds_are_not_mixed(self, store: Store) -> None:
        keep, task = store.save("first"), store.save("second", state_kind=StateKind.TASK)
        assert refused(store, merge(keep, task), errors.InvalidArgument).reason == "BAD_MERGE"

    def test_private_ones_are_merged_among_themselves_only(self, store: Store) -> None:
        keep, one = store.save("first"), store.save("second", private=True)
        two = store.save("third", private=True)
        for command in (merge(keep, one), merge(one, keep), merge(one, two, keep)):
            assert refused(store, command, errors.InvalidArgument).reason == "BAD_MERGE"
        assert store.do(merge(one, two)).memory.fields.private
        assert live(store, "ben") == [keep]

    def test_another_agents_public_memory_is_merged_and_stays_its_own(self, store: Store) -> None:
        keep, one = store.save("first", agent="ben"), store.save("second")
        assert store.do(merge(keep, one)).memory.agent_id == "ben"

    def test_second_of_two_agents_is_told_to_read_again(self, store: Store) -> None:
        keep, one = store.save("first"), store.save("second")
        expected = tuple((each, store.one(each).revision) for each in (keep, one))
        assert store.do(merge(keep, one, agent="ben", expected_revisions=expected)).merged
        late = merge(one, keep, expected_revisions=expected)
        assert refused(store, late, errors.StaleRevision).details["name"] == keep
        assert refused(store, merge(keep, one), errors.Precondition).reason == "NOT_ACTIVE"

    def test_of_two_at_once_one_wins(self, store: Store) -> None:
        keep, one = store.save("first"), store.save("second")
        expected = tuple((each, store.one(each).revision) for each in (keep, one))
        futures = [
            store.engine.apply("default", "", [command])
            for command in (
                merge(keep, one, expected_revisions=expected),
                merge(one, keep, agent="ben", expected_revisions=expected),
            )
        ]
        failed = [future.exception(wait_s()) for future in futures]
        assert [type(error) for error in failed] == [type(None), errors.StaleRevision]
        assert live(store) == [keep]

    def test_changed_source_is_told_by_every_name_and_others_pass(self, store: Store) -> None:
        keep, one = store.save("first"), store.save("second", external_id="x")
        third = store.save("third")
        revision = store.one(one).revision
        store.do(update(one, importance=5))
        for named in (one, "ext:x"):
            stale = merge(keep, "ext:x", expected_revisions=((named, revision),))
            assert refused(store, stale, errors.StaleRevision).details["expected"] == str(revision)
        # What is not merged may be expected to stand as well.
        stale = merge(keep, one, expected_revisions=((third, 1),))
        refused(store, stale, errors.StaleRevision)
        fresh = ((keep, store.one(keep).revision), ("ext:x", store.one(one).revision))
        assert store.do(merge(keep, one, expected_revisions=fresh)).merged

    def test_merge_against_forget_the_second_is_told(self, store: Store) -> None:
        keep, one = store.save("first"), store.save("second")
        expected = ((one, store.one(one).revision),)
        store.do(forget(one))
        refused(store, merge(keep, one, expected_revisions=expected), errors.StaleRevision)


class TestGuard:
    def test_text_of_a_third_refuses_and_nothing_changes(self, store: Store) -> None:
        keep, one, third = store.save("first"), store.save("second"), store.save("third")
        revision, before = store.revision, store.list()
        # Equal text is known before any vector is needed.
        answer = store.do(merge(keep, one, content=" third ", text_only=True))
        assert not answer.merged
        assert answer.guard.duplicate.memory_id == third
        assert answer.memory == _without_vector(store.one(keep))
        assert answer.sources == (_without_vector(store.one(one)),)
        assert (answer.lost, answer.moved_link_count) == ((), 0)
        assert (store.revision, store.list()) == (revision, before)
        forced = store.do(merge(keep, one, content="third", force=True))
        assert forced.merged and forced.guard.duplicate is None
        assert live(store) == [keep, third]

    def test_merged_ones_refuse_nothing(self, store: Store) -> None:
        base = vector_of("base")
        keep = store.save("The user likes tea", vector=base)
        one = store.save("It rains in the valley", vector=vector_at(base, 0.99))
        near = store.do(
            merge(keep, one, content="It rains in the valley.", vector=vector_at(base, 0.98))
        )
        assert near.merged
        assert near.guard.similar == ()

    def test_paraphrase_of_a_third_refuses(self, store: Store) -> None:
        base = vector_of("base")
        third = store.save("It rains in the valley", vector=base)
        keep, one = store.save("first"), store.save("second")
        command = merge(keep, one, content="it rains in the valley!", vector=vector_at(base, 0.99))
        answer = store.do(command)
        assert (answer.merged, answer.guard.duplicate.memory_id) == (False, third)

    def test_hidden_third_refuses_nothing(self, store: Store) -> None:
        store.save("third", agent="ben", private=True)
        keep, one = store.save("first"), store.save("second")
        assert store.do(merge(keep, one, content="third")).merged

    def test_typed_key_comes_over_and_leads_to_the_one_that_stays(self, store: Store) -> None:
        key = TypedKey("api", "port")
        keep, one = store.save("It listens on 80"), store.save("Port 80 it is", key=key)
        assert store.do(merge(keep, one)).memory.fields.key == key
        answer = store.do(remember("Now it is 81", key=key))
        assert answer.superseded_ids == (keep,)

    def test_judge_is_asked_about_a_third(self, tmp_path: Path) -> None:
        judge = ScriptedJudge(Relation.SAME)
        with opened(tmp_path / "judged", judging=service(judge)) as store:
            base = vector_of("base")
            third = store.save("The neighbour has a loud dog", vector=base)
            keep, one = store.save("first"), store.save("second")
            content = "The neighbour has a loud puppy"
            command = merge(keep, one, content=content, vector=vector_at(base, 0.9))
            answer = store.do(command)
            assert (answer.merged, answer.guard.duplicate.memory_id) == (False, third)
            assert len(judge.pairs) == 1
            judge.release()


class TestLinks:
    def test_links_move_doubles_collapse_and_inner_ones_vanish(self, store: Store) -> None:
        keep, one, two = store.save("alpha"), store.save("beta"), store.save("gamma")
        far, near = store.save("far"), store.save("near")
        for command in (
            link(keep, one, UPDATES),
            link(one, two),
            link(keep, far, confidence=0.5, note="weak"),
            link(one, far, confidence=0.9, note="strong"),
            link(two, far, confidence=0.7),
            link(one, far, UPDATES, confidence=0.4),
            link(near, two, UPDATES, confidence=0.6),
        ):
            store.do(command)
        answer = store.do(merge(keep, one, two))
        expected = {
            (far, RELATED, 0.9),
            (far, UPDATES, 0.4),
            (near, UPDATED_BY, 0.6),
        }
        assert links_of(store, keep) == expected
        assert {other.note for other in store.one(keep).links} == {"strong", ""}
        assert links_of(store, one) == links_of(store, two) == set()
        # 7 pairs were there, 3 are.
        assert (answer.moved_link_count, answer.dropped_link_count) == (3, 4)
        assert len(answer.sources[0].links) == 4
        assert store.stats().link_count == 3

    def test_own_stronger_double_stays(self, store: Store) -> None:
        keep, one, far = store.save("alpha"), store.save("beta"), store.save("far")
        store.do(link(keep, far, confidence=0.9, note="own"))
        store.do(link(one, far, confidence=0.2))
        answer = store.do(merge(keep, one))
        assert [link.note for link in answer.memory.links] == ["own"]
        assert (answer.moved_link_count, answer.dropped_link_count) == (0, 1)

    def test_weakest_beyond_the_limit_are_dropped_and_counted(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "LINKS_PER_MEMORY_MAX", 3)
        keep, one = store.save("alpha"), store.save("beta")
        far = [store.save(f"far {number}") for number in range(5)]
        for at, confidence in ((0, 0.1), (1, 0.8)):
            store.do(link(keep, far[at], confidence=confidence))
        for at, confidence in ((2, 0.9), (3, 0.05), (4, 0.3)):
            store.do(link(one, far[at], confidence=confidence))
        answer = store.do(merge(keep, one))
        assert {target for target, _, _ in links_of(store, keep)} == {far[1], far[2], far[4]}
        assert (answer.moved_link_count, answer.dropped_link_count) == (2, 2)
        assert links_of(store, far[0]) == links_of(store, far[3]) == set()

    def test_links_to_hidden_ones_move_uncounted(self, store: Store) -> None:
        keep, one = store.save("alpha"), store.save("beta")
        hidden = store.save("hidden", agent="ben")
        store.do(link(one, hidden))
        store.do(update(hidden, agent="ben", private=True))
        answer = store.do(merge(keep, one))
        assert (answer.moved_link_count, answer.dropped_link_count) == (0, 0)
        assert links_of(store, keep) == set()
        assert links_of(store, keep, "ben") == {(hidden, RELATED, 0.5)}

    def test_links_to_superseded_ones_move(self, store: Store) -> None:
        keep, one, old = store.save("alpha"), store.save("beta"), store.save("gamma")
        new = store.save("delta")
        store.do(link(one, old, UPDATES))
        store.do(merge(new, old))
        assert links_of(store, one) == {(new, UPDATES, 0.5)}
        store.do(merge(keep, one))
        assert links_of(store, keep) == {(new, UPDATES, 0.5)}


class TestChains:
    def test_chain_is_shortened_to_the_one_that_stays(self, store: Store) -> None:
        ids = [store.save(f"text {number}") for number in range(4)]
        store.do(merge(ids[1], ids[0]))
        store.do(merge(ids[2], ids[1]))
        store.do(merge(ids[3], ids[2]))
        assert {store.one(each).superseded_by for each in ids[:3]} == {ids[3]}
        assert store.one(ids[0]).revision == store.revision

    def test_longer_chain_is_followed_when_it_is_read(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "MERGE_CHAIN_MAX", 2)
        ids = [store.save(f"text {number}") for number in range(5)]
        store.do(merge(ids[3], *ids[:3]))
        store.do(merge(ids[4], ids[3]))
        assert [store.one(each).superseded_by for each in ids[:3]] == [ids[4], ids[4], ids[3]]
        assert {head(store, each) for each in ids} == {ids[4]}

    def test_forgotten_and_hidden_ones_are_left_as_they_are(self, store: Store) -> None:
        keep, one, gone = store.save("alpha"), store.save("beta"), store.save("gamma")
        hidden = store.save("hidden", agent="ben", private=True)
        store.do(merge(one, gone))
        store.do(forget(gone))
        store.do(replacing("new", hidden, agent="ben"))
        new = store.one(hidden, "ben").superseded_by
        store.do(merge(keep, one, new))
        assert store.one(gone).superseded_by == one
        assert store.one(hidden, "ben").superseded_by == new
        assert head(store, hidden, "ben") == keep

    def test_external_id_of_a_removed_one_leads_to_the_head(self, store: Store) -> None:
        keep, one = store.save("alpha", external_id="a"), store.save("beta", external_id="b")
        store.do(merge(keep, one))
        assert store.one("ext:b").id == one
        assert head(store, "ext:b") == keep
        with pytest.raises(errors.AlreadyExists):
            store.save("gamma", external_id="b")


class TestHistory:
    def test_everything_that_changed_is_told_and_has_its_image(self, store: Store) -> None:
        keep, one, old = store.save("alpha"), store.save("beta"), store.save("gamma")
        far = store.save("far")
        store.do(link(one, far))
        store.do(merge(one, old))
        before = {memory.row: memory for memory in store.list()}
        answer = store.apply(merge(keep, one, content="delta", reason="why"))
        file = state_of(store).file
        operation = file.rows.history.operation(answer.revision)
        assert (operation.kind, operation.reason) == ("Merge", "why")
        rows = {each: store.one(each).row for each in (keep, one, old, far)}
        touched = Touched.loads(operation.touched)
        assert sorted(touched.memories) == sorted(rows[each] for each in (keep, one, old))
        pairs = {frozenset((source, target)) for source, target, _ in touched.links}
        assert pairs == {
            frozenset((rows[one], rows[far])),
            frozenset((rows[keep], rows[far])),
        }
        images = file.rows.history.memory_images(answer.revision)
        for row in touched.memories:
            assert images[row].content == before[row].content
            assert (images[row].status, images[row].superseded_by) == (
                before[row].status,
                before[row].superseded_by,
            )
            assert images[row].vector == before[row].vector
        gone = {
            (each.source, each.target) for each in file.rows.history.link_images(answer.revision)
        }
        assert gone == {(rows[one], rows[far]), (rows[far], rows[one])}

    def test_replay_gives_the_first_answer_and_changes_nothing(self, store: Store) -> None:
        keep, one, far = store.save("alpha"), store.save("beta"), store.save("far")
        store.do(link(one, far))
        command = merge(keep, one, content="17 apples for Alice")
        first = store.apply(command, operation_id="op")
        store.do(update(keep, importance=5))
        revision = store.revision
        again = store.apply(command, operation_id="op")
        assert again.replayed
        assert (again.revision, again.results) == (first.revision, first.results)
        assert store.revision == revision
        store.reopen()
        assert store.apply(command, operation_id="op").results == first.results
        with pytest.raises(errors.AlreadyExists):
            store.apply(merge(one, keep), operation_id="op")

    def test_lost_details_name_their_source(self, store: Store) -> None:
        keep = store.save("The port is 8080")
        one = store.save("Alice pays 1 kg on 2024-03-05")
        two = store.save("サーバーのポートは8081番です")
        answer = store.do(merge(keep, one, two, content="Alice pays 1000 g"))
        found = [(lost.memory_id, lost.finding, lost.text) for lost in answer.lost]
        assert found == [
            (keep, Finding.MISSING, "The port"),
            (keep, Finding.NUMBER, "8080"),
            (one, Finding.DATE, "2024-03-05"),
            (two, Finding.MISSING, "サーバーのポート"),
            (two, Finding.NUMBER, "8081番"),
        ]

    def test_text_that_stays_loses_what_the_others_have(self, store: Store) -> None:
        keep, one = store.save("The port is 8080"), store.save("Port 8080, then 8081")
        *_, lost = store.do(merge(keep, one)).lost
        assert (lost.memory_id, lost.text, lost.place) == (one, "8081", (16, 20))

    @pytest.mark.parametrize("content", ["", "The port is 8080 or 8081", "The cat sleeps"])
    def test_dry_run_answers_as_the_merge_and_changes_nothing(
        self, store: Store, content: str
    ) -> None:
        keep, one = store.save("The port is 8080"), store.save("Port 8080, then 8081", tags=("a",))
        friend = store.save("The cat sleeps")
        store.do(link(one, friend))
        before, revision = contents(store), store.revision
        command = merge(keep, one, content=content)
        planned: Merged = store.preview(command).answer
        assert (contents(store), store.revision) == (before, revision)
        done: Merged = store.do(command)
        assert planned.lost == done.lost
        assert (planned.merged, planned.sources, planned.guard) == (
            done.merged,
            done.sources,
            done.guard,
        )
        counts = (done.moved_link_count, done.dropped_link_count)
        assert (planned.moved_link_count, planned.dropped_link_count) == counts
        said = [
            (memory.id, memory.content, memory.fields) for memory in (planned.memory, done.memory)
        ]
        assert said[0] == said[1]

    def test_dry_run_with_a_new_text_is_embedded(self, tmp_path: Path) -> None:
        with opened(tmp_path, embedding=InProcessEmbedding()) as store:
            keep, one = (
                store.save(text, text_only=True) for text in ("The cat sleeps", "The dog barks")
            )
            command = merge(keep, one, content="The cat sleeps at noon", text_only=True)
            planned = store.preview(command).answer
            assert planned.memory.content == "The cat sleeps at noon"
            assert [lost.text for lost in planned.lost] == ["The dog barks"]


class TestEmbedding:
    def test_new_text_is_embedded_and_the_rest_is_not(self, tmp_path: Path) -> None:
        embedding = InProcessEmbedding()
        with opened(tmp_path, embedding=embedding) as store:
            keep = store.save("The cat sleeps in the kitchen", text_only=True)
            one = store.save("Trains to Osaka leave at noon", text_only=True)
            third = store.save("Invoices are due on Friday", text_only=True)
            embedding.texts.clear()
            same = merge(keep, one, content="Invoices are due on Friday", text_only=True)
            assert store.do(same).guard.duplicate.memory_id == third
            assert embedding.texts == [], "equal text is known without a vector"
            text = "The cat sleeps; trains to Osaka leave at noon"
            assert store.do(merge(keep, one, content=text, text_only=True)).merged
            assert embedding.texts == [text]
            vector = embedding.vectors([text])[0]
            assert store.one(keep).vector == vector.tobytes()
            assert store.do(merge(keep, third)).merged
            assert embedding.texts == [text], "the text stayed"

    def test_merge_among_others_gets_only_its_own_vector(self, tmp_path: Path) -> None:
        embedding = InProcessEmbedding()
        with opened(tmp_path, embedding=embedding) as store:
            keep = store.save("The cat sleeps", text_only=True)
            one = store.save("Trains leave at noon", text_only=True)
            before = store.one(keep).vector
            new = remember("Invoices are due", text_only=True)
            answer = store.apply(merge(keep, one, content="The cat sleeps", text_only=True), new)
            assert [answer.results[0].merged, answer.results[1].saved] == [True, True]
            assert answer.results[0].guard is None
            assert store.one(keep).vector == before


class TestSupersedeByRemember:
    def test_named_ones_give_way_in_the_same_operation(self, store: Store) -> None:
        one, two, third = store.save("alpha"), store.save("beta", agent="ben"), store.save("gamma")
        revision = store.revision
        answer = store.do(replacing("delta", one, two, one))
        assert (answer.saved, answer.superseded_ids) == (True, (one, two))
        assert store.revision == revision + 1
        new = answer.memory_id
        assert links_of(store, new) == {(one, UPDATES, 1.0), (two, UPDATES, 1.0)}
        assert {each.target_id for each in answer.links} == {one, two}
        for each in (one, two):
            memory = store.one(each)
            assert (memory.status, memory.superseded_by) == (Status.SUPERSEDED, new)
        assert live(store) == sorted(
            (third, new), key=lambda each: (store.one(each).created_us, each)
        )

    def test_they_refuse_nothing_and_a_third_does(self, store: Store) -> None:
        one, third = store.save("alpha"), store.save("beta")
        answer = store.do(replacing("alpha", one, importance=5))
        assert (answer.saved, answer.superseded_ids) == (True, (one,))
        two = answer.memory_id
        answer = store.do(replacing("beta", two))
        assert (answer.saved, answer.memory_id, answer.superseded_ids) == (False, third, (two,))

    def test_check_answers_the_same_and_saves_nothing(self, store: Store) -> None:
        one = store.save("alpha")
        before = store.list()
        assert not store.check(remember("alpha")).would_save
        would = store.check(replacing("alpha", one))
        assert (would.would_save, would.superseded_ids) == (True, (one,))
        with pytest.raises(errors.NotFound):
            store.check(replacing("alpha", "mem_00000000ffff"))
        assert store.list() == before

    def test_as_many_as_there_may_be_are_linked(self, store: Store) -> None:
        ids = [store.save(f"text {number}") for number in range(limits.SUPERSEDE_IDS_MAX)]
        store.set(("guard.link_distance_below", 2.0))
        store.save("another")
        answer = store.do(replacing("all of them", *ids))
        assert answer.superseded_ids == tuple(ids)
        assert {(each.target_id, each.type) for each in answer.links} == {
            (each, UPDATES) for each in ids
        }
        command = replacing("new", *ids, ids[0])
        assert refused(store, command, errors.InvalidArgument).reason == "LIMIT_EXCEEDED"

    def test_holder_of_the_key_gives_way_as_well_but_once(self, store: Store) -> None:
        key = TypedKey("api", "port")
        holder, other = store.save("port 80", key=key), store.save("port 79")
        answer = store.do(replacing("port 81", other, key=key))
        assert answer.superseded_ids == (other, holder)
        again = store.do(replacing("port 82", answer.memory_id, key=key))
        assert again.superseded_ids == (answer.memory_id,)

    def test_what_cannot_give_way_is_named(self, store: Store) -> None:
        one, gone = store.save("alpha"), store.save("beta")
        hidden = store.save("gamma", agent="ben", private=True)
        log = store.save("delta", kind=Kind.EVENT, state_kind=StateKind.NONE)
        store.do(forget(gone))
        cases: list[tuple[str, type[errors.TotonoeError], str]] = [
            (hidden, errors.NotFound, "MEMORY_NOT_FOUND"),
            ("mem_00000000ffff", errors.NotFound, "MEMORY_NOT_FOUND"),
            (gone, errors.Precondition, "NOT_ACTIVE"),
            (log, errors.Precondition, "APPEND_ONLY"),
        ]
        for other, kind, reason in cases:
            assert refused(store, replacing("new", one, other), kind).reason == reason
        event = replacing("new", one, kind=Kind.EVENT, state_kind=StateKind.NONE)
        assert refused(store, event, errors.InvalidArgument).reason == "UNKNOWN_ENUM"

    def test_replay_and_reopening(self, store: Store) -> None:
        one = store.save("alpha")
        first = store.apply(replacing("beta", one), operation_id="op")
        again = store.apply(replacing("beta", one), operation_id="op")
        assert again.replayed and again.results == first.results
        store.reopen()
        assert live(store) == [first.results[0].memory_id]
        assert store.one(one).superseded_by == first.results[0].memory_id


class Hooked(dict[int, int]):
    """Pending changes of status that call back when they are about to be seen."""

    def __init__(self, pending: dict[int, int], then: Callable[[], None]) -> None:
        super().__init__(pending)
        self.then = then

    def items(self) -> Any:
        self.then()
        return super().items()


@pytest.mark.parametrize("by", ["merge", "remember"])
def test_nobody_sees_neither_successor_nor_sources(store: Store, by: str) -> None:
    keep, one = store.save("alpha apples"), store.save("beta bananas")
    other = store.save("far away")
    state = state_of(store)
    seen: dict[str, tuple[list[str], set[str]]] = {}

    def look(when: str) -> None:
        # The source's word and the successor's: whoever asks for either finds one of them.
        found = [each.memory.content for each in store.recall(words("bananas", 5)).hits]
        listed = {each.content for each in store.list(where=Filter())}
        seen[when] = found, listed

    publish = state.publish

    def hooked() -> None:
        # On disk, and not in sight.
        look("before")
        arrays = state.index.arrays
        arrays.pending_status = Hooked(arrays.pending_status, lambda: look("between"))
        publish()
        arrays.pending_status = {}
        look("after")

    state.publish = hooked
    if by == "merge":
        store.do(merge(keep, one, content="gamma bananas"))
    else:
        store.do(replacing("gamma bananas", keep, one))
    del state.publish
    sources = {"alpha apples", "beta bananas"}
    texts = {"far away", "gamma bananas"}
    assert seen["after"] == (["gamma bananas"], texts)
    assert seen["before"][0] == ["beta bananas"]
    assert "gamma bananas" in seen["between"][0]
    for _, listed in seen.values():
        assert sources <= listed or "gamma bananas" in listed
    assert store.one(other).content == "far away"


def _without_vector(memory: Memory) -> Memory:
    return replace(memory, vector=b"")
