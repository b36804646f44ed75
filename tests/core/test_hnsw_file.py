"""A graph's file: its bytes become the graph, and numbers that lead nowhere are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hnswlib
import numpy as np
import pytest

from support.oracles_graph import links_of
from totonoe_core.index import hnsw, hnsw_file
from totonoe_core.index.dump_checks import Unsound
from totonoe_core.kernels.hnsw_file import copy_links, read_levels

DIMENSION, COUNT = 8, 400
STRIDE = 4 + 8 * hnsw.M + 4 * DIMENSION + 8
FIRST = hnsw_file._HEADER.size
AT = FIRST + COUNT * STRIDE


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    path = tmp_path_factory.mktemp("graph") / "graph"
    index = hnswlib.Index(space="ip", dim=DIMENSION)
    index.init_index(2 * COUNT, hnsw.M, hnsw.EF_CONSTRUCTION, random_seed=5)
    vectors = np.random.default_rng(3).normal(size=(COUNT, DIMENSION)).astype(np.float32)
    index.add_items(vectors, np.arange(COUNT)[::-1], num_threads=1)
    index.save_index(str(path))
    return path, np.fromfile(path, np.uint8)


def state_of(data: np.ndarray, label_end: int = COUNT) -> dict[str, Any]:
    return hnsw_file.state_of(data, DIMENSION, hnsw.M, hnsw.EF_CONSTRUCTION, label_end)


def test_graph_of_the_bytes_answers_and_grows_as_one_that_hnswlib_loads(
    saved: tuple[Path, np.ndarray],
) -> None:
    path, data = saved
    theirs = hnswlib.Index(space="ip", dim=DIMENSION)
    theirs.load_index(str(path), max_elements=COUNT + 50)
    ours = hnswlib.Index.__new__(hnswlib.Index)
    ours.__setstate__(({**state_of(data), "max_elements": COUNT + 50},))
    queries = np.random.default_rng(4).normal(size=(50, DIMENSION)).astype(np.float32)
    for index in (theirs, ours):
        index.set_ef(100)
    found = [index.knn_query(queries, k=10, num_threads=1) for index in (theirs, ours)]
    assert found[0][0].tolist() == found[1][0].tolist()
    assert found[0][1].tolist() == found[1][1].tolist()
    assert ours.max_elements == COUNT + 50
    ours.add_items(queries, np.arange(COUNT, COUNT + 50), num_threads=1)
    assert sorted(ours.get_ids_list()) == list(range(COUNT + 50))
    assert ours.knn_query(queries, k=1, num_threads=1)[0].ravel().tolist()


def checked(data: np.ndarray) -> bool:
    """What the kernels say of the links."""
    levels = np.zeros(COUNT, np.int32)
    size = read_levels(data, AT, 4 + 4 * hnsw.M, levels)
    if size < 0:
        return False
    links = np.empty(size, np.uint8)
    return copy_links(data, FIRST, STRIDE, AT, 2 * hnsw.M, hnsw.M, levels, links)


def test_links_are_accepted_as_by_the_slow_twin(saved: tuple[Path, np.ndarray]) -> None:
    rng = np.random.default_rng(9)
    _, sound = saved
    assert checked(sound)
    refused = 0
    for number in range(300):
        data = sound.copy()
        if number % 5 == 0:
            data = data[: int(rng.integers(AT, len(data)))].copy()
        else:
            # Among the links of the lowest level, or above it.
            place = AT + int(rng.integers(len(data) - AT))
            if number % 5 < 3:
                element = FIRST + int(rng.integers(COUNT)) * STRIDE
                place = element + int(rng.integers(4 + 8 * hnsw.M))
            data[place] = int(rng.integers(256))
        expected = links_of(data.tobytes(), FIRST, STRIDE, AT, hnsw.M) is not None
        assert checked(data) == expected, number
        refused += not expected
    assert 20 < refused < 300


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        (0, 1, "header"),  # where the elements begin
        (16, 0, "count"),
        (16, 2**40, "count"),
        (24, STRIDE + 8, "header"),
        (32, 0, "header"),  # where the label is
        (48, 9, "entry"),  # the highest level
        (56, 17, "header"),
        (80, 0, "level factor"),
        (FIRST + STRIDE - 8, COUNT, "labels"),
        (FIRST + STRIDE - 8, 5, "labels"),  # twice
    ],
)
def test_number_that_leads_nowhere_is_refused(
    saved: tuple[Path, np.ndarray], place: int, value: int, named: str
) -> None:
    data = saved[1].copy()
    size = 4 if place == 48 else 8
    data[place : place + size] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)
    with pytest.raises(Unsound, match=named):
        state_of(data)


def test_entry_and_label_end_are_held_to(saved: tuple[Path, np.ndarray]) -> None:
    data = saved[1].copy()
    with pytest.raises(Unsound, match="count"):
        state_of(data, COUNT - 1)
    data[52:56] = np.frombuffer((COUNT).to_bytes(4, "little"), np.uint8)
    with pytest.raises(Unsound, match="entry"):
        state_of(data)
    for end in (0, 50, FIRST, FIRST + 10, AT, len(data) - 1):
        with pytest.raises(Unsound):
            state_of(saved[1][:end])


def test_slots_and_counts_of_a_saved_graph_are_held_to(saved: tuple[Path, np.ndarray]) -> None:
    _, data = saved
    slots = np.arange(COUNT, dtype=np.int64)
    parameters = DIMENSION, hnsw.M, hnsw.EF_CONSTRUCTION
    whole = np.zeros((0, DIMENSION), np.float32)
    assert hnsw_file.read_graph(data, *parameters, slots, COUNT, COUNT, whole).indexed == COUNT
    for wrong, indexed in ((slots - 2, COUNT), (slots + 1, COUNT), (slots, COUNT + 1), (slots, -1)):
        with pytest.raises(Unsound):
            hnsw_file.read_graph(data, *parameters, wrong, indexed, COUNT, whole)
    basis = np.ones((DIMENSION, DIMENSION), np.float32)
    for bad in (np.vstack([basis, basis]), basis[:, 1:], basis * np.nan, basis[0]):
        with pytest.raises(Unsound, match="graph_basis"):
            hnsw_file.read_graph(data, *parameters, slots, COUNT, COUNT, bad)
