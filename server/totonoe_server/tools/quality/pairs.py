"""Pairs: would the guard refuse the second text while the first is stored?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.policy import PRESETS, GuardPolicy, Preset, Tokenizer
from totonoe_core.domain.records import Judgement, Method, ModelIdentity
from totonoe_core.engine.pairs import read_pair
from totonoe_core.guard.verdict import Comparison
from totonoe_server.tools.quality.figures import auc, share
from totonoe_server.tools.quality.files import BenchmarkPair
from totonoe_server.tools.quality.rig import Advance, Rig

_NOTHING = replace(PRESETS[Preset.EGO], cosine_distance_below=None)
GUARDS: dict[str, GuardPolicy] = {
    **{preset.value: policy for preset, policy in PRESETS.items()},
    "cosine 0.95": replace(_NOTHING, cosine_at_least=0.95),
    "cosine 0.85": replace(_NOTHING, cosine_at_least=0.85),
    "Jaccard 0.70": replace(_NOTHING, jaccard_above=0.70, tokenizer=Tokenizer.SCRIPT_AWARE),
}
"""Ways to judge a pair, all used in one run, because embedding costs most."""


@dataclass(frozen=True, slots=True)
class GuardedPair:
    """A labelled pair and what the guard says of it; `beside`: which of GUARDS refuse it.

    `likely` is true if the second text would be saved, and asked about; `shown` if it would be
    saved, and the answer would show the first one.
    """

    pair: BenchmarkPair
    method: Method
    likely: bool
    shown: bool
    comparison: Comparison
    cosine: float
    jaccard: float
    beside: frozenset[str]

    @property
    def refused(self) -> bool:
        """Whether the second text would not be saved."""
        return self.method is not Method.NONE

    @property
    def judgement(self) -> Judgement:
        """The verdict, which counts where the policy asks it."""
        return self.comparison.judgement


def judge(
    pair: BenchmarkPair, vectors: NDArray[np.float32], policy: GuardPolicy, model: ModelIdentity
) -> GuardedPair:
    """One pair as `Engine.compare` judges it, for any policy.

    Parameters
    ----------
    vectors : float32[2, dim]
        Unit vectors of both texts.
    model : ModelIdentity
        The one that made them.
    """
    texts = read_pair(pair.a, pair.b, vectors, model)
    method = texts.refused_by(policy)
    likely = method is Method.NONE and policy.is_likely(texts.compared.judgement)
    return GuardedPair(
        pair=pair,
        method=method,
        likely=likely,
        shown=method is Method.NONE and not likely and policy.is_shown(texts.compared.judgement),
        comparison=texts.compared,
        cosine=texts.cosine,
        jaccard=texts.jaccard(policy.tokenizer),
        beside=frozenset(
            name for name, guard in GUARDS.items() if texts.refused_by(guard) is not Method.NONE
        ),
    )


def judge_all(
    pairs: Sequence[BenchmarkPair], policy: GuardPolicy, rig: Rig, advance: Advance
) -> list[GuardedPair]:
    """Pairs that have a label. `advance` is told each text that has its vector."""
    labelled = [pair for pair in pairs if pair.label is not None]
    advance(2 * (len(pairs) - len(labelled)))
    texts = [text for pair in labelled for text in (pair.a, pair.b)]
    vectors = rig.vectors(texts, advance).reshape(len(labelled), 2, -1)
    return [
        judge(pair, two, policy, rig.model) for pair, two in zip(labelled, vectors, strict=True)
    ]


def measure(
    pairs: Sequence[BenchmarkPair], policy: GuardPolicy, rig: Rig, advance: Advance
) -> dict[str, Any]:
    """Figures of a file of pairs. `advance` is told each text that has its vector."""
    rows = judge_all(pairs, policy, rig, advance)
    counted = [pair for pair in rows if pair.pair.counts]
    found = figures(counted)
    found["n_unlabelled"] = len(pairs) - len(rows)
    found["n_uncounted"] = len(rows) - len(counted)
    found["by_lang"] = _by(counted, lambda pair: pair.pair.lang)
    if any(pair.pair.kind for pair in rows):
        found["by_kind"] = _by(rows, lambda pair: pair.pair.kind)
    return found


def figures(judged: Sequence[GuardedPair]) -> dict[str, Any]:
    """The same figures for any group of pairs."""
    same = np.array([pair.pair.label == 1 for pair in judged], np.bool_)
    n_same = int(np.count_nonzero(same))
    methods = [method for method in Method if method is not Method.NONE]
    counts = {
        method.value: sum(pair.method is method for pair in judged)
        for method in methods
        if any(pair.method is method for pair in judged)
    }
    expected = [pair for pair in judged if pair.pair.verdicts]
    right = sum(pair.judgement.verdict.value in pair.pair.verdicts for pair in expected)
    return {
        "n": len(judged),
        "n_same": n_same,
        "n_different": len(judged) - n_same,
        **_rates((pair.refused for pair in judged), same),
        "bands": _bands(judged, same),
        "auc_same_probability": auc(
            np.array([pair.judgement.same_probability for pair in judged]), same
        ),
        "auc_cosine": auc(np.array([pair.cosine for pair in judged]), same),
        "auc_jaccard": auc(np.array([pair.jaccard for pair in judged]), same),
        "refused_by_method": counts,
        "verdict_accuracy": share(right, len(expected)),
        "beside": {name: _rates((name in pair.beside for pair in judged), same) for name in GUARDS},
    }


def _rates(refused: Iterable[bool], same: NDArray[np.bool_]) -> dict[str, float | None]:
    """Shares of the different, and of the same pairs, that are refused."""
    found = np.array(list(refused), np.bool_)
    n_same = int(np.count_nonzero(same))
    return {
        "false_merge_rate": share(float(np.count_nonzero(found & ~same)), len(same) - n_same),
        "duplicate_recall": share(float(np.count_nonzero(found & same)), n_same),
    }


def _bands(judged: Sequence[GuardedPair], same: NDArray[np.bool_]) -> dict[str, Any]:
    """Shares of the same, and of the different pairs, in each band; and with a hard difference."""
    bands = {
        "certain": np.array([pair.refused for pair in judged], np.bool_),
        "likely": np.array([pair.likely for pair in judged], np.bool_),
        "shown": np.array([pair.shown for pair in judged], np.bool_),
        "hard": np.array([pair.judgement.hard for pair in judged], np.bool_),
    }
    n_same = int(np.count_nonzero(same))
    return {
        name: {
            "same": share(float(np.count_nonzero(found & same)), n_same),
            "different": share(float(np.count_nonzero(found & ~same)), len(same) - n_same),
        }
        for name, found in bands.items()
    }


def _by(judged: Sequence[GuardedPair], key: Callable[[GuardedPair], str]) -> dict[str, Any]:
    groups: dict[str, list[GuardedPair]] = {}
    for pair in judged:
        groups.setdefault(key(pair), []).append(pair)
    return {name: figures(groups[name]) for name in sorted(groups)}
