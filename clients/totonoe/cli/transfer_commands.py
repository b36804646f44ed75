"""The command `export`, and what `import` does with a file that it made."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from totonoe.cli import output
from totonoe.cli.plain import plain
from totonoe.cli.session import (
    ExitCode,
    Session,
    error_json,
    exit_code_of,
    print_json,
    shared,
    tell_error,
)
from totonoe.cli.text import shown_similarity
from totonoe.errors import TotonoeError
from totonoe.transfer_models import ExportProgress, Imported, ImportItem

if TYPE_CHECKING:
    from totonoe.client import Client

MARK = b'{"record":"header"'
"""How a file begins that `export` made."""
EXAMPLES_MAX = 100
_GZIP_LEVEL = 6


def register(app: typer.Typer) -> None:
    """Joins this command to `app`."""
    app.command()(shared(export))


def export(
    session: Session,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A file that is not there yet, packed if it ends in .gz; `-` is standard output.",
        ),
    ],
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Vectors too: an import need not embed again.")
    ] = False,
    statuses: Annotated[
        list[str] | None,
        typer.Option(
            "--status",
            help="active, superseded, closed or forgotten; may be repeated. Default: all.",
        ),
    ] = None,
) -> None:
    """Write a collection to a file of JSON lines, as the caller sees it at this moment."""
    if file == "-" and session.as_json:
        raise ValueError("--json needs a FILE: standard output has the lines")
    with session.client() as client, _written(file) as out:
        lines = client.export(include_vectors=vectors, statuses=statuses)
        with lines, _bar("{task.fields[records]} records") as progress:
            task = progress.add_task("", total=None, records=0)

            def show(done: ExportProgress) -> None:
                progress.update(
                    task,
                    total=done.memory_count,
                    completed=min(done.record_count, done.memory_count),
                    records=done.record_count,
                )

            lines.save(out, show)
        done = lines.progress
    answer = {"file": file, **plain(done)}
    told = f"{done.record_count} records, {done.byte_count:,} bytes, revision {done.revision}"
    if done.damaged_count:
        typer.echo(f"Left out: {done.damaged_count} damaged rows. See `totonoe stats`.", err=True)
    if file == "-":
        typer.echo(told, err=True)
    else:
        session.show(answer, lambda: output.line(f"{file}: {told}"))


@contextmanager
def _written(file: str) -> Iterator[IO[bytes]]:
    """What the lines go to. A file gets its name once it is whole. Raises `ValueError`."""
    if file == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(file)
    if path.exists():
        raise ValueError(f"{file}: there is such a file already")
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(path.stem, "wb", _GZIP_LEVEL, raw) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        part.rename(path)
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def is_export(source: Any) -> bool:
    """Whether a file, of which nothing was read yet, is one that `export` made."""
    try:
        return bool(source.peek(len(MARK))[: len(MARK)] == MARK)
    except (EOFError, OSError):
        return False


def import_export(
    session: Session, file: str, source: IO[bytes], as_is: bool, dry_run: bool
) -> None:
    """Takes such a file in, and tells what came of it."""
    path = Path(file)
    size_bytes = path.stat().st_size if path.is_file() else None
    told: list[Imported] = []
    failure: TotonoeError | None = None
    with session.client() as client, _bar("saved {task.fields[saved]}") as progress:
        task = progress.add_task("", total=size_bytes, saved=0)

        def show(now: Imported) -> None:
            told[:] = [now]
            at = _position(source) if size_bytes else None
            progress.update(task, completed=at, saved=now.saved_count)

        try:
            _run(client, session, file, source, as_is, dry_run, show)
        except TotonoeError as error:
            failure = error
    _finish(session, file, told[-1] if told else None, failure, dry_run)


def _run(
    client: Client,
    session: Session,
    file: str,
    source: IO[bytes],
    as_is: bool,
    dry_run: bool,
    show: Any,
) -> None:
    operation_id = ""
    if file != "-" and source.seekable():
        operation_id = _operation_id(file, session, as_is)
        if as_is and not dry_run:
            # All of the file is looked at before any of it is in.
            client.import_file(source, as_is=True, dry_run=True, progress=show)
            source.seek(0)
    client.import_file(
        source, as_is=as_is, dry_run=dry_run, operation_id=operation_id, progress=show
    )


def _operation_id(file: str, session: Session, as_is: bool) -> str:
    """The same for the same file in the same place: a second run changes nothing."""
    with Path(file).open("rb") as raw:
        digest = hashlib.file_digest(raw, "sha256").hexdigest()
    key = json.dumps([digest, session.agent_id, session.collection_name, as_is])
    return "imp_" + hashlib.sha256(key.encode()).hexdigest()[:24]


def _position(source: Any) -> int:
    raw = getattr(source, "fileobj", None) or source
    return int(raw.tell())


def _bar(text: str) -> Progress:
    """A bar on the terminal, on standard error: standard output may hold lines or JSON."""
    console = output.console(stderr=True)
    return Progress(
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn(text),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def _finish(
    session: Session, file: str, told: Imported | None, failure: TotonoeError | None, dry_run: bool
) -> None:
    if session.as_json:
        stopped = {"error": error_json(failure)} if failure else {}
        print_json({"file": file} | (_as_json(told) if told else {}) | stopped)
    else:
        if told is not None:
            _show(told, dry_run)
        if failure is not None:
            tell_error(failure)
            if not dry_run:
                typer.echo("What was saved stays. The same command again goes on there.", err=True)
    if failure is not None:
        raise typer.Exit(exit_code_of(failure))
    if told is not None and told.failed_count:
        raise typer.Exit(ExitCode.FAILED)


def _as_json(told: Imported) -> dict[str, Any]:
    """The final object: the names that lines of other forms give, and more."""
    rest = plain(told)
    items = rest.pop("items")
    repeats = [one for one in told.items if one.error is None][:EXAMPLES_MAX]
    failed = [one for one in told.items if one.error is not None][:EXAMPLES_MAX]
    return {
        **rest,
        "refused_count": sum(told.refused_counts.values()),
        "reported_count": len(items),
        "duplicates": [
            {
                "line": one.line,
                "memory_id": one.memory_id,
                "duplicate_of": one.duplicate_of,
                "method": one.method,
                "similarity": one.similarity,
            }
            for one in repeats
        ],
        "failures": [
            {
                "line": one.line,
                "memory_id": one.memory_id,
                "reason": one.error.reason,
                "message": one.error.message,
            }
            for one in failed
            if one.error is not None
        ],
    }


def _show(told: Imported, dry_run: bool) -> None:
    for item in told.items[:EXAMPLES_MAX]:
        output.line(_item(item))
    header = told.header
    if header is not None:
        when = "" if header.time is None else f", {header.time:%Y-%m-%d %H:%M:%S} UTC"
        vectors = "with vectors" if header.vectors else "without vectors"
        output.line(f"collection {header.collection}, revision {header.revision}{when}, {vectors}")
    rows = [(f"{kind} lines", count) for kind, count in told.record_counts.items()]
    if not dry_run:
        rows.append(("saved", told.saved_count))
        rows += [(f"refused: {name}", count) for name, count in sorted(told.refused_counts.items())]
        rows.append(("already there (id or external id)", told.existing_count))
        rows.append(("left out (not for the guard)", told.left_out_count))
    rows.append(("failed", told.failed_count))
    if told.replayed_count:
        rows.append(("of these answered by an earlier run", told.replayed_count))
    output.table(("lines", "count"), [(name, str(count)) for name, count in rows])


def _item(item: ImportItem) -> str:
    if item.error is not None:
        return f"line {item.line}: {item.error.message} ({item.error.reason})"
    of = item.duplicate_of or "another memory"
    return f"line {item.line}: repeats {of} ({item.method}, {shown_similarity(item.similarity)})"
