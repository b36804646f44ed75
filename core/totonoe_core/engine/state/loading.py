"""Loading of an index: from the newest fitting checkpoint and later rows, or from all rows.

A checkpoint fits if it belongs to this file's history up to a revision that the file has, with the
same model and tokenizer, and made by the same code. A fault of one costs time and nothing else.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import Memory, Status
from totonoe_core.index import dump, hnsw, recipe, stored_reading
from totonoe_core.index.collection_index import Added, CollectionIndex, vector_of
from totonoe_core.index.hnsw_file import ReadGraph, read_graph
from totonoe_core.store.checkpoint import Checkpoints, Damaged, Header, Outdated, Saved
from totonoe_core.store.seam import CollectionFile

_log = logging.getLogger(__name__)

RETIRED_SHARE_MAX = 0.3
"""Share of retired slots from which on an index is compacted when opened."""
_LOADED_AT_ONCE = 1024
Changed = list[tuple[Memory, bytes]]
"""Some memories, each once, with the stored readings of their texts."""
_CHANGING = ("model", "dimension", "model_since", "tokenizer", "made_by")
GRAPH, GRAPH_SLOTS, GRAPH_BASIS = "graph", "graph_slots", "graph_basis"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A good checkpoint: revision, time, size, and number of slots in its graph (0: no graph)."""

    path: Path
    revision: int
    saved_us: int
    bytes: int
    graph_slots: int


@dataclass(frozen=True, slots=True)
class Opening:
    """Way in which a collection was opened: its checkpoint, and the number of rows read."""

    checkpoint: Checkpoint | None
    replayed_count: int
    seconds: float


def header_of(
    file: CollectionFile, info: CollectionInfo, revision: int, now_us: int
) -> Header | None:
    """Return a manifest's description of a collection at a revision; `None` without history."""
    seal = file.rows.history.seal(revision)
    if seal is None:
        return None
    return {
        "collection": file.path.parent.name,
        "operation": list(seal),
        "model": info.model.key,
        "dimension": info.model.dimension,
        # A model may have made the vectors twice, and some may have been missing before.
        "model_since": [info.model_number, info.model_since],
        "tokenizer": info.guard.tokenizer.value,
        "made_by": recipe.made_by(),
        "saved_us": now_us,
    }


def opened(
    file: CollectionFile, info: CollectionInfo, revision: int
) -> tuple[CollectionIndex, Opening]:
    """Load the index of a collection's file.

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
        except (OSError, MemoryError) as error:
            # It may be sound, since the process is out of files or memory.
            _log.warning("checkpoint %s is not read: %s", _name(path), error)
            continue
        except Exception as error:
            # Not Damaged alone: its contents may raise any error.
            _set_aside(checkpoints, path, error)
            continue
        held = saved.header["revision"]
        replayed_count = replay(index, _with_readings(file, info, file.rows.memories_after(held)))
        if len(file.aside):
            break  # there are bad rows: all are looked at
        graph_slots = 0
        if index.retired_count() > RETIRED_SHARE_MAX * index.view().count:
            # As much of the graph is dead, so that it would be rebuilt in any case.
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
            # The purge was committed, but perhaps not finished.
            file.checkpoints.drop_all()
        else:
            file.checkpoints.remove_unfinished()
    except OSError as error:
        _log.warning("checkpoints of %s cannot be deleted: %s", file.path.parent.name, error)


def _set_aside(checkpoints: Checkpoints, path: Path, error: Exception) -> None:
    why = str(error) or repr(error)
    _log.warning("checkpoint %s is not used: %s", _name(path), why)
    try:
        checkpoints.set_aside(path, why)
    except OSError as refused:
        _log.warning("checkpoint %s cannot be set aside: %s", _name(path), refused)


def _drop(checkpoints: Checkpoints, path: Path, why: Outdated) -> None:
    _log.info("checkpoint %s is deleted: %s", _name(path), why)
    try:
        checkpoints.drop(path)
    except OSError as refused:
        _log.warning("checkpoint %s cannot be deleted: %s", _name(path), refused)


def _name(path: Path) -> str:
    return f"{path.parent.parent.name}/{path.name}"


def _loaded(
    path: Path, file: CollectionFile, info: CollectionInfo, revision: int
) -> tuple[CollectionIndex, Saved]:
    """Load the index of a checkpoint. Raises `Damaged`, and any error of foreign data."""
    saved = file.checkpoints.open(path)
    try:
        _check_fits(saved.header, file, info, revision)
        index = dump.load(
            saved,
            info.model.dimension,
            info.guard.tokenizer,
            info.model_number,
            file.rows.moment.last_row(),
        )
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
    """Build the index of all rows. Raises `Corruption`."""
    index = CollectionIndex(info.model.dimension, info.guard.tokenizer, info.model_number)
    there = (memory for memory in file.rows.all_memories() if memory.status is not Status.PURGED)
    for part in _with_readings(file, info, there):
        added = []
        for memory, reading in part:
            last_us, count = access.get(memory.row, (None, 0))
            memory = replace(memory, last_access_us=last_us, access_count=count)
            added.append(_added(index, memory, reading, None))
        index.add_all(added)
        # Nobody reads it yet, so publishing only frees the rows themselves.
        index.publish()
    return index


def _of_model(
    file: CollectionFile, info: CollectionInfo, memories: Iterable[Memory]
) -> Iterable[Memory]:
    """Yield memories of rows with their vectors of the collection's model, wherever stored."""
    return file.rows.beside.of_model(info.model_number, memories)


