"""Reading the past of a collection: operations, before images, and what rows were at a revision.

    row      memory.revision, link.revision   since when it is what it is
    image    revision                         until when it was what `before` says
             before's own revision            since when

So each version of a row holds from the revision that wrote it up to that of the next image,
or until now; between a row's end and its next beginning it was not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import apsw

from totonoe_core import plain
from totonoe_core.records import Dismissal, Episode, Link, LinkType, Memory
from totonoe_core.store import rows
from totonoe_core.store.aside import Aside

_IN_MAX = 500  # bound on the variables of one statement
_STATUS = "json_extract({}.before, '$[10]')"
_OPERATION_COLUMNS = "revision, operation_id, agent_id, kind, reason, touched, time_us, undoes, crc"


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One operation as it lies in the file; `touched` is JSON (`Touched.loads`)."""

    revision: int
    operation_id: str
    agent_id: str
    kind: str
    reason: str
    touched: str
    time_us: int
    undoes: int | None


@dataclass(frozen=True, slots=True)
class LinkVersion:
    """One direction of a link while it was so: from revision `since` until before `until`.

    `until` is `None` while it is still so. `link.target_id` is empty: rows know rows only.
    """

    source: int
    target: int
    link: Link
    since: int
    until: int | None


class History:
    """The past through one connection; every row is checked against its crc."""

    def __init__(self, connection: apsw.Connection, aside: Aside) -> None:
        self._connection = connection
        self._aside = aside

    # -- Operations

    def operation(self, revision: int) -> OperationRow | None:
        """The operation that made a revision."""
        return next(self._operations("revision = ?", (revision,), "", 1), None)

    def seal(self, revision: int) -> tuple[str, int, int] | None:
        """Id, time (us) and crc of the operation that made a revision: which history it is of."""
        found = self._connection.execute(
            "SELECT operation_id, time_us, crc FROM operation WHERE revision = ?", (revision,)
        ).fetchone()
        return None if found is None else (str(found[0]), int(found[1]), int(found[2]))

    def operations_with_id(self, operation_id: str) -> list[OperationRow]:
        """Operations of an id, which is unique for each agent only; newest first, at most 100."""
        return list(self._operations("operation_id = ?", (operation_id,), "DESC", 100))

    def operations_after(self, revision: int, limit: int) -> list[OperationRow]:
        """Operations after a revision, oldest first."""
        return list(self._operations("revision > ?", (revision,), "ASC", limit))

    def operations_before(self, revision: int, limit: int) -> list[OperationRow]:
        """Operations before a revision, newest first."""
        return list(self._operations("revision < ?", (revision,), "DESC", limit))

    def _operations(
        self, where: str, values: Sequence[object], order: str, limit: int
    ) -> Iterator[OperationRow]:
        for row in self._connection.execute(
            f"SELECT {_OPERATION_COLUMNS} FROM operation WHERE {where} "
            f"ORDER BY revision {order} LIMIT ?",
            (*values, limit),
        ).fetchall():
            yield OperationRow(*rows.check(row, "operation"))

    def undone_by(self, revisions: Sequence[int]) -> dict[int, int]:
        """Revision of the newest Undo of each revision that has one."""
        found: dict[int, int] = {}
        for part in _parts(revisions):
            marks = ",".join("?" * len(part))
            pairs = self._connection.execute(
                "SELECT undoes, max(revision) FROM operation "
                f"WHERE undoes IN ({marks}) GROUP BY undoes",
                part,
            )
            found.update(pairs)
        return found

    def taken_count(self, kinds: Sequence[str], since_us: int) -> int:
        """How many memories operations of some kinds, after a time, left no longer live.

        Each once, and none that is live again. Reads the images of those operations without
        their vectors, and what came next of each.
        """
        marks = ",".join("?" * len(kinds))
        # CROSS JOIN: from the operations, never through all images.
        return int(
            self._connection.execute(
                "SELECT count(DISTINCT i.key) FROM operation o "
                "CROSS JOIN image i ON i.revision = o.revision AND i.entity = 'memory' "
                "CROSS JOIN memory m ON m.row = CAST(i.key AS INTEGER) "
                f"WHERE o.revision > ? AND o.kind IN ({marks}) "
                f"AND {_STATUS.format('i')} = 'active' AND m.status <> 'active' "
                f"AND coalesce((SELECT {_STATUS.format('n')} FROM image n "
                "WHERE n.entity = 'memory' AND n.key = i.key AND n.revision > i.revision "
                "ORDER BY n.revision LIMIT 1), m.status) <> 'active'",
                (self.revision_at(since_us), *kinds),
            ).get
        )

    def newest(self) -> int:
        """The newest revision; 0 before the first operation."""
        return int(self._connection.execute("SELECT coalesce(max(revision), 0) FROM operation").get)

    def revision_at(self, time_us: int) -> int:
        """The newest revision made up to a time; 0 if there was none.

        Revisions have no gaps and their times ascend, so that halving finds it.
        """
        low, high = 0, self.newest()
        while low < high:
            middle = (low + high + 1) // 2
            at = self._connection.execute(
                "SELECT time_us FROM operation WHERE revision = ?", (middle,)
            ).get
            low, high = (middle, high) if at <= time_us else (low, middle - 1)
        return low

    # -- Memories

    def memory_images(self, revision: int) -> dict[int, Memory]:
        """What the memories that an operation changed were before it, by row number."""
        return {
            int(key): rows.memory_of_image(before, vector)
            for key, before, vector, _ in self._images(
                "entity = 'memory' AND revision = ?", revision
            )
        }

    def memory_versions(self, row: int) -> list[Memory]:
        """Every earlier version of a memory, oldest first; the row itself is the newest."""
        found = self._images("entity = 'memory' AND key = ?", str(row))
        return [rows.memory_of_image(before, vector) for _, before, vector, _ in found]

    def versions_until(self, row: int, revision: int, limit: int) -> list[Memory]:
        """Versions of a memory that had ended by a revision, newest first."""
        found = self._images(
            "entity = 'memory' AND key = ? AND revision <= ?",
            str(row),
            revision,
            order="DESC",
            limit=limit,
        )
        return [rows.memory_of_image(before, vector) for _, before, vector, _ in found]

    def memories_after(self, revision: int, wanted: Iterable[int]) -> dict[int, Memory]:
        """What memories were right after a revision, by row number; absent: not there yet."""
        found: dict[int, Memory] = {}
        for part in _parts(list(wanted)):
            marks = ",".join("?" * len(part))
            for row in self._connection.execute(
                f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE row IN ({marks})", part
            ):
                if row[0] in self._aside:
                    continue
                memory = rows.memory(row)
                if memory.revision > revision:
                    images = self._images(
                        "entity = 'memory' AND key = ? AND revision > ? ",
                        str(memory.row),
                        revision,
                        limit=1,
                    )
                    first = next(images, None)
                    if first is None:
                        continue
                    memory = rows.memory_of_image(first[1], first[2])
                if memory.revision <= revision:
                    found[memory.row] = memory
        return found

    def rows_changed_after(self, revision: int) -> list[int]:
        """Row numbers of memories that were made or changed after a revision."""
        return [
            row
            for (row,) in self._connection.execute(
                "SELECT row FROM memory WHERE revision > ? ORDER BY row", (revision,)
            )
        ]

    def rows_moved_after(self, revision: int) -> list[int]:
        """Row numbers of memories that at some time after a revision had another created time.

        Reads every image since then, without its vector: some 2 us for each.
        """
        return [
            row
            for (row,) in self._connection.execute(
                "SELECT DISTINCT m.row FROM image i "
                "JOIN memory m ON m.row = CAST(i.key AS INTEGER) "
                "WHERE i.revision > ? AND i.entity = 'memory' "
                "AND json_extract(i.before, '$[8]') <> m.created_us",
                (revision,),
            )
        ]

    def rows_of_external_ids(
        self, external_ids: Sequence[str], revision: int
    ) -> dict[str, list[int]]:
        """Row numbers of memories that have some external ids or had them after a revision.

        Reads each image since then once, however many are asked for.
        """
        asked = json.dumps(list(external_ids))
        found: dict[str, set[int]] = {one: set() for one in external_ids}
        for external_id in found:
            for status in ("status <> 'forgotten'", "status = 'forgotten'"):
                rows_now = self._connection.execute(
                    f"SELECT row FROM memory WHERE external_id = ? AND {status}", (external_id,)
                )
                found[external_id].update(row for (row,) in rows_now)
        for key, external_id in self._connection.execute(
            "SELECT DISTINCT key, json_extract(before, '$[2]') AS external_id FROM image "
            "WHERE revision > ? AND entity = 'memory' "
            "AND external_id IN (SELECT value FROM json_each(?))",
            (revision, asked),
        ):
            found[external_id].add(int(key))
        return {external_id: sorted(held) for external_id, held in found.items()}

    # -- Links

    def link_images(self, revision: int) -> list[LinkVersion]:
        """What the links that an operation changed or took away were before it."""
        return [
            _link_version(key, before, until)
            for key, before, _, until in self._images("entity = 'link' AND revision = ?", revision)
        ]

    def link_versions(self, source: int) -> list[LinkVersion]:
        """Every version of every link that a row ever held, gone and present, oldest first."""
        # '?' follows '>': all keys that begin with the row and '>'.
        found = [
            _link_version(key, before, until)
            for key, before, _, until in self._images(
                "entity = 'link' AND key > ? AND key < ?", f"{source}>", f"{source}?"
            )
        ]
        for row in self._connection.execute(
            "SELECT source, target, type, confidence, note, revision, crc FROM link "
            "WHERE source = ?",
            (source,),
        ):
            link = rows.link(row, "")
            found.append(LinkVersion(source, row[1], link, row[5], None))
        found.sort(key=lambda one: (one.since, one.target, one.link.type))
        return found

    def link_after(self, revision: int, source: int, target: int, type_: LinkType) -> Link | None:
        """One direction of a link right after a revision; `None`: it was not there."""
        now = self._connection.execute(
            "SELECT source, target, type, confidence, note, revision, crc FROM link "
            "WHERE source = ? AND target = ? AND type = ?",
            (source, target, type_.value),
        ).fetchone()
        if now is not None and now[5] <= revision:
            return rows.link(now, "")
        key = rows.link_key(source, target, type_)
        images = self._images(
            "entity = 'link' AND key = ? AND revision > ?", key, revision, limit=1
        )
        for _, before, _, until in images:
            version = _link_version(key, before, until)
            return version.link if version.since <= revision else None
        return None

    def link_revision(self, source: int, target: int, type_: LinkType) -> int | None:
        """Revision of the operation that last wrote a link; `None`: it is not there."""
        found = self._connection.execute(
            "SELECT revision FROM link WHERE source = ? AND target = ? AND type = ?",
            (source, target, type_.value),
        ).get
        return None if found is None else int(found)

    def changed_after(self, entity: str, key: str, revision: int) -> int | None:
        """The first revision after one that changed what was there or took it away."""
        found = self._connection.execute(
            "SELECT min(revision) FROM image WHERE entity = ? AND key = ? AND revision > ?",
            (entity, key, revision),
        ).get
        return None if found is None else int(found)

    # -- Dismissals, episodes and settings

    def dismissal_images(self, revision: int) -> dict[tuple[int, int], Dismissal]:
        """Dismissals that an operation changed or took away, as they were before it."""
        images = self._images("entity = 'dismissal' AND revision = ?", revision)
        found = (plain.loads(Dismissal, before) for _, before, _, _ in images)
        return {(one.a, one.b): one for one in found}

    def dismissal_revisions(self, row: int) -> set[int]:
        """Revisions of operations that made, changed or took away dismissals of a row."""
        found = {
            revision
            for (revision,) in self._connection.execute(
                "SELECT revision FROM dismissal WHERE a = ?1 UNION "
                "SELECT revision FROM dismissal WHERE b = ?1",
                (row,),
            )
        }
        for _, before, _, until in self._images(
            "entity = 'dismissal' AND (key GLOB ? OR key GLOB ?)", f"{row}~*", f"*~{row}"
        ):
            found |= {until, plain.loads(Dismissal, before).revision}
        return found

    def episode_images(self, revision: int) -> dict[str, Episode]:
        """Episodes that an operation took away or changed, as they were before it, by id."""
        return {
            key: plain.loads(Episode, before)
            for key, before, _, _ in self._images("entity = 'episode' AND revision = ?", revision)
        }

    def last_episode(self, episode_id: str) -> Episode | None:
        """An episode as it was before it was last changed or taken away."""
        found = self._images("entity = 'episode' AND key = ?", episode_id, order="DESC", limit=1)
        return next((plain.loads(Episode, before) for _, before, _, _ in found), None)

    def setting_image(self, revision: int, key: str) -> str | None:
        """A setting as it was before an operation; `None`: that did not change it."""
        found = self._images("entity = 'setting' AND revision = ? AND key = ?", revision, key)
        return next((before for _, before, _, _ in found), None)

    def _images(
        self, where: str, *values: object, order: str = "ASC", limit: int = -1
    ) -> Iterator[tuple[str, str, bytes, int]]:
        """(key, before, vector, revision until which it was so), by default oldest first."""
        for row in self._connection.execute(
            f"SELECT revision, entity, key, before, vector, crc FROM image WHERE {where} "
            f"ORDER BY revision {order}, key LIMIT ?",
            (*values, limit),
        ).fetchall():
            until, _, key, before, vector = rows.check(row, "image")
            yield key, before, vector, until


def _link_version(key: str, before: str, until: int) -> LinkVersion:
    source, target, type_ = rows.link_of_key(key)
    confidence, note, since = json.loads(before)
    return LinkVersion(source, target, Link("", type_, confidence, note), since, until)


def _parts(values: Sequence[int]) -> Iterator[list[int]]:
    for start in range(0, len(values), _IN_MAX):
        yield list(values[start : start + _IN_MAX])
