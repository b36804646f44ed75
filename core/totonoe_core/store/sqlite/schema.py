"""Tables of a collection's file and of the catalogue, and opening of connections.

`memory` holds the current row of each memory; `link` both directions of each link;
`operation` one line per revision, with the keys of the rows that it touched and the revision
that it undid, if it is an Undo; `image` the earlier state of such a row (no image: the operation
made it). The state of a row *after* a revision is its next before image, or the row itself: stored
once, never twice. Rows and images hold the revision that wrote them, so that each version has
its beginning and its end (`store/tables/history.py`). `episode` keeps the ids it was made with;
`dismissal` the pairs (a < b) that a caller declared to be no duplicates, with the hashes of their
texts. `reply` keeps answers for replay, `access` the figures of Recall (no operation),
`recall_event` recent answers of Recall, until a Consolidate uses them up,
`coactivation` counts of common recalls of two rows, `embedding` the vectors of another model
during a re-embedding, `setting` the collection's own row and the bookkeeping of tidying (no
operation). A purged memory leaves its row, empty: neither its id nor its number is used again.

The column `external_id` of `memory` holds a key: the external id, of a private memory with its
agent (`rows.external_keys`).

A file states its format. A file of an earlier format is brought forward
(`store/sqlite/migrate.py`); one of a later or unknown format is refused and not touched.

Deleted bytes are overwritten (`secure_delete`): a purge is one of bytes.

`reply` has rowids: answers of a kilobyte in the order of random keys would each change another
page and leave it half empty. 57,000 of them took 256 MB and 74 us each so, and take 76 and 23.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import apsw

from totonoe_core.base.errors import Corruption, ReadOnly, UnsupportedFormat
from totonoe_core.store import directories
from totonoe_core.store.records import Place
from totonoe_core.store.sqlite import identity, length
from totonoe_core.store.sqlite.loss import Evidence, leave_as_it_is
from totonoe_core.store.sqlite.migrate import COLLECTION_STEPS, Step, migrate

FORMAT = 9
CATALOG_FORMAT = 3
"""Each kind of file has a format number of its own."""
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
CREATE INDEX link_asking ON link (confidence, source, target)
  WHERE type IN ('likely_same', 'may_replace', 'maybe_replaced_by') AND source < target;
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
    """A kind of file: its tables in today's format, and the steps that lead to it.

    `steps` are keyed by the format that they start from, without a gap up to `format`.
    """

    format: int
    tables: str
    steps: Mapping[int, Step]

    @property
    def oldest(self) -> int:
        """The oldest format that can be brought forward."""
        return min(self.steps, default=self.format)


COLLECTION = FileKind(FORMAT, COLLECTION_TABLES, COLLECTION_STEPS)
CATALOG = FileKind(CATALOG_FORMAT, CATALOG_TABLES, {})


def open_writer(
    path: Path,
    kind: FileKind,
    place: Place | None = None,
    *,
    evidence: Evidence | None = None,
    create: bool = False,
) -> apsw.Connection:
    """Open the one connection that writes and checkpoints a file; make the file only if `create`.

    WAL with synchronous=FULL: a commit that returned is on disk. A file of an earlier format is
    brought forward first, and a copy of it kept. `place` is the collection that the file must
    belong to; `None` accepts any.

    `evidence` names the commits that the file must have. If it lacks some (`evidence.loss`), the
    connection only reads, and the disk stays as it is.

    Raises
    ------
    UnsupportedFormat
        The file is another program's, or of a format that is not known; it is not touched.
    Corruption
        It is no database, is shorter than it must be, a page of it is damaged, its commits are
        another collection's, or it lacks commits and is empty, or of an earlier format. It is
        missing (MISSING_FILE) or another collection's (WRONG_FILE), and is not touched.
    ReadOnly
        It cannot be written, or (of an earlier format) not be copied. Nothing changed.
    """
    if place is not None:
        identity.check(place)
    connection: apsw.Connection | None = None
    try:
        length.check(path, None if evidence is None else evidence.log)
        if create:
            # The files beside it get its mode.
            os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        # Until the file is known to be ours, closing must not write its log back.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        # pragma() consumes its row; execute() would stop at the first statement that returns one.
        connection.pragma("busy_timeout", BUSY_TIMEOUT_MS)
        # Before the journal mode, since setting it would write into a foreign file.
        found = format_of(connection, path, kind)
        if place is not None and found is not None:
            identity.confirm(connection, place)
        connection.pragma("synchronous", "full")
        connection.pragma("foreign_keys", False)
        # Whoever writes brings its own checkpoints, since each needs a look at the file first.
        connection.pragma("wal_autocheckpoint", 0)
        connection.pragma("cache_size", -8192)
        connection.pragma("secure_delete", "on")
        lost = None if evidence is None else evidence.look(connection)
        if lost is not None:
            if found != kind.format:
                raise lost.beyond_reading()
            leave_as_it_is(connection)
            return connection
        if found is None and not create:
            raise _empty(path)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        connection.pragma("journal_mode", "wal")
        if found is None:
            _make_tables(connection, kind)
        elif found < kind.format:
            steps = [kind.steps[step] for step in range(found, kind.format)]
            migrate(connection, path, steps)
        # After a clean close the log is a new file, and SQLite syncs its contents only.
        directories.sync(path.parent)
    except BaseException as error:
        if connection is not None:
            connection.close()
        _raise_typed(path, error, "written")
        raise
    return connection


def _empty(path: Path) -> Corruption:
    return Corruption("CORRUPT_ROW", f"{path.name} is empty", file=path.name)


def make_file(path: Path, kind: FileKind, fill: Callable[[apsw.Connection], None]) -> None:
    """Make a new file with the contents that `fill` writes, on disk when this returns.

    One transaction without a journal, which costs a quarter of an empty file and two commits. So
    the file must not be in use before this returns, nor be opened after a crash. Raises `ReadOnly`,
    and may leave a part of it.
    """
    try:
        path.touch(0o600, exist_ok=False)
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
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
    """Return the format of a readable file; `None` if it is empty.

    Raises `UnsupportedFormat` if it is not ours, or of an unknown format.
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


