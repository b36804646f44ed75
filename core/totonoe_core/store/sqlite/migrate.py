"""Migration of files of earlier formats, when they are opened for writing.

    copy     the whole file beside it, `NAME.formatN`: a temporary name, synced, renamed
    change   every step and the new number in one transaction

A crash or a full disk in between leaves the file unchanged, and the next opening starts over, with
a new copy. The copy stays until a purge (`forget_copies`): rename it to go back to the earlier
version. A step has the tables of its own two formats written out, and does not depend on
`schema.py`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import apsw

from totonoe_core.store import directories, rows

Step = Callable[[apsw.Connection], None]


def migrate(connection: apsw.Connection, path: Path, steps: Sequence[Step]) -> None:
    """Bring a file forward by some steps, each of one format.

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
    """Return the path of the copy of a file in an earlier format."""
    return path.with_name(f"{path.name}.format{format_}")


def keep_copy(connection: apsw.Connection, path: Path, format_: int) -> None:
    """Copy the file, with its log, beside it."""
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
    """Delete the copies of a file in earlier formats, also unfinished ones. Raises `OSError`."""
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


def _from_4(connection: apsw.Connection) -> None:
    """Store the agent behind a NUL in the column `external_id` of private memories.

    Rows that do not match their crc stay as they are.
    """
    numbers = [number for (number,) in connection.execute(_WITH_EXTERNAL_ID_4)]
    for number in numbers:
        try:
            row = connection.execute(_MEMORY_4, (number,)).fetchone()
        except (UnicodeDecodeError, apsw.CorruptError):
            continue
        if row is None or not rows.is_sound(row, "memory"):
            continue
        if not json.loads(row[7]).get("private", False):
            continue
        values = (*row[:2], f"{row[2]}\0{row[6]}", *row[3:-1])
        connection.execute(
            "UPDATE memory SET external_id = ?, crc = ? WHERE row = ?",
            (values[2], rows.crc(values), number),
        )


# Over the indexes alone, so that memories without an external id are not read.
_WITH_EXTERNAL_ID_4 = """
SELECT row FROM memory INDEXED BY memory_by_external_id
  WHERE external_id IS NOT NULL AND status <> 'forgotten'
UNION ALL SELECT row FROM memory INDEXED BY forgotten_by_external_id
  WHERE external_id IS NOT NULL AND status = 'forgotten'
"""
_MEMORY_4 = """
SELECT row, id, external_id, content, content_hash, vector, agent_id, fields, created_us,
  updated_us, status, superseded_by, revision, crc FROM memory WHERE row = ?
"""


def _from_5(connection: apsw.Connection) -> None:
    """Index what is probably the same, and note all rows as unscored."""
    connection.execute(
        "CREATE INDEX link_likely ON link (confidence, source, target)\n"
        "  WHERE type = 'likely_same' AND source < target"
    )
    (last,) = next(connection.execute("SELECT max(row) FROM memory"))
    if last is not None:
        connection.execute(
            "INSERT INTO setting VALUES (?, ?, ?)", rows.seal(("unscored", f"[[1, {last}]]"))
        )


def _from_6(connection: apsw.Connection) -> None:
    """Change no row. `fields` may now hold names that a daemon of format 6 cannot read."""


def _from_7(connection: apsw.Connection) -> None:
    """Change no row: a row without a source is the agent's. A daemon of format 7 reads no source,
    so that it would lose those that are stored from now on.
    """


def _from_8(connection: apsw.Connection) -> None:
    """Index all links that ask, not only those of what is probably the same."""
    connection.execute("DROP INDEX link_likely")
    connection.execute(
        "CREATE INDEX link_asking ON link (confidence, source, target)\n"
        "  WHERE type IN ('likely_same', 'may_replace', 'maybe_replaced_by') AND source < target"
    )


COLLECTION_STEPS: Mapping[int, Step] = {
    3: _from_3,
    4: _from_4,
    5: _from_5,
    6: _from_6,
    7: _from_7,
    8: _from_8,
}
"""Steps that bring a collection's file to the next format, by the format it has."""
