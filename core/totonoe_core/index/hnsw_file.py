"""Parser of the file that hnswlib 0.8 saves, into the state that it can load from memory.

    header     96 bytes: places within an element, counts, parameters; see `_HEADER`
    elements   links of the lowest level (count, then numbers of elements), vector, label
    links      for each element the size of its links above the lowest level, and these

hnswlib itself would open a file by name a second time, after its checksum was compared, and follow
every number in it. So this module parses the compared bytes, checks each number, and gives hnswlib
the state that it pickles.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.index.dump_checks import Unsound, require
from totonoe_core.kernels.hnsw_file import copy_links, read_levels

_HEADER = struct.Struct("=6QiI3QdQ")
"""Header of the file.

Offset of the elements, capacity, count, bytes of an element, places of its label and vector;
highest level, entry; most links above and on the lowest level, M; level factor, efConstruction.
"""


@dataclass(frozen=True, slots=True)
class ReadGraph:
    """A saved graph in memory, checked.

    `state` is the state for hnswlib; the others are as in `hnsw.SavedGraph`.
    """

    state: dict[str, Any]
    slots: NDArray[np.int64]
    indexed: int
    basis: NDArray[np.float32]


def read_graph(
    data: NDArray[np.uint8],
    dimension: int,
    m: int,
    ef_construction: int,
    slots: NDArray[np.int64],
    indexed: int,
    slot_count: int,
    basis: NDArray[np.float32],
) -> ReadGraph:
    """Read a graph from the bytes of its file, saved when there were `slot_count` slots.

    Its elements are along `basis float32[width, dimension]` if that has rows, else whole vectors.
    Raises `Unsound` if any number in it is out of range.
    """
    require(basis.ndim == 2 and basis.shape[1] == dimension, "graph_basis")
    require(len(basis) <= dimension, "graph_basis")
    require(bool(np.isfinite(basis).all()), "graph_basis")
    require(slots.ndim == data.ndim == 1, "graph_slots")
    require(not len(slots) or (slots.min() >= -1 and slots.max() < slot_count), "graph_slots")
    require(type(indexed) is int and 0 <= indexed <= slot_count, "indexed")
    state = state_of(data, len(basis) or dimension, m, ef_construction, len(slots))
    return ReadGraph(state, slots, indexed, basis)


def state_of(
    data: NDArray[np.uint8], dimension: int, m: int, ef_construction: int, label_end: int
) -> dict[str, Any]:
    """Return the state for `hnswlib.Index.__setstate__`, with room for the present elements only.

    Parameters
    ----------
    data : uint8[n]
        The bytes of an untrusted file. The state refers to parts of them.
    label_end : int
        All labels must be below this.

    Raises
    ------
    Unsound
        A number does not fit.
    """
    require(len(data) >= _HEADER.size, "graph")
    (
        offset, _, count, stride, label_at, vector_at,
        highest, entry, upper_max, lowest_max, m_found, factor, ef_found,
    ) = _HEADER.unpack_from(data.data)  # fmt: skip
    lowest = 4 + 4 * 2 * m
    said = offset, vector_at, label_at, stride, lowest_max, upper_max, m_found, ef_found
    here = 0, lowest, lowest + 4 * dimension, lowest + 4 * dimension + 8, 2 * m, m, m
    require(said == (*here, ef_construction), "header of the graph")
    require(math.isclose(factor, 1 / math.log(m)), "level factor of the graph")
    links_at = _HEADER.size + count * stride
    require(0 < count <= label_end and links_at <= len(data), "count of the graph")
    levels = np.zeros(count, np.int32)
    link_bytes = read_levels(data, links_at, 4 + 4 * m, levels)
    require(link_bytes >= 0, "levels of the graph")
    require(entry < count and levels[entry] == highest == levels.max(), "entry of the graph")
    links = np.empty(link_bytes, np.uint8)
    if not copy_links(data, _HEADER.size, stride, links_at, 2 * m, m, levels, links):
        raise Unsound("a link of the graph leads nowhere")
    elements = data[_HEADER.size : links_at]
    labels = elements.reshape(count, stride)[:, label_at:].copy().view(np.uint64).ravel()
    distinct = len(np.unique(labels)) == count
    require(distinct and int(labels.max()) < label_end, "labels of the graph")
    return {
        "ser_version": 1,
        "space": "ip",
        "dim": dimension,
        "index_inited": True,
        "ep_added": True,
        "normalize": False,
        "num_threads": 1,
        "seed": 0,
        "offset_level0": 0,
        "max_elements": count,
        "cur_element_count": count,
        "size_data_per_element": stride,
        "label_offset": label_at,
        "offset_data": vector_at,
        "max_level": highest,
        "enterpoint_node": entry,
        "max_M": upper_max,
        "max_M0": lowest_max,
        "M": m,
        "mult": factor,
        "ef_construction": ef_construction,
        "ef": ef_construction,
        "has_deletions": False,
        "size_links_per_element": 4 + 4 * m,
        "allow_replace_deleted": False,
        "label_lookup_external": labels,
        "label_lookup_internal": np.arange(count, dtype=np.uint32),
        "element_levels": levels,
        "data_level0": elements.view(np.int8),
        "link_lists": links.view(np.int8),
    }
