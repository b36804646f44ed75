"""Texts that wait for a review: saved pending, found only if asked for, confirmed or rejected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.engines import (
    DAY_US,
    Store,
    change,
    forget,
    link,
    merge,
    opened,
    remember,
    undo,
    update,
    vector_at,
    vector_of,
)
from totonoe_core.base.errors import InvalidArgument, NotFound, Precondition, StaleRevision
from totonoe_core.domain.cleanup import CleanUpDuplicates, Decay
from totonoe_core.domain.filter import NO_FILTER, Filter
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.queries import OperationFilter, OperationsQuery, RecallQuery
from totonoe_core.domain.questions import (
    QuestionPage,
    QuestionsQuery,
    Review,
    ReviewAnswer,
    Reviewed,
)
from totonoe_core.domain.records import Kind, LinkType, Source, StateKind, Status, TypedKey
from totonoe_core.domain.tidy import Tidy

PORT = "The staging database listens on port 5433."
OTHER_PORT = "The staging database listens on port 5434."
WAITING = Filter(statuses=(Status.PENDING,))
EITHER = Filter(statuses=(Status.ACTIVE, Status.PENDING))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A collection in which what tools and strangers say is reviewed."""
    with opened(tmp_path / "data") as store:
        store.do(change(("guard.review_from", "tool")))
        yield store


def near(text: str) -> Any:
    """A vector near that of PORT."""
    return vector_of(PORT) if text == PORT else vector_at(vector_of(PORT), 0.97)


def saving(text: str = PORT, source: Source = Source.EXTERNAL, **more: Any) -> Remember:
    return remember(text, vector=near(text), source=source, **more)


def waiting(store: Store, text: str = PORT, **more: Any) -> str:
    """Id of a text that was saved pending."""
    answer = store.do(saving(text, **more))
    assert (answer.saved, answer.pending, answer.links) == (True, True, ())
    found: str = answer.memory_id
    return found


def review(store: Store, memory_id: str, answer: ReviewAnswer, **more: Any) -> Reviewed:
    done = store.do(Review("anna", memory_id, answer, **more))
    assert isinstance(done, Reviewed)
    return done


def found(store: Store, where: Filter = NO_FILTER) -> set[str]:
    query = RecallQuery("anna", "which port", vector_of(PORT).tobytes(), k=9, filter=where)
    return {hit.memory.id for hit in store.recall(query).hits}


def listed(store: Store, agent: str = "anna", **more: Any) -> QuestionPage:
    return store.read(QuestionsQuery(agent, **more))


def status(store: Store, memory_id: str) -> Status:
    return store.one(memory_id).status


@pytest.mark.parametrize(
    ("level", "pending"),
    [
        (None, set()),
        ("external", {Source.EXTERNAL}),
        ("tool", {Source.EXTERNAL, Source.TOOL}),
        ("agent", {Source.EXTERNAL, Source.TOOL, Source.AGENT}),
        ("user", set(Source)),
    ],
)
def test_policy_reviews_a_source_and_less_trusted_ones(
    store: Store, level: str | None, pending: set[Source]
) -> None:
    store.do(change(("guard.review_from", level), ("guard.preset", "standard")))
    saved = {
        source: store.do(remember(f"A remark about the {source.value} pump", source=source))
        for source in Source
    }
    assert {source for source, answer in saved.items() if answer.pending} == pending
    statuses = {source: status(store, answer.memory_id) for source, answer in saved.items()}
    assert {source for source in Source if statuses[source] is Status.PENDING} == pending


def test_pending_memory_is_found_only_by_who_asks_for_it(store: Store) -> None:
    known = store.save("Which port? Ask Ana.", vector=near("x"))
    page = waiting(store)
    for _ in range(2):
        assert found(store) == {known}
        assert found(store, WAITING) == {page}
        assert found(store, EITHER) == {known, page}
        assert [memory.id for memory in store.list("anna", WAITING)] == [page]
        store.reopen()


def test_guard_neither_shows_nor_refuses_by_what_waits(store: Store) -> None:
    page = waiting(store)
    own = store.do(saving(OTHER_PORT, Source.USER))
    assert (own.saved, own.pending, own.guard.similar, own.links) == (True, False, (), ())
    same = store.do(saving(PORT, Source.USER))
    assert same.saved, "what nobody confirmed keeps no trusted text out"
    assert status(store, page) is Status.PENDING


