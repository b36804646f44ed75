"""How a bench fills a collection: by a file that is imported as it is, or through the guard."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np

import totonoe
from bench import material
from bench.material import Item
from bench.processes import IDLE_LIMIT_S, BenchError, Daemon
from totonoe_core.domain.records import Fields, Memory, Status
from totonoe_core.index.hnsw import FROM_COUNT
from totonoe_core.jsonl import KINDS, writing

DIMENSION = 384
GRAPH_SHARE = 0.95
STEP = 1000
STORE_BATCH = 5000


def store(client: totonoe.Client, seed: int, count: int, dimension: int) -> None:
    """Fills a collection, through the guard, with memories that do not repeat each other."""
    space = material.Space(seed, dimension or 8)
    for first in range(0, count, STORE_BATCH):
        size = min(STORE_BATCH, count - first)
        generator = np.random.default_rng([seed, 0, first])
        sentences = material.texts(generator, size, first)
        drafts = (
            totonoe.Draft(item.text, vector=item.vector if dimension else None)
            for item in material.items(generator, sentences, space, 0.0)
        )
        for result in client.remember_many(drafts):
            if result.error is not None:
                raise result.error


def drawn(seed: int, count: int, dimension: int) -> Iterator[Item]:
    """Synthetic items that do not repeat each other; without a dimension they have no vector."""
    space = material.Space(seed, dimension or 8)
    for first in range(0, count, STEP):
        generator, size = np.random.default_rng([seed, first]), min(STEP, count - first)
        sentences, vectors = material.texts(generator, size, first), space.draw(generator, size)
        for number, (text, vector) in enumerate(zip(sentences, vectors, strict=True), first):
            yield Item(number, text, vector.tobytes() if dimension else b"")


def lines_of(head: bytes, items: Iterable[Item]) -> Iterator[bytes]:
    """The lines of a file with a memory for each item, STEP at a time; `head` is its first line."""
    yield head
    digest, count, left = sha256(head), 0, iter(items)
    while batch := list(islice(left, STEP)):
        lines = b"".join(
            writing.record(memory(number, item), vectors=bool(item.vector))
            for number, item in enumerate(batch, count)
        )
        digest.update(lines)
        count += len(batch)
        yield lines
    yield writing.end(dict.fromkeys(KINDS, 0) | {"memory": count}, digest.hexdigest())


def memory(number: int, item: Item) -> Memory:
    """A live memory of the bench's agent."""
    return Memory(
        row=0,
        id=f"mem_{number:016x}",
        content=item.text,
        content_hash=b"",
        vector=item.vector,
        agent_id="bench",
        fields=Fields(),
        created_us=number,
        updated_us=number,
        status=Status.ACTIVE,
        superseded_by="",
        revision=0,
    )


def made(client: totonoe.Client, items: Iterable[Item], file: Path, *, vectors: bool) -> None:
    """A file of `lines_of` for the client's collection, which is empty."""
    with client.export(include_vectors=vectors) as empty, file.open("wb") as out:
        out.writelines(lines_of(next(empty), items))


def fill(daemon: Daemon, collection: str, file: Path) -> None:
    """Imports a file as it is, and waits until what searches use is built."""
    with daemon.client(collection) as client, file.open("rb") as source:
        client.import_file(source, as_is=True, timeout_s=IDLE_LIMIT_S)
        settle(daemon, client, collection)


def settle(daemon: Daemon, client: totonoe.Client, collection: str) -> None:
    """Waits until the daemon has nothing to do, and the collection has its prefix and its graph.

    Raises
    ------
    BenchError
        They are not there after `IDLE_LIMIT_S`.
    """
    # A search opens the collection, which asks for both.
    client.recall("anything", no_touch=True)
    deadline_s = time.perf_counter() + IDLE_LIMIT_S
    while time.perf_counter() < deadline_s:
        # The graph is built after the prefix.
        found = next(stats for stats in daemon.idle().collections if stats.name == collection)
        count = found.active_count
        if count < FROM_COUNT or found.hnsw_count >= GRAPH_SHARE * count:
            return
    raise BenchError(f"the graph has {found.hnsw_count} of {count}")
