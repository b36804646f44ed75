"""Commands about collections, comparison and the daemon's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from totonoe.cli import options, printing
from totonoe.cli.extensions import Panel, add, add_group
from totonoe.cli.options import policies
from totonoe.cli.session import Session
from totonoe.cli.show import collections as show
from totonoe.cli.stepping import step
from totonoe.words.plain import plain

if TYPE_CHECKING:
    from totonoe.collections.models import CollectionInfo

Name = Annotated[str, typer.Argument(help="Name: a-z, 0-9, `_`, `.`, `-`.")]
OptionalName = Annotated[str | None, typer.Argument(help="Name. Default: that of --collection.")]
PresetOption = Annotated[
    str | None, typer.Option(help="Preset of the guard: standard, ego or robotmem.")
]
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
    """Adds these commands to `app`."""
    add(app, Panel.ADMINISTRATION, compare, calibrate, stats)
    add_group(app, Panel.ADMINISTRATION, collections, list_, create, show_, update, delete)


def compare(
    session: Session,
    text_a: Annotated[str, typer.Argument(help="One text.")],
    text_b: Annotated[str, typer.Argument(help="The other text.")],
) -> None:
    """Compare two texts as the guard does, without saving them."""
    with session.client() as client:
        answer = client.compare(text_a, text_b)
    session.show(plain(answer), lambda: show.compared(answer))


def calibrate(
    session: Session,
    budget: Annotated[
        float | None,
        typer.Option(help="Share of different pairs that may be merged, 0 to 0.2. Default: 0.005."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Compute, but store nothing.")] = False,
    operation_id: options.OperationId = "",
) -> None:
    """Fit the guard's verdict to the embedding model of a collection.

    Computes for some minutes.
    """
    with session.client() as client:
        answer = client.calibrate(
            false_merge_budget=budget, dry_run=dry_run, operation_id=operation_id
        )
    session.show(plain(answer), lambda: show.calibrated(answer, dry_run))


def stats(session: Session) -> None:
    """Show figures of the daemon and of its collections, or of --collection alone."""
    with session.client() as client:
        answer = client.stats(session.collection_name)
    session.show(plain(answer), lambda: show.stats(answer))


def collections(session: Session) -> None:
    """Create, show, change and delete collections."""


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
        {"collections": plain(items), "revision": revision}, lambda: show.collections(items)
    )


def create(
    session: Session,
    name: Name,
    description: Annotated[str, typer.Option(help="Free text.")] = "",
    preset: PresetOption = None,
    settings: Settings = None,
    vector_dimension: Annotated[
        int, typer.Option(help="Length of vectors that clients send. 0: the daemon embeds.")
    ] = 0,
    operation_id: options.OperationId = "",
) -> None:
    """Create an empty collection."""
    with session.client() as client:
        answer = client.create_collection(
            name,
            description=description,
            client_vector_dimension=vector_dimension,
            operation_id=operation_id,
            **policies(settings, preset),
        )
    session.show(plain(answer), lambda: show.created(answer.collection))


def show_(session: Session, name: OptionalName = None) -> None:
    """Show all settings of a collection."""
    with session.client() as client:
        info = client.get_collection(name)
    session.show(plain(info), lambda: show.collection(info))


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
            help="Switch a threshold of the guard off, set another setting to its default; "
            "may be repeated.",
        ),
    ] = None,
    expected_revision: options.ExpectedRevision = 0,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Change settings of a collection.

    A preset sets all values of the guard.
    """
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
    session.show(plain(answer), lambda: show.collection(answer.collection))


def delete(
    session: Session,
    name: Name,
    yes: options.Yes = False,
    operation_id: options.OperationId = "",
) -> None:
    """Delete a collection and all memories in it; undo brings it back."""
    if not yes:
        options.ask(f"Delete the collection {name!r} with all memories?")
    with session.client() as client:
        answer = client.delete_collection(name, operation_id=operation_id)
    undo = step("undo", answer.operation_id, collection=name)
    session.show(
        plain(answer),
        lambda: printing.lines(
            f"Deleted {name} with {answer.active_count} live memories.",
            f"Take it back with: {undo}",
        ),
    )
