"""Removal of purged memories from a collection's file; see `engine/commands/purge.py`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from totonoe_core.base import plain
from totonoe_core.domain.records import Episode, Memory
from totonoe_core.store import rows
from totonoe_core.store.postgres import sql
from totonoe_core.store.postgres.session import Session

_PUT_EPISODE = sql.upsert("episode", rows.EPISODE_COLUMNS, "id")
_REPLIES_AT_ONCE = 1000


class PurgedRows:
    """Writes that erase rows, inside the writer's transaction.

    Methods without a text of their own: see `seam.PurgedRows`.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def delete_bad(self, row: int) -> None:
        """Delete a row of `memory` with a wrong checksum, so that `empty` can write it anew."""
        self._session.write("DELETE FROM memory WHERE uid = $1 AND row = ?", (row,))

    def empty(self, tombstone: Memory) -> int:
        row = tombstone.row
        execute = self._session.execute
        version_count = execute(
            "DELETE FROM image WHERE uid = $1 AND entity = 'memory' AND key = ?", (str(row),)
        ).count
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
        execute(sql.PUT_MEMORY, sql.stored(rows.memory_row(tombstone)))
        return version_count

    def _link_image_targets(self, row: int) -> set[int]:
        keys = self._session.execute(
            "SELECT DISTINCT key FROM image "
            "WHERE uid = $1 AND entity = 'link' AND key > ? AND key < ?",
            (f"{row}>", f"{row}?"),  # "?" follows ">"
        )
        targets = (key.partition(">")[2].partition(":")[0] for (key,) in keys)
        return {int(target) for target in targets if target.isdigit()}

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
            f"SELECT {rows.EPISODE_COLUMNS} FROM episode WHERE uid = $1 "
            "AND EXISTS (SELECT 1 FROM json_array_elements_text(memory_ids::json) one "
            "WHERE one = ANY(?))",
            (list(memory_ids),),
        )
        # A bad episode holds nothing of a memory but its id.
        return [rows.episode(row) for row in found if rows.is_sound(row, "episode")]

    def leave_episodes(self, memory_ids: Collection[str]) -> int:
        gone = frozenset(memory_ids)
        episodes = self.episodes_with(gone)
        for one in episodes:
            self._session.write(_PUT_EPISODE, rows.episode_row(_without(one, gone)))
        images = self._session.execute(
            "SELECT revision, entity, key, before, vector, crc FROM image "
            "WHERE uid = $1 AND entity = 'episode' AND EXISTS (SELECT 1 FROM "
            "json_array_elements_text(before::json->'memory_ids') one WHERE one = ANY(?))",
            (list(gone),),
        )
        for row in filter(rows.is_sound, images):
            revision, entity, key, before, vector = rows.check(row, "image")
            before = plain.dumps(_without(plain.loads(Episode, before), gone))
            self._session.write(
                "UPDATE image SET before = ?, crc = ? WHERE uid = $1 AND revision = ? "
                "AND entity = ? AND key = ?",
                (before, rows.crc((revision, entity, key, before, vector)), revision, entity, key),
            )
        return len(episodes)

    def rewrite_replies(
        self, named: Callable[[str], bool], rewritten: Callable[[str], str], *, write: bool = True
    ) -> int:
        """Rewrite kept answers; return how many changed.

        `named(answer)` selects the answers to rewrite, in one pass over all, some at a time. A
        selected answer that is bad is deleted: nobody can be given it.
        """
        changed_count, after = 0, ("", "")
        while True:
            page = self._session.execute(
                "SELECT agent_id, operation_id, digest, answer, time_us, crc FROM reply "
                "WHERE uid = $1 AND (agent_id, operation_id) > (?, ?) "
                "ORDER BY agent_id, operation_id LIMIT ?",
                (*after, _REPLIES_AT_ONCE),
            ).fetchall()
            if not page:
                return changed_count
            after = page[-1][:2]
            changed_count += sum(
                self._rewrite(row, rewritten, write) for row in page if named(row[3])
            )

    def _rewrite(self, row: rows.Row, rewritten: Callable[[str], str], write: bool) -> bool:
        """Rewrite one answer; return whether it changed."""
        agent_id, operation_id, digest, before, time_us, _ = row
        if not rows.is_sound(row, "reply"):
            if write:
                self._session.write(
                    "DELETE FROM reply WHERE uid = $1 AND agent_id = ? AND operation_id = ?",
                    (agent_id, operation_id),
                )
            return True
        after = rewritten(before)
        if after != before and write:
            crc = rows.crc((agent_id, operation_id, digest, after, time_us))
            self._session.write(
                "UPDATE reply SET answer = ?, crc = ? "
                "WHERE uid = $1 AND agent_id = ? AND operation_id = ?",
                (after, crc, agent_id, operation_id),
            )
        return bool(after != before)


def _without(episode: Episode, gone: Collection[str]) -> Episode:
    ids = tuple(one for one in episode.memory_ids if one not in gone)
    return replace(episode, memory_ids=ids)
