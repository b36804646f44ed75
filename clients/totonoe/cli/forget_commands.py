"""Commands that take memories away: forget, which can be undone, and purge, which cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from totonoe.cli import options, output, output_snapshot
from totonoe.cli.plain import plain
from totonoe.cli.session import ExitCode, Session, shared
from totonoe.drafts import FilterFields


def register(app: typer.Typer) -> None:
    """Joins these commands to `app`."""
    app.command()(shared(options.filtered(forget)))
    app.command()(shared(purge))


def forget(
    session: Session,
    conditions: FilterFields,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids, or `ext:` and an external id.")
    ] = None,
    reason: options.Reason = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would be forgotten.")
    ] = False,
    yes: options.Yes = False,
    operation_id: options.OperationId = "",
) -> None:
    """Hide memories and take away their links. Exit code 1 if one is missing.

    With conditions in place of ids it shows what meets them, asks, and forgets just that.
    """
    if bool(ids) == bool(conditions):
        raise ValueError("name either ids or conditions (--tag, --until ...)")
    if ids:
        with session.client() as client:
            answer = client.forget(ids, reason=reason, dry_run=dry_run, operation_id=operation_id)
    else:
        if not dry_run:
            options.can_ask(yes)
        with session.client() as client:
            answer = client.forget(reason=reason, dry_run=True, **conditions)
            if answer.forgotten and not dry_run:
                count, matching = len(answer.forgotten), answer.matching_count
                if not yes:
                    output.at_stake(answer.forgotten)
                    options.ask(f"Forget these {count} (of {matching} that match)?")
                # Nothing but what was shown, as it was shown.
                shown = {memory.id: memory.revision for memory in answer.forgotten}
                answer = client.forget(
                    shown, reason=reason, expected_revisions=shown, operation_id=operation_id
                )
                answer = replace(answer, matching_count=matching)
    session.show(plain(answer), lambda: output.forgotten(answer))
    if answer.missing_ids:
        raise typer.Exit(ExitCode.FAILED)


def purge(
    session: Session,
    ids: options.Ids,
    reason: Annotated[
        str, typer.Option(help="Why, for the history; must not hold what is purged.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would be purged.")
    ] = False,
    snapshots: Annotated[
        str,
        typer.Option(help="Of snapshots that hold them: list, rewrite (purge there) or delete."),
    ] = "list",
    yes: options.Yes = False,
    operation_id: options.OperationId = "",
) -> None:
    """Take the bytes of memories out of everything, for good. Exit code 1 if one is missing."""
    if not dry_run:
        options.can_ask(yes)
    with session.client() as client:
        if not (dry_run or yes):
            preview = client.purge(ids, dry_run=True)
            options.ask(
                f"Purge {', '.join(preview.purged_ids) or 'nothing'} with "
                f"{preview.version_count} earlier versions"
                f"{_and_snapshots(len(preview.snapshots), snapshots)}? No undo brings them back."
            )
        answer = client.purge(
            ids, reason=reason, dry_run=dry_run, snapshots=snapshots, operation_id=operation_id
        )

    def show() -> None:
        output.purged(answer)
        output_snapshot.holding(answer)

    session.show(plain(answer), show)
    if answer.missing_ids:
        raise typer.Exit(ExitCode.FAILED)


def _and_snapshots(count: int, use: str) -> str:
    """What a purge is asked to do about snapshots, where there are any."""
    if not count or use == "list":
        return ""
    return f", and {use} {count} snapshots"
