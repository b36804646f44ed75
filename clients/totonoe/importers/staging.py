"""A temporary database between reading a store and saving its memories.

Everything is read before anything is saved, so a store that cannot be read to its end changes
nothing; and memories are saved in the order of their times, so that the newer one updates the older
one, whatever the order of the file. SQLite keeps what does not fit its cache in a temporary file,
which it deletes: memory stays bounded.
"""

from __future__ import annotations

import hashlib
import pickle
import sqlite3
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from totonoe.enums import LinkType
from totonoe.importers.records import Edge, Episode, Record

_CACHE_KIB = 8192
_SYMMETRIC = frozenset({LinkType.RELATED, LinkType.CONTRADICTS, LinkType.COACTIVATED})
_INVERSES = {
    LinkType.CAUSED_BY: LinkType.CAUSES,
    LinkType.UPDATED_BY: LinkType.UPDATES,
    LinkType.REFINED_BY: LinkType.REFINES,
}

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE records (seq INTEGER PRIMARY KEY, created REAL, data BLOB NOT NULL);
CREATE TABLE memories (id TEXT PRIMARY KEY, memory_id TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE edges (
    source TEXT, target TEXT, type TEXT, confidence REAL, note TEXT,
    PRIMARY KEY (source, target, type)
) WITHOUT ROWID;
CREATE TABLE episodes (seq INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE texts (digest BLOB PRIMARY KEY) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class StagedLink:
    """A link to make: two memories of the collection."""

    source_id: str
    target_id: str
    type: LinkType
    confidence: float | None
    note: str


class Staging:
    """Records, links and episodes of a store, and the memories that the records became."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.executescript(f"PRAGMA cache_size = -{_CACHE_KIB}; {_TABLES}")
        self.record_count = 0

    def __enter__(self) -> Staging:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._database.close()

    def add(self, item: Record | Edge | Episode) -> None:
        """Keep an item. A second link of the same kind between two records is dropped."""
        if isinstance(item, Record):
            self.record_count += 1
            created = item.draft.created_time
            stamp = created.timestamp() if created else None
            self._execute("INSERT INTO records VALUES (NULL, ?, ?)", stamp, pickle.dumps(item))
        elif isinstance(item, Episode):
            self._execute("INSERT INTO episodes VALUES (NULL, ?)", pickle.dumps(item))
        else:
            self._add_edge(item)

    def _add_edge(self, edge: Edge) -> None:
        source, target, kind = edge.source, edge.target, edge.type
        if kind in _INVERSES or (kind in _SYMMETRIC and source > target):
            source, target, kind = target, source, _INVERSES.get(kind, kind)
        values = (source, target, str(kind), edge.confidence, edge.note)
        # A store's texts may hold lone surrogates, which no database takes.
        clean = [v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in values]
        self._execute("INSERT OR IGNORE INTO edges VALUES (?, ?, ?, ?, ?)", *clean)

    def records(self) -> Iterator[Record]:
        """Yield the records, those without a time first, then the oldest first."""
        for (data,) in self._database.execute("SELECT data FROM records ORDER BY created, seq"):
            yield pickle.loads(data)

    def became(self, record: Record, memory_id: str) -> None:
        """Note the memory that holds what a record says. The first one of an alias stays."""
        for name in (record.id, *record.aliases):
            clean = name.encode("utf-8", "replace").decode()
            self._execute("INSERT OR IGNORE INTO memories VALUES (?, ?)", clean, memory_id)

    def memory_of(self, name: str) -> str | None:
        """Return the memory that a record became, `None` if it became none."""
        row = self._execute("SELECT memory_id FROM memories WHERE id = ?", name).fetchone()
        return row[0] if row else None

    def pairs(self) -> Iterator[StagedLink]:
        """Yield links between two different memories, by the id of their source.

        A directed link that the store has both ways has lost its direction: it is `related`.
        """
        query = (
            "SELECT s.memory_id, t.memory_id, e.type, e.confidence, e.note, EXISTS ("
            " SELECT 1 FROM edges r WHERE r.source = e.target AND r.target = e.source"
            " AND r.type = e.type) FROM edges e"
            " JOIN memories s ON s.id = e.source JOIN memories t ON t.id = e.target"
            " WHERE s.memory_id <> t.memory_id ORDER BY s.memory_id, t.memory_id"
        )
        for source, target, kind, confidence, note, is_mutual in self._database.execute(query):
            if is_mutual and kind not in _SYMMETRIC:
                if source < target:
                    yield StagedLink(source, target, LinkType.RELATED, confidence, note or kind)
            else:
                yield StagedLink(source, target, LinkType(kind), confidence, note)

    def episodes(self) -> Iterator[Episode]:
        """Yield the episodes in the order of the store."""
        for (data,) in self._database.execute("SELECT data FROM episodes ORDER BY seq"):
            yield pickle.loads(data)

    def is_repeated(self, record: Record) -> bool:
        """Return true if a state with the same text was asked about before; note this one."""
        draft = record.draft
        if draft.kind not in (None, "state"):
            return False
        text = " ".join(unicodedata.normalize("NFC", draft.content).split())
        key = f"{draft.state_kind}\0{text}".encode("utf-8", "replace")
        digest = hashlib.sha256(key).digest()
        return not self._execute("INSERT OR IGNORE INTO texts VALUES (?)", digest).rowcount

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        return self._database.execute(statement, values)
