"""Checkpoints damaged by a seed, and opened: in a child process, which the test gives a limit."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from support.indexes import assert_same_index
from support.waits import wait_s
from totonoe_core.engine.collection.indexing import Indexing
from totonoe_core.engine.state import checkpointing, loading
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index import hnsw, prefix
from totonoe_core.index.collection_index import CollectionIndex, Features
from totonoe_core.index.lexical import bm25
from totonoe_core.store.checkpoint import MANIFEST
from totonoe_core.store.records import Place
from totonoe_core.store.sqlite.collection_file import CollectionFile
from totonoe_core.store.sqlite.store import SqliteStore
from totonoe_core.text.query_terms import query_terms

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor"]
FILES = (MANIFEST, "arrays", "vectors", "graph", "graph_slots")
HOWS = ("flip", "cut", "swap", "zero", "longer", "repeat")
NUMBERS = (-1, 0, 1, 2, 7, 255, 2**16, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))


def make(directory: Path) -> None:
    """A closed data directory with a checkpoint of every part, graph and prefix included."""
    from support.engines import opened

    small()
    with opened(directory) as store:
        rng = np.random.default_rng(5)
        for number in range(60):
            text = " ".join(rng.choice(WORDS, 5).tolist()) + f" {number}"
            store.save(text, tags=(str(rng.choice(WORDS)),), session_id=f"s{number % 3}")
        found = store.engine._collections.opened(store.collection).result(wait_s())
        index = found._state.index
        index.graph.maintain(threading.Event())
        index.prefix.maintain(threading.Event())
        index.token_index.catch_up(index.view())


def small() -> None:
    """Few memories are worth a checkpoint, a graph and a prefix, and nothing runs beside."""
    checkpointing.FROM_COUNT = checkpointing.CHANGED_AT_CLOSE = 1
    hnsw.FROM_COUNT = 16
    prefix.FROM_COUNT = 20
    Indexing.consider = lambda _: None  # type: ignore[method-assign]


def damage(data: bytes, how: str, rng: np.random.Generator) -> bytes:
    """Other bytes than these."""
    size, at = len(data), int(rng.integers(len(data)))
    if how == "flip":
        return data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :]
    if how == "cut":
        return data[:at]
    if how == "longer":
        return data + data[:1]
    length = 1 + int(rng.integers(min(64, size)))
    begin, other = (int(number) for number in rng.integers(0, size - length + 1, 2))
    if how == "zero":
        return data[:begin] + bytes(length) + data[begin + length :]
    part, its = data[begin : begin + length], data[other : other + length]
    found = bytearray(data)
    found[begin : begin + length] = its
    if how == "swap":
        found[other : other + length] = part
    return bytes(found)


def reseal(checkpoint: Path, number: int, rng: np.random.Generator) -> str:
    """Wrong numbers in one array, each in turn, under checksums that are right; names the array."""
    text = (checkpoint / MANIFEST).read_bytes().splitlines()[0]
    header: dict[str, Any] = json.loads(text)
    names = sorted(header["arrays"])
    name = names[number % len(names)]
    begin = 0
    for other, array in header["arrays"].items():
        dtype = np.dtype(array["dtype"])
        size = int(np.prod(array["shape"])) * dtype.itemsize
        if other == name:
            break
        begin += size if array["file"] == header["arrays"][name]["file"] else 0
    path = checkpoint / array["file"]
    data = bytearray(path.read_bytes())
    values = np.frombuffer(data, dtype, size // dtype.itemsize, begin)
    if rng.random() < 0.3:
        data[begin : begin + size] = np.roll(values, 1).tobytes()
    else:
        for _ in range(int(rng.integers(1, 4))):
            wrong = np.array([rng.choice(np.array(NUMBERS, object))], object)
            cast = wrong.astype(np.int64).view(np.uint64).astype(dtype)
            place = begin + int(rng.integers(max(1, len(values)))) * dtype.itemsize
            end = min(place + dtype.itemsize, begin + size)  # of an empty array nothing
            data[place:end] = cast.tobytes()[: end - place]
    path.write_bytes(data)
    array["sha256"] = hashlib.sha256(data[begin : begin + size]).hexdigest()
    if rng.random() < 0.1:
        array["shape"] = [int(rng.choice([0, 1, 2**40])), *array["shape"][1:]]
    text = json.dumps(header, separators=(",", ":")).encode() + b"\n"
    sealed = text + hashlib.sha256(text).hexdigest().encode() + b"\n"
    (checkpoint / MANIFEST).write_bytes(sealed)
    return name


def use(index: CollectionIndex) -> None:
    """Has every kernel run over what was loaded. Nothing that it answers is looked at."""
    view = index.view()
    mask = np.ones(view.count, np.bool_)
    for word in WORDS:
        bm25(index.terms, query_terms(word), view.column("term_count"), mask)
        query = np.full(index.arrays.dimension, 0.3, np.float32)
        features = Features.of(f"{word} amber birch", query, index.tokenizer)
        index.token_index.above(view, features.tokens, 0.1, mask)
        index.labels.slots_with_all([f"t{word}"])
        index.prefix.reaching(view, query, mask, 0.3)
        index.graph.search(query, 5)
    for name in ("text_hash", "canonical_hash"):
        for value in view.column(name)[:8].tolist():
            index.slots_with_words(value)
            index.slots_with_text(value.to_bytes(8, "little"))
    for part in (index.terms, index.labels, index.token_index.postings):
        part.dump(np.arange(view.count, dtype=np.int32))
        part.add_hashes(view.count + 5, np.arange(9))


def open_damaged(directory: Path, kind: str, count: int, seed: int) -> Iterator[Any]:
    """Damages the one checkpoint of a directory again and again; how it was opened each time.

    `kind` is the name of a file, or "resealed". [number, what, "aside" or "served"].
    """
    small()
    path = next(directory.glob("collections/*/memory.db"))
    place = next(path.parent.glob("checkpoint/*"))
    sound = {entry.name: entry.read_bytes() for entry in place.iterdir()}
    info = CollectionState.read_info(SqliteStore(directory), Place(path, path.parent.name, ""))
    expected: CollectionIndex | None = None
    for number in range(-1, count):
        rng = np.random.default_rng([seed, number + 1])
        shutil.rmtree(place.parent)
        place.mkdir(parents=True)
        for name, data in sound.items():
            (place / name).write_bytes(data)
        what = "nothing"
        if number >= 0 and kind == "resealed":
            what = reseal(place, number, rng)
        elif number >= 0:
            what = HOWS[number % len(HOWS)]
            spoiled = damage(sound[kind], what, rng)
            if spoiled == sound[kind]:
                continue
            (place / kind).write_bytes(spoiled)
        file = CollectionFile(path)
        try:
            _, revision, _ = file.last_numbers()
            index, opening = loading.opened(file, info, revision)
            index.graph.maintain(threading.Event())
            use_it = kind == "resealed" and opening.checkpoint is not None
            bad_count = file.checkpoints.bad_count
            if use_it:
                use(index)
            else:
                if expected is None:
                    expected = loading.rebuilt(file, info, {})
                assert_same_index(index, expected, (kind, number))
            yield [number, what, "aside" if bad_count else "served"]
        finally:
            file.close()
