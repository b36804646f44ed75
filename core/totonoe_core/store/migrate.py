"""Files of earlier formats, brought forward when they are opened to be written.

    copy     the whole file beside it, `NAME.formatN`: a temporary name, synced, renamed
    change   every step and the new number in one transaction

A crash or a full disk in between leaves the file as it was, and the next opening begins anew, with
another copy in the place of the first. It stays until a purge (`forget_copies`): whoever goes back
to the version before renames it. A step knows the tables of its own two formats by heart, and does
the same for good, whatever `schema.py` says later.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import apsw

from totonoe_core.store import directories, rows

Step = Callable[[apsw.Connection], None]


def migrate(connection: apsw.Connection, path: Path, steps: Sequence[Step]) -> None:
    """Brings a file forward by some steps, each of one format.

    `connection` writes the file, outside any transaction. Raises what SQLite and the disk raise;
    then nothing changed.
    """
    found = int(connection.pragma("user_version"))
    keep_copy(connection, path, found)
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in steps:
            step(connection)
        connection.pragma("user_version", found + len(steps))
        connection.execute("COMMIT")
    except BaseException:
        # A full disk makes SQLite roll back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def copy_path(path: Path, format_: int) -> Path:
    """Where the copy of a file as it was in a format lies."""
    return path.with_name(f"{path.name}.format{format_}")


def keep_copy(connection: apsw.Connection, path: Path, format_: int) -> None:
    """Copies the file, with what is in its log, beside it."""
    target = copy_path(path, format_)
    temporary = target.with_name(target.name + ".tmp")
    temporary.unlink(missing_ok=True)
    try:
        copy = apsw.Connection(str(temporary))
        try:
            with copy.backup("main", connection, "main") as backup:
                backup.step(-1)
        finally:
            copy.close()
        directories.sync(temporary)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    directories.sync(path.parent)


def forget_copies(path: Path) -> None:
    """Deletes the copies of a file in earlier formats, begun ones too. Raises `OSError`."""
    copies = list(path.parent.glob(f"{path.name}.format*"))
    for copy in copies:
        copy.unlink(missing_ok=True)
    if copies:
        directories.sync(path.parent)


def _from_3(connection: apsw.Connection) -> None:
    """Figures of access, Recalls and co-activations get a crc; `embedding` is new."""
    connection.create_scalar_function("row_crc", lambda *values: rows.crc(values))
    for statement in _FROM_3.split(";"):
        if statement.strip():
            connection.execute(statement)
    connection.create_scalar_function("row_crc", None)


_FROM_3 = """
ALTER TABLE access RENAME TO access_3;
CREATE TABLE access (
  row INTEGER PRIMARY KEY,
  last_us INTEGER NOT NULL,
  count INTEGER NOT NULL,
  crc INTEGER NOT NULL
) STRICT;
INSERT INTO access SELECT row, last_us, count, row_crc(row, last_us, count) FROM access_3;
DROP TABLE access_3;
ALTER TABLE recall_event RENAME TO recall_event_3;
CREATE TABLE recall_event (
  number INTEGER PRIMARY KEY,
  agent_id TEXT NOT NULL,
  time_us INTEGER NOT NULL,
  hits TEXT NOT NULL,
  crc INTEGER NOT NULL
) STRICT;
INSERT INTO recall_event
  SELECT number, agent_id, time_us, hits, row_crc(number, agent_id, time_us, hits)
  FROM recall_event_3;
DROP TABLE recall_event_3;
ALTER TABLE coactivation RENAME TO coactivation_3;
CREATE TABLE coactivation (
  low INTEGER NOT NULL,
  high INTEGER NOT NULL,
  count INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (low, high)
) STRICT, WITHOUT ROWID;
INSERT INTO coactivation SELECT low, high, count, row_crc(low, high, count) FROM coactivation_3;
DROP TABLE coactivation_3;
CREATE INDEX coactivation_by_high ON coactivation (high);
CREATE TABLE embedding (
  row INTEGER PRIMARY KEY,
  revision INTEGER NOT NULL,
  vector BLOB NOT NULL,
  crc INTEGER NOT NULL
) STRICT;
"""

COLLECTION_STEPS: Mapping[int, Step] = {3: _from_3}
"""What brings a collection's file to the next format, by the format it has."""
