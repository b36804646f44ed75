"""The prefix scan finds what a full scan finds, on stores made to mislead it."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.engines import Store, opened, remember, unit, vector_at
from support.waits import wait_until
from totonoe_core.domain.policy import PRESETS, Preset
from totonoe_core.domain.records import Judgement, Method, Status, Verdict
from totonoe_core.guard.candidates import Probe, search
from totonoe_core.guard.cosines import Cosines
from totonoe_core.index import hnsw, prefix
from totonoe_core.index.arrays import STATUSES, Arrays
from totonoe_core.index.hnsw import Graph
from totonoe_core.index.prefix import SLACK, WIDTH, Prefix, leading_directions
from totonoe_core.index.selection import Selection, equal
from totonoe_core.index.token_index import TokenIndex

SEED = 30
NEVER_STOPS = threading.Event()
DIMS = (1, 3, 97, 384)


class AnyGraph:
    """A graph that is there and names nobody."""

    count = 1

    def search(self, *_: object) -> None:
        return None


def append(arrays: Arrays, vectors: np.ndarray, **columns: np.ndarray) -> None:
    for at, vector in enumerate(vectors):
        values = {name: column[at] for name, column in columns.items()}
        no_tokens = np.zeros(0, np.uint64)
        arrays.append({"status": STATUSES[Status.ACTIVE]} | values, vector, no_tokens)
    arrays.publish()


def fitted(vectors: np.ndarray) -> Prefix:
    found = Prefix(Arrays(vectors.shape[1]))
    append(found.arrays, vectors)
    found.maintain(NEVER_STOPS)
    return found


def units(rows: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms == 0.0, 1.0, norms)).astype(np.float32)


def ordered(vectors: np.ndarray, query: np.ndarray) -> np.ndarray:
    """`oracles.ordered_similarity` of each row: products in float64 are exact, sums in order."""
    return np.cumsum(vectors.astype(np.float64) * query.astype(np.float64), axis=1)[:, -1]


def isotropic(rng: np.random.Generator, dim: int) -> np.ndarray:
    return units(rng.normal(size=(300, dim)))


def copies(rng: np.random.Generator, dim: int) -> np.ndarray:
    rows = units(rng.normal(size=(20, dim)))
    return np.concatenate([rows[:10], np.repeat(rows[10:11], 1000, axis=0), rows])


def clusters(rng: np.random.Generator, dim: int) -> np.ndarray:
    centres = rng.normal(size=(6, dim))
    return units(centres[rng.integers(6, size=400)] + 1e-3 * rng.normal(size=(400, dim)))


def anisotropic(rng: np.random.Generator, dim: int) -> np.ndarray:
    scales = 1.0 / np.arange(1, dim + 1) ** 1.5
    return units(rng.normal(size=(400, dim)) * scales + 0.5 * scales)


def few_directions(rng: np.random.Generator, dim: int) -> np.ndarray:
    """All within the basis: residuals of zero length; and rows of zeros."""
    inside = rng.normal(size=(300, 5)) @ rng.normal(size=(5, dim))
    inside[::50] = 0.0
    return units(inside)


STORES = (isotropic, copies, clusters, anisotropic, few_directions)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.sampled_from(DIMS),
    before=st.sampled_from(STORES),
    after=st.sampled_from((None, *STORES)),
    extended=st.booleans(),
    noise=st.sampled_from((0.0, 1e-7, 0.05, 0.3)),
    ulps=st.sampled_from((-1, 0, 1)),
)
def test_prefix_scan_on_any_store_answers_as_brute_force(
    seed, dim, before, after, extended, noise, ulps
) -> None:
    """`after` is appended once the basis is fixed: drift, in the prefix or in the plain tail."""
    rng = np.random.default_rng(seed)
    vectors = before(rng, dim)
    found = fitted(vectors)
    if after is not None:
        more = after(rng, dim)[:250]
        append(found.arrays, more)
        vectors = np.concatenate([vectors, more])
        if extended:
            found.maintain(NEVER_STOPS)
            assert found.built == len(vectors)
    view = found.arrays.view()
    query = unit(vectors[rng.integers(len(vectors))] + noise * rng.normal(size=dim) + 1e-30)
    mask = rng.random(len(vectors)) < 0.8
    exactly = ordered(vectors, query)
    masked = np.where(mask, exactly, -np.inf)
    best = int(np.argmax(masked))
    others = masked[masked >= 0.75]
    thresholds = [0.5, 0.75, 0.85, 0.95, 0.999, masked[best], *rng.permutation(others)[:3]]
    for threshold in thresholds:
        for _ in range(abs(ulps)):
            threshold = float(np.nextafter(threshold, np.inf * ulps))
        slots, similarity = found.reaching(view, query, mask, threshold)
        assert set(np.flatnonzero(masked >= threshold)) <= set(slots.tolist())
        assert (masked[slots] >= threshold - 2 * SLACK).all()
        assert (np.diff(slots) > 0).all()
        np.testing.assert_allclose(similarity, exactly[slots], rtol=0, atol=2e-6)
        # A column that says nothing here stands for whatever is asked.
        view.chunks[0].columns["importance"][: len(mask)] = mask
        asked = Selection(view, equal("importance", 1))
        cosines = Cosines(view, query, asked, 0.75, found, None)
        expected = (best, masked[best]) if masked[best] >= threshold else (-1, None)
        if 0.75 <= threshold <= 1.0:
            assert cosines.best(asked, float(threshold)) == expected, (seed, threshold)


def test_prefix_below_its_least_count_is_not_due_and_scans_plainly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prefix, "FROM_COUNT", 300)
    vectors = isotropic(np.random.default_rng(SEED), 16)
    found = Prefix(Arrays(16))
    append(found.arrays, vectors[:299])
    assert not found.due()
    slots, _ = found.reaching(found.arrays.view(), vectors[7], np.ones(299, np.bool_), 0.99)
    assert (slots.tolist(), found.built, found.nbytes()) == ([7], 0, 0)
    append(found.arrays, vectors[299:])
    assert found.due()


def test_prefix_takes_its_tail_in_and_is_fitted_anew_when_outgrown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prefix, "FROM_COUNT", 100)
    monkeypatch.setattr(prefix, "_TAIL_MIN", 20)
    vectors = isotropic(np.random.default_rng(SEED), 100)
    found = Prefix(Arrays(100))
    append(found.arrays, vectors[:100])
    fits = []
    real = prefix.leading_directions
    monkeypatch.setattr(
        prefix,
        "leading_directions",
        lambda sample, rng: fits.append(len(sample)) or real(sample, rng),
    )
    found.maintain(NEVER_STOPS)
    assert (found.built, found.due(), fits) == (100, False, [100])
    append(found.arrays, vectors[100:120])
    assert not found.due()
    append(found.arrays, vectors[120:121])
    assert found.due()
    found.maintain(NEVER_STOPS)
    assert (found.built, found.due(), fits) == (121, False, [100])
    append(found.arrays, vectors[121:200])
    found.maintain(NEVER_STOPS)
    assert (found.built, found.due(), fits) == (200, False, [100, 200])
    monkeypatch.setattr(prefix, "SAMPLE_MAX", 50)
    append(found.arrays, np.concatenate([vectors, vectors[:100]]))
    found.maintain(NEVER_STOPS)
    assert (found.built, fits[2:]) == (600, [50]), "a sample is enough"


def test_prefix_told_to_stop_stays_as_it_was() -> None:
    stop = threading.Event()
    stop.set()
    vectors = isotropic(np.random.default_rng(SEED), 16)
    found = fitted(vectors[:100])
    append(found.arrays, vectors[100:])
    found.maintain(stop)
    assert found.built == 100


def test_prefix_never_reads_slots_that_are_not_published() -> None:
    """The writer's undecided slots lie in the plain tail, and may be other ones the next time."""
    vectors = isotropic(np.random.default_rng(SEED), 16)
    found = fitted(vectors[:100])
    for at in (100, 101):
        found.arrays.append({}, vectors[at], np.zeros(0, np.uint64))
    found.maintain(NEVER_STOPS)
    assert found.built == 100
    found.arrays.truncate(100)
    found.arrays.append({}, vectors[200], np.zeros(0, np.uint64))
    view = found.arrays.writer_view()
    slots, _ = found.reaching(view, vectors[200], np.ones(101, np.bool_), 0.9999)
    assert slots.tolist() == [100]


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("store", STORES)
def test_leading_directions_of_any_sample_are_orthonormal(store, dim: int) -> None:
    rng = np.random.default_rng(SEED)
    sample = store(rng, dim)
    basis = leading_directions(sample, rng).astype(np.float64)
    assert basis.shape == (WIDTH, dim)
    count = min(dim, WIDTH)
    np.testing.assert_allclose(basis[:count] @ basis[:count].T, np.eye(count), atol=1e-6)
    assert not basis[count:].any()
    if dim > WIDTH:
        along = np.square(sample.astype(np.float64) @ basis.T).sum()
        best = np.square(np.linalg.svd(sample.astype(np.float64), compute_uv=False)[:WIDTH]).sum()
        assert along >= 0.9 * best, "nearly as much as 64 directions can hold"


