"""The HNSW graph of a collection: nominates neighbours, never decides.

hnswlib 0.8 allows parallel searches but no add, save or resize beside them, loses labels with
`allow_replace_deleted`, never shrinks, raises when it finds fewer than k, and checks no input.
Hence: a readers-writer lock; slots as labels, which are never reused; own liveness masks; an error
makes the caller search exactly. Callers scan the slots that are not in the graph yet.

Nobody waits long for building. A graph that is new, or has too many dead elements, is built beside
the one that answers and then replaces it; one that only lacks a tail adds it slot by slot, each
under its own hold of the lock (0.3 to 0.4 ms at 50,000). While the collection is in use the builder
rests about as long as each step takes, so that it uses half a core at most.

The graph holds no whole vectors: of more than NARROW dimensions it keeps the half that carries most
of their length, along an orthonormal basis fitted to a sample, if that is KEPT_MIN of it or more.
Only nominations depend on it, so a search takes more of them, and callers decide among these by the
whole vectors. At 20,000 synthetic vectors of 384 dimensions the ten nearest are among them as often
as with whole vectors (0.9995 and 0.9990), for 768 bytes less each and about half of the CPU (0.20
and 0.36 ms to add, 0.43 and 0.66 to search). If what is added later lies elsewhere, the graph is
made again with another basis.

Vectors without structure defeat any such graph: of the ten nearest of 30,000 Gaussian vectors it
finds four, and a search wide enough to find nearly all costs more than reading every vector. So the
graph is rated: with stored vectors when it is new, with recent queries from then on. While it finds
too few, Recall searches exactly.

Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
Hierarchical Navigable Small World graphs" (2016).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import hnswlib
import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.records import Status
from totonoe_core.index.arrays import STATUSES, Arrays, View
from totonoe_core.index.hnsw_file import ReadGraph

FROM_COUNT = 16_384
"""Number of live memories from which on the graph is worth its cost.

Below, reading all of them (1.2 ms at most) costs less than adding one to the graph and finding its
neighbours there.
"""

NARROW = 128
"""Dimensions that the graph keeps in any case."""
M = 16
EF_CONSTRUCTION = 100
EF_MIN = 96
_SEED = 20_240_701
KEPT_MIN = 0.85
"""Least mean squared length along the basis, else the graph keeps whole vectors. Sentence vectors
keep 0.94 (512 dimensions of the bundled model); vectors without direction keep half to two thirds,
and half of their nearest would be lost."""
_SAMPLE = 4096  # vectors that the basis is fitted to
_PART = 128  # slots added to an unread graph between two checks of `stop`
_ADDING_S, _READING_S = 4e-4, 7e-8  # of adding a slot; of reading a row of 384 dimensions
_MORE = 32  # nominated beside half more than are asked for
_TAIL_MIN = 1024
_DEAD_SHARE_MAX = 0.3
_DRIFT = 0.1  # of the mean squared length
_REVIVED_MAX = 1024
_CATCH_UPS_MAX = 4
_SPARE_SHARE = 0.25  # spare capacity: some 50 bytes each until it is used

RATED_K = 10
"""The k of `Graph.recall_at_k`."""
_RATED_QUERIES = 16
_RATED_PER_SEARCHES = 1 / 16
"""Searches between two ratings, as a share of the elements: 16 exact answers then cost 18 us for
each search, whatever the size."""
_RATED_KEPT = 256
RECALL_MIN = 0.95
"""Below it Recall searches exactly..."""
RECALL_AGAIN = 0.97
"""...until the graph's share is this much."""
_RATED_AT_FIRST = 16
"""Stored vectors that rate a new graph, if it finds `RECALL_AGAIN` of their nearest; 10 ms each at
100,000."""
_DECIDING = 64
"""Ratings that decide otherwise. Their mean is known to 0.01."""


