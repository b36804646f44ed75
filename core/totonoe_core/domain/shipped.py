"""Weights of the bundled model. Written by `python -m bench.quality_fit`.

Fitted to the probe set (`guard.probe`) and to

    en_scpp_replace  SugarCrepe++, CC BY 4.0
    en_negation      CANNOT, CC BY-SA 4.0
    en_bugs_hadoop   GitBugs, CC BY 4.0
    ja_jsts_train    JSTS of JGLUE, CC BY-SA 4.0
    ja_jsick_train   JSICK, CC BY-SA 4.0
"""

from __future__ import annotations

from totonoe_core.domain.weights import Weights

MODEL, VERSION, DIMENSION = "use-multilingual", "3", 512
WEIGHTS = Weights(
    bias=-5.3205,
    cosine=13.4261,
    near=-6.0,
    light=-8.0,
    soft=-3.0,
    moved=-1.0,
    at_least=0.5,
)
FALSE_MERGE_BUDGET = 0.005
FALSE_MERGE_RATE = 0.000993
DUPLICATE_RECALL = 0.374319
PAIR_COUNT = 6233
