"""Conversion of a collection's index to plain arrays and back.

A dump holds the newest version of each memory that is not purged, under new slot numbers, ascending
as before: no retired slot, no byte of a purged memory, no unused label. Posting lists leave out
those slots too.

    meta           JSON: counts, names of labels, ids that are in no column
    <column>       every column but `replaced_by` (implied) and access (read from rows)
    token_counts   int32[n], tokens uint64[...]
    prefix_...     the fit and the coordinates of the slots below `prefix_built`
    <index>_...    posting lists and key of each inverted index
    numbers_...    numbers in attributes: paths, slots, values
    vectors        float32[n, dim]
    key_...        typed keys of these memories: hashes, words (JSON), vectors of the first of them

Slot maps are rebuilt from the columns (a few ms for 100,000).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.policy import Tokenizer
from totonoe_core.domain.records import Status
from totonoe_core.index import arrays as slots
from totonoe_core.index.arrays import COLUMNS, NO_TIME, RETIRED, STATUSES, Chunk, View
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.index.dump_checks import (
    Unsound,
    check_columns,
    check_keys,
    check_meta,
    check_token_counts,
    require,
)
from totonoe_core.index.lexical import InvertedIndex, Lists
from totonoe_core.index.numbers import Numbers
from totonoe_core.index.prefix import Fit, Part
from totonoe_core.index.token_index import TokenIndex
from totonoe_core.kernels.prefix import WIDTH

Block = NDArray[Any]

LABELS = {
    "agent": "agents",
    "session": "sessions",
    "thread": "threads",
    "category": "categories",
    "life_stage": "life_stages",
    "namespace": "namespaces",
}
"""Columns of codes, with the attribute of `Arrays` that holds their names."""
_CUT = ("status", "updated")
_MADE = ("replaced_by", "last_access", "access_count")
_KEPT_AS_THEY_ARE = tuple(name for name in COLUMNS if name not in (*_CUT, *_MADE, *LABELS))
_NUMBERS: dict[str, Any] = {"paths": np.int64, "slots": np.int32, "values": np.float64}
_PREFIX = ("lead", "rest", "lead_residual", "residual")


class Target(Protocol):
    """Destination of a dump."""

    def put(self, name: str, blocks: Iterable[Block]) -> None:
        """Write an array under a name: blocks that follow each other along the first axis.

        There is at least one block; all have the same type and width.
        """


class Source(Protocol):
    """Source of a dump. `take` fills in exactly the bytes that were put, or raises."""

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of an array."""

    def take(self, name: str, parts: Sequence[Block]) -> None:
        """Fill contiguous parts, which follow each other along the first axis, with an array."""


@dataclass(frozen=True, slots=True)
class IndexCut:
    """An index at one revision.

    It copies what changes in place. All else never changes below the view's count, except by a
    purge, which invalidates every earlier cut. `others` are ids that are in no column; `revived`
    are slots that the graph may lack.
    """

    view: View
    status: NDArray[np.uint8]
    updated: NDArray[np.int64]
    others: tuple[tuple[str, int], ...]
    revived: NDArray[np.int64]

    @classmethod
    def of(cls, index: CollectionIndex) -> IndexCut:
        """Take the cut of the published slots. Writer only, with nothing pending."""
        view = index.view()
        return cls(
            view,
            view.column("status"),
            view.column("updated"),
            tuple(index.slot_by_id.others()),
            index.graph.revived(),
        )

    def new_slots(self) -> NDArray[np.int32]:
        """Return by slot its number in the dump, or -1."""
        kept = (self.status != RETIRED) & (self.status != STATUSES[Status.PURGED])
        return np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)


