"""Explanation of a memory's place in a Recall, or of its absence. Pure over the index.

Arms, relevance and diversity are those of `search/recall.py` itself. In addition, each arm's whole
order gives the memory's rank however far down it is. A memory that the filter leaves out is ranked
as if it alone had been let through.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.base.clock import time_text
from totonoe_core.domain.asking import Query
from totonoe_core.domain.filter import Comparison
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.domain.queries import DiversityEffect, RecallQuery
from totonoe_core.domain.records import Status, TimeRange
from totonoe_core.index import masks
from totonoe_core.index.arrays import View
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.index.hnsw import Graph
from totonoe_core.search import arms
from totonoe_core.search.filters import Unmet
from totonoe_core.search.folding import Partners
from totonoe_core.search.newer import Hits
from totonoe_core.search.recall import Candidates, candidates, fit_of, spread
from totonoe_core.text.query_terms import query_terms
from totonoe_core.text.tokens import tokens


class Outcome(StrEnum):
    """Fate of a memory in a Recall."""

    CAME = "came"
    """It is a hit."""
    NOT_THERE = "not_there"
    """There is no such memory, or it is private to another agent."""
    EXCLUDED = "excluded"
    """The filter or its status leaves it out."""
    NO_MATCH = "no_match"
    """No arm that ran finds anything of the query in it."""
    OUT_OF_REACH = "out_of_reach"
    """Each arm has so many better slots that its candidates do not reach this far."""
    MISSED = "missed"
    """Near enough, but the graph, which searches approximately, missed it."""
    BEYOND_K = "beyond_k"
    """A candidate, with k better ones before it."""
    TOO_WEAK = "too_weak"
    """Below the requested `min_relevance`: no larger k would bring it."""
    CROWDED_OUT = "crowded_out"
    """Among the k best, but diversity gave its place to another one."""
    FOLDED = "folded"
    """Probably the same as a hit, which carries it."""


@dataclass(frozen=True, slots=True)
class ArmStanding:
    """Place of a memory in one arm.

    Attributes
    ----------
    similarity : float
        Cosine, -1 to 1; or share of the query's weighted terms, 0 to 1.
    rank : int
        Among all that pass, from 1; 0 if the arm finds nothing of the query in it.
    depth : int
        Number of candidates of the arm.
    candidate : bool
        True if it was one of them.
    """

    similarity: float
    rank: int
    depth: int
    candidate: bool

    @property
    def missed(self) -> bool:
        """True if it should have been a candidate and was not."""
        return 1 <= self.rank <= self.depth and not self.candidate


@dataclass(frozen=True, slots=True)
class Condition:
    """An unmet condition as text: the requested value, and the memory's."""

    name: str
    asked: str
    held: str


@dataclass(frozen=True, slots=True)
class Standing:
    """Place of a memory in a Recall.

    Attributes
    ----------
    outcome : Outcome
        `unmet` conditions come before all else.
    place : int
        Among the hits, from 1; 0 if it is none. For EXCLUDED: the place that it would have.
    relevance, context : float
        Orders the hits, 0..1; see `search.relevance`. What of it its neighbours add.
    vector, lexical : ArmStanding or None
        `None` if the arm did not run.
    missing_words : tuple of str
        Words of the query that text and key lack in this form, at most WHY_NOT_WORDS_MAX.
    fused_rank : int
        Among the candidates of both arms, before diversity, from 1; 0 if it is none.
    candidate_count, passing_count : int
        Candidates of both arms and their neighbours; memories that the filter lets through.
    diversity : DiversityEffect
        Effect of diversity on it.
    near_row, near_similarity : int, float
        CROWDED_OUT and LOWERED: row of the hit nearest to it, and their cosine; FOLDED: of the hit
        that carries it; -1 if none.
    budget : str
        OVER_BUDGET: the group whose share was used up: "kind", "state_kind", "life_stage",
        "thread".
    """

    outcome: Outcome
    place: int
    relevance: float
    context: float
    vector: ArmStanding | None
    lexical: ArmStanding | None
    missing_words: tuple[str, ...]
    fused_rank: int
    candidate_count: int
    passing_count: int
    diversity: DiversityEffect
    near_row: int
    near_similarity: float
    budget: str
    vector_search: str


