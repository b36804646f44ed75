"""Commands about snapshots. Those that need no daemon join from the server's package."""

from __future__ import annotations

from typing import Annotated

import typer

from totonoe.cli import options, printing
from totonoe.cli.extensions import OpenGroup, Panel, add_group
from totonoe.cli.plain import plain
from totonoe.cli.session import Session
from totonoe.cli.show import snapshots as show

SnapshotId = Annotated[str, typer.Argument(metavar="ID", help="`snap_` and 16 hex digits.")]


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add_group(app, Panel.ADMINISTRATION, snapshot, create, list_, restore, delete, cls=OpenGroup)


def snapshot(session: Session) -> None:
    """Create, list, restore, delete and verify snapshots of collections."""


def create(
    session: Session,
    name: Annotated[str, typer.Option(help="Name, unique in its collection.")] = "",
    comment: Annotated[str, typer.Option(help="Free text.")] = "",
    operation_id: options.OperationId = "",
) -> None:
    """Keep a copy of --collection as it is now, while others write."""
    with session.client() as client:
        answer = client.create_snapshot(name=name, comment=comment, operation_id=operation_id)
    session.show(plain(answer), lambda: show.snapshot(answer.snapshot))


def list_(
    session: Session,
    limit: options.Limit = 100,
    page_token: options.PageToken = "",
) -> None:
    """List snapshots, newest first: of --collection, or of all."""
    with session.client() as client:
        page = client.list_snapshots(
            session.collection_name, page_size=limit, page_token=page_token
        )
    session.show(plain(page), lambda: show.page(page))


def restore(
    session: Session,
    snapshot_id: SnapshotId,
    name: Annotated[str, typer.Argument(help="Name of the restored collection.")],
    yes: options.Yes = False,
    operation_id: options.OperationId = "",
) -> None:
    """Restore a snapshot as a collection.

    If the name is taken, shows the collection that would be replaced, and asks.
    """
    with session.client() as client:
        answer = client.restore_snapshot(snapshot_id, name, operation_id=operation_id)
        if not answer.restored:
            if not yes:
                options.can_ask(yes)
                options.ask(show.at_stake(name, answer))
            answer = client.restore_snapshot(
                snapshot_id,
                name,
                confirmation_token=answer.confirmation_token,
                operation_id=operation_id,
            )
    session.show(plain(answer), lambda: show.restored(name, answer))


def delete(
    session: Session,
    snapshot_id: SnapshotId,
    yes: options.Yes = False,
    operation_id: options.OperationId = "",
) -> None:
    """Delete a snapshot for good."""
    if not yes:
        options.ask(f"Delete the snapshot {snapshot_id}? Nothing brings it back.")
    with session.client() as client:
        answer = client.delete_snapshot(snapshot_id, operation_id=operation_id)
    session.show(plain(answer), lambda: printing.line(f"Deleted {answer.snapshot.id}"))