def _with_readings(
    file: CollectionFile, info: CollectionInfo, memories: Iterable[Memory]
) -> Iterator[Changed]:
    """Yield memories as `_of_model`, each with the stored reading of its text."""
    left = iter(_of_model(file, info, memories))
    while part := list(islice(left, _LOADED_AT_ONCE)):
        readings = file.rows.readings([memory.row for memory in part])
        yield [(memory, readings.get(memory.row, b"")) for memory in part]


def follows(before: CollectionInfo, info: CollectionInfo) -> bool:
    """Return whether an index of earlier settings is right for later ones, but for its rows.

    A collection without a dimension may have got one since.
    """
    same = before.model == info.model or before.model.dimension == 0
    return (
        same
        and before.model_number == info.model_number
        and before.guard.tokenizer is info.guard.tokenizer
    )


def changed_after(file: CollectionFile, info: CollectionInfo, revision: int) -> list[Changed]:
    """Return memories changed after a revision, as `replay` takes them."""
    return list(_with_readings(file, info, file.rows.memories_after(revision)))


def replay(index: CollectionIndex, changed: Iterable[Changed]) -> int:
    """Apply changed rows to an index, and publish them; return how many there were."""
    count, purged_ids = 0, []
    for part in changed:
        count += len(part)
        added = []
        for memory, reading in part:
            slot = index.slot_by_row.get(memory.row)
            if memory.status is not Status.PURGED:
                added.append(_added(index, memory, reading, slot))
            elif slot is not None:
                index.set_status(slot, Status.PURGED, memory.updated_us)
                purged_ids.append(memory.id)
        index.add_all(added)
        index.publish()
    for memory_id in purged_ids:
        index.purge(memory_id)
    return count


def _added(index: CollectionIndex, memory: Memory, reading: bytes, replaces: int | None) -> Added:
    vector = vector_of(memory, index.arrays.dimension)
    features = stored_reading.features_of(memory.content, vector, index.tokenizer, reading)
    return memory, features, replaces


def set_access(index: CollectionIndex, access: Mapping[int, tuple[int, int]]) -> None:
    """Set the access figures of an index that nobody reads yet."""
    if not access:
        return
    slots = index.slot_by_row.find_all(np.fromiter(access, np.int64))
    figures = np.array(list(access.values()), np.int64)
    known = slots >= 0
    index.set_access_of(slots[known], figures[known, 0], figures[known, 1])


def _expect_graph(index: CollectionIndex, saved: Saved, checkpoints: Checkpoints) -> int:
    """Let a checkpoint's graph be adopted in the background; return how many slots it covers."""
    graph = saved.header["graph"]
    if graph is None or graph["parameters"] != hnsw.parameters():
        return 0
    epoch, dimension = checkpoints.epoch, index.arrays.dimension
    (slot_count,) = saved.shape("status")

    def read() -> ReadGraph | None:
        try:
            again = checkpoints.open(saved.path)
            try:
                if again.header != saved.header:
                    raise Damaged("is not what it was when it was opened")
                slots = np.empty(again.shape(GRAPH_SLOTS), np.int64)
                again.take(GRAPH_SLOTS, [slots])
                data = np.empty(again.shape(GRAPH), np.uint8)
                again.take(GRAPH, [data])
                basis = np.empty(again.shape(GRAPH_BASIS), np.float32)
                again.take(GRAPH_BASIS, [basis])
            finally:
                again.close()
            return read_graph(
                data,
                dimension,
                hnsw.M,
                hnsw.EF_CONSTRUCTION,
                slots,
                graph["indexed"],
                slot_count,
                basis,
            )
        except (OSError, MemoryError) as error:
            _log.warning("the graph of %s is not read: %s", _name(saved.path), error)
        except Exception as error:
            if checkpoints.epoch == epoch:
                _set_aside(checkpoints, saved.path, error)
        return None

    index.graph.expect(read)
    return int(graph["indexed"])