@dataclass(frozen=True, slots=True)
class WhyNotQuery(Query["WhyNot"]):
    """Why a memory does not come in a Recall, or at which place it comes.

    A memory that is not there, or hidden from the caller, is an answer (NOT_THERE). `touch` of the
    Recall is left out of account, and a Recall of the past is `InvalidArgument`.
    """

    memory_id: str
    recall: RecallQuery


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Answer to a WhyNot. `standing` is `None` if the memory does not exist.

    Attributes
    ----------
    unmet : tuple of Condition
        Conditions of the filter that it does not meet, including its status.
    effective_confidence : float
        After decay, now; `confidence` is the stored one.
    superseded_by, near_id : str
        The memory that superseded it; the hit nearest to it, if that crowded it out or carries it.
    degraded_because : str
        Reason why a requested arm did not run.
    """

    revision: int
    memory_id: str
    outcome: Outcome
    k: int
    standing: Standing | None = None
    unmet: tuple[Condition, ...] = ()
    status: Status = Status.ACTIVE
    superseded_by: str = ""
    near_id: str = ""
    confidence: float = 0.0
    effective_confidence: float = 0.0
    degraded_because: str = ""


def standing(
    index: CollectionIndex,
    view: View,
    graph: Graph,
    query: RecallQuery,
    vector: NDArray[np.float32] | None,
    policy: DiversityPolicy,
    passing: masks.Mask,
    slot: int,
    content: str,
    arrange: Callable[[View, Candidates, Hits], Hits],
    partners: Partners,
) -> Standing:
    """Return the place of a slot's memory among the slots that pass.

    Parameters
    ----------
    vector : float32[dim] or None
        Of the query, unit norm; `None` leaves the vector arm out.
    passing : bool[view.count]
        Slots that the filter lets through to the caller.
    slot : int
        The memory's newest slot in the view, which need not pass.
    content : str
        Its text, with the words of its typed key.
    arrange, partners : callable
        As `search.recall.rank` takes them.
    """
    excluded = not passing[slot]
    mask = passing
    if excluded:
        mask = passing.copy()
        mask[slot] = True
    # The graph holds live slots only, so an excluded one is searched for without it.
    found = candidates(index, view, None if excluded else graph, query, vector, mask, partners)
    hits, waited = spread(view, found, policy, query.k)
    hits = arrange(view, found, hits)
    # A folded one stands where the one that carries it does.
    carrier = next((shown for shown, also in found.also.items() if slot in also), slot)
    fused_place = _place(found.slots, carrier)
    place = next((at for at, (hit, _) in enumerate(hits, 1) if hit == fused_place), 0)
    by_vector = _in_vectors(index, view, vector, mask, found, slot)
    by_words = _in_words(index, view, query, mask, found, slot)
    fit, context = fit_of(index, view, query, vector, mask, found, slot)
    if excluded:
        outcome = Outcome.EXCLUDED
    elif place:
        outcome = Outcome.CAME if carrier == slot else Outcome.FOLDED
    else:
        outcome = _missing(fused_place, fit, query, by_vector, by_words)
    effect, near, near_similarity, budget = DiversityEffect.NONE, -1, 0.0, ""
    if place:
        effect = hits[place - 1][1]
    elif 0 <= fused_place < query.k:
        budget = waited.get(fused_place, "")
        effect = DiversityEffect.OVER_BUDGET if budget else DiversityEffect.LOWERED
    if outcome is Outcome.FOLDED:
        near, near_similarity = _nearest(view, np.array([carrier], np.int64), slot)
    elif effect is DiversityEffect.LOWERED:
        before = [at for at, _ in hits[: place - 1 if place else None]]
        near, near_similarity = _nearest(view, found.slots[before], slot)
    return Standing(
        outcome=outcome,
        place=place,
        relevance=fit,
        context=context,
        vector=by_vector,
        lexical=by_words,
        missing_words=_missing_words(query.text, content),
        fused_rank=fused_place + 1,
        candidate_count=len(found.slots),
        passing_count=int(np.count_nonzero(passing)),
        diversity=effect,
        near_row=near,
        near_similarity=near_similarity,
        budget=budget,
        vector_search=found.vector_search,
    )


def _missing(
    fused_place: int,
    fit: float,
    query: RecallQuery,
    by_vector: ArmStanding | None,
    by_words: ArmStanding | None,
) -> Outcome:
    """Return why a memory that the filter lets through is no hit."""
    found = any(arm is not None and arm.rank for arm in (by_vector, by_words))
    if fused_place < 0 and found and fit < query.min_relevance:
        return Outcome.TOO_WEAK
    if fused_place >= query.k:
        return Outcome.BEYOND_K
    if fused_place >= 0:
        return Outcome.CROWDED_OUT
    if by_vector is not None and by_vector.missed:
        return Outcome.MISSED
    if not found:
        return Outcome.NO_MATCH
    return Outcome.OUT_OF_REACH


def _place(slots: NDArray[np.int64], slot: int) -> int:
    """Return the place of a slot, from 0; -1 if it is absent."""
    at = np.flatnonzero(slots == slot)
    return int(at[0]) if len(at) else -1


def _in_vectors(
    index: CollectionIndex,
    view: View,
    vector: NDArray[np.float32] | None,
    mask: masks.Mask,
    candidates: Candidates,
    slot: int,
) -> ArmStanding | None:
    if "vector" not in candidates.arms or vector is None:
        return None
    vector = view.comparable(vector)
    all_count = int(np.count_nonzero(mask))
    ranking, _ = arms.by_vector(view, vector, mask, all_count, None, index.keys)
    at, depth = _place(ranking.slots, slot), candidates.vector_depth
    if at < 0:
        # It has no vector.
        return ArmStanding(0.0, 0, depth, candidate=False)
    similarity = min(1.0, max(-1.0, float(ranking.similarity[at])))
    return ArmStanding(similarity, at + 1, depth, bool(np.isin(slot, candidates.by_vector)))


def _in_words(
    index: CollectionIndex,
    view: View,
    query: RecallQuery,
    mask: masks.Mask,
    candidates: Candidates,
    slot: int,
) -> ArmStanding | None:
    if candidates.coverage is None:
        return None
    ranking, _ = arms.by_words(view, index.terms, query_terms(query.text), mask, len(mask))
    rank, depth = _place(ranking.slots, slot) + 1, candidates.words_depth
    candidate = bool(np.isin(slot, candidates.by_words))
    return ArmStanding(float(candidates.coverage[slot]), rank, depth, candidate)


def _missing_words(query: str, content: str) -> tuple[str, ...]:
    held = set(tokens(content))
    missing = dict.fromkeys(word for word in tokens(query) if word not in held)
    return tuple(missing)[: limits.WHY_NOT_WORDS_MAX]


def _nearest(view: View, slots: NDArray[np.int64], slot: int) -> tuple[int, float]:
    """Return the row of the nearest of some slots, and its cosine."""
    if not len(slots):
        return -1, 0.0
    own = view.vectors(np.array([slot], np.int64))[0]
    similarity = view.vectors(slots) @ own
    at = int(np.argmax(similarity))
    return int(view.value("row", int(slots[at]))), min(1.0, max(-1.0, float(similarity[at])))


def conditions(unmet: Iterable[Unmet]) -> tuple[Condition, ...]:
    """Format unmet conditions as text."""
    return tuple(
        Condition(condition.condition, _text(condition.asked), _text(condition.held))
        for condition in unmet
    )


def _text(value: Any) -> str:
    match value:
        case TimeRange():
            ends = (value.from_us, value.to_us)
            begin, end = ("" if instant is None else time_text(instant) for instant in ends)
            return f"[{begin}, {end})"
        case Comparison():
            asked = json.dumps(value.value, ensure_ascii=False, sort_keys=True)
            return f"{'.'.join(value.path)} {value.operator} {asked}"
        case tuple():
            return ", ".join(map(_text, value))
        case dict():
            return json.dumps(value, ensure_ascii=False, sort_keys=True)
        case float():
            return f"{value:.4g}"
    return str(value)
