"""Chunked columns of one collection: one slot for each version of a memory.

    slot      0 .. count-1 published, count .. end-1 decided but not committed yet
    chunk     CHUNK slots; columns never move, so readers keep what they hold

Only the writer thread appends, publishes or takes back. A slot's vector, tokens and fields never
change: an update appends a new slot and retires the old one. Only these change in place: `status`
and `updated` (on publish), `replaced_by`, `last_access` and `access_count`. A purged slot is
overwritten (`empty`) once its status hides it.

A reader sees each memory once, whatever is published meanwhile: a slot counts until the one in
`replaced_by` is within the reader's view (`masks.of_status`).

Of the columns in `SELDOM` a chunk has none of its own while all of its slots hold the default: most
collections never use most of them. A reader that holds the shared array holds what was true then.

A status change waits in `pending_status` until `publish`, its time in `pending_updated`, so that
readers see an operation whole and only when it is on disk, while later requests of the same batch
already see it (`Selection` takes what is pending).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.records import TRUST, Kind, Source, StateKind, Status
from totonoe_core.index import pages

CHUNK = 16_384
NO_TIME = np.iinfo(np.int64).min

STATUSES = {status: code for code, status in enumerate(Status)}
KINDS = {kind: code for code, kind in enumerate(Kind)}
STATE_KINDS = {kind: code for code, kind in enumerate(StateKind)}
RETIRED = 255
"""Status of a slot whose memory was live and goes on in a newer slot."""
NEVER = np.iinfo(np.int64).max
"""`replaced_by` of a memory's newest slot, and `expires` of one that never does."""

COLUMNS: dict[str, Any] = {
    "row": np.int64,
    "id_bits": np.uint64,
    "status": np.uint8,
    "kind": np.uint8,
    "state_kind": np.uint8,
    "private": np.uint8,
    "source": np.uint8,
    "importance": np.uint8,
    "agent": np.int32,
    "session": np.int32,
    "thread": np.int32,
    "category": np.int32,
    "life_stage": np.int32,
    "namespace": np.int32,
    "created": np.int64,
    "updated": np.int64,
    "about_from": np.int64,
    "about_to": np.int64,
    "valid_from": np.int64,
    "valid_to": np.int64,
    "expires": np.int64,
    "expires_after": np.int64,
    "last_access": np.int64,
    "access_count": np.int64,
    "replaced_by": np.int64,
    "confidence": np.float64,
    "payload_hash": np.uint64,
    "key_hash": np.uint64,
    "text_hash": np.uint64,
    "canonical_hash": np.uint64,
    "term_count": np.int32,
}

SELDOM: dict[str, int] = {
    "private": 0,
    "source": TRUST[Source.AGENT],
    "session": 0,
    "thread": 0,
    "category": 0,
    "life_stage": 0,
    "namespace": 0,
    "about_from": NO_TIME,
    "about_to": NO_TIME,
    "valid_from": NO_TIME,
    "valid_to": NO_TIME,
    "expires": NEVER,
    "expires_after": 0,
    "replaced_by": NEVER,
    "payload_hash": 0,
    "key_hash": 0,
}
"""Columns that only the writer writes, and what most slots hold there."""


def _default(name: str) -> NDArray[Any]:
    made = np.full(CHUNK, SELDOM[name], COLUMNS[name])
    made.flags.writeable = False
    return made


_DEFAULTS = {name: _default(name) for name in SELDOM}

_EMPTIED = (
    "session",
    "thread",
    "category",
    "life_stage",
    "namespace",
    "expires_after",
    "payload_hash",
    "key_hash",
    "text_hash",
    "canonical_hash",
    "term_count",
)
_TIMES_EMPTIED = ("about_from", "about_to", "valid_from", "valid_to")


