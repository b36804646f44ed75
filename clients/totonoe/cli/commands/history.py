"""Commands about what was done: history, operations, undo."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from totonoe.cli import options
from totonoe.cli.extensions import Panel, add
from totonoe.cli.options import since_until
from totonoe.cli.session import ExitCode, Session, error_json, print_json
from totonoe.cli.show import history as show
from totonoe.enums import UndoConflictKind
from totonoe.errors import TotonoeError, UndoRefused
from totonoe.words.plain import plain


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(app, Panel.UNDO_AND_HISTORY, history, operations, undo)


def history(
    session: Session,
    memory_id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the memory; also of a forgotten one.")
    ],
    show_all: Annotated[
        bool, typer.Option("--all", help="Show each version that only got automatic links.")
    ] = False,
    limit: options.Limit = 100,
    page_token: options.PageToken = "",
) -> None:
    """Show the versions of a memory, newest first, with who changed it and why."""
    with session.client() as client:
        page = client.history(memory_id, page_size=limit, page_token=page_token)
    session.show(plain(page), lambda: show.history(page, show_all))


def operations(
    session: Session,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="AGENT", help="Operations of this agent; may be repeated."),
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kind", help="Remember, Update, Forget, Undo ...; may be repeated."),
    ] = None,
    since: Annotated[str | None, typer.Option(help="At or after this time, ISO 8601.")] = None,
    until: Annotated[str | None, typer.Option(help="Before this time, ISO 8601.")] = None,
    memory: Annotated[str, typer.Option(metavar="ID", help="Only operations on this memory.")] = "",
    reason_contains: Annotated[
        str,
        typer.Option(metavar="TEXT", help="Operations with this text in the reason, case ignored."),
    ] = "",
    limit: options.Limit = 100,
    page_token: options.PageToken = "",
) -> None:
    """List the operations of a collection, newest first."""
    with session.client() as client:
        page = client.operations(
            agent_ids=by or (),
            kinds=kinds or (),
            time=since_until(since, until),
            memory_id=memory,
            reason_contains=reason_contains,
            page_size=limit,
            page_token=page_token,
        )
    session.show(plain(page), lambda: show.operations(page))


def undo(
    session: Session,
    target: Annotated[
        str,
        typer.Argument(
            metavar="REVISION|OPERATION_ID", help="Operation to reverse; digits are a revision."
        ),
    ],
    reason: options.Reason = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be reversed.")
    ] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Reverse only what did not change since.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Restore texts that other memories repeat now.")
    ] = False,
    operation_id: options.OperationId = "",
) -> None:
    """Reverse an operation.

    Exit code 1 if something changed since, 3 if a restored text repeats another memory.
    """
    what = int(target) if target.isdecimal() else target
    with session.client() as client:
        try:
            answer = client.undo(
                what,
                reason=reason,
                dry_run=dry_run,
                partial=partial,
                force=force,
                operation_id=operation_id,
            )
        except UndoRefused as error:
            try:
                conflicts = client.undo(what, force=force, dry_run=True).conflicts
            except TotonoeError:
                # What stood in the way is told by the error itself, in short.
                raise error from None
            if session.as_json:
                print_json({"error": error_json(error), "conflicts": plain(conflicts)})
            else:
                # The error itself names the first of them, in one long line.
                idle = {conflict.kind for conflict in conflicts} <= show.IDLE
                why = "undone already" if idle else "not undone, since something changed"
                typer.echo(f"Error: {why} (UNDO_CONFLICT)", err=True)
                show.conflicts(conflicts, partial, sys.stderr)
            raise typer.Exit(ExitCode.FAILED) from None
    session.show(plain(answer), lambda: show.undone(answer, partial))
    if answer.conflicts:
        repeats = all(conflict.kind is UndoConflictKind.DUPLICATE for conflict in answer.conflicts)
        refused = repeats and not answer.undone
        raise typer.Exit(ExitCode.REPEATED if refused else ExitCode.FAILED)
