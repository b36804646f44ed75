"""What a verdict does in a collection: refusals, links, what is superseded, typed keys."""

from __future__ import annotations

from typing import Any

import pytest

from support.engines import Store, remember, undo, update, vector_at, vector_of
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.memories import Remembered
from totonoe_core.domain.policy import Action
from totonoe_core.domain.records import Finding, Kind, LinkType, Method, Status, TypedKey, Verdict

BASE = vector_of("base")


def near(store: Store, content: str, cosine: float = 0.9, **more: Any) -> Remembered:
    """The answer to a text whose vector lies at a cosine from BASE."""
    actions = tuple(more.pop("actions", {}).items())
    command = remember(content, vector=vector_at(BASE, cosine, len(content)), **more)
    command = type(command)(
        command.agent_id, command.content, command.fields, command.vector, command.force, actions
    )
    found: Remembered = store.do(command)
    return found


def saved(store: Store, content: str, **more: Any) -> str:
    return store.save(content, vector=BASE, **more)


PORT = "The staging server listens on port 8080"
CASES = [
    (PORT, "The staging server listens on port 8081", Verdict.UPDATE, LinkType.UPDATES),
    (PORT, "The staging server does not listen on port 8080", Verdict.CONTRADICTION,
     LinkType.CONTRADICTS),
    (PORT, "The staging server in Osaka listens on port 8080", Verdict.REFINEMENT,
     LinkType.REFINES),
    ("Ann manages Bob", "Bob manages Ann", Verdict.RELATED, LinkType.RELATED),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "verdict", "link"), CASES)
def test_text_that_differs_is_saved_told_and_linked_by_its_verdict(
    store: Store, old: str, new: str, verdict: Verdict, link: LinkType
) -> None:
    known = saved(store, old)
    answer = near(store, new, 0.99)
    assert answer.saved
    assert answer.guard.verdict is verdict
    (similar,) = answer.guard.similar
    assert similar.judgement is not None
    assert similar.judgement.verdict is verdict
    assert [(other.target_id, other.type) for other in answer.links] == [(known, link)]
    assert [(other.target_id, other.type) for other in store.one(known).links] == [
        (answer.memory_id, link.inverse)
    ]


@pytest.mark.parametrize("cosine", [0.4, 0.66, 0.9])
def test_every_link_is_in_the_answer_with_its_verdict(store: Store, cosine: float) -> None:
    known = saved(store, "Lena works at Google.")
    answer = near(store, "Lena works at Meta.", cosine)
    linked = [link.target_id for link in answer.links]
    assert set(linked) <= {memory.memory_id for memory in answer.guard.similar}
    if linked:
        (similar,) = answer.guard.similar
        assert (similar.memory_id, similar.judgement.verdict) == (known, Verdict.UPDATE)
        (differing,) = similar.judgement.evidence
        assert (differing.other_text, differing.own_text) == ("Google", "Meta")


def test_text_with_less_detail_is_linked_as_refined_by(store: Store) -> None:
    known = saved(store, "The staging server in Osaka listens on port 8080")
    answer = near(store, PORT)
    assert answer.guard.verdict is Verdict.CONTAINED
    assert [(link.target_id, link.type) for link in answer.links] == [(known, LinkType.REFINED_BY)]


def test_rewording_is_refused_with_its_evidence(store: Store) -> None:
    known = saved(store, "Ann manages Bob")
    answer = near(store, "Bob is managed by Ann")
    assert not answer.saved
    duplicate = answer.guard.duplicate
    assert duplicate is not None
    assert (duplicate.memory_id, duplicate.method) == (known, Method.COSINE)
    assert answer.guard.verdict is Verdict.DUPLICATE
    assert duplicate.judgement is not None
    evidence = duplicate.judgement.evidence[0]
    assert evidence.finding is Finding.SAME_CONTENT
    assert "Bob is managed by Ann"[slice(*evidence.own)] == evidence.own_text


def test_evidence_names_what_differs_in_both_texts(store: Store) -> None:
    saved(store, PORT)
    new = "The staging server listens on port 8081"
    (similar,) = near(store, new).guard.similar
    assert similar.judgement is not None
    first = similar.judgement.evidence[0]
    assert new[slice(*first.own)] == first.own_text
    assert PORT[slice(*first.other)] == first.other_text
    assert ("8081" in first.own_text, "8080" in first.other_text) == (True, True)


def test_same_words_are_refused_whatever_the_cosine(store: Store) -> None:
    known = saved(store, PORT)
    answer = near(store, PORT.upper() + "!", 0.1)
    assert not answer.saved
    assert answer.memory_id == known
    assert (answer.guard.method, answer.guard.similarity) == (Method.JACCARD, 1.0)


def test_rewording_below_the_threshold_with_few_common_words_is_not_read(store: Store) -> None:
    saved(store, "Lunch is at 12:00")
    answer = near(store, "Lunch is at noon", 0.5)
    assert answer.saved
    assert answer.guard.verdict is Verdict.NEW