def dump(index: CollectionIndex, cut: IndexCut, target: Target) -> None:
    """Write a cut of an index to a target. Any thread, beside readers and the writer."""
    arrays, view, new_slots = index.arrays, cut.view, cut.new_slots()
    kept = new_slots >= 0
    count = int(np.count_nonzero(kept))
    fit, token_end = index.prefix.fit, index.token_index.end
    recoded = {name: _used(view, kept, name) for name in LABELS}
    target.put(
        "meta",
        _json(
            {
                "count": count,
                "labels": {
                    name: [getattr(arrays, table).name(code) for code in recoded[name].tolist()]
                    for name, table in LABELS.items()
                },
                "others": [
                    (memory_id, int(new_slots[slot]))
                    for memory_id, slot in cut.others
                    if slot < view.count and kept[slot]
                ],
                "revived": [slot for slot in new_slots[cut.revived].tolist() if slot >= 0],
                "prefix_built": _below(kept, fit.built),
                "prefix_fitted": fit.fitted_count,
                "token_end": _below(kept, token_end),
            }
        ),
    )

    def parts() -> Iterator[tuple[NDArray[np.bool_], int, Chunk]]:
        for base, size, chunk in view.parts():
            yield kept[base : base + size], size, chunk

    target.put("status", [cut.status[kept]])
    target.put("updated", [cut.updated[kept]])
    for name in _KEPT_AS_THEY_ARE:
        target.put(name, _some(COLUMNS[name], (c.columns[name][:n][k] for k, n, c in parts())))
    for name, codes in recoded.items():
        target.put(
            name,
            _some(
                np.int32,
                (
                    np.searchsorted(codes, c.columns[name][:n][k]).astype(np.int32)
                    for k, n, c in parts()
                ),
            ),
        )
    target.put(
        "token_counts",
        _some(np.int32, (np.diff(c.indptr[: n + 1])[k].astype(np.int32) for k, n, c in parts())),
    )
    target.put("tokens", _some(np.uint64, (_tokens(c, n, k) for k, n, c in parts())))
    target.put("prefix_basis", [fit.basis])
    for name in _PREFIX:
        target.put(name, _prefix_rows(fit, name, kept))
    for name, postings in _postings(index).items():
        # Tokens that the writer adds meanwhile are added again after a load.
        lists = postings.dump(new_slots[:token_end] if name == "token_index" else new_slots)
        target.put(f"{name}_key", [postings.key])
        for part, values in lists._asdict().items():
            target.put(f"{name}_{part}", [values])
        del lists
    numbers = index.numbers.dump(new_slots)
    for part in _NUMBERS:
        target.put(f"numbers_{part}", [getattr(numbers, part)])
    vectors = (c.vectors[:n] if k.all() else c.vectors[:n][k] for k, n, c in parts())
    target.put("vectors", _some(np.float32, vectors, arrays.dimension))
    hashes, words, of_keys = index.keys.held(np.unique(view.column("key_hash")[kept]))
    target.put("key_hashes", [hashes])
    target.put("key_words", _json(words))
    held = iter([of_keys] if len(of_keys) else [])
    target.put("key_vectors", _some(np.float32, held, arrays.dimension))


def load(
    source: Source,
    dimension: int,
    tokenizer: Tokenizer,
    model_number: int = 0,
    row_max: int | None = None,
) -> CollectionIndex:
    """Build the index of a dump, without access figures and graph.

    Parameters
    ----------
    source : Source
        Its bytes are those that were dumped; this function checks that they fit together.
    row_max : int, optional
        The highest row number; memory is allocated for as many.

    Raises
    ------
    Unsound
        A count, code, slot or row leads to nothing.
    """
    index = CollectionIndex(dimension, tokenizer, model_number)
    meta = json.loads(_whole(source, "meta", np.uint8).tobytes())
    check_meta(meta, tuple(LABELS))
    count = meta["count"]
    arrays = index.arrays
    arrays.revived.extend(meta["revived"])
    for name, table in LABELS.items():
        for label in meta["labels"][name]:
            getattr(arrays, table).code(label)
    chunks = [Chunk(dimension, at == 0) for at in range(0, max(1, count), slots.CHUNK)]
    sizes = [min(slots.CHUNK, count - number * slots.CHUNK) for number in range(len(chunks))]

    for name in (*_CUT, *_KEPT_AS_THEY_ARE, *LABELS):
        parts = [np.empty(size, COLUMNS[name]) for size in sizes]
        source.take(name, parts)
        for chunk, part in zip(chunks, parts, strict=True):
            chunk.fill(name, part)
    for chunk, size in zip(chunks, sizes, strict=True):
        chunk.columns["last_access"][:size] = NO_TIME
    filled = View(tuple(chunks), count)
    checked = ("status", "kind", "state_kind", "private", "source", "row", "term_count", *LABELS)
    check_columns(
        {name: filled.column(name) for name in checked},
        {name: len(meta["labels"][name]) for name in LABELS},
        row_max,
    )
    token_counts = _whole(source, "token_counts", np.int32)
    require(len(token_counts) == count, "token_counts")
    check_token_counts(token_counts, source.shape("tokens")[0])
    for number, (chunk, size) in enumerate(zip(chunks, sizes, strict=True)):
        base = number * slots.CHUNK
        np.cumsum(token_counts[base : base + size], out=chunk.indptr[1 : size + 1])
        chunk.tokens = np.zeros(max(1024, int(chunk.indptr[size])), np.uint64)
    source.take("tokens", [c.tokens[: c.indptr[n]] for c, n in zip(chunks, sizes, strict=True)])
    _load_prefix(index, source, meta)
    ends = {"token_index": meta["token_end"]}
    indexes = {
        name: _load_postings(source, name, ends.get(name, count)) for name in _postings(index)
    }
    index.terms, index.labels = indexes["terms"], indexes["labels"]
    paths, held_by, values = (
        _whole(source, f"numbers_{part}", dtype) for part, dtype in _NUMBERS.items()
    )
    numbers = Numbers.load(paths, held_by, values, count)
    if numbers is None:
        raise Unsound("numbers do not fit the rest")
    index.numbers = numbers
    index.token_index = TokenIndex(indexes["token_index"], meta["token_end"])
    source.take("vectors", [c.vectors[:n] for c, n in zip(chunks, sizes, strict=True)])
    arrays.adopt(tuple(chunks), count)
    _load_keys(index, source)
    index.fill_maps((memory_id, slot) for memory_id, slot in meta["others"])
    return index


