"""Weights of the bundled model. Written by `python -m bench.quality_fit`; not by hand."""

from __future__ import annotations

from totonoe_core.guard.weights import Weights

MODEL, VERSION, DIMENSION = "use-multilingual", "3", 512
WEIGHTS = Weights(
    bias=-8.0, cosine=14.0, near=-6.0, light=-8.0, soft=-3.0, moved=-1.0, at_least=0.9
)
FALSE_MERGE_BUDGET = 0.005
FALSE_MERGE_RATE = 0.0
DUPLICATE_RECALL = 0.0
PAIR_COUNT = 0
