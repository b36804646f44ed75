"""Commands about memories that somebody is asked about: questions, resolve, review."""

from __future__ import annotations

from typing import Annotated

import typer

from totonoe.cli import options
from totonoe.cli.extensions import Panel, add
from totonoe.cli.session import ExitCode, Session
from totonoe.cli.show import questions as show
from totonoe.cli.show.questions import ANSWERS
from totonoe.enums import Answer, ReviewAnswer
from totonoe.words.plain import plain


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(app, Panel.TIDY_UP, questions, resolve, review)


def questions(
    session: Session,
    about: Annotated[
        str, typer.Option("--about", metavar="ID", help="Only questions about this memory.")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=100, help="At most so many.")] = 20,
    page: Annotated[str, typer.Option(metavar="TOKEN", help="Continue after this page.")] = "",
) -> None:
    """List what waits for an answer.

    Memories that wait for a review, then pairs of which one may replace the other, or both
    probably say the same.
    """
    with session.client() as client:
        answer = client.list_questions(
            memory_id=about, weights=True, page_size=limit, page_token=page
        )
    session.show(plain(answer), lambda: show.questions(answer))


def review(
    session: Session,
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="A memory that waits.")],
    answer: Annotated[
        str,
        typer.Argument(
            metavar="ANSWER",
            help="confirm: it becomes a memory like others. reject: it is forgotten.",
        ),
    ],
    reason: options.Reason = "",
    expected_revision: options.ExpectedRevision = 0,
    operation_id: options.OperationId = "",
) -> None:
    """Confirm or reject a memory that waits for a review.

    `totonoe questions` lists them, `totonoe undo` takes the answer back. Exit code 3 if a live
    memory already says the same.
    """
    allowed = [choice for choice in ReviewAnswer if choice is not ReviewAnswer.UNKNOWN]
    if answer not in allowed:
        raise ValueError(f"ANSWER: got {answer!r}, allowed: {', '.join(allowed)}")
    said = ReviewAnswer(answer)
    with session.client() as client:
        done = client.review(
            memory_id,
            said,
            reason=reason,
            expected_revision=expected_revision,
            operation_id=operation_id,
        )
    session.show(plain(done), lambda: show.reviewed(done, said))
    if not done.reviewed:
        raise typer.Exit(ExitCode.REPEATED)


def resolve(
    session: Session,
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="One memory.")],
    other_id: Annotated[str, typer.Argument(metavar="OTHER_ID", help="The other memory.")],
    answer: Annotated[
        str,
        typer.Argument(
            metavar="ANSWER",
            help="same: make them one. different: never ask again. replaces: ID takes the place "
            "of OTHER_ID. replaced_by: the other way round.",
        ),
    ],
    content: Annotated[
        str, typer.Option(help="With same: the text of the memory that stays.")
    ] = "",
    reason: options.Reason = "",
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show which memory would stay, and what it does not say."),
    ] = False,
    operation_id: options.OperationId = "",
) -> None:
    """Answer whether two memories say the same, or one replaces the other.

    `totonoe undo` opens the question again. Exit code 3 if the content repeats another memory.
    """
    if answer not in ANSWERS.split("|"):
        raise ValueError(f"ANSWER: got {answer!r}, allowed: {ANSWERS.replace('|', ', ')}")
    said = Answer(answer)
    with session.client() as client:
        done = client.resolve(
            memory_id,
            other_id,
            said,
            content=content,
            reason=reason,
            dry_run=dry_run,
            operation_id=operation_id,
        )
    session.show(plain(done), lambda: show.resolved(done, said))
    if not done.resolved:
        raise typer.Exit(ExitCode.REPEATED)
