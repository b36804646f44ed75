"""The command that gives a collection another model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from totonoe.cli import options, output
from totonoe.cli.plain import plain
from totonoe.cli.session import Session, print_json, shared
from totonoe.reembed_models import Reembedded, ReembedEvent


def register(app: typer.Typer) -> None:
    """Joins this command to `app`."""
    app.command()(shared(reembed))


def reembed(
    session: Session,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="End what is under way; the model stays.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch/--no-watch", help="Stay and show how far it is.")
    ] = True,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Give a collection the vectors of the daemon's model while it serves.

    Ctrl-C ends the watching, not the work; the same command watches again. With --json a line is an
    event.
    """
    with session.client() as client:
        if cancel:
            answer = client.cancel_reembed()
            session.show(
                plain(answer),
                lambda: output.line(
                    f"Cancelled; {answer.dropped_count} vectors dropped."
                    if answer.cancelled
                    else "Nothing was under way."
                ),
            )
            return
        done: Reembedded | None = None
        try:
            events = client.reembed(reason=reason, operation_id=operation_id)
            with events, _shower(session) as show:
                for event in events:
                    show(event)
                    done = event.done
                    if not watch and done is None:
                        break
        except KeyboardInterrupt:
            if not session.as_json:
                output.line("It goes on. Watch it again with: totonoe reembed")
            raise typer.Exit(130) from None
        if not session.as_json:
            _tell(done)


def _tell(done: Reembedded | None) -> None:
    if done is None:
        output.line("Under way. Watch it with: totonoe reembed")
        return
    output.line(
        f"{done.memory_count} memories have vectors of {done.after.name} {done.after.version} "
        f"({done.after.dimension}) in place of {done.before.name} {done.before.version} "
        f"({done.before.dimension}); {done.embedded_count} texts embedded. "
        f"Revision {done.revision}."
    )
    if done.thresholds_reset:
        output.line("The guard's cosine thresholds are others now: totonoe collections show")
    if not done.calibrated:
        output.line("Fit the verdict to the model with: totonoe calibrate")


@contextmanager
def _shower(session: Session) -> Iterator[Callable[[ReembedEvent], None]]:
    """What is done with each event: JSON, a bar, or nothing."""
    if session.as_json:
        yield _show_json
    elif sys.stdout.isatty():
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=output.console(),
            transient=True,
        )
        with bar:
            task = bar.add_task("waiting", total=None)

            def show(event: ReembedEvent) -> None:
                progress = event.progress
                if progress is not None:
                    bar.update(
                        task,
                        description=progress.phase.value,
                        completed=progress.done_count,
                        total=max(1, progress.total_count),
                    )

            yield show
    else:
        yield lambda _: None


def _show_json(event: ReembedEvent) -> None:
    print_json({name: value for name, value in plain(event).items() if value is not None})
    sys.stdout.flush()
