"""A collection in the database as its writer uses it: one connection, one thread.

Within a batch there is one transaction; each operation has a savepoint in it, so that one
that fails leaves nothing behind and the others go on.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from totonoe_core.base import plain
from totonoe_core.base.errors import NotFound
from totonoe_core.domain.records import Dismissal, Episode, Link, LinkType, Memory
from totonoe_core.store import rows
from totonoe_core.store.aside import Aside
from totonoe_core.store.checkpoint import Checkpoints
from totonoe_core.store.postgres import sql
from totonoe_core.store.postgres.beside import BesideRows
from totonoe_core.store.postgres.purge import PurgedRows
from totonoe_core.store.postgres.reader import Rows
from totonoe_core.store.postgres.recalls import Recalls
from totonoe_core.store.postgres.session import Session
from totonoe_core.store.records import Loss, Place, Reply, Touched

_PUT_LINK = sql.upsert(
    "link", "source, target, type, confidence, note, revision, crc", "source, target, type"
)
_LOCK = (
    "SELECT revision, "
    "(SELECT deleted_us IS NULL FROM catalogue_collection k WHERE k.uid = $1) "
    "FROM collection WHERE uid = $1 FOR UPDATE"
)
_PATIENCE = (
    "SET LOCAL lock_timeout = '10s'",
    "SET LOCAL statement_timeout = '60s'",
    "SET LOCAL idle_in_transaction_session_timeout = '10s'",
)
"""A daemon that is paused in mid-batch does not hold a collection for long."""


@dataclass(slots=True)
class Commits:
    """Commits of a database are never lost without the server's word: see `Commits` of the seam."""

    loss: Loss | None = None
    foreign: str = ""


