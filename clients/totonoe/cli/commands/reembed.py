"""The command that replaces the vectors of a collection."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from totonoe.cli import options, printing
from totonoe.cli.extensions import Panel, add
from totonoe.cli.session import Session, print_json
from totonoe.cli.show import reembed as show
from totonoe.cli.stepping import step
from totonoe.words.plain import plain

if TYPE_CHECKING:
    from totonoe.reembed.models import Reembedded, ReembedEvent


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(app, Panel.ADMINISTRATION, reembed)


def reembed(
    session: Session,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Stop a running re-embedding; the model stays.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch/--no-watch", help="Stay and show the progress.")
    ] = True,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Replace the vectors of a collection by those of the daemon's model.

    The collection serves meanwhile. Ctrl-C ends the watching, not the work; the same command
    watches again. With --json a line is an event.
    """
    with session.client() as client:
        if cancel:
            answer = client.cancel_reembed()
            session.show(
                plain(answer),
                lambda: printing.line(
                    f"Cancelled; {answer.dropped_count} vectors dropped."
                    if answer.cancelled
                    else "Nothing was under way."
                ),
            )
            return
        done: Reembedded | None = None
        try:
            events = client.reembed(reason=reason, operation_id=operation_id)
            with events, _shower(session) as tell:
                for event in events:
                    tell(event)
                    done = event.done
                    if not watch and done is None:
                        break
        except KeyboardInterrupt:
            if not session.as_json:
                printing.line(f"It goes on. Watch it again with: {step('reembed')}")
            raise typer.Exit(130) from None
        if not session.as_json:
            show.reembedded(done)


@contextmanager
def _shower(session: Session) -> Iterator[Callable[[ReembedEvent], None]]:
    """Give a function that shows each event: as JSON, on a bar, or not at all."""
    if session.as_json:
        yield _show_json
    elif sys.stdout.isatty():
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=printing.console(),
            transient=True,
        )
        with bar:
            task = bar.add_task("waiting", total=None)

            def tell(event: ReembedEvent) -> None:
                progress = event.progress
                if progress is not None:
                    bar.update(
                        task,
                        description=progress.phase.value,
                        completed=progress.done_count,
                        total=max(1, progress.total_count),
                    )

            yield tell
    else:
        yield lambda _: None


def _show_json(event: ReembedEvent) -> None:
    print_json({name: value for name, value in plain(event).items() if value is not None})
    sys.stdout.flush()
