"""Why a memory did not come in a Recall, or at which place it came; pure over the index.

The arms, fusion and diversity are those of `search/recall.py` itself. Beside them, each arm's whole
order gives the memory's rank however far down it is. One that the filter leaves out is ranked as if
it had been let through, alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits
from totonoe_core.filters import Unmet
from totonoe_core.guard.policy import DiversityPolicy
from totonoe_core.index import masks
from totonoe_core.index.arrays import View
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.index.hnsw import Graph
from totonoe_core.queries import DiversityEffect, RecallQuery
from totonoe_core.records import Status, TimeRange
from totonoe_core.search import arms
from totonoe_core.search.recall import Candidates, candidates, groups, spread
from totonoe_core.text.tokens import tokens

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Outcome(StrEnum):
    """What became of a memory in a Recall."""

    CAME = "came"
    """It is a hit."""
    NOT_THERE = "not_there"
    """No such memory, or it is private to another agent."""
    EXCLUDED = "excluded"
    """The filter leaves it out, or its status does."""
    NO_MATCH = "no_match"
    """No arm that ran finds anything of the query in it."""
    OUT_OF_REACH = "out_of_reach"
    """Each arm has so many better ones that it gives no candidate as far down."""
    MISSED = "missed"
    """Near enough, but the graph, which searches approximately, passed it by."""
    BEYOND_K = "beyond_k"
    """A candidate, with k better ones before it."""
    CROWDED_OUT = "crowded_out"
    """Among the k best, but diversity gave its place to another one."""


@dataclass(frozen=True, slots=True)
class ArmStanding:
    """How a memory stands in one arm.

    Attributes
    ----------
    similarity : float
        Cosine, -1 to 1; or share of the query's weighted terms, 0 to 1.
    rank : int
        Among all that pass, from 1; 0: the arm finds nothing of the query in it.
    depth : int
        How many candidates the arm gives.
    candidate : bool
        Whether it was one of them.
    """

    similarity: float
    rank: int
    depth: int
    candidate: bool

    @property
    def missed(self) -> bool:
        """Whether it should have been a candidate and was not."""
        return 1 <= self.rank <= self.depth and not self.candidate


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that is not met, as text: what was asked for, and what the memory has."""

    name: str
    asked: str
    held: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How a memory stands in a Recall.

    Attributes
    ----------
    outcome : Outcome
        `unmet` conditions come before all else.
    place : int
        Among the hits, from 1; 0: it is none. Of an EXCLUDED one: where it would come.
    vector, lexical : ArmStanding or None
        `None`: the arm did not run.
    missing_words : tuple of str
        Words of the query that it does not have as they are, at most WHY_NOT_WORDS_MAX.
    fused_rank : int
        Among the candidates of both arms, before diversity, from 1; 0: it is none.
    candidate_count, passing_count : int
        Candidates of both arms; memories that the filter lets through.
    diversity : DiversityEffect
        What diversity did to it.
    near_row, near_similarity : int, float
        CROWDED_OUT and LOWERED: row of the hit that it is nearest to, and their cosine; -1: none.
    budget : str
        OVER_BUDGET: which group had its share of places: "kind", "state_kind", "life_stage",
        "thread".
    """

    outcome: Outcome
    place: int
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
class WhyNot:
    """Answer to a WhyNot. `standing` is `None` for what is not there.

    Attributes
    ----------
    unmet : tuple of Condition
        Conditions of the filter that keep it out; also what its status is.
    effective_confidence : float
        After decay, now; `confidence` is what it was given.
    superseded_by, near_id : str
        The memory in its place; the hit that it is nearest to, if that crowded it out.
    degraded_because : str
        Why an arm that was asked for did not run.
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
) -> Standing:
    """How the memory of a slot stands among those that pass.

    Parameters
    ----------
    vector : float32[dim] or None
        Of the query, unit norm; `None` leaves the vector arm out.
    passing : bool[view.count]
        Slots that the filter lets through to the caller.
    slot : int
        The memory's newest in the view, which need not pass.
    content : str
        Its text.
    """
    excluded = not passing[slot]
    mask = passing
    if excluded:
        mask = passing.copy()
        mask[slot] = True
    # Only what is live is in the graph: what is let through for once is looked for without it.
    found = candidates(index, view, None if excluded else graph, query, vector, mask)
    hits = spread(view, found, policy, query.k)
    fused_place = _place(found.slots, slot)
    place = next((at for at, (one, _) in enumerate(hits, 1) if one == fused_place), 0)
    by_vector = _in_vectors(view, vector, mask, found, slot)
    by_words = _in_words(index, view, query, mask, found, slot)
    if excluded:
        outcome = Outcome.EXCLUDED
    elif place:
        outcome = Outcome.CAME
    elif fused_place >= query.k:
        outcome = Outcome.BEYOND_K
    elif fused_place >= 0:
        outcome = Outcome.CROWDED_OUT
    elif by_vector is not None and by_vector.missed:
        outcome = Outcome.MISSED
    elif by_vector is None and (by_words is None or not by_words.rank):
        outcome = Outcome.NO_MATCH
    else:
        outcome = Outcome.OUT_OF_REACH
    effect, near, near_similarity, budget = DiversityEffect.NONE, -1, 0.0, ""
    if place:
        effect = hits[place - 1][1]
    elif 0 <= fused_place < query.k:
        budget = _budget_spent(view, found, policy, query.k, [at for at, _ in hits], fused_place)
        effect = DiversityEffect.OVER_BUDGET if budget else DiversityEffect.LOWERED
    if effect is DiversityEffect.LOWERED:
        before = [at for at, _ in hits[: place - 1 if place else None]]
        near, near_similarity = _nearest(view, found.slots[before], slot)
    return Standing(
        outcome=outcome,
        place=place,
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


def _place(slots: NDArray[np.int64], slot: int) -> int:
    """Place of a slot, from 0; -1: it is not among them."""
    at = np.flatnonzero(slots == slot)
    return int(at[0]) if len(at) else -1


def _in_vectors(
    view: View,
    vector: NDArray[np.float32] | None,
    mask: masks.Mask,
    found: Candidates,
    slot: int,
) -> ArmStanding | None:
    if "vector" not in found.arms or vector is None:
        return None
    ranking, _ = arms.by_vector(view, vector, mask, int(np.count_nonzero(mask)), None)
    at = _place(ranking.slots, slot)
    similarity = min(1.0, max(-1.0, float(ranking.similarity[at])))
    depth = found.vector_depth
    return ArmStanding(similarity, at + 1, depth, bool(np.isin(slot, found.by_vector)))


def _in_words(
    index: CollectionIndex,
    view: View,
    query: RecallQuery,
    mask: masks.Mask,
    found: Candidates,
    slot: int,
) -> ArmStanding | None:
    if found.coverage is None:
        return None
    ranking, _ = arms.by_words(view, index.terms, query.text, mask, len(mask))
    rank, depth = _place(ranking.slots, slot) + 1, found.words_depth
    candidate = bool(np.isin(slot, found.by_words))
    return ArmStanding(float(found.coverage[slot]), rank, depth, candidate)


def _missing_words(query: str, content: str) -> tuple[str, ...]:
    held = set(tokens(content))
    missing = dict.fromkeys(word for word in tokens(query) if word not in held)
    return tuple(missing)[: limits.WHY_NOT_WORDS_MAX]


def _budget_spent(
    view: View,
    found: Candidates,
    policy: DiversityPolicy,
    k: int,
    picked: list[int],
    place: int,
) -> str:
    """The group of a candidate that had its share of places when one behind it was picked.

    Empty: none had. Groups only fill up, so the last such moment tells.
    """
    passed = [step for step, one in enumerate(picked) if one > place]
    before = picked[: passed[-1]] if passed else []
    places = min(k, len(found.slots))
    for name, codes, share in groups(view, found.slots, policy):
        taken = int(np.count_nonzero(codes[before] == codes[place]))
        if codes[place] >= 0 and taken >= max(1, math.ceil(share * places)):
            return name
    return ""


def _nearest(view: View, slots: NDArray[np.int64], slot: int) -> tuple[int, float]:
    """Row of the nearest of some slots, and its cosine."""
    if not len(slots):
        return -1, 0.0
    own = view.vectors(np.array([slot], np.int64))[0]
    similarity = view.vectors(slots) @ own
    at = int(np.argmax(similarity))
    return int(view.value("row", int(slots[at]))), min(1.0, max(-1.0, float(similarity[at])))


def conditions(unmet: Iterable[Unmet]) -> tuple[Condition, ...]:
    """Unmet conditions as text."""
    return tuple(Condition(one.condition, _text(one.asked), _text(one.held)) for one in unmet)


def _text(value: Any) -> str:
    match value:
        case TimeRange():
            return f"[{_time(value.from_us)}, {_time(value.to_us)})"
        case tuple():
            return ", ".join(map(_text, value))
        case dict():
            return json.dumps(value, ensure_ascii=False, sort_keys=True)
        case float():
            return f"{value:.4g}"
    return str(value)


def _time(time_us: int | None) -> str:
    if time_us is None:
        return ""
    try:
        return (_EPOCH + timedelta(microseconds=time_us)).isoformat()
    except OverflowError:
        return f"{time_us} us"
