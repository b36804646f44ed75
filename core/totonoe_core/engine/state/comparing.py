"""Comparison of two memories that were read, as an answer shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from totonoe_core.domain.calibration import CAREFUL, bundled, weights_for
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import Judgement, Memory
from totonoe_core.guard.verdict import Comparison, compare
from totonoe_core.guard.weighing import weighed
from totonoe_core.index.collection_index import guard_tokens
from totonoe_core.judging.cascade import probability_with
from totonoe_core.judging.protocol import Opinion
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.kernels.jaccard import jaccard_pair
from totonoe_core.text.reading.budget import ReadingBudget


def judgement_of(
    info: CollectionInfo, own: Memory, other: Memory, weights: bool = False
) -> Judgement:
    """Return how `own` relates to `other`; without vectors, by the words alone.

    Parameters
    ----------
    weights : bool
        Weigh the evidence.
    """
    similarity, by_vectors = similarity_of(info, own, other)
    texts = own.content, other.content
    judgement = comparison_at(info, *texts, similarity, by_vectors).judgement
    if not weights:
        return judgement
    return weighed_by(_comparing(info, similarity, by_vectors), *texts, judgement, None)


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
    compared = _comparing(info, similarity, by_vectors)(own, other, ReadingBudget())
    return replace(compared, judgement=info.guard.settled(compared.judgement))


Comparing = Callable[[str, str, ReadingBudget], Comparison]
"""Compares a new text with a memory's, as a judgement was made."""


def _comparing(info: CollectionInfo, similarity: float, by_vectors: bool) -> Comparing:
    weights = weights_for(info.calibration, info.model) if by_vectors else CAREFUL
    known = by_vectors and bundled(info.model)

    def compared(own: str, other: str, budget: ReadingBudget) -> Comparison:
        return compare(own, other, similarity, weights, budget, bundled=known)

    return compared


def weighed_by(
    comparing: Comparing, own: str, other: str, judgement: Judgement, opinion: Opinion | None
) -> Judgement:
    """Return a judgement with weights; all of them together read what one comparison may.

    Parameters
    ----------
    opinion : Opinion or None
        Of the judge that moved the probability.
    """
    budget = ReadingBudget()
    # A hard difference is told to the judge, which does not move its probability.
    said = None if judgement.hard else opinion

    def reread(here: str, there: str) -> float | None:
        comparison = comparing(here, there, budget)
        if comparison.judgement.over_budget and not judgement.over_budget:
            return None
        # Texts that became equal are the same, whatever a judge said of them.
        if said is None or comparison.pair_features is None:
            return comparison.judgement.same_probability
        return probability_with(comparison, said)

    unjudged = None
    if said is not None:
        unjudged = comparing(own, other, budget).judgement.same_probability
    return weighed(own, other, judgement, reread, unjudged)
