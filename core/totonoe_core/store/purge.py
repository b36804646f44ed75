"""What a purge takes out of the rows of a collection's file; see `engine/purging.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import replace

import apsw

from totonoe_core import plain
from totonoe_core.records import Episode, Memory
from totonoe_core.store import rows


class PurgedRows:
    """Writes that leave nothing behind, inside the writer's transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def delete_bad(self, row: int) -> None:
        """Deletes a row of `memory` that does not match its checksum, for `empty` to make it anew.

        SQLite's indexes may still say what it said before, and are made again: some 5 us for each
        row of the table.
        """
        self._connection.execute("REINDEX memory")
        self._connection.execute("DELETE FROM memory WHERE row = ?", (row,))

    def empty(self, tombstone: Memory) -> int:
        """Puts an empty row in the place of a memory; says how many before images went.

        With it go its links, every image of a link that it had, its dismissals and theirs, its
        access figures, its other vector, and how often it was recalled with others.
        """
        row = tombstone.row
        execute = self._connection.execute
        execute("DELETE FROM image WHERE entity = 'memory' AND key = ?", (str(row),))
        version_count = self._connection.changes()
        # Both directions are always there, so those from here name the ones to here.
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
        execute(rows.INSERT_MEMORY, rows.memory_row(tombstone))
        return version_count

    def _link_image_targets(self, row: int) -> set[int]:
        keys = self._connection.execute(
            "SELECT DISTINCT key FROM image WHERE entity = 'link' AND key > ? AND key < ?",
            (f"{row}>", f"{row}?"),  # "?" is behind ">"
        )
        return {rows.link_of_key(key)[1] for (key,) in keys}

    def _delete_link_images(self, begin: str, end: str) -> None:
        self._connection.execute(
            "DELETE FROM image WHERE entity = 'link' AND key > ? AND key < ?", (begin, end)
        )

    def version_count(self, row: int) -> int:
        """How many before images a memory has."""
        return int(
            self._connection.execute(
                "SELECT count(*) FROM image WHERE entity = 'memory' AND key = ?", (str(row),)
            ).get
        )

    def episodes_with(self, memory_ids: Collection[str]) -> list[Episode]:
        """Episodes that were made with any of some memories."""
        found = self._connection.execute(
            f"SELECT {rows.EPISODE_AS_BYTES} FROM episode WHERE id IN (SELECT e.id FROM episode e, "
            f"json_each({_json('e.memory_ids')}) m "
            "WHERE m.value IN (SELECT value FROM json_each(?)))",
            (json.dumps(list(memory_ids)),),
        )
        # Of a memory a bad one holds nothing but the id.
        read = map(rows.episode_as_text, found.fetchall())
        return [rows.episode(row) for row in read if rows.is_sound(row, "episode")]

    def leave_episodes(self, memory_ids: Collection[str]) -> int:
        """Takes memories out of episodes and of their images for good; says of how many episodes.

        As if they had never been there: no image, and no new revision of the episode.
        """
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
        """Rewrites kept answers; says how many changed.

        `named(answer)` chooses which are rewritten at all: every answer is looked at once. One
        that is chosen and bad is deleted: nobody can be answered by it.
        """
        # Not every one of them may be text any more.
        answers = self._connection.execute("SELECT rowid, CAST(answer AS BLOB) FROM reply")
        chosen = [rowid for rowid, answer in answers if named(answer.decode(errors="replace"))]
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
        """The sealed row of a kept answer; `None`: it is bad."""
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
    """A column of JSON in SQL, where one bad row would stop the whole statement."""
    return f"CASE WHEN json_valid({column}) THEN {column} ELSE 'null' END"


def _without(episode: Episode, gone: Collection[str]) -> Episode:
    ids = tuple(one for one in episode.memory_ids if one not in gone)
    return replace(episode, memory_ids=ids)
