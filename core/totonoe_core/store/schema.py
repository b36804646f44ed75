"""Tables of a collection's file and of the catalogue, and how a connection is opened.

`memory` holds the current row of each memory; `link` both directions of each link;
`operation` one line per revision, with the keys of the rows that it touched and the revision
that it took back, if it is an Undo; `image` what such a row was before (no image: the operation
made it). What a row was *after* a revision is its next before image, or the row itself: stored
once, never twice. Rows and images hold the revision that wrote them, so that each version has
its beginning and its end (`store/history.py`). `episode` keeps the ids it was made with;
`dismissal` the pairs (a < b) that somebody said are no duplicates, with the hashes of the texts
that this was said of. `reply` keeps answers for replay, `access` what Recall counts (no
operation), `recall_event` what Recall answered lately, until a Consolidate uses it up,
`coactivation` how often two rows were recalled together, `embedding` the vectors of another model
while a collection is being embedded anew, `setting` the collection's own row and
the bookkeeping of tidying (no operation). Of a
purged memory the row stays, empty: neither its id nor its number is used again.

A file says its format. One of an earlier format is brought forward (`store/migrate.py`), one of a
later format, or older than any that is known, is refused and not touched.

What is deleted is overwritten (`secure_delete`): a purge is one of bytes.

`reply` has rowids: answers of a kilobyte in the order of random keys would each change another
page and leave it half empty. 57,000 of them took 256 MB and 74 us each so, and take 76 and 23.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import apsw

from totonoe_core.errors import Corruption, ReadOnly, UnsupportedFormat
from totonoe_core.store import directories
from totonoe_core.store.migrate import COLLECTION_STEPS, Step, migrate

FORMAT = 4
CATALOG_FORMAT = 3
"""Each kind of file has its own number, and changes alone."""
APPLICATION_ID = 0x746F746E  # "totn"
BUSY_TIMEOUT_MS = 5_000

COLLECTION_TABLES = """
CREATE TABLE memory (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  external_id TEXT,
  content TEXT NOT NULL,
  content_hash BLOB NOT NULL,
  vector BLOB NOT NULL,
  agent_id TEXT NOT NULL,
  fields TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,
  status TEXT NOT NULL,
  superseded_by TEXT NOT NULL,
  revision INTEGER NOT NULL,
  crc INTEGER NOT NULL
) STRICT;
CREATE INDEX memory_by_time ON memory (created_us, id);
CREATE UNIQUE INDEX memory_by_external_id ON memory (external_id)
  WHERE external_id IS NOT NULL AND status <> 'forgotten';
CREATE INDEX forgotten_by_external_id ON memory (external_id)
  WHERE external_id IS NOT NULL AND status = 'forgotten';
