"""One scan for a batch: every decision is the one that a scan for it alone would lead to."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.engines import Store, forget, opened, remember, undo, unit, update, vector_at
from support.waits import wait_until
from totonoe_core.base import limits
from totonoe_core.domain.policy import PRESETS, Preset
from totonoe_core.domain.records import Status
from totonoe_core.guard.candidates import scanned_from
from totonoe_core.guard.cosines import Cosines
from totonoe_core.guard.prefetched import FullScans, PrefixScans
from totonoe_core.index import hnsw, prefix
from totonoe_core.index.arrays import RETIRED, STATUSES, Arrays
from totonoe_core.index.prefix import Prefix
from totonoe_core.index.selection import Selection, equal

SEED = 31
NEVER_STOPS = threading.Event()
ACTIVE, FORGOTTEN = STATUSES[Status.ACTIVE], STATUSES[Status.FORGOTTEN]
NO_TOKENS = np.zeros(0, np.uint64)


def units(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def append(arrays: Arrays, vectors: np.ndarray, rng: np.random.Generator) -> None:
    for vector in vectors:
        columns = {"status": ACTIVE, "importance": rng.integers(2)}
        arrays.append(columns, vector, NO_TOKENS)


def fitted(vectors: np.ndarray, rng: np.random.Generator) -> Prefix:
    found = Prefix(Arrays(vectors.shape[1]))
    append(found.arrays, vectors, rng)
    found.arrays.publish()
    found.maintain(NEVER_STOPS)
    return found


def isotropic(rng: np.random.Generator, dim: int) -> np.ndarray:
    return units(rng.normal(size=(200, dim)))


def copies(rng: np.random.Generator, dim: int) -> np.ndarray:
    rows = units(rng.normal(size=(20, dim)))
    return np.concatenate([rows, np.repeat(rows[10:11], 300, axis=0)])


def clusters(rng: np.random.Generator, dim: int) -> np.ndarray:
    centres = rng.normal(size=(6, dim))
    return units(centres[rng.integers(6, size=300)] + 1e-3 * rng.normal(size=(300, dim)))


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.sampled_from((3, 97)),
    made=st.sampled_from((isotropic, copies, clusters)),
    tail=st.sampled_from((0, 40)),
    noise=st.sampled_from((0.0, 1e-7, 0.05)),
    at_least=st.sampled_from((0.75, 0.8)),
    ulps=st.sampled_from((-1, 0, 1)),
)
def test_guard_with_a_scan_ahead_finds_what_it_finds_alone(
    seed, dim, made, tail, noise, at_least, ulps
) -> None:
    """The batch adds slots, copies of its own members among them, and takes some away."""
    rng = np.random.default_rng(seed)
    vectors = made(rng, dim)
    found = fitted(vectors, rng)
    arrays = found.arrays
    append(arrays, made(rng, dim)[:tail], rng)
    arrays.publish()
    stored = arrays.view().count
    near = vectors[rng.integers(len(vectors), size=10)]
    batch = list(units(near + noise * rng.normal(size=near.shape) + 1e-30))
    expected = PrefixScans(arrays, found, batch, at_least)
    for step, query in enumerate(batch):
        scanned = expected.of(arrays, query)
        assert scanned is not None
        assert scanned.count == stored
        view = arrays.writer_view()
        comparable = Selection(view, equal("importance", 1), pending=arrays.pending_status)
        narrower = comparable.narrowed(lambda columns: columns("status") >= 0)
        border = float(np.max(view.vectors(np.arange(view.count)).astype(np.float64) @ query))
        thresholds = [at_least, 0.85, 0.95, max(at_least, min(1.0, border))]
        for threshold in thresholds:
            for _ in range(abs(ulps)):
                threshold = max(at_least, float(np.nextafter(threshold, np.inf * ulps)))
            alone = Cosines(view, query, comparable, at_least, found, None)
            given_ahead = Cosines(view, query, comparable, at_least, found, None, scanned)
            where = f"seed {seed}, step {step}, from {threshold}"
            for mask in (comparable, narrower):
                assert given_ahead.best(mask, threshold) == alone.best(mask, threshold), where
                one = given_ahead.reaching(mask, threshold, 16)
                other = alone.reaching(mask, threshold, 16)
                assert one[0].tolist() == other[0].tolist(), where
                assert one[1].tolist() == other[1].tolist(), where
        append(arrays, batch[step : step + 1], rng)
        if step % 3 == 0:
            arrays.pending_status[int(rng.integers(stored))] = FORGOTTEN
            arrays.pending_status[stored + step // 2] = RETIRED


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.sampled_from((3, 97)),
    made=st.sampled_from((isotropic, copies, clusters)),
    gone=st.sampled_from((0.0, 0.5, 1.0)),
)
def test_guard_with_all_scored_ahead_finds_what_a_plain_oracle_finds(seed, dim, made, gone) -> None:
    """Without a prefix. Equal similarities may be named in any order by `nearest` alone."""
    rng = np.random.default_rng(seed)
    arrays = Arrays(dim)
    stored = np.concatenate([made(rng, dim) for _ in range(3)])
    append(arrays, stored, rng)
    arrays.publish()
    batch = list(units(stored[:6] + 0.05 * rng.normal(size=(6, dim))))
    expected = FullScans(arrays, batch)
    every = list(stored)
    for slot in np.flatnonzero(rng.random(len(stored)) < gone).tolist():
        arrays.pending_status[slot] = FORGOTTEN
    for step, query in enumerate(batch):
        known = expected.of(arrays, query)
        assert known is not None
        view = arrays.writer_view()
        visible = Selection(view, equal("importance", 1), pending=arrays.pending_status)
        exactly = np.array(every).astype(np.float64) @ query.astype(np.float64)
        live = np.flatnonzero(visible.all())
        cosines = Cosines(view, query, visible, -1.0, None, None, known=known)
        order = live[np.lexsort((live, -exactly[live]))]
        for at_least in (-1.0, 0.5, 0.9):
            slots, similarity = cosines.reaching(visible, at_least, 16)
            wanted = order[exactly[order] >= at_least][:16]
            where = f"seed {seed}, step {step}, from {at_least}"
            assert exactly[slots] == pytest.approx(exactly[wanted], abs=1e-12), where
            assert similarity == pytest.approx(exactly[slots], abs=1e-12), where
            near = cosines.nearest(visible, 16, at_least)
            assert set(near.tolist()) <= set(live.tolist()), where
            assert np.sort(exactly[near]) == pytest.approx(np.sort(exactly[wanted]), abs=2e-6)
        append(arrays, batch[step : step + 1], rng)
        every.append(batch[step])


def test_all_scored_ahead_answers_only_what_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PREFETCHED_MAX", 5)
    rng = np.random.default_rng(SEED)
    arrays = Arrays(16)
    append(arrays, isotropic(rng, 16), rng)
    arrays.publish()
    stored = arrays.view().vectors(np.arange(200))
    batch = [np.ones(1, np.float32), *stored[:8]]
    expected = FullScans(arrays, batch)
    assert expected.of(arrays, batch[1]) == pytest.approx(stored @ batch[1], abs=1e-6)
    assert expected.of(Arrays(16), batch[2]) is None, "the index was made again"
    assert expected.of(arrays, batch[2].copy()) is None, "a vector that nobody told of"
    assert expected.of(arrays, batch[0]) is None, "another dimension is left out"
    assert expected.of(arrays, batch[5]) == pytest.approx(stored @ batch[5], abs=1e-6)
    assert expected.of(arrays, batch[6]) is None, "three are left: each for itself"
    assert expected.of(arrays, batch[3]) is None, "behind"
    monkeypatch.setattr(limits, "PREFETCHED_SLOTS_MAX", 199)
    assert FullScans(arrays, batch).of(arrays, batch[1]) is None, "too many to keep"


def test_scan_ahead_answers_only_what_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PREFETCHED_MAX", 5)
    rng = np.random.default_rng(SEED)
    found = fitted(isotropic(rng, 16), rng)
    arrays = found.arrays
    batch = list(arrays.view().vectors(np.arange(8)))
    expected = PrefixScans(arrays, found, batch, 0.9)
    assert expected.of(arrays, batch[0]).slots.tolist() == [0]
    assert expected.of(arrays, batch[4]).slots.tolist() == [4]
    assert expected.of(Arrays(16), batch[1]) is None, "the index was made again"
    assert expected.of(arrays, batch[1].copy()) is None, "a vector that nobody told of"
    arrays.pending_status[7] = ACTIVE
    assert expected.of(arrays, batch[2]) is None, "a slot came back to life"
    arrays.pending_status[7] = FORGOTTEN
    assert expected.of(arrays, batch[2]).slots.tolist() == [2]
    assert expected.of(arrays, batch[5]) is None, "three are left: each for itself"
    assert expected.of(arrays, batch[3]) is None, "behind"
    odd = PrefixScans(arrays, found, [np.ones(1, np.float32), *batch], 0.9)
    assert odd.of(arrays, batch[1]).slots.tolist() == [1], "another dimension is left out"


def test_scans_for_what_a_batch_leaves_over_still_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PREFETCHED_MAX", 5)
    rng = np.random.default_rng(SEED)
    found = fitted(isotropic(rng, 16), rng)
    arrays = found.arrays
    batch = list(arrays.view().vectors(np.arange(8)))
    for first in (PrefixScans(arrays, found, batch, 0.9), FullScans(arrays, batch)):
        scanned = [first.of(arrays, vector) for vector in batch[:2]]
        later = [*batch[2:], *units(rng.normal(size=(4, 16)))]
        append(arrays, np.stack(later[-2:]), rng)
        arrays.publish()
        monkeypatch.setattr(first, "_scan", None)
        carried = first.carried(arrays, later)
        assert carried is not None
        for at in (2, 3, 4):
            assert carried.of(arrays, batch[at]) is not None, "scanned with the first of its batch"
        assert carried.of(arrays, batch[0]) is None, "nobody waits for it"
        monkeypatch.undo()
        monkeypatch.setattr(limits, "PREFETCHED_MAX", 5)
        assert carried.of(arrays, batch[5]) is not None, "the rest is scanned when its turn comes"
        assert scanned[1] is not None
        assert first.carried(Arrays(16), later) is None, "the index was made again"
        assert first.carried(arrays, batch[:1]) is None, "nothing of it was scanned"
    prefix_scans = PrefixScans(arrays, found, batch, 0.9)
    assert prefix_scans.of(arrays, batch[0]) is not None
    arrays.revived.append(3)
    assert prefix_scans.carried(arrays, batch) is None, "a slot came back to life"


def test_scan_for_many_gives_up_whom_too_many_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix, "_PRODUCTS_MAX", 200)
    rng = np.random.default_rng(SEED)
    rows = copies(rng, 32)
    found = fitted(rows[:250], rng)
    append(found.arrays, rows[250:], rng)
    found.arrays.publish()
    view, every = found.arrays.view(), np.ones(len(rows), np.bool_)
    queries = np.ascontiguousarray(rows[[3, 10, 5, 11, 10, 7]])
    answers = found.reaching_many(view, queries, every, 0.9, each_max=100)
    assert [answer is None for answer in answers] == [False, True, False, False, True, False]
    assert [answer[0].tolist() for answer in answers if answer is not None] == [[3], [5], [11], [7]]
    whole = found.reaching_many(view, queries, every, 0.9, each_max=301)
    assert [len(slots) for slots, _ in whole] == [1, 301, 1, 1, 301, 1]


@pytest.mark.parametrize(
    ("preset", "expected"),
    [(Preset.STANDARD, 0.7), (Preset.EGO, 0.7), (Preset.ROBOTMEM, 0.85)],
)
def test_batch_is_scanned_for_the_lowest_threshold_of_its_policy(preset, expected) -> None:
    assert scanned_from(PRESETS[preset]) == pytest.approx(expected, abs=1e-9)


def batches(rng: np.random.Generator, stored: np.ndarray) -> list[list[tuple[str, Any]]]:
    """Commands by the number of the memory they are about, so that two stores can take them."""
    out: list[list[tuple[str, Any]]] = []
    for turn in range(3):
        batch: list[tuple[str, Any]] = []
        for number in range(12):
            base = stored[rng.integers(len(stored))]
            cosine = float(rng.choice([1.0, 0.96, 0.9500001, 0.9499999, 0.9, 0.8000001, 0.5]))
            vector = vector_at(base, cosine, 100 * turn + number)
            batch.append(("remember", (f"batch {turn} item {number}", vector)))
            if number % 4 == 1:
                # Duplicates of a member, in its wording or in another.
                batch.append(("remember", (f"Batch {turn}, item {number}!", vector)))
                batch.append(("remember", (f"{turn} says {number} in other words", vector)))
            if number % 5 == 2:
                batch.append(("forget", int(rng.integers(len(stored)))))
            if number % 5 == 3:
                batch.append(("update", (int(rng.integers(len(stored))), vector)))
        out.append(batch)
    return out


@pytest.mark.parametrize("preset", ["standard", "ego", "robotmem"])
def test_small_batch_decides_as_one_by_one(tmp_path: Path, preset: str) -> None:
    """All is scored, for the batch at once or for each alone."""
    rng = np.random.default_rng([SEED, *preset.encode()])
    rows = clusters(rng, 16)[:70]
    vectors = units(rows + 0.15 * rng.normal(size=rows.shape))
    work = batches(rng, vectors)
    outcomes = []
    for way in ("together", "alone"):
        with opened(tmp_path / way, client_vector_dimension=16) as store:
            store.set(("guard.preset", preset))
            outcomes.append(decided(store, vectors, work, together=way == "together", graph=False))
    assert outcomes[0] == outcomes[1], f"seed {SEED}"
    assert 5 < sum(outcome[0] is False for outcome in outcomes[0]) < len(outcomes[0]) - 5


@pytest.mark.parametrize("preset", ["standard", "ego", "robotmem"])
def test_batch_decides_as_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preset: str
) -> None:
    for module in (hnsw, prefix):
        monkeypatch.setattr(module, "FROM_COUNT", 60)
    rng = np.random.default_rng([SEED, *preset.encode()])
    rows = clusters(rng, 16)[:70]
    vectors = units(rows + 0.15 * rng.normal(size=rows.shape))
    vectors[20:26] = vectors[3]
    work = batches(rng, vectors)
    scans: list[int] = []
    scan = Prefix.reaching_many
    monkeypatch.setattr(
        Prefix, "reaching_many", lambda *given: scans.append(len(given[2])) or scan(*given)
    )
    outcomes = []
    for way in ("together", "alone"):
        with opened(tmp_path / way, client_vector_dimension=16) as store:
            store.set(("guard.preset", preset))
            outcomes.append(decided(store, vectors, work, together=way == "together"))
            if way == "together":
                assert scans, "the batch was scanned for"
                scans.clear()
    assert not scans, "one alone is not"
    assert outcomes[0] == outcomes[1], f"seed {SEED}"
    assert 5 < sum(outcome[0] is False for outcome in outcomes[0]) < len(outcomes[0]) - 5


@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("preset", ["standard", "ego"])
def test_undo_of_many_finds_what_was_said_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preset: str, pruned: bool
) -> None:
    """All texts that come back are scored at once, with a prefix or in full."""
    if pruned:
        monkeypatch.setattr(prefix, "FROM_COUNT", 40)
    scanned: list[str] = []
    for kind in (PrefixScans, FullScans):
        scan = kind._scan
        monkeypatch.setattr(
            kind,
            "_scan",
            lambda self, first, scan=scan: scanned.append(type(self).__name__) or scan(self, first),
        )
    rng = np.random.default_rng(SEED)
    vectors = isotropic(rng, 32)[:60]
    with opened(tmp_path, client_vector_dimension=32) as store:
        store.set(("guard.preset", preset))
        first = [remember(f"Memory {n} of the store.", vector=v) for n, v in enumerate(vectors)]
        ids = [result.memory_id for result in store.apply(*first).results]
        wait_until(lambda: _fitted(store) is pruned)
        gone = store.apply(forget(*ids[10:50])).revision
        for number in (12, 47):
            said = remember(f"memory {number} of the store", vector=vectors[number])
            assert store.do(said).saved
        scanned.clear()
        refused = store.do(undo(gone))
        assert not refused.undone
        assert {conflict.memory_id for conflict in refused.conflicts} == {ids[12], ids[47]}
        partly = store.do(undo(gone, partial=True))
        assert len(partly.memories) == 38
        assert set(scanned) == {"PrefixScans" if pruned else "FullScans"}


def _fitted(store: Store) -> bool:
    collection = store.engine._collections.opened(store.collection).result()
    return bool(collection._state.index.prefix.built)


def decided(
    store: Store,
    vectors: np.ndarray,
    work: list[list[tuple[str, Any]]],
    together: bool,
    graph: bool = True,
) -> list[tuple[Any, ...]]:
    """What became of each command, with memories by number in place of their ids."""
    first = [
        remember(f"stored {number}", vector=unit(vector), force=True)
        for number, vector in enumerate(vectors)
    ]
    ids = [item.memory_id for item in store.apply(*first).results]
    if graph:
        wait_until(lambda: store.stats().hnsw_count == len(vectors))
    numbers = {memory_id: number for number, memory_id in enumerate(ids)}
    made = {
        "remember": lambda given: remember(given[0], vector=given[1]),
        "forget": lambda number: forget(ids[number]),
        "update": lambda given: update(ids[given[0]], vector=given[1]),
    }
    outcomes = []
    for batch in work:
        requests = [("", (made[name](given),)) for name, given in batch]
        apply_all = store.engine.apply_all
        if together:
            futures = apply_all(store.collection, requests)
        else:
            futures = []
            for request in requests:
                futures += apply_all(store.collection, [request])
                futures[-1].exception(30.0)
        for future in futures:
            if future.exception(30.0) is not None:
                outcomes.append((type(future.exception()).__name__,))
                continue
            result = future.result().results[0]
            saved = getattr(result, "saved", getattr(result, "updated", None))
            if saved and hasattr(result, "saved"):
                numbers[result.memory_id] = len(numbers)
            guard = getattr(result, "guard", None)
            duplicate = guard.duplicate if guard else None
            outcomes.append(
                (
                    saved,
                    numbers[duplicate.memory_id] if duplicate else None,
                    guard and (guard.method, guard.verdict, guard.similarity),
                    [numbers[item.target_id] for item in getattr(result, "links", ())],
                )
            )
    return outcomes
