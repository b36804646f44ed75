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
    return kept_aside([one for one in groups() if one.published])[:PAIRS]


def test_model_is_small_and_says_where_it_comes_from() -> None:
    assert sum(one.stat().st_size for one in SHIPPED.iterdir()) <= BYTES_MAX
    assert read_manifest(SHIPPED).scales.keys() >= {"", "en", "ja", "zh", "across"}
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    assert "multilingual-e5-small" in card


def test_model_tells_restatements_from_look_alikes(model: OwnModel, pairs: list[Aside]) -> None:
    said = [one for at in range(0, PAIRS, 20) for one in model.opinions(texts(pairs[at : at + 20]))]
    known = [one is not None for one in said]
    assert sum(known) > 0.95 * PAIRS
    same = np.array([one.same == 1 for one in pairs])[known]
    assert auc(np.array([one.same for one in said if one is not None]), same) >= LEAST_AUC


def test_opinion_is_that_of_any_batch_and_order(model: OwnModel, pairs: list[Aside]) -> None:
    asked = texts(pairs[:16])
    together = model.opinions(asked)
    assert together == [model.opinions([pair])[0] for pair in asked]
    back = model.opinions([(other, one) for one, other in asked])
    assert together == [None if one is None else one.mirrored() for one in back]


def texts(pairs: list[Aside]) -> list[tuple[str, str]]:
    return [(one.a, one.b) for one in pairs]
