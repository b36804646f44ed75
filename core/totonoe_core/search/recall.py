"""Recall over the index: mask, searches, relevance, diversity; returns slots with reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.policy import DecayPolicy, DiversityPolicy
from totonoe_core.domain.queries import DiversityEffect, RecallMode, RecallQuery
from totonoe_core.domain.records import Kind, Status
from totonoe_core.index import masks
from totonoe_core.index.arrays import KINDS, View
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.index.hnsw import Graph
from totonoe_core.index.keys import Keys
from totonoe_core.search import arms, diversity
from totonoe_core.search.arms import Ranking
from totonoe_core.search.context import Context, Threads
from totonoe_core.search.folding import Partners, fold
from totonoe_core.search.newer import Hits
from totonoe_core.search.relevance import ranks, relevance
from totonoe_core.text.query_terms import query_terms
from totonoe_core.text.tokens import has_identifier

CANDIDATES_MIN = 50
CANDIDATES_PER_HIT = 4
CANDIDATES_MAX = 2000
_YEAR_US = 31_556_952_000_000  # mean Gregorian year


@dataclass(frozen=True, slots=True)
class RankedSlot:
    """A slot and the reasons for its place; fields as in `queries.Hit`, slots in `also`."""

    slot: int
    relevance: float
    context: float
    cosine_similarity: float | None
    lexical_similarity: float | None
    vector_rank: int
    lexical_rank: int
    fused_rank: int
    diversity: DiversityEffect
    also: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranks:
    """Answer of `rank`."""

    hits: tuple[RankedSlot, ...]
    arms: tuple[str, ...]
    vector_search: str
    filtered_count: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates of a Recall's searches, before diversity.

    Attributes
    ----------
    slots, relevance : int64[n], float64[n]
        Candidates of both arms, and with a text their neighbours (`search.context`), that have at
        least the query's `min_relevance`, and it, descending. Of folded ones the shown slot stands
        here, with the relevance of the best.
    context : float64[n]
        What neighbours add to the relevance.
    by_vector, by_words : int64[m]
        Slots of each arm, best first; empty if it did not run.
    vector_depth, words_depth : int
        Largest number of candidates of an arm.
    cosines : float64[n] or None
        Of `slots`, 0 for a slot without a vector; `None` without a vector of the query.
    coverage : float64[view.count] or None
        Term coverage of every slot; `None` if the lexical arm did not run.
    also : mapping
        Slots folded under a shown slot, best first.
    """

    slots: NDArray[np.int64]
    relevance: NDArray[np.float64]
    context: NDArray[np.float64]
    by_vector: NDArray[np.int64]
    by_words: NDArray[np.int64]
    vector_depth: int
    words_depth: int
    cosines: NDArray[np.float64] | None
    coverage: NDArray[np.float64] | None
    arms: tuple[str, ...]
    vector_search: str
    also: Mapping[int, tuple[int, ...]]


