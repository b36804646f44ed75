"""Commands about snapshots. Those that need no daemon join from the server's package."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from totonoe.cli import options, printing
from totonoe.cli.extensions import OpenGroup, Panel, add_group
from totonoe.cli.session import Session
from totonoe.cli.show import snapshots as show
from totonoe.errors import DeadlineExceeded, TotonoeError
from totonoe.words.plain import plain

if TYPE_CHECKING:
    from totonoe.client import Client
    from totonoe.collections.models import SnapshotJob

_TIMEOUT_S = 600.0
"""Seconds to wait for a snapshot without `--timeout`: as long as a large file takes a busy disk."""
_LOOK_S = 0.5
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
    with session.client() as client, _watched(session, client, operation_id) as (chosen, timeout_s):
        answer = client.create_snapshot(
            name=name, comment=comment, operation_id=chosen, timeout_s=timeout_s
        )
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
        with _watched(session, client, operation_id) as (chosen, timeout_s):
            answer = client.restore_snapshot(
                snapshot_id, name, operation_id=chosen, timeout_s=timeout_s
            )
        if not answer.restored:
            if not yes:
                options.can_ask(yes)
                options.ask(show.at_stake(name, answer))
            with _watched(session, client, chosen) as (chosen, timeout_s):
                answer = client.restore_snapshot(
                    snapshot_id,
                    name,
                    confirmation_token=answer.confirmation_token,
                    operation_id=chosen,
                    timeout_s=timeout_s,
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


@contextmanager
def _watched(session: Session, client: Client, operation_id: str) -> Iterator[tuple[str, float]]:
    """Show on a terminal how far the daemon is with a snapshot, while a call waits for it.

    Gives the operation id for the call and its deadline in seconds. If that passes, the error says
    that the work goes on, and how to look.
    """
    from totonoe.call.prepared import new_operation_id

    chosen = operation_id or new_operation_id()
    timeout_s = _TIMEOUT_S if session.timeout_s is None else session.timeout_s
    ended = threading.Event()
    bar = printing.bar("{task.description}")
    task = bar.add_task("waiting", total=1.0)

    def look() -> None:
        while not ended.wait(_LOOK_S):
            job = _running(client)
            if job is not None:
                bar.update(task, description=job.step, completed=job.step_share)

    looking = threading.Thread(target=look, daemon=True)
    try:
        with bar:
            if not bar.disable:
                looking.start()
            try:
                yield chosen, timeout_s
            finally:
                ended.set()
    except DeadlineExceeded as error:
        raise DeadlineExceeded(
            f"{error.message} in {timeout_s:g} s: {show.goes_on(_running(client), chosen)}",
            code=error.code,
            reason=error.reason,
            details=error.details,
        ) from error
    finally:
        if looking.is_alive():
            looking.join()


def _running(client: Client) -> SnapshotJob | None:
    """Return the work on a snapshot that runs now; `None` too if the caller may not know."""
    try:
        return client.stats(timeout_s=5.0).snapshots.running
    except TotonoeError:
        return None
