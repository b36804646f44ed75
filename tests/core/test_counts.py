"""What a Recall costs, in counts that do not depend on the machine (`support.counting`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

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


def test_a_count_that_grew_is_named() -> None:
    with pytest.raises(AssertionError, match="rows grew from 10 to 11; scans fell from 1 to 0"):
        assert_counts(Counter(rows=11, statements=2), rows=10, scans=1, statements=2)