def candidates(
    index: CollectionIndex,
    view: View,
    graph: Graph | None,
    query: RecallQuery,
    vector: NDArray[np.float32] | None,
    mask: masks.Mask,
    partners: Partners,
) -> Candidates:
    """Return the candidates among the slots of a mask.

    `vector` `None` leaves the vector arm out; so does LEXICAL mode, and VECTOR mode the lexical
    one. With `graph` `None` the vector arm reads all slots. The best of them, as
    many as an arm gives, are folded if the query says so.
    """
    vector = None if vector is None else view.comparable(vector)
    depth = min(CANDIDATES_MAX, max(CANDIDATES_MIN, CANDIDATES_PER_HIT * query.k))
    # Words are decisive if the query has a name or part number: let more through.
    words_depth = 2 * depth if query.text and has_identifier(query.text) else depth
    ran: list[str] = []
    nothing = np.zeros(0, np.int64)
    by_vector, by_words = Ranking(nothing, np.zeros(0)), nothing
    coverage: NDArray[np.float64] | None = None
    how = ""
    if vector is not None and query.mode is not RecallMode.LEXICAL:
        # The graph holds only once live slots, and may belong to an index that was since rebuilt.
        live_only = query.filter.statuses in ((), (Status.ACTIVE,))
        usable = live_only and graph is not None and graph.arrays is index.arrays
        graph = graph if usable else None
        by_vector, how = arms.by_vector(view, vector, mask, depth, graph, index.keys)
        ran.append("vector")
    terms: Mapping[str, float] = {}
    if query.text and query.mode is not RecallMode.VECTOR:
        terms = query_terms(query.text)
        words, coverage = arms.by_words(view, index.terms, terms, mask, words_depth)
        by_words = words.slots
        ran.append("lexical")
    slots, cosines = _joined(view, index.keys, vector, by_vector, by_words)
    compared = vector if "vector" in ran else None
    asked = _QueryParts(index, view, mask, compared, terms, coverage)
    threads = asked.threads(slots)
    if threads is not None:
        slots = threads.with_near(slots)
        cosines = None if vector is None else _cosines(view, index.keys, vector, slots)
    fit, context = asked.fit(slots, cosines, threads)
    # The cosine orders slots of equal relevance, since every cosine below 0 counts as 0.
    nearness = np.zeros(len(slots)) if cosines is None else cosines
    order = np.lexsort((view.take("row", slots), -nearness, -fit))
    best = shown = order
    also: Mapping[int, tuple[int, ...]] = {}
    if query.fold:
        folded = fold(view, slots[order[:depth]], partners)
        also = folded.also
        best = np.concatenate((order[folded.best], order[depth:]))
        shown = np.concatenate((order[folded.shown], order[depth:]))
    chosen = np.flatnonzero(fit[best] >= query.min_relevance)[:CANDIDATES_MAX]
    best, shown = best[chosen], shown[chosen]
    cosines = None if cosines is None else cosines[shown]
    return Candidates(
        slots[shown],
        fit[best],
        context[best],
        by_vector.slots,
        by_words,
        depth,
        words_depth,
        cosines,
        coverage,
        tuple(ran),
        how,
        also,
    )


