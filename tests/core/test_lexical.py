"""The inverted index and BM25 against the formula, document by document."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

from totonoe_core.index import lexical
from totonoe_core.index.arrays import Arrays
from totonoe_core.index.lexical import InvertedIndex, bm25, label_terms
from totonoe_core.search.arms import by_words
from totonoe_core.text.query_terms import query_terms

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
    query = {"w1": 1.0, "w3": 0.2, "unknown": 1.0, "w7": 1.0}
    weight, coverage = bm25(index, query, term_counts, mask)
    live = [slot for slot in range(len(texts)) if mask[slot]]
    mean = sum(len(texts[slot]) for slot in live) / len(live)
    for slot in range(len(texts)):
        expected = held = total = 0.0
        for term, factor in query.items():
            having = sum(term in texts[number] for number in live)
            idf = factor * math.log(1 + (len(live) - having + 0.5) / (having + 0.5))
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
    weight, _ = bm25(index, dict.fromkeys(WORDS, 1.0), term_counts[:10], np.ones(10, np.bool_))
    assert len(weight) == 10
    empty, _ = bm25(index, dict.fromkeys(WORDS, 1.0), term_counts[:0], np.zeros(0, np.bool_))
    assert len(empty) == 0
    nothing, none = bm25(index, {}, term_counts, np.ones(60, np.bool_))
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


@pytest.mark.parametrize("limit", [1, 7, 20, 59, 60, 100])
def test_best_by_words_are_the_first_of_all_sorted_with_ties_by_slot(limit: int) -> None:
    index, texts, _ = filled(4)
    arrays = Arrays(1)
    for slot in range(len(texts)):
        # Every text twice, so that many weights are equal.
        index.add(len(texts) + slot, texts[slot])
    for terms in [*texts, *texts]:
        arrays.append({"term_count": len(terms)}, np.ones(1, np.float32), np.zeros(0, np.uint64))
    arrays.publish()
    mask = np.ones(2 * len(texts), np.bool_)
    weight, _ = bm25(index, query_terms("w1 w2 w3"), arrays.view().column("term_count"), mask)
    order = sorted(np.flatnonzero(weight).tolist(), key=lambda slot: (-weight[slot], slot))
    found, _ = by_words(arrays.view(), index, query_terms("w1 w2 w3"), mask, limit)
    assert len(order) > limit or limit >= 60
    assert found.slots.tolist() == order[:limit]
    np.testing.assert_array_equal(found.similarity, weight[order[:limit]])


def test_reader_beside_the_writer_finds_all_it_may_see() -> None:
    # As the engine does: postings first, then the count that readers take.
    index, published, wrong = InvertedIndex(), [0], []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            count = published[0]
            mask = np.ones(count, np.bool_)
            terms = np.full(count, 3, np.int32)
            _, coverage = bm25(index, {"every": 1.0}, terms, mask)
            slots, _ = index.posting("every")
            if not (coverage == 1.0).all() or slots[:count].tolist() != list(range(count)):
                wrong.append(count)
                return

    reader = threading.Thread(target=read)
    reader.start()
    for slot in range(1500):
        # New terms and long postings: every array grows many times.
        index.add(slot, ["every", f"own {slot}", *(f"{part} of {slot}" for part in range(3))])
        published[0] = slot + 1
    done.set()
    reader.join()
    assert not wrong


def test_terms_stored_as_the_same_bytes_are_told_apart() -> None:
    # CPython keeps both as 75 70 in memory, and hashes that.
    index = InvertedIndex()
    index.add(0, ["up"])
    index.add(1, ["\u7075", "\ud800"])
    assert index.posting("up")[0].tolist() == [0]
    assert index.posting("\u7075")[0].tolist() == [1]
    assert index.posting("\ud800")[0].tolist() == [1]


def test_terms_of_one_hash_share_their_postings(monkeypatch: pytest.MonkeyPatch) -> None:
    def same(terms, _) -> np.ndarray:
        return np.array([len(term) for term in terms], np.int64)

    monkeypatch.setattr(lexical, "hashes_of", same)
    index = InvertedIndex()
    index.add(0, ["a", "b", "xyz"])
    index.add(1, ["b"])
    assert [part.tolist() for part in index.posting("a")] == [[0, 1], [2, 1]]
    assert index.posting("xyz")[0].tolist() == [0]


def test_slot_that_is_not_after_the_last_is_refused() -> None:
    index = InvertedIndex()
    index.add(3, ["a"])
    with pytest.raises(AssertionError):
        index.add(3, ["b"])


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
