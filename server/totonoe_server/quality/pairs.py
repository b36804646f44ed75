"""Pairs: would the guard refuse the second text while the first is stored?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.engine.comparing import refused_by, token_jaccard
from totonoe_core.guard.calibration import weights_for
from totonoe_core.guard.policy import PRESETS, GuardPolicy, Preset, Tokenizer
from totonoe_core.guard.verdict import Comparison, compare
from totonoe_core.guard.weights import Weights
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.records import Judgement, Method
from totonoe_server.quality.figures import auc, share
from totonoe_server.quality.files import Pair
from totonoe_server.quality.rig import Advance, Rig

_NOTHING = replace(PRESETS[Preset.EGO], cosine_distance_below=None)
GUARDS: dict[str, GuardPolicy] = {
    **{preset.value: policy for preset, policy in PRESETS.items()},
    "cosine 0.95": replace(_NOTHING, cosine_at_least=0.95),
    "cosine 0.85": replace(_NOTHING, cosine_at_least=0.85),
    "Jaccard 0.70": replace(_NOTHING, jaccard_above=0.70, tokenizer=Tokenizer.SCRIPT_AWARE),
}
"""What every pair is judged by in one run: embedding is what costs."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled pair and what the guard says of it; `beside`: which of GUARDS refuse it."""

    pair: Pair
    method: Method
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
    pair: Pair, vectors: NDArray[np.float32], policy: GuardPolicy, weights: Weights
) -> Judged:
    """One pair as `Engine.compare` judges it, for any policy.

    Parameters
    ----------
    vectors : float32[2, dim]
        Unit vectors of both texts.
    weights : Weights
        Of the model that made them.
    """
    cosine = similarity64(vectors[0], vectors[1])
    found = compare(pair.b, pair.a, cosine, weights)

    def method_of(guard: GuardPolicy) -> Method:
        return refused_by(pair.a, pair.b, guard, found.judgement, cosine)

    beside = {name for name, guard in GUARDS.items() if method_of(guard) is not Method.NONE}
    jaccard = token_jaccard(pair.a, pair.b, policy.tokenizer)
    return Judged(pair, method_of(policy), found, cosine, jaccard, frozenset(beside))


def judge_all(
    pairs: Sequence[Pair], policy: GuardPolicy, rig: Rig, advance: Advance
) -> list[Judged]:
    """Pairs that have a label. `advance` is told each text that has its vector."""
    labelled = [pair for pair in pairs if pair.label is not None]
    advance(2 * (len(pairs) - len(labelled)))
    texts = [text for pair in labelled for text in (pair.a, pair.b)]
    vectors = rig.vectors(texts, advance).reshape(len(labelled), 2, -1)
    weights = weights_for(None, rig.model)
    return [judge(pair, two, policy, weights) for pair, two in zip(labelled, vectors, strict=True)]


def measure(
    pairs: Sequence[Pair], policy: GuardPolicy, rig: Rig, advance: Advance
) -> dict[str, Any]:
    """Figures of a file of pairs. `advance` is told each text that has its vector."""
    rows = judge_all(pairs, policy, rig, advance)
    counted = [one for one in rows if one.pair.counts]
    found = figures(counted)
    found["n_unlabelled"] = len(pairs) - len(rows)
    found["n_uncounted"] = len(rows) - len(counted)
    found["by_lang"] = _by(counted, lambda one: one.pair.lang)
    if any(one.pair.kind for one in rows):
        found["by_kind"] = _by(rows, lambda one: one.pair.kind)
    return found


def figures(judged: Sequence[Judged]) -> dict[str, Any]:
    """The same figures for any group of pairs."""
    same = np.array([one.pair.label == 1 for one in judged], np.bool_)
    n_same = int(np.count_nonzero(same))
    methods = [method for method in Method if method is not Method.NONE]
    counts = {
        method.value: sum(one.method is method for one in judged)
        for method in methods
        if any(one.method is method for one in judged)
    }
    expected = [one for one in judged if one.pair.verdicts]
    right = sum(one.judgement.verdict.value in one.pair.verdicts for one in expected)
    return {
        "n": len(judged),
        "n_same": n_same,
        "n_different": len(judged) - n_same,
        **_rates((one.refused for one in judged), same),
        "auc_cosine": auc(np.array([one.cosine for one in judged]), same),
        "auc_jaccard": auc(np.array([one.jaccard for one in judged]), same),
        "refused_by_method": counts,
        "verdict_accuracy": share(right, len(expected)),
        "beside": {name: _rates((name in one.beside for one in judged), same) for name in GUARDS},
    }


def _rates(refused: Iterable[bool], same: NDArray[np.bool_]) -> dict[str, float | None]:
    """Shares of the different, and of the same pairs, that are refused."""
    found = np.array(list(refused), np.bool_)
    n_same = int(np.count_nonzero(same))
    return {
        "false_merge_rate": share(float(np.count_nonzero(found & ~same)), len(same) - n_same),
        "duplicate_recall": share(float(np.count_nonzero(found & same)), n_same),
    }


def _by(judged: Sequence[Judged], key: Callable[[Judged], str]) -> dict[str, Any]:
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(key(one), []).append(one)
    return {name: figures(groups[name]) for name in sorted(groups)}
