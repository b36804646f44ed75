"""From files to an index: the newest checkpoint that fits and the rows after it, or all rows.

A checkpoint fits if it is of this file's history up to a revision that the file has, with the same
model and tokenizer, and made by the same code. What is wrong with one costs time and nothing else.
"""

from __future__ import annotations

import functools
import logging
import time
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

import totonoe_core
from totonoe_core.commands import CollectionInfo
from totonoe_core.index import dump, hnsw
from totonoe_core.index.collection_index import CollectionIndex, Features, vector_of
from totonoe_core.records import Memory, Status
from totonoe_core.store.checkpoint import Checkpoints, Damaged, Header, Outdated, Saved
from totonoe_core.store.collection_file import CollectionFile

_log = logging.getLogger(__name__)

RETIRED_SHARE_MAX = 0.3
"""Share of slots that are no memory's newest from which on an index is compacted when opened."""
_LOADED_AT_ONCE = 1024
_CHANGING = ("model", "dimension", "model_since", "tokenizer", "made_by")
GRAPH, GRAPH_SLOTS = "graph", "graph_slots"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A good checkpoint: of which revision, when it was taken, how large it is, and how many of
    its slots its graph covers; 0: it has none."""

    path: Path
    revision: int
    saved_us: int
    bytes: int
    graph_slots: int


@dataclass(frozen=True, slots=True)
class Opening:
    """How a collection was opened: from which checkpoint, and how many rows were read."""

    checkpoint: Checkpoint | None
    replayed_count: int
    seconds: float


@functools.cache
def made_by() -> str:
    """What the tokens, terms and hashes of a text depend on: the sources that make them, and the
    tables of characters."""
    package = Path(totonoe_core.__file__).parent
    sources = [*sorted((package / "text").glob("*.py")), package / "index" / "collection_index.py"]
    sources += [package / "index" / "lexical.py", package / "kernels" / "hashing.py"]
    digest = blake2b(digest_size=8)
    for source in sources:
        digest.update(source.read_bytes())
    return f"{digest.hexdigest()} unicode {unicodedata.unidata_version}"


def header_of(
    file: CollectionFile, info: CollectionInfo, revision: int, now_us: int
) -> Header | None:
    """What a manifest says of a collection at a revision; `None`: it has no history yet."""
    seal = file.rows.history.seal(revision)
    if seal is None:
        return None
    return {
        "collection": file.path.parent.name,
        "operation": list(seal),
        "model": info.model.key,
        "dimension": info.model.dimension,
        # Of a model that made the vectors twice: some may have been lacking before.
        "model_since": [info.model_number, info.model_since],
        "tokenizer": info.guard.tokenizer.value,
        "made_by": made_by(),
        "saved_us": now_us,
    }


def opened(
    file: CollectionFile, info: CollectionInfo, revision: int
) -> tuple[CollectionIndex, Opening]:
    """The index of a collection's file.

    Raises `Corruption` if a row that is read does not match its checksum.
    """
    begin_s, checkpoints = time.perf_counter(), file.checkpoints
    _tidy(file)
    for path in checkpoints.newest_first():
        try:
            index, saved = _loaded(path, file, info, revision)
        except Outdated as why:
            _drop(checkpoints, path, why)
            continue
        except Exception as error:
            # Not Damaged alone: a manifest of another version may name what is not there.
            _set_aside(checkpoints, path, error)
            continue
        held = saved.header["revision"]
        replayed_count = replay(index, _of_model(file, info, file.rows.memories_after(held)))
        if len(file.aside):
            break  # there are bad rows: all are looked at
        graph_slots = 0
        if index.retired_count() > RETIRED_SHARE_MAX * index.view().count:
            # As much of the graph is dead: it would be built anew in any case.
            index = dump.compacted(index)
        else:
            graph_slots = _expect_graph(index, saved, checkpoints)
        set_access(index, file.recalls.access())
        found = Checkpoint(path, held, saved.header["saved_us"], saved.bytes, graph_slots)
        return index, Opening(found, replayed_count, time.perf_counter() - begin_s)
    index = rebuilt(file, info, file.recalls.access())
    return index, Opening(None, index.view().count, time.perf_counter() - begin_s)


def _tidy(file: CollectionFile) -> None:
    try:
        if file.to_clean:
            # The purge came to its commit, and perhaps no further.
            file.checkpoints.drop_all()
        else:
            file.checkpoints.remove_unfinished()
    except OSError as error:
        _log.warning("checkpoints of %s cannot be deleted: %s", file.path.parent.name, error)


def _set_aside(checkpoints: Checkpoints, path: Path, error: Exception) -> None:
    name = f"{path.parent.parent.name}/{path.name}"
    _log.warning("checkpoint %s is not used: %s", name, error if str(error) else repr(error))
    try:
        checkpoints.set_aside(path)
    except OSError as refused:
        _log.warning("checkpoint %s cannot be set aside: %s", name, refused)


def _drop(checkpoints: Checkpoints, path: Path, why: Outdated) -> None:
    name = f"{path.parent.parent.name}/{path.name}"
    _log.info("checkpoint %s is deleted: %s", name, why)
    try:
        checkpoints.drop(path)
    except OSError as refused:
        _log.warning("checkpoint %s cannot be deleted: %s", name, refused)


def _loaded(
    path: Path, file: CollectionFile, info: CollectionInfo, revision: int
) -> tuple[CollectionIndex, Saved]:
    """The index of a checkpoint. Raises `Damaged`, and whatever a stranger's data raises."""
    saved = file.checkpoints.open(path)
    try:
        _check_fits(saved.header, file, info, revision)
        index = dump.load(saved, info.model.dimension, info.guard.tokenizer, info.model_number)
        saved.verify()
    finally:
        saved.close()
    return index, saved


