"""Comparison of two memories that were read, as an answer shows it."""

from __future__ import annotations

import numpy as np

from totonoe_core.domain.calibration import CAREFUL, bundled, weights_for
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import Judgement, Memory
from totonoe_core.guard.verdict import judged
from totonoe_core.index.collection_index import guard_tokens
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.kernels.jaccard import jaccard_pair


def judgement_of(info: CollectionInfo, own: Memory, other: Memory) -> Judgement:
    """Return how `own` relates to `other`; without vectors, by the words alone."""
    if own.vector and other.vector:
        vectors = (np.frombuffer(memory.vector, np.float32) for memory in (own, other))
        weights = weights_for(info.calibration, info.model)
        known = bundled(info.model)
        cosine = float(similarity64(*vectors))
        judgement = judged(own.content, other.content, cosine, weights, known)
    else:
        tokens = (guard_tokens(memory.content, info.guard.tokenizer) for memory in (own, other))
        judgement = judged(own.content, other.content, jaccard_pair(*tokens), CAREFUL)
    return info.guard.settled(judgement)
