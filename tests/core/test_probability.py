"""The probability that two texts say the same, its features and hard differences."""

from __future__ import annotations

from dataclasses import fields
from math import isnan, nan

import numpy as np
import pytest

from support import oracles
from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.guard.features import NAMES
from totonoe_core.guard.forms import may_be_one_value
from totonoe_core.guard.probability import is_doubtful, shipped
from totonoe_core.guard.probe import LANGUAGES, ProbePair, probe_pairs
from totonoe_core.guard.verdict import Comparison, compare
from totonoe_core.kernels.trees import sum_of_trees
from totonoe_core.text.reading.budget import ReadingBudget

SAMPLED = 8
"""Every so many pairs of the probe set: reading all of them takes seconds."""
AUC_MIN = {"en": 0.95, "ja": 0.92, "zh": 0.95}


def compared(own: str, other: str, cosine: float = nan) -> Comparison:
    return compare(own, other, cosine, CAREFUL, bundled=not isnan(cosine))


def sample() -> list[ProbePair]:
    return probe_pairs()[::SAMPLED]


# -- The kernel


def random_trees(rng: np.random.Generator, columns: int) -> list[np.ndarray]:
    """Return flat arrays of a few trees that grew by splitting leaves at random."""
    nodes: list[list[float]] = []
    roots = []
    for _ in range(5):
        roots.append(len(nodes))
        nodes.append([-1, 0.0, -1, -1, 0, rng.normal()])
        leaves = [roots[-1]]
        for _ in range(int(rng.integers(0, 7))):
            node = leaves.pop(int(rng.integers(len(leaves))))
            children = len(nodes), len(nodes) + 1
            nodes[node] = [rng.integers(columns), rng.normal(), *children, rng.integers(2), 0.0]
            nodes += [[-1, 0.0, -1, -1, 0, rng.normal()] for _ in children]
            leaves += children
    kinds = (np.int32, np.float64, np.int32, np.int32, np.uint8, np.float64)
    arrays = [
        np.array(column, kind) for column, kind in zip(zip(*nodes, strict=True), kinds, strict=True)
    ]
    return [np.array(roots, np.int32), *arrays]


@pytest.mark.parametrize("seed", range(20))
def test_sum_of_trees_of_any_row_equals_the_slow_walk(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 4)
    for _ in range(50):
        row = np.where(rng.random(4) < 0.3, nan, rng.normal(size=4))
        assert sum_of_trees(row, *trees) == oracles.sum_of_trees(row, *trees)


def test_sum_of_trees_at_its_threshold_goes_left() -> None:
    arrays = (
        np.array([0], np.int32),
        np.array([0, -1, -1], np.int32),
        np.array([0.5, 0.0, 0.0]),
        np.array([1, -1, -1], np.int32),
        np.array([2, -1, -1], np.int32),
        np.array([0, 0, 0], np.uint8),
        np.array([0.0, 1.0, 2.0]),
    )
    assert [sum_of_trees(np.array([x]), *arrays) for x in (0.5, 0.6, nan)] == [1.0, 2.0, 2.0]


def test_shipped_trees_on_probe_pairs_equal_the_slow_walk() -> None:
    fits = shipped()
    for pair in sample()[::8]:
        seen = compared(pair.b, pair.a, 0.7).pair_features
        if seen is not None:
            for fit in (fits.with_cosine, fits.without_cosine):
                assert sum_of_trees(seen, *fit.arrays) == oracles.sum_of_trees(seen, *fit.arrays)


def test_shipped_trees_have_children_after_their_parents() -> None:
    for fit in (shipped().with_cosine, shipped().without_cosine):
        _, feature, _, left, right, *_ = fit.arrays
        inner = np.flatnonzero(feature >= 0)
        assert (left[inner] > inner).all()
        assert (right[inner] > inner).all()
        assert max(left.max(), right.max()) < len(feature)
        assert feature.max() < len(NAMES)


# -- The probability


