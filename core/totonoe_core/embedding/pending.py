"""Queue of texts that wait for the embedder, and cache of recent vectors. The owner holds the lock.

**Order.** Texts are cut into chunks, and chunks are taken by their tag, lowest first, the earlier
arrival on a tie. The tag of a chunk is the number of characters that this queue had handed out when
its text arrived, plus the characters of the same text before the chunk. So short texts go in the
order of arrival. The later chunks of a long text let texts pass that arrive before that much work
was done, and no later ones: each chunk handed out raises the tags of all later arrivals, so that
nobody waits for ever. (The idea is start-time fair queueing, Goyal, Vin and Cheng 1996, with the
work done as the virtual time.)

**Turns.** The texts of one flow (`totonoe_core.base.turn`) come one after the other: the tag of the
next begins after the first chunk of the one before. So another caller's request waits for one text
of a long list, and not for all.

**Equal texts** that wait at the same time are embedded once.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from totonoe_core.base import errors, limits
from totonoe_core.base.turn import Turn
from totonoe_core.embedding.chunking import chunks
from totonoe_core.embedding.protocol import Vectors
from totonoe_core.embedding.vectors import mean_of_chunks

_FLOWS_KEPT = 1024
"""Flows whose next tags are kept, before past ones are dropped; the others have work."""
Settled = tuple["Future[Vectors]", "list[Vectors] | errors.TotonoeError"]
"""A future and its result, rows or an error; the owner completes it without its lock."""


@dataclass(slots=True, eq=False)
class Request:
    """One call of `submit`: its future and the rows found so far."""

    future: Future[Vectors]
    rows: list[Vectors | None]
    missing: int
    settled: bool = False

    @property
    def over(self) -> bool:
        """True once answered, failed or cancelled: no work is left for it."""
        return self.settled or self.future.cancelled()

    def outcome(self, error: errors.TotonoeError | None = None) -> Settled:
        """Return the future with its result; call once."""
        assert not self.settled
        self.settled = True
        return self.future, error or [row for row in self.rows if row is not None]


@dataclass(slots=True, eq=False)
class _Text:
    """A text in work, with all requests that wait for it."""

    key: bytes
    chunks: list[str]
    vectors: list[Vectors | None]
    missing: int
    waiting: list[tuple[Request, int]] = field(default_factory=list)
    over: bool = False


@dataclass(slots=True, eq=False)
class Piece:
    """One chunk on its way to the model."""

    text: _Text
    index: int

    @property
    def chunk(self) -> str:
        """The characters to embed."""
        return self.text.chunks[self.index]


def settle(settled: Iterable[Settled]) -> None:
    """Complete futures. Cancelled ones are skipped. Runs their callbacks: hold no lock."""
    for future, outcome in settled:
        if not future.set_running_or_notify_cancel():
            continue
        if isinstance(outcome, errors.TotonoeError):
            future.set_exception(outcome)
        else:
            future.set_result(np.stack(outcome))


def text_key(text: str) -> bytes:
    """Return the key of equal texts; different texts share one with a chance of 2^-128.

    Raises
    ------
    UnicodeEncodeError
        The text holds a lone surrogate.
    """
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


class Pending:
    """Queue and cache. Not thread-safe.

    Parameters
    ----------
    queue_texts_max : int
        Texts waiting or under way, each counted for every request that waits for it.
    cache_texts_max : int
        Vectors remembered, the least recently used dropped first. 0 for none.
    """

    def __init__(self, *, queue_texts_max: int, cache_texts_max: int) -> None:
        self._queue_texts_max = queue_texts_max
        self._cache_texts_max = cache_texts_max
        self._cache: OrderedDict[bytes, Vectors] = OrderedDict()
        self._texts: dict[bytes, _Text] = {}
        self._heap: list[tuple[int, int, Piece]] = []
        self._handed_out_chars = 0
        self._arrivals = 0
        self._nexts: dict[Turn, int] = {}
        self.waiting_count = 0
        self.cache_hits = 0

    def lookup(self, keys: Sequence[bytes]) -> Request:
        """Make a request for the texts of these keys, with the rows that the cache has."""
        rows = [self._cache.get(key) for key in keys]
        for key, row in zip(keys, rows, strict=True):
            if row is not None:
                self._cache.move_to_end(key)
        missing = sum(row is None for row in rows)
        self.cache_hits += len(rows) - missing
        return Request(Future(), rows, missing)

    def forget_cached(self) -> None:
        """Drop the cached vectors."""
        self._cache.clear()

    def has_room(self, request: Request) -> bool:
        """Return whether the missing texts of a request fit into the queue."""
        return self.waiting_count + request.missing <= self._queue_texts_max

    def add(
        self,
        request: Request,
        texts: Sequence[str],
        keys: Sequence[bytes],
        turn: Turn = ("", ""),
    ) -> None:
        """Queue the texts that `lookup` did not find. Room was checked before."""
        for row, (text, key) in enumerate(zip(texts, keys, strict=True)):
            if request.rows[row] is not None:
                continue
            entry = self._texts.get(key)
            if entry is None:
                entry = self._queue(key, text, turn)
            entry.waiting.append((request, row))
            self.waiting_count += 1

    def has_work(self) -> bool:
        """Return whether `take` would return work; drop texts that no request waits for."""
        while self._heap and self._unwanted(self._heap[0][2].text):
            heapq.heappop(self._heap)
        return bool(self._heap)

    def take(self) -> list[Piece]:
        """Take the next batch, of at most EMBED_BATCH_TEXTS_MAX chunks and EMBED_BATCH_CHARS_MAX.

        Returns
        -------
        list of Piece
            Empty only if nothing waits.
        """
        batch: list[Piece] = []
        chars = 0
        while self.has_work() and len(batch) < limits.EMBED_BATCH_TEXTS_MAX:
            piece = self._heap[0][2]
            chars += len(piece.chunk)
            if batch and chars > limits.EMBED_BATCH_CHARS_MAX:
                break
            heapq.heappop(self._heap)
            # An empty text counts as work too, so that the count grows and nobody waits for ever.
            self._handed_out_chars += max(1, len(piece.chunk))
            batch.append(piece)
        return batch

    def deliver(
        self, batch: Sequence[Piece], vectors: Vectors, refused: Mapping[int, errors.TotonoeError]
    ) -> list[Settled]:
        """Store the vectors of a batch.

        Parameters
        ----------
        batch : sequence of Piece
            From `take`.
        vectors : float32[n, dim]
            Row i belongs to `batch[i]`.
        refused : mapping of int to error
            Rows without a vector.

        Returns
        -------
        list of Settled
            Completed requests, to be passed to `settle`.
        """
        settled: list[Settled] = []
        for i, piece in enumerate(batch):
            text = piece.text
            if text.over:
                continue
            if i in refused:
                settled += self._fail(text, refused[i])
                continue
            text.vectors[piece.index] = vectors[i]
            text.missing -= 1
            if not text.missing:
                settled += self._finish(text)
        return settled

    def fail(self, batch: Iterable[Piece], error: errors.TotonoeError) -> list[Settled]:
        """Fail the texts of a batch, with all their chunks."""
        settled: list[Settled] = []
        for piece in batch:
            if not piece.text.over:
                settled += self._fail(piece.text, error)
        return settled

    def fail_all(self, error: errors.TotonoeError) -> list[Settled]:
        """Fail everything that waits or is in work."""
        settled: list[Settled] = []
        for text in list(self._texts.values()):
            settled += self._fail(text, error)
        self._heap.clear()
        return settled

    def _queue(self, key: bytes, text: str, turn: Turn) -> _Text:
        parts = chunks(text)
        entry = _Text(key, parts, [None] * len(parts), len(parts))
        self._texts[key] = entry
        done = self._handed_out_chars
        tag = max(done, self._nexts.get(turn, 0))
        self._nexts[turn] = tag + len(parts[0])
        if len(self._nexts) > _FLOWS_KEPT:
            self._nexts = {flow: tag for flow, tag in self._nexts.items() if tag > done}
        for index, part in enumerate(parts):
            heapq.heappush(self._heap, (tag, self._arrivals, Piece(entry, index)))
            self._arrivals += 1
            tag += len(part)
        return entry

    def _unwanted(self, text: _Text) -> bool:
        if not text.over and all(request.over for request, _ in text.waiting):
            self._close(text)
        return text.over

    def _close(self, text: _Text) -> None:
        text.over = True
        self.waiting_count -= len(text.waiting)
        del self._texts[text.key]

    def _finish(self, text: _Text) -> list[Settled]:
        self._close(text)
        parts = [vector for vector in text.vectors if vector is not None]
        # A copy: a row of a batch would keep the whole batch in memory.
        vector = np.array(mean_of_chunks(np.stack(parts), text.chunks))
        vector.flags.writeable = False
        if self._cache_texts_max:
            self._cache[text.key] = vector
            if len(self._cache) > self._cache_texts_max:
                self._cache.popitem(last=False)
        settled: list[Settled] = []
        for request, row in text.waiting:
            request.rows[row] = vector
            request.missing -= 1
            if not request.missing and not request.over:
                settled.append(request.outcome())
        return settled

    def _fail(self, text: _Text, error: errors.TotonoeError) -> list[Settled]:
        self._close(text)
        # Asked again each time: the same request may wait with several rows.
        return [request.outcome(error) for request, _ in text.waiting if not request.over]
