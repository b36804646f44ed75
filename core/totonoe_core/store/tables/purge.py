"""Removal of purged memories; see `engine/commands/purge.py`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import ClassVar

from totonoe_core.base import plain
from totonoe_core.domain.records import Episode, Memory
from totonoe_core.store import rows
from totonoe_core.store.tables import sql
from totonoe_core.store.tables.session import Session

_PUT_EPISODE = sql.upsert("episode", rows.EPISODE_COLUMNS, "id")
_REPLIES_AT_ONCE = 1000


class PurgedRows:
    """Writes that erase rows, inside the writer's transaction.

    Methods without a text of their own: see `seam.PurgedRows`.
    """

    reply_key: ClassVar[str] = "uid = $1 AND agent_id = ? AND operation_id = ?"
    """The condition that finds a kept answer again."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def delete_bad(self, row: int) -> None:
        """Delete a row of `memory` with a wrong checksum, so that `empty` can write it anew."""
        self._session.write("DELETE FROM memory WHERE uid = $1 AND row = ?", (row,))

    def empty(self, tombstone: Memory) -> int:
        row = tombstone.row
        execute = self._session.execute
        version_count = self._session.changed(
            "DELETE FROM image WHERE uid = $1 AND entity = 'memory' AND key = ?", (str(row),)
        )
        # Both directions always exist, so the outgoing links name the incoming ones.
        targets = execute("SELECT DISTINCT target FROM link WHERE uid = $1 AND source = ?", (row,))
        for (target,) in targets.fetchall():
            execute("DELETE FROM link WHERE uid = $1 AND source = ? AND target = ?", (target, row))
        execute("DELETE FROM link WHERE uid = $1 AND source = ?", (row,))
        for target in self._link_image_targets(row):
            self._delete_link_images(f"{target}>{row}:", f"{target}>{row};")
        self._delete_link_images(f"{row}>", f"{row}?")
        execute("DELETE FROM dismissal WHERE uid = $1 AND (a = $2 OR b = $2)", (row,))
        execute(
            "DELETE FROM image WHERE uid = $1 AND entity = 'dismissal' "
            "AND (key LIKE ? OR key LIKE ?)",
            (f"{row}~%", f"%~{row}"),
        )
        execute("DELETE FROM access WHERE uid = $1 AND row = ?", (row,))
        execute("DELETE FROM embedding WHERE uid = $1 AND row = ?", (row,))
        execute("DELETE FROM coactivation WHERE uid = $1 AND (low = $2 OR high = $2)", (row,))
        self._session.put_memory(rows.memory_row(tombstone))
        return version_count

    def _link_image_targets(self, row: int) -> set[int]:
        keys = self._session.execute(
            f"SELECT DISTINCT {self._session.readable('key')} FROM image "
            "WHERE uid = $1 AND entity = 'link' AND key > ? AND key < ?",
            (f"{row}>", f"{row}?"),  # "?" follows ">"
        )
        # Only keys that are readable: a damaged one is deleted all the same.
        texts = (str(rows.as_text(key, (0,))[0]) for key in keys)
        targets = (text.partition(">")[2].partition(":")[0] for text in texts)
        return {int(target) for target in targets if target.isdecimal()}

    def _delete_link_images(self, begin: str, end: str) -> None:
        self._session.write(
            "DELETE FROM image WHERE uid = $1 AND entity = 'link' AND key > ? AND key < ?",
            (begin, end),
        )

    def version_count(self, row: int) -> int:
        return int(
            self._session.execute(
                "SELECT count(*) FROM image WHERE uid = $1 AND entity = 'memory' AND key = ?",
                (str(row),),
            ).get
        )

    def episodes_with(self, memory_ids: Collection[str]) -> list[Episode]:
        found = self._session.execute(
            f"SELECT {self._session.readable(rows.EPISODE_COLUMNS)} FROM episode "
            f"WHERE uid = $1 AND {self._lists('memory_ids')}",
            (list(memory_ids),),
        )
        # A bad episode holds nothing of a memory but its id.
        read = map(rows.episode_as_text, found.fetchall())
        return [rows.episode(row) for row in read if rows.is_sound(row, "episode")]

    def leave_episodes(self, memory_ids: Collection[str]) -> int:
        gone = frozenset(memory_ids)
        episodes = self.episodes_with(gone)
        for episode in episodes:
            self._session.write(_PUT_EPISODE, rows.episode_row(_without(episode, gone)))
        images = self._session.execute(
            f"SELECT {self._session.readable(sql.IMAGE_COLUMNS)} FROM image WHERE uid = $1 "
            f"AND entity = 'episode' AND {self._lists('before', 'memory_ids')}",
            (list(gone),),
        )
        read = (rows.as_text(row, (1, 2, 3)) for row in images.fetchall())
        for row in filter(rows.is_sound, read):
            revision, entity, key, before, vector = rows.check(row, "image")
            before = plain.dumps(_without(plain.loads(Episode, before), gone))
            self._session.write(
                "UPDATE image SET before = ?, crc = ? WHERE uid = $1 AND revision = ? "
                "AND entity = ? AND key = ?",
                (before, rows.crc((revision, entity, key, before, vector)), revision, entity, key),
            )
        return len(episodes)

    def _lists(self, column: str, field: str = "") -> str:
        """Return the condition that a column of JSON, or a field of it, lists one of some texts."""
        value = f"({column}::json->'{field}')" if field else f"{column}::json"
        return f"EXISTS (SELECT 1 FROM json_array_elements_text({value}) one WHERE one = ANY(?))"

    def rewrite_replies(
        self, named: Callable[[str], bool], rewritten: Callable[[str], str], *, write: bool = True
    ) -> int:
        changed_count = 0
        for place, row in self._replies(named):
            if not rows.is_sound(row, "reply"):
                changed_count += 1
                if write:
                    self._session.write(f"DELETE FROM reply WHERE {self.reply_key}", place)
                continue
            agent_id, operation_id, digest, before, time_us, _ = row
            after = rewritten(before)
            if after == before:
                continue
            changed_count += 1
            if write:
                crc = rows.crc((agent_id, operation_id, digest, after, time_us))
                self._session.write(
                    f"UPDATE reply SET answer = ?, crc = ? WHERE {self.reply_key}",
                    (after, crc, *place),
                )
        return changed_count

    def _replies(self, named: Callable[[str], bool]) -> Iterator[tuple[rows.Row, rows.Row]]:
        """Yield the values of `reply_key` and the sealed rows of answers that `named` selects."""
        after: rows.Row = ("", "")
        while page := self._session.execute(
            f"SELECT {sql.REPLY_COLUMNS} FROM reply "
            "WHERE uid = $1 AND (agent_id, operation_id) > (?, ?) "
            "ORDER BY agent_id, operation_id LIMIT ?",
            (*after, _REPLIES_AT_ONCE),
        ).fetchall():
            after = page[-1][:2]
            yield from ((row[:2], row) for row in page if named(row[3]))


def _without(episode: Episode, gone: Collection[str]) -> Episode:
    ids = tuple(memory_id for memory_id in episode.memory_ids if memory_id not in gone)
    return replace(episode, memory_ids=ids)