def test_probability_of_swapped_texts_is_the_same() -> None:
    for pair in sample():
        one, other = compared(pair.b, pair.a, 0.8), compared(pair.a, pair.b, 0.8)
        assert one.judgement.same_probability == other.judgement.same_probability, pair
        assert one.judgement.hard == other.judgement.hard, pair


def test_probability_of_any_pair_lies_between_0_and_1() -> None:
    texts = ["", " ", "?!", "8080", "🙂", "a", "สวัสดี", "Ключ лежит дома", "鍵は机の上", "x" * 5000]
    for own in texts:
        for other in texts:
            for cosine in (nan, -1.0, 0.0, 1.0):
                assert 0.0 <= compared(own, other, cosine).judgement.same_probability <= 1.0


def test_probability_of_equal_words_is_1() -> None:
    assert compared("The port is 8080", "The port is 8080.").judgement.same_probability == 1.0


def test_probability_without_the_bundled_model_ignores_the_cosine() -> None:
    own, other = "Ben owns the inventory module", "The inventory module belongs to Ben"
    found = {
        compare(own, other, cosine, CAREFUL).judgement.same_probability
        for cosine in (-1.0, 0.0, 1.0)
    }
    assert len(found) == 1


ORDERED = [
    (
        "The staging server listens on port 8080",
        "Port 8080 is where the staging server listens",
        "The staging server listens on port 8081",
    ),
    (
        "Ben owns the inventory module",
        "The owner of the inventory module is Ben",
        "Ben does not own the inventory module",
    ),
    (
        "デプロイは毎週金曜日に行われる。",
        "毎週金曜にデプロイを実施している。",
        "デプロイは毎週月曜日に行われる。",
    ),
    ("用户喜欢用深色主题写代码。", "写代码时,用户喜欢深色主题。", "用户不喜欢用深色主题写代码。"),
]


@pytest.mark.parametrize(("text", "reworded", "changed"), ORDERED)
@pytest.mark.parametrize("cosine", [nan, 0.9])
def test_probability_falls_from_equal_to_reworded_to_changed(
    text: str, reworded: str, changed: str, cosine: float
) -> None:
    same = compared(text, reworded, cosine).judgement.same_probability
    assert 1.0 == compared(text, text, cosine).judgement.same_probability > same
    assert same > compared(text, changed, cosine).judgement.same_probability < 0.5


@pytest.mark.parametrize("language", LANGUAGES)
def test_probability_parts_same_from_different_probe_pairs(language: str) -> None:
    pairs = [pair for pair in sample() if pair.language == language]
    same = [compared(p.b, p.a).judgement.same_probability for p in pairs if p.same]
    other = [compared(p.b, p.a).judgement.same_probability for p in pairs if not p.same]
    wins = sum((x > y) + (x == y) / 2 for x in same for y in other)
    assert wins / (len(same) * len(other)) >= AUC_MIN[language]


def test_probability_of_texts_over_budget_or_unread_is_computed_from_the_texts() -> None:
    own, other = "The cat sleeps on the mat", "On the mat sleeps the cat"
    over = compare(own, other, 0.9, CAREFUL, ReadingBudget(1), bundled=True)
    assert over.judgement.over_budget
    assert over.pair_features is not None
    assert np.isnan(over.pair_features[NAMES.index("shared")])
    assert over.pair_features[NAMES.index("words_jaccard")] == 1.0
    assert 0.0 < over.judgement.same_probability < 1.0


def test_features_have_a_name_each() -> None:
    seen = compared("Tom drinks tea", "Tea is drunk by Tom", 0.5).pair_features
    assert seen is not None
    assert len(seen) == len(NAMES) == len(set(NAMES))
    assert "pair_features" in {field.name for field in fields(Comparison)}


