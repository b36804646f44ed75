"""Writes of a collection's rows, each with the before image of what it replaces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from totonoe_core.base import plain
from totonoe_core.domain.records import Dismissal, Episode, Link, LinkType, Memory
from totonoe_core.store import rows
from totonoe_core.store.checkpoint import Checkpoints
from totonoe_core.store.records import Reply, Touched
from totonoe_core.store.tables import sql
from totonoe_core.store.tables.beside import BesideRows
from totonoe_core.store.tables.purge import PurgedRows
from totonoe_core.store.tables.reader import Rows
from totonoe_core.store.tables.recalls import Recalls
from totonoe_core.store.tables.session import Session

_LINK_KEY = "source, target, type"
_PUT_LINK = sql.upsert("link", sql.LINK_COLUMNS, _LINK_KEY)
_PUT_DISMISSAL = sql.upsert("dismissal", rows.DISMISSAL_COLUMNS, "a, b")
_PUT_IMAGE = sql.insert("image", sql.IMAGE_COLUMNS) + " ON CONFLICT DO NOTHING"
_PUT_EPISODE = sql.insert("episode", rows.EPISODE_COLUMNS)
_PUT_REPLY = sql.insert("reply", sql.REPLY_COLUMNS)
_DELETE_LINK = "DELETE FROM link WHERE uid = $1 AND source = ? AND target = ? AND type = ?"


class Writes:
    """Writes of one collection inside the transactions of its store.

    Checkpoints and `path` are of this daemon: files that can be made anew from the rows.

    Methods without a text of their own: see `seam.CollectionFile`.
    """

    _put_operation = sql.insert("operation", sql.OPERATION_COLUMNS)

    def __init__(self, session: Session, path: Path, rows: Rows, purge: PurgedRows) -> None:
        self._session = session
        self.path = path
        self.checkpoints = Checkpoints(path.parent / "checkpoint")
        self.aside = rows.aside
        self.rows = rows
        self.recalls = Recalls(session, rows.aside)
        self.purge = purge
        self.beside = BesideRows(session)
        self._superseded: bool | None = None
        self.to_clean = False

    def put_memory(self, memory: Memory, before: Memory | None, reading: bytes = b"") -> None:
        # What the same operation made or changed already has no earlier state to keep.
        if before is not None and before.revision != memory.revision:
            image, vector = rows.memory_image(before)
            self._put_image(memory.revision, "memory", str(memory.row), image, vector)
        if before is not None and before.content != memory.content:
            # A vector beside a row is always of the row's text.
            self._session.write("DELETE FROM embedding WHERE uid = $1 AND row = ?", (memory.row,))
        if memory.superseded_by:
            self._superseded = True
        self._session.put_memory(rows.memory_row(memory), reading, new=before is None)

    @property
    def has_superseded(self) -> bool:
        if self._superseded is None:
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
        self._session.write(_DELETE_LINK, (source, target, before.type.value))

    def _put_link_image(self, source: int, target: int, before: Link, revision: int) -> None:
        written = self.rows.history.link_revision(source, target, before.type)
        # What the same operation made or changed already has no earlier state to keep.
        if written == revision:
            return
        image = json.dumps([before.confidence, before.note, written], ensure_ascii=False)
        key = rows.link_key(source, target, before.type)
        self._put_image(revision, "link", key, image, b"")

    def _put_image(self, revision: int, entity: str, key: str, before: str, vector: bytes) -> None:
        self._session.write(_PUT_IMAGE, rows.seal((revision, entity, key, before, vector)))

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
        self._session.write(self._put_operation, rows.seal(columns))

    def put_episode(self, episode: Episode) -> None:
        self._session.write(_PUT_EPISODE, rows.episode_row(episode))

    def delete_episode(self, before: Episode, revision: int) -> None:
        # What the same operation made has no earlier state to keep.
        if before.revision != revision:
            image = plain.dumps(before)
            self._put_image(revision, "episode", before.id, image, b"")
        self._session.write("DELETE FROM episode WHERE uid = $1 AND id = ?", (before.id,))

    def put_dismissal(self, dismissal: Dismissal, before: Dismissal | None) -> None:
        if before is not None:
            self._put_dismissal_image(before, dismissal.revision)
        self._session.write(_PUT_DISMISSAL, rows.dismissal_row(dismissal))

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
            f"SELECT {sql.REPLY_COLUMNS} FROM reply "
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
            _PUT_REPLY, rows.seal((agent_id, operation_id, digest, answer, time_us))
        )

    def drop_replies(self, before_us: int, limit: int) -> int:
        return self._session.changed(
            "DELETE FROM reply WHERE uid = $1 AND (agent_id, operation_id) IN "
            "(SELECT agent_id, operation_id FROM reply WHERE uid = $1 AND time_us < ? LIMIT ?)",
            (before_us, limit),
        )

    def put_setting(self, key: str, value: str, revision: int, before: str | None) -> None:
        if before is not None:
            self._put_image(revision, "setting", key, before, b"")
        self._session.write(sql.PUT_SETTING, rows.seal((key, value)))

    def newest_revision(self) -> int:
        return self.rows.last_revision()

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