class Chunk:
    """CHUNK slots: `columns[name]`, `vectors float32[CHUNK, dim]` unit rows, token CSR.

    `vectored uint8[CHUNK]` is 1 where a slot has a vector; all other rows are zero. `indptr
    int64[CHUNK + 1]` and `tokens uint64[...]` (sorted, unique within a slot). The token array grows
    by copying; a reader's array stays valid up to the slots published when it was taken.
    """

    __slots__ = ("columns", "indptr", "tokens", "vectored", "vectors")

    def __init__(self, dimension: int, first: bool = True) -> None:
        # Small collections may never fill their first chunk. For others, reading rows at random is
        # a quarter faster in the huge pages that numpy asks for.
        zeros: Callable[..., NDArray[Any]] = pages.zeros if first else np.zeros
        self.columns = {
            name: _DEFAULTS[name] if name in SELDOM else zeros((CHUNK,), dtype)
            for name, dtype in COLUMNS.items()
        }
        self.vectors = zeros((CHUNK, dimension), np.float32)
        self.vectored = zeros((CHUNK,), np.uint8)
        self.indptr = zeros((CHUNK + 1,), np.int64)
        self.tokens = np.zeros(1024, np.uint64)

    def beside(self, vectors: NDArray[np.float32], vectored: NDArray[np.uint8]) -> Chunk:
        """Return the same slots with other vectors; all else is shared."""
        made = Chunk.__new__(Chunk)
        made.columns, made.indptr, made.tokens = self.columns, self.indptr, self.tokens
        made.vectors, made.vectored = vectors, vectored
        return made

    def without_vectors(self, dimension: int) -> Chunk:
        """Return the same slots with no vectors, of another dimension."""
        vectors = np.zeros((CHUNK, dimension), np.float32)
        return self.beside(vectors, np.zeros(CHUNK, np.uint8))

    def put(self, name: str, at: int, value: Any) -> None:
        """Write one value of a column. Writer only."""
        column = self.columns[name]
        if column is _DEFAULTS.get(name):
            if value == SELDOM[name]:
                return
            self.columns[name] = column = column.copy()
        column[at] = value

    def put_all(self, name: str, at: int, values: Sequence[Any]) -> None:
        """Write values of a column from one place on. Writer only."""
        column = self.columns[name]
        if column is _DEFAULTS.get(name):
            if values.count(SELDOM[name]) == len(values):
                return
            self.columns[name] = column = column.copy()
        column[at : at + len(values)] = values

    def fill(self, name: str, values: NDArray[Any]) -> None:
        """Set the first values of a column that nobody reads yet."""
        if name in SELDOM and bool((values == SELDOM[name]).all()):
            return
        if not self.columns[name].flags.writeable:
            self.columns[name] = self.columns[name].copy()
        self.columns[name][: len(values)] = values

    def note_vectors(self, count: int) -> None:
        """Set `vectored` of the first slots, after their vectors were filled in."""
        rows = self.vectors[:count]
        # The first coordinate of a vector is nearly never 0: only the other rows are read whole.
        self.vectored[:count] = np.any(rows[:, :1], axis=1)
        rest = np.flatnonzero(self.vectored[:count] == 0)
        self.vectored[rest] = np.any(rows[rest], axis=1)

    def append_tokens(self, at: int, values: NDArray[np.uint64]) -> None:
        """Write the tokens of the slot at `at`, the one after the last written."""
        begin = int(self.indptr[at])
        end = begin + len(values)
        if end > len(self.tokens):
            grown = np.zeros(max(end, len(self.tokens) + len(self.tokens) // 4), np.uint64)
            grown[:begin] = self.tokens[:begin]
            self.tokens = grown
        self.tokens[begin:end] = values
        self.indptr[at + 1] = end

    def nbytes(self) -> int:
        """Bytes of all arrays."""
        columns = sum(column.nbytes for column in self.columns.values() if column.flags.writeable)
        vectors = self.vectors.nbytes + self.vectored.nbytes
        return columns + vectors + self.indptr.nbytes + self.tokens.nbytes


@dataclass(frozen=True, slots=True)
class View:
    """A reader's snapshot: the chunks, and the number of slots published at that time."""

    chunks: tuple[Chunk, ...]
    count: int

    def parts(self) -> Iterator[tuple[int, int, Chunk]]:
        """Yield (first slot, number of slots, chunk) for each chunk in use."""
        for number, chunk in enumerate(self.chunks):
            base = number * CHUNK
            if base >= self.count:
                return
            yield base, min(CHUNK, self.count - base), chunk

    def column(self, name: str) -> NDArray[Any]:
        """A column over all slots of the view, as a copy."""
        parts = [chunk.columns[name][:size] for _, size, chunk in self.parts()]
        return np.concatenate(parts) if parts else np.zeros(0, COLUMNS[name])

    def take(self, name: str, slots: NDArray[np.int64]) -> NDArray[Any]:
        """A column at some slots."""
        out = np.empty(len(slots), COLUMNS[name])
        for where, chunk, places in self._places(slots):
            out[where] = chunk.columns[name][places]
        return out

    def takes(self, names: Sequence[str], slots: NDArray[np.int64]) -> list[NDArray[Any]]:
        """Several columns at some slots: `take` of each, for the price of finding them once."""
        found = list(self._places(slots))
        if len(found) == 1:
            ((_, chunk, places),) = found
            return [chunk.columns[name][places] for name in names]
        taken = []
        for name in names:
            out = np.empty(len(slots), COLUMNS[name])
            for where, chunk, places in found:
                out[where] = chunk.columns[name][places]
            taken.append(out)
        return taken

    def _places(
        self, slots: NDArray[np.int64]
    ) -> Iterator[tuple[slice | NDArray[np.int64], Chunk, NDArray[np.int64]]]:
        """Yield (which of the slots, their chunk, their places there) for each chunk of some."""
        if self.count <= CHUNK:
            yield slice(None), self.chunks[0], slots
            return
        numbers = slots // CHUNK
        for number in np.flatnonzero(np.bincount(numbers)).tolist():
            where = np.flatnonzero(numbers == number)
            yield where, self.chunks[number], slots[where] - number * CHUNK

    def vectors(self, slots: NDArray[np.int64]) -> NDArray[np.float32]:
        """Unit vectors at some slots: float32[len(slots), dim]."""
        out = np.empty((len(slots), self.chunks[0].vectors.shape[1]), np.float32)
        for where, chunk, places in self._places(slots):
            out[where] = chunk.vectors[places]
        return out

    def comparable(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a vector to compare with this view: empty while its slots have no dimension."""
        return query if self.chunks[0].vectors.shape[1] else query[:0]

    def has_vectors(self) -> NDArray[np.bool_]:
        """Return whether each slot has a vector: bool[count]."""
        parts = [chunk.vectored[:size] for _, size, chunk in self.parts()]
        return np.concatenate(parts).view(np.bool_) if parts else np.zeros(0, np.bool_)

    def has_vector(self, slots: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each of some slots has a vector: bool[len(slots)]."""
        out = np.empty(len(slots), np.bool_)
        for where, chunk, places in self._places(slots):
            out[where] = chunk.vectored[places] != 0
        return out

    def chunk_of(self, slot: int) -> tuple[Chunk, int]:
        """Return the chunk of a slot, and its place there."""
        number, at = divmod(slot, CHUNK)
        return self.chunks[number], at

    def value(self, name: str, slot: int) -> Any:
        """One value of a column."""
        chunk, at = self.chunk_of(slot)
        return chunk.columns[name][at]

    def tokens(self, slot: int) -> NDArray[np.uint64]:
        """Sorted token hashes of one slot."""
        chunk, at = self.chunks[slot // CHUNK], slot % CHUNK
        return chunk.tokens[chunk.indptr[at] : chunk.indptr[at + 1]]


class Names:
    """Map from strings to small codes, for label columns. The empty string is code 0."""

    def __init__(self) -> None:
        self._codes = {"": 0}
        self._names = [""]

    def code(self, name: str) -> int:
        """Return the code of a name, made if it is new. Writer only."""
        code = self._codes.get(name)
        if code is None:
            code = len(self._names)
            self._names.append(name)
            self._codes[name] = code
        return code

    def find(self, name: str) -> int:
        """Return the code of a name, or -1 if no memory has it."""
        return self._codes.get(name, -1)

    def name(self, code: int) -> str:
        """Name of a code."""
        return self._names[code]

    @property
    def count(self) -> int:
        """Number of codes."""
        return len(self._names)

    def truncate(self, count: int) -> None:
        """Take back the codes from `count` on, which no slot has. Writer only."""
        for name in self._names[count:]:
            del self._codes[name]
        del self._names[count:]


class Arrays:
    """Columns of a collection, and their publication. See the module's text.

    `revived` lists the slots that became ACTIVE again, in that order; `purged` the emptied ones,
    for holders of copies of their vectors. No memory that is not forgotten expires before
    `expires_next_us`; NO_TIME: not known. `changed_count` only grows: by one for each slot that is
    published, and for each change of one. `may_lack` is true if some memory may have no vector.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.pending_status: dict[int, int] = {}
        self.pending_updated: dict[int, int] = {}
        self.revived: list[int] = []
        self.purged: list[int] = []
        self._chunks: tuple[Chunk, ...] = (Chunk(dimension),)
        self._count = 0
        self._end = 0
        self._live_count = 0
        self.changed_count = 0
        self.expires_next_us = NEVER
        self.may_lack = False
        self.agents = Names()
        self.sessions = Names()
        self.threads = Names()
        self.categories = Names()
        self.life_stages = Names()
        self.namespaces = Names()
        self.names = (
            *(self.agents, self.sessions, self.threads),
            *(self.categories, self.life_stages, self.namespaces),
        )

    @property
    def end(self) -> int:
        """First slot not yet written. Writer only."""
        return self._end

    @property
    def live_count(self) -> int:
        """Published slots that are ACTIVE."""
        return self._live_count

    def view(self) -> View:
        """Return the published slots, for a reader."""
        # The count is read first: chunks only grow, so they hold at least that much.
        count = self._count
        return View(self._chunks, count)

    def writer_view(self) -> View:
        """Return all decided slots, committed or not. Writer only."""
        return View(self._chunks, self._end)

    def append(
        self,
        values: dict[str, Any],
        vector: NDArray[np.float32],
        tokens: NDArray[np.uint64],
    ) -> int:
        """Write one slot after the last and return it; readers do not see it yet."""
        return self.append_all([values], [vector], [tokens])

    def append_all(
        self,
        values: Sequence[dict[str, Any]],
        vectors: Sequence[NDArray[np.float32]],
        tokens: Sequence[NDArray[np.uint64]],
    ) -> int:
        """Write slots after the last, and return the first; readers do not see them yet.

        All have values of the same columns.
        """
        first, done = self._end, 0
        while done < len(values):
            number, at = divmod(self._end, CHUNK)
            if number == len(self._chunks):
                self._chunks = (*self._chunks, Chunk(self.dimension, first=False))
            chunk = self._chunks[number]
            part = values[done : done + CHUNK - at]
            for name, value in part[0].items():
                if len(part) == 1:  # most often, and three times as fast
                    chunk.put(name, at, value)
                else:
                    chunk.put_all(name, at, [own[name] for own in part])
            for own, vector in enumerate(vectors[done : done + len(part)], at):
                chunk.vectors[own] = vector
                # The first coordinate of a vector is nearly never 0.
                has_vector = bool(len(vector) and (vector[0] or vector.any()))
                chunk.vectored[own] = has_vector
                self.may_lack = self.may_lack or not has_vector
            for own, hashes in enumerate(tokens[done : done + len(part)], at):
                chunk.append_tokens(own, hashes)
            expires_us = min(row.get("expires", NEVER) for row in part)
            self.expires_next_us = min(self.expires_next_us, expires_us)
            done += len(part)
            self._end += len(part)
        return first

    def adopt(self, chunks: tuple[Chunk, ...], count: int) -> None:
        """Replace the one empty chunk by filled chunks, and publish their slots."""
        self._chunks, self._end = chunks, count
        for _, size, chunk in self.writer_view().parts():
            chunk.note_vectors(size)
        self.may_lack = not bool(self.writer_view().has_vectors().all())
        self.expires_next_us = NO_TIME
        self.publish()

    def beside(self, dimension: int) -> Arrays:
        """Return the same slots with zero vectors of another model; `follow` adds later slots."""
        made = copy.copy(self)
        made.dimension = dimension
        # They replace the others only once no memory lacks a vector.
        made.may_lack = False
        made.pending_status, made.pending_updated = {}, {}
        made.revived, made.purged = [], []
        made._chunks, made._count, made._end = (), 0, 0
        made.follow(self, len(self.revived))
        return made

    def follow(self, source: Arrays, revived_before: int) -> None:
        """Take over the slots that the source has published since.

        Slots that were revived there, after the first `revived_before` ones, are listed as revived
        here too.
        """
        # The count is read first, and the chunks once: they may grow meanwhile.
        count, chunks = source._count, source._chunks
        followed = [
            chunk.beside(own.vectors, own.vectored)
            for chunk, own in zip(chunks, self._chunks, strict=False)
        ]
        new = chunks[len(followed) :]
        self._chunks = (*followed, *(chunk.without_vectors(self.dimension) for chunk in new))
        self.revived += source.revived[revived_before + len(self.revived) :]
        self._count = self._end = count
        self._live_count = source._live_count
        self.expires_next_us = source.expires_next_us
        # For a holder of copies all of it is new.
        self.changed_count = source.changed_count + count

    def set_vectors(self, slots: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Fill slots that nobody reads yet, of arrays made by `beside`."""
        for number in np.unique(slots // CHUNK).tolist():
            where = slots // CHUNK == number
            chunk, rows = self._chunks[number], slots[where] - number * CHUNK
            chunk.vectors[rows], chunk.vectored[rows] = vectors[where], 1

    def set_dimension(self, dimension: int) -> None:
        """Give slots another dimension; none of them has a vector. Writer only.

        Readers keep their own chunks.
        """
        self._chunks = tuple(chunk.without_vectors(dimension) for chunk in self._chunks)
        self.dimension = dimension

    def set_replaced_by(self, slot: int, by: int) -> None:
        """Record the slot of a memory's next version, or `NEVER`. Writer only."""
        self._chunks[slot // CHUNK].put("replaced_by", slot % CHUNK, by)

    def empty(self, slot: int) -> None:
        """Overwrite the contents of a published slot, all but id and row. Writer only.

        A reader that still scores it finds nothing near; its status hides it from all others.
        """
        chunk, at = self._chunks[slot // CHUNK], slot % CHUNK
        chunk.vectors[at], chunk.vectored[at] = 0.0, 0
        chunk.tokens[chunk.indptr[at] : chunk.indptr[at + 1]] = 0
        for name in _EMPTIED:
            chunk.put(name, at, 0)
        for name in _TIMES_EMPTIED:
            chunk.put(name, at, NO_TIME)
        chunk.put("expires", at, NEVER)
        self.purged.append(slot)

    def truncate(self, end: int) -> None:
        """Remove slots that were written but not published."""
        assert self._count <= end <= self._end
        self._end = end

    def revive(self, slot: int) -> None:
        """Note that a forgotten slot counts again, so that its expiry does too. Writer only."""
        chunk, at = self._chunks[slot // CHUNK], slot % CHUNK
        self.expires_next_us = min(self.expires_next_us, int(chunk.columns["expires"][at]))

    def status(self, slot: int) -> int:
        """Return the status code that the writer sees."""
        pending = self.pending_status.get(slot)
        if pending is not None:
            return pending
        return int(self._chunks[slot // CHUNK].columns["status"][slot % CHUNK])

    def publish(self) -> None:
        """Publish all that was decided: new slots appear first, then old ones go."""
        first, self._count = self._count, self._end
        self.changed_count += self._count - first + len(self.pending_updated)
        active = STATUSES[Status.ACTIVE]
        live_count = self._live_count + self._active_from(first)
        for slot, status in self.pending_status.items():
            column, at = self._chunks[slot // CHUNK].columns["status"], slot % CHUNK
            live_count += int(status == active) - int(column[at] == active)
            if status == active and column[at] != active:
                self.revived.append(slot)
            column[at] = status
        self._live_count = live_count
        self.pending_status.clear()
        for slot, updated_us in self.pending_updated.items():
            self._chunks[slot // CHUNK].columns["updated"][slot % CHUNK] = updated_us
        self.pending_updated.clear()

    def _active_from(self, first: int) -> int:
        """Count ACTIVE slots from one on, by their columns."""
        count = 0
        for number in range(first // CHUNK, len(self._chunks)):
            base = number * CHUNK
            # `truncate` may have emptied the last chunk.
            where = slice(max(0, first - base), max(0, self._end - base))
            status = self._chunks[number].columns["status"][where]
            count += int(np.count_nonzero(status == STATUSES[Status.ACTIVE]))
        return count

    def unused_bytes(self) -> int:
        """Return how many of `nbytes` no slot has written to yet, and so take no memory."""
        chunks, end = self._chunks, self._end
        return chunks[-1].nbytes() * max(0, len(chunks) * CHUNK - end) // CHUNK

    def nbytes(self) -> int:
        """Bytes of all chunks."""
        return sum(chunk.nbytes() for chunk in self._chunks)
