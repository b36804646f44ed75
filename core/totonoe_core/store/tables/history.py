"""Reads of a collection's past: operations, before images, and rows at a revision.

    row      memory.revision, link.revision   first revision of the current state
    image    revision                         revision that ended the state in `before`
             before's own revision            first revision of that state

So each version of a row holds from the revision that wrote it up to that of the next image, or
until now; between its deletion and its next image the row did not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from totonoe_core.base import plain
from totonoe_core.base.errors import Corruption
from totonoe_core.domain.records import Dismissal, Episode, Link, LinkType, Memory
from totonoe_core.store import rows
from totonoe_core.store.aside import Aside
from totonoe_core.store.records import Image, LinkVersion, OperationRow
from totonoe_core.store.tables import sql
from totonoe_core.store.tables.session import Session

_DAMAGED_MAX = 100  # damaged last operations that an opening skips
_STATUS = "({}.before::json->>10)"


class History:
    """Reads of the past through one connection; every row is checked against its crc.

    Methods without a text of their own: see `seam.History`.
    """

    def __init__(self, session: Session, aside: Aside) -> None:
        self._session = session
        self._aside = aside

    # -- Operations

    def operation(self, revision: int) -> OperationRow | None:
        return next(self._operations("revision = ?", (revision,), "", 1), None)

    def seal(self, revision: int) -> tuple[str, int, int] | None:
        found = self._session.execute(
            f"SELECT {sql.OPERATION_COLUMNS} FROM operation WHERE uid = $1 AND revision = ?",
            (revision,),
        ).fetchone()
        if found is None:
            return None
        operation = OperationRow(*rows.check(found, "operation"))
        return operation.operation_id, operation.time_us, found[-1]

    def operations_with_id(self, operation_id: str) -> list[OperationRow]:
        return list(self._operations("operation_id = ?", (operation_id,), "DESC", 100))

    def operations_after(self, revision: int, limit: int) -> list[OperationRow]:
        return list(self._operations("revision > ?", (revision,), "ASC", limit))

    def operations_before(self, revision: int, limit: int) -> list[OperationRow]:
        return list(self._operations("revision < ?", (revision,), "DESC", limit))

    def _operations(
        self, where: str, values: Sequence[object], order: str, limit: int
    ) -> Iterator[OperationRow]:
        for row in self._session.execute(
            f"SELECT {sql.OPERATION_COLUMNS} FROM operation WHERE uid = $1 AND {where} "
            f"ORDER BY revision {order} LIMIT ?",
            (*values, limit),
        ).fetchall():
            yield OperationRow(*rows.check(row, "operation"))

    def undone_by(self, revisions: Sequence[int]) -> dict[int, int]:
        found: dict[int, int] = {}
        for part in sql.parts(revisions):
            pairs = self._session.execute(
                "SELECT undoes, max(revision) FROM operation "
                "WHERE uid = $1 AND undoes = ANY(?) GROUP BY undoes",
                (part,),
            )
            found.update((undone, by) for undone, by in pairs)
        return found

    def taken_count(self, kinds: Sequence[str], since_us: int) -> int:
        return int(
            self._session.execute(
                "SELECT count(DISTINCT i.key) FROM operation o "
                # SQLite starts from the operations, so that it never scans all images.
                "/*! CROSS*/ JOIN image i "
                "ON i.uid = $1 AND i.revision = o.revision AND i.entity = 'memory' "
                "/*! CROSS*/ JOIN memory m ON m.uid = $1 AND m.row = CAST(i.key AS bigint) "
                "WHERE o.uid = $1 AND o.revision > ? AND o.kind = ANY(?) "
                f"AND {_STATUS.format('i')} = 'active' AND m.status <> 'active' "
                f"AND coalesce((SELECT {_STATUS.format('n')} FROM image n "
                "WHERE n.uid = $1 AND n.entity = 'memory' AND n.key = i.key "
                "AND n.revision > i.revision "
                "ORDER BY n.revision LIMIT 1), m.status) <> 'active'",
                (self.revision_at(since_us), list(kinds)),
            ).get
        )

    def newest_time(self) -> int:
        revision = self.newest()
        for at in range(revision, max(revision - _DAMAGED_MAX, 0), -1):
            try:
                row = self.operation(at)
            except (Corruption, UnicodeDecodeError):
                self._aside.note("operation", rows.bad_key((at,)))
                continue
            if row is None:
                break
            # A damaged row may have a damaged number.
            if at < revision and self._count() != revision:
                break
            return row.time_us
        if revision:
            raise _missing_revision(revision)
        return 0

    def _count(self) -> int:
        return int(self._session.execute("SELECT count(*) FROM operation WHERE uid = $1").get)

    def newest(self) -> int:
        return int(
            self._session.execute(
                "SELECT coalesce(max(revision), 0) FROM operation WHERE uid = $1"
            ).get
        )

    def revision_at(self, time_us: int) -> int:
        low, high = 0, self.newest()
        while low < high:
            middle = (low + high + 1) // 2
            there = self._at_or_before(middle)
            row = self.operation(there) if there else None
            if there and row is None:
                raise _missing_revision(there)
            earlier = row is None or row.time_us <= time_us
            low, high = (middle, high) if earlier else (low, there - 1)
        return self._at_or_before(low)

    def _at_or_before(self, revision: int) -> int:
        """Return the newest existing revision up to another one; 0 if there is none."""
        newest = "SELECT coalesce(max(revision), 0) FROM operation WHERE uid = $1 AND revision <= ?"
        return int(self._session.execute(newest, (revision,)).get)

    # -- Memories

    def memory_images(self, revision: int) -> dict[int, Memory]:
        return {
            int(key): rows.memory_of_image(before, vector)
            for key, before, vector, _ in self._images(
                "entity = 'memory' AND revision = ?", revision
            )
        }

    def memory_versions(self, row: int) -> list[Memory]:
        found = self._images("entity = 'memory' AND key = ?", str(row))
        return [rows.memory_of_image(before, vector) for _, before, vector, _ in found]

    def versions_until(self, row: int, revision: int, limit: int) -> list[Memory]:
        found = self._images(
            "entity = 'memory' AND key = ? AND revision <= ?",
            str(row),
            revision,
            order="DESC",
            limit=limit,
        )
        return [rows.memory_of_image(before, vector) for _, before, vector, _ in found]

    def memories_after(self, revision: int, wanted: Iterable[int]) -> dict[int, Memory]:
        memories: dict[int, Memory] = {}
        # Even the columns of a row that is set aside may be unreadable.
        for part in sql.parts([row for row in wanted if row not in self._aside]):
            for row in self._session.execute(
                f"SELECT {rows.MEMORY_COLUMNS} FROM memory WHERE uid = $1 AND row = ANY(?)", (part,)
            ):
                memory = rows.memory(self._session.sealed(row))
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
                    memories[memory.row] = memory
        return memories

    def rows_changed_after(self, revision: int) -> list[int]:
        return [
            row
            for (row,) in self._session.execute(
                "SELECT row FROM memory WHERE uid = $1 AND revision > ? ORDER BY row", (revision,)
            )
        ]

    def rows_moved_after(self, revision: int) -> list[int]:
        return [
            row
            for (row,) in self._session.execute(
                "SELECT DISTINCT m.row FROM image i "
                "JOIN memory m ON m.uid = $1 AND m.row = CAST(i.key AS bigint) "
                "WHERE i.uid = $1 AND i.revision > ? AND i.entity = 'memory' "
                "AND (i.before::json->>8)::bigint <> m.created_us",
                (revision,),
            )
        ]

    def rows_of_external_ids(
        self, external_ids: Sequence[str], agent_id: str, revision: int
    ) -> dict[str, list[int]]:
        found: dict[str, set[int]] = {external_id: set() for external_id in external_ids}
        for external_id in found:
            for status in ("status <> 'forgotten'", "status = 'forgotten'"):
                rows_now = self._session.execute(
                    f"SELECT row FROM memory WHERE uid = $1 AND external_id IN (?, ?) AND {status}",
                    [
                        self._session.stored_key(key)
                        for key in rows.external_keys(external_id, agent_id)
                    ],
                )
                found[external_id].update(row for (row,) in rows_now)
        for key, external_id in self._session.execute(
            "SELECT DISTINCT key, (before::json->>2) FROM image "
            "WHERE uid = $1 AND revision > ? AND entity = 'memory' "
            "AND (before::json->>2) = ANY(?)",
            (revision, list(external_ids)),
        ):
            found[external_id].add(int(key))
        return {external_id: sorted(held) for external_id, held in found.items()}

    # -- Links

    def link_images(self, revision: int) -> list[LinkVersion]:
        return [
            _link_version(key, before, until)
            for key, before, _, until in self._images("entity = 'link' AND revision = ?", revision)
        ]

    def link_versions(self, source: int) -> list[LinkVersion]:
        # '?' follows '>': all keys that begin with the row and '>'.
        links = [
            _link_version(key, before, until)
            for key, before, _, until in self._images(
                "entity = 'link' AND key > ? AND key < ?", f"{source}>", f"{source}?"
            )
        ]
        for row in self._session.execute(
            f"SELECT {sql.LINK_COLUMNS} FROM link WHERE uid = $1 AND source = ?",
            (source,),
        ):
            link = rows.link(row, "")
            links.append(LinkVersion(source, row[1], link, row[5], None))
        links.sort(key=lambda link: (link.since, link.target, link.link.type))
        return links

    def link_after(self, revision: int, source: int, target: int, type_: LinkType) -> Link | None:
        now = self.link_now(source, target, type_)
        if now is not None and now.since <= revision:
            return now.link
        key = rows.link_key(source, target, type_)
        images = self._images(
            "entity = 'link' AND key = ? AND revision > ?", key, revision, limit=1
        )
        for _, before, _, until in images:
            version = _link_version(key, before, until)
            return version.link if version.since <= revision else None
        return None

    def link_revision(self, source: int, target: int, type_: LinkType) -> int | None:
        found = self._session.execute(
            "SELECT revision FROM link WHERE uid = $1 AND source = ? AND target = ? AND type = ?",
            (source, target, type_.value),
        ).get
        return None if found is None else int(found)

    def link_now(self, source: int, target: int, type_: LinkType) -> LinkVersion | None:
        row = self._session.execute(
            f"SELECT {sql.LINK_COLUMNS} FROM link "
            "WHERE uid = $1 AND source = ? AND target = ? AND type = ?",
            (source, target, type_.value),
        ).fetchone()
        return (
            None if row is None else LinkVersion(source, target, rows.link(row, ""), row[5], None)
        )

    # -- Dismissals, episodes and settings

    def dismissal_images(self, revision: int) -> dict[tuple[int, int], Dismissal]:
        images = self._images("entity = 'dismissal' AND revision = ?", revision)
        found = (plain.loads(Dismissal, before) for _, before, _, _ in images)
        return {(dismissal.a, dismissal.b): dismissal for dismissal in found}

    def dismissal_revisions(self, row: int) -> set[int]:
        found = {
            revision
            for (revision,) in self._session.execute(
                "SELECT revision FROM dismissal WHERE uid = $1 AND a = $2 UNION "
                "SELECT revision FROM dismissal WHERE uid = $1 AND b = $2",
                (row,),
            )
        }
        for _, before, _, until in self._images(
            "entity = 'dismissal' AND (key LIKE ? OR key LIKE ?)", f"{row}~%", f"%~{row}"
        ):
            found |= {until, plain.loads(Dismissal, before).revision}
        return found

    def episode_images(self, revision: int) -> dict[str, Episode]:
        return {
            key: plain.loads(Episode, before)
            for key, before, _, _ in self._images("entity = 'episode' AND revision = ?", revision)
        }

    def last_episode(self, episode_id: str) -> Episode | None:
        found = self._images("entity = 'episode' AND key = ?", episode_id, order="DESC", limit=1)
        return next((plain.loads(Episode, before) for _, before, _, _ in found), None)

    def setting_image(self, revision: int, key: str) -> str | None:
        found = self._images("entity = 'setting' AND revision = ? AND key = ?", revision, key)
        return next((before for _, before, _, _ in found), None)

    # -- Changes of one row, of any entity

    def image_from(self, entity: str, key: str, revision: int) -> Image | None:
        return next(iter(self.images_from(entity, key, revision, 1)), None)

    def images_from(self, entity: str, key: str, revision: int, limit: int) -> list[Image]:
        where = "entity = ? AND key = ? AND revision >= ?"
        return [
            Image(until, rows.since_of_image(entity, before), before, vector)
            for _, before, vector, until in self._images(where, entity, key, revision, limit=limit)
        ]

    def last_image(self, entity: str, key: str, before: int) -> int:
        return int(
            self._session.execute(
                "SELECT coalesce(max(revision), 0) FROM image "
                "WHERE uid = $1 AND entity = ? AND key = ? AND revision < ?",
                (entity, key, before),
            ).get
        )

    def _images(
        self, where: str, *values: object, order: str = "ASC", limit: int = sql.EVERY
    ) -> Iterator[tuple[str, str, bytes, int]]:
        """Yield (key, before, vector, revision that ended this state), by default oldest first."""
        for row in self._session.execute(
            f"SELECT {sql.IMAGE_COLUMNS} FROM image "
            f"WHERE uid = $1 AND {where} "
            f"ORDER BY revision {order}, key LIMIT ?",
            (*values, limit),
        ).fetchall():
            until, _, key, before, vector = rows.check(row, "image")
            yield key, before, vector, until


def _missing_revision(revision: int) -> Corruption:
    return Corruption(
        "CORRUPT_ROW",
        f"table operation is damaged at or before revision {revision}; restore a snapshot",
        table="operation",
        row=revision,
    )


def _link_version(key: str, before: str, until: int) -> LinkVersion:
    source, target, type_ = rows.link_of_key(key)
    confidence, note = rows.link_of_image(before)
    since = rows.since_of_image("link", before)
    return LinkVersion(source, target, Link("", type_, confidence, note), since, until)
