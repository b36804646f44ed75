"""Consolidate as plain data: the query, the stream's messages, and the first phase's command."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from totonoe_core.domain.records import Judgement

Pair = tuple[int, int]
_ASKED_AT_ONCE = 256
DISTANCE_BELOW_MAX = 0.5
"""Upper bound of the distance of a pair; beyond it nearly every two memories would be a pair."""
JACCARD_ABOVE_MIN, JACCARD_ABOVE_MAX = 0.2, 0.99


@dataclass(frozen=True, slots=True)
class ReplayEvents:
    """Use up the oldest Recall events: link memories that were recalled together."""

    agent_id: str
    max_events: int
    reason: str = "consolidate: recalled together"


@dataclass(frozen=True, slots=True)
class EventsReplayed:
    """Answer to `ReplayEvents`: the counts of docs/sources.md, 000, over what the caller can see.

    `revision` is that of the operation, 0 if it changed no link.
    """

    replay_events: int = 0
    coactivation_updates: int = 0
    link_updates: int = 0
    refreshed_memories: int = 0
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Score:
    """Compare the next memories that no Remember compared; link what probably says the same."""

    agent_id: str
    reason: str = "consolidate: probably the same"


@dataclass(frozen=True, slots=True)
class Scored:
    """Answer to `Score`, over what the caller may read.

    `left_count` memories are not scored yet.
    """

    scored_count: int = 0
    link_count: int = 0
    left_count: int = 0


@dataclass(frozen=True, slots=True)
class ConsolidateQuery:
    """Selects the pairs to look for; see the contract's ConsolidateRequest.

    `window_hours` 0 sets no window. `jaccard_above` `None` finds pairs by distance only.
    `max_merge_candidates` 0 means MERGE_CANDIDATES_MAX. `resume_token` resumes a run.
    """

    agent_id: str
    window_hours: float = 24.0
    distance_below: float = 0.10
    jaccard_above: float | None = None
    max_merge_candidates: int = 5
    since_revision: int = 0
    max_replay_events: int = 100
    resume_token: str = ""


class KeepReason(StrEnum):
    """Reason to keep one of two memories: the first property in which they differ."""

    MORE_DETAIL = "more_detail"
    """It refines the other (REFINEMENT, CONTAINED): its text is longer."""
    CONFIDENCE = "confidence"
    ACCESS_COUNT = "access_count"
    NEWER = "newer"
    ID = "id"
    SOURCE = "source"
    """It comes from a more trusted source; before all others."""


@dataclass(frozen=True, slots=True)
class MergeCandidate:
    """Two memories that may say the same; nothing was changed.

    `a` is the older memory; `judgement` relates `b` to `a`. `jaccard_similarity` is that of their
    tokens, whichever way the pair was found. Revisions are those of the compared rows.
    """

    memory_a_id: str
    memory_b_id: str
    revision_a: int
    revision_b: int
    distance: float
    jaccard_similarity: float
    judgement: Judgement
    keep_id: str
    keep_because: KeepReason
    snippet_a: str
    snippet_b: str


@dataclass(frozen=True, slots=True)
class MergeCluster:
    """Memories of which every two are a kept pair; the one to keep comes first."""

    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConsolidateProgress:
    """Progress of a run, in pairs of memories."""

    scanned_count: int
    total_count: int
    per_second: float
    left_s: float


@dataclass(frozen=True, slots=True)
class Consolidated:
    """Last message: the pairs kept, and the figures of docs/sources.md, 000.

    Pass `revision` as the next `since_revision`; `replay` is the answer of the first phase, in
    operation `operation_id`. `memory_count` were compared; `pair_count` were found. `scored` sums
    up the memories that were compared for questions.
    """

    revision: int
    candidates: tuple[MergeCandidate, ...]
    memory_count: int
    pair_count: int
    replay: EventsReplayed
    scored: Scored = Scored()
    operation_id: str = ""
    replayed: bool = False


ConsolidateItem = ConsolidateProgress | MergeCandidate | MergeCluster | Consolidated


@dataclass(frozen=True, slots=True)
class ConsolidateMessage:
    """One message; `token` resumes the run after it."""

    token: str
    told: ConsolidateItem
