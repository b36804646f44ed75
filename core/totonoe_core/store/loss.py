"""Detection of acknowledged commits that a database lacks, when it is opened.

    before SQLite opens it   the log is scanned (`store/wal.py`), the side file is read
                             (`store/acknowledged.py`)
    once it is open          its batch number is compared with the side file: a setting that each
                             commit counts up; of a catalogue, which has none, the revision

A database that lacks commits is served as it is; neither the file nor the log is written, so that
both can still be repaired. This ends when the loss is confirmed (`store/accepting.py`), or when a
log or a file is whole again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import apsw

from totonoe_core.base import limits
from totonoe_core.base.errors import CommitsLost, Corruption, ReadOnly
from totonoe_core.store import acknowledged, rows, wal

BATCH: Final = "batch"
"""Setting: uid that the file was last written as, and its batch number."""
CATALOGUE: Final = "catalog"
"""Takes the place of a uid in the catalogue's side file."""
_OF_CATALOGUE: Final = "--catalogue"
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


@dataclass(frozen=True, slots=True)
class Loss:
    """Commits that a database no longer has.

    Attributes
    ----------
    file : str
        The database's file.
    revision : int
        The newest revision that is left.
    last : int or None
        The newest acknowledged revision. `None` if only the log shows the loss, since no revisions
        can be read from it.
    commit_count : int
        Lower bound of the lost commits.
    next_revision, next_batch : int
        First numbers to use once the loss is confirmed, past all that may have been given out.
    """

    file: str
    revision: int
    last: int | None
    commit_count: int
    next_revision: int
    next_batch: int
    target: str
    """Argument of the command `accept-loss` that names it."""

    @property
    def revisions(self) -> str:
        """The lost revisions: "12-15", "12-" (no end is known) or "none"."""
        if self.last is None:
            return f"{self.revision + 1}-"
        return "none" if self.last <= self.revision else f"{self.revision + 1}-{self.last}"

    def named(self, collection: str) -> Loss:
        """Return the loss with the name of its collection; an empty name means unknown."""
        of_catalogue = self.target == _OF_CATALOGUE
        return self if of_catalogue or not collection else replace(self, target=collection)

    def error(self) -> CommitsLost:
        """Return the error for every write."""
        return CommitsLost(
            file=self.file,
            target=self.target,
            revisions=self.revisions,
            commit_count=self.commit_count,
        )

    def beyond_reading(self) -> Corruption:
        """Return the error for an opening if the file cannot even be read."""
        return Corruption(
            "CORRUPT_ROW",
            f"{self.file} lacks commits that were acknowledged ({self.commit_count}, revisions "
            f"{self.revisions}), and is empty or of an earlier format: bring it and its log back "
            "from a copy, or restore a snapshot",
            file=self.file,
        )

    @property
    def reason(self) -> str:
        """Reason of the operation that confirms the loss, for the history."""
        return f"lost and given up: {self.commit_count} commits, revisions {self.revisions}"


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
            target=_OF_CATALOGUE if self.uid == CATALOGUE else "NAME",
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