def test_second_text_that_would_wait_is_refused_and_says_that_it_waits(store: Store) -> None:
    page = waiting(store)
    again = store.do(saving())
    assert (again.saved, again.pending, again.memory_id) == (False, False, page)
    duplicate = again.guard.duplicate
    assert (duplicate.pending, duplicate.source) == (True, Source.EXTERNAL)
    assert store.do(saving(force=True)).pending
    assert store.do(saving(payload='{"port": 1}')).pending, "another value"


def test_text_that_would_wait_and_repeats_a_live_memory_is_refused_as_ever(store: Store) -> None:
    known = store.save(PORT)
    answer = store.do(saving())
    assert (answer.saved, answer.memory_id) == (False, known)
    assert not answer.guard.duplicate.pending


def test_text_that_waits_replaces_nothing(store: Store) -> None:
    key = TypedKey("staging", "port")
    told = store.save(PORT, key=key, source=Source.EXTERNAL, force=True)
    review(store, told, ReviewAnswer.CONFIRM)
    waiting(store, OTHER_PORT, key=key)
    assert status(store, told) is Status.ACTIVE
    error = store.refused(replace(saving("Port 1."), supersede_ids=(told,)), InvalidArgument)
    assert (error.reason, error.details["field"]) == ("REVIEW_FIRST", "supersede_ids")


def test_confirmed_memory_is_one_like_others(store: Store) -> None:
    known = store.save(OTHER_PORT, vector=near(OTHER_PORT))
    page = waiting(store)
    done = review(store, page, ReviewAnswer.CONFIRM, reason="checked")
    assert (done.reviewed, done.memory.status) == (True, Status.ACTIVE)
    assert {link.target_id: link.type for link in done.memory.links} == {known: LinkType.UPDATES}
    for _ in range(2):
        assert found(store) == {known, page}
        assert not store.do(saving(PORT, Source.AGENT)).saved, "it refuses a repeat now"
        store.reopen()
    query = OperationsQuery("anna", OperationFilter(memory_id=page), 1, "")
    (operation,) = store.read(query).operations
    assert (operation.kind, operation.reason) == ("Review", "checked")


def test_confirmed_text_replaces_by_key_and_asks_as_a_save_does(store: Store) -> None:
    key = TypedKey("staging", "port")
    told = store.save(PORT, source=Source.USER, key=key)
    first = waiting(store, OTHER_PORT, key=key)
    review(store, first, ReviewAnswer.CONFIRM)
    assert status(store, told) is Status.ACTIVE, "it is more trusted"
    assert [(question.b.id, question.a.id) for question in listed(store).questions] == [
        (first, told)
    ]
    second = waiting(store, "It is port 6000.", key=key)
    assert review(store, second, ReviewAnswer.CONFIRM).superseded_ids == (first,)


def test_confirming_what_a_live_memory_says_names_it_and_changes_nothing(store: Store) -> None:
    page = waiting(store)
    known = store.save(PORT, source=Source.USER)
    done = review(store, page, ReviewAnswer.CONFIRM)
    assert not done.reviewed and done.guard is not None and done.guard.duplicate is not None
    assert done.guard.duplicate.memory_id == known
    assert status(store, page) is Status.PENDING
    assert review(store, page, ReviewAnswer.REJECT).reviewed


def test_rejected_memory_is_forgotten_with_its_reason(store: Store) -> None:
    page = waiting(store)
    done = review(store, page, ReviewAnswer.REJECT, reason="spam")
    assert (done.reviewed, done.memory.status) == (True, Status.FORGOTTEN)
    assert found(store, EITHER) == set()
    again = store.do(saving())
    assert again.guard.forgotten.reason == "spam"


@pytest.mark.parametrize("answer", list(ReviewAnswer))
def test_review_is_undone_and_repeated(store: Store, answer: ReviewAnswer) -> None:
    known = store.save(OTHER_PORT, vector=near(OTHER_PORT))
    page = waiting(store)
    for number in range(2):
        command = Review("anna", page, answer)
        store.apply(command, operation_id=f"review-{number}")
        assert store.apply(command, operation_id=f"review-{number}").replayed
        store.do(undo(f"review-{number}"))
        store.reopen()
        assert status(store, page) is Status.PENDING
        assert store.one(page).links == store.one(known).links == ()
        assert [memory.id for memory in listed(store).pending] == [page]


