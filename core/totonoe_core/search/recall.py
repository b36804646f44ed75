"""A Recall over the index: mask, arms, fusion, diversity; slots with reasons come out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core.guard.cosines import similarities64_at
from totonoe_core.guard.policy import DecayPolicy, DiversityPolicy
from totonoe_core.index import masks
from totonoe_core.index.arrays import View
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.index.hnsw import Graph
from totonoe_core.queries import DiversityEffect, RecallMode, RecallQuery
from totonoe_core.records import Status
from totonoe_core.search import arms, diversity, fusion
from totonoe_core.text.tokens import has_identifier

CANDIDATES_MIN = 50
CANDIDATES_PER_HIT = 4
CANDIDATES_MAX = 2000
VECTOR_WEIGHT = 1.0
LEXICAL_WEIGHT = 2.0
"""Measured with the bundled embedder, beside `fusion.RRF_K` (docs/quality.md)."""
_YEAR_US = 31_556_952_000_000  # mean Gregorian year


@dataclass(frozen=True, slots=True)
class Ranked:
    """A slot and the reasons for its place; the fields are those of `queries.Hit`."""

    slot: int
    cosine_similarity: float | None
    lexical_similarity: float | None
    vector_rank: int
    lexical_rank: int
    fused_rank: int
    diversity: DiversityEffect


@dataclass(frozen=True, slots=True)
class Ranks:
    """Answer of `rank`."""

    hits: tuple[Ranked, ...]
    arms: tuple[str, ...]
    vector_search: str
    filtered_count: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the arms of a Recall give, before diversity.

    Attributes
    ----------
    slots, fused : int64[n], float64[n]
        Both arms' candidates, best first, and their fused weights.
    by_vector, by_words : int64[m]
        Slots of each arm, best first; empty if it did not run.
    vector_depth, words_depth : int
        How many an arm may give.
    cosines : float64[n] or None
        Of `slots`; `None` without a vector.
    coverage : float64[view.count] or None
        Term coverage of every slot; `None` if the lexical arm did not run.
    """

    slots: NDArray[np.int64]
    fused: NDArray[np.float64]
    by_vector: NDArray[np.int64]
    by_words: NDArray[np.int64]
    vector_depth: int
    words_depth: int
    cosines: NDArray[np.float64] | None
    coverage: NDArray[np.float64] | None
    arms: tuple[str, ...]
    vector_search: str


def candidates(
    index: CollectionIndex,
    view: View,
    graph: Graph | None,
    query: RecallQuery,
    vector: NDArray[np.float32] | None,
    mask: masks.Mask,
) -> Candidates:
    """What may become a hit, of the slots of a mask.

    `vector` `None` leaves the vector arm out; so does LEXICAL mode, and VECTOR mode the
    lexical one. `graph` `None`: the vector arm reads all.
    """
    depth = min(CANDIDATES_MAX, max(CANDIDATES_MIN, CANDIDATES_PER_HIT * query.k))
    # Words are strong where the query holds a name or part number: let more through.
    words_depth = 2 * depth if has_identifier(query.text) else depth
    rankings: list[NDArray[np.int64]] = []
    weights: list[float] = []
    ran: list[str] = []
    by_vector = by_words = np.zeros(0, np.int64)
    coverage: NDArray[np.float64] | None = None
    how = ""
    if vector is not None and query.mode is not RecallMode.LEXICAL:
        # Only what was live is in the graph, and it may be of an index that was made again since.
        live_only = query.filter.statuses in ((), (Status.ACTIVE,))
        usable = live_only and graph is not None and graph.arrays is index.arrays
        ranking, how = arms.by_vector(view, vector, mask, depth, graph if usable else None)
        by_vector = ranking.slots
        rankings.append(by_vector)
        weights.append(VECTOR_WEIGHT)
        ran.append("vector")
    if query.text and query.mode is not RecallMode.VECTOR:
        words, coverage = arms.by_words(view, index.terms, query.text, mask, words_depth)
        by_words = words.slots
        rankings.append(by_words)
        weights.append(LEXICAL_WEIGHT)
        ran.append("lexical")
    slots, fused = fusion.reciprocal_rank(rankings, weights)
    order = np.lexsort((view.take("row", slots), -fused))[:CANDIDATES_MAX]
    slots, fused = slots[order], fused[order]
    cosines = _cosine(view, vector, slots)
    return Candidates(
        slots, fused, by_vector, by_words, depth, words_depth, cosines, coverage, tuple(ran), how
    )


