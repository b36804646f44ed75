"""The part of `totonoe import` that reads the stores of other programs."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from totonoe.cli import printing
from totonoe.cli.session import ExitCode, Session, error_json, exit_code_of, print_json, tell_error
from totonoe.cli.show import import_from as show
from totonoe.enums import SourceWord
from totonoe.errors import TotonoeError
from totonoe.importers.detection import place_of, source_of
from totonoe.importers.importing import Import, Settings
from totonoe.importers.records import ReadOptions


def import_store(
    session: Session,
    name: str,
    path: str,
    said_by: SourceWord,
    force: bool,
    dry_run: bool,
    bullets: bool,
) -> None:
    """Import a store and show the report. Raises `ValueError` if it cannot be read."""
    place = Path(path).expanduser() if path else place_of(name)
    source = source_of(name, place)
    settings = Settings(session.agent_id, session.collection_name, force, dry_run, said_by)
    failure: TotonoeError | None = None
    with session.client() as client, _bar() as progress:
        task = progress.add_task("", total=None, saved=0)

        def tell() -> None:
            total = importing.record_count
            progress.update(task, total=total, advance=1, saved=importing.report.saved_count)

        importing = Import(client, source, place, settings, tell)
        try:
            importing.run(ReadOptions(bullets=bullets))
        except TotonoeError as error:
            failure = error
    report = importing.report
    if session.as_json:
        answer = show.report_json(report)
        print_json(answer | ({"error": error_json(failure)} if failure else {}))
    else:
        show.report(report)
        if failure is not None:
            tell_error(failure)
            typer.echo("Run the same command again to go on: what is done is not redone.", err=True)
    if failure is not None:
        raise typer.Exit(exit_code_of(failure))
    if report.fault_count:
        raise typer.Exit(ExitCode.FAILED)


def _bar() -> Progress:
    """Make a progress bar on standard error: standard output has the report."""
    console = printing.console(stderr=True)
    return Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("saved {task.fields[saved]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
