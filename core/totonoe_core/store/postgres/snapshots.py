"""Snapshots in the database: the rows of a collection once more, under the snapshot's id as uid.

    take      BEGIN at REPEATABLE READ, INSERT ... SELECT of each table, all rows read back, each
              against its crc, and their digest kept in `snapshot`: COMMIT. Writers do not wait
    prepare   the same the other way, under a new uid: the digest must be that which was kept, and
              the catalogue gets its row, in the same transaction
    rewrite   a purge of those rows, with a new digest, in one transaction

So a snapshot, and what is restored of one, is there whole or not at all, whatever daemon ends in
between; and any daemon can list, restore, purge and delete it. All changes lock the table
`snapshot` first. The lock is not on a row, because LOCK alone may be given before the moment of a
REPEATABLE READ transaction is fixed (https://www.postgresql.org/docs/current/explicit-locking.html):
a snapshot shows all that was committed before another daemon's purge looked for snapshots.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from psycopg import errors as pg

from totonoe_core.base import limits, plain
from totonoe_core.base.errors import Corruption, NotFound, Unavailable
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.snapshots import Snapshot
from totonoe_core.store import rows, seam
from totonoe_core.store.copying import TABLES, Digest, read_all
from totonoe_core.store.postgres import migrate
from totonoe_core.store.postgres.catalog import Catalog
from totonoe_core.store.postgres.collection_file import CollectionFile
from totonoe_core.store.postgres.copying import SessionReading
from totonoe_core.store.postgres.reader import ReaderPool, Rows
from totonoe_core.store.postgres.session import Connect, Session
from totonoe_core.store.records import SETTINGS_KEY, Place
from totonoe_core.store.settings import read_settings
from totonoe_core.store.tables.described import described

Tell = Callable[[str, float], None]
Purge = Callable[[seam.CollectionFile], int]
_LOCK_WAIT_S = 1
_PATIENCE = (
    f"SET LOCAL lock_timeout = '{_LOCK_WAIT_S}s'",
    "SET LOCAL statement_timeout = 0",
    # A daemon that stands still holds up the snapshots of all, so not for long.
    "SET LOCAL idle_in_transaction_session_timeout = '60s'",
    "LOCK TABLE snapshot IN SHARE ROW EXCLUSIVE MODE",
)
_READERS = 2
_LIST = "SELECT id, collection_uid, about, crc FROM snapshot"


class Snapshots:
    """`KeptSnapshots` of a database. `derived` holds the derived files of this daemon.

    Methods without a text of their own: see `seam.KeptSnapshots`. All raise `Unavailable`, and
    changes `ReadOnly`.
    """

    def __init__(self, connect: Connect, derived: Path) -> None:
        self._connect = connect
        self._derived = derived
        self._pool = ReaderPool(lambda: Session(connect, ""), _READERS, None)

    # -- Reads

    def all(self) -> Iterator[Snapshot]:
        """Every snapshot that can be read: a damaged row must not hide the others."""
        with self._reading("") as session:
            found = session.execute(_LIST)
        return (_snapshot(row) for row in found if rows.is_sound(row, "snapshot"))

    def of(self, uid: str) -> Iterator[Snapshot]:
        """Yield the snapshots of a collection's uid. Raises `Corruption`: a purge needs all."""
        with self._reading("") as session:
            return iter(_found(session, "collection_uid = ?", uid))

    def find(self, snapshot_id: str) -> Snapshot | None:
        with self._reading("") as session:
            return next(iter(_found(session, "id = ?", snapshot_id)), None)

    @contextmanager
    def _reading(self, uid: str) -> Iterator[Session]:
        """Lend a connection for reads of the rows of one uid."""
        session, sound = self._pool.take(), False
        try:
            session.uid = uid
            yield session
            sound = True
        finally:
            self._pool.give_back(session, sound=sound)

    def holds(self, snapshot: Snapshot, memory_ids: Sequence[str]) -> list[str]:
        with self._reading(snapshot.id) as session:
            found = session.execute(
                "SELECT id FROM memory WHERE uid = $1 AND id = ANY(?) AND status <> 'purged'",
                (list(memory_ids),),
            )
            return [value for (value,) in found]

    def purged_ids(self, place: Place) -> list[str] | None:
        with self._reading(place.uid) as session:
            if session.execute("SELECT 1 FROM collection WHERE uid = $1").get is None:
                return None
            # Found over the operations: the table of memories has no index for this.
            purged: set[int] = set()
            for (touched,) in session.execute(
                "SELECT touched FROM operation WHERE uid = $1 AND kind = 'Purge'"
            ):
                purged.update(json.loads(touched)["memory"])
            found = session.execute(
                "SELECT id FROM memory WHERE uid = $1 AND row = ANY(?) AND status = 'purged'",
                (sorted(purged),),
            )
            return [value for (value,) in found]

    def sweep(self) -> None:
        """Do nothing: what is not finished is not committed."""

    def close(self) -> None:
        """Close the connections for reads."""
        self._pool.close()

    # -- Changes, each one transaction

    @contextmanager
    def _work(self, how: str = "", tell: Tell = lambda *_: None) -> Iterator[Session]:
        """Open a transaction alone among all daemons; rolled back unless the caller commits.

        `tell` is called while this waits, and may raise. Raises `Unavailable` if another daemon
        works on snapshots for too long.
        """
        session = Session(self._connect, "")
        try:
            for _ in range(limits.SNAPSHOT_LOCK_WAIT_S // _LOCK_WAIT_S):
                tell("copying", 0.0)
                session.begin(how)
                try:
                    for setting in _PATIENCE:
                        session.execute(setting)
                    break
                except Unavailable as error:
                    if not isinstance(error.__cause__, pg.LockNotAvailable):
                        raise
                    _roll_back(session)
            else:
                raise Unavailable(
                    "OVERLOADED",
                    f"another daemon works on snapshots for {limits.SNAPSHOT_LOCK_WAIT_S} seconds",
                    retry_delay_ms=limits.RETRY_DELAY_MS,
                )
            session.execute("SET LOCAL lock_timeout = '10s'")
            yield session
        finally:
            _roll_back(session)
            session.close()

    def settle(self) -> None:
        with self._work():
            """Whoever took one before has committed it, or given it up."""

    def take(
        self, name: str, draft: Snapshot, tell: Tell, check: Callable[[Sequence[Snapshot]], None]
    ) -> Snapshot:
        with self._work("ISOLATION LEVEL REPEATABLE READ", tell) as session:
            for known in _found(session, "id = ?", draft.id):
                return known
            check(_found(session, "collection_uid = ?", draft.collection_uid))
            _copy(session, draft.collection_uid, draft.id, tell)
            with _under(session, draft.id):
                try:
                    snapshot = _sealed(session, draft, _digest(session, tell))
                except Corruption as error:
                    raise Corruption(
                        error.reason,
                        f"no snapshot of collection {name!r} was taken, since it is damaged: "
                        f"{error.message}; purge its bad memories, or restore an earlier snapshot "
                        "under another name",
                        collection=name,
                    ) from error
            tell("naming", 0.0)
            _put(session, snapshot)
            session.end("COMMIT")
        return snapshot

    def delete(self, snapshot: Snapshot) -> None:
        with self._work() as session:
            with _under(session, snapshot.id):
                for table in TABLES:
                    session.execute(f"DELETE FROM {table} WHERE uid = $1")
            session.execute("DELETE FROM snapshot WHERE id = ?", (snapshot.id,))
            session.end("COMMIT")

    def rewrite(self, snapshot: Snapshot, purge: Purge) -> tuple[Snapshot, int]:
        with self._work() as session:
            now = _one(session, snapshot.id)
            with _under(session, now.id):
                _check(now, _digest(session))
                count = purge(_Unlisted(session, self._place(now.id)))
                after = replace(
                    now,
                    rewrite_count=now.rewrite_count + 1,
                    purged_count=now.purged_count + count,
                )
                after = _sealed(session, after, _digest(session))
            _put(session, after)
            session.end("COMMIT")
        return after, count

    def purge_aside(self, place: Place, purge: Purge) -> None:
        with self._work() as session:
            # In this order, as everywhere: the catalogue, then collections.
            session.execute("SELECT revision FROM catalogue FOR UPDATE")
            with _under(session, place.uid):
                there = session.execute(
                    "SELECT 1 FROM collection WHERE uid = $1 AND NOT EXISTS (SELECT 1 FROM "
                    "catalogue_collection k WHERE k.uid = $1 AND deleted_us IS NULL) FOR UPDATE"
                )
                if there.get is None:
                    return
                purge(_Unlisted(session, place))
            session.end("COMMIT")

    @contextmanager
    def prepare(self, snapshot: Snapshot, name: str, tell: Tell) -> Iterator[_Prepared]:
        with self._work(tell=tell) as session:
            now = _one(session, snapshot.id)
            uid = secrets.token_hex(8)
            _copy(session, now.id, uid, tell)
            with _under(session, uid):
                _check(now, _digest(session, tell))
                file = _Unlisted(session, self._place(uid))
                info = replace(read_settings(file.rows, now.id), name=name)
                file.put_setting(SETTINGS_KEY, plain.dumps(info), revision=0, before=None)
                session.execute(
                    "INSERT INTO collection (uid, revision) SELECT $1, coalesce(max(revision), 0) "
                    "FROM operation WHERE uid = $1"
                )
                yield _Prepared(session, self._place(uid))

    def _place(self, uid: str) -> Place:
        return Catalog.place_below(self._derived, uid, "")


class _Prepared:
    """`Prepared` within a transaction, which `put` commits.

    Methods without a text of their own: see `seam.Prepared`.
    """

    def __init__(self, session: Session, place: Place) -> None:
        self._session = session
        self._place = place
        self.uid = place.uid

    def open(self) -> seam.CollectionFile:
        return _Unlisted(self._session, self._place)

    def info(self) -> CollectionInfo:
        rows = Rows(self._session)
        return replace(read_settings(rows, self.uid), revision=rows.last_revision())

    def hold(self, uids: Iterable[str]) -> dict[str, int]:
        self._session.execute("SELECT revision FROM catalogue FOR UPDATE")
        found = self._session.execute(
            "SELECT uid, revision FROM collection WHERE uid = ANY(?) ORDER BY uid FOR UPDATE",
            (sorted(uids),),
        )
        return dict(found.fetchall())

    def put(self, **listed: Any) -> int:
        revision = _Joined(self._session, self._place.path).put(**listed)
        self._session.end("COMMIT")
        return revision


class _Joined(Catalog):
    """The catalogue within a transaction that the caller ends."""

    @contextmanager
    def _changing(self) -> Iterator[int]:
        with self._in_order() as revision:
            yield revision


class _Unlisted(CollectionFile):
    """Rows of a snapshot, or of a collection without a name, within a transaction of the caller."""

    def __init__(self, session: Session, place: Place) -> None:
        super().__init__(session, place)

    @contextmanager
    def transaction(self, _: object = ()) -> Iterator[None]:
        """Do nothing: all of it is in one transaction, and the caller ends that."""
        yield

    def close(self) -> None:
        """Do nothing: the connection is the caller's."""


def _roll_back(session: Session) -> None:
    if session.in_transaction:
        # A lost connection has rolled back already; the error itself matters more.
        with suppress(Exception):
            session.end("ROLLBACK")


@contextmanager
def _under(session: Session, uid: str) -> Iterator[None]:
    """Let statements be about the rows of another uid."""
    before, session.uid = session.uid, uid
    try:
        yield
        if session.in_transaction:
            # What waits to be sent is about these rows.
            session.execute("SELECT 1")
    finally:
        session.uid = before


def _copy(session: Session, source: str, target: str, tell: Tell) -> None:
    with _under(session, source):
        for done, (table, (columns, _)) in enumerate(TABLES.items()):
            tell("copying", done / len(TABLES))
            session.execute(
                f"INSERT INTO {table} (uid, {columns}) "
                f"SELECT ?::text, {columns} FROM {table} WHERE uid = $1",
                (target,),
            )


def _digest(session: Session, tell: Tell = lambda *_: None) -> Digest:
    """Read all rows of the session's uid, each against its crc. Raises `Corruption`."""
    reading = SessionReading(session)
    total = max(1, sum(map(reading.count, TABLES)))
    return read_all(reading, done=lambda count: tell("checking", count / total))


def _check(snapshot: Snapshot, digest: Digest) -> None:
    if digest.sha256 != snapshot.sha256:
        raise Corruption(
            "CORRUPT_ROW",
            f"snapshot {snapshot.id} is not what was sealed: the digest of its rows differs",
            file=snapshot.id,
        )


def _sealed(session: Session, draft: Snapshot, digest: Digest) -> Snapshot:
    """Return a draft with all figures of the rows of the session's uid."""
    info = read_settings(Rows(session), draft.collection)
    said = described(session, draft, info, migrate.newest())
    return replace(said, file_bytes=digest.byte_count, sha256=digest.sha256)


def _found(session: Session, where: str, *values: object) -> list[Snapshot]:
    """Return the snapshots of a condition. Raises `Corruption`."""
    return [_snapshot(row) for row in session.execute(f"{_LIST} WHERE {where}", values)]


def _snapshot(row: rows.Row) -> Snapshot:
    return plain.loads(Snapshot, rows.check(row, "snapshot")[2])


def _one(session: Session, snapshot_id: str) -> Snapshot:
    for snapshot in _found(session, "id = ?", snapshot_id):
        return snapshot
    raise NotFound("SNAPSHOT_NOT_FOUND", kind="snapshot", name=snapshot_id)


def _put(session: Session, snapshot: Snapshot) -> None:
    session.execute(
        "INSERT INTO snapshot (id, collection_uid, about, crc) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET about = excluded.about, crc = excluded.crc",
        rows.seal((snapshot.id, snapshot.collection_uid, plain.dumps(snapshot))),
    )
