"""Counts of what a call costs that do not depend on the machine: SQL, rows, texts, scans, bytes.

    with counting() as counts:
        engine.read("default", query).result()
    assert_counts(counts, statements=3, rows=20, scans=1)

Counts are those of the whole process, on all its threads: wait within the block for the answers of
what is counted. Chores of the writer between batches, and work of the background thread, come by
the clock and are left out.

    statements      SQL statements that ran, BEGIN too; of `executemany` one for each row
    rows            rows that they returned, without those that `Connection.get` took
    row_bytes       bytes of the texts and blobs in these rows
    texts_read      texts that a reader of a language was given, whether it had read them before
    texts_compared  pairs of texts that were compared for a verdict
    scans           searches of all slots: a product, a prefix scan of a query, a BM25; the exact
                    search of a Recall counts once for each block of 16,384 slots
    slots_scored    similarities of a product, or of single slots
    graph_searches  searches in the HNSW graph
    column_bytes    bytes of whole columns that were copied
    vector_bytes    bytes of vectors that were copied out of the columns
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any
from unittest.mock import patch

import apsw
import numpy as np

from totonoe_core.engine.state.checkpointing import Checkpointing
from totonoe_core.engine.writer.upkeep import Upkeep
from totonoe_core.guard import cosines, traits, verdict
from totonoe_core.index.arrays import View
from totonoe_core.index.hnsw import Graph
from totonoe_core.index.prefix import Prefix
from totonoe_core.kernels import bm25, context, cosine

NAMES = frozenset(
    (
        "statements",
        "rows",
        "row_bytes",
        "texts_read",
        "texts_compared",
        "scans",
        "slots_scored",
        "graph_searches",
        "column_bytes",
        "vector_bytes",
    )
)
Said = Callable[[tuple[Any, ...], Any], dict[str, int]]
"""Takes the arguments and the result of a call; returns what it adds to the counts."""


def _one(name: str) -> Said:
    return lambda _, __: {name: 1}


def _rows_scored(given: tuple[Any, ...], _: Any) -> dict[str, int]:
    return {"slots_scored": len(given[1])}


_FUNCTIONS: tuple[tuple[Any, str, Said], ...] = (
    (cosines, "similarities", lambda _, found: {"scans": 1, "slots_scored": len(found)}),
    (cosines, "similarities_from", lambda _, found: {"slots_scored": len(found)}),
    (cosine, "dot_rows", _rows_scored),
    (cosine, "similarity64_rows", _rows_scored),
    (
        cosine,
        "nearest_rows",
        lambda given, _: {"scans": 1, "slots_scored": int(np.count_nonzero(given[1]))},
    ),
    (bm25, "bm25_into", _one("scans")),
    (context, "context_into", _one("scans")),
    (traits, "traits_of", _one("texts_read")),
    (verdict, "compare", _one("texts_compared")),
)
_METHODS: tuple[tuple[type, str, Said], ...] = (
    (Prefix, "reaching", _one("scans")),
    (Prefix, "reaching_many", lambda given, _: {"scans": len(given[2])}),
    (Graph, "search", _one("graph_searches")),
    (View, "column", lambda _, found: {"column_bytes": found.nbytes}),
    (View, "has_vectors", lambda _, found: {"column_bytes": found.nbytes}),
    (View, "vectors", lambda _, found: {"vector_bytes": found.nbytes}),
)


_BACKGROUND = frozenset(
    function.__code__
    for function in (Upkeep.run, Prefix.maintain, Graph.maintain, Checkpointing.write)
)


def _in_background() -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code not in _BACKGROUND:
        frame = frame.f_back
    return frame is not None


class _Counted:
    """A function that reports its calls, and is else the one that it stands for."""

    def __init__(self, function: Any, said: Said, add: Callable[[dict[str, int]], None]) -> None:
        self._function, self._said, self._add = function, said, add

    def __call__(self, *given: Any, **named: Any) -> Any:
        found = self._function(*given, **named)
        self._add(self._said(given, found))
        return found

    def __get__(self, one: Any, _: Any = None) -> Any:
        return lambda *given, **named: self(one, *given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Count what happens within the block; see the module's text for the names.

    Does not nest, and takes the place of other traces of the SQLite connections.
    """
    verdict.forget_cached()
    counts: Counter[str] = Counter()
    lock = threading.Lock()

    def add(more: dict[str, int]) -> None:
        if not _in_background():
            with lock:
                counts.update(more)

    def statement(*_: Any) -> bool:
        add({"statements": 1})
        return True

    def row(_: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
        size = sum(len(value) for value in values if isinstance(value, bytes | str))
        add({"rows": 1, "row_bytes": size})
        return values

    def traced(connection: apsw.Connection) -> None:
        connection.exec_trace, connection.row_trace = statement, row

    with ExitStack() as stack:
        for module, name, said in _FUNCTIONS:
            function = getattr(module, name)
            counted = _Counted(function, said, add)
            # Most modules import the function itself.
            for holder in [*sys.modules.values()]:
                if vars(holder).get(name) is function:
                    stack.enter_context(patch.object(holder, name, counted))
        for kind, name, said in _METHODS:
            method = getattr(kind, name)
            stack.enter_context(patch.object(kind, name, _Counted(method, said, add)))
        # Readers' connections are opened when they are needed.
        stack.enter_context(
            patch.object(apsw, "connection_hooks", [*apsw.connection_hooks, traced])
        )
        for connection in apsw.connections():
            traced(connection)
        try:
            yield counts
        finally:
            for connection in apsw.connections():
                connection.exec_trace = connection.row_trace = None


def assert_counts(counts: Counter[str], **expected: int) -> None:
    """Fail unless the counts are as expected; a count that is not named must be 0.

    The message names each count that grew or fell. One that fell is good news: write the new number
    into the test, so that it cannot grow again unseen.
    """
    assert expected.keys() <= NAMES, f"no such counts: {sorted(expected.keys() - NAMES)}"
    wrong = [
        f"{name} {'grew' if counts[name] > was else 'fell'} from {was:,} to {counts[name]:,}"
        for name in sorted(NAMES)
        if counts[name] != (was := expected.get(name, 0))
    ]
    assert not wrong, "; ".join(wrong)
