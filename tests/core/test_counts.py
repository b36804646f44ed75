"""Costs of a Recall, a Remember and a Check, in counts that do not depend on the machine.

See `support.counting`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.counting import assert_counts, counting
from support.engines import Store, opened, remember, vector_at, vector_of
from totonoe_core.domain.queries import RecallQuery

ASKED = vector_of("asked")
STORED = 64


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Memories that neither repeat nor update each other, without links."""
    with opened(tmp_path_factory.mktemp("counts")) as store:
        for number in range(STORED):
            vector = vector_at(ASKED, number / STORED, seed=number)
            command = remember(f"note {number} of the day", vector=vector, force=True)
            store.do(replace(command, links_max=0))
        yield store


def cost(store: Store, query: RecallQuery) -> Counter[str]:
    """Counts of a Recall of ten hits, when all that is opened at first has been opened."""
    store.recall(query)
    with counting() as counts:
        assert len(store.recall(query).hits) == 10
    return counts


def test_counts_of_a_recall_by_its_vector(store: Store) -> None:
    counts = cost(store, RecallQuery("anna", vector=ASKED.tobytes()))
    assert_counts(
        counts, statements=2, rows=10, row_bytes=1100, vector_bytes=1600,
        scans=1, slots_scored=114,
    )  # fmt: skip


def test_counts_of_a_recall_by_its_words(store: Store) -> None:
    counts = cost(store, RecallQuery("anna", text="notes of the day"))
    assert_counts(
        counts, statements=2, rows=10, row_bytes=1090, column_bytes=256, vector_bytes=1600,
        scans=1,
    )  # fmt: skip


def test_counts_of_a_folding_recall(store: Store) -> None:
    counts = cost(store, RecallQuery("anna", vector=ASKED.tobytes(), fold=True))
    assert_counts(
        counts, statements=3, rows=10, row_bytes=1100, vector_bytes=1600,
        scans=1, slots_scored=114,
    )  # fmt: skip


NOTE = "The pump of hall 3 is quiet again."
PAGE = "Diary page 17 of the day"


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Store]:
    """A store of its own, of memories that share words and lie from far to near."""
    with opened(tmp_path) as store:
        for number in range(STORED):
            vector = vector_at(ASKED, number / STORED, seed=number)
            store.do(remember(f"note {number} of the day", vector=vector, force=True))
        yield store


def test_counts_of_a_remember_of_something_new(filled: Store) -> None:
    command = remember(NOTE, vector=vector_of("new"))
    with counting() as counts:
        assert filled.do(command, operation_id="new").saved
    assert_counts(counts, statements=12, texts_read=0, scans=1, slots_scored=64)


def test_counts_of_a_remember_beside_many_that_are_alike(filled: Store) -> None:
    command = remember(PAGE, vector=vector_at(ASKED, 0.8, seed=177))
    with counting() as counts:
        assert filled.do(command, operation_id="near").saved
    assert_counts(
        counts, statements=25, rows=13, row_bytes=550, texts_read=10, texts_compared=5,
        scans=1, slots_scored=77,
    )  # fmt: skip


def test_counts_of_a_refused_remember(filled: Store) -> None:
    command = remember("note 1 of the day", vector=vector_at(ASKED, 1 / STORED, seed=1))
    with counting() as counts:
        assert not filled.do(command).saved
    assert_counts(counts, statements=5, rows=1, row_bytes=109, texts_compared=1)


def test_counts_of_a_check(filled: Store) -> None:
    command = remember(PAGE, vector=vector_at(ASKED, 0.8, seed=177))
    with counting() as counts:
        assert filled.check(command).would_save
    assert_counts(
        counts, statements=21, rows=13, row_bytes=550, texts_read=10, texts_compared=5,
        scans=1, slots_scored=77,
    )  # fmt: skip


def test_a_count_that_grew_is_named() -> None:
    with pytest.raises(AssertionError, match="rows grew from 10 to 11; scans fell from 1 to 0"):
        assert_counts(Counter(rows=11, statements=2), rows=10, scans=1, statements=2)
