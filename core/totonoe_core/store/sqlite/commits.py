"""Counting of the commits of a collection's file, so that a lost commit is noticed.

    begin    a transaction has begun
    count    before its COMMIT: the number of the commit becomes a setting of the same transaction
    note     after its COMMIT: revision and number go into the side file, before anybody is answered

If a process dies between COMMIT and `note`, the side file lags by a commit that nobody got an
answer for.
"""

from __future__ import annotations

import apsw

from totonoe_core.store import rows
from totonoe_core.store.records import Loss
from totonoe_core.store.sqlite import loss
from totonoe_core.store.sqlite.acknowledged import Note
from totonoe_core.store.sqlite.loss import Evidence
from totonoe_core.store.sqlite.session import Session
from totonoe_core.store.tables.sql import PUT_SETTING

_NEWEST = "SELECT coalesce(max(revision), 0) FROM operation"


class Commits:
    """Commits of one file. Used on the thread of the connection that writes it.

    `loss` describes acknowledged commits that the file lacks; while it is set, nothing is written.
    `foreign` is the uid of the side file if that belongs to another collection; else empty. Without
    `noted` nothing is counted.
    """

    def __init__(self, connection: apsw.Connection, evidence: Evidence, *, noted: bool) -> None:
        self.loss: Loss | None = evidence.loss
        self.foreign = evidence.foreign
        self._connection = connection
        self._uid = evidence.uid
        self._note = Note(evidence.path, evidence.uid) if noted else None
        self._batch = evidence.batch
        self._changes_before = 0
        self._revision: int | None = None

    def check(self) -> None:
        """Raises `CommitsLost` if the file lacks commits."""
        if self.loss is not None:
            raise self.loss.error()

    def begin(self) -> None:
        """Remember the state at the beginning of a transaction."""
        self._changes_before = self._connection.total_changes()
        self._revision = None

    def count(self) -> None:
        """Counts the commit in the file, unless the transaction changed no row."""
        if self._note is None or self._connection.total_changes() == self._changes_before:
            return
        setting = (loss.BATCH, f"{self._uid} {self._batch + 1}")
        Session(self._connection).write(PUT_SETTING, rows.seal(setting))
        self._revision = int(self._connection.execute(_NEWEST).get)

    def note(self) -> None:
        """Note in the side file a commit that is on disk."""
        if self._note is not None and self._revision is not None:
            self._batch += 1
            self._note.put(self._revision, self._batch)

    def go_on(self, lost: Loss) -> None:
        """Allow writes in spite of a loss; commits are counted from after it."""
        loss.let_write(self._connection)
        self.loss, self._batch = None, lost.next_batch

    def stay(self, lost: Loss) -> None:
        """Revert `go_on`."""
        self.loss = lost
        loss.leave_as_it_is(self._connection)

    def close(self) -> None:
        """Closes the side file. Idempotent."""
        if self._note is not None:
            self._note.close()
