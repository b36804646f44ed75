"""The graph of a collection: as good as exact for what it finds, and never alone."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from support import oracles
from support.engines import Store, forget, opened, remember, unit, update
from support.waits import wait_s, wait_until
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.domain.queries import RecallQuery
from totonoe_core.domain.records import Status
from totonoe_core.index import arrays as arrays_module
from totonoe_core.index import hnsw
from totonoe_core.index.arrays import RETIRED, STATUSES, Arrays
from totonoe_core.index.hnsw import Graph, ReadersWriterLock
from totonoe_core.search import arms

DIMENSION = 16
SEED = 20
NEVER_STOPS = threading.Event()
FROM_COUNT = 1024


def clustered(count: int, seed: int = SEED) -> np.ndarray:
    """float32[count, 16]: groups of near vectors, in some directions more than in others."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(40, DIMENSION))
    rows = centres[rng.integers(40, size=count)] + 0.5 * rng.normal(size=(count, DIMENSION))
    turned = np.linalg.qr(np.random.default_rng(SEED).normal(size=(DIMENSION, DIMENSION)))[0]
    return np.array([unit(row) for row in rows * np.arange(1, DIMENSION + 1) ** -0.5 @ turned])


def filled(vectors: np.ndarray) -> Arrays:
    arrays = Arrays(DIMENSION)
    active = STATUSES[Status.ACTIVE]
    no_tokens = np.zeros(0, np.uint64)
    for row, vector in enumerate(vectors):
        arrays.append({"row": row + 1, "status": active}, vector, no_tokens)
    arrays.publish()
    return arrays


def live(arrays: Arrays) -> np.ndarray:
    return arrays.view().column("status") == STATUSES[Status.ACTIVE]


def append(arrays: Arrays, vectors: np.ndarray) -> None:
    no_tokens = np.zeros(0, np.uint64)
    for row, vector in enumerate(vectors, arrays.end + 1):
        arrays.append({"row": row, "status": STATUSES[Status.ACTIVE]}, vector, no_tokens)
    arrays.publish()


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return clustered(FROM_COUNT + 500)


