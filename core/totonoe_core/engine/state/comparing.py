"""Comparison of two memories that were read, as an answer shows it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from totonoe_core.domain.calibration import CAREFUL, bundled, weights_for
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import Judgement, Memory
from totonoe_core.guard.verdict import Comparison, compare
from totonoe_core.index.collection_index import guard_tokens
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.kernels.jaccard import jaccard_pair


def judgement_of(info: CollectionInfo, own: Memory, other: Memory) -> Judgement:
    """Return how `own` relates to `other`; without vectors, by the words alone."""
    similarity, by_vectors = similarity_of(info, own, other)
    return comparison_at(info, own.content, other.content, similarity, by_vectors).judgement


def similarity_of(info: CollectionInfo, own: Memory, other: Memory) -> tuple[float, bool]:
    """Return the similarity of two memories; true: of their vectors, false: of their words."""
    if own.vector and other.vector:
        vectors = (np.frombuffer(memory.vector, np.float32) for memory in (own, other))
        return float(similarity64(*vectors)), True
    tokens = (guard_tokens(memory.content, info.guard.tokenizer) for memory in (own, other))
    return jaccard_pair(*tokens), False


def comparison_at(
    info: CollectionInfo, own: str, other: str, similarity: float, by_vectors: bool
) -> Comparison:
    """Return how a text relates to another at a similarity: of their vectors, or of their words.

    The judgement is settled by the collection's policy.
    """
    weights = weights_for(info.calibration, info.model) if by_vectors else CAREFUL
    known = by_vectors and bundled(info.model)
    compared = compare(own, other, similarity, weights, bundled=known)
    return replace(compared, judgement=info.guard.settled(compared.judgement))
