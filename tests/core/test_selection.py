"""Who is asked: the same slots however they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from totonoe_core.domain.records import Kind, StateKind, Status
from totonoe_core.index import arrays as arrays_module
from totonoe_core.index.arrays import KINDS, RETIRED, STATE_KINDS, STATUSES, Arrays
from totonoe_core.index.chunks import by_chunk
from totonoe_core.index.selection import Selection, equal, of_kind, readable
from totonoe_core.index.token_index import jaccard_at
from totonoe_core.kernels.jaccard import jaccard_pair

SEED = 20_241_103
COUNT = 150
PARTS = [0.65, 0.1, 0.05, 0.05, 0.03, 0.02, 0.1]  # of each status, and retired


@pytest.fixture
def arrays(monkeypatch: pytest.MonkeyPatch) -> Arrays:
    """Random columns and tokens over three chunks."""
    monkeypatch.setattr(arrays_module, "CHUNK", 64)
    rng = np.random.default_rng(SEED)
    made = Arrays(2)
    for _ in range(COUNT):
        values = {
            "status": rng.choice([*STATUSES.values(), RETIRED], p=PARTS),
            "kind": rng.choice([KINDS[Kind.STATE], KINDS[Kind.EVENT]]),
            "state_kind": rng.choice([STATE_KINDS[StateKind.FACT], STATE_KINDS[StateKind.TASK]]),
            "private": rng.integers(2),
            "agent": rng.integers(3),
            "session": rng.integers(2),
        }
        tokens = np.unique(rng.integers(12, size=rng.integers(8))).astype(np.uint64)
        made.append(values, np.zeros(2, np.float32), tokens)
    return made


def test_selection_is_what_reading_slot_by_slot_gives(arrays: Arrays) -> None:
    rng = np.random.default_rng(SEED)
    view = arrays.writer_view()
    pending = {
        int(slot): int(rng.choice([*STATUSES.values(), RETIRED]))
        for slot in rng.choice(COUNT, 30, replace=False)
    }
    base = Selection(view, readable(1), pending=pending)
    asked = base.narrowed(of_kind(Kind.STATE, StateKind.FACT), equal("session", 1))
    expected = []
    for slot in range(COUNT):
        status = pending.get(slot, int(view.value("status", slot)))
        expected.append(
            status == STATUSES[Status.ACTIVE]
            and (view.value("private", slot) == 0 or view.value("agent", slot) == 1)
            and view.value("kind", slot) == KINDS[Kind.STATE]
            and view.value("state_kind", slot) == STATE_KINDS[StateKind.FACT]
            and view.value("session", slot) == 1
        )
    wanted = np.array(expected)
    assert 5 < wanted.sum() < COUNT // 2, f"seed {SEED}: worth something"
    slots = np.sort(rng.choice(COUNT, 60, replace=False))
    np.testing.assert_array_equal(asked.at(slots), wanted[slots])
    for first in (0, 1, 63, 64, 100, 128, 149, 150, 151):
        np.testing.assert_array_equal(asked.since(first), wanted[first:])
    np.testing.assert_array_equal(asked.all(), wanted)
    assert asked.at(np.zeros(0, np.int64)).shape == (0,)
    assert (base.all() >= wanted).all()


def test_slots_come_chunk_by_chunk_and_chunks_without_any_are_passed_over(arrays: Arrays) -> None:
    view = arrays.writer_view()
    for slots in ([], [0], [63, 64], [5, 140], [130, 131], list(range(COUNT))):
        asked = np.array(slots, np.int64)
        found = []
        for where, rows, chunk in by_chunk(view, asked):
            number = view.chunks.index(chunk)
            assert len(rows) == where.stop - where.start > 0
            found += (rows.astype(np.int64) + 64 * number).tolist()
        assert found == slots


def test_jaccard_of_slots_is_that_of_each_pair(arrays: Arrays) -> None:
    view = arrays.writer_view()
    slots = np.arange(3, COUNT, 2)
    for tokens in ([], [50], [1, 4, 6], list(range(12))):
        query = np.array(tokens, np.uint64)
        found = jaccard_at(view, query, slots)
        assert found.tolist() == [jaccard_pair(view.tokens(int(slot)), query) for slot in slots]
