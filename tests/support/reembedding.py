"""Two models whose vectors cannot be mistaken for each other, and stores that go between them.

A model lives in its own half of the dimensions: a vector with anything in the other half is of
the other model, or of both. The length is the same, so that nothing but the tags tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from support.engines import FakeClock, InProcessEmbedding, Store
from support.forking import dying_at, say_answered, serve
from support.waits import wait_s
from totonoe_core.domain.records import Status
from totonoe_core.domain.reembed import Reembed, Reembedded
from totonoe_core.embedding.hashing import HashingEmbedder
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.store.sqlite.reader import Rows
from totonoe_core.store.sqlite.schema import open_reader

HALF = 32


class HalfEmbedder:
    """A hashing embedder in one half of the dimensions: "left" or "right"."""

    def __init__(self, name: str, dimension: int = 2 * HALF) -> None:
        self._inner = HashingEmbedder(HALF)
        self._name, self._dimension = name, dimension
        self.identity = replace(self._inner.identity, name=name, dimension=dimension)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        found = np.zeros((len(texts), self._dimension), np.float32)
        begin = 0 if self._name == "left" else self._dimension - HALF
        found[:, begin : begin + HALF] = self._inner.embed(texts)
        return found


def running(name: str, dimension: int = 2 * HALF) -> InProcessEmbedding:
    return InProcessEmbedding(HalfEmbedder(name, dimension))


def restarted(store: Store, embedding: Any) -> None:
    """The daemon anew, with another embedder or none."""
    store.engine.close(wait_s())
    store.more["embedding"] = embedding
    store.engine = store._opened()


def state_of(store: Store) -> CollectionState:
    opened = store.engine._collections.opened(store.collection)
    return opened.result(wait_s())._state


def begin(store: Store, operation_id: str = "", agent: str = "anna") -> Any:
    """The watch of a Reembed."""
    command = Reembed(agent, "a better model")
    return store.engine.reembed(store.collection, operation_id, command).result(wait_s())


def told_by(watch: Any) -> list[Any]:
    """All that a watch tells, up to its end."""
    told: list[Any] = []
    for _ in range(10_000):
        messages = watch.read().result(wait_s())
        if not messages:
            return told
        told += messages
    raise AssertionError("a watch that does not end")


def reembed(store: Store, operation_id: str = "") -> Reembedded:
    (last,) = [item for item in told_by(begin(store, operation_id)) if item.done]
    return last.done


def settle(store: Store) -> None:
    """Waits until rows and what lies beside them have exchanged their vectors."""
    thread = store.engine._collections.opened(store.collection).result(wait_s()).reembedding._thread
    if thread is not None:
        thread.join(wait_s())


def assert_unmixed(store: Store, names: Sequence[str]) -> None:
    """No vector anywhere is of another model than it says; `names` by the models' numbers."""
    index = state_of(store).index
    view = index.arrays.view()
    for _, size, chunk in view.parts():
        _assert_of(chunk.vectors[:size], names[index.model_number])
    connection = open_reader(store.file())
    try:
        rows = Rows(connection)
        memories = list(rows.all_memories())
        for memory in memories:
            for other in (memory, *rows.history.memory_versions(memory.row)):
                if other.vector:
                    _assert_of(_array(other.vector), names[other.model_number])
        beside = rows.beside.embeddings([memory.row for memory in memories])
        for held in beside.values():
            _assert_of(_array(held.vector), names[held.model_number])
    finally:
        connection.close()


def assert_complete(store: Store, embedding: InProcessEmbedding) -> None:
    """Every memory that is there has the vector that the model makes of its text, everywhere."""
    index, state = state_of(store).index, state_of(store)
    connection = open_reader(store.file())
    try:
        rows = Rows(connection)
        # Rows and what lies beside them may be exchanging their vectors.
        with rows.snapshot():
            there = [memory for memory in rows.all_memories() if memory.status is not Status.PURGED]
            memories = list(rows.beside.of_model(state.info.model_number, there))
        for memory in memories:
            (wanted,) = embedding.vectors([memory.content])
            assert memory.vector == wanted.tobytes(), memory.content
            assert (index.vector(memory.row) == wanted).all(), memory.content
    finally:
        connection.close()


def _array(vector: bytes) -> np.ndarray:
    return np.frombuffer(vector, np.float32)[None, :]


def _assert_of(vectors: np.ndarray, name: str) -> None:
    assert vectors.shape[1] >= 2 * HALF
    other = vectors[:, -HALF:] if name == "left" else vectors[:, :HALF]
    assert not other.any(), f"a vector that should be of {name}"


def opened_with(path: Path, name: str, **more: Any) -> Store:
    return Store(path, embedding=running(name), clock=FakeClock(), **more)


def carry_out(directory: str, statement: int) -> None:
    """Re-embeds and closes; dies before the numbered statement of the writer (-1: none)."""
    store = opened_with(Path(directory), "right")
    state_of(store).file._connection.exec_trace = dying_at(statement)
    reembed(store, "op-of-the-test")
    if statement >= 0:
        say_answered()
    settle(store)
    store.close()


if __name__ == "__main__":
    serve(carry_out)
