"""SQLite files of other programs, opened so that nothing in them can change.

A file without a log is opened read-only and immutable: not even a lock is taken. Beside a file that
has a log (`-wal`, or the rollback journal of a program that died) the newest rows stand in the log,
so both are copied to a temporary folder and SQLite puts them together there: nothing is lost, and
the original stays as it is.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from totonoe.importers.records import RECORD_BYTES_MAX

MAGIC = b"SQLite format 3\0"
_LOGS = ("-wal", "-journal")
_COPIED_TIMES_MAX = 3


def is_database(path: Path) -> bool:
    """Return true if the path is a file that begins as SQLite files do."""
    try:
        with path.open("rb") as raw:
            return raw.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading.

    Raises
    ------
    ValueError
        It is no SQLite database, is damaged, or another program writes to it all the time.
    """
    if not is_database(path):
        empty = path.is_file() and path.stat().st_size == 0
        raise ValueError(f"{path}: {'the file is empty' if empty else 'not a SQLite database'}")
    with tempfile.TemporaryDirectory(prefix="totonoe-import-") as folder:
        try:
            before = _states(path)
            if any(state and state[1] for state in before[1:]):
                copy = _copied(path, Path(folder))
                database = sqlite3.connect(copy)
            else:
                uri = path.resolve().as_uri() + "?mode=ro&immutable=1"
                database = sqlite3.connect(uri, uri=True)
            with closing(database):
                database.row_factory = sqlite3.Row
                # A text that is no UTF-8 must not end the import: its record is skipped.
                database.text_factory = _text
                database.execute("SELECT count(*) FROM sqlite_master").fetchone()
                yield database
            if _states(path) != before:
                raise ValueError(f"{path}: another program wrote to it meanwhile: import it again")
        except (sqlite3.Error, OSError) as error:
            raise ValueError(f"{path}: the database cannot be read: {error}") from None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _states(path: Path) -> list[tuple[int, int] | None]:
    """Return time of change and size of the file and of its logs; `None` for one that is absent."""
    found: list[tuple[int, int] | None] = []
    for name in ("", *_LOGS):
        try:
            stat = path.with_name(path.name + name).stat()
            found.append((stat.st_mtime_ns, stat.st_size))
        except FileNotFoundError:
            found.append(None)
    return found


def _copied(path: Path, folder: Path) -> Path:
    """Copy the file and its logs as they were at one moment. Raises `ValueError`."""
    target = folder / path.name
    for _ in range(_COPIED_TIMES_MAX):
        before = _states(path)
        for name, state in zip(("", *_LOGS), before, strict=True):
            copy = target.with_name(target.name + name)
            copy.unlink(missing_ok=True)
            if state is not None:
                shutil.copyfile(path.with_name(path.name + name), copy)
        if _states(path) == before:
            return target
    raise ValueError(f"{path}: another program writes to it: stop it and import again")


def columns(database: sqlite3.Connection, table: str) -> set[str]:
    """Return the names of a table's columns, none if there is no such table."""
    rows = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return {row["name"] for row in rows}


def require(database: sqlite3.Connection, path: Path, table: str, names: Sequence[str]) -> None:
    """Raise `ValueError` unless a table has these columns."""
    missing = sorted(set(names) - columns(database, table))
    if missing:
        raise ValueError(f"{path}: unknown schema: table {table} lacks {', '.join(missing)}")


def bounded(column: str) -> str:
    """Return the SQL of a column that is null if it is over the limit of a record.

    Beside it stands `<column>_over`, true in that case.
    """
    size = f"length(CAST({column} AS BLOB))"
    return (
        f"CASE WHEN {size} <= {RECORD_BYTES_MAX} THEN {column} END AS {column}, "
        f"ifnull({size}, 0) > {RECORD_BYTES_MAX} AS {column}_over"
    )
