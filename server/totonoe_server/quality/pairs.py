"""Pairs: would the guard refuse the second text while the first is stored?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.engine.comparing import refused_by, token_jaccard
from totonoe_core.guard.calibration import weights_for
from totonoe_core.guard.policy import GuardPolicy
from totonoe_core.guard.verdict import judged
from totonoe_core.guard.weights import Weights
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.records import Judgement, Method
from totonoe_server.quality.figures import auc, share
from totonoe_server.quality.files import Pair
from totonoe_server.quality.rig import Advance, Rig


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled pair and what the guard says of it."""

    pair: Pair
    method: Method
    judgement: Judgement
    cosine: float
    jaccard: float

    @property
    def refused(self) -> bool:
        """Whether the second text would not be saved."""
        return self.method is not Method.NONE


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
    judgement = judged(pair.b, pair.a, cosine, weights)
    method = refused_by(pair.a, pair.b, policy, judgement, cosine)
    jaccard = token_jaccard(pair.a, pair.b, policy.tokenizer)
    return Judged(pair, method, judgement, cosine, jaccard)


def measure(
    pairs: Sequence[Pair], policy: GuardPolicy, rig: Rig, advance: Advance
) -> dict[str, Any]:
    """Figures of a file of pairs. `advance` is told each text that has its vector."""
    labelled = [pair for pair in pairs if pair.label is not None]
    advance(2 * (len(pairs) - len(labelled)))
    texts = [text for pair in labelled for text in (pair.a, pair.b)]
    vectors = rig.vectors(texts, advance).reshape(len(labelled), 2, -1)
    weights = weights_for(None, rig.model)
    rows = [judge(pair, two, policy, weights) for pair, two in zip(labelled, vectors, strict=True)]
    found = figures(rows) | {"n_unlabelled": len(pairs) - len(labelled)}
    found["by_lang"] = _by(rows, lambda one: one.pair.lang)
    if any(one.pair.kind for one in rows):
        found["by_kind"] = _by(rows, lambda one: one.pair.kind)
    return found


def figures(judged: Sequence[Judged]) -> dict[str, Any]:
    """The same figures for any group of pairs."""
    same = np.array([one.pair.label == 1 for one in judged], np.bool_)
    refused = np.array([one.refused for one in judged], np.bool_)
    n_same = int(np.count_nonzero(same))
    methods = [method for method in Method if method is not Method.NONE]
    counts = {
        method.value: sum(one.method is method for one in judged)
        for method in methods
        if any(one.method is method for one in judged)
    }
    return {
        "n": len(judged),
        "n_same": n_same,
        "n_different": len(judged) - n_same,
        "false_merge_rate": share(float(np.count_nonzero(refused & ~same)), len(judged) - n_same),
        "duplicate_recall": share(float(np.count_nonzero(refused & same)), n_same),
        "auc_cosine": auc(np.array([one.cosine for one in judged]), same),
        "auc_jaccard": auc(np.array([one.jaccard for one in judged]), same),
        "refused_by_method": counts,
    }


def _by(judged: Sequence[Judged], key: Callable[[Judged], str]) -> dict[str, Any]:
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(key(one), []).append(one)
    return {name: figures(groups[name]) for name in sorted(groups)}
