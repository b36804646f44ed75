"""One pair of texts as the guard judges it, for measurements without a store."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.calibration import bundled, weights_for
from totonoe_core.domain.policy import GuardPolicy, Tokenizer
from totonoe_core.domain.records import Method, ModelIdentity
from totonoe_core.engine.guarding.compare import refused_by, token_jaccard
from totonoe_core.guard.verdict import Comparison, compare
from totonoe_core.kernels.cosine import similarity64


@dataclass(frozen=True, slots=True)
class PairOfTexts:
    """The second text, read beside the first. `cosine` is that of their vectors, in float64."""

    text_a: str
    text_b: str
    cosine: float
    compared: Comparison

    def refused_by(self, policy: GuardPolicy) -> Method:
        """Return the layer by which a policy refuses the second text while the first is stored."""
        judgement = self.compared.judgement
        return refused_by(self.text_a, self.text_b, policy, judgement, self.cosine)

    def jaccard(self, tokenizer: Tokenizer) -> float:
        """Return the Jaccard similarity of their tokens, 0 to 1."""
        return token_jaccard(self.text_a, self.text_b, tokenizer)


def read_pair(
    text_a: str, text_b: str, vectors: NDArray[np.float32], model: ModelIdentity
) -> PairOfTexts:
    """Read two texts with their unit vectors, float32[2, dim], and the model that made them."""
    cosine = similarity64(vectors[0], vectors[1])
    weights = weights_for(None, model)
    compared = compare(text_b, text_a, cosine, weights, bundled=bundled(model))
    return PairOfTexts(text_a, text_b, cosine, compared)
