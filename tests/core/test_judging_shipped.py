"""The model of the judge that ships: its size, and its figures on topics that it never saw."""

from __future__ import annotations

import numpy as np
import pytest

from bench.judge.data import groups
from bench.judge.evaluate import Aside, auc, kept_aside
from totonoe_core.judging.own import SHIPPED, OwnModel, read_manifest

BYTES_MAX = 35_000_000
PAIRS = 500
LEAST_AUC = 0.86
"""Three standard errors of so few pairs below the figure in docs/quality.md."""


@pytest.fixture(scope="module")
def model() -> OwnModel:
    return OwnModel(SHIPPED)


@pytest.fixture(scope="module")
def pairs() -> list[Aside]:
    return kept_aside([group for group in groups() if group.published])[:PAIRS]


def test_model_is_small_and_says_where_it_comes_from() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) <= BYTES_MAX
    assert read_manifest(SHIPPED).scales.keys() >= {"", "en", "ja", "zh", "across"}
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    assert "multilingual-e5-small" in card


def test_model_tells_restatements_from_look_alikes(model: OwnModel, pairs: list[Aside]) -> None:
    said = [
        opinion
        for at in range(0, PAIRS, 20)
        for opinion in model.opinions(texts(pairs[at : at + 20]))
    ]
    known = [opinion is not None for opinion in said]
    assert sum(known) > 0.95 * PAIRS
    same = np.array([pair.same == 1 for pair in pairs])[known]
    assert (
        auc(np.array([opinion.same for opinion in said if opinion is not None]), same) >= LEAST_AUC
    )


def test_opinion_is_that_of_any_batch_and_order(model: OwnModel, pairs: list[Aside]) -> None:
    asked = texts(pairs[:16])
    together = model.opinions(asked)
    assert together == [model.opinions([pair])[0] for pair in asked]
    back = model.opinions([(other, text) for text, other in asked])
    assert together == [None if opinion is None else opinion.mirrored() for opinion in back]


def texts(pairs: list[Aside]) -> list[tuple[str, str]]:
    return [(pair.a, pair.b) for pair in pairs]
