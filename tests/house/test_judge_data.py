"""What the judge learns from is well formed, and none of it is of a topic kept aside."""

from __future__ import annotations

import json
import random
from collections import Counter

import numpy as np
import pytest

from bench.judge import data
from bench.judge.edits import edits
from bench.judge.evaluate import agent_pairs, auc, exclusive_found, found_at, kept_aside, twin_first

GROUPS = data.groups()
LANGUAGES = {"en", "ja", "zh", "de", "fr", "es", "pt", "it", "ko", "ru", "xx"}


def test_groups_are_well_formed() -> None:
    assert len(GROUPS) > 5_000
    for path in sorted((data.HERE / "groups").glob("*.jsonl")):
        for number, row in enumerate(data.rows(path), 1):
            where = f"{path.name}:{number}"
            assert set(row) == {"lang", "topic", "same", "different"}, where
            assert row["lang"] in LANGUAGES, where
            assert 2 <= len(row["same"]) <= 6, where
            assert 2 <= len(row["different"]) <= 8, where
            texts = [*row["same"], *(other["text"] for other in row["different"])]
            assert len(set(texts)) == len(texts), f"{where}: a text twice"
            assert all(text == text.strip() and text for text in texts), where
            assert {other["relation"] for other in row["different"]} <= set("xcmlu"), where


def test_half_of_what_is_kept_aside_is_for_bounds_and_half_is_published() -> None:
    aside = [group for group in GROUPS if group.aside]
    assert all(group.for_tuning is not group.published for group in aside)
    assert not any(group.for_tuning or group.published for group in GROUPS if not group.aside)
    assert not {group.topic for group in aside if group.for_tuning} & {
        group.topic for group in aside if group.published
    }
    assert 0.4 < sum(group.published for group in aside) / len(aside) < 0.6


def test_about_a_fifth_of_the_topics_is_kept_aside_in_every_language() -> None:
    for language in LANGUAGES:
        of_language = [group for group in GROUPS if group.language == language]
        fixed = [group for group in of_language if not group.topic.startswith("seventh: ")]
        share = sum(group.aside for group in fixed) / len(fixed)
        assert 0.05 < share < 0.5, language
    sides = {}
    for group in GROUPS:
        assert sides.setdefault(group.topic, group.aside) is group.aside


def test_what_came_behind_the_training_is_not_among_what_is_published() -> None:
    late = [group for group in GROUPS if group.late]
    assert late
    assert not {group.topic for group in late} & {
        group.topic for group in GROUPS if group.published
    }


def test_training_draws_nothing_of_what_is_kept_aside() -> None:
    learned = [group for group in GROUPS if not group.aside][:200]
    known = {text for group in learned for text in (*group.same, *(t for t, *_ in group.different))}
    labelled = [data.Pair("a", "b", 1, 0)]
    stream = data.Stream(learned, labelled, labelled, {}, seed=0)
    drawn = stream.take(500, data.Shares(0.1, 0.1))
    assert len(drawn) >= 500
    same = [pair for pair in drawn if pair.same == 1 and {pair.a, pair.b} != {"a", "b"}]
    undressed = [pair for pair in drawn if pair.a in known and pair.b in known]
    assert len(undressed) > 300
    assert {pair.relation for pair in same} == {0}
    assert Counter(pair.same for pair in drawn)[0] > 100


def test_a_turned_pair_exchanges_more_and_less() -> None:
    pair = data.Pair("a", "b", 0, data.RELATIONS.index("more"))
    assert pair.turned() == data.Pair("b", "a", 0, data.RELATIONS.index("less"))
    assert pair.turned().turned() == pair
    unknown = data.Pair("a", "b", 0, data.UNKNOWN)
    assert unknown.turned() == data.Pair("b", "a", 0, data.UNKNOWN)
    follows = data.Pair("a", "b", float("nan"), data.SAME_OR_LESS)
    assert follows.turned().a == "a", "what follows from what must not be turned"


def test_an_edit_is_never_one_of_the_texts_that_say_the_same() -> None:
    learned = random.Random(0).sample([group for group in GROUPS if group.language == "en"], 40)
    found = edits(learned)
    assert len(found) > 40
    for group in learned:
        for text in group.same:
            assert not {edited for _, edited in found.get(text, [])} & set(group.same)


def test_figures_are_those_of_a_hand_made_order() -> None:
    values = np.array([4.0, 3.0, 3.0, 2.0, 1.0])
    same = np.array([True, True, False, True, False])
    assert auc(values, same) == pytest.approx((2 + 1.5 + 1) / 6)
    assert found_at(values, same, 0.0) == pytest.approx(1 / 3)
    assert found_at(values, same, 0.9) == pytest.approx(1.0)
    out = np.zeros((4, 7))
    out[:, 4] = [2, 1, 0, -1]
    found = exclusive_found(out, np.array([3, 3, 4, 4]))
    assert found == {"AUC": 1.0, "found": 1.0}


def test_a_judge_that_knows_puts_the_twin_first_and_one_that_guesses_does_not() -> None:
    aside = [group for group in GROUPS if group.aside][:60]
    same = {(a, b) for group in aside for a in group.same for b in group.same}

    def knows(pairs: list[tuple[str, str]]) -> np.ndarray:
        return np.array([[float(pair in same)] for pair in pairs])

    assert twin_first(knows, aside) == 1.0
    assert twin_first(lambda pairs: -knows(pairs), aside) == 0.0
    pairs = kept_aside(aside)
    assert {pair.same for pair in pairs} == {0, 1}
    assert len(agent_pairs(data.HERE / "pairs")) > 100


def test_the_labelled_pairs_leave_out_the_agents_topics_kept_aside(tmp_path) -> None:
    row = {"a": "one", "b": "two", "label": 1, "meta": {"topic": "t"}}
    topics = [f"topic {number}" for number in range(40)]
    lines = [json.dumps(row | {"meta": {"topic": topic}}) for topic in topics]
    (tmp_path / "agent_pairs_en.jsonl").write_text("\n".join(lines), "utf-8")
    learned, aside = data.labelled_pairs(tmp_path / "none", tmp_path), agent_pairs(tmp_path)
    assert len(learned) + len(aside) == 40
    assert learned
    assert aside