def test_rewording_with_another_payload_is_an_update(store: Store) -> None:
    saved(store, "Ann manages Bob", payload={"since": 2024})
    for text in ("Ann manages Bob", "ann manages Bob.", "Bob is managed by Ann"):
        answer = near(store, text, payload={"since": len(text)})
        assert answer.saved
        assert answer.guard.verdict is Verdict.UPDATE


def test_long_note_with_one_new_sentence_is_a_refinement(store: Store) -> None:
    note = " ".join(f"On day {day} the arm moved {day * 7} boxes." for day in range(1, 110))
    assert len(note) > 3000
    saved(store, note)
    for longer in (note + " The belt broke.", "The belt broke. " + note):
        answer = near(store, longer, 0.999)
        assert answer.saved
        assert answer.guard.verdict in (Verdict.REFINEMENT, Verdict.UPDATE)


class TestActions:
    """The policy's table, and what one call puts in its place."""

    def test_policy_can_refuse_an_update(self, store: Store) -> None:
        known = saved(store, PORT)
        store.set(("guard.on_update", "refuse"))
        answer = near(store, PORT.replace("8080", "8081"))
        assert not answer.saved
        assert answer.memory_id == known
        assert answer.guard.verdict is Verdict.UPDATE

    def test_policy_can_keep_duplicates(self, store: Store) -> None:
        saved(store, "Ann manages Bob")
        store.set(("guard.on_duplicate", "link"))
        answer = near(store, "Bob is managed by Ann")
        assert answer.saved
        assert answer.guard.verdict is Verdict.DUPLICATE
        assert near(store, "Ann manages Bob").guard.method is Method.EXACT, "equal text stays out"

    @pytest.mark.parametrize("by_call", [True, False])
    def test_update_takes_the_place_of_the_old_one(self, store: Store, by_call: bool) -> None:
        known = saved(store, PORT)
        other = store.save("The cat sleeps", vector=vector_at(BASE, 0.2))
        if not by_call:
            store.set(("guard.on_update", "supersede"))
        actions = {Verdict.UPDATE: Action.SUPERSEDE} if by_call else {}
        answer = near(store, PORT.replace("8080", "8081"), actions=actions)
        assert answer.superseded_ids == (known,)
        old = store.one(known)
        assert (old.status, old.superseded_by) == (Status.SUPERSEDED, answer.memory_id)
        assert store.one(other).status is Status.ACTIVE
        assert [link.type for link in answer.links] == [LinkType.UPDATES]
        assert near(store, PORT, 0.99).saved, "what is superseded refuses nobody"

    def test_supersede_takes_the_nearest_alone(self, store: Store) -> None:
        far = store.save("The port is 1", vector=vector_at(BASE, 0.85))
        close = store.save("The port is 2", vector=BASE)
        answer = near(store, "The port is 3", 0.95, actions={Verdict.UPDATE: Action.SUPERSEDE})
        assert answer.superseded_ids == (close,)
        assert store.one(far).status is Status.ACTIVE

    def test_call_in_place_of_the_policy_refuses(self, store: Store) -> None:
        saved(store, PORT)
        answer = near(store, PORT.replace("8080", "8081"), actions={Verdict.UPDATE: Action.REFUSE})
        assert not answer.saved

    def test_supersede_is_undone_with_its_operation(self, store: Store) -> None:
        known = saved(store, PORT, external_id="one")
        taken = remember(PORT.replace("8080", "8081"), vector=BASE, external_id="one")
        store.set(("guard.on_update", "supersede"))
        with pytest.raises(Exception, match="external id"):
            store.do(taken)
        assert store.one(known).status is Status.ACTIVE

    def test_private_memory_of_another_agent_is_neither_read_nor_superseded(
        self, store: Store
    ) -> None:
        known = saved(store, PORT, private=True)
        answer = near(
            store,
            PORT.replace("8080", "8081"),
            agent="ben",
            actions={Verdict.UPDATE: Action.SUPERSEDE},
        )
        assert answer.guard.verdict is Verdict.NEW
        assert (answer.superseded_ids, answer.guard.similar) == ((), ())
        assert store.one(known).status is Status.ACTIVE

    def test_reopened_collection_knows_what_is_superseded(self, store: Store) -> None:
        known = saved(store, PORT)
        new = near(store, PORT.replace("8080", "8081"), actions={Verdict.UPDATE: Action.SUPERSEDE})
        store.reopen()
        assert store.one(known).superseded_by == new.memory_id


