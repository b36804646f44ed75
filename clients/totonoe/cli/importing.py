"""The command `import`: many memories from a file, duplicates told as they come."""

from __future__ import annotations

import io
import sys
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from totonoe.cli import options, output
from totonoe.cli.output import forgot_this
from totonoe.cli.session import (
    ExitCode,
    Session,
    error_json,
    exit_code_of,
    print_json,
    shared,
    tell_error,
)
from totonoe.cli.text import clean, shown_similarity
from totonoe.errors import ExternalIdExists, TotonoeError

if TYPE_CHECKING:
    from totonoe.cli.rows import BadRow
    from totonoe.drafts import Draft
    from totonoe.models import ItemResult, Remembered

# A file may hold millions of lines: JSON lists that many examples of each kind.
EXAMPLES_MAX = 100


def register(app: typer.Typer) -> None:
    """Joins the command to `app`."""
    app.command("import")(shared(import_))


@dataclass(slots=True)
class Tally:
    """What became of the lines so far; what is worth a line of its own goes to `tell`."""

    console: Console | None
    saved_count: int = 0
    refused_counts: Counter[str] = field(default_factory=Counter)
    existing_count: int = 0
    failed_count: int = 0
    skipped_count: int = 0
    replayed_count: int = 0
    revision: int = 0
    duplicates: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def tell(self, text: str) -> None:
        """Prints a line above the progress bar; nothing where JSON is asked for."""
        if self.console:
            self.console.print(clean(text), soft_wrap=True)

    def bad(self, row: BadRow) -> None:
        """A line that could not be sent."""
        self._failed(row.line, "", row.message)

    def settle(self, line: int, result: ItemResult) -> None:
        """The daemon's answer to a line."""
        if result.remembered is not None:
            self._answered(line, result.remembered)
        elif isinstance(result.error, ExternalIdExists):
            self.existing_count += 1
        elif result.error is not None:
            self._failed(line, result.error.reason or result.error.code, result.error.message)

    def _answered(self, line: int, answer: Remembered) -> None:
        self.revision = max(self.revision, answer.revision)
        self.replayed_count += answer.replayed
        if answer.forgotten is not None and not answer.replayed:
            became = "saved" if answer.saved else "not saved"
            self.tell(f"line {line}: {became}. {forgot_this(answer.forgotten)}")
        if answer.duplicate is None:
            if answer.saved:
                self.saved_count += 1
            else:
                self.refused_counts["forgotten"] += 1
            return
        duplicate = answer.duplicate
        self.refused_counts[str(duplicate.method)] += 1
        if len(self.duplicates) < EXAMPLES_MAX:
            self.duplicates.append(
                {
                    "line": line,
                    "duplicate_of": duplicate.memory_id,
                    "method": str(duplicate.method),
                    "similarity": duplicate.similarity,
                }
            )
        if not answer.replayed:
            shown = shown_similarity(duplicate.similarity)
            how = f"{duplicate.method}, similarity {shown}"
            self.tell(f"line {line}: repeats {duplicate.memory_id} ({how}): {duplicate.snippet}")

    def _failed(self, line: int, reason: str, message: str) -> None:
        self.failed_count += 1
        if len(self.failures) < EXAMPLES_MAX:
            self.failures.append({"line": line, "reason": reason, "message": message})
        self.tell(f"line {line}: failed: {message}{f' ({reason})' if reason else ''}")

    def as_json(self, file: str) -> dict[str, Any]:
        """The final object."""
        return {
            "file": file,
            "saved_count": self.saved_count,
            "refused_count": self.refused_counts.total(),
            "refused_counts": dict(self.refused_counts),
            "existing_count": self.existing_count,
            "failed_count": self.failed_count,
            "skipped_count": self.skipped_count,
            "replayed_count": self.replayed_count,
            "revision": self.revision,
            "duplicates": self.duplicates,
            "failures": self.failures,
        }

    def show(self) -> None:
        """The final table."""
        rows = [("saved", self.saved_count)]
        rows += [(f"refused: {name}", count) for name, count in sorted(self.refused_counts.items())]
        rows += [
            ("already there (external id)", self.existing_count),
            ("failed", self.failed_count),
        ]
        if self.skipped_count:
            rows.append(("left out (other level)", self.skipped_count))
        if self.replayed_count:
            rows.append(("of these answered by an earlier run", self.replayed_count))
        output.table(("lines", "count"), [(name, str(count)) for name, count in rows])