@dataclass(frozen=True, slots=True)
class _QueryParts:
    """Parts of a query that slots are compared with; `None` for those of an arm that did not run.

    Attributes
    ----------
    vector : float32[dim] or None
        Of the query.
    terms : mapping
        Of the query, with their weights.
    coverage : float64[view.count] or None
        Term coverage of every slot.
    """

    index: CollectionIndex
    view: View
    mask: masks.Mask
    vector: NDArray[np.float32] | None
    terms: Mapping[str, float]
    coverage: NDArray[np.float64] | None

    def threads(self, slots: NDArray[np.int64]) -> Threads | None:
        """Return the threads of slots. Without words the order is that of the vectors alone."""
        if self.coverage is None:
            return None
        threads = Threads(self.view, self.mask, slots)
        return threads if threads else None

    def fit(
        self,
        slots: NDArray[np.int64],
        cosines: NDArray[np.float64] | None,
        threads: Threads | None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the relevance of ascending slots, and what of it their neighbours add."""
        cosines = None if self.vector is None else cosines
        coverage = None if self.coverage is None else self.coverage[slots]
        own = relevance(cosines, coverage)
        if threads is None:
            return own, np.zeros(len(slots))
        context = Context(self.view, threads, slots)
        if self.vector is not None and cosines is not None:
            cosines = context.cosines(self.vector, cosines)
        raised = relevance(cosines, context.coverage(self.index.terms, self.terms, self.mask))
        return raised, raised - own


def fit_of(
    index: CollectionIndex,
    view: View,
    query: RecallQuery,
    vector: NDArray[np.float32] | None,
    mask: masks.Mask,
    candidates: Candidates,
    slot: int,
) -> tuple[float, float]:
    """Return the relevance of one slot that passes, candidate or not, and what neighbours add.

    The arguments are those of `candidates` and `found`, what it returned. Without an arm both are
    0.
    """
    if not candidates.arms:
        return 0.0, 0.0
    vector = None if vector is None or "vector" not in candidates.arms else view.comparable(vector)
    terms = {} if candidates.coverage is None else query_terms(query.text)
    asked = _QueryParts(index, view, mask, vector, terms, candidates.coverage)
    slots = np.array([slot], np.int64)
    cosines = None if vector is None else _cosines(view, index.keys, vector, slots)
    fit, context = asked.fit(slots, cosines, asked.threads(slots))
    return float(fit[0]), float(context[0])


def rank(
    index: CollectionIndex,
    view: View,
    graph: Graph,
    query: RecallQuery,
    vector: NDArray[np.float32] | None,
    policy: DiversityPolicy,
    decay: DecayPolicy,
    now_us: int,
    arrange: Callable[[View, Candidates, Hits], Hits],
    partners: Partners,
) -> Ranks:
    """Return the k best slots of a view, best first.

    `vector` and `partners` are as for `candidates`. `arrange` may reorder the hits at the end.
    """
    mask = masks.recalled(index, view, query.filter, query.agent_id, decay, now_us)
    found = candidates(index, view, graph, query, vector, mask, partners)
    hits, _ = spread(view, found, policy, query.k)
    hits = arrange(view, found, hits)
    places = [place for place, _ in hits]
    chosen = found.slots[places]
    slots, relevances = chosen.tolist(), found.relevance[places].tolist()
    contexts = found.context[places].tolist()
    cosines, coverages = [None] * len(slots), [None] * len(slots)
    if found.cosines is not None:
        compared = zip(
            found.cosines[places].tolist(), view.has_vector(chosen).tolist(), strict=True
        )
        cosines = [cosine if has_vector else None for cosine, has_vector in compared]
    if found.coverage is not None:
        coverages = found.coverage[chosen].tolist()
    vector_ranks, word_ranks = ranks(found.by_vector, slots), ranks(found.by_words, slots)
    return Ranks(
        tuple(
            [
                RankedSlot(
                    slot=slots[at],
                    relevance=relevances[at],
                    context=contexts[at],
                    cosine_similarity=cosines[at],
                    lexical_similarity=coverages[at],
                    vector_rank=vector_ranks[at],
                    lexical_rank=word_ranks[at],
                    fused_rank=place + 1,
                    diversity=effect,
                    also=found.also.get(slots[at], ()),
                )
                for at, (place, effect) in enumerate(hits)
            ]
        ),
        found.arms,
        found.vector_search,
        int(np.count_nonzero(mask)),
    )


def spread(
    view: View, candidates: Candidates, policy: DiversityPolicy, k: int
) -> tuple[Hits, dict[int, str]]:
    """Apply diversity to candidates; return the hits.

    Also returns the places that a budget kept waiting, with the name of the last budget that did.
    """
    slots = candidates.slots
    if not policy.enabled or len(slots) == 0:
        return [(place, DiversityEffect.NONE) for place in range(min(k, len(slots)))], {}
    names, budgets = zip(*groups(view, slots, policy), strict=True)
    spread = diversity.spread(
        candidates.relevance, view.vectors(slots), budgets, policy.mmr_lambda, k
    )
    over = np.flatnonzero(spread.budgets >= 0).tolist()
    waited = {place: names[spread.budgets[place]] for place in over}
    return list(zip(spread.picked, spread.effects, strict=True)), waited


def groups(
    view: View, slots: NDArray[np.int64], policy: DiversityPolicy
) -> tuple[tuple[str, tuple[NDArray[np.int64], float]], ...]:
    """Return the groups with a share of the places, the most important first: name, (codes, share).

    The order is that of docs/sources.md, 004, layer A. A negative code means no group: logs have no
    state kind.
    """
    names = ("life_stage", "created", "kind", "state_kind", "thread")
    life_stage, created, kind, state_kind, thread = view.takes(names, slots)
    year = created // _YEAR_US
    # Years become codes beyond any life stage's, so that no year means "no group".
    stages = np.where(life_stage > 0, life_stage, 2**32 + year)
    of_states = np.where(kind == KINDS[Kind.STATE], state_kind.astype(np.int64), -1)
    return (
        ("kind", (kind, policy.kind_share_max)),
        ("state_kind", (of_states, policy.state_kind_share_max)),
        ("life_stage", (stages, policy.life_stage_share_max)),
        ("thread", (np.where(thread > 0, thread, -1), policy.thread_share_max)),
    )


def _joined(
    view: View,
    keys: Keys,
    vector: NDArray[np.float32] | None,
    by_vector: Ranking,
    by_words: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Return the slots of both arms, ascending, with their cosines, clamped to [-1, 1].

    Those by words alone have theirs too. `None` without a vector.
    """
    if len(by_words):
        slots = np.union1d(by_vector.slots, by_words)
        return slots, None if vector is None else _cosines(view, keys, vector, slots)
    order = np.argsort(by_vector.slots)
    cosines = np.minimum(np.maximum(by_vector.similarity[order], -1.0), 1.0)
    return by_vector.slots[order], None if vector is None else cosines


def _cosines(
    view: View, keys: Keys, vector: NDArray[np.float32], slots: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return cosines of ascending slots, the nearer of text and key, clamped to [-1, 1]."""
    return np.minimum(np.maximum(arms.closeness(view, keys, vector, slots), -1.0), 1.0)
