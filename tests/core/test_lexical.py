"""The inverted index and BM25 against the formula, document by document."""

from __future__ import annotations

import math

import numpy as np
import pytest

from totonoe_core.index.lexical import InvertedIndex, bm25, label_terms

WORDS = [f"w{number}" for number in range(12)]


def filled(seed: int, count: int = 60) -> tuple[InvertedIndex, list[list[str]], np.ndarray]:
    rng = np.random.default_rng(seed)
    index, texts = InvertedIndex(), []
    for slot in range(count):
        terms = [WORDS[at] for at in rng.zipf(1.6, size=rng.integers(1, 15)) % len(WORDS)]
        texts.append(terms)
        assert index.add(slot, terms) == len(terms)
    return index, texts, np.array([len(terms) for terms in texts], np.int32)


@pytest.mark.parametrize("seed", range(3))
def test_posting_lists_every_slot_of_a_term_with_its_count(seed: int) -> None:
    index, texts, _ = filled(seed)
    for word in [*WORDS, "unknown"]:
        slots, counts = index.posting(word)
        expected = [(slot, terms.count(word)) for slot, terms in enumerate(texts) if word in terms]
        assert list(zip(slots.tolist(), counts.tolist(), strict=True)) == expected, f"seed {seed}"
    assert len(index) == len({term for terms in texts for term in terms})


@pytest.mark.parametrize("seed", range(3))
def test_bm25_follows_the_formula_over_the_mask(seed: int) -> None:
    index, texts, term_counts = filled(seed)
    rng = np.random.default_rng(seed + 100)
    mask = rng.random(len(texts)) < 0.7
    query = ["w1", "w3", "unknown", "w1", "w7"]
    weight, coverage = bm25(index, query, term_counts, mask)
    live = [slot for slot in range(len(texts)) if mask[slot]]
    mean = sum(len(texts[slot]) for slot in live) / len(live)
    for slot in range(len(texts)):
        expected = held = total = 0.0
        for term in ("w1", "w3", "unknown", "w7"):
            having = sum(term in texts[one] for one in live)
            idf = math.log(1 + (len(live) - having + 0.5) / (having + 0.5))
            total += idf
            count = texts[slot].count(term)
            if count and mask[slot]:
                held += idf
                norm = 1.2 * (0.25 + 0.75 * len(texts[slot]) / mean)
                expected += idf * count * 2.2 / (count + norm)
        assert weight[slot] == pytest.approx(expected), f"seed {seed}, slot {slot}"
        assert coverage[slot] == pytest.approx(held / total), f"seed {seed}, slot {slot}"


def test_bm25_of_a_shorter_view_leaves_later_slots_out() -> None:
    index, _, term_counts = filled(1)
    weight, _ = bm25(index, WORDS, term_counts[:10], np.ones(10, np.bool_))
    assert len(weight) == 10
    empty, _ = bm25(index, WORDS, term_counts[:0], np.zeros(0, np.bool_))
    assert len(empty) == 0
    nothing, none = bm25(index, [], term_counts, np.ones(60, np.bool_))
    assert not nothing.any()
    assert not none.any()


def test_posting_that_a_reader_holds_does_not_change() -> None:
    index = InvertedIndex()
    for slot in range(5):
        index.add(slot, ["a"])
    slots, _ = index.posting("a")
    before = slots.copy()
    for slot in range(5, 50):
        index.add(slot, ["a"])
    np.testing.assert_array_equal(slots, before)


def test_many_repeats_of_a_term_count_255_at_most() -> None:
    index = InvertedIndex()
    assert index.add(0, ["a"] * 1000) == 1000
    index.add(1, ["a"] * 300)
    assert index.posting("a")[1].tolist() == [255, 255]


def test_slots_with_all_terms_are_those_in_every_list() -> None:
    index = InvertedIndex()
    labels = {0: ["x", "y"], 1: ["x"], 2: ["y", "x", "z"], 3: ["z"]}
    for slot, terms in labels.items():
        index.add(slot, terms)
    assert index.slots_with_all(["x", "y"]).tolist() == [0, 2]
    assert index.slots_with_all(["z", "y", "x"]).tolist() == [2]
    assert index.slots_with_all(["x", "unknown"]).tolist() == []


def test_label_terms_tell_kinds_and_values_apart() -> None:
    tag, entity = label_terms(["a"], ["a"], {})
    assert tag != entity
    values = [1, 1.5, True, "1", "true", None, [1], {"a": 1}, "x" * 100, "x" * 101]
    terms = [label_terms([], [], {"k": value})[0] for value in values]
    assert len(set(terms)) == len(values)
    one, other = {"b": 1, "a": 2}, {"a": 2, "b": 1}
    assert label_terms([], [], {"k": one}) == label_terms([], [], {"k": other})