def policies():
    ego, robotmem = PRESETS[Preset.EGO], PRESETS[Preset.ROBOTMEM]
    return {
        "standard": PRESETS[Preset.STANDARD],
        "ego": ego,
        "robotmem": replace(robotmem, jaccard_above=None),
        "session": replace(ego, cosine_distance_below=None, session_cosine_at_least=0.8),
        "wider session": replace(ego, session_cosine_at_least=0.8),
        "far": replace(ego, cosine_distance_below=0.9),
    }


@pytest.mark.parametrize("name", policies())
def test_guard_with_prefix_and_graph_decides_as_without(name: str) -> None:
    rng = np.random.default_rng([SEED, *name.encode()])
    policy, dim, count = policies()[name], 80, 500
    vectors = units(
        rng.normal(size=(12, dim))[rng.integers(12, size=count)]
        + 0.2 * rng.normal(size=(count, dim))
    )
    vectors[100:120] = vectors[3]
    arrays = Arrays(dim)
    sessions = rng.integers(3, size=count)
    append(
        arrays,
        vectors,
        payload_hash=rng.integers(2, size=count).astype(np.uint64),
        session=sessions,
    )
    found = Prefix(arrays)
    found.maintain(NEVER_STOPS)
    view = arrays.view()
    refused = 0
    for step in range(60):
        base = vectors[rng.integers(count)]
        cosine = float(rng.choice([1.0, 0.9500001, 0.9499999, 0.96, 0.85, 0.8000001, 0.5]))
        words = tuple(np.flatnonzero(vectors @ base > 0.97).tolist())
        probe = Probe(
            vector=vector_at(base, cosine, step),
            tokens=np.zeros(0, np.uint64),
            payload=int(rng.integers(2)),
            session=int(rng.integers(3)),
            text_nominees=(),
            words_nominees=words,
            confirm_text=lambda _: False,
            judge=lambda slot, _: SAYS_THE_SAME if slot % 19 == 0 else RELATED,
            fetch=lambda _: None,
        )
        view.chunks[0].columns["importance"][:count] = rng.random(count) < 0.7
        comparable = Selection(view, equal("importance", 1))
        plain = search(view, probe, policy, comparable, comparable, True, TokenIndex())
        fast = search(
            view, probe, policy, comparable, comparable, True, TokenIndex(), found, AnyGraph()
        )
        where = f"seed {SEED}, {name}, step {step}"
        assert (fast.slot, fast.method) == (plain.slot, plain.method), where
        if plain.slot >= 0:
            refused += 1
            assert fast.similarity == plain.similarity, where
        assert fast.near == plain.near, where
        for layer, other in zip(fast.layers, plain.layers, strict=True):
            assert (layer.ran, layer.skipped_because) == (other.ran, other.skipped_because)
            assert layer.best_similarity in (None, other.best_similarity), where
            if layer.layer is fast.method:
                assert layer.best_similarity is not None, "who refuses knows the best"
    assert refused >= 5, f"{refused}: the store is worth something"
    assert refused <= 55 or name == "far", f"{refused}: the store is worth something"


