"""Answers about pairs that somebody is asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from totonoe.cli.printing import line
from totonoe.cli.show.parts import (
    answer_replaces,
    answer_review,
    answer_with,
    judgement,
    repeated,
    replay,
)
from totonoe.cli.stepping import again, step
from totonoe.enums import Answer, QuestionKind, ReviewAnswer
from totonoe.words.parts import no_longer_said
from totonoe.words.text import age, shown_similarity, sourced

if TYPE_CHECKING:
    from totonoe.questions.models import Question, QuestionPage, Resolved, Reviewed

ANSWERS = "|".join(choice for choice in Answer if choice is not Answer.UNKNOWN)
"""The words that answer a question, as every client takes and prints them."""


def questions(answer: QuestionPage) -> None:
    """Print a page of questions, and how to answer them."""
    if not answer.questions and not answer.pending:
        line("No open questions.")
        return
    if answer.pending:
        _pending(answer)
    if not answer.questions:
        return
    for item in answer.questions:
        question(item)
    first = answer.questions[0]
    if first.kind is QuestionKind.REPLACES:
        answer_replaces(first.b.id, first.a.id)
    else:
        # The newer one first, as after a save: it is the one that may replace the other.
        answer_with(first.b.id, first.a.id)
    line(f"On a page, by keys: {step('console')}")
    if answer.next_page_token:
        line(f"More with: {again(page=answer.next_page_token)}")


def _pending(answer: QuestionPage) -> None:
    """Print what waits for a review, and how to confirm or reject it."""
    line(f"Waiting for a review: {answer.pending_count}")
    for memory in answer.pending:
        text = sourced(memory, memory.content)
        line(f"  [{age(memory.created_time)}] {text} (id: {memory.id})")
    answer_review(answer.pending[0].id)
    if answer.pending_count > len(answer.pending):
        line(f"All of them: {step('list', '--status', 'pending')}")


def reviewed(answer: Reviewed, said: ReviewAnswer) -> None:
    """Print what became of a memory that waited for a review, and how to undo it."""
    if answer.duplicate is not None and not answer.reviewed:
        line("Not confirmed — very similar memory already exists.")
        repeated(answer.duplicate)
        line(f"Reject it with: {step('review', answer.memory.id, 'reject')}")
        return
    if said is ReviewAnswer.REJECT:
        line(f"Rejected: {answer.memory.id} is forgotten.")
    else:
        line(f"Confirmed: {answer.memory.id} is a memory like others now.")
        for superseded_id in answer.superseded_ids:
            line(f"It takes the place of {superseded_id}.")
        for other_id in answer.maybe_replaced_ids:
            line(f"Does it replace {other_id}?")
            answer_replaces(answer.memory.id, other_id)
    replay(answer.replayed)
    line(f"Take it back with: {step('undo', answer.revision)}")


def question(question: Question) -> None:
    """Print what is asked, both texts, and the evidence."""
    if question.kind is QuestionKind.REPLACES:
        line("- Does the second replace the first?")
    else:
        line(f"- Probably the same ({shown_similarity(question.same_probability)}):")
    for memory in (question.a, question.b):
        text = sourced(memory, memory.content)
        line(f"  [{age(memory.created_time)}] {text} (id: {memory.id})")
    only = ("only in the second", "only in the first")
    asked, read = (
        shown_similarity(probability)
        for probability in (question.same_probability, question.judgement.same_probability)
    )
    apart = question.kind is QuestionKind.SAME and asked != read
    judgement(question.judgement, "  ", only, "By the words alone" if apart else "Verdict")


def resolved(answer: Resolved, said: Answer) -> None:
    """Print the result of an answer, and how to undo it."""
    if answer.duplicate is not None and not answer.resolved:
        line("Not resolved — very similar memory already exists.")
        repeated(answer.duplicate)
        return
    if said is Answer.DIFFERENT:
        verb = "would be" if answer.dry_run else "is"
        line(f"Different: nobody {verb} asked again, until one of the two texts changes.")
    elif said is Answer.SAME:
        verb = "would be" if answer.dry_run else "is"
        line(f"Same: {answer.closed_id} {verb} superseded by {answer.memory.id}:")
        line(answer.memory.content)
        for warning in no_longer_said(answer.lost):
            line(warning)
    else:
        verb = "would take" if answer.dry_run else "takes"
        line(f"{answer.memory.id} {verb} the place of {answer.closed_id}.")
    replay(answer.replayed)
    if not answer.dry_run:
        line(f"Take it back with: {step('undo', answer.revision)}")
