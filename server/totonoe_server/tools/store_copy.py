"""`totonoe store copy`: all collections of a data directory into a database, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from totonoe_server.tools import options

if TYPE_CHECKING:
    from totonoe_core.engine.factory import CopiedCollection, Database, DataDir
    from totonoe_server.access.book import Book
    from totonoe_server.access.stored_book import StoredBook

DONE, PART_DONE, NOT_DONE = 0, 1, 2
_TOLD_ROWS = 50_000
_SCHEMES = ("postgresql://", "postgres://")


def copy(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FROM", help="Data directory, or postgresql://user@host:port/database."
        ),
    ],
    target: Annotated[str, typer.Argument(metavar="TO", help="The other one of the two.")],
) -> None:
    """Copy all collections of a data directory into a database, or back, with all they hold.

    Memories of every status, vectors, links, episodes, dismissals, history with undo, kept answers,
    settings, figures of recalls, and identities with their tokens. While no daemon has the data
    directory open. A collection is there whole or not at all; run the command again after a break,
    and it goes on behind what is done. The rows of both sides are counted and compared. The target
    must not have any of the collections with other contents; else nothing is copied. Exit code 0:
    all are copied; 1: some have damaged rows, and the others are copied; 2: the copy did not begin,
    or broke off, and one line says why.
    """
    with options.one_line_errors(), _opened(source, target) as (directory, database, url):
        into = not target.startswith(_SCHEMES)
        failed = _copied(directory, database, url, into_directory=into)
    raise typer.Exit(PART_DONE if failed else DONE)


def _copied(directory: DataDir, database: Database, url: str, *, into_directory: bool) -> int:
    """Copy everything; return how many collections could not be copied."""
    from totonoe_core.engine.factory import copying, database_name
    from totonoe_server.access.book import Book
    from totonoe_server.access.stored_book import StoredBook

    book = Book(directory.path)
    stored = StoredBook(database.access, database_name(url))
    sides = (database, directory) if into_directory else (directory, database)
    copies: list[CopiedCollection] = []
    try:
        with copying(*sides) as work:
            work.begin()
            # First: a daemon that serves the target lets nobody in who had no grant before.
            typer.echo(_identities(stored, book) if into_directory else _identities(book, stored))
            for copy in work.run(_telling()):
                copies.append(copy)
                typer.echo(_line(copy), err=copy.error is not None)
    finally:
        stored.close()
    failed = sum(copy.error is not None for copy in copies)
    rows = sum(copy.digest.row_count for copy in copies if copy.digest is not None)
    typer.echo(f"{len(copies) - failed} of {len(copies)} collections, {rows} rows: equal.")
    return failed


def _identities(source: Book | StoredBook, target: Book | StoredBook) -> str:
    """Copy the identities, unless the target names its own; return what happened, in a line."""
    if source.stamp() is None:
        return "Identities: none to copy."
    identities = source.read()
    if target.stamp() is None:
        target.change(lambda _: identities)
        return f"Identities: {len(identities)} copied, with their tokens."
    if target.read() == identities:
        return f"Identities: {len(identities)} are there already."
    return "Identities: the target has its own, which stay; those of the source are not copied."


def _telling() -> Callable[[str, int, int], None]:
    """Return what prints a line each time that another part of a large collection is copied."""
    told: dict[str, int] = {}

    def tell(name: str, done: int, total: int) -> None:
        parts = done // _TOLD_ROWS
        if parts > told.get(name, 0):
            told[name] = parts
            typer.echo(f"{name}: {done} of {total} rows", err=True)

    return tell


def _line(copy: CopiedCollection) -> str:
    name = f"{copy.name} (deleted)" if copy.deleted else copy.name
    if copy.digest is None:
        return f"totonoe: {name}: not copied: {copy.error}"
    word = "was there already" if copy.was_there else "copied"
    return (
        f"{name}: {word}: {copy.digest.memory_count} memories, {copy.digest.row_count} rows, "
        f"SHA-256 {copy.digest.sha256[:16]} on both sides"
    )


@contextmanager
def _opened(source: str, target: str) -> Iterator[tuple[DataDir, Database, str]]:
    """Lock the data directory and name the database. Raises `SettingsError`, `DataDirBusy`."""
    from totonoe_core.engine.factory import DataDir
    from totonoe_server.life.config import SettingsError, check_store

    urls = [url for url in (source, target) if url.startswith(_SCHEMES)]
    if len(urls) != 1:
        raise SettingsError("FROM and TO: name one data directory and one postgresql:// address")
    try:
        check_store(urls[0])
    except ValueError as error:
        raise SettingsError(f"store: {error}") from None
    path = Path(target if source == urls[0] else source).expanduser().absolute()
    directory = DataDir(path)
    if source != urls[0] and not directory.exists():
        raise SettingsError(f"{path} is no data directory")
    database = options.database_at(urls[0], pooled=True)
    try:
        # Before the lock, which makes the directory.
        database.look()
        directory.tighten()
        directory.lock("no address, it copies")
        try:
            yield directory, database, urls[0]
        finally:
            directory.release()
    except OSError as error:
        raise SettingsError(f"{error.filename or path}: {error.strerror or error}") from error
