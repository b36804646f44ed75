"""Commands about collections, comparison and the daemon's figures."""

from __future__ import annotations

from typing import Annotated

import typer

from totonoe.admin_models import CollectionInfo
from totonoe.cli import options, output
from totonoe.cli.options import policies
from totonoe.cli.plain import plain
from totonoe.cli.session import Session, shared

Name = Annotated[str, typer.Argument(help="Name: a-z, 0-9, `_`, `.`, `-`.")]
OptionalName = Annotated[str | None, typer.Argument(help="Name. Default: that of --collection.")]
PresetOption = Annotated[str | None, typer.Option(help="Of the guard: standard, ego or robotmem.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="For instance guard.jaccard_above=0.8 or decay.floor=0.1; may be repeated.",
    ),
]
_PAGE_SIZE = 1000


def register(app: typer.Typer) -> None:
    """Joins these commands to `app`."""
    app.command()(shared(compare))
    app.command()(shared(calibrate))
    app.command()(shared(stats))
    group = typer.Typer(no_args_is_help=True)
    group.callback()(shared(collections))
    for command in (list_, create, show, update, delete):
        group.command(command.__name__.rstrip("_"))(shared(command))
    app.add_typer(group, name="collections")


def compare(
    session: Session,
    text_a: Annotated[str, typer.Argument(help="One text.")],
    text_b: Annotated[str, typer.Argument(help="The other text.")],
) -> None:
    """Compare two texts as the guard would. Touches no store."""
    with session.client() as client:
        answer = client.compare(text_a, text_b)
    session.show(plain(answer), lambda: output.compared(answer))


def calibrate(
    session: Session,
    budget: Annotated[
        float | None,
        typer.Option(help="Share of different pairs that may be merged, 0 to 0.2. Default: 0.005."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only work it out.")] = False,
    operation_id: options.OperationId = "",
) -> None:
    """Fit the verdict of a collection to its model. Takes some minutes of computing."""
    with session.client() as client:
        answer = client.calibrate(
            false_merge_budget=budget, dry_run=dry_run, operation_id=operation_id
        )
    session.show(plain(answer), lambda: output.calibrated(answer, dry_run))


def stats(session: Session) -> None:
    """Show figures of the daemon and of its collections, or of --collection alone."""
    with session.client() as client:
        answer = client.stats(session.collection_name)
    session.show(plain(answer), lambda: output.stats(answer))


def collections(session: Session) -> None:
    """Make, show, change and delete collections."""


def list_(session: Session) -> None:
    """List all collections by name."""
    items: list[CollectionInfo] = []
    page_token, revision = "", 0
    with session.client() as client:
        while True:
            page = client.list_collections(page_size=_PAGE_SIZE, page_token=page_token)
            items += page.collections
            page_token, revision = page.next_page_token, page.revision
            if not page_token:
                break
    session.show(
        {"collections": plain(items), "revision": revision}, lambda: output.collections(items)
    )


def create(
    session: Session,
    name: Name,
    description: Annotated[str, typer.Option(help="Free text.")] = "",
    preset: PresetOption = None,
    settings: Settings = None,
    vector_dimension: Annotated[
        int, typer.Option(help="Clients bring vectors of this length. 0: the daemon embeds.")
    ] = 0,
    operation_id: options.OperationId = "",
) -> None:
    """Make an empty collection."""
    with session.client() as client:
        answer = client.create_collection(
            name,
            description=description,
            client_vector_dimension=vector_dimension,
            operation_id=operation_id,
            **policies(settings, preset),
        )
    session.show(plain(answer), lambda: output.collection(answer.collection))


def show(session: Session, name: OptionalName = None) -> None:
    """Show all settings of a collection."""
    with session.client() as client:
        info = client.get_collection(name)
    session.show(plain(info), lambda: output.collection(info))


def update(
    session: Session,
    name: OptionalName = None,
    description: Annotated[str | None, typer.Option(help="Free text.")] = None,
    preset: PresetOption = None,
    settings: Settings = None,
    unset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Switches a threshold of the guard off, sets others to their default; "
            "may be repeated.",
        ),
    ] = None,
    expected_revision: options.ExpectedRevision = 0,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Change the settings that are given. A preset takes all values of the guard."""
    changes = policies(settings, preset)
    if description is None and not changes and not unset:
        raise ValueError("nothing to change: name at least one setting")
    with session.client() as client:
        answer = client.update_collection(
            name,
            description=description,
            unset=unset or (),
            expected_revision=expected_revision,
            reason=reason,
            operation_id=operation_id,
            **changes,
        )
    session.show(plain(answer), lambda: output.collection(answer.collection))


def delete(
    session: Session,
    name: Name,
    yes: options.Yes = False,
    operation_id: options.OperationId = "",
) -> None:
    """Take a collection away with all that is in it."""
    if not yes:
        options.ask(f"Delete the collection {name!r} with all memories?")
    with session.client() as client:
        answer = client.delete_collection(name, operation_id=operation_id)
    undo = f"totonoe undo {answer.operation_id} --collection {name}"
    session.show(
        plain(answer),
        lambda: output.line(
            f"Deleted {name} with {answer.active_count} live memories.\nTake it back with: {undo}"
        ),
    )
