"""Weights of the bundled model. Written by `python -m bench.quality_fit`.

Fitted to the probe set (`guard.probe`) and to

    en_scpp_replace  SugarCrepe++, CC BY 4.0
    en_negation      CANNOT, CC BY-SA 4.0
    en_bugs_hadoop   GitBugs, CC BY 4.0
    ja_jsts_train    JSTS of JGLUE, CC BY-SA 4.0
    ja_jsick_train   JSICK, CC BY-SA 4.0
"""

from __future__ import annotations

from totonoe_core.guard.weights import Weights

MODEL, VERSION, DIMENSION = "use-multilingual", "3", 512
WEIGHTS = Weights(
    bias=-3.6249,
    cosine=9.1364,
    near=-5.3954,
    light=-7.9318,
    soft=-2.4087,
    moved=-0.8701,
    at_least=0.5,
)
FALSE_MERGE_BUDGET = 0.005
FALSE_MERGE_RATE = 0.002978
DUPLICATE_RECALL = 0.371597
PAIR_COUNT = 6233