def rank(
    index: CollectionIndex,
    view: View,
    graph: Graph,
    query: RecallQuery,
    vector: NDArray[np.float32] | None,
    policy: DiversityPolicy,
    decay: DecayPolicy,
    now_us: int,
) -> Ranks:
    """The k best slots of a view, best first. `vector` as `candidates` takes it."""
    mask = masks.matching(index, view, query.filter, query.agent_id, decay, now_us)
    found = candidates(index, view, graph, query, vector, mask)
    hits = spread(view, found, policy, query.k)
    places = np.array([place for place, _ in hits], np.int64)
    chosen = found.slots[places]
    cosine = None if found.cosines is None else found.cosines[places]
    vector_ranks = fusion.ranks(found.by_vector, chosen)
    word_ranks = fusion.ranks(found.by_words, chosen)
    coverage = found.coverage
    return Ranks(
        tuple(
            Ranked(
                slot=int(chosen[at]),
                cosine_similarity=None if cosine is None else float(cosine[at]),
                lexical_similarity=None if coverage is None else float(coverage[chosen[at]]),
                vector_rank=int(vector_ranks[at]),
                lexical_rank=int(word_ranks[at]),
                fused_rank=place + 1,
                diversity=effect,
            )
            for at, (place, effect) in enumerate(hits)
        ),
        found.arms,
        found.vector_search,
        int(np.count_nonzero(mask)),
    )


def spread(
    view: View, found: Candidates, policy: DiversityPolicy, k: int
) -> list[tuple[int, DiversityEffect]]:
    """(place in `found.slots`, effect) of the hits, in their final order."""
    slots = found.slots
    if not policy.enabled or len(slots) == 0:
        return [(place, DiversityEffect.NONE) for place in range(min(k, len(slots)))]
    strength = _strength(found.cosines, found.coverage, slots)
    shares = [(codes, share) for _, codes, share in groups(view, slots, policy)]
    picked, effects = diversity.spread(
        found.fused, strength, view.vectors(slots), shares, policy.mmr_lambda, k
    )
    return list(zip(picked, effects, strict=True))


def groups(
    view: View, slots: NDArray[np.int64], policy: DiversityPolicy
) -> tuple[tuple[str, NDArray[np.int64], float], ...]:
    """What has a share of the places: name, each slot's group (negative: none), the share."""
    life_stage = view.take("life_stage", slots).astype(np.int64)
    year = view.take("created", slots) // _YEAR_US
    thread = view.take("thread", slots).astype(np.int64)
    # Years become codes beyond any life stage's, so that none is taken for "no group".
    stages = np.where(life_stage > 0, life_stage, 2**32 + year)
    return (
        ("kind", view.take("kind", slots).astype(np.int64), policy.kind_share_max),
        (
            "state_kind",
            view.take("state_kind", slots).astype(np.int64),
            policy.state_kind_share_max,
        ),
        ("life_stage", stages, policy.life_stage_share_max),
        ("thread", np.where(thread > 0, thread, -1), policy.thread_share_max),
    )


def _strength(
    cosine: NDArray[np.float64] | None,
    coverage: NDArray[np.float64] | None,
    slots: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The better of cosine and term coverage for each slot, 0..1."""
    strength = np.zeros(len(slots))
    if cosine is not None:
        np.maximum(strength, cosine, out=strength)
    if coverage is not None:
        np.maximum(strength, coverage[slots], out=strength)
    return strength


def _cosine(
    view: View, vector: NDArray[np.float32] | None, chosen: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Cosine of each chosen slot, clamped to [-1, 1]; also for hits of the words alone."""
    if vector is None:
        return None
    order = np.argsort(chosen)
    out = np.empty(len(chosen))
    out[order] = similarities64_at(view, vector, chosen[order])
    return np.clip(out, -1.0, 1.0)
