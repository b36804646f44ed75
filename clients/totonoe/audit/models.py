"""Models of dismissed pairs, of why-nots, and of audits.

As in `totonoe.memories.models`: `revision` of an answer is the collection's newest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from totonoe.enums import DiversityEffect, Status, WhyNotOutcome


@dataclass(frozen=True, slots=True)
class Dismissed:
    """Answer of `dismiss`. Not `changed`: the pair was dismissed already."""

    revision: int
    changed: bool
    memory_ids: tuple[str, ...]
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class Undismissed:
    """Answer of `undismiss`. Not `changed`: nobody had dismissed the pair."""

    revision: int
    changed: bool
    memory_ids: tuple[str, ...]
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class UnmetCondition:
    """A condition of a filter that a memory does not meet: the value wanted, and the memory's."""

    name: str
    asked: str
    held: str


@dataclass(frozen=True, slots=True)
class ArmStanding:
    """The place of a memory in one arm of a recall.

    Attributes
    ----------
    similarity : float
        Cosine, -1 to 1; or share of the query's weighted terms, 0 to 1.
    rank : int
        Among all that the filter lets through, from 1, exact however far down; 0: the arm finds
        nothing of the query in it.
    depth : int
        How many candidates the arm gives.
    candidate : bool
        Whether it was one of them.
    """

    similarity: float
    rank: int
    depth: int
    candidate: bool


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Answer of `why_not`. Of one that is not there only the first four say something.

    Attributes
    ----------
    place : int
        Among the hits, from 1; 0: it is none. Of one that is left out: where it would come.
    unmet : tuple of UnmetCondition
        Conditions that keep it out; `statuses` also where the filter names none.
    superseded_by : str
        What took its place.
    confidence, effective_confidence : float
        As given, and after decay.
    vector, lexical : ArmStanding or None
        `None`: the arm did not run; `degraded_because` says why, if it was asked for.
    missing_words : tuple of str
        Words of the query that it does not have as they are, at most 32.
    fused_rank : int
        Among the candidates of both arms, before diversity, from 1; 0: it is none.
    passing_count : int
        Memories that the filter lets through.
    near_id, near_similarity : str, float
        If diversity lowered it: the hit before it that it is nearest to, and their cosine.
    budget : str
        If it is over budget: what had its share of places.
    relevance, context : float
        How well it fits the query, and what of it its neighbours add, as those of a hit.
    """

    revision: int
    outcome: WhyNotOutcome
    memory_id: str
    k: int
    place: int
    unmet: tuple[UnmetCondition, ...]
    status: Status | None
    superseded_by: str
    confidence: float
    effective_confidence: float
    vector: ArmStanding | None
    lexical: ArmStanding | None
    missing_words: tuple[str, ...]
    fused_rank: int
    candidate_count: int
    passing_count: int
    diversity: DiversityEffect | None
    near_id: str
    near_similarity: float
    budget: str
    vector_search: str
    degraded_because: str
    relevance: float
    context: float


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two live memories that are near each other, by cosine distance."""

    id_a: str
    id_b: str
    distance: float


@dataclass(frozen=True, slots=True)
class AgentWrites:
    """Operations of one agent, and how many of each kind."""

    agent_id: str
    operation_count: int
    kind_counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Audit:
    """Answer of `audit`: figures of what the caller may see.

    Attributes
    ----------
    examined_count, near_count : int
        How many live memories were compared with all others (all up to 20,000; of more, 2,000 drawn
        evenly), and how many of those have one nearer than `near_distance_below` that nobody
        dismissed.
    near_pairs : tuple of NearPair
        The nearest that were met with, at most 10.
    never_recalled_count : int
        Live ones that no recall ever gave.
    contradiction_count, contradictions : int, tuple of (str, str)
        Pairs of live ones that contradict each other, and the first 10.
    open_question_count : int
        Pairs of live ones that are probably the same: `list_questions`. At most 10,000.
    faded_count : int
        Live ones whose effective confidence is below `confidence_below`.
    chain_count, longest_chain, longest_chain_id : int, int, str
        Ends of chains of superseded memories, the steps of the longest, and its end.
    operations_from_time : datetime or None
        Operations from then on are in `agents`: `days` ago, or later if there were more than
        10,000.
    repeat_count, echo_refused_count : int
        Remembers refused since `repeats_from_time`, of the newest 20,000 kept answers; and those of
        equal text that a recall had given in the 24 hours before. A lower bound.
    repeats_from_time : datetime or None
        `days` ago, or when the oldest answer was given that is kept.
    echo_saved_count : int
        Memories that were saved with such a text all the same. A lower bound.
    recall_at_k, recall_sampled_count : float, int
        Share of the 10 nearest that the graph finds, for so many vectors; 0: every search is exact.
    texts : mapping of str to str
        The first 120 characters of the memories that the answer names, by id.
    """

    revision: int
    active_count: int
    examined_count: int
    near_count: int
    near_distance_below: float
    near_pairs: tuple[NearPair, ...]
    never_recalled_count: int
    contradiction_count: int
    contradictions: tuple[tuple[str, str], ...]
    open_question_count: int
    confidence_below: float
    faded_count: int
    chain_count: int
    longest_chain: int
    longest_chain_id: str
    days: int
    operations_from_time: datetime | None
    agents: tuple[AgentWrites, ...]
    repeat_count: int
    repeats_from_time: datetime | None
    echo_refused_count: int
    echo_saved_count: int
    recall_at_k: float
    recall_sampled_count: int
    texts: Mapping[str, str]

    @property
    def near_share(self) -> float:
        """Share of the examined memories that have a near one, 0 to 1."""
        return self.near_count / self.examined_count if self.examined_count else 0.0