def compacted(index: CollectionIndex) -> CollectionIndex:
    """Return a copy without retired and purged slots. Nothing may be pending. Access stays."""
    held = _DumpInMemory()
    dump(index, IndexCut.of(index), held)
    fresh = load(held, index.arrays.dimension, index.tokenizer, index.model_number)
    old_slots = index.slot_by_row.find_all(fresh.view().column("row"))
    view = index.view()
    fresh.set_access_of(
        np.arange(len(old_slots)),
        view.take("last_access", old_slots),
        view.take("access_count", old_slots),
    )
    return fresh


class _DumpInMemory:
    """A dump in memory, of which each array is taken once."""

    def __init__(self) -> None:
        self._arrays: dict[str, Block] = {}

    def put(self, name: str, blocks: Iterable[Block]) -> None:
        self._arrays[name] = np.concatenate(list(blocks))

    def shape(self, name: str) -> tuple[int, ...]:
        return self._arrays[name].shape

    def take(self, name: str, parts: Sequence[Block]) -> None:
        array, at = self._arrays.pop(name), 0
        for part in parts:
            part[...] = array[at : at + len(part)]
            at += len(part)


def _postings(index: CollectionIndex) -> dict[str, InvertedIndex]:
    return {
        "terms": index.terms,
        "labels": index.labels,
        "token_index": index.token_index.postings,
    }


def _some(dtype: Any, blocks: Iterator[Block], width: int | None = None) -> Iterator[Block]:
    """Yield an empty block first, so that there is always at least one."""
    yield np.zeros((0,) if width is None else (0, width), dtype)
    yield from blocks


def _json(value: object) -> list[Block]:
    return [np.frombuffer(json.dumps(value, separators=(",", ":")).encode(), np.uint8)]


def _used(view: View, kept: NDArray[np.bool_], name: str) -> NDArray[np.int64]:
    """Return the codes that kept slots have, ascending, and always 0, the empty one."""
    return np.union1d(view.column(name)[kept], 0)


def _below(kept: NDArray[np.bool_], end: int) -> int:
    """Count the kept slots below an end."""
    return int(np.count_nonzero(kept[:end]))


def _tokens(chunk: Chunk, size: int, kept: NDArray[np.bool_]) -> Block:
    end = int(chunk.indptr[size])
    if kept.all():
        return chunk.tokens[:end]
    return chunk.tokens[:end][np.repeat(kept, np.diff(chunk.indptr[: size + 1]))]


def _prefix_rows(fit: Fit, name: str, kept: NDArray[np.bool_]) -> Iterator[Block]:
    yield getattr(Part(0), name)
    end = min(fit.built, len(kept))
    for number, part in enumerate(fit.parts):
        base = number * slots.CHUNK
        if base < end:
            where = kept[base : min(end, base + slots.CHUNK)]
            yield getattr(part, name)[: len(where)][where]


def _load_prefix(index: CollectionIndex, source: Source, meta: dict[str, Any]) -> None:
    built = meta["prefix_built"]
    basis = _whole(source, "prefix_basis", np.float32)
    require(not built or basis.shape == (WIDTH, index.arrays.dimension), "prefix_basis")
    parts = [Part(slots.CHUNK) for _ in range(0, built, slots.CHUNK)]
    for name in _PREFIX:
        source.take(
            name,
            [
                getattr(part, name)[: built - number * slots.CHUNK]
                for number, part in enumerate(parts)
            ],
        )
    if built:
        index.prefix.adopt(Fit(basis, tuple(parts), built, meta["prefix_fitted"]))


def _load_keys(index: CollectionIndex, source: Source) -> None:
    hashes = _whole(source, "key_hashes", np.uint64)
    words = json.loads(_whole(source, "key_words", np.uint8).tobytes())
    vectors = _whole(source, "key_vectors", np.float32)
    check_keys(hashes, words, vectors, index.arrays.dimension)
    said = dict(zip(hashes.tolist(), words, strict=True))
    column = index.view().column("key_hash")
    for slot in np.flatnonzero(column).tolist():
        if (words_of := said.get(int(column[slot]))) is not None:
            index.keys.note(slot, int(column[slot]), words_of)
    index.keys.put(hashes[: len(vectors)].tolist(), vectors)


def _load_postings(source: Source, name: str, end: int) -> InvertedIndex:
    key = _whole(source, f"{name}_key", np.uint64)
    require(key.shape == (2,), f"{name}_key")
    types = (np.int64, np.int32, np.int32, np.uint8)
    lists = Lists(
        *(
            _whole(source, f"{name}_{part}", dtype)
            for part, dtype in zip(Lists._fields, types, strict=True)
        )
    )
    require(all(values.ndim == 1 for values in lists), name)
    index = InvertedIndex.load(lists, key, end)
    if index is None:
        raise Unsound(f"the lists of {name} are none")
    return index


def _whole(source: Source, name: str, dtype: Any) -> NDArray[Any]:
    out = np.empty(source.shape(name), dtype)
    source.take(name, [out])
    return out