class TestTypedKeys:
    """One live value under one key, whatever the texts."""

    KEY = TypedKey("user", "favourite drink")

    def test_new_value_supersedes_the_old_one(self, store: Store) -> None:
        first = store.save("Coffee", key=self.KEY)
        answer: Remembered = store.do(remember("She switched to green tea", key=self.KEY))
        assert answer.saved
        assert answer.guard.verdict is Verdict.UPDATE
        assert answer.superseded_ids == (first,)
        assert {layer.skipped_because for layer in answer.guard.layers} == {"typed key"}
        old = store.one(first)
        assert (old.status, old.superseded_by) == (Status.SUPERSEDED, answer.memory_id)

    def test_equal_text_under_the_key_is_a_duplicate(self, store: Store) -> None:
        first = store.save("Coffee", key=self.KEY)
        answer = store.do(remember("Coffee", key=TypedKey("User ", "Favourite  drink")))
        assert (answer.saved, answer.memory_id) == (False, first)

    def test_equal_text_under_another_key_is_kept(self, store: Store) -> None:
        store.save("Coffee", key=self.KEY)
        answer = store.do(remember("Coffee", key=TypedKey("user", "smell she hates")))
        assert answer.saved
        assert answer.superseded_ids == ()
        assert store.do(remember("Coffee", vector=vector_of("other"))).saved

    def test_key_survives_reopening(self, store: Store) -> None:
        first = store.save("Coffee", key=self.KEY)
        store.reopen()
        assert store.one(first).fields.key == self.KEY
        assert store.do(remember("Tea", key=self.KEY)).superseded_ids == (first,)

    def test_private_value_of_another_agent_is_left_alone(self, store: Store) -> None:
        first = store.save("Coffee", key=self.KEY, private=True)
        answer = store.do(remember("Tea", key=self.KEY, agent="ben"))
        assert answer.superseded_ids == ()
        assert store.one(first).status is Status.ACTIVE

    def test_new_value_supersedes_a_private_and_a_public_one(self, store: Store) -> None:
        own = store.save("Coffee", key=self.KEY, private=True)
        theirs = store.save("Tea", key=self.KEY, agent="ben")
        answer = store.do(remember("Milk", key=self.KEY))
        assert set(answer.superseded_ids) == {own, theirs}
        assert {store.one(memory_id).superseded_by for memory_id in (own, theirs)} == {
            answer.memory_id
        }

    def test_private_value_that_turns_public_supersedes_the_public_one(self, store: Store) -> None:
        own = store.save("Coffee", key=self.KEY, private=True)
        theirs = store.save("Tea", key=self.KEY, agent="ben")
        store.do(update(own, importance=5))
        assert store.one(theirs).status is Status.ACTIVE
        answer = store.apply(update(own, private=False))
        old = store.one(theirs)
        assert (old.status, old.superseded_by) == (Status.SUPERSEDED, own)
        assert answer.results[0].memory.status is Status.ACTIVE
        store.do(undo(answer.revision))
        assert store.one(theirs).status is Status.ACTIVE
        assert store.one(own).fields.private

    def test_operation_that_fails_leaves_the_key_with_the_old_value(self, store: Store) -> None:
        first = store.save("Coffee", key=self.KEY, external_id="taken")
        with pytest.raises(Exception, match="taken"):
            store.do(remember("Tea", key=self.KEY, external_id="taken"))
        assert store.do(remember("Milk", key=self.KEY)).superseded_ids == (first,)

    @pytest.mark.parametrize(
        ("fields", "field"),
        [
            ({"key": TypedKey("", "drink")}, "memory.key.subject"),
            ({"key": TypedKey("user", "x" * 257)}, "memory.key.attribute"),
        ],
    )
    def test_bad_key_is_refused(self, store: Store, fields: dict[str, Any], field: str) -> None:
        error = store.refused(remember("Tea", **fields), InvalidArgument)
        assert error.details["field"] == field

    def test_log_takes_no_key(self, store: Store) -> None:
        command = remember("Tea", key=self.KEY)
        fields = type(command.fields)(key=self.KEY, kind=Kind.EVENT, state_kind="")
        with pytest.raises(InvalidArgument):
            store.do(type(command)("anna", "Tea", fields, command.vector))


def test_source_presets_read_nothing(store: Store) -> None:
    store.set(("guard.preset", "ego"))
    saved(store, PORT)
    answer = near(store, PORT.replace("8080", "8081"), 0.96)
    assert not answer.saved
    assert answer.guard.duplicate is not None
    assert answer.guard.duplicate.judgement is None


@pytest.mark.parametrize(
    ("new", "read"),
    [
        ("Every monday the night shift counts spare batteries beside the northern gate", False),
        ("On mondays the night shift counts spare parts for the staging server", True),
        ("Nobody sleeps", True),
    ],
)
def test_text_with_other_words_is_shown_without_being_read(store, new: str, read: bool) -> None:
    """Unless there are so few that a synonym or two would make the difference."""
    other = saved(store, "Nobody rests" if new == "Nobody sleeps" else PORT)
    found = near(store, new, 0.72)
    (similar,) = found.guard.similar
    assert (similar.memory_id, similar.judgement is not None) == (other, read)
    assert found.guard.verdict in (Verdict.RELATED, Verdict.UPDATE, Verdict.CONTRADICTION)
    assert read or found.guard.verdict is Verdict.RELATED
