"""Questions are derived from links, and Resolve answers them in one operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from support.engines import (
    Store,
    contents,
    dismiss,
    forget,
    undo,
    update,
    vector_at,
    vector_of,
)
from support.likelihood import Likelihood
from totonoe_core.base.errors import InvalidArgument, NotFound, Precondition, StaleRevision
from totonoe_core.domain.questions import Answer, QuestionPage, QuestionsQuery, Resolve, Resolved
from totonoe_core.domain.records import Status

BACKUP, NIGHTLY, DAILY = "The backup runs at night", "The backup runs nightly", "It runs daily"
NEAR = vector_of(BACKUP)


@pytest.fixture
def store(store: Store, likelihood: Likelihood) -> Store:
    likelihood.say(BACKUP, NIGHTLY, 0.9)
    likelihood.say(BACKUP, DAILY, 0.8)
    likelihood.say(NIGHTLY, DAILY, 0.7)
    return store


def save(store: Store, text: str, **more: Any) -> str:
    vector = NEAR if text == BACKUP else vector_at(NEAR, 0.9, seed=len(text))
    return store.save(text, vector=vector, **more)


def asked(store: Store, agent: str = "anna", **more: Any) -> QuestionPage:
    return store.read(QuestionsQuery(agent, **more))


def pairs(store: Store, agent: str = "anna", **more: Any) -> list[tuple[str, str]]:
    """The texts of all open questions, page by page."""
    pages = store.pages(QuestionsQuery(agent, **more))
    return [
        (question.a.content, question.b.content) for page in pages for question in page.questions
    ]


def resolve(one: str, other: str, answer: Answer, **more: Any) -> Resolve:
    return Resolve(more.pop("agent", "anna"), one, other, answer, **more)


# -- Questions


def test_questions_come_by_probability_page_by_page(store: Store) -> None:
    for text in (BACKUP, NIGHTLY, DAILY):
        save(store, text)
    expected = [(BACKUP, NIGHTLY), (BACKUP, DAILY), (NIGHTLY, DAILY)]
    assert pairs(store) == expected
    assert pairs(store, page_size=1) == expected
    (first, *_) = asked(store).questions
    assert (first.same_probability, bool(first.version)) == (0.9, True)
    assert store.stats().open_question_count == 3


def test_questions_about_one_memory_leave_out_the_others(store: Store) -> None:
    first, _, third = (save(store, text) for text in (BACKUP, NIGHTLY, DAILY))
    assert pairs(store, memory_id=third) == [(BACKUP, DAILY), (NIGHTLY, DAILY)]
    assert pairs(store, memory_id=first, page_size=1) == [(BACKUP, NIGHTLY), (BACKUP, DAILY)]
    with pytest.raises(NotFound):
        asked(store, memory_id="mem_000000000000")
    with pytest.raises(InvalidArgument, match="page_size"):
        asked(store, page_size=101)


def test_page_token_of_another_question_or_forged_is_refused(store: Store) -> None:
    first = save(store, BACKUP)
    save(store, NIGHTLY)
    save(store, DAILY)
    token = asked(store, page_size=1).next_page_token
    for wrong in ({"memory_id": first, "page_token": token}, {"page_token": "x"}):
        with pytest.raises(InvalidArgument, match="page_token"):
            asked(store, **wrong)


CLOSING: dict[str, Callable[[Store, str, str], None]] = {
    "forgotten": lambda store, one, _: store.do(forget(one)),
    "dismissed": lambda store, one, other: store.do(dismiss(one, other)),
    "made private": lambda store, one, _: store.do(update(one, private=True)),
    "same": lambda store, one, other: store.do(resolve(one, other, Answer.SAME)),
    "different": lambda store, one, other: store.do(resolve(one, other, Answer.DIFFERENT)),
    "replaces": lambda store, one, other: store.do(resolve(one, other, Answer.REPLACES)),
    "replaced by": lambda store, one, other: store.do(resolve(one, other, Answer.REPLACED_BY)),
}


@pytest.mark.parametrize("close", CLOSING.values(), ids=CLOSING)
def test_what_closes_a_question_is_undone_to_open_it_again(
    store: Store, close: Callable[[Store, str, str], None]
) -> None:
    one, other = save(store, BACKUP), save(store, NIGHTLY)
    close(store, one, other)
    assert pairs(store, "bert") == []
    assert store.stats("bert").open_question_count == 0
    store.do(undo(store.revision))
    assert pairs(store, "bert") == [(BACKUP, NIGHTLY)]


def test_question_about_a_private_memory_is_its_owners(store: Store) -> None:
    save(store, BACKUP)
    save(store, NIGHTLY, agent="bert", private=True)
    assert pairs(store) == []
    assert pairs(store, "bert") == [(BACKUP, NIGHTLY)]


def test_dismissal_holds_while_the_texts_stay(store: Store) -> None:
    one, other = save(store, BACKUP), save(store, NIGHTLY)
    store.do(dismiss(one, other))
    store.do(update(other, content=DAILY, vector=vector_at(NEAR, 0.9, seed=3)))
    assert pairs(store) == [(BACKUP, DAILY)]


def test_questions_survive_a_restart(store: Store) -> None:
    save(store, BACKUP)
    save(store, NIGHTLY)
    store.reopen()
    assert pairs(store) == [(BACKUP, NIGHTLY)]


# -- Answers


def test_same_keeps_the_one_that_consolidate_would_keep(store: Store) -> None:
    one, other = save(store, BACKUP), save(store, NIGHTLY, confidence=0.9)
    done: Resolved = store.do(resolve(one, other, Answer.SAME))
    assert (done.resolved, done.memory.id, done.closed_id) == (True, other, one)
    gone = store.one(one)
    assert (gone.status, gone.superseded_by) == (Status.SUPERSEDED, other)


@pytest.mark.parametrize("answer", Answer, ids=str)
def test_dry_run_answers_as_the_resolve_and_changes_nothing(store: Store, answer: Answer) -> None:
    one, other = save(store, BACKUP), save(store, NIGHTLY)
    before, revision = contents(store), store.revision
    command = resolve(one, other, answer)
    planned: Resolved = store.preview(command).answer
    assert (contents(store), store.revision) == (before, revision)
    done: Resolved = store.do(command)
    assert planned.memory.id == done.memory.id
    assert (planned.resolved, planned.closed_id) == (done.resolved, done.closed_id)
    assert planned.lost == done.lost
    assert [lost.text for lost in done.lost] == (["at night"] if answer is Answer.SAME else [])


def test_same_with_a_text_passes_the_guard(store: Store) -> None:
    one, other = save(store, BACKUP), save(store, NIGHTLY)
    third = store.save("The lamp is red")
    refused = resolve(one, other, Answer.SAME, content="The lamp is red")
    refused = replace(refused, vector=vector_of("The lamp is red").tobytes())
    done: Resolved = store.do(refused)
    assert not done.resolved
    assert done.guard is not None and done.guard.duplicate is not None
    assert done.guard.duplicate.memory_id == third
    assert pairs(store) == [(BACKUP, NIGHTLY)], "nothing was changed"
    text = "The backup runs every night"
    done = store.do(replace(refused, content=text, vector=vector_at(NEAR, 0.95).tobytes()))
    assert (done.resolved, done.memory.content) == (True, text)


@pytest.mark.parametrize(
    ("answer", "stays"), [(Answer.REPLACES, 0), (Answer.REPLACED_BY, 1)], ids=str
)
def test_the_one_that_is_true_takes_the_place_of_the_other(
    store: Store, answer: Answer, stays: int
) -> None:
    ids = save(store, BACKUP), save(store, NIGHTLY)
    done: Resolved = store.do(resolve(*ids, answer))
    assert (done.memory.id, done.closed_id) == (ids[stays], ids[1 - stays])
    assert store.one(ids[1 - stays]).superseded_by == ids[stays]


def test_different_counts_for_calibration(store: Store) -> None:
    one, other = save(store, BACKUP), save(store, NIGHTLY)
    store.do(resolve(one, other, Answer.DIFFERENT))
    assert store.do(dismiss(one, other)).changed is False


def test_two_memories_need_no_question_to_be_resolved(store: Store) -> None:
    one, other = store.save("The lamp is red"), store.save("The chair is old")
    assert store.do(resolve(one, other, Answer.REPLACES)).closed_id == other


def test_loser_of_a_race_hears_which_operation_won(store: Store) -> None:
    one, other = save(store, BACKUP), save(store, NIGHTLY)
    revisions = {
        "expected_revision": store.one(one).revision,
        "other_expected_revision": store.one(other).revision,
    }
    store.do(resolve(one, other, Answer.REPLACES, **revisions), operation_id="first")
    with pytest.raises(StaleRevision, match="first") as raised:
        store.do(resolve(one, other, Answer.SAME, agent="bert", **revisions))
    assert raised.value.details["operation_id"] == "first"
    assert store.one(one).status is Status.ACTIVE


def test_wrong_pairs_are_refused_and_change_nothing(store: Store) -> None:
    one, other = save(store, BACKUP), save(store, NIGHTLY)
    hidden = store.save("The safe is green", agent="anna", private=True)
    revision = store.revision
    with pytest.raises(InvalidArgument, match="another memory"):
        store.do(resolve(one, one, Answer.SAME))
    with pytest.raises(InvalidArgument, match="content"):
        store.do(resolve(one, other, Answer.DIFFERENT, content="both"))
    with pytest.raises(InvalidArgument, match="private"):
        store.do(resolve(hidden, one, Answer.REPLACES))
    with pytest.raises(NotFound):
        store.do(resolve(one, hidden, Answer.REPLACES, agent="bert"))
    assert store.revision == revision
    store.do(forget(other))
    with pytest.raises(Precondition):
        store.do(resolve(one, other, Answer.SAME))


def test_repeated_resolve_answers_as_before(store: Store) -> None:
    one, other = save(store, BACKUP), save(store, NIGHTLY)
    command = resolve(one, other, Answer.REPLACES)
    first = store.apply(command, operation_id="once")
    again = store.apply(command, operation_id="once")
    assert (again.replayed, again.results) == (True, first.results)
