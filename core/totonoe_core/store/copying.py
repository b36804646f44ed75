"""Whole collections from one store into another, table by table, as the sealed rows that they are.

No text is decoded further than the other store needs, and nothing is decided: a row arrives as it
was, with its crc, which is checked on both sides. A collection is listed in the target once all its
rows are there and read back with the same digest. Until then nothing of it can be seen, so that a
copy that broke off begins with the first collection that is not there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from totonoe_core.base import limits
from totonoe_core.base.errors import (
    AlreadyExists,
    CommitsLost,
    Corruption,
    Quota,
    TotonoeError,
    UnsupportedFormat,
)
from totonoe_core.store import rows

TABLES = {
    "memory": (rows.MEMORY_COLUMNS, "row"),
    "link": ("source, target, type, confidence, note, revision, crc", "source, target, type"),
    "access": ("row, last_us, count, crc", "row"),
    "recall_event": ("number, agent_id, time_us, hits, crc", "number"),
    "coactivation": ("low, high, count, crc", "low, high"),
    "operation": (
        "revision, operation_id, agent_id, kind, reason, touched, time_us, undoes, crc",
        "revision",
    ),
    "episode": (rows.EPISODE_COLUMNS, "id"),
    "dismissal": (rows.DISMISSAL_COLUMNS, "a, b"),
    "image": ("revision, entity, key, before, vector, crc", "revision, entity, key"),
    "reply": ("agent_id, operation_id, digest, answer, time_us, crc", "agent_id, operation_id"),
    "embedding": (rows.EMBEDDING_COLUMNS, "row"),
    "setting": ("key, value, crc", "key"),
}
"""Every table of a collection, alike in all stores: its columns, and its key, which sorts it."""
_STEP_ROWS = 256
_BAD_NAMED_MAX = 20

Put = Callable[[str, Sequence[rows.Row]], None]
"""Writes sealed rows to a table."""
OnProgress = Callable[[str, int, int], None]
"""Gets the name of a collection, how many of its rows are copied, and how many it has."""


class Reading(Protocol):
    """The rows of one collection as of one moment, without what only its store needs."""

    def count(self, table: str) -> int:
        """Return how many rows a table has. Raises `Corruption`, `Unavailable`."""

    def after(self, table: str, key: rows.Row | None, limit: int) -> list[rows.Row]:
        """Return sealed rows after a key (`None`: from the first), in its order, unchecked.

        Raises `Corruption`, `Unavailable`.
        """


class Side(Protocol):
    """One of the two stores of a copy. Used by one thread.

    All but `close` raise `Corruption`, `ReadOnly`, `Unavailable`.
    """

    def collections(self) -> list[rows.Row]:
        """Return (uid, name, deleted_us) of all collections, deleted ones too."""

    def operations(self) -> list[rows.Row]:
        """Return the operations of the catalogue, by revision."""

    def reading(self, listed: rows.Row) -> AbstractContextManager[Reading]:
        """Open a collection for reading."""

    def write(
        self,
        listed: rows.Row,
        operations: Sequence[rows.Row],
        fill: Callable[[Put], None],
        check: Callable[[Reading], None],
    ) -> None:
        """Make a collection of the rows that `fill` puts, and list it with its operations.

        If `check` of what was written, or anything before it, raises, nothing is left. Raises
        `AlreadyExists` if the target got it meanwhile.
        """

    def keep(self, operations: Sequence[rows.Row]) -> None:
        """Keep operations of the catalogue that are of no listed collection."""

    def close(self) -> None:
        """Close what is open."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Rows of a collection: the number of each table, and one SHA-256 over all, in hex.

    `byte_count` is the number of bytes that it is over.
    """

    counts: tuple[tuple[str, int], ...]
    sha256: str
    byte_count: int

    @property
    def row_count(self) -> int:
        """Rows of all tables."""
        return sum(count for _, count in self.counts)

    @property
    def memory_count(self) -> int:
        """Rows of memories, forgotten and purged ones too."""
        return dict(self.counts)["memory"]


@dataclass(frozen=True, slots=True)
class CopiedCollection:
    """One collection after its turn.

    Attributes
    ----------
    digest : Digest, optional
        Of its rows, the same on both sides; `None` if it was not copied.
    was_there : bool
        An earlier copy had finished it.
    error : TotonoeError, optional
        Why it was not copied: nothing of it is in the target.
    """

    name: str
    deleted: bool
    digest: Digest | None = None
    was_there: bool = False
    error: TotonoeError | None = None


_OF_ONE = (Corruption, CommitsLost, UnsupportedFormat)
"""Errors that stop the copy of one collection; the others go on."""


class Copying:
    """A copy of all collections of one side into the other: `begin`, then `run`."""

    def __init__(self, source: Side, target: Side) -> None:
        self._source, self._target = source, target
        self._listed: list[rows.Row] = []
        self._operations: list[rows.Row] = []
        self._kept: set[tuple[str, str]] = set()
        self._before: dict[str, CopiedCollection] = {}
        """Collections that the target has already, by uid, once `begin` compared them."""

    def begin(self) -> None:
        """Look whether the target can take every collection; writes nothing.

        Raises
        ------
        AlreadyExists
            It has some of them already, with other contents: the message names them.
        Quota
            It would have too many collections.
        """
        self._listed = sorted(
            self._source.collections(), key=lambda collection: (collection[1], collection[0])
        )
        self._operations = self._source.operations()
        there = {collection[0]: collection for collection in self._target.collections()}
        names = {name for _, name, deleted_us in there.values() if deleted_us is None}
        self._kept = {(operation[2], operation[1]) for operation in self._target.operations()}
        refused = []
        for collection in self._listed:
            uid, name, deleted_us = collection
            if uid in there:
                copy = self._compared(collection) if there[uid] == collection else None
                if copy is None:
                    refused.append(name)
                else:
                    self._before[uid] = copy
            elif (deleted_us is None and name in names) or self._is_kept(uid):
                refused.append(name)
        if refused:
            raise AlreadyExists(
                "COLLECTION_EXISTS",
                kind="collection",
                name=", ".join(refused),
                hint="the target has it with other contents, or had it; nothing was copied",
            )
        new = [
            collection
            for collection in self._listed
            if collection[2] is None and collection[0] not in there
        ]
        if len(names) + len(new) > limits.COLLECTIONS_MAX:
            raise Quota(
                "QUOTA_EXCEEDED",
                f"the target would have {len(names) + len(new)} collections, "
                f"allowed: {limits.COLLECTIONS_MAX}",
            )

    def run(self, told: OnProgress) -> Iterator[CopiedCollection]:
        """Copy one collection after another, and yield each when it is done.

        Raises what stops the whole copy: `ReadOnly`, `Unavailable`, `AlreadyExists`. The next copy
        goes on behind what is done.
        """
        for collection in self._listed:
            yield self._before.get(collection[0]) or self._copied(collection, told)
        uids = {collection[0] for collection in self._listed}
        rest = [
            operation
            for operation in self._operations
            if operation[4] not in uids and (operation[2], operation[1]) not in self._kept
        ]
        if rest:
            self._target.keep(rest)

    def _of(self, uid: str) -> list[rows.Row]:
        return [operation for operation in self._operations if operation[4] == uid]

    def _is_kept(self, uid: str) -> bool:
        return any((operation[2], operation[1]) in self._kept for operation in self._of(uid))

    def _compared(self, listed: rows.Row) -> CopiedCollection | None:
        """Return the collection that both sides have, if its rows are the same."""
        _, name, deleted_us = listed
        deleted = deleted_us is not None
        try:
            with self._source.reading(listed) as one, self._target.reading(listed) as other:
                digest = read_all(one)
                if digest != read_all(other):
                    return None
        except _OF_ONE as error:
            return CopiedCollection(name, deleted, error=error)
        return CopiedCollection(name, deleted, digest, was_there=True)

    def _copied(self, listed: rows.Row, told: OnProgress) -> CopiedCollection:
        uid, name, deleted_us = listed
        deleted = deleted_us is not None
        digests: list[Digest] = []

        def check(written: Reading) -> None:
            there = read_all(written)
            if there != digests[0]:
                raise Corruption(
                    "CORRUPT_ROW",
                    f"the copy of {name} has {there.row_count} rows and the digest "
                    f"{there.sha256}, its source {digests[0].row_count} and {digests[0].sha256}",
                )

        try:
            with self._source.reading(listed) as reading:
                total = sum(map(reading.count, TABLES))

                def fill(put: Put) -> None:
                    digests.append(read_all(reading, put, lambda done: told(name, done, total)))

                self._target.write(listed, self._of(uid), fill, check)
        except _OF_ONE as error:
            return CopiedCollection(name, deleted, error=error)
        return CopiedCollection(name, deleted, digests[0])


def read_all(
    reading: Reading,
    put: Put = lambda _, __: None,
    done: Callable[[int], None] = lambda _: None,
) -> Digest:
    """Read all rows of a collection, give them to `put`, and return their digest.

    Raises `Corruption` that names bad rows; what was put before is worth nothing then.
    """
    total, size = hashlib.sha256(), 0
    counts = dict.fromkeys(TABLES, 0)
    for table in TABLES:
        for batch in _batches(reading, table):
            if not all(rows.is_sound(row, table) for row in batch):
                raise _damaged(reading)
            put(table, batch)
            for row in batch:
                data = rows.encoded((table, *row))
                total.update(data)
                size += len(data)
            counts[table] += len(batch)
            done(sum(counts.values()))
        if counts[table] != (expected := reading.count(table)):
            raise Corruption(
                "CORRUPT_ROW",
                f"table {table} has {expected} rows, of which {counts[table]} can be read",
                table=table,
            )
    return Digest(tuple(counts.items()), total.hexdigest(), size)


def _batches(reading: Reading, table: str) -> Iterator[list[rows.Row]]:
    """Yield the rows of a table in the order of its key, no more than it has."""
    last: rows.Row | None = None
    left = reading.count(table)
    while left > 0 and (batch := reading.after(table, last, min(left, _STEP_ROWS))):
        yield batch
        left -= len(batch)
        last = _key(table, batch[-1])


def _key(table: str, row: rows.Row) -> rows.Row:
    columns, key = TABLES[table]
    places = columns.split(", ")
    return tuple(row[places.index(part)] for part in key.split(", "))


def _damaged(reading: Reading) -> Corruption:
    """Return the error that names the bad rows of a collection by their keys, without a text."""
    named = [
        f"{table} {rows.bad_key(_key(table, row))}"
        for table in TABLES
        for batch in _batches(reading, table)
        for row in batch
        if not rows.is_sound(row, table)
    ]
    more = "" if len(named) <= _BAD_NAMED_MAX else f" and {len(named) - _BAD_NAMED_MAX} more"
    return Corruption(
        "CORRUPT_ROW",
        f"rows do not match their checksums: {', '.join(named[:_BAD_NAMED_MAX])}{more}",
        row_count=len(named),
    )
