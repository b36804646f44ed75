"""The command that looks for pairs that may say the same, and asks what to do with them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from totonoe.cli import options, output, output_consolidate, output_graph
from totonoe.cli.plain import plain
from totonoe.cli.session import Session, exit_code_of, print_json, shared, tell_error
from totonoe.consolidate_models import Consolidated, ConsolidateEvent, MergeCandidate
from totonoe.errors import TotonoeError

if TYPE_CHECKING:
    from totonoe.client import Client

REASON = "consolidate"
KEYS = "m merge, d dismiss, f forget one, s skip, q quit"


def register(app: typer.Typer) -> None:
    """Joins this command to `app`."""
    app.command()(shared(consolidate))


def consolidate(
    session: Session,
    window_hours: Annotated[
        float | None,
        typer.Option(help="A pair counts if a side was created within. 0: whenever. Default: 24."),
    ] = None,
    distance: Annotated[
        float | None, typer.Option(help="Cosine distance of a pair, 0 to 0.5. Default: 0.10.")
    ] = None,
    jaccard: Annotated[
        float | None, typer.Option(help="Pairs by their words too: above this, 0.2 to 0.99.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="How many pairs are kept, the nearest. 0: 1,000. Default: 5."),
    ] = None,
    since: Annotated[
        int,
        typer.Option(metavar="REVISION", help="Only pairs with a side that changed after it."),
    ] = 0,
    replay: Annotated[
        int | None,
        typer.Option(help="How many recalls are used up for links, 0 to 1,000. Default: 100."),
    ] = None,
    review: Annotated[
        bool, typer.Option("--review/--list", help="Ask about each pair, at a terminal.")
    ] = True,
    resume: Annotated[
        str, typer.Option(metavar="TOKEN", help="Go on where it was stopped, options unchanged.")
    ] = "",
    operation_id: options.OperationId = "",
) -> None:
    """Link what was recalled together, then find pairs that may say the same.

    At a terminal it asks about each: merge, dismiss, forget one, skip. With --json a line is an
    event.
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
            with events, _shower(session) as show:
                for event in events:
                    show(event)
                    token, done = event.resume_token, event.done
        except KeyboardInterrupt:
            if token and not session.as_json:
                output.line(
                    f"Stopped. Go on within 5 minutes: totonoe consolidate --resume {token}"
                )
            raise typer.Exit(130) from None
        if done is None or session.as_json:
            return
        output_consolidate.figures(done)
        if not (review and options.at_terminal() and _at_screen()):
            output_consolidate.pairs(done)
        elif done.merge_candidates:
            _review(client, done)


def _at_screen() -> bool:
    """Whether somebody sees it as it comes."""
    return sys.stdout.isatty()


@contextmanager
def _shower(session: Session) -> Iterator[Callable[[ConsolidateEvent], None]]:
    """What is done with each event: JSON, a bar with what is found, or nothing."""
    if session.as_json:
        yield _show_json
    elif _at_screen():
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=output.console(),
            transient=True,
        )
        with bar:
            task = bar.add_task("comparing", total=None)

            def show(event: ConsolidateEvent) -> None:
                if event.progress is not None:
                    seen, total = event.progress.scanned_count, event.progress.total_count
                    bar.update(task, completed=seen, total=max(1, total))
                if event.candidate is not None:
                    bar.console.print(output_consolidate.found(event.candidate))

            yield show
    else:
        yield lambda _: None


def _show_json(event: ConsolidateEvent) -> None:
    print_json({name: value for name, value in plain(event).items() if value is not None})
    sys.stdout.flush()


def _review(client: Client, done: Consolidated) -> None:
    """Asks about each kept pair, but for those of which one side went on the way."""
    gone: set[str] = set()
    revisions: dict[str, int] = {}
    count = len(done.merge_candidates)
    for number, one in enumerate(done.merge_candidates, 1):
        if gone & {one.memory_a_id, one.memory_b_id}:
            continue
        output.line()
        output.line(f"Pair {number} of {count}")
        output_consolidate.pair(one)
        expected = {
            memory_id: revisions.get(memory_id, revision)
            for memory_id, revision in (
                (one.memory_a_id, one.revision_a),
                (one.memory_b_id, one.revision_b),
            )
        }
        try:
            if not _act(client, one, expected, gone, revisions):
                return
        except TotonoeError as error:
            # The next pair may be as it was.
            tell_error(error)
            if exit_code_of(error) != 1:
                raise typer.Exit(exit_code_of(error)) from None


def _act(
    client: Client,
    one: MergeCandidate,
    expected: dict[str, int],
    gone: set[str],
    revisions: dict[str, int],
) -> bool:
    """Does what a key says; false: no more."""
    match _key(f"[{KEYS}] ", "mdfsq"):
        case "m":
            answer = client.merge(
                one.keep_id, one.remove_id, reason=REASON, expected_revisions=expected
            )
            output_graph.merged(answer)
            if answer.merged:
                gone.add(one.remove_id)
                revisions[one.keep_id] = answer.memory.revision
        case "d":
            client.dismiss(one.memory_a_id, one.memory_b_id, reason=REASON)
            output.line("Dismissed: they never come again until a text changes.")
        case "f":
            which = _key("[a or b, s neither] ", "abs")
            if which != "s":
                memory_id = one.memory_a_id if which == "a" else one.memory_b_id
                revision = {memory_id: expected[memory_id]}
                output.forgotten(
                    client.forget(memory_id, reason=REASON, expected_revisions=revision)
                )
                gone.add(memory_id)
        case "q":
            return False
    return True


def _key(question: str, allowed: str) -> str:
    """One of some keys; `q` or the end of input is the last of them."""
    while True:
        typer.echo(question, nl=False)
        try:
            key = typer.getchar().lower()
        except (EOFError, KeyboardInterrupt):
            key = allowed[-1]
        if key in allowed and key:
            typer.echo(key)
            return key
        typer.echo()
