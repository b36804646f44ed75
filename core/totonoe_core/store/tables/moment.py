"""Reads of rows as they were at one revision, in pages by row number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from totonoe_core.base import plain
from totonoe_core.base.errors import Corruption
from totonoe_core.domain.records import Dismissal, Episode
from totonoe_core.store import rows
from totonoe_core.store.records import LinkVersion
from totonoe_core.store.tables import sql
from totonoe_core.store.tables.history import History
from totonoe_core.store.tables.session import Session

A = TypeVar("A")
B = TypeVar("B")


class Moment:
    """Contents of a collection right after a revision, through one connection.

    It is not one snapshot: each page must be read in a snapshot of its own.

    Methods without a text of their own: see `seam.Moment`.
    """

    def __init__(self, session: Session, history: History) -> None:
        self._session = session
        self._history = history
        self.damaged_count = 0
        """Rows left out because they do not match their checksum."""

    def last_row(self) -> int:
        return int(
            self._session.execute("SELECT coalesce(max(row), 0) FROM memory WHERE uid = $1").get
        )

    def holds_anything(self) -> bool:
        return bool(
            self._session.execute(
                "SELECT EXISTS(SELECT 1 FROM memory WHERE uid = $1 AND status <> 'purged') "
                "OR EXISTS(SELECT 1 FROM episode WHERE uid = $1)"
            ).get
        )

    def rows_after(self, row: int, last: int, limit: int) -> list[int]:
        found = self._session.execute(
            "SELECT row FROM memory WHERE uid = $1 AND row > ? AND row <= ? ORDER BY row LIMIT ?",
            (row, last, limit),
        )
        return [number for (number,) in found]

    def ids(self, wanted: Sequence[int]) -> dict[int, str]:
        found = self._session.execute(
            "SELECT row, id FROM memory WHERE uid = $1 AND row = ANY(?)", (list(wanted),)
        )
        return dict(found.fetchall())

    def access(self, first: int, last: int) -> dict[int, tuple[int, int]]:
        found = self._session.execute(
            "SELECT row, last_us, count, crc FROM access WHERE uid = $1 AND row BETWEEN ? AND ?",
            (first, last),
        )
        checked = self._sound(found, lambda row: rows.check(row, "access"))
        return {row: (last_us, count) for row, last_us, count in checked}

    def links(self, sources: Sequence[int], revision: int) -> list[LinkVersion]:
        found: list[LinkVersion] = []
        if not sources:
            return found
        if self._history.newest() == revision:
            links = self._session.execute(
                f"SELECT {sql.LINK_COLUMNS} FROM link "
                "WHERE uid = $1 AND source = ANY(?) AND target > source "
                "ORDER BY source, target, type",
                (list(sources),),
            )
            return self._sound(
                links, lambda row: LinkVersion(row[0], row[1], rows.link(row, ""), row[5], None)
            )
        for versions in self._sound(sources, self._history.link_versions):
            held = [
                link
                for link in versions
                if link.target > link.source
                and link.since <= revision
                and (link.until is None or link.until > revision)
            ]
            found += sorted(held, key=lambda link: (link.target, link.link.type.value))
        return found

    def dismissals(self, firsts: Sequence[int], revision: int) -> list[Dismissal]:
        if not firsts:
            return []
        found = {}
        held = self._session.execute(
            f"SELECT {rows.DISMISSAL_COLUMNS} FROM dismissal WHERE uid = $1 AND a = ANY(?)",
            (list(firsts),),
        )
        for dismissal in self._sound(held, rows.dismissal):
            if dismissal.revision <= revision:
                found[dismissal.a, dismissal.b] = dismissal
        if self._history.newest() != revision:
            for first in firsts:
                # '\x7f' follows '~': all keys that begin with the row and '~'.
                for before in self._images("dismissal", f"{first}~", f"{first}\x7f", revision):
                    dismissal = plain.loads(Dismissal, before)
                    if dismissal.revision <= revision:
                        found[dismissal.a, dismissal.b] = dismissal
        return [found[pair] for pair in sorted(found)]

    def episode_ids(self, revision: int) -> list[str]:
        found = set(
            self._session.execute(
                "SELECT start_us, id FROM episode WHERE uid = $1 AND revision <= ?", (revision,)
            )
        )
        for before in self._images("episode", "", "\x7f", revision):
            episode = plain.loads(Episode, before)
            if episode.revision <= revision:
                found.add((episode.start_us, episode.id))
        return [episode_id for _, episode_id in sorted(found)]

    def episode(self, now: Episode | None, episode_id: str, revision: int) -> Episode | None:
        if now is not None and now.revision <= revision:
            return now
        for before in self._images("episode", episode_id, episode_id + "\x01", revision):
            episode = plain.loads(Episode, before)
            if episode.revision <= revision:
                return episode
        return None

    def _sound(self, found: Iterable[A], made: Callable[[A], B]) -> list[B]:
        """Convert each row, leaving out and counting the damaged ones."""
        out: list[B] = []
        for item in found:
            try:
                out.append(made(item))
            except Corruption:
                self.damaged_count += 1
        return out

    def _images(self, entity: str, key: str, key_end: str, revision: int) -> Iterator[str]:
        """Yield before images of a range of keys after a revision, oldest first."""
        for row in self._session.execute(
            f"SELECT {sql.IMAGE_COLUMNS} FROM image "
            "WHERE uid = $1 AND entity = ? AND key >= ? AND key < ? AND revision > ? "
            "ORDER BY revision",
            (entity, key, key_end, revision),
        ):
            yield rows.check(row, "image")[3]