SAYS_THE_SAME = Judgement(Verdict.DUPLICATE, 1.0, ())
RELATED = Judgement(Verdict.RELATED, 1.0, ())


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for module in (hnsw, prefix):
        monkeypatch.setattr(module, "FROM_COUNT", 200)
        monkeypatch.setattr(module, "_TAIL_MIN", 50)
    with opened(tmp_path, client_vector_dimension=16) as opened_store:
        opened_store.set(("guard.preset", "ego"))
        yield opened_store


def fill(store: Store, vectors: np.ndarray) -> list[str]:
    commands = [
        remember(f"text {at}", vector=vector, force=True) for at, vector in enumerate(vectors)
    ]
    saved = [result.memory_id for result in store.apply(*commands).results]
    # The prefix is brought up to date before the graph.
    wait_until(lambda: store.stats().hnsw_count == len(vectors))
    return saved


@pytest.mark.parametrize("answer", ["nothing", "the wrong ones", "an error"])
def test_guard_with_a_graph_that_lies_still_refuses_and_names_the_same(
    store: Store, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    vectors = isotropic(np.random.default_rng(SEED), 16)
    saved = fill(store, vectors)
    answers = {
        "nothing": (np.zeros(0, np.int64), 300),
        "the wrong ones": (np.arange(20, 60), 300),
        "an error": None,
    }
    monkeypatch.setattr(Graph, "search", lambda *_: answers[answer])
    for at in (0, 123, 299):
        found = store.do(remember(f"again {at}", vector=vectors[at]))
        assert (found.saved, found.memory_id) == (False, saved[at])
        assert found.guard.layers[2].best_similarity == pytest.approx(1.0, abs=1e-6)


def test_guard_with_prefix_and_graph_links_the_nearest_and_tells_no_best_it_does_not_know(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = isotropic(np.random.default_rng(SEED), 16)
    saved = fill(store, vectors)
    # Links are exact: whatever the graph would say.
    monkeypatch.setattr(Graph, "search", lambda *_: (np.arange(20, 60), 300))
    # One in the graph, one behind it.
    behind = vector_at(vectors[50], 0.8, 1)
    saved.append(store.save("behind", vector=behind))
    query = unit(vectors[50] + behind)
    exactly = ordered(np.concatenate([vectors, behind[np.newaxis]]), query)
    assert 0.9 < exactly.max() < 0.95
    found = store.do(remember("new", vector=query))
    nearest = np.argsort(-exactly, kind="stable")
    expected = [saved[at] for at in nearest if 1.0 - exactly[at] < 0.3][:5]
    assert found.saved
    assert [link.target_id for link in found.links] == expected
    assert {saved[50], saved[300]} <= set(expected)
    layer = found.guard.layers[2]
    assert (layer.layer, layer.ran, layer.best_similarity) == (Method.COSINE, True, None)
    assert found.guard.similarity == exactly.max(), "the nearest neighbour's"


@pytest.mark.parametrize("made", [isotropic, copies, clusters, anisotropic])
@pytest.mark.parametrize("dim", [3, 97])
def test_scan_for_many_finds_for_each_what_a_scan_for_it_does(
    made: object, dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefix, "FROM_COUNT", 32)
    monkeypatch.setattr(prefix, "_PRODUCTS_MAX", 500)
    rng = np.random.default_rng(SEED)
    rows = made(rng, dim)
    found = fitted(rows)
    append(found.arrays, rows[:70])
    view = found.arrays.view()
    assert 0 < found.built < view.count, "a tail that has no prefix yet is looked at too"
    mask = rng.random(view.count) < 0.8
    queries = np.concatenate([rows[:6], units(rng.normal(size=(3, dim)))])
    for threshold in (0.999, 0.5):
        for count in (9, 2, 0):
            together = found.reaching_many(view, queries[:count], mask, threshold)
            assert len(together) == count
            for query, (slots, similarity) in zip(queries, together, strict=False):
                exact = ordered(view.vectors(np.arange(view.count)), query)
                assert set(np.flatnonzero(mask & (exact >= threshold)).tolist()) <= set(
                    slots.tolist()
                ), f"seed {SEED}"
                assert mask[slots].all()
                assert (np.diff(slots) > 0).all()
                assert (exact[slots] >= threshold - 2 * SLACK).all()
                np.testing.assert_allclose(similarity, exact[slots], rtol=0, atol=2e-6)


def test_scan_for_many_without_a_fit_scores_all() -> None:
    rows = isotropic(np.random.default_rng(SEED), 97)
    found = Prefix(Arrays(97))
    append(found.arrays, rows)
    assert found.built == 0
    every = np.ones(len(rows), np.bool_)
    together = found.reaching_many(found.arrays.view(), rows[:5], every, 0.99)
    assert [slots.tolist() for slots, _ in together] == [[0], [1], [2], [3], [4]]