def import_(
    session: Session,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="JSON lines, plain or gzip; `-` is standard input."),
    ],
    level: Annotated[
        str, typer.Option(help="Of lines with a `level` only those of this one. Default: all.")
    ] = "",
    force: options.Force = False,
    as_is: Annotated[
        bool,
        typer.Option(
            "--as-is", help="Of a file of `export`: all as it was, in an empty collection."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Of a file of `export`: only check it.")
    ] = False,
) -> None:
    """Remember the lines of a file. A second run of the same file changes nothing.

    A file of `export` goes in through the guard too, or as it is. Exit code 1 if a line failed;
    refused lines are no failure.
    """
    from totonoe.cli import rows, transfer_commands

    how = rows.Options(level, session.agent_id, session.collection_name, force)
    failure: TotonoeError | None = None
    with ExitStack() as stack:
        raw, size_bytes = _open(file, stack)
        source = rows.unpacked(raw)
        if transfer_commands.is_export(source):
            if level or force:
                raise ValueError("--level and --force are for lines that `export` did not make")
            transfer_commands.import_export(session, file, source, as_is, dry_run)
            return
        if as_is or dry_run:
            raise ValueError(f"{file}: no file of `export`: --as-is and --dry-run are for those")
        client = stack.enter_context(session.client())
        progress = _progress(session, size_bytes)
        task = progress.add_task("", total=size_bytes, saved=0, refused=0)
        tally = Tally(None if session.as_json else progress.console)
        lines: deque[int] = deque()

        def drafts() -> Iterator[Draft]:
            for row in rows.read_rows(source, how):
                if row is None:
                    tally.skipped_count += 1
                elif isinstance(row, rows.Row):
                    lines.append(row.line)
                    yield row.draft
                else:
                    tally.bad(row)

        with progress:
            try:
                for result in client.remember_many(drafts()):
                    tally.settle(lines.popleft(), result)
                    progress.update(
                        task,
                        completed=raw.tell() if size_bytes else None,
                        saved=tally.saved_count,
                        refused=tally.refused_counts.total(),
                    )
            except TotonoeError as error:
                failure = error
            if size_bytes and failure is None:
                progress.update(task, completed=size_bytes)

    _finish(session, file, tally, failure)


def _finish(session: Session, file: str, tally: Tally, failure: TotonoeError | None) -> None:
    """Tells the result and ends with its exit code."""
    if session.as_json:
        stopped = {"error": error_json(failure)} if failure else {}
        print_json(tally.as_json(file) | stopped)
    else:
        tally.show()
        if failure:
            tell_error(failure)
            typer.echo("Run the same command again to go on: what is done is not redone.", err=True)
    if failure:
        raise typer.Exit(exit_code_of(failure))
    if tally.failed_count:
        raise typer.Exit(ExitCode.FAILED)


def _open(file: str, stack: ExitStack) -> tuple[io.BufferedReader, int | None]:
    """The file and its size in bytes, `None` for a stream. Raises `ValueError`."""
    if file == "-":
        stdin = sys.stdin.buffer
        peekable = stdin if isinstance(stdin, io.BufferedReader) else io.BufferedReader(stdin)  # type: ignore[type-var]
        return cast(io.BufferedReader, peekable), None
    path = Path(file)
    try:
        raw = stack.enter_context(path.open("rb"))
        size_bytes = path.stat().st_size
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror or error}") from None
    return raw, size_bytes if path.is_file() else None


def _progress(session: Session, size_bytes: int | None) -> Progress:
    """A bar on the terminal: standard error where standard output belongs to JSON."""
    console = output.console(stderr=session.as_json)
    return Progress(
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%") if size_bytes else MofNCompleteColumn(),
        TextColumn("saved {task.fields[saved]}, refused {task.fields[refused]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