@pytest.fixture(autouse=True, params=["whole", "narrow"])
def small(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A graph from few memories on, which is asked whether that is cheaper or not."""
    monkeypatch.setattr(hnsw, "NARROW", 12 if request.param == "narrow" else DIMENSION)
    monkeypatch.setattr(hnsw, "FROM_COUNT", FROM_COUNT)
    monkeypatch.setattr(arms, "STEP_ROWS", 0)


def test_graph_below_its_least_count_is_not_made(vectors: np.ndarray) -> None:
    graph = Graph(filled(vectors[: FROM_COUNT - 1]))
    assert not graph.due()
    assert graph.search(vectors[0], 5) is None
    ranking, how = arms.by_vector(graph.arrays.view(), vectors[0], live(graph.arrays), 5, graph)
    assert (how, ranking.slots[0]) == ("exact", 0)


def test_graph_answers_as_the_exact_search_does(vectors: np.ndarray) -> None:
    graph = Graph(filled(vectors))
    assert graph.due()
    graph.maintain(NEVER_STOPS)
    assert (graph.count, graph.indexed, graph.due()) == (len(vectors), len(vectors), False)
    view, mask = graph.arrays.view(), live(graph.arrays)
    rng = np.random.default_rng(SEED)
    hits = total = 0
    for _ in range(100):
        query = unit(vectors[rng.integers(len(vectors))] + 0.3 * rng.normal(size=DIMENSION))
        found, how = arms.by_vector(view, query, mask, 10, graph)
        exactly, _ = arms.by_vector(view, query, mask, 10, None)
        brute = np.argsort(-(vectors.astype(np.float64) @ query), kind="stable")[:10]
        assert how == "hnsw"
        assert set(exactly.slots.tolist()) == set(brute.tolist()), f"seed {SEED}"
        shared = {slot: at for at, slot in enumerate(exactly.slots.tolist())}
        for slot, similarity in zip(found.slots.tolist(), found.similarity.tolist(), strict=True):
            if slot in shared:
                assert similarity == exactly.similarity[shared[slot]], "scored exactly"
                hits += 1
        total += 10
    assert hits / total >= 0.99, f"recall@10 {hits / total} with seed {SEED}"


def test_narrow_graph_is_made_again_when_what_comes_lies_elsewhere(
    vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hnsw, "NARROW", 8)
    monkeypatch.setattr(hnsw, "_TAIL_MIN", 100)
    # What the first basis drops is all that the later ones have; eight directions hold both.
    flat = vectors * (np.arange(DIMENSION) < 4) + 1e-3
    near = np.array([unit(row) for row in flat])
    elsewhere = np.ascontiguousarray(near[:400, ::-1])
    arrays = filled(near[:FROM_COUNT])
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    before = graph._basis
    append(arrays, near[FROM_COUNT : FROM_COUNT + 400])
    graph.maintain(NEVER_STOPS)
    assert graph._basis is before, "more of the same fits"
    append(arrays, elsewhere)
    graph.maintain(NEVER_STOPS)
    assert graph.due()
    graph.maintain(NEVER_STOPS)
    assert graph._basis is not before
    assert not graph.due()
    found, _ = graph.search(elsewhere[0], 10)
    assert FROM_COUNT + 400 in found


def test_graph_keeps_whole_vectors_that_lie_in_no_direction() -> None:
    rng = np.random.default_rng(SEED)
    graph = Graph(filled(np.array([unit(row) for row in rng.normal(size=(FROM_COUNT, DIMENSION))])))
    graph.maintain(NEVER_STOPS)
    assert graph.count == FROM_COUNT
    assert len(graph._basis) == 0


def test_graph_leaves_the_tail_to_an_exact_scan(vectors: np.ndarray) -> None:
    arrays = filled(vectors[:FROM_COUNT])
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    append(arrays, vectors[FROM_COUNT:])
    assert graph.indexed == FROM_COUNT
    for slot in range(FROM_COUNT, len(vectors), 50):
        found, how = arms.by_vector(arrays.view(), vectors[slot], live(arrays), 3, graph)
        assert (how, found.slots[0]) == ("hnsw", slot)


def test_graph_takes_its_tail_in_and_is_made_again_when_too_much_is_dead(
    vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hnsw, "FROM_COUNT", 64)
    monkeypatch.setattr(hnsw, "_TAIL_MIN", 20)
    arrays = filled(vectors[:100])
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    append(arrays, vectors[100:125])
    assert graph.due()
    graph.maintain(NEVER_STOPS)
    assert (graph.indexed, graph.count) == (125, 125)
    for slot in range(0, 125, 3):
        arrays.pending_status[slot] = RETIRED if slot % 2 else STATUSES[Status.FORGOTTEN]
    arrays.publish()
    for slot in range(0, 125, 3):
        found, _ = arms.by_vector(arrays.view(), vectors[slot], live(arrays), 10, graph)
        assert not {item for item in found.slots.tolist() if item % 3 == 0}, "the dead stay away"
    assert graph.due()
    graph.maintain(NEVER_STOPS)
    assert graph.count == 125 - 42
    assert not graph.due()
    append(arrays, vectors[125:400])
    graph.maintain(NEVER_STOPS)
    assert (graph.indexed, graph.count) == (400, 400 - 42), "more than there was room for"
    found, how = arms.by_vector(arrays.view(), vectors[399], live(arrays), 1, graph)
    assert (how, found.slots[0]) == ("hnsw", 399)


def test_graph_with_too_few_that_pass_is_searched_exactly(vectors: np.ndarray) -> None:
    arrays = filled(vectors[:FROM_COUNT])
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    mask = np.zeros(FROM_COUNT, np.bool_)
    far = np.argsort(vectors[:FROM_COUNT] @ vectors[0])[:20]
    mask[far] = True
    found, how = arms.by_vector(arrays.view(), vectors[0], mask, 10, graph)
    assert how == "exact"
    assert set(found.slots.tolist()) <= set(far.tolist())
    assert len(found.slots) == 10


def test_graph_told_to_stop_stays_as_it_was(vectors: np.ndarray) -> None:
    stop = threading.Event()
    stop.set()
    graph = Graph(filled(vectors[:FROM_COUNT]))
    graph.maintain(stop)
    assert graph.search(vectors[0], 3) is None
    assert graph.due()


def test_graph_finds_what_came_back_to_life_after_it_was_built(vectors: np.ndarray) -> None:
    arrays = filled(vectors)
    arrays.pending_status[7] = STATUSES[Status.FORGOTTEN]
    arrays.publish()
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    assert graph.count == arrays.live_count == len(vectors) - 1
    arrays.pending_status[7] = STATUSES[Status.ACTIVE]
    arrays.publish()
    found, how = arms.by_vector(arrays.view(), vectors[7], live(arrays), 3, graph)
    assert (how, found.slots[0], arrays.live_count) == ("hnsw", 7, len(vectors))


def test_graph_that_has_too_many_back_is_made_again(
    vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hnsw, "_REVIVED_MAX", 3)
    arrays = filled(vectors)
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    for status in (Status.FORGOTTEN, Status.ACTIVE):
        assert not graph.due()
        for slot in range(4):
            arrays.pending_status[slot] = STATUSES[status]
        arrays.publish()
    assert graph.due()
    graph.maintain(NEVER_STOPS)
    assert not graph.due()
    labels, _ = graph.search(vectors[0], 50)
    assert len(set(labels.tolist())) == len(labels) >= 50


def test_graph_of_which_little_is_left_goes(vectors: np.ndarray) -> None:
    arrays = filled(vectors)
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    for slot in range(600):
        arrays.pending_status[slot] = STATUSES[Status.FORGOTTEN]
    arrays.publish()
    assert graph.due()
    graph.maintain(NEVER_STOPS)
    assert (graph.count, graph.due(), graph.search(vectors[0], 3)) == (0, False, None)
    found, how = arms.by_vector(arrays.view(), vectors[700], live(arrays), 3, graph)
    assert (how, found.slots[0]) == ("exact", 700)


def test_graph_answer_with_too_few_that_pass_is_not_filled_up_from_the_tail(
    vectors: np.ndarray,
) -> None:
    arrays = filled(vectors[:FROM_COUNT])
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    append(arrays, vectors[FROM_COUNT:])
    # All that is near is dead, and there is enough in the tail to answer with.
    for slot in np.argsort(-(vectors[:FROM_COUNT] @ vectors[0]))[:300].tolist():
        arrays.pending_status[slot] = STATUSES[Status.FORGOTTEN]
    arrays.publish()
    mask = live(arrays)
    similarity = np.where(mask, vectors.astype(np.float64) @ vectors[0], -2.0)
    found, _ = arms.by_vector(arrays.view(), vectors[0], mask, 200, graph)
    assert set(found.slots.tolist()) == set(np.argsort(-similarity)[:200].tolist())


@pytest.mark.parametrize("share", [0.9, 0.5, 0.25])
def test_graph_asked_for_a_part_finds_what_an_exact_search_of_it_does(
    vectors: np.ndarray, share: float
) -> None:
    arrays = filled(vectors)
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    rng = np.random.default_rng(SEED)
    mask = rng.random(len(vectors)) < share
    hits = 0
    for _ in range(20):
        query = unit(vectors[rng.integers(len(vectors))] + 0.3 * rng.normal(size=DIMENSION))
        found, _ = arms.by_vector(arrays.view(), query, mask, 10, graph)
        exactly, _ = arms.by_vector(arrays.view(), query, mask, 10, None)
        hits += len(set(found.slots.tolist()) & set(exactly.slots.tolist()))
    assert hits / 200 >= 0.99, f"recall@10 {hits / 200} with seed {SEED}"


def test_exact_search_is_taken_where_reading_all_is_cheaper(
    vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = filled(vectors)
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    # Ten of all: 10 + 64 slots are asked for, so 740 rows are the price.
    monkeypatch.setattr(arms, "STEP_ROWS", 10)
    mask = np.ones(len(vectors), np.bool_)
    assert arms.by_vector(arrays.view(), vectors[0], mask, 10, graph)[1] == "hnsw"
    mask[700:] = False
    assert arms.by_vector(arrays.view(), vectors[0], mask, 10, graph)[1] == "exact"


def test_graph_rates_its_answers_to_late_queries(
    vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = filled(vectors)
    graph = Graph(arrays)
    assert graph.recall_at_k() == (0.0, 0)
    graph.maintain(NEVER_STOPS)
    share, count = graph.recall_at_k()
    assert count == hnsw._RATED_AT_FIRST
    assert share >= 0.99
    ask(graph, vectors)
    assert graph.due()
    graph.maintain(NEVER_STOPS)
    assert not graph.due()
    share, count = graph.recall_at_k()
    assert count == 32
    assert share >= 0.99
    # One that names anything else but the near ones is told by its figure.
    monkeypatch.setattr(graph, "_nominated", lambda query, k: np.argsort(vectors @ query)[:k])
    ask(graph, vectors)
    graph.maintain(NEVER_STOPS)
    assert graph.recall_at_k() == (pytest.approx(share * 2 / 3), 48)


def ask(graph: Graph, vectors: np.ndarray) -> None:
    """Search often enough that the answers are rated."""
    for number in range(len(vectors) // 16):
        graph.search(vectors[number], 5)


def gaussian(count: int, dimension: int) -> np.ndarray:
    """float32[count, dimension] without any structure."""
    rows = np.random.default_rng(SEED).normal(size=(count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_vectors_without_structure_are_searched_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    # Few links and candidates stand for many memories: it finds as little as of 100,000.
    monkeypatch.setattr(hnsw, "M", 5)
    monkeypatch.setattr(Graph, "_ef_for", lambda *_: 40)
    vectors = gaussian(2000, 200)
    arrays = Arrays(200)
    append(arrays, vectors)
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    share, count = graph.recall_at_k()
    assert graph.recall_low and share < 0.9
    assert count == hnsw._DECIDING
    assert graph.search(vectors[5], 10) is None
    # The guard's links take what it finds: they are near memories, not all of the nearest.
    assert graph.search(vectors[5], 10, ef=64) is not None
    mask, queries = live(arrays), gaussian(2020, 200)[2000:]
    for query in queries:
        found, method = arms.by_vector(arrays.view(), query, mask, 10, graph)
        expected = np.sort(np.argsort(-(vectors @ query))[:10])
        assert method == "exact"
        assert np.array_equal(np.sort(found.slots), expected)
    # It is rated as before, so that it may come back.
    for number in range(2000 // 16):
        graph.search(vectors[number], 10)
    assert graph.due()


class Rated:
    """A graph that finds the share of the nearest that a test says."""

    def __init__(self, graph: Graph, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found = 10
        self._graph, self._vectors = graph, vectors
        monkeypatch.setattr(graph, "_nominated", self._nominated)

    def _nominated(self, query: np.ndarray, k: int) -> np.ndarray:
        near = np.argsort(-(self._vectors @ query))
        return np.concatenate([near[: self.found], near[100 : 100 + k]])

    def rated(self, found: int, times: int) -> bool:
        """Rate `times` * 16 answers with so many of the ten nearest; return `recall_low`."""
        self.found = found
        for _ in range(times):
            ask(self._graph, self._vectors)
            self._graph.maintain(NEVER_STOPS)
        return self._graph.recall_low


def test_low_recall_has_to_last_and_to_be_over_before_the_search_changes(
    vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = Graph(filled(vectors))
    graph.maintain(NEVER_STOPS)
    answers = Rated(graph, vectors, monkeypatch)
    assert not answers.rated(10, 4)
    assert not answers.rated(9, 2)  # of the last 64: 0.95
    assert answers.rated(9, 1)
    assert graph.search(vectors[0], 5) is None
    # 0.9 and 1.0 in turns: neither low enough to change to exact, nor good enough to change back.
    for found in (10, 9) * 8:
        assert answers.rated(found, 1)
    assert not answers.rated(10, 4)
    for found in (9, 10) * 8:
        assert not answers.rated(found, 1)
    assert graph.search(vectors[0], 5) is not None


def test_graph_that_is_made_again_is_rated_before_it_answers(
    vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = filled(vectors)
    graph = Graph(arrays)
    low: list[bool] = []
    shares = graph._shares_of_stored

    def watched(count: int, stop: threading.Event) -> list[float]:
        low.append(graph.recall_low)
        return shares(count, stop)

    monkeypatch.setattr(graph, "_shares_of_stored", watched)
    graph.maintain(NEVER_STOPS)
    assert not graph.recall_low
    for slot in range(FROM_COUNT // 2):
        arrays.pending_status[slot] = STATUSES[Status.FORGOTTEN]
    append(arrays, clustered(FROM_COUNT, SEED + 1))
    graph.maintain(NEVER_STOPS)
    assert low == [True, True] and not graph.recall_low


def test_rating_leaves_out_the_dead_and_takes_any_of_equal_copies(vectors: np.ndarray) -> None:
    copies = np.repeat(vectors[:20], 60, axis=0)
    arrays = filled(copies)
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    for slot in range(0, len(copies), 5):
        arrays.pending_status[slot] = STATUSES[Status.FORGOTTEN]
    arrays.publish()
    for number in range(100):
        graph.search(copies[11 * number], 5)
    graph.maintain(NEVER_STOPS)
    share, count = graph.recall_at_k()
    assert count > 0
    assert share >= 0.99


def test_searches_beside_a_graph_that_is_being_filled_find_what_was_there(
    vectors: np.ndarray,
) -> None:
    arrays = filled(vectors[:FROM_COUNT])
    graph = Graph(arrays)
    graph.maintain(NEVER_STOPS)
    wrong: list[int] = []
    done = threading.Event()

    def search() -> None:
        slot = 0
        while not done.is_set():
            slot = (slot + 37) % FROM_COUNT
            found, _ = arms.by_vector(arrays.view(), vectors[slot], live(arrays), 3, graph)
            if found.slots[0] != slot:
                wrong.append(slot)

    searcher = threading.Thread(target=search)
    searcher.start()
    for start in range(FROM_COUNT, len(vectors), 100):
        append(arrays, vectors[start : start + 100])
        graph.maintain(NEVER_STOPS)
    done.set()
    searcher.join(wait_s())
    assert not searcher.is_alive()
    assert not wrong
    assert (graph.indexed, graph.count) == (len(vectors), len(vectors))


def test_readers_writer_lock_lets_readers_in_together_and_writers_alone() -> None:
    lock = ReadersWriterLock()
    inside: list[str] = []
    both = threading.Barrier(2, timeout=wait_s())
    wrong: list[list[str]] = []

    def read() -> None:
        with lock.reading():
            both.wait()  # only passes if the other reader is inside too

    def write(name: str) -> None:
        for _ in range(50):
            with lock.writing():
                inside.append(name)
                if len(inside) != 1:
                    wrong.append(list(inside))
                inside.remove(name)

    threads = [threading.Thread(target=read) for _ in range(2)]
    threads += [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads[:2]:
        thread.start()
    for thread in threads[:2]:
        thread.join(wait_s())
    for thread in threads[2:]:
        thread.start()
    for thread in threads[2:]:
        thread.join(wait_s())
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong


@pytest.fixture
def small_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hnsw, "FROM_COUNT", 200)
    monkeypatch.setattr(hnsw, "_TAIL_MIN", 50)
    with opened(tmp_path, client_vector_dimension=DIMENSION) as store:
        store.set(("guard.link_distance_below", 0.0))
        yield store


def answers(store: Store, count: int) -> bool:
    """Whether the graph has so many memories and is rated."""
    stats = store.stats()
    return stats.hnsw_count == count and not stats.recall_low


def test_recall_of_a_collection_moves_to_the_graph_by_itself(
    small_graph: Store, vectors: np.ndarray
) -> None:
    store = small_graph
    commands = [
        remember(f"text {number}", vector=vectors[number], force=True) for number in range(300)
    ]
    saved = [result.memory_id for result in store.apply(*commands).results]

    def recall(vector: np.ndarray, k: int = 5):
        policy = DiversityPolicy(enabled=False)
        return store.recall(RecallQuery("anna", "", vector.tobytes(), k, diversity=policy))

    wait_until(lambda: answers(store, 300))
    for number in range(hnsw._RATED_QUERIES * 2):
        recall(vectors[number])
    wait_until(lambda: store.stats().recall_rated_count > 0)
    assert store.stats().recall_at_k >= 0.99
    found = recall(vectors[7])
    assert (found.vector_search, found.hits[0].memory.id) == ("hnsw", saved[7])
    store.do(forget(saved[7]))
    assert saved[7] not in {hit.memory.id for hit in recall(vectors[7], 50).hits}
    store.do(update(saved[8], vector=vectors[7]))
    hits = recall(vectors[7], 50).hits
    assert hits[0].memory.id == saved[8]
    assert len({hit.memory.id for hit in hits}) == len(hits)
    # Another tokenizer makes the index again; its slots are other ones than the graph's.
    store.set(("guard.tokenizer", "whitespace"))
    for at in (0, 8, 50, 299):
        expected = vectors[7] if at == 8 else vectors[at]
        assert recall(expected, 1).hits[0].memory.id == saved[at]
    store.reopen()
    assert recall(vectors[50], 1).hits[0].memory.id == saved[50]
    wait_until(lambda: answers(store, 299))
    assert recall(vectors[50], 1).vector_search == "hnsw"


def test_guard_of_a_collection_with_a_graph_but_no_prefix_asks_no_graph(
    small_graph: Store, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = small_graph
    store.set(("guard.preset", "ego"), ("guard.link_distance_below", 0.0))
    commands = [
        remember(f"text {number}", vector=vectors[number], force=True) for number in range(300)
    ]
    saved = [result.memory_id for result in store.apply(*commands).results]
    wait_until(lambda: answers(store, 300))

    def broken(*_: object) -> None:
        raise AssertionError("the guard asked the graph")

    monkeypatch.setattr(Graph, "search", broken)
    for at in (0, 123, 299):
        found = store.do(remember(f"again {at}", vector=vectors[at]))
        assert (found.saved, found.memory_id) == (False, saved[at])


def test_ef_is_lowered_only_for_who_searches_alone(vectors: np.ndarray) -> None:
    graph = Graph(filled(vectors))
    graph.maintain(NEVER_STOPS)
    told: list[int] = []

    class Told:
        def set_ef(self, ef: int) -> None:
            told.append(ef)

        def knn_query(self, *_: object, **__: object) -> None:
            if len(told) == 1:
                # Beside the first: one that wants less, and one that wants more.
                graph.search(vectors[1], 2, ef=8)
                graph.search(vectors[1], 2, ef=200)
            raise RuntimeError("nothing found")

    graph._index = Told()
    graph.search(vectors[0], 2, ef=50)
    assert told == [50, 200]
    graph.search(vectors[0], 2, ef=8)
    graph.search(vectors[0], 2)
    assert told[2:] == [8, max(hnsw.EF_MIN, int(12 * np.log2(len(vectors) + 1)))]


@pytest.mark.parametrize("limit", [1, 7, 25, 80])
def test_exact_search_is_brute_force_with_ties_by_row(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(arrays_module, "CHUNK", 16)
    vectors = clustered(70)
    vectors[20:60:2], vectors[5] = vectors[3], 0.0
    arrays = filled(vectors)
    mask = live(arrays)
    mask[::9] = False
    found, how = arms.by_vector(arrays.view(), vectors[3], mask, limit, None)
    near = {slot: oracles.ordered_similarity(vectors[slot], vectors[3]) for slot in range(70)}
    left = [slot for slot in near if mask[slot] and slot != 5]
    expected = sorted(left, key=lambda slot: (-near[slot], slot))[:limit]
    assert how == "exact"
    assert found.slots.tolist() == expected
    assert found.similarity.tolist() == [near[slot] for slot in expected]
