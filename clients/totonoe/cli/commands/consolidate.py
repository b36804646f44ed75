"""The command that finds pairs that may say the same, and asks what to do with each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from totonoe.cli import options, printing
from totonoe.cli.extensions import Panel, add
from totonoe.cli.reviewing import Review, pairs_of
from totonoe.cli.session import Session, print_json
from totonoe.cli.show import consolidate as show
from totonoe.cli.stepping import again, step
from totonoe.words.plain import plain

if TYPE_CHECKING:
    from totonoe.client import Client
    from totonoe.consolidate.models import Consolidated, ConsolidateEvent

_QUESTIONS_DEFAULT = 20
_QUESTIONS_MAX = 100


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(app, Panel.TIDY_UP, consolidate)


def consolidate(
    session: Session,
    window_hours: Annotated[
        float | None,
        typer.Option(
            help="Pairs with a memory created within these hours. 0: any time. Default: 24."
        ),
    ] = None,
    distance: Annotated[
        float | None, typer.Option(help="Cosine distance of a pair, 0 to 0.5. Default: 0.10.")
    ] = None,
    jaccard: Annotated[
        float | None,
        typer.Option(help="Also pairs with a Jaccard similarity above this, 0.2 to 0.99."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Number of pairs, the most probable. 0: 1,000. Default: 5."),
    ] = None,
    since: Annotated[
        int,
        typer.Option(
            metavar="REVISION", help="Only pairs with a memory that changed after this revision."
        ),
    ] = 0,
    replay: Annotated[
        int | None,
        typer.Option(help="Number of recalls to use for links, 0 to 1,000. Default: 100."),
    ] = None,
    review: Annotated[
        bool, typer.Option("--review/--list", help="Ask about each pair, at a terminal.")
    ] = True,
    resume: Annotated[
        str, typer.Option(metavar="TOKEN", help="Continue a stopped run, with the same options.")
    ] = "",
    operation_id: options.OperationId = "",
) -> None:
    """Find pairs of memories that may say the same, and link what was recalled together.

    At a terminal it asks about each, and about the open questions: same, different, or does one
    replace the other? With --json a line is an event.
    """
    with session.client() as client:
        events = client.consolidate(
            window_hours=window_hours,
            distance_below=distance,
            jaccard_above=jaccard,
            max_merge_candidates=limit,
            since_revision=since,
            max_replay_events=replay,
            resume_token=resume,
            operation_id=operation_id,
        )
        token = resume
        done: Consolidated | None = None
        try:
            with events, _shower(session) as tell:
                for event in events:
                    tell(event)
                    token, done = event.resume_token, event.done
        except KeyboardInterrupt:
            if token and not session.as_json:
                printing.line(f"Stopped. Go on within 5 minutes: {again(resume=token)}")
            raise typer.Exit(130) from None
        if done is None or session.as_json:
            return
        show.figures(done)
        if review and options.at_terminal() and _at_screen():
            _review(client, done, limit)
        else:
            show.pairs(done)


def _at_screen() -> bool:
    """Return true if standard output is a terminal."""
    return sys.stdout.isatty()


@contextmanager
def _shower(session: Session) -> Iterator[Callable[[ConsolidateEvent], None]]:
    """Give a function that shows each event: as JSON, on a bar, or not at all."""
    if session.as_json:
        yield _show_json
    elif _at_screen():
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=printing.console(),
            transient=True,
        )
        with bar:
            task = bar.add_task("comparing", total=None)

            def tell(event: ConsolidateEvent) -> None:
                if event.progress is not None:
                    seen, total = event.progress.scanned_count, event.progress.total_count
                    bar.update(task, completed=seen, total=max(1, total))
                if event.candidate is not None:
                    bar.console.print(show.found(event.candidate))

            yield tell
    else:
        yield lambda _: None


def _show_json(event: ConsolidateEvent) -> None:
    print_json({name: value for name, value in plain(event).items() if value is not None})
    sys.stdout.flush()


def _review(client: Client, done: Consolidated, limit: int | None) -> None:
    """Ask about the pairs of a run and the most probable open questions."""
    size = _QUESTIONS_DEFAULT if limit is None else limit or _QUESTIONS_MAX
    page = client.list_questions(page_size=min(size, _QUESTIONS_MAX))
    Review(client, pairs_of(done, page.questions)).run()
    if page.next_page_token:
        printing.line(f"More questions are open: {step('questions')}")