class CollectionFile:
    """Writes of one collection, in the order of the lock on its row in `collection`.

    Checkpoints and `path` are of this daemon: files that can be made anew from the rows.

    Methods without a text of their own: see `seam.CollectionFile`.
    """

    def __init__(self, session: Session, place: Place) -> None:
        self.path = place.path
        self._name = place.name
        self.checkpoints = Checkpoints(place.path.parent / "checkpoint")
        self.commits = Commits()
        self.aside = Aside()
        self._session = session
        self.rows = Rows(session, self.aside)
        self.recalls = Recalls(session, self.aside)
        self.purge = PurgedRows(session)
        self.beside = BesideRows(session)
        self._superseded = False
        self.to_clean = False

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a batch in one transaction, while no other daemon writes the collection.

        The lock is a statement of its own, before anything is read: at READ COMMITTED each later
        statement sees all that was committed before the lock was given.

        Raises
        ------
        ReadOnly
            The server refuses to write; nothing of the batch is stored.
        Unavailable
            The server is gone or busy; nothing of the batch is stored.
        Unanswered
            It went during the commit: the batch may be stored, and the next one catches up with it.
        NotFound
            Another daemon deleted the collection.
        """
        session = self._session
        try:
            self._begin()
            yield
            session.write(
                "UPDATE collection SET revision = (SELECT coalesce(max(revision), 0) "
                "FROM operation WHERE uid = $1) WHERE uid = $1"
            )
            session.end("COMMIT")
        except BaseException:
            with contextlib.suppress(Exception):
                session.end("ROLLBACK")
            raise

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Run one operation outside a transaction, and take back what it wrote.

        Within it nobody else writes the collection, as in `transaction`. Raises `Unavailable`,
        `NotFound`.
        """
        try:
            self._begin()
            yield
        finally:
            # A lost connection has rolled back already; the operation's own error matters more.
            with contextlib.suppress(Exception):
                self._session.end("ROLLBACK")

    def _begin(self) -> None:
        self._session.begin()
        for setting in _PATIENCE:
            self._session.write(setting)
        found = self._session.execute(_LOCK).get
        if found is None or not found[1]:
            raise NotFound("COLLECTION_NOT_FOUND", kind="collection", name=self._name)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self._session.write("SAVEPOINT operation")
        try:
            yield
        except BaseException:
            self._session.write("ROLLBACK TO operation")
            self._session.write("RELEASE operation")
            raise
        self._session.write("RELEASE operation")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Wrap reads outside a transaction."""
        yield

    def take_reconnected(self) -> bool:
        """Return once true after a lost connection was opened again: commits may be gone.

        Another server may have taken over, which had not got them yet.
        """
        reconnected, self._session.reconnected = self._session.reconnected, False
        return reconnected

    def last_numbers(self) -> tuple[int, int, int]:
        row = self._session.execute("SELECT coalesce(max(row), 0) FROM memory WHERE uid = $1").get
        return int(row), self.rows.history.newest(), self.rows.history.newest_time()

    def put_memory(self, memory: Memory, before: Memory | None) -> None:
        # What the same operation made or changed already has no earlier state to keep.
        if before is not None and before.revision != memory.revision:
            image, vector = rows.memory_image(before)
            self._put_image(memory.revision, "memory", str(memory.row), image, vector)
        if before is not None and before.content != memory.content:
            # A vector beside a row is always of the row's text.
            self._session.write("DELETE FROM embedding WHERE uid = $1 AND row = ?", (memory.row,))
        if memory.superseded_by:
            self._superseded = True
        self._session.write(sql.PUT_MEMORY, sql.stored(rows.memory_row(memory)))

    @property
    def has_superseded(self) -> bool:
        if not self._superseded:
            # Another daemon may have made the first, so "none" is not remembered.
            found = "SELECT 1 FROM memory WHERE uid = $1 AND superseded_by <> '' LIMIT 1"
            self._superseded = self._session.execute(found).get is not None
        return self._superseded

    def delete_setting(self, key: str) -> None:
        self._session.write("DELETE FROM setting WHERE uid = $1 AND key = ?", (key,))

    def put_link(
        self, source: int, target: int, link: Link, revision: int, before: Link | None
    ) -> None:
        if before is not None:
            self._put_link_image(source, target, before, revision)
        self._session.write(_PUT_LINK, rows.link_row(source, target, link, revision))

    def put_new_links(self, links: Iterable[tuple[int, int, Link]], revision: int) -> None:
        self._session.write_all(
            _PUT_LINK,
            (rows.link_row(source, target, link, revision) for source, target, link in links),
        )

    def delete_link(self, source: int, target: int, before: Link, revision: int) -> None:
        self._put_link_image(source, target, before, revision)
        self._session.write(
            "DELETE FROM link WHERE uid = $1 AND source = ? AND target = ? AND type = ?",
            (source, target, before.type.value),
        )

    def _put_link_image(self, source: int, target: int, before: Link, revision: int) -> None:
        written = self._session.execute(
            "SELECT revision FROM link WHERE uid = $1 AND source = ? AND target = ? AND type = ?",
            (source, target, before.type.value),
        ).get
        # What the same operation made or changed already has no earlier state to keep.
        if written == revision:
            return
        image = json.dumps([before.confidence, before.note, written], ensure_ascii=False)
        key = rows.link_key(source, target, before.type)
        self._put_image(revision, "link", key, image, b"")

    def _put_image(self, revision: int, entity: str, key: str, before: str, vector: bytes) -> None:
        self._session.write(
            "INSERT INTO image (uid, revision, entity, key, before, vector, crc) "
            "VALUES ($1,?,?,?,?,?,?) ON CONFLICT DO NOTHING",
            rows.seal((revision, entity, key, before, vector)),
        )

    # -- Cleaning after a purge: the server's vacuum does it

    def note_purge(self) -> None:
        """Do nothing: dead rows are the server's, which removes them by its own vacuum."""

    def begin_cleaning(self) -> None:
        """Delete the checkpoints of this daemon, which hold what was purged."""
        self.checkpoints.drop_all()

    def finish_cleaning(self) -> None:
        """Do nothing: all is done by `begin_cleaning`."""

    def clean(self) -> bool:
        """Return false: there is nothing left to clean."""
        return False

    def put_operation(
        self,
        revision: int,
        operation_id: str,
        agent_id: str,
        kind: str,
        reason: str,
        touched: Touched,
        time_us: int,
        undoes: int | None = None,
    ) -> None:
        columns = (revision, operation_id, agent_id, kind, reason, touched.dumps(), time_us, undoes)
        self._session.write(
            "INSERT INTO operation (uid, revision, operation_id, agent_id, kind, reason, touched, "
            "time_us, undoes, crc) VALUES ($1,?,?,?,?,?,?,?,?,?)",
            rows.seal(columns),
        )

    def put_episode(self, episode: Episode) -> None:
        self._session.write(
            f"INSERT INTO episode (uid, {rows.EPISODE_COLUMNS}) VALUES ($1,?,?,?,?,?,?,?,?,?,?,?)",
            rows.episode_row(episode),
        )

    def delete_episode(self, before: Episode, revision: int) -> None:
        # What the same operation made has no earlier state to keep.
        if before.revision != revision:
            image = plain.dumps(before)
            self._put_image(revision, "episode", before.id, image, b"")
        self._session.write("DELETE FROM episode WHERE uid = $1 AND id = ?", (before.id,))

    def put_dismissal(self, dismissal: Dismissal, before: Dismissal | None) -> None:
        if before is not None:
            self._put_dismissal_image(before, dismissal.revision)
        self._session.write(
            sql.upsert("dismissal", rows.DISMISSAL_COLUMNS, "a, b"),
            rows.dismissal_row(dismissal),
        )

    def delete_dismissal(self, before: Dismissal, revision: int) -> None:
        self._put_dismissal_image(before, revision)
        self._session.write(
            "DELETE FROM dismissal WHERE uid = $1 AND a = ? AND b = ?", (before.a, before.b)
        )

    def _put_dismissal_image(self, before: Dismissal, revision: int) -> None:
        # What the same operation made has no earlier state to keep.
        if before.revision != revision:
            key = rows.dismissal_key(before.a, before.b)
            self._put_image(revision, "dismissal", key, plain.dumps(before), b"")

    def reply(self, agent_id: str, operation_id: str) -> Reply | None:
        row = self._session.execute(
            "SELECT agent_id, operation_id, digest, answer, time_us, crc FROM reply "
            "WHERE uid = $1 AND agent_id = ? AND operation_id = ?",
            (agent_id, operation_id),
        ).fetchone()
        if row is None:
            return None
        _, _, digest, answer, _ = rows.check(row, "reply")
        return Reply(digest, answer)

    def put_reply(
        self, agent_id: str, operation_id: str, digest: bytes, answer: str, time_us: int
    ) -> None:
        self._session.write(
            "INSERT INTO reply (uid, agent_id, operation_id, digest, answer, time_us, crc) "
            "VALUES ($1,?,?,?,?,?,?)",
            rows.seal((agent_id, operation_id, digest, answer, time_us)),
        )

    def drop_replies(self, before_us: int, limit: int) -> int:
        return self._session.execute(
            "DELETE FROM reply WHERE uid = $1 AND (agent_id, operation_id) IN "
            "(SELECT agent_id, operation_id FROM reply WHERE uid = $1 AND time_us < ? LIMIT ?)",
            (before_us, limit),
        ).count

    def put_setting(self, key: str, value: str, revision: int, before: str | None) -> None:
        if before is not None:
            self._put_image(revision, "setting", key, before, b"")
        self._session.write(sql.PUT_SETTING, rows.seal((key, value)))

    def link_between(self, source: int, target: int, type_: LinkType) -> Link | None:
        for found_target, link in self.rows.links([source])[source]:
            if found_target == target and link.type is type_:
                return link
        return None

    def link_count(self, hidden_rows: Sequence[int]) -> int:
        count = int(self._session.execute("SELECT count(*) FROM link WHERE uid = $1").get)
        if hidden_rows:
            # Each link is stored in both directions: as many end at hidden rows as start there.
            starting, inside = self._session.execute(
                "SELECT count(*), count(*) FILTER (WHERE target = ANY($2)) "
                "FROM link WHERE uid = $1 AND source = ANY($2)",
                (list(hidden_rows),),
            ).get
            count -= 2 * starting - inside
        return count // 2
