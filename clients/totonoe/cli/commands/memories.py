"""Commands that write, find and remove memories."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from totonoe.cli import options
from totonoe.cli.extensions import Panel, add
from totonoe.cli.options import filtered, text_of, with_fields
from totonoe.cli.session import ExitCode, Session
from totonoe.cli.show import memories as show
from totonoe.memories.drafts import (
    Actions,
    EditableFields,
    FilterFields,
    RememberFields,
    UpdateFields,
)
from totonoe.words.plain import checked_json, plain, recalled_json, remembered_json

CHECKED = {
    *("kind", "state_kind", "source", "session_id", "payload", "namespace"),
    *("supersede_ids", "distinct_from", *Actions.__annotations__),
}
"""Fields with an option of `check`: those that decide the answer of the guard."""


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(
        app,
        Panel.EVERYDAY,
        with_fields(remember, RememberFields.__annotations__),
        with_fields(check, CHECKED),
        filtered(recall),
        get,
        filtered(list_),
        filtered(namespaces),
        with_fields(update, EditableFields.__annotations__),
        filtered(forget),
    )
    add(app, Panel.ADMINISTRATION, purge)


def remember(
    session: Session,
    text: options.Text,
    fields: RememberFields,
    force: options.Force = False,
    operation_id: options.OperationId = "",
) -> None:
    """Save a memory, unless a live memory already says the same.

    Exit code 3 if it is refused.
    """
    content = text_of(text)
    with session.client() as client:
        answer = client.remember(content, force=force, operation_id=operation_id, **fields)
    session.show(remembered_json(answer), lambda: show.remembered(answer))
    if not answer.saved:
        raise typer.Exit(ExitCode.REPEATED)


def check(session: Session, text: options.Text, fields: RememberFields) -> None:
    """Show what remember would answer, without saving anything.

    Exit code 3 if it would refuse.
    """
    content = text_of(text)
    with session.client() as client:
        answer = client.check(content, **fields)
    session.show(checked_json(answer), lambda: show.checked(answer))
    if not answer.would_save:
        raise typer.Exit(ExitCode.REPEATED)


def recall(
    session: Session,
    text: options.Text,
    conditions: FilterFields,
    k: Annotated[int, typer.Option("-k", "--k", help="Number of hits, 1 to 1,000.")] = 10,
    mode: Annotated[
        str | None, typer.Option(help="hybrid, vector or lexical. Default: hybrid.")
    ] = None,
    no_diversity: Annotated[
        bool, typer.Option("--no-diversity", help="Order by relevance alone.")
    ] = False,
    min_relevance: options.MinRelevance = 0.0,
    no_fold: options.NoFold = False,
    no_touch: Annotated[
        bool, typer.Option("--no-touch", help="Do not count this as an access.")
    ] = False,
    vectors: options.Vectors = False,
    as_of: options.AsOf = None,
) -> None:
    """Find memories by meaning and by words."""
    from totonoe.memories.models import DiversityPolicy

    query = text_of(text)
    with session.client() as client:
        answer = client.recall(
            query,
            k=k,
            mode=options.word(mode),
            diversity=DiversityPolicy(enabled=False) if no_diversity else None,
            min_relevance=min_relevance,
            fold=not no_fold,
            include_vectors=vectors,
            no_touch=no_touch,
            as_of=options.as_of(as_of),
            **conditions,
        )
    session.show(recalled_json(answer), lambda: show.recalled(answer))


def get(
    session: Session,
    ids: options.Ids,
    vectors: options.Vectors = False,
    as_of: options.AsOf = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Show the successor in place of a superseded memory.")
    ] = False,
    touch: options.Touch = False,
) -> None:
    """Show memories by id.

    Exit code 1 if a memory is missing.
    """
    with session.client() as client:
        answer = client.get_many(
            ids,
            include_vectors=vectors,
            as_of=options.as_of(as_of),
            follow_superseded=follow,
            touch=touch,
        )
    session.show(plain(answer), lambda: show.got(answer))
    if answer.missing_ids:
        raise typer.Exit(ExitCode.FAILED)


def list_(
    session: Session,
    conditions: FilterFields,
    limit: options.Limit = 100,
    page_token: options.PageToken = "",
    vectors: options.Vectors = False,
    as_of: options.AsOf = None,
    touch: options.Touch = False,
) -> None:
    """Show one page of memories, oldest first."""
    with session.client() as client:
        page = client.list(
            page_size=limit,
            page_token=page_token,
            include_vectors=vectors,
            as_of=options.as_of(as_of),
            touch=touch,
            **conditions,
        )
    session.show(plain(page), lambda: show.listed(page))


def namespaces(
    session: Session,
    conditions: FilterFields,
    prefix: Annotated[
        str | None,
        typer.Option(metavar="NAME/NAME", help="First names; `*` stands for any one name."),
    ] = None,
    suffix: Annotated[
        str | None,
        typer.Option(metavar="NAME/NAME", help="Last names; `*` stands for any one name."),
    ] = None,
    max_depth: Annotated[
        int, typer.Option(help="Cut longer ones to so many names, 1 to 16. 0: do not.")
    ] = 0,
    limit: options.Limit = 100,
    offset: Annotated[int, typer.Option(help="Leave out so many at the beginning.")] = 0,
) -> None:
    """Show the distinct namespaces of memories."""
    with session.client() as client:
        page = client.list_namespaces(
            prefix=options.names(prefix, "--prefix") or (),
            suffix=options.names(suffix, "--suffix") or (),
            max_depth=max_depth,
            limit=limit,
            offset=offset,
            **conditions,
        )
    session.show(plain(page), lambda: show.namespaces(page))


def update(
    session: Session,
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="Memory to change.")],
    fields: UpdateFields,
    content: Annotated[
        str | None, typer.Option(help="New text; passes the guard. `-` reads standard input.")
    ] = None,
    clear: Annotated[
        list[str] | None,
        typer.Option(help="Field to set back to its default, for instance tags; may be repeated."),
    ] = None,
    expected_revision: options.ExpectedRevision = 0,
    reason: options.Reason = "",
    force: options.Force = False,
    operation_id: options.OperationId = "",
) -> None:
    """Change fields of a memory.

    Exit code 3 if the new text repeats another memory.
    """
    if content is not None:
        fields["content"] = text_of(content)
    for name in clear or ():
        if name in fields or name not in EditableFields.__annotations__:
            allowed = ", ".join(sorted(EditableFields.__annotations__))
            raise ValueError(f"--clear: got {name!r}, allowed: one not set beside it, of {allowed}")
        fields[name] = None  # type: ignore[literal-required]
    if not fields:
        raise ValueError("nothing to change: name at least one field")
    with session.client() as client:
        answer = client.update(
            memory_id,
            expected_revision=expected_revision,
            reason=reason,
            force=force,
            operation_id=operation_id,
            **fields,
        )
    session.show(plain(answer), lambda: show.updated(answer))
    if not answer.updated:
        raise typer.Exit(ExitCode.REPEATED)


def forget(
    session: Session,
    conditions: FilterFields,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids, or `ext:` and an external id.")
    ] = None,
    reason: options.Reason = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be forgotten.")
    ] = False,
    yes: options.Yes = False,
    operation_id: options.OperationId = "",
) -> None:
    """Hide memories and remove their links; undo brings them back.

    With conditions in place of ids it shows the memories that match, asks, and forgets exactly
    those. Exit code 1 if a memory is missing.
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
                    show.at_stake(answer.forgotten)
                    options.ask(f"Forget these {count} (of {matching} that match)?")
                # Nothing but what was shown, as it was shown.
                shown = {memory.id: memory.revision for memory in answer.forgotten}
                answer = client.forget(
                    shown, reason=reason, expected_revisions=shown, operation_id=operation_id
                )
                answer = replace(answer, matching_count=matching)
    session.show(plain(answer), lambda: show.forgotten(answer))
    if answer.missing_ids:
        raise typer.Exit(ExitCode.FAILED)


def purge(
    session: Session,
    ids: options.Ids,
    reason: Annotated[
        str, typer.Option(help="Reason, for the history; must not contain purged text.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be purged.")
    ] = False,
    snapshots: Annotated[
        str,
        typer.Option(help="Snapshots that contain them: list, rewrite (purge there) or delete."),
    ] = "list",
    yes: options.Yes = False,
    operation_id: options.OperationId = "",
) -> None:
    """Delete memories for good, from every file.

    Exit code 1 if a memory is missing.
    """
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
            ids,
            reason=reason,
            dry_run=dry_run,
            snapshots=options.word(snapshots),
            operation_id=operation_id,
        )

    def both() -> None:
        show.purged(answer)
        show.holding(answer)

    session.show(plain(answer), both)
    if answer.missing_ids:
        raise typer.Exit(ExitCode.FAILED)


def _and_snapshots(count: int, use: str) -> str:
    """Describe the snapshots that a purge would change."""
    if not count or use == "list":
        return ""
    return f", and {use} {count} snapshots"
