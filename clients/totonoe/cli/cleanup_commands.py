"""Commands that clean up by rule: end-session, clean-up, decay."""

from __future__ import annotations

from typing import Annotated

import typer

from totonoe.cli import options, output_cleanup
from totonoe.cli.plain import plain
from totonoe.cli.session import Session, shared

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")]


def register(app: typer.Typer) -> None:
    """Joins these commands to `app`."""
    app.command("end-session")(shared(end_session))
    app.command("clean-up")(shared(clean_up))
    app.command()(shared(decay))


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
        typer.Option(help="jaccard, cosine, or verdict: both texts are read. Default: jaccard."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Similarity to be exceeded. Default: 0.5, for cosines 0.85 and 0.75."),
    ] = None,
    dry_run: DryRun = False,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Put one memory in the place of those that a session said several times over."""
    with session.client() as client:
        answer = client.end_session(
            session_id,
            by=by,
            measure=measure,
            threshold=threshold,
            dry_run=dry_run,
            reason=reason,
            operation_id=operation_id,
        )
    session.show(plain(answer), lambda: output_cleanup.session_ended(answer))


def clean_up(
    session: Session,
    apply: Annotated[
        bool, typer.Option("--apply", help="Supersede them. Otherwise they are only told.")
    ] = False,
    limit: Annotated[int, typer.Option(help="How many at most, 1 to 200.")] = 200,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Find live memories that are exactly equal, and supersede all but one with --apply."""
    with session.client() as client:
        answer = client.clean_up_duplicates(
            apply=apply, limit=limit, reason=reason, operation_id=operation_id
        )
    session.show(plain(answer), lambda: output_cleanup.cleaned_up(answer))


def decay(
    session: Session,
    close_below: Annotated[
        float | None,
        typer.Option(help="Close what has less effective confidence. Default: only report."),
    ] = None,
    dry_run: DryRun = False,
    limit: Annotated[int, typer.Option(help="How many to close at most, 1 to 1,000.")] = 1000,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Tell what has faded, and close what lies below --close-below."""
    with session.client() as client:
        answer = client.decay(
            close_below=close_below,
            dry_run=dry_run,
            limit=limit,
            reason=reason,
            operation_id=operation_id,
        )
    session.show(plain(answer), lambda: output_cleanup.decayed(answer))
