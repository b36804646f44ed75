"""A Remember that is refused as a duplicate puts that duplicate in the place of what it names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.engines import Store, forget, opened, remember, undo, vector_at, vector_of
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.memories import Remember, Remembered
from totonoe_core.domain.policy import Action
from totonoe_core.domain.queries import ChangesQuery, ChangeType, GetQuery, HistoryQuery
from totonoe_core.domain.records import (
    LinkType,
    Memory,
    Method,
    StateKind,
    Status,
    TypedKey,
    Verdict,
)

BASE = vector_of("base")
PORT = "The staging server listens on port 8080"
OTHER_PORT = "The staging server listens on port 8081"
BY_VERDICT = ((Verdict.UPDATE, Action.SUPERSEDE),)
KEY = TypedKey("api", "port")


def in_place_of(content: str, *ids: str, **more: Any) -> Remember:
    return replace(remember(content, **more), supersede_ids=ids)


def by_verdict(content: str, **more: Any) -> Remember:
    return replace(remember(content, **more), actions=BY_VERDICT)


def standing(store: Store, memory_id: str, agent: str = "anna") -> tuple[Status, str]:
    found = store.one(memory_id, agent)
    return found.status, found.superseded_by


def told(memory: Memory) -> Memory:
    """A memory without the stamps that an Undo leaves."""
    return replace(memory, revision=0, updated_us=0)


def both(store: Store, first: str = PORT, second: str = OTHER_PORT, **more: Any) -> tuple[str, str]:
    """Two live memories of which the second says another value of the first."""
    return store.save(first, vector=BASE, **more), store.save(
        second, vector=vector_at(BASE, 0.97), **more
    )


LAYERS = [
    ("standard", Method.EXACT, PORT, {}),
    ("standard", Method.JACCARD, PORT + "!", {"vector": vector_at(BASE, 0.1)}),
    ("standard", Method.COSINE, "note: " + PORT, {"vector": vector_at(BASE, 0.96)}),
    ("robotmem", Method.EXACT, PORT, {}),
    ("robotmem", Method.JACCARD, PORT + " today", {"vector": vector_at(BASE, 0.1)}),
    ("robotmem", Method.COSINE, "something else", {"vector": vector_at(BASE, 0.9)}),
    ("ego", Method.COSINE, "something else", {"vector": vector_at(BASE, 0.99)}),
]


class TestNamed:
    """`supersede_ids` of a text that is refused."""

    @pytest.mark.parametrize(("preset", "method", "text", "more"), LAYERS)
    def test_refused_by_any_layer_they_give_way_to_the_duplicate_in_one_operation(
        self, store: Store, preset: str, method: Method, text: str, more: dict[str, Any]
    ) -> None:
        store.set(("guard.preset", preset))
        known, old = store.save(PORT, vector=BASE), store.save("Elsewhere")
        before = {memory_id: store.one(memory_id) for memory_id in (known, old)}
        revision, count = store.revision, len(store.list())
        command = in_place_of(text, old, **({"vector": BASE} | more))
        would = store.check(command)
        assert (would.would_save, would.superseded_ids) == (False, (old,))
        assert store.revision == revision
        answer = store.do(command)
        assert (answer.saved, answer.memory_id, answer.guard.method) == (False, known, method)
        assert answer.guard.duplicate.memory_id == known
        assert (answer.superseded_ids, store.revision) == ((old,), revision + 1)
        assert standing(store, old) == (Status.SUPERSEDED, known)
        assert len(store.list()) == count
        now = store.one(known)
        assert told(replace(now, links=())) == told(replace(before[known], links=()))
        assert (old, LinkType.UPDATES, 1.0) in {
            (link.target_id, link.type, link.confidence) for link in now.links
        }
        store.do(undo(revision + 1))
        assert {memory_id: told(store.one(memory_id)) for memory_id in before} == {
            key: told(memory) for key, memory in before.items()
        }
        store.do(undo(revision + 2))
        assert standing(store, old) == (Status.SUPERSEDED, known)

    def test_it_is_an_operation_watched_listed_and_in_the_history(self, store: Store) -> None:
        known, old = store.save(PORT), store.save("Elsewhere")
        revision = store.revision
        store.do(in_place_of(PORT, old, agent="ben"))
        changes = store.read(ChangesQuery("carl", revision, None))
        (change,) = changes.changes
        assert (change.operation.kind, change.operation.agent_id) == ("Remember", "ben")
        assert [(memory.type, memory.memory_id) for memory in change.memories] == [
            (ChangeType.SUPERSEDED, old)
        ]
        assert [link.source_id for link in change.links] in ([known], [old])
        found = store.read(HistoryQuery("anna", old, 10, ""))
        assert found.versions[0].operation.revision == revision + 1
        assert found.versions[0].memory.status is Status.SUPERSEDED

    def test_replayed_it_changes_nothing_and_reopened_it_stays(self, store: Store) -> None:
        known, old = store.save(PORT), store.save("Elsewhere")
        first = store.apply(in_place_of(PORT, old), operation_id="op")
        again = store.apply(in_place_of(PORT, old), operation_id="op")
        assert again.replayed and again.results == first.results
        assert store.revision == first.revision
        store.reopen()
        assert standing(store, old) == (Status.SUPERSEDED, known)
        # Without an operation id it is asked anew, and the old one is gone.
        error = store.refused(in_place_of(PORT, old), errors.Precondition)
        assert error.reason == "NOT_ACTIVE"

    def test_what_is_named_refuses_nothing_also_beside_another_duplicate(
        self, store: Store
    ) -> None:
        known = store.save(PORT)
        twin, old = store.save(PORT, force=True), store.save("Elsewhere")
        answer = store.do(in_place_of(PORT, known, old))
        assert (answer.saved, answer.memory_id) == (False, twin)
        assert answer.superseded_ids == (known, old)

    def test_without_names_a_refusal_is_no_operation(self, store: Store) -> None:
        known, other = both(store)
        revision = store.revision
        answer = store.do(remember(PORT, vector=BASE))
        assert (answer.memory_id, answer.superseded_ids, answer.links) == (known, (), ())
        assert store.revision == revision
        assert store.one(other).status is Status.ACTIVE

    def test_what_cannot_give_way_is_the_error_of_a_saved_one(self, store: Store) -> None:
        known, old, gone = store.save(PORT), store.save("Elsewhere"), store.save("Gone")
        hidden = store.save("Hidden", agent="ben", private=True)
        store.do(forget(gone))
        before = store.revision, store.list()
        for other, kind in (
            (gone, errors.Precondition),
            (hidden, errors.NotFound),
            ("mem_00000000ffff", errors.NotFound),
        ):
            for call in (store.do, store.check):
                with pytest.raises(kind):
                    call(in_place_of(PORT, old, other))
        assert (store.revision, store.list()) == before
        assert store.one(known).links == ()

    def test_external_ids_name_and_stay_where_they_are(self, store: Store) -> None:
        known = store.save(PORT)
        old = store.save("Elsewhere", external_id="port")
        answer = store.do(in_place_of(PORT, "ext:port", external_id="port"))
        assert (answer.memory_id, answer.superseded_ids) == (known, (old,))
        assert store.one(old).fields.external_id == "port"
        assert store.one(known).fields.external_id == ""
        found = store.engine.read(
            store.collection, GetQuery("anna", ("ext:port",), follow_superseded=True)
        )
        assert found.result(wait_s()).memories[0].id == known

    def test_a_forgotten_memory_that_refuses_takes_no_place(self, store: Store) -> None:
        store.set(("guard.refuse_forgotten", True))
        known, old = store.save(PORT), store.save("Elsewhere")
        store.do(forget(known))
        command = in_place_of(PORT, old)
        assert store.check(command).superseded_ids == ()
        answer = store.do(command)
        assert (answer.saved, answer.superseded_ids) == (False, ())
        assert store.one(old).status is Status.ACTIVE

    def test_a_summary_of_the_scope_is_not_grown_and_takes_the_place(self, store: Store) -> None:
        known = store.save("Ten days behind.", state_kind=StateKind.SUMMARY)
        old = store.save("Elsewhere")
        command = in_place_of("Ten days behind.", old, state_kind=StateKind.SUMMARY)
        assert store.check(command).superseded_ids == (old,)
        answer = store.do(command)
        assert (answer.memory_id, answer.grown_id) == (known, "")
        assert answer.superseded_ids == (old,)

    def test_full_of_links_they_give_way_all_the_same(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        known, old = store.save(PORT), store.save("Elsewhere")
        monkeypatch.setattr(limits, "LINKS_PER_MEMORY_MAX", 0)
        answer = store.do(in_place_of(PORT, old))
        assert (answer.superseded_ids, answer.links) == ((old,), ())
        assert standing(store, old) == (Status.SUPERSEDED, known)


class TestByVerdict:
    """`on_update: SUPERSEDE` where the old value came back."""

    @pytest.mark.parametrize("by_call", [True, False])
    @pytest.mark.parametrize("text", [PORT, PORT + "!", "note: " + PORT])
    def test_the_update_of_what_is_refused_gives_way(
        self, store: Store, text: str, by_call: bool
    ) -> None:
        known, other = both(store)
        far = store.save("The cat sleeps", vector=vector_at(BASE, 0.2))
        revision = store.revision
        command = remember(text, vector=vector_at(BASE, 0.999))
        if by_call:
            command = replace(command, actions=BY_VERDICT)
        else:
            store.set(("guard.on_update", "supersede"))
            revision += 1
        would, answer = store.check(command), store.do(command)
        assert (would.would_save, would.superseded_ids) == (False, (other,))
        assert (answer.saved, answer.memory_id, answer.superseded_ids) == (False, known, (other,))
        assert standing(store, other) == (Status.SUPERSEDED, known)
        assert store.one(far).status is Status.ACTIVE
        assert store.revision == revision + 1
        assert store.do(command).superseded_ids == ()
        assert store.revision == revision + 1

    def test_equal_text_needs_no_vector_of_its_own(self, tmp_path: Path) -> None:
        with opened(tmp_path) as store:
            known, other = both(store)
            command = by_verdict(PORT, text_only=True)
            assert store.check(command).superseded_ids == (other,)
            answer = store.do(command)
            assert (answer.memory_id, answer.superseded_ids) == (known, (other,))

    def test_where_a_text_would_grow_nothing_gives_way(self, store: Store) -> None:
        summary = {"state_kind": StateKind.SUMMARY}
        known = store.save(PORT, vector=BASE, **summary)
        other = store.save(OTHER_PORT, vector=vector_at(BASE, 0.97), thread_id="t", **summary)
        answer = store.do(by_verdict(PORT, vector=BASE, **summary))
        assert (answer.memory_id, answer.superseded_ids) == (known, ())
        assert store.one(other).status is Status.ACTIVE

    def test_another_agents_private_one_is_left_alone(self, store: Store) -> None:
        store.save(PORT, vector=BASE)
        hidden = store.save(OTHER_PORT, vector=vector_at(BASE, 0.97), agent="ben", private=True)
        assert store.do(by_verdict(PORT, vector=BASE)).superseded_ids == ()
        assert store.one(hidden, "ben").status is Status.ACTIVE


class TestUncertain:
    """A verdict acts only where both texts cannot be true; else it links and asks."""

    ACTIONS = (
        (Verdict.UPDATE, Action.SUPERSEDE),
        (Verdict.CONTRADICTION, Action.SUPERSEDE),
    )

    def said(self, store: Store, memory: str, text: str) -> tuple[str, Remembered]:
        known = store.save(memory, vector=BASE)
        command = replace(remember(text, vector=vector_at(BASE, 0.95)), actions=self.ACTIONS)
        would = store.check(command)
        answer = store.do(command)
        assert would.superseded_ids == answer.superseded_ids
        assert would.guard.maybe_replaced_ids == answer.guard.maybe_replaced_ids
        return known, answer

    @pytest.mark.parametrize(
        ("memory", "text"),
        [
            ("Tomás is allergic to peanuts.", "Tomás is allergic to pollen."),
            ("Ana speaks German.", "Ana speaks French."),
            ("Lena works at Google.", "Lena works at Meta."),
            ("Maria owns the billing service.", "Maria owns the invoicing service."),
            ("We use Slack for chat.", "We use Slack for alerts."),
        ],
    )
    def test_what_may_both_be_true_stays_linked_and_is_asked(
        self, store: Store, memory: str, text: str
    ) -> None:
        known, answer = self.said(store, memory, text)
        assert (answer.superseded_ids, answer.guard.maybe_replaced_ids) == ((), (known,))
        links = [(link.target_id, link.type) for link in answer.links]
        assert links == [(known, LinkType.UPDATES), (known, LinkType.MAY_REPLACE)]
        assert store.one(known).status is Status.ACTIVE

    @pytest.mark.parametrize(
        ("memory", "text"),
        [
            ("The timeout is 30 seconds.", "The timeout is 60 seconds."),
            ("The event is May 29.", "The event is June 5."),
            ("The API host is api1.example.com.", "The API host is api2.example.com."),
            ("Tomás is allergic to pollen.", "Tomás is not allergic to pollen."),
        ],
    )
    def test_what_excludes_it_is_replaced_and_nobody_is_asked(
        self, store: Store, memory: str, text: str
    ) -> None:
        known, answer = self.said(store, memory, text)
        assert (answer.superseded_ids, answer.guard.maybe_replaced_ids) == ((known,), ())

    @pytest.mark.parametrize(
        ("memory", "text"),
        [
            ("Tomás is allergic to pollen.", "Tomás is not allergic to peanuts."),
            ("The user likes tea.", "The user does not like coffee."),
        ],
    )
    def test_a_denial_of_something_else_is_not_even_asked_about(
        self, store: Store, memory: str, text: str
    ) -> None:
        known, answer = self.said(store, memory, text)
        assert (answer.superseded_ids, answer.guard.maybe_replaced_ids) == ((), ())
        assert store.one(known).status is Status.ACTIVE

    def test_a_third_value_is_asked_about(self, store: Store) -> None:
        old = store.save("The database port is 5433", vector=BASE)
        third = store.save("The database port is 5432", vector=vector_at(BASE, 0.9), force=True)
        answer = store.do(by_verdict("The database port is 5434", vector=vector_at(BASE, 0.99)))
        assert (answer.superseded_ids, answer.guard.maybe_replaced_ids) == ((old,), (third,))

    def test_without_the_action_nobody_is_asked(self, store: Store) -> None:
        store.save("Lena works at Google.", vector=BASE)
        answer = store.do(remember("Lena works at Meta.", vector=vector_at(BASE, 0.95)))
        assert answer.guard.maybe_replaced_ids == ()


class TestSameOldValue:
    """An update supersedes all live memories that hold the old value, not only the nearest."""

    TEXTS = ("Database port: 5433", "The database port is 5433", "**The database port is 5433.**")

    def held(self, store: Store, *texts: str, **more: Any) -> list[str]:
        return [
            store.save(text, vector=vector_at(BASE, 0.96 - at / 100, at), force=True, **more)
            for at, text in enumerate(texts)
        ]

    @pytest.mark.parametrize("by_call", [True, False])
    def test_all_that_hold_it_give_way_in_one_operation(self, store: Store, by_call: bool) -> None:
        ids = self.held(store, *self.TEXTS)
        revision = store.revision
        command = remember("The database port is 5434", vector=BASE)
        if by_call:
            command = replace(command, actions=BY_VERDICT)
        else:
            store.set(("guard.on_update", "supersede"))
            revision += 1
        assert set(store.check(command).superseded_ids) == set(ids)
        answer = store.do(command)
        assert set(answer.superseded_ids) == set(ids)
        assert store.revision == revision + 1
        assert {(link.target_id, link.type) for link in answer.links} == {
            (memory_id, LinkType.UPDATES) for memory_id in ids
        }
        store.do(undo(store.revision))
        assert {store.one(memory_id).status for memory_id in ids} == {Status.ACTIVE}

    @pytest.mark.parametrize(
        "other",
        [
            "The database port is 5432",  # another old value
            "The staging database port is 5433",  # another scope
            "The database port is 5433 and the cache port is 6379",
            "The database port may be 5433",
        ],
    )
    def test_what_says_anything_else_stays(self, store: Store, other: str) -> None:
        (known,) = self.held(store, self.TEXTS[0])
        kept = store.save(other, vector=vector_at(BASE, 0.8), force=True)
        answer = store.do(by_verdict("The database port is 5434", vector=BASE))
        assert answer.superseded_ids == (known,)
        assert store.one(kept).status is Status.ACTIVE

    def test_equal_words_at_any_cosine_and_no_other_payload(self, store: Store) -> None:
        (known,) = self.held(store, self.TEXTS[1])
        far = [
            store.save(self.TEXTS[1], vector=vector_at(BASE, 0.1, seed), force=True)
            for seed in range(2 * limits.SAME_VALUE_MAX)
        ]
        other = {"payload": {"host": "db2"}, "vector": vector_at(BASE, 0.9), "force": True}
        store.save(self.TEXTS[1], **other)
        answer = store.do(by_verdict("The database port is 5434", vector=BASE))
        assert len(answer.superseded_ids) == limits.SAME_VALUE_MAX
        assert set(answer.superseded_ids) <= {known, *far}

    def test_what_a_caller_may_not_read_or_hide_stays(self, store: Store) -> None:
        (own,) = self.held(store, self.TEXTS[0], private=True)
        (public,) = self.held(store, self.TEXTS[1], agent="ben")
        (hidden,) = self.held(store, self.TEXTS[2], agent="ben", private=True)
        command = by_verdict("The database port is 5434", vector=BASE, private=True)
        assert store.do(command).superseded_ids == (own,)
        assert standing(store, public) == (Status.ACTIVE, "")
        assert standing(store, hidden, "ben") == (Status.ACTIVE, "")

    def test_all_that_say_what_is_denied_give_way(self, store: Store) -> None:
        ids = self.held(store, "The cache is enabled", "The cache is enabled.")
        command = replace(
            remember("The cache is disabled", vector=BASE),
            actions=((Verdict.CONTRADICTION, Action.SUPERSEDE),),
        )
        assert store.do(command).superseded_ids == tuple(ids)

    def test_the_duplicate_of_a_refused_text_takes_the_place_of_all(self, store: Store) -> None:
        ids = self.held(store, *self.TEXTS)
        new = store.save("The database port is 5434", vector=BASE)
        answer = store.do(by_verdict("Database port: 5434", vector=vector_at(BASE, 0.99)))
        assert (answer.saved, answer.memory_id) == (False, new)
        assert set(answer.superseded_ids) == set(ids)


class TestKey:
    """A value of a key that is there already takes the place of the others."""

    def test_other_holders_give_way_to_the_one_that_says_it(self, store: Store) -> None:
        own = store.save("port 1", key=KEY, private=True)
        public = store.save("port 2", agent="ben", key=KEY)
        command = remember("port 2", key=KEY)
        assert store.check(command).superseded_ids == (own,)
        answer = store.do(command)
        assert (answer.saved, answer.memory_id, answer.superseded_ids) == (False, public, (own,))
        assert standing(store, own) == (Status.SUPERSEDED, public)
        assert store.do(command).superseded_ids == ()

    def test_a_private_holder_takes_no_public_place(self, store: Store) -> None:
        own = store.save("port 1", key=KEY, private=True)
        public = store.save("port 2", agent="ben", key=KEY)
        answer = store.do(remember("port 1", key=KEY))
        assert (answer.memory_id, answer.superseded_ids) == (own, ())
        assert store.one(public).status is Status.ACTIVE


class TestPrivate:
    """What nobody else sees takes no public place."""

    def test_a_private_text_leaves_public_ones_to_the_public_duplicate(self, store: Store) -> None:
        known, other = both(store)
        own = store.save(OTHER_PORT + ".", vector=vector_at(BASE, 0.96), private=True, force=True)
        command = by_verdict(PORT, vector=BASE, private=True)
        assert store.do(command).superseded_ids == (own,)
        assert store.one(other).status is Status.ACTIVE
        assert standing(store, own) == (Status.SUPERSEDED, known)

    def test_a_private_duplicate_takes_no_public_place_that_is_named(self, store: Store) -> None:
        own = store.save(PORT, private=True)
        public = store.save("Elsewhere")
        for call in (store.do, store.check):
            with pytest.raises(errors.InvalidArgument) as caught:
                call(in_place_of(PORT, public))
            assert caught.value.reason == "BAD_MERGE"
            assert own in caught.value.details["got"]
        assert store.one(public).status is Status.ACTIVE

    def test_nor_one_by_its_verdict(self, store: Store) -> None:
        own = store.save(PORT, vector=BASE, private=True)
        public = store.save(OTHER_PORT, vector=vector_at(BASE, 0.97))
        answer = store.do(by_verdict(PORT, vector=BASE))
        assert (answer.memory_id, answer.superseded_ids) == (own, ())
        assert store.one(public).status is Status.ACTIVE

    def test_private_ones_give_way_to_private_and_to_public_ones(self, store: Store) -> None:
        own, other = store.save(PORT, private=True), store.save("Elsewhere", private=True)
        assert store.do(in_place_of(PORT, other)).superseded_ids == (other,)
        public = store.save("Public")
        assert store.do(in_place_of("Public", own)).memory_id == public
        assert standing(store, own) == (Status.SUPERSEDED, public)


class TestTogether:
    """Beside others: in one batch, and in a race for the same place."""

    def test_the_duplicate_may_come_with_the_same_batch(self, store: Store) -> None:
        old = store.save("Elsewhere")
        requests = [("a", [remember(PORT)]), ("b", [in_place_of(PORT, old, agent="ben")])]
        first, second = (
            future.result(wait_s()) for future in store.engine.apply_all(store.collection, requests)
        )
        known = first.results[0].memory_id
        assert second.results[0].memory_id == known
        assert second.results[0].superseded_ids == (old,)
        assert second.revision == first.revision + 1
        assert standing(store, old) == (Status.SUPERSEDED, known)

    def test_of_many_at_once_one_takes_the_place(self, store: Store) -> None:
        known, old = store.save(PORT), store.save("Elsewhere")
        requests = [(f"op {number}", [in_place_of(PORT, old)]) for number in range(16)]
        futures = store.engine.apply_all(store.collection, requests)
        errors_, answers = [], []
        for future in futures:
            error = future.exception(wait_s())
            (answers if error is None else errors_).append(error or future.result())
        assert len(answers) == 1
        assert answers[0].results[0].superseded_ids == (old,)
        assert {error.reason for error in errors_} == {"NOT_ACTIVE"}
        assert standing(store, old) == (Status.SUPERSEDED, known)

    def test_another_error_of_the_operation_takes_it_back(self, store: Store) -> None:
        store.save(PORT)
        old = store.save("Elsewhere", external_id="taken")
        revision = store.revision
        with pytest.raises(errors.AlreadyExists):
            store.apply(in_place_of(PORT, old), remember("New", external_id="taken"))
        assert (store.revision, store.one(old).status) == (revision, Status.ACTIVE)
        assert store.do(in_place_of(PORT, old)).superseded_ids == (old,)
