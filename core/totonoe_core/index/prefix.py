"""Exact threshold scan that rules out most slots without reading their whole vectors.

It uses an orthonormal basis of 64 directions, the first of which carry most of the vectors' length.
Each row keeps its coordinates x_p there and the length of the rest, |x_r|. With the query split in
the same way, x.q = x_p.q_p + x_r.q_r, and by Cauchy and Schwarz

    x.q <= x_p.q_p + |x_r| |q_r|

so a row whose right side is below the threshold cannot reach it, and is not read. Rows are checked
along 32 directions, the remaining ones along 64, and the rest in full.

Why the answer is that of a full scan
-------------------------------------
The bound holds for *any* orthonormal basis and any rows. The basis is fitted to a sample
(leading directions of the uncentred second moments), and a poor one, because the sample was
unlucky or the rows drifted since, rules out fewer rows and changes no answer.

Arithmetic: x_r is *defined* as x - B^T x_p, with the basis B and the coordinates x_p as they
are stored in float32, and its length is summed from this difference in float64 and rounded up.
So x = B^T x_p + x_r holds for the stored numbers, and what the bound neglects is

    |x_p.(B B^T - I) q_p| + |x_p.B q_r| + |B x_r.q_p|

Rounding B to float32 turns |B B^T - I| into at most 2 * 8 * 2^-24 < 1e-6 (64 rows of unit
norm), rounding x_p adds 2^-24 to |B x_r|, so the three are below 4e-6 for rows of unit norm;
the kernel's sum of 64 products errs by less than 64 * 2^-24 < 4e-6. SLACK = 1e-5 covers both,
and is what the float32 similarity of a row (error below 1e-6) may differ by too. The caller
decides with `similarity64`.

100,000 rows of 512 dimensions (vectors of 22,000 texts, and mixtures of two of them) cost 1.4 ms
of one thread at a similarity of 0.95 and 2.3 ms at 0.85, where tens of rows are read in full; all
of them cost 10 ms. From 0.7 down the scan is no faster than that.

A fit is published by one assignment and never changes, but for rows behind `built`, which
nobody reads. Slots from `built` on are scanned plainly. One maintaining thread, any scanning
ones.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core.index import arrays
from totonoe_core.index.arrays import Arrays, Chunk, View
from totonoe_core.kernels.cosine import scan_at_least
from totonoe_core.kernels.prefix import LEAD, WIDTH, keep_reaching, scan_reaching, split_rows

SLACK = 1e-5
"""Bound on the float32 error of a similarity; measured 7.3e-7 at 384 dimensions."""

FROM_COUNT = 4096
"""Slots from which on a fit is worth its memory; below, a plain scan costs 0.3 ms."""
SAMPLE_MAX = 20_000
_SAMPLE_VALUES_MAX = 2**24  # 64 MiB, whatever the dimension
_TAIL_MIN = 512
_TAIL_SHARE = 0.01
_REFIT_GROWTH = 2.0
_MANY_FROM = 4
"""Number of queries from which on a matrix product is cheaper than a scan for each."""
_PRODUCTS_MAX = 2**15  # rows times queries of one product: 128 KiB, which stay in the cache
_STEP = 512  # rows split between two checks of `stop`: a few ms
_SEED = 20_240_702
_OVERSAMPLE = 8
_ROUNDS = 3

Float32 = NDArray[np.float32]
Reaching = tuple[NDArray[np.int64], Float32]
Pairs = tuple[NDArray[np.int32], NDArray[np.int64], Float32]  # query, row, similarity


class Part:
    """Coordinates and residuals of one chunk's rows."""

    __slots__ = ("lead", "lead_residual", "residual", "rest")

    def __init__(self, rows: int) -> None:
        self.lead = np.zeros((rows, LEAD), np.float32)
        self.rest = np.zeros((rows, LEAD), np.float32)
        self.lead_residual = np.zeros(rows, np.float32)
        self.residual = np.zeros(rows, np.float32)

    def split(self, vectors: Float32, basis: Float32, start: int, end: int) -> None:
        """Split some rows of a chunk."""
        where = slice(start, end)
        split_rows(
            vectors[where],
            basis,
            self.lead[where],
            self.rest[where],
            self.lead_residual[where],
            self.residual[where],
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """A basis and the parts split by it.

    It also holds the first slot that the parts do not cover, and the number of slots when it was
    fitted.
    """

    basis: Float32
    parts: tuple[Part, ...]
    built: int
    fitted_count: int


_UNFITTED = Fit(np.zeros((WIDTH, 0), np.float32), (), 0, 0)


class Prefix:
    """Rotated prefixes of the slots below `built`. See the module's text."""

    row_bytes = 4 * (WIDTH + 2)
    """Bytes for each slot that is split."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self._fit: Fit | None = None
        self._emptied = 0

    @property
    def fit(self) -> Fit:
        """The fit that scans use now."""
        return self._fit or _UNFITTED

    def adopt(self, fit: Fit) -> None:
        """Adopt an earlier fit of the same slots."""
        self._fit = fit

    @property
    def built(self) -> int:
        """First slot that needs a plain scan; 0 if there is no fit yet."""
        fit = self._fit
        return 0 if fit is None else fit.built

    def nbytes(self) -> int:
        """Bytes of the coordinates."""
        fit = self._fit
        return 0 if fit is None else sum(len(part.lead) for part in fit.parts) * self.row_bytes

    def due(self) -> bool:
        """Return whether `maintain` has work."""
        count, fit = self.arrays.view().count, self._fit
        if fit is None:
            return count >= FROM_COUNT and self.arrays.dimension > 0
        if len(self.arrays.purged) > self._emptied:
            return True
        return _outgrown(fit, count) or count - fit.built > max(
            _TAIL_MIN, int(_TAIL_SHARE * fit.built)
        )

    def maintain(self, stop: threading.Event) -> None:
        """Split the tail; fit anew if there is no fit, or one of a far smaller collection.

        Scans go on meanwhile with the old fit.
        """
        view, fit = self.arrays.view(), self._fit
        if fit is None or _outgrown(fit, view.count):
            fit = Fit(_fitted(view), (), 0, view.count)
        parts = list(fit.parts)
        for number, (base, size, chunk) in enumerate(view.parts()):
            if number == len(parts):
                parts.append(Part(len(chunk.vectors)))
            for start in range(max(0, fit.built - base), size, _STEP):
                if stop.is_set():
                    return
                end = min(size, start + _STEP)
                parts[number].split(chunk.vectors, fit.basis, start, end)
        purged = len(self.arrays.purged)
        for slot in self.arrays.purged[self._emptied :]:
            # Its vector is zero now, so that this overwrites its coordinates.
            if slot < view.count:
                at = slot % arrays.CHUNK
                part, chunk = parts[slot // arrays.CHUNK], view.chunks[slot // arrays.CHUNK]
                part.split(chunk.vectors, fit.basis, at, at + 1)
        self._fit = replace(fit, parts=tuple(parts), built=view.count)
        self._emptied = purged

    def reaching(
        self, view: View, query: Float32, mask: NDArray[np.bool_], threshold: float
    ) -> Reaching:
        """Return slots of a mask that may have a similarity of at least `threshold`.

        Without a fit all are scored in full.

        Parameters
        ----------
        query : float32[dim]
            Finite, unit norm.
        mask : bool[view.count]
            Slots that may be returned.
        threshold : float
            Similarity, inclusive.

        Returns
        -------
        int64[m], float32[m]
            Slots, ascending, and their float32 similarities, all at least threshold - SLACK:
            every slot of the mask whose similarity reaches the threshold, and perhaps some
            that are just below.
        """
        fit = self._fit or _UNFITTED
        asked = Part(1)
        if fit.built:
            asked.split(query[np.newaxis], fit.basis, 0, 1)
        slots, values = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
        for number, (base, size, chunk) in enumerate(view.parts()):
            asked_about = mask[base : base + size].view(np.uint8)
            split = max(0, min(size, fit.built - base))
            for start, end in ((0, split), (split, size)):
                if start == end:
                    continue
                part_mask = asked_about[start:end]
                if start < split:
                    part = fit.parts[number]
                    found = _pruned(part, asked, chunk, part_mask, query, threshold)
                else:
                    found = _plain(chunk.vectors[start:end], part_mask, query, threshold)
                slots.append(found[0].astype(np.int64) + (base + start))
                values.append(found[1])
        return np.concatenate(slots), np.concatenate(values)

    def reaching_many(
        self,
        view: View,
        queries: Float32,
        mask: NDArray[np.bool_],
        threshold: float,
        each_max: int | None = None,
    ) -> list[Reaching | None]:
        """Run `reaching` for several queries, in one pass over the rows.

        Parameters
        ----------
        queries : float32[m, dim]
            C order, finite, unit norm; at most a batch of the writer.
        mask : bool[view.count]
            Slots that may be returned for any of them.
        threshold : float
            Similarity, inclusive.
        each_max : int or None
            A query with more matching slots is given up: in a store full of copies the pairs,
            of 16 bytes, would fill the memory.

        Returns
        -------
        list of (int64[k], float32[k]) or None
            For each query the result of `reaching`, up to rows within SLACK below the
            threshold; `None` for a query that was given up.
        """
        count = len(queries)
        if count < _MANY_FROM:
            return [self.reaching(view, query, mask, threshold) for query in queries]
        fit, least = self._fit or _UNFITTED, float(np.float32(threshold - SLACK))
        asked = _PassQueries.of(queries, fit)
        step = max(1, _PRODUCTS_MAX // count)
        pairs = [(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.float32))]
        counts = np.zeros(count, np.int64)
        for number, (base, size, chunk) in enumerate(view.parts()):
            asked_about = mask[base : base + size].view(np.uint8)
            split = max(0, min(size, fit.built - base))
            starts = [*range(0, split, step), *range(split, size, step), size]
            for start, end in itertools.pairwise(starts):
                part_mask = asked_about[start:end]
                if start < split:
                    found = _pruned_many(
                        fit.parts[number], asked, chunk, start, end, part_mask, least
                    )
                else:
                    found = _plain_many(chunk.vectors[start:end], part_mask, asked.queries, least)
                if not len(found[0]):
                    continue
                numbers = asked.numbers[found[0]]
                pairs.append((numbers, found[1] + (base + start), found[2]))
                if each_max is not None:
                    counts += np.bincount(numbers, minlength=count)
                    left = counts[asked.numbers] <= each_max
                    if not left.all():
                        asked = asked.without(~left)
        by_query = _by_query(pairs, count)
        answered = np.isin(np.arange(count), asked.numbers).tolist()
        return [scan if whole else None for scan, whole in zip(by_query, answered, strict=True)]


class _PassQueries:
    """Queries of one pass, split by its basis. `numbers` are their places in the given list."""

    def __init__(self, queries: Float32, part: Part, numbers: NDArray[np.int32]) -> None:
        self.queries, self.part, self.numbers = queries, part, numbers
        self.turned = np.ascontiguousarray(part.lead.T)

    @classmethod
    def of(cls, queries: Float32, fit: Fit) -> _PassQueries:
        part = Part(len(queries))
        if fit.built:
            part.split(queries, fit.basis, 0, len(queries))
        return cls(queries, part, np.arange(len(queries), dtype=np.int32))

    def without(self, given_up: NDArray[np.bool_]) -> _PassQueries:
        """Return the queries that were not given up."""
        left, part = ~given_up, Part(0)
        for name in Part.__slots__:
            setattr(part, name, getattr(self.part, name)[left])
        return _PassQueries(self.queries[left], part, self.numbers[left])


def _pruned_many(
    part: Part,
    asked: _PassQueries,
    chunk: Chunk,
    start: int,
    end: int,
    mask: NDArray[np.uint8],
    least: float,
) -> Pairs:
    """Return pairs of one block of rows."""
    where = slice(start, end)
    along = np.dot(part.lead[where], asked.turned)
    numbers, rows = np.empty(along.size, np.int32), np.empty(along.size, np.int32)
    similarity = np.empty(along.size, np.float32)
    count = keep_reaching(
        along,
        part.lead_residual[where],
        part.rest[where],
        part.residual[where],
        chunk.vectors[where],
        mask,
        asked.part.lead_residual,
        asked.part.rest,
        asked.part.residual,
        asked.queries,
        least,
        numbers,
        rows,
        similarity,
    )
    # Copies, since the buffers are far longer than the results.
    return numbers[:count].copy(), rows[:count].astype(np.int64), similarity[:count].copy()


def _plain_many(vectors: Float32, mask: NDArray[np.uint8], queries: Float32, least: float) -> Pairs:
    similarity = np.dot(vectors, queries.T)
    rows, numbers = np.nonzero((similarity >= least) & (mask != 0)[:, np.newaxis])
    return numbers.astype(np.int32), rows.astype(np.int64), similarity[rows, numbers]


def _by_query(pairs: list[Pairs], count: int) -> list[Reaching]:
    """Split pairs, in the order of their rows, into slots and similarities for each query."""
    numbers, slots, similarity = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(1, count))
    return list(zip(np.split(slots[order], ends), np.split(similarity[order], ends), strict=True))


def _pruned(
    part: Part,
    asked: Part,
    chunk: Chunk,
    mask: NDArray[np.uint8],
    query: Float32,
    threshold: float,
) -> tuple[NDArray[np.int32], Float32]:
    rows, similarity = np.empty(len(mask), np.int32), np.empty(len(mask), np.float32)
    count = scan_reaching(
        part.lead,
        part.lead_residual,
        part.rest,
        part.residual,
        chunk.vectors,
        mask,
        asked.lead[0],
        asked.lead_residual[0],
        asked.rest[0],
        asked.residual[0],
        query,
        threshold,
        SLACK,
        rows,
        similarity,
    )
    return rows[:count], similarity[:count]


def _plain(
    vectors: Float32, mask: NDArray[np.uint8], query: Float32, threshold: float
) -> tuple[NDArray[np.int32], Float32]:
    rows, similarity = np.empty(len(mask), np.int32), np.empty(len(mask), np.float32)
    count = scan_at_least(vectors, mask, query, threshold - SLACK, rows, similarity)
    return rows[:count], similarity[:count]


def _outgrown(fit: Fit, count: int) -> bool:
    return count >= _REFIT_GROWTH * fit.fitted_count


def _fitted(view: View) -> Float32:
    """Fit a basis to a seeded sample of a view's rows."""
    rng = np.random.default_rng(_SEED)
    dimension = view.chunks[0].vectors.shape[1]
    rows = min(view.count, SAMPLE_MAX, max(1, _SAMPLE_VALUES_MAX // dimension))
    slots = np.sort(rng.choice(view.count, rows, replace=False)).astype(np.int64)
    return leading_directions(view.vectors(slots), rng)


def leading_directions(sample: Float32, rng: np.random.Generator) -> Float32:
    """Return orthonormal directions that carry most of a sample's length, the foremost first.

    Subspace iteration (Halko, Martinsson, Tropp, "Finding structure with randomness", 2011,
    algorithm 4.4): a few products with the sample, no dim x dim matrix.

    Parameters
    ----------
    sample : float32[n, dim]
        Finite; n >= 1. Need not have WIDTH independent rows.

    Returns
    -------
    float32[64, dim]
        C order. Rows are orthonormal up to float32; those past `dim` are zero.
    """
    dimension = sample.shape[1]
    columns = min(dimension, WIDTH + _OVERSAMPLE)
    # Householder's QR gives orthonormal columns whatever the rank of its argument.
    found = np.linalg.qr(rng.standard_normal((dimension, columns)).astype(np.float32))[0]
    for _ in range(_ROUNDS):
        found = np.linalg.qr(sample.T @ (sample @ found))[0]
    along = (sample @ found).astype(np.float64)
    _, turn = np.linalg.eigh(along.T @ along)
    exact = np.linalg.qr(found.astype(np.float64) @ turn[:, ::-1])[0].T[:WIDTH]
    assert np.abs(exact @ exact.T - np.eye(len(exact))).max() < 1e-9, "the bound needs this"
    basis = np.zeros((WIDTH, dimension), np.float32)
    basis[: len(exact)] = exact
    return basis