def test_undo_of_the_save_takes_a_pending_memory_away_and_back(store: Store) -> None:
    page = store.apply(saving(), operation_id="saved").results[0].memory_id
    store.apply(undo("saved"), operation_id="away")
    assert status(store, page) is Status.FORGOTTEN
    store.do(undo("away"))
    assert status(store, page) is Status.PENDING


def test_only_a_pending_memory_is_reviewed(store: Store) -> None:
    page, own = waiting(store), store.save(OTHER_PORT)
    with pytest.raises(Precondition) as caught:
        review(store, own, ReviewAnswer.CONFIRM)
    assert (caught.value.reason, caught.value.details["status"]) == ("NOT_PENDING", "active")
    with pytest.raises(NotFound):
        review(store, "mem_0000000000000000", ReviewAnswer.REJECT)
    with pytest.raises(StaleRevision):
        review(store, page, ReviewAnswer.CONFIRM, expected_revision=1)
    review(store, page, ReviewAnswer.CONFIRM, expected_revision=store.one(page).revision)
    with pytest.raises(Precondition, match="waits for no review"):
        review(store, page, ReviewAnswer.REJECT)


def test_other_writes_leave_a_pending_memory_to_its_review(store: Store) -> None:
    page, own = waiting(store), store.save("Something else.")
    for command in (update(page, importance=5), link(own, page), merge(own, page)):
        with pytest.raises(Precondition, match="is pending, not active"):
            store.do(command)
    store.do(forget(page))
    assert status(store, page) is Status.FORGOTTEN


def test_private_pending_memory_is_its_agents_alone(store: Store) -> None:
    page = waiting(store, private=True)
    assert [memory.id for memory in listed(store).pending] == [page]
    assert (listed(store, "ben").pending, listed(store, "ben").pending_count) == ((), 0)
    with pytest.raises(NotFound):
        store.do(Review("ben", page, ReviewAnswer.CONFIRM))
    assert waiting_of(store, "ben") != page


def waiting_of(store: Store, agent: str) -> str:
    """Id of the same text, saved by another agent."""
    answer = store.do(replace(saving(), agent_id=agent))
    assert answer.pending
    found: str = answer.memory_id
    return found


def test_questions_have_the_oldest_first_and_count_all(store: Store) -> None:
    pages = [waiting(store, f"{PORT} Page {number}.") for number in range(3)]
    top = listed(store, page_size=2)
    assert ([memory.id for memory in top.pending], top.pending_count) == (pages[:2], 3)
    about = listed(store, memory_id=pages[2])
    assert ([memory.id for memory in about.pending], about.pending_count) == (pages[2:], 1)
    own = store.save("Something else.")
    assert listed(store, memory_id=own).pending == ()


def test_clean_up_decay_and_tidying_leave_what_waits_alone(store: Store) -> None:
    pages = {waiting(store), waiting(store, force=True)}
    store.clock.advance(400 * DAY_US)
    assert store.do(CleanUpDuplicates("anna")).duplicates == ()
    assert store.do(Decay("anna", close_below=0.5)).closed == ()
    assert store.do(Tidy("anna")).clusters == ()
    assert {memory.id for memory in store.list("anna", WAITING)} == pages


def test_pending_memory_expires(store: Store) -> None:
    page = waiting(store, expires_us=store.clock.now_us + DAY_US)
    store.clock.advance(2 * DAY_US)
    assert listed(store).pending == ()
    with pytest.raises((NotFound, Precondition)):
        review(store, page, ReviewAnswer.CONFIRM)


def test_preset_does_not_switch_the_review_off(store: Store) -> None:
    store.do(change(("guard.preset", "ego")))
    assert store.do(saving()).pending
    store.do(change(("guard.review_from", None)))
    assert not store.do(saving("Port 1.")).pending


def test_verdict_of_a_confirmed_text_acts_as_the_policy_says(store: Store) -> None:
    store.do(change(("guard.on_update", "supersede")))
    known = store.save(OTHER_PORT, vector=near(OTHER_PORT), source=Source.AGENT)
    page = waiting(store)
    assert review(store, page, ReviewAnswer.CONFIRM).superseded_ids == ()
    assert [(question.b.id, question.a.id) for question in listed(store).questions] == [
        (page, known)
    ]


def test_log_that_waits_is_confirmed_like_a_state(store: Store) -> None:
    page = waiting(store, kind=Kind.EVENT, state_kind=StateKind.NONE)
    assert review(store, page, ReviewAnswer.CONFIRM).memory.status is Status.ACTIVE