CREATE INDEX forgotten_by_time ON memory (updated_us) WHERE status = 'forgotten';
CREATE INDEX memory_by_revision ON memory (revision);
CREATE INDEX memory_by_superseder ON memory (superseded_by) WHERE superseded_by <> '';
CREATE TABLE link (
  source INTEGER NOT NULL,
  target INTEGER NOT NULL,
  type TEXT NOT NULL,
  confidence REAL NOT NULL,
  note TEXT NOT NULL,
  revision INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (source, target, type)
) STRICT, WITHOUT ROWID;
CREATE TABLE access (
  row INTEGER PRIMARY KEY,
  last_us INTEGER NOT NULL,
  count INTEGER NOT NULL,
  crc INTEGER NOT NULL
) STRICT;
CREATE TABLE recall_event (
  number INTEGER PRIMARY KEY,
  agent_id TEXT NOT NULL,
  time_us INTEGER NOT NULL,
  hits TEXT NOT NULL,
  crc INTEGER NOT NULL
) STRICT;
CREATE TABLE coactivation (
  low INTEGER NOT NULL,
  high INTEGER NOT NULL,
  count INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (low, high)
) STRICT, WITHOUT ROWID;
CREATE INDEX coactivation_by_high ON coactivation (high);
CREATE TABLE operation (
  revision INTEGER PRIMARY KEY,
  operation_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  reason TEXT NOT NULL,
  touched TEXT NOT NULL,
  time_us INTEGER NOT NULL,
  undoes INTEGER,
  crc INTEGER NOT NULL
) STRICT;
CREATE INDEX operation_by_id ON operation (operation_id);
CREATE INDEX operation_by_undone ON operation (undoes) WHERE undoes IS NOT NULL;
CREATE TABLE episode (
  id TEXT PRIMARY KEY,
  summary TEXT NOT NULL,
  memory_ids TEXT NOT NULL,
  start_us INTEGER NOT NULL,
  end_us INTEGER NOT NULL,
  importance INTEGER NOT NULL,
  agent_id TEXT NOT NULL,
  private INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  crc INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX episode_by_start ON episode (start_us, id);
CREATE TABLE dismissal (
  a INTEGER NOT NULL,
  b INTEGER NOT NULL,
  hash_a BLOB NOT NULL,
  hash_b BLOB NOT NULL,
  agent_id TEXT NOT NULL,
  note TEXT NOT NULL,
  revision INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (a, b)
) STRICT, WITHOUT ROWID;
CREATE INDEX dismissal_by_b ON dismissal (b);
CREATE TABLE image (
  revision INTEGER NOT NULL,
  entity TEXT NOT NULL,
  key TEXT NOT NULL,
  before TEXT NOT NULL,
  vector BLOB NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (revision, entity, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX image_by_key ON image (entity, key, revision);
CREATE TABLE reply (
  agent_id TEXT NOT NULL,
  operation_id TEXT NOT NULL,
  digest BLOB NOT NULL,
  answer TEXT NOT NULL,
  time_us INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (agent_id, operation_id)
) STRICT;
CREATE INDEX reply_by_time ON reply (time_us);
CREATE TABLE embedding (
  row INTEGER PRIMARY KEY,
  revision INTEGER NOT NULL,
  vector BLOB NOT NULL,
  crc INTEGER NOT NULL
) STRICT;
CREATE TABLE setting (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  crc INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

CATALOG_TABLES = """
CREATE TABLE collection (
  uid TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  deleted_us INTEGER,
  crc INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX collection_by_name ON collection (name) WHERE deleted_us IS NULL;
CREATE TABLE operation (
  revision INTEGER PRIMARY KEY,
  operation_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  uid TEXT NOT NULL,
  digest BLOB NOT NULL,
  answer TEXT NOT NULL,
  time_us INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  UNIQUE (agent_id, operation_id)
) STRICT;
"""


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file: its tables in today's format, and the steps that lead there.

    `steps` are by the format that they begin from, without a gap up to `format`.
    """

    format: int
    tables: str
    steps: Mapping[int, Step]

    @property
    def oldest(self) -> int:
        """The oldest format that is brought forward."""
        return min(self.steps, default=self.format)


COLLECTION = FileKind(FORMAT, COLLECTION_TABLES, COLLECTION_STEPS)
CATALOG = FileKind(CATALOG_FORMAT, CATALOG_TABLES, {})


def open_writer(path: Path, kind: FileKind) -> apsw.Connection:
    """The one connection that writes and checkpoints a file; made if it is not there.

    WAL with synchronous=FULL: a commit that returned is on disk. A file of an earlier format is
    brought forward first, and a copy of it kept.

    Raises
    ------
    UnsupportedFormat
        The file is another program's, or of a format that is not known; it is not touched.
    Corruption
        It is no database, or a page of it is damaged.
    ReadOnly
        It cannot be written, or (of an earlier format) not be copied. Nothing changed.
    """
    connection: apsw.Connection | None = None
    try:
        connection = apsw.Connection(str(path))
        # pragma() consumes its row; execute() would stop at the first statement that returns one.
        connection.pragma("busy_timeout", BUSY_TIMEOUT_MS)
        # Before the journal mode, which would be written into a file that is not ours.
        found = format_of(connection, path, kind)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        connection.pragma("foreign_keys", False)
        connection.pragma("wal_autocheckpoint", 4000)
        connection.pragma("cache_size", -8192)
        connection.pragma("secure_delete", "on")
        if found is None:
            _make_tables(connection, kind)
        elif found < kind.format:
            steps = [kind.steps[step] for step in range(found, kind.format)]
            migrate(connection, path, steps)
        # The log is made anew where the last one was closed, and SQLite syncs only what is in it.
        directories.sync(path.parent)
    except BaseException as error:
        if connection is not None:
            connection.close()
        _raise_typed(path, error, "written")
        raise
    return connection


def make_file(path: Path, kind: FileKind, fill: Callable[[apsw.Connection], None]) -> None:
    """A new file with what `fill` writes, on disk when it returns.

    One transaction without a journal, which costs a quarter of what an empty file and two commits
    do: so it must be a file that counts for nothing before this returns, and is not opened after a
    crash. Raises `ReadOnly`, and leaves a part of it.
    """
    try:
        connection = apsw.Connection(str(path))
        try:
            connection.pragma("journal_mode", "off")
            connection.pragma("synchronous", "full")
            with connection:
                _make_tables(connection, kind)
                fill(connection)
            connection.pragma("journal_mode", "wal")
        finally:
            connection.close()
        directories.sync(path.parent)
    except Exception as error:
        _raise_typed(path, error, "written")
        raise


def format_of(connection: apsw.Connection, path: Path, kind: FileKind) -> int | None:
    """The format of a file that can be read; `None` if it is empty.

    Raises `UnsupportedFormat` if it is not ours, or of a format that is not known.
    """
    application, found = connection.pragma("application_id"), connection.pragma("user_version")
    empty = next(connection.execute("SELECT count(*) FROM sqlite_schema"))[0] == 0
    if empty and (application, found) == (0, 0):
        return None
    if application != APPLICATION_ID or not kind.oldest <= found <= kind.format:
        known = f"formats {kind.oldest} to {kind.format}"
        raise UnsupportedFormat(
            "UNSUPPORTED_FORMAT",
            f"{path.name} has format {found} of application {application:#x}; this version reads "
            + (known if kind.oldest < kind.format else f"format {kind.format} only"),
            file=path.name,
        )
    return int(found)


def _make_tables(connection: apsw.Connection, kind: FileKind) -> None:
    with connection:
        for statement in kind.tables.split(";"):
            if statement.strip():
                connection.execute(statement)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", kind.format)


def open_reader(path: Path, kind: FileKind = COLLECTION) -> apsw.Connection:
    """A connection to a file that can only read; any number beside the writer's.

    A file of an earlier format can be read before it is brought forward, as far as its tables are
    those of today: settings and operations are. Raises `UnsupportedFormat` and `Corruption` like
    `open_writer`.
    """
    connection: apsw.Connection | None = None
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        connection.pragma("busy_timeout", BUSY_TIMEOUT_MS)
        connection.pragma("query_only", True)
        connection.pragma("cache_size", -4096)
        if format_of(connection, path, kind) is None:
            raise Corruption("CORRUPT_ROW", f"{path.name} is empty", file=path.name)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, apsw.CantOpenError) and not path.exists():
            raise Corruption("CORRUPT_ROW", f"{path.name} is gone", file=path.name) from error
        _raise_typed(path, error, "opened")
        raise
    return connection


def _raise_typed(path: Path, error: BaseException, wanted: str) -> None:
    """Raises what an opening failed with as a typed error; anything else is the caller's."""
    # SQL that fails on a file of ours: its tables are not those of its format.
    if isinstance(error, apsw.NotADBError | apsw.CorruptError | apsw.SQLError):
        raise Corruption(
            "CORRUPT_ROW", f"{path.name} is damaged: {error}", file=path.name
        ) from error
    if isinstance(
        error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.FullError | apsw.IOError | OSError
    ):
        raise ReadOnly(
            "READ_ONLY", f"{path.name} cannot be {wanted}: {error}", file=path.name
        ) from error
