"""Commands that clean up by rule: end-session, clean-up, decay."""

from __future__ import annotations

from typing import Annotated

import typer

from totonoe.cli import options
from totonoe.cli.extensions import Panel, add
from totonoe.cli.session import Session
from totonoe.cli.show import cleanup as show
from totonoe.words.plain import plain

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(app, Panel.TIDY_UP, end_session, clean_up, decay)


def end_session(
    session: Session,
    session_id: Annotated[
        str, typer.Argument(metavar="[SESSION]", help="Session id; none with --by agent.")
    ] = "",
    by: Annotated[
        str | None,
        typer.Option(help="session, or agent: your own memories of all. Default: session."),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(help="jaccard, cosine or verdict. Default: jaccard."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Group above this similarity. Default: 0.5, for cosine 0.85, for verdict 0.75."
        ),
    ] = None,
    dry_run: DryRun = False,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Replace memories that repeat each other within a session by one of them."""
    with session.client() as client:
        answer = client.end_session(
            session_id,
            by=options.word(by),
            measure=options.word(measure),
            threshold=threshold,
            dry_run=dry_run,
            reason=reason,
            operation_id=operation_id,
        )
    session.show(plain(answer), lambda: show.session_ended(answer))


def clean_up(
    session: Session,
    apply: Annotated[
        bool, typer.Option("--apply", help="Supersede them. Without it they are only listed.")
    ] = False,
    limit: Annotated[int, typer.Option(help="Maximum of duplicates, 1 to 200.")] = 200,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Find live memories that are exactly equal; --apply supersedes all but one."""
    with session.client() as client:
        answer = client.clean_up_duplicates(
            apply=apply, limit=limit, reason=reason, operation_id=operation_id
        )
    session.show(plain(answer), lambda: show.cleaned_up(answer))


def decay(
    session: Session,
    close_below: Annotated[
        float | None,
        typer.Option(help="Close memories with less effective confidence. Default: only report."),
    ] = None,
    dry_run: DryRun = False,
    limit: Annotated[int, typer.Option(help="Maximum to close, 1 to 1,000.")] = 1000,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Report memories that faded; --close-below closes them."""
    with session.client() as client:
        answer = client.decay(
            close_below=close_below,
            dry_run=dry_run,
            limit=limit,
            reason=reason,
            operation_id=operation_id,
        )
    session.show(plain(answer), lambda: show.decayed(answer))
