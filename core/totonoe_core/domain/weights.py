"""Weights of the logistic regression that decides how far a wording may differ.

The verdict uses it only if no difference has a name (`verdict`): only negated opposites, light
words, parts that agree roughly, another order, and the cosine are left then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

EVEN_CHANCE = 0.5


@dataclass(frozen=True, slots=True)
class Weights:
    """Coefficients of the logistic regression (`calibrate` fits them).

    p(duplicate) = 1 / (1 + exp(-(bias + cosine * c + near * n + light * l + soft * s + moved * m)))
    with the shares of `Features`. `at_least` is the least p that refuses.
    """

    # No defaults: rows leave defaults out, and fitted values must not change with a release.
    bias: float
    cosine: float
    near: float
    light: float
    soft: float
    moved: float
    at_least: float


@dataclass(frozen=True, slots=True)
class Features:
    """Differences in wording of two texts without a named difference.

    Attributes
    ----------
    cosine : float
        Similarity of the vectors, -1..1.
    near, light, soft, moved : float
        Shares, 0..1, of the weight of all pieces: loose synonyms and negated opposites; light
        pieces without a partner; pairs whose parts agree only roughly; pairs in another order.
    loose : bool
        There is a loose synonym, or another form of a word: "the pump", "the pumps".
    """

    cosine: float
    near: float = 0.0
    light: float = 0.0
    soft: float = 0.0
    moved: float = 0.0
    loose: bool = False

    def refuse(self, weights: Weights) -> bool:
        """Return whether the texts are a duplicate.

        Not at any p if they are `loose`: many such words are a thing and its kind, "meat" and
        "beef", so that the texts are likely the same, never certainly.
        """
        return not self.loose and self.probability(weights) >= weights.at_least

    def probability(self, weights: Weights) -> float:
        """Return p(duplicate)."""
        sum_ = (
            weights.bias
            + weights.cosine * self.cosine
            + weights.near * self.near
            + weights.light * self.light
            + weights.soft * self.soft
            + weights.moved * self.moved
        )
        return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, sum_))))