def _check_fits(header: Header, file: CollectionFile, info: CollectionInfo, revision: int) -> None:
    held = header["revision"]
    if held > revision:
        raise Damaged(f"is of revision {held}, and the file has {revision}")
    expected = header_of(file, info, held, header["saved_us"])
    if expected is None:
        raise Damaged(f"is of revision {held}, which the file does not have")
    for name, value in expected.items():
        if header[name] != value:
            raise (Outdated if name in _CHANGING else Damaged)(f"is of another {name}")


def rebuilt(
    file: CollectionFile, info: CollectionInfo, access: Mapping[int, tuple[int, int]]
) -> CollectionIndex:
    """The index of all rows. Raises `Corruption`."""
    index = CollectionIndex(info.model.dimension, info.guard.tokenizer, info.model_number)
    there = (one for one in file.rows.all_memories() if one.status is not Status.PURGED)
    for memory in _of_model(file, info, there):
        last_us, count = access.get(memory.row, (None, 0))
        memory = replace(memory, last_access_us=last_us, access_count=count)
        _add(index, memory, None)
    index.publish()
    return index


def _of_model(
    file: CollectionFile, info: CollectionInfo, memories: Iterable[Memory]
) -> Iterable[Memory]:
    """Memories of rows with their vectors of the collection's model, wherever these lie."""
    return file.rows.beside.of_model(info.model_number, memories)


def replay(index: CollectionIndex, memories: Iterable[Memory]) -> int:
    """Brings an index that nobody reads yet up to what rows say now; says how many there were."""
    count, purged_ids = 0, []
    for memory in memories:
        count += 1
        slot = index.slot_by_row.get(memory.row)
        if memory.status is not Status.PURGED:
            _add(index, memory, slot)
        elif slot is not None:
            index.set_status(slot, Status.PURGED, memory.updated_us)
            purged_ids.append(memory.id)
    index.publish()
    for memory_id in purged_ids:
        index.purge(memory_id)
    return count


def _add(index: CollectionIndex, memory: Memory, replaces: int | None) -> None:
    vector = vector_of(memory, index.arrays.dimension)
    slot = index.add(memory, Features.of(memory.content, vector, index.tokenizer), replaces)
    if slot % _LOADED_AT_ONCE == 0:
        # Nobody reads it yet: this only lets go of the rows themselves.
        index.publish()


def set_access(index: CollectionIndex, access: Mapping[int, tuple[int, int]]) -> None:
    """Sets the access figures of an index that nobody reads yet."""
    if not access:
        return
    slots = index.slot_by_row.find_all(np.fromiter(access, np.int64))
    figures = np.array(list(access.values()), np.int64)
    known = slots >= 0
    index.set_access_of(slots[known], figures[known, 0], figures[known, 1])


def _expect_graph(index: CollectionIndex, saved: Saved, checkpoints: Checkpoints) -> int:
    """Has the graph of a checkpoint taken over in the background; how many slots it covers."""
    graph = saved.header["graph"]
    if graph is None or graph["parameters"] != hnsw.parameters():
        return 0
    epoch = checkpoints.epoch

    def read() -> hnsw.SavedGraph | None:
        try:
            again = checkpoints.open(saved.path)
            try:
                slots = np.empty(again.shape(GRAPH_SLOTS), np.int64)
                again.take(GRAPH_SLOTS, [slots])
                again.verify()
                path = again.checked_file(GRAPH)
            finally:
                again.close()
        except Exception as error:
            if checkpoints.epoch == epoch:
                _set_aside(checkpoints, saved.path, error)
            return None
        return hnsw.SavedGraph(path, path.stat().st_size, slots, graph["indexed"])

    index.graph.expect(read)
    return int(graph["indexed"])