# -- Hard differences


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("The staging server listens on port 8080", "The staging server listens on port 8081"),
        ("The cache lives 5 minutes", "The cache lives 5 seconds"),
        ("The release is on 3 May", "The release is on 5 May"),
        ("The backup runs every night", "The backup does not run every night"),
        ("Enable the proxy", "Disable the proxy"),
        ("夜間バッチは3時に始まる。", "夜間バッチは4時に始まる。"),
        ("重试次数是 3 次。", "重试次数是 5 次。"),
        ("バックアップは毎日午前3時に始まる。", "バックアップは毎日午後3時に始まる。"),
        ("The backup starts at 15:00", "The backup starts at 16:00"),
        ("The backup starts at 14:15.", "The backup starts at a quarter past one."),
        ("The backup starts at 13:15.", "The backup starts at a quarter past one at night."),
        ("室温は28度に保つ。", "室温は26℃に保つ。"),
        ("藤枝さんは梅村さんに四千円貸している。", "梅村さんは藤枝さんに四千円貸している。"),
    ],
)
def test_value_or_denial_changed_in_place_is_hard(own: str, other: str) -> None:
    assert compared(own, other).judgement.hard


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("The timeout is 1500 ms", "The timeout is 1.5 seconds"),
        ("Ben owns the inventory module", "The inventory module belongs to Ben"),
        ("Deploy only if the smoke tests pass", "Don't deploy unless the smoke tests pass"),
        ("デプロイは毎週金曜日に行われる。", "毎週金曜にデプロイを実施している。"),
        ("Tom drinks tea", "Tom drinks tea. Anna is away."),
        ("The backup starts at 13:15.", "The backup starts at a quarter past one."),
        ("Das Backup beginnt um 15:30.", "Das Backup beginnt um halb vier."),
        ("Training takes 90 minutes.", "Training takes an hour and a half."),
        ("バックアップは毎日15時に始まる。", "バックアップは毎日3時に始まる。"),
        ("乾燥機は終わると三度鳴る。", "乾燥機は終わると3回鳴る。"),
        ("夏天空调不低于 26 度。", "夏天空调不低于 26℃。"),
        ("倉庫は零下18度に保つ。", "倉庫は-18℃に保つ。"),
        ("荷物は20キロまで。", "荷物は20kgまで。"),
        ("The password changes every 90 days.", "The password changes every three months."),
        ("パスワードは90日ごとに変わる。", "パスワードは三か月ごとに変わる。"),
        ("磁盘配额 2048 MB。", "磁盘配额 2 GB。"),
        ("毎週金曜の夕飯は鍋だ。", "金曜の夕飯は鍋だ。"),
        ("予定：原、翌週に福岡出張", "予定：原、来週に福岡出張"),
        ("第二楽章は速い。", "二楽章は速い。"),
        ("麻雀は祖父に教わった。", "麻雀は祖父から教わった。"),
        ("评审组以 4 比 3 通过了 RFC-58", "评审组表决 RFC-58:4:3，通过"),
        ("藤枝さんは梅村さんに四千円貸している。", "梅村さんは藤枝さんに四千円借りている。"),
    ],
)
def test_other_wording_is_not_hard(own: str, other: str) -> None:
    assert not compared(own, other).judgement.hard


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("バックアップは毎日15時に始まる。", "バックアップは毎日3時に始まる。"),
        ("乾燥機は終わると三度鳴る。", "乾燥機は終わると3回鳴る。"),
        ("毎週金曜の夕飯は鍋だ。", "金曜の夕飯は鍋だ。"),
        ("web-1 runs Node 20", "web-1:8080 runs Node 20"),
    ],
)
def test_value_that_another_form_may_mean_is_doubtful(own: str, other: str) -> None:
    assert is_doubtful(compared(own, other).placed)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("3 °", "30 °C"),
        ("3 month", "8640000 s"),
        ("1 month", "1209600 s"),
        ("2000000000 B", "4000000000 B"),
        ("0 B", "1024 B"),
        ("5 kg", "5 m"),
        ("no.3", "2"),
        ("1.2", "1.20"),
        ("date:weekday:1", "date:every-weekday:2"),
        ("date:relative:+2w", "date:relative:+week"),
        ("date:relative:+1w", "date:relative:-week"),
        ("db01", "db010"),
        ("same", "same"),
    ],
)
def test_other_values_are_not_one_value(own: str, other: str) -> None:
    assert not may_be_one_value(own, other)
    assert not may_be_one_value(other, own)
