"""Detection of acknowledged commits that a database lacks, when it is opened.

    before SQLite opens it   the log is scanned (`store/sqlite/wal.py`), the side file is read
                             (`store/sqlite/acknowledged.py`)
    once it is open          its batch number is compared with the side file: a setting that each
                             commit counts up; of a catalogue, which has none, the revision

A database that lacks commits is served as it is; neither the file nor the log is written, so that
both can still be repaired. This ends when the loss is confirmed (`store/sqlite/accepting.py`), or
when a log or a file is whole again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw

from totonoe_core.base import limits
from totonoe_core.base.errors import Corruption, ReadOnly
from totonoe_core.store import rows
from totonoe_core.store.records import OF_CATALOGUE, Loss
from totonoe_core.store.sqlite import acknowledged, wal

BATCH: Final = "batch"
"""Setting: uid that the file was last written as, and its batch number."""
CATALOGUE: Final = "catalog"
"""Takes the place of a uid in the catalogue's side file."""
KIND: Final = "AcceptLoss"
"""Kind of the operation that confirms a loss."""


@dataclass(frozen=True, slots=True)
class Standing:
    """State of a database: uid that it was written as, newest revision, batch number.

    `batch` is `None` if its row is damaged or missing: then the revision alone is compared.
    """

    uid: str
    revision: int
    batch: int | None


class Evidence:
    """Evidence of the commits that a database must have, gathered before SQLite opens it. Reads
    only.

    `log` is the scan of its log. After `look`, `there` is the state of the database and `loss` are
    the commits that it lacks.
    """

    def __init__(self, path: Path, uid: str) -> None:
        """Gather the evidence on the file of a uid. Raises `ReadOnly` if its log is unreadable."""
        self.path = path
        self.uid = uid
        try:
            self.log = wal.scan(path.with_name(path.name + "-wal"))
        except OSError as error:
            raise ReadOnly(
                "READ_ONLY", f"the log of {path.name} cannot be read: {error}", file=path.name
            ) from error
        self._noted = acknowledged.read(path, uid)
        self.there = Standing("", 0, 0)
        self.loss: Loss | None = None

    @property
    def batch(self) -> int:
        """The newest known batch number: of the database, or of its side file."""
        noted = 0 if self._noted is None or self.foreign else self._noted.batch
        return max(self.there.batch or 0, noted)

    @property
    def foreign(self) -> str:
        """The uid of the side file if it is another one; else empty."""
        noted = self._noted
        own = noted is None or noted.uid == acknowledged.shortened(self.uid)
        return "" if noted is None or own else noted.uid

    def look(self, connection: apsw.Connection) -> Loss | None:
        """Compare the open database with the evidence; return its loss.

        Raises `Corruption` if its commits are another collection's, and what SQLite raises.
        """
        self.there = _standing(connection)
        self.loss = self._compared(self.there)
        return self.loss

    def _compared(self, there: Standing) -> Loss | None:
        log, noted = self.log, None if self.foreign else self._noted
        if noted is not None and there.uid and acknowledged.shortened(there.uid) != noted.uid:
            raise Corruption(
                "CORRUPT_ROW",
                f"{self.path.name} or its log holds commits of collection {there.uid}, "
                f"not of {noted.uid}: bring its own files back, or restore a snapshot",
                file=self.path.name,
            )
        behind = 0 if noted is None else _behind(noted, there)
        if not (behind or log.damaged):
            return None
        lost_by_log = log.lost_commit_count if log.damaged else 0
        last = None
        if noted is not None and lost_by_log <= behind:
            last = max(noted.revision, there.revision)
        newest = max(there.revision, 0 if noted is None else noted.revision)
        batches = (there.batch or 0, 0 if noted is None else noted.batch)
        unknown = limits.LOST_REVISIONS_LEFT_OUT + lost_by_log * limits.REVISIONS_PER_COMMIT_MAX
        return Loss(
            file=self.path.name,
            revision=there.revision,
            last=last,
            commit_count=max(behind, lost_by_log),
            next_revision=newest + unknown + 1,
            next_batch=max(batches) + lost_by_log + 1,
            target=OF_CATALOGUE if self.uid == CATALOGUE else "NAME",
        )


def _behind(noted: acknowledged.Acknowledged, there: Standing) -> int:
    """Return how many commits a database is behind its side file; 0 if none."""
    if there.batch is not None:
        return max(0, noted.batch - there.batch)
    return max(0, noted.revision - there.revision)


def _standing(connection: apsw.Connection) -> Standing:
    """Return the state of a database. Raises what SQLite raises."""
    has_operations, has_settings = connection.execute(
        "SELECT count(*) FILTER (WHERE name = 'operation'), "
        "count(*) FILTER (WHERE name = 'setting') FROM sqlite_schema WHERE type = 'table'"
    ).get
    if not has_operations:
        return Standing("", 0, 0)
    revision = int(connection.execute("SELECT coalesce(max(revision), 0) FROM operation").get)
    if not has_settings:
        return Standing("", revision, revision)
    row = connection.execute(
        "SELECT CAST(key AS BLOB), CAST(value AS BLOB), crc FROM setting WHERE key = ?", (BATCH,)
    ).fetchone()
    if row is None or rows.crc(row[:-1]) != row[-1]:
        return Standing("", revision, None)
    uid, _, batch = row[1].decode().rpartition(" ")
    return Standing(uid, revision, int(batch))


def leave_as_it_is(connection: apsw.Connection) -> None:
    """Keep a connection from writing anything, also the log when it closes."""
    connection.pragma("query_only", True)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def let_write(connection: apsw.Connection) -> None:
    """Revert `leave_as_it_is`."""
    connection.pragma("query_only", False)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
