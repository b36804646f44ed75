"""The cosine join against every pair written out, whatever the blocks."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracles_joins
from totonoe_core.index.arrays import CHUNK, Arrays, View
from totonoe_core.joins import cosine
from totonoe_core.joins.cosine import cosine_pairs

NO_TOKENS = np.zeros(0, np.uint64)


def view_of(vectors: np.ndarray) -> View:
    arrays = Arrays(vectors.shape[1])
    for vector in vectors.astype(np.float32):
        arrays.append({}, vector, NO_TOKENS)
    arrays.publish()
    return arrays.view()


def unit(rows: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / np.where(norms == 0.0, 1.0, norms)).astype(np.float32)


def clustered(seed: int, count: int, dimension: int, spread: float) -> np.ndarray:
    """Unit rows: clusters, exact copies and one zero vector, on an anisotropic ground."""
    rng = np.random.default_rng(seed)
    ground = 1.0 / np.arange(1, dimension + 1) ** 0.5
    centres = rng.standard_normal((max(1, count // 8), dimension)) * ground
    rows = centres[rng.integers(0, len(centres), count)]
    rows = unit(rows + spread * rng.standard_normal((count, dimension)) * ground)
    copies = rng.integers(0, count, count // 5)
    rows[rng.integers(0, count, len(copies))] = rows[copies]
    rows[0] = 0.0
    return rows


def joined(view, slots, distance_below, **options) -> dict:
    found = {}
    for pairs in cosine_pairs(view, np.asarray(slots, np.int64), distance_below, **options):
        assert len(pairs.a)
        for a, b, distance in zip(*(part.tolist() for part in pairs), strict=True):
            assert a < b
            assert (a, b) not in found, "each pair once"
            found[a, b] = distance
    return found


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cosine, "_FIRST_BLOCK", 3)
    monkeypatch.setattr(cosine, "_BLOCK", 13)
    monkeypatch.setattr(cosine, "_SLICE", 5)


@pytest.mark.parametrize("dimension", [1, 3, 97, 384])
@pytest.mark.parametrize("distance", [0.05, 0.3, 1.2])
def test_join_of_clusters_equals_twin_bit_for_bit(dimension: int, distance: float) -> None:
    vectors = clustered(dimension, 40, dimension, 0.3)
    found = joined(view_of(vectors), range(40), distance)
    assert found == oracles_joins.cosine_pairs(vectors, distance)


@pytest.mark.usefixtures("small_blocks")
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    changed=st.none() | st.sets(st.integers(0, 44), max_size=45),
    width=st.sampled_from((1, 2, 8, 30)),
    distance=st.sampled_from((0.0, 0.01, 0.1, 0.4, 1.0, 2.1)),
)
def test_join_in_any_blocks_with_any_changes_equals_twin(seed, changed, width, distance) -> None:
    vectors = clustered(seed, 40, 24, 0.2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cosine, "_width", lambda _: width)
        found = joined(view_of(vectors), range(40), distance, changed=changed)
    assert found == oracles_joins.cosine_pairs(vectors, distance, changed)


@pytest.mark.usefixtures("small_blocks")
def test_join_of_pairs_on_the_border_is_decided_by_the_canonical_distance() -> None:
    # The threshold is each distance in turn, bit for bit: that pair is out, nearer ones are in.
    vectors = clustered(5, 24, 64, 0.1)
    view = view_of(vectors)
    every = oracles_joins.cosine_pairs(vectors, 3.0)
    for distance in sorted(every.values())[:: len(every) // 12]:
        for threshold in (distance, np.nextafter(distance, 4.0)):
            below = {pair: value for pair, value in every.items() if value < threshold}
            assert joined(view, range(24), float(threshold)) == below


@pytest.mark.usefixtures("small_blocks")
def test_join_of_copies_finds_every_pair() -> None:
    vectors = np.repeat(clustered(2, 3, 16, 0.1)[1:2], 60, axis=0)
    found = joined(view_of(vectors), range(60), 1e-6)
    assert sorted(found) == list(itertools.combinations(range(60), 2))


def test_join_of_several_chunks_and_a_selection_names_slots() -> None:
    # Three chunks, nearly all slots zero: only the chosen ones are looked at.
    view = Arrays(4)
    for _ in range(2 * CHUNK + 10):
        view.append({}, np.zeros(4, np.float32), NO_TOKENS)
    view.publish()
    taken = view.view()
    chosen = [5, CHUNK - 1, CHUNK, CHUNK + 7, 2 * CHUNK + 9]
    for slot in [*chosen, 6]:
        chunk, at = taken.chunk_of(slot)
        chunk.vectors[at] = (0.0, 0.6, 0.8, 0.0)
    slots = [*reversed(chosen), 5]
    assert sorted(joined(taken, slots, 0.1)) == list(itertools.combinations(chosen, 2))
    some = joined(taken, slots, 0.1, changed=[CHUNK, 6])
    assert sorted(some) == [pair for pair in itertools.combinations(chosen, 2) if CHUNK in pair]


def test_join_of_nothing_or_without_changes_is_empty() -> None:
    view = view_of(clustered(1, 10, 8, 0.1))
    assert joined(view, [], 2.1) == {}
    assert joined(view, range(10), 2.1, changed=()) == {}
    assert joined(view, range(10), 2.1, changed=[11]) == {}
    assert joined(view, [3], 2.1) == {}


@pytest.mark.usefixtures("small_blocks")
def test_join_that_is_stopped_ends_before_the_next_block() -> None:
    view = view_of(np.repeat(clustered(2, 3, 16, 0.1)[1:2], 60, axis=0))
    stop = threading.Event()
    stream = cosine_pairs(view, np.arange(60), 0.1, stop=stop)
    assert len(next(stream).a)
    stop.set()
    assert list(stream) == []


def test_join_of_the_same_view_gives_the_same_stream() -> None:
    view = view_of(clustered(8, 50, 200, 0.3))
    first, again = (list(cosine_pairs(view, np.arange(50), 0.3)) for _ in range(2))
    assert [tuple(map(bytes, pairs)) for pairs in first] == [
        tuple(map(bytes, pairs)) for pairs in again
    ]