def open_reader(
    path: Path, kind: FileKind = COLLECTION, place: Place | None = None
) -> apsw.Connection:
    """Open a read-only connection to a file; any number beside the writer's.

    A file of an earlier format can be read before it is brought forward, as far as its tables equal
    today's: settings and operations do. Raises `UnsupportedFormat` and `Corruption` like
    `open_writer`; `place` is as there.
    """
    connection: apsw.Connection | None = None
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        connection.pragma("busy_timeout", BUSY_TIMEOUT_MS)
        connection.pragma("query_only", True)
        connection.pragma("cache_size", -4096)
        if format_of(connection, path, kind) is None:
            raise _empty(path)
        if place is not None:
            identity.confirm(connection, place)
    except BaseException as error:
        if connection is not None:
            connection.close()
        _raise_typed(path, error, "opened")
        raise
    return connection


def _raise_typed(path: Path, error: BaseException, wanted: str) -> None:
    """Raise an error of an opening as a typed error; leave any other to the caller."""
    if isinstance(error, apsw.CantOpenError) and identity.is_missing(path):
        raise identity.missing(path) from error
    # SQL fails on a file of ours: its tables are not those of its format.
    if isinstance(error, apsw.NotADBError | apsw.CorruptError | apsw.SQLError | UnicodeDecodeError):
        raise Corruption(
            "CORRUPT_ROW", f"{path.name} is damaged: {error}", file=path.name
        ) from error
    if isinstance(
        error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.FullError | apsw.IOError | OSError
    ):
        raise ReadOnly(
            "READ_ONLY", f"{path.name} cannot be {wanted}: {error}", file=path.name
        ) from error
