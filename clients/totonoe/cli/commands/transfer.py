"""Commands about files of memories: export, import."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from totonoe.cli import options, printing
from totonoe.cli.extensions import Panel, add
from totonoe.cli.session import ExitCode, Session, error_json, exit_code_of, print_json, tell_error
from totonoe.cli.show import transfer as show
from totonoe.cli.stepping import step
from totonoe.errors import TotonoeError
from totonoe.words.plain import plain

if TYPE_CHECKING:
    from totonoe.client import Client
    from totonoe.memories.drafts import Draft
    from totonoe.transfer.models import ExportProgress, Imported

MARK = b'{"record":"header"'
"""First bytes of a file of `export`."""
_GZIP_LEVEL = 6


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(app, Panel.ADMINISTRATION, export, import_)


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
        bool,
        typer.Option("--vectors", help="Include vectors, so that an import need not embed again."),
    ] = False,
    statuses: Annotated[
        list[str] | None,
        typer.Option(
            "--status",
            help="active, superseded, closed or forgotten; may be repeated. Default: all.",
        ),
    ] = None,
) -> None:
    """Write a collection to a file of JSON lines.

    The file holds the memories that the caller can see at this moment.
    """
    if file == "-" and session.as_json:
        raise ValueError("--json needs a FILE: standard output has the lines")
    with session.client() as client, _written(file) as out:
        lines = client.export(include_vectors=vectors, statuses=options.word(statuses))
        with lines, printing.bar("{task.fields[records]} records") as progress:
            task = progress.add_task("", total=None, records=0)

            def tell(done: ExportProgress) -> None:
                progress.update(
                    task,
                    total=done.memory_count,
                    completed=min(done.record_count, done.memory_count),
                    records=done.record_count,
                )

            lines.save(out, tell)
        done = lines.progress
    answer = {"file": file, **plain(done)}
    told = f"{done.record_count} records, {done.byte_count:,} bytes, revision {done.revision}"
    if done.damaged_count:
        typer.echo(f"Left out: {done.damaged_count} damaged rows. See: {step('stats')}", err=True)
    if file == "-":
        typer.echo(told, err=True)
    else:
        session.show(answer, lambda: printing.line(f"{file}: {told}"))


@contextmanager
def _written(file: str) -> Iterator[IO[bytes]]:
    """Open the output. A file gets its name when it is complete. Raises `ValueError`."""
    if file == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(file)
    if path.exists():
        raise ValueError(f"{file}: there is such a file already")
    part = path.with_name(path.name + ".part")
    try:
        # It may hold private memories. One that was left over may be readable by others.
        part.unlink(missing_ok=True)
        with open(part, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as raw:
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
    """Return true if `export` made this file, of which nothing was read yet."""
    try:
        return bool(source.peek(len(MARK))[: len(MARK)] == MARK)
    except (EOFError, OSError):
        return False


def import_export(
    session: Session, file: str, source: IO[bytes], as_is: bool, dry_run: bool
) -> None:
    """Import a file of `export` and show the result."""
    path = Path(file)
    size_bytes = path.stat().st_size if path.is_file() else None
    latest: Imported | None = None
    failure: TotonoeError | None = None
    with session.client() as client, printing.bar("saved {task.fields[saved]}") as progress:
        task = progress.add_task("", total=size_bytes, saved=0)

        def tell(now: Imported) -> None:
            nonlocal latest
            latest = now
            at = _position(source) if size_bytes else None
            progress.update(task, completed=at, saved=now.saved_count)

        try:
            _run(client, session, file, source, as_is, dry_run, tell)
        except TotonoeError as error:
            failure = error
    _finish(
        session,
        {"file": file} | (show.imported_json(latest) if latest else {}),
        lambda: show.imported(latest, dry_run),
        latest.failed_count if latest else 0,
        failure,
        "" if dry_run else "What was saved stays. The same command again goes on there.",
    )


def _run(
    client: Client,
    session: Session,
    file: str,
    source: IO[bytes],
    as_is: bool,
    dry_run: bool,
    tell: Callable[[Imported], None],
) -> None:
    operation_id = ""
    if file != "-" and source.seekable():
        operation_id = _operation_id(file, session, as_is)
        if as_is and not dry_run:
            # All of the file is looked at before any of it is in.
            client.import_file(source, as_is=True, dry_run=True, progress=tell)
            source.seek(0)
    client.import_file(
        source, as_is=as_is, dry_run=dry_run, operation_id=operation_id, progress=tell
    )


def _operation_id(file: str, session: Session, as_is: bool) -> str:
    """Derive an id from the file and its place, so that a second run changes nothing."""
    with Path(file).open("rb") as raw:
        digest = hashlib.file_digest(raw, "sha256").hexdigest()
    key = json.dumps([digest, session.agent_id, session.collection_name, as_is])
    return "imp_" + hashlib.sha256(key.encode()).hexdigest()[:24]


def _position(source: Any) -> int:
    raw = getattr(source, "fileobj", None) or source
    return int(raw.tell())


def _finish(
    session: Session,
    answer: dict[str, Any],
    render: Callable[[], None],
    failed_count: int,
    failure: TotonoeError | None,
    advice: str,
) -> None:
    """Show the answer, or the failure with advice, and end with the exit code."""
    if session.as_json:
        print_json(answer | ({"error": error_json(failure)} if failure else {}))
    else:
        render()
        if failure is not None:
            tell_error(failure)
            if advice:
                typer.echo(advice, err=True)
    if failure is not None:
        raise typer.Exit(exit_code_of(failure))
    if failed_count:
        raise typer.Exit(ExitCode.FAILED)


def import_(
    session: Session,
    file: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="JSON lines, plain or gzip; `-` is standard input. Or a store; "
            "without it, that of this user's claude-code, claude-agents or codex.",
        ),
    ] = "",
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="The store of another program: auto, claude-code, claude-agents, codex, "
            "anthropic-memory, basic-memory, mempalace, mcp-memory, mcp-memory-service, mem0, "
            "robotmem or ego-mcp.",
        ),
    ] = None,
    level: Annotated[
        str, typer.Option(help="Leave out lines with another `level`. Default: all.")
    ] = "",
    source: Annotated[
        str | None,
        typer.Option(
            help="Where texts come from of which PATH does not say it: user, agent, tool or "
            "external. Default: agent."
        ),
    ] = None,
    force: options.Force = False,
    as_is: Annotated[
        bool,
        typer.Option(
            "--as-is",
            help="With a file of `export`: import everything unchanged, into an empty collection.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="With --from: report and write nothing. With a file of `export`: only check it.",
        ),
    ] = False,
    bullets: Annotated[
        bool,
        typer.Option(
            "--bullets",
            help="With claude-code: also list items of Markdown without front matter.",
        ),
    ] = False,
) -> None:
    """Save the lines of a file, or what another program remembers, as memories.

    A second run of the same file changes nothing. A file of `export` goes in through the guard
    too, or as it is. Exit code 1 if a line failed; refused lines are no failure.
    """
    said_by = options.source_word(source)
    if from_ is not None:
        if level or as_is or file == "-":
            raise ValueError("--from: allowed: with a path, without --level and --as-is")
        if bullets and from_ not in ("auto", "claude-code"):
            raise ValueError("--bullets: allowed: with --from claude-code")
        from totonoe.cli.commands.import_from import import_store

        import_store(session, from_, file, said_by, force, dry_run, bullets)
        return
    if bullets:
        raise ValueError("--bullets: allowed: with --from claude-code")
    if not file:
        raise ValueError("PATH: got none, allowed: a file, `-`, or a store with --from")
    from totonoe.cli.commands import import_rows as rows

    how = rows.Options(level, session.agent_id, session.collection_name, force, said_by)
    failure: TotonoeError | None = None
    with ExitStack() as stack:
        raw, size_bytes = _open(file, stack)
        lines_of = rows.unpacked(raw)
        if is_export(lines_of):
            if level or force or source:
                raise ValueError(
                    "--level, --source and --force are for lines that `export` did not make"
                )
            import_export(session, file, lines_of, as_is, dry_run)
            return
        if as_is or dry_run:
            raise ValueError(f"{file}: no file of `export`: --as-is and --dry-run are for those")
        client = stack.enter_context(session.client())
        progress = _progress(session, size_bytes)
        task = progress.add_task("", total=size_bytes, saved=0, refused=0)
        tally = show.Tally(None if session.as_json else progress.console)
        lines: deque[int] = deque()

        def drafts() -> Iterator[Draft]:
            for row in rows.read_rows(lines_of, how):
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

    _finish(
        session,
        tally.as_json(file),
        tally.show,
        tally.failed_count,
        failure,
        "Run the same command again to go on: what is done is not redone.",
    )


def _open(file: str, stack: ExitStack) -> tuple[io.BufferedReader, int | None]:
    """Open the file; return its size in bytes, `None` for a stream. Raises `ValueError`."""
    if file == "-":
        stdin = sys.stdin.buffer
        peekable = stdin if isinstance(stdin, io.BufferedReader) else io.BufferedReader(stdin)  # type: ignore[type-var]
        return cast(io.BufferedReader, peekable), None
    path = Path(file)
    try:
        raw = stack.enter_context(path.open("rb"))
        size_bytes = path.stat().st_size
    except OSError as error:
        hint = " (--from imports the store of another program)" if path.is_dir() else ""
        raise ValueError(f"{file}: {error.strerror or error}{hint}") from None
    return raw, size_bytes if path.is_file() else None


def _progress(session: Session, size_bytes: int | None) -> Progress:
    """Make a progress bar: on standard error if standard output belongs to JSON."""
    console = printing.console(stderr=session.as_json)
    return Progress(
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%") if size_bytes else MofNCompleteColumn(),
        TextColumn("saved {task.fields[saved]}, refused {task.fields[refused]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
