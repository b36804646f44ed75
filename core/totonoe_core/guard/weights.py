"""How far a wording may differ and still say the same: a logistic regression of few coefficients.

A verdict asks it only where no difference could be named (`verdict`): all that is left then
are loose synonyms, light words, parts that agree roughly, another order, and the cosine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """How far a wording may differ, as a logistic regression (`calibrate` fits it).

    p(duplicate) = 1 / (1 + exp(-(bias + cosine * c + near * n + light * l + soft * s + moved * m)))
    with the shares of `Features`. `at_least` is the least p that refuses.
    """

    # No defaults: rows leave those out, and what was fitted must not change with a release.
    bias: float
    cosine: float
    near: float
    light: float
    soft: float
    moved: float
    at_least: float


@dataclass(frozen=True, slots=True)
class Features:
    """How two texts without a named difference are worded differently.

    Attributes
    ----------
    cosine : float
        Similarity of the vectors, -1..1.
    near, light, soft, moved : float
        Shares, 0..1, of the weight of all pieces: loose synonyms; left over light pieces; pairs
        whose parts agree only roughly; pairs in another order.
    """

    cosine: float
    near: float = 0.0
    light: float = 0.0
    soft: float = 0.0
    moved: float = 0.0

    def probability(self, weights: Weights) -> float:
        """p(duplicate)."""
        sum_ = (
            weights.bias
            + weights.cosine * self.cosine
            + weights.near * self.near
            + weights.light * self.light
            + weights.soft * self.soft
            + weights.moved * self.moved
        )
        return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, sum_))))
