"""Removal of purged memories from a collection's file; see `engine/commands/purge.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import replace

import apsw

from totonoe_core.base import plain
from totonoe_core.domain.records import Episode, Memory
from totonoe_core.store import rows
from totonoe_core.store.sqlite import sql


class PurgedRows:
    """Writes that erase rows, inside the writer's transaction.

    Methods without a text of their own: see `seam.PurgedRows`.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def delete_bad(self, row: int) -> None:
        self._connection.execute("REINDEX memory")
        self._connection.execute("DELETE FROM memory WHERE row = ?", (row,))

    def empty(self, tombstone: Memory) -> int:
        row = tombstone.row
        execute = self._connection.execute
        execute("DELETE FROM image WHERE entity = 'memory' AND key = ?", (str(row),))
        version_count = self._connection.changes()
        # Both directions always exist, so the outgoing links name the incoming ones.
        targets = execute("SELECT DISTINCT target FROM link WHERE source = ?", (row,))
        for (target,) in targets.fetchall():
            execute("DELETE FROM link WHERE source = ? AND target = ?", (target, row))
        execute("DELETE FROM link WHERE source = ?", (row,))
        for target in self._link_image_targets(row):
            self._delete_link_images(f"{target}>{row}:", f"{target}>{row};")
        self._delete_link_images(f"{row}>", f"{row}?")
        execute("DELETE FROM dismissal WHERE a = ?1 OR b = ?1", (row,))
        execute(
            "DELETE FROM image WHERE entity = 'dismissal' AND (key GLOB ? OR key GLOB ?)",
            (f"{row}~*", f"*~{row}"),
        )
        execute("DELETE FROM access WHERE row = ?", (row,))
        execute("DELETE FROM embedding WHERE row = ?", (row,))
        execute("DELETE FROM coactivation WHERE low = ?1 OR high = ?1", (row,))
        execute(sql.INSERT_MEMORY, rows.memory_row(tombstone))
        return version_count

    def _link_image_targets(self, row: int) -> set[int]:
        keys = self._connection.execute(
            "SELECT DISTINCT CAST(key AS BLOB) FROM image "
            "WHERE entity = 'link' AND key > ? AND key < ?",
            (f"{row}>", f"{row}?"),  # "?" follows ">"
        )
        # Only keys that are readable: a damaged one is deleted all the same.
        targets = (key.partition(b">")[2].partition(b":")[0] for (key,) in keys)
        return {int(target) for target in targets if target.isdigit()}

    def _delete_link_images(self, begin: str, end: str) -> None:
        self._connection.execute(
            "DELETE FROM image WHERE entity = 'link' AND key > ? AND key < ?", (begin, end)
        )

    def version_count(self, row: int) -> int:
        return int(
            self._connection.execute(
                "SELECT count(*) FROM image WHERE entity = 'memory' AND key = ?", (str(row),)
            ).get
        )

    def episodes_with(self, memory_ids: Collection[str]) -> list[Episode]:
        found = self._connection.execute(
            f"SELECT {sql.EPISODE_READABLE} FROM episode WHERE id IN (SELECT e.id FROM episode e, "
            f"json_each({_json('e.memory_ids')}) m "
            "WHERE m.value IN (SELECT value FROM json_each(?)))",
            (json.dumps(list(memory_ids)),),
        )
        # A bad episode holds nothing of a memory but its id.
        read = map(rows.episode_as_text, found.fetchall())
        return [rows.episode(row) for row in read if rows.is_sound(row, "episode")]

    def leave_episodes(self, memory_ids: Collection[str]) -> int:
        gone = frozenset(memory_ids)
        episodes = self.episodes_with(gone)
        for one in episodes:
            self._connection.execute(
                f"INSERT OR REPLACE INTO episode ({rows.EPISODE_COLUMNS}) "
                "VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                rows.episode_row(_without(one, gone)),
            )
        images = self._connection.execute(
            "SELECT revision, entity, CAST(key AS BLOB), CAST(before AS BLOB), vector, crc "
            "FROM image WHERE entity = 'episode' "
            f"AND EXISTS (SELECT 1 FROM json_each({_json('image.before')}, '$.memory_ids') m "
            "WHERE m.value IN (SELECT value FROM json_each(?)))",
            (json.dumps(list(gone)),),
        )
        read = (rows.as_text(row, (2, 3)) for row in images.fetchall())
        for row in filter(rows.is_sound, read):
            revision, entity, key, before, vector = rows.check(row, "image")
            before = plain.dumps(_without(plain.loads(Episode, before), gone))
            self._connection.execute(
                "UPDATE image SET before = ?, crc = ? WHERE revision = ? AND entity = ? "
                "AND key = ?",
                (before, rows.crc((revision, entity, key, before, vector)), revision, entity, key),
            )
        return len(episodes)

    def rewrite_replies(
        self, named: Callable[[str], bool], rewritten: Callable[[str], str], *, write: bool = True
    ) -> int:
        # A damaged one may not be text any more.
        answers = self._connection.execute("SELECT rowid, CAST(answer AS BLOB) FROM reply")
        chosen = [
            rowid
            for rowid, answer in answers
            if answer is not None and named(answer.decode(errors="replace"))
        ]
        changed_count = 0
        for rowid in chosen:
            row = self._reply(rowid)
            if row is None:
                changed_count += 1
                if write:
                    self._connection.execute("DELETE FROM reply WHERE rowid = ?", (rowid,))
                continue
            agent_id, operation_id, digest, before, time_us, _ = row
            after = rewritten(before)
            if after == before:
                continue
            changed_count += 1
            if write:
                crc = rows.crc((agent_id, operation_id, digest, after, time_us))
                self._connection.execute(
                    "UPDATE reply SET answer = ?, crc = ? WHERE rowid = ?", (after, crc, rowid)
                )
        return changed_count

    def _reply(self, rowid: int) -> rows.Row | None:
        """Return the sealed row of a kept answer; `None` if it is bad."""
        try:
            row = self._connection.execute(
                "SELECT agent_id, operation_id, digest, answer, time_us, crc FROM reply "
                "WHERE rowid = ?",
                (rowid,),
            ).fetchone()
        except UnicodeDecodeError:
            return None
        return row if row is not None and rows.is_sound(row, "reply") else None


def _json(column: str) -> str:
    """Return SQL for a JSON column that a bad row does not make fail."""
    return f"CASE WHEN json_valid({column}) THEN {column} ELSE 'null' END"


def _without(episode: Episode, gone: Collection[str]) -> Episode:
    ids = tuple(one for one in episode.memory_ids if one not in gone)
    return replace(episode, memory_ids=ids)