def parameters() -> dict[str, str | int]:
    """Return the parameters that the file of a graph depends on."""
    return {
        "library": metadata.version("hnswlib"),
        "m": M,
        "ef_construction": EF_CONSTRUCTION,
        "narrow": NARROW,
    }


def _narrowed(dimension: int) -> int:
    """Return the number of dimensions that the graph keeps of vectors that have directions."""
    return dimension if dimension <= NARROW else max(NARROW, dimension // 2)


def _sampled(slots: NDArray[np.int64]) -> NDArray[np.int64]:
    return slots[:: max(1, len(slots) // _SAMPLE)][:_SAMPLE]


def _basis_of(arrays: Arrays, slots: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return orthonormal rows, float32[width, dim], along which some vectors are longest.

    It has no rows if too little of their length lies along any so few.
    """
    sample, width = arrays.view().vectors(_sampled(slots)), _narrowed(arrays.dimension)
    squares, directions = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    if width == arrays.dimension or squares[::-1][:width].sum() < KEPT_MIN * squares.sum():
        return np.zeros((0, arrays.dimension), np.float32)
    return np.ascontiguousarray(directions[:, ::-1][:, :width].T, np.float32)


@dataclass(frozen=True, slots=True)
class SavedGraph:
    """Size of a graph's file, and the present slots of its labels.

    `slots int64[end]`: by label, -1 for a slot that is gone; slots below `indexed` are in the graph
    if they were live when it added them. `basis float32[width, dim]` is that of its elements; it
    has no rows if they are whole vectors.
    """

    bytes: int
    slots: NDArray[np.int64]
    indexed: int
    basis: NDArray[np.float32]


class _Labels:
    """Labels of a graph.

    They are its slots. If it was saved under other slot numbers, they are the old numbers, and
    after them the slots that were added since.
    """

    def __init__(self, slots: NDArray[np.int64] | None = None, indexed: int = 0) -> None:
        self._slots = np.zeros(0, np.int64) if slots is None else slots
        self._shift = len(self._slots) - indexed
        self._indexed = indexed

    def slots(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the slots of labels, -1 for slots that are gone."""
        if not len(self._slots):
            return labels
        saved = labels < len(self._slots)
        return np.where(saved, self._slots[np.where(saved, labels, 0)], labels - self._shift)

    def of(self, slot: int) -> int:
        """Return the label of a slot that is in the graph, or after all that are."""
        if slot >= self._indexed:
            return slot + self._shift
        return int(np.flatnonzero(self._slots == slot)[0])

    def all(self, indexed: int) -> NDArray[np.int64]:
        """Return slots by label; those below `indexed` were added."""
        return np.concatenate([self._slots, np.arange(self._indexed, indexed)])


class ReadersWriterLock:
    """Many readers or one writer; a waiting writer holds new readers back."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers = 0
        self._writing = False
        self._waiting = 0

    @contextmanager
    def reading(self, prepare: Callable[[bool], None] | None = None) -> Iterator[None]:
        """Hold the lock shared. `prepare(alone)` is called before anybody may read."""
        with self._condition:
            while self._writing or self._waiting:
                self._condition.wait()
            if prepare is not None:
                prepare(self._readers == 0)
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock exclusively."""
        with self._condition:
            self._waiting += 1
            while self._writing or self._readers:
                self._condition.wait()
            self._waiting -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._condition:
                self._writing = False
                self._condition.notify_all()


class Graph:
    """Graph over the slots below `indexed`. One maintaining thread, any searching ones."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self._lock = ReadersWriterLock()
        self._index: hnswlib.Index | None = None
        self._indexed = 0
        self._count = 0
        self._ef = 0
        self._basis = np.zeros((0, arrays.dimension), np.float32)
        # Mean squared length that the basis keeps: of its sample, and of what was added since.
        self._kept = self._kept_since = 0.0
        self._since = 0
        self._revived_before = 0
        self._emptied = 0
        self._labels = _Labels()
        self._expected: Callable[[], ReadGraph | None] | None = None
        # Number of searches; a race may lose a count.
        self._asked = 0
        self._rated_at = 0
        self._in_use: tuple[int, int] = (0, 0)
        self._queries: deque[NDArray[np.float32]] = deque(maxlen=_RATED_QUERIES)
        self._shares: deque[float] = deque(maxlen=_RATED_KEPT)
        self._recall_low = False

    @property
    def indexed(self) -> int:
        """Slots below this are in the graph if they were live, with a vector, at that time."""
        return self._indexed

    def nbytes(self) -> int:
        """Bytes of the graph, with its spare room."""
        index = self._index
        return 0 if index is None else int(index.max_elements) * self.row_bytes

    @property
    def row_bytes(self) -> int:
        """Bytes for each element: what it keeps of its vector, its links and its label.

        Links above the lowest level, a thirtieth of the others, are left out.
        """
        return 4 * self._width + 4 * (2 * M + 1) + 8

    @property
    def _width(self) -> int:
        return len(self._basis) or self.arrays.dimension

    @property
    def count(self) -> int:
        """Elements of the graph, dead ones included; 0 if there is no graph."""
        return self._count

    def revived(self) -> NDArray[np.int64]:
        """Return slots that were revived and may not be in the graph. Writer only."""
        return np.array(self.arrays.revived[self._revived_before :], np.int64)

    def recall_at_k(self) -> tuple[float, int]:
        """Return the recall of the `RATED_K` nearest in the graph, and the number of queries.

        They are vectors that were stored when it was made, and recent queries; (0.0, 0) if nothing
        was compared yet.
        """
        shares = tuple(self._shares)
        return (float(np.mean(shares)) if shares else 0.0), len(shares)

    @property
    def recall_low(self) -> bool:
        """True while the graph finds too few, so that Recall has to search exactly."""
        return self._recall_low

    def sampled_recall(self, sample_count: int, stop: threading.Event) -> tuple[float, int]:
        """Measure the recall now, with evenly drawn vectors of live slots as queries.

        The result is slightly too good: among a vector's nearest, itself is certainly found.
        """
        shares = self._shares_of_stored(sample_count, stop)
        return (float(np.mean(shares)) if shares else 0.0), len(shares)

    def search(
        self, query: NDArray[np.float32], k: int, ef: int | None = None
    ) -> tuple[NDArray[np.int64], int] | None:
        """Return slots among which the k nearest should be, and the first slot not in the graph.

        More than k, in no useful order, and revived slots that may not be in the graph; the caller
        scans those not in it. `None` if there is no graph or it cannot answer: search exactly.

        Parameters
        ----------
        ef : int or None
            hnswlib's number of candidates: it sets cost and recall of a search. It may be higher
            than given while other searches run. `None`: it grows with the graph, and there is no
            answer while `recall_low`; a caller that names it takes what the graph finds.
        """
        self._asked += 1
        if self._count and self._asked % max(1, self._rated_every() // _RATED_QUERIES) == 0:
            self._queries.append(query)
        if self._recall_low and ef is None:
            return None
        with self._lock.reading(lambda alone: self._set_ef(ef or self._ef_for(k), alone)):
            slots = self._nominated(query, k)
            if slots is None:
                return None
            revived = self.arrays.revived[self._revived_before :]
            if revived:
                back = np.array(revived, np.int64)
                slots = np.concatenate([slots, back[~np.isin(back, slots)]])
            return slots, self._indexed

    def _ef_for(self, k: int) -> int:
        return max(EF_MIN, 2 * k, int(12 * np.log2(self._count + 1)))

    def _set_ef(self, ef: int, alone: bool) -> None:
        """Set the graph's ef, shared by all searches: raised by any, lowered by a lone search."""
        if self._index is not None and (alone or ef > self._ef):
            self._index.set_ef(ef)
            self._ef = ef

    def _nominated(self, query: NDArray[np.float32], k: int) -> NDArray[np.int64] | None:
        """Return slots among which the k nearest should be. The caller holds the lock."""
        if len(self._basis):
            query, k = self._basis @ query, k + k // 2 + _MORE
        # One row at a time and k clamped: each exception of hnswlib leaks its buffers.
        k = min(k, self._count)
        if self._index is None or k == 0:
            return None
        try:
            labels, _ = self._index.knn_query(query, k=k, num_threads=1)
        except RuntimeError:
            return None
        slots = self._labels.slots(labels[0].astype(np.int64))
        return slots[slots >= 0]

    def due(self) -> bool:
        """Return whether `maintain` has work. Cheap: called on every write."""
        if self._index is None:
            enough = self.arrays.live_count >= FROM_COUNT and self.arrays.dimension > 0
            return self._expected is not None or enough
        if len(self.arrays.purged) > self._emptied:
            return True
        tail = self.arrays.view().count - self._indexed
        return tail > max(_TAIL_MIN, self._count // 50) or self._worn() or self._rating_due()

    def maintain(self, stop: threading.Event) -> None:
        """Add the tail, or rebuild when too much is dead; sometimes rate answers."""
        before = self._index
        if self._expected is not None:
            self._take_saved(self._expected)
            self._expected = None
        if self._index is None or self._worn():
            self._rebuild(stop)
        if self._index is not before:
            self._rate_new(stop)
        if self._index is not None:
            self._append(self._index, stop)
        self._empty(self._index, stop)
        if self._rating_due():
            self._rate(stop)

    @property
    def awaited(self) -> bool:
        """True if a saved graph is to be adopted, and was not yet."""
        return self._expected is not None

    def expect(self, saved: Callable[[], ReadGraph | None]) -> None:
        """Let `maintain` adopt a saved graph, if `saved` returns one, instead of building it.

        `arrays.revived` has all slots that were revived since, or before and that the graph lacks.
        """
        self._expected = saved

    def _take_saved(self, read: Callable[[], ReadGraph | None]) -> None:
        saved = read()
        if saved is None:
            return
        count = saved.state["cur_element_count"]
        room = _with_spare(max(count, self.arrays.view().count))
        index = hnswlib.Index.__new__(hnswlib.Index)
        # Copies with the GIL held: 0.1 s for 100,000.
        index.__setstate__(({**saved.state, "max_elements": room},))
        with self._lock.writing():
            self._index, self._indexed, self._ef = index, saved.indexed, 0
            self._count, self._basis = count, saved.basis
            self._labels = _Labels(saved.slots, saved.indexed)
            self._recall_low = True
        self._note_fit(saved.slots[saved.slots >= 0])

    def _note_fit(self, slots: NDArray[np.int64]) -> None:
        """Note how much of some vectors the basis keeps."""
        sample = self.arrays.view().vectors(_sampled(slots))
        self._kept = float(np.square(_along(self._basis, sample)).sum()) / max(1, len(sample))
        self._kept_since, self._since = 0.0, 0

    def save(self, path: Path) -> SavedGraph | None:
        """Write the graph to a file, under its present slots; `None` if there is none to write.

        The caller must check that the file is complete: the library does not report a full disk.
        The GIL is held (0.1 s for 100,000).
        """
        with self._lock.reading():
            if self._index is None or not self._count:
                return None
            if len(self.arrays.purged) > self._emptied:
                return None
            self._index.save_index(str(path))
            size, indexed = self._index.index_file_size(), self._indexed
            return SavedGraph(size, self._labels.all(indexed), indexed, self._basis)

    def _rebuild(self, stop: threading.Event) -> None:
        if self.arrays.live_count < FROM_COUNT:
            with self._lock.writing():
                self._index, self._indexed, self._count = None, 0, 0
                self._labels, self._recall_low = _Labels(), False
            self._shares.clear()
            return
        revived_before = len(self.arrays.revived)
        basis = _basis_of(self.arrays, self._live_slots(self.arrays.view(), 0))
        width = len(basis) or self.arrays.dimension
        index, indexed, count = hnswlib.Index(space="ip", dim=width), 0, 0
        index.init_index(_with_spare(self.arrays.live_count), M, EF_CONSTRUCTION, random_seed=_SEED)
        # Slots published meanwhile are added here too, while nobody waits.
        for _ in range(_CATCH_UPS_MAX):
            view = self.arrays.view()
            slots = self._live_slots(view, indexed)
            if count + len(slots) > index.max_elements:
                index.resize_index(_with_spare(count + len(slots)))
            for start in range(0, len(slots), _PART):
                if stop.is_set():
                    return
                part = slots[start : start + _PART]
                index.add_items(_along(basis, view.vectors(part)), part, num_threads=1)
                self._rest(len(part) * _ADDING_S, stop)
            indexed, count = view.count, count + len(slots)
            if self.arrays.view().count - indexed <= _TAIL_MIN:
                break
        with self._lock.writing():
            self._index, self._indexed, self._count, self._ef = index, indexed, count, 0
            self._revived_before, self._labels = revived_before, _Labels()
            self._basis, self._recall_low = basis, True
        self._note_fit(self._live_slots(view, 0))

    def _append(self, index: hnswlib.Index, stop: threading.Event) -> None:
        view = self.arrays.view()
        slots = self._live_slots(view, self._indexed)
        if self._count + len(slots) > index.max_elements:
            # The system moves pages, not bytes: 1 ms at 50,000 elements.
            with self._lock.writing():
                index.resize_index(_with_spare(self._count + len(slots)))
        for place in range(len(slots)):
            if stop.is_set():
                return
            one = slots[place : place + 1]
            vector = _along(self._basis, view.vectors(one))
            with self._lock.writing():
                index.add_items(vector, [self._labels.of(int(one[0]))], num_threads=1)
                self._indexed, self._count = int(one[0]) + 1, self._count + 1
            self._kept_since += float(np.square(vector).sum())
            self._since += 1
            self._rest(_ADDING_S, stop)
        self._indexed = view.count

    def _empty(self, index: hnswlib.Index | None, stop: threading.Event) -> None:
        """Overwrite the graph's copies of purged vectors, one by one; no search returns them."""
        purged = self.arrays.purged[self._emptied :]
        if not purged:
            return
        # These may be copies of purged vectors.
        self._queries.clear()
        ids = [] if index is None else index.get_ids_list()
        held = set(self._labels.slots(np.array(ids, np.int64)).tolist())
        nothing = np.zeros((1, self._width), np.float32)
        for slot in purged:
            if stop.is_set():
                return
            if index is not None and slot in held:
                with self._lock.writing():
                    index.add_items(nothing, [self._labels.of(slot)], num_threads=1)
                self._rest(_ADDING_S, stop)
            self._emptied += 1

    def _rest(self, step_s: float, stop: threading.Event) -> None:
        """Rest as long as a step takes, if anybody wrote or searched since the last one."""
        in_use = (self._asked, self.arrays.end)
        if in_use != self._in_use:
            self._in_use = in_use
            stop.wait(step_s)

    def _rated_every(self) -> int:
        return max(_RATED_QUERIES, int(_RATED_PER_SEARCHES * self._count))

    def _rating_due(self) -> bool:
        return (
            len(self._queries) == _RATED_QUERIES
            and self._asked - self._rated_at >= self._rated_every()
        )

    def _rate_new(self, stop: threading.Event) -> None:
        """Rate a new graph with stored vectors; until then it answers no Recall."""
        shares: list[float] = []
        for count in (_RATED_AT_FIRST, _DECIDING):
            shares = self._shares_of_stored(count, stop)
            if not shares or np.mean(shares) >= RECALL_AGAIN:
                break
        self._shares.clear()
        self._shares.extend(shares)
        self._recall_low = bool(shares) and float(np.mean(shares)) < RECALL_MIN

    def _rate(self, stop: threading.Event) -> None:
        """Compare answers to recent queries with exact ones, and decide who answers from now on."""
        self._rated_at = self._asked
        view, indexed = self.arrays.view(), self._indexed
        dead = np.ones(view.count, np.bool_)
        dead[self._live_slots(view, 0, indexed)] = False
        for query in list(self._queries):
            if stop.is_set():
                return
            share = self._share_found(view, query, dead)
            if share is not None:
                self._shares.append(share)
            self._rest(view.count * _READING_S, stop)
        recent = tuple(self._shares)[-_DECIDING:]
        if len(recent) == _DECIDING:
            enough = RECALL_AGAIN if self._recall_low else RECALL_MIN
            self._recall_low = float(np.mean(recent)) < enough

    def _shares_of_stored(self, count: int, stop: threading.Event) -> list[float]:
        """Return the shares found for evenly drawn vectors of live slots, at most so many."""
        view = self.arrays.view()
        live = self._live_slots(view, 0, self._indexed)
        if not self._count or not len(live):
            return []
        dead = np.ones(view.count, np.bool_)
        dead[live] = False
        shares = []
        for slot in live[:: max(1, len(live) // count)][:count]:
            if stop.is_set():
                break
            share = self._share_found(view, view.vectors(np.array([slot]))[0], dead)
            if share is not None:
                shares.append(share)
            self._rest(view.count * _READING_S, stop)
        return shares

    def _share_found(
        self, view: View, query: NDArray[np.float32], dead: NDArray[np.bool_]
    ) -> float | None:
        """Return the share of the nearest live slots in the graph that it finds for a query."""
        with self._lock.reading(lambda alone: self._set_ef(self._ef_for(4 * RATED_K), alone)):
            labels = self._nominated(query, 4 * RATED_K)
        if labels is None:
            return None
        similarity = np.empty(view.count, np.float32)
        for base, size, chunk in view.parts():
            np.dot(chunk.vectors[:size], query, out=similarity[base : base + size])
        similarity[dead] = -2.0
        k = min(RATED_K, view.count - int(np.count_nonzero(dead)))
        labels = labels[labels < view.count]
        labels = labels[~dead[labels]]
        if k == 0:
            return None
        labels = labels[np.argsort(-similarity[labels])[:k]]
        # Compared by similarity, not by slot: any of several equal copies counts.
        least = np.partition(similarity, len(similarity) - k)[len(similarity) - k]
        return int(np.count_nonzero(similarity[labels] >= least - np.float32(1e-6))) / k

    def _live_slots(self, view: View, start: int, end: int | None = None) -> NDArray[np.int64]:
        """Return slots that belong into the graph: live, and with a vector."""
        live = (view.column("status") == STATUSES[Status.ACTIVE]) & view.has_vectors()
        return np.flatnonzero(live[start:end]).astype(np.int64) + start

    def _drifted(self) -> bool:
        """Return whether the basis keeps far less of the newest fifth than of its sample."""
        if self._since < max(_TAIL_MIN, self._count // 5) or not len(self._basis):
            return False
        return self._kept_since / self._since < self._kept - _DRIFT

    def _worn(self) -> bool:
        """Return whether too much is dead, or revived and scanned by every search."""
        if len(self.arrays.revived) - self._revived_before > _REVIVED_MAX or self._drifted():
            return True
        # Counts the whole tail as live first; only if that leaves doubt are live slots counted.
        view = self.arrays.view()
        tail = view.count - self._indexed
        if not self._count:
            return False
        if 1.0 - (self.arrays.live_count - tail) / self._count <= _DEAD_SHARE_MAX:
            return False
        live = len(self._live_slots(view, 0, self._indexed))
        return 1.0 - live / self._count > _DEAD_SHARE_MAX


def _along(basis: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what the graph keeps of vectors: float32[n, width]."""
    return vectors @ basis.T if len(basis) else vectors


def _with_spare(count: int) -> int:
    return count + max(FROM_COUNT // 4, int(_SPARE_SHARE * count))
