"""Models of a consolidation."""

from __future__ import annotations

from dataclasses import dataclass

from totonoe.enums import KeepReason
from totonoe.memories.models import Judgement


@dataclass(frozen=True, slots=True)
class ConsolidateProgress:
    """Progress in pairs of memories: seen, in all, seen in a second, seconds left."""

    scanned_count: int
    total_count: int
    per_second: float
    left_s: float


@dataclass(frozen=True, slots=True)
class MergeCandidate:
    """Two live memories that may say the same. Nothing was changed.

    Attributes
    ----------
    memory_a_id, memory_b_id : str
        The one created first, and the later one.
    revision_a, revision_b : int
        Of their rows, for `expected_revisions` of `merge`.
    distance : float
        Cosine distance, 0 to 2.
    jaccard_similarity : float
        Of their tokens, 0 to 1.
    judgement : Judgement or None
        What the later one is to the first; always there from a daemon of this version.
    keep_id : str
        The one to keep; `keep_because` says why.
    snippet_a, snippet_b : str
        At most 100 characters of their texts.
    """

    memory_a_id: str
    memory_b_id: str
    revision_a: int
    revision_b: int
    distance: float
    jaccard_similarity: float
    judgement: Judgement | None
    keep_id: str
    keep_because: KeepReason
    snippet_a: str
    snippet_b: str

    @property
    def similarity(self) -> float:
        """Cosine similarity."""
        return 1.0 - self.distance

    @property
    def remove_id(self) -> str:
        """The one that may go."""
        return self.memory_b_id if self.keep_id == self.memory_a_id else self.memory_a_id


@dataclass(frozen=True, slots=True)
class MergeCluster:
    """Memories of which every two are a kept pair, the one to keep first."""

    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Consolidated:
    """The end of a consolidation.

    Attributes
    ----------
    revision : int
        At which it looked: `since_revision` of the next one that is to see only what changed.
    replay_events : int
        Recalls that were used up; each is used once.
    coactivation_updates, link_updates, refreshed_memories : int
        Pairs of hits that gained, links made or raised, memories whose last access is now.
    merge_candidates : tuple of MergeCandidate
        The pairs that are kept, the most probably same first.
    memory_count, pair_count : int
        Memories compared, pairs found (kept or not).
    operation_revision : int
        What `undo` takes to take the links back; 0: there are none.
    scored_count, likely_link_count, unscored_count : int
        Memories that no `remember` had compared and that this run compared; `likely_same` links
        that it made for them; memories that wait for the next run.
    """

    revision: int
    replay_events: int
    coactivation_updates: int
    link_updates: int
    refreshed_memories: int
    merge_candidates: tuple[MergeCandidate, ...]
    memory_count: int
    pair_count: int
    operation_id: str
    operation_revision: int
    replayed: bool
    scored_count: int
    likely_link_count: int
    unscored_count: int
    advice: str
    scaffold: str


@dataclass(frozen=True, slots=True)
class ConsolidateEvent:
    """One message of a consolidation: one of the four, and the token that goes on after it.

    `candidate` is provisional: it is among the nearest by now. `done` comes last.
    """

    resume_token: str
    progress: ConsolidateProgress | None = None
    candidate: MergeCandidate | None = None
    cluster: MergeCluster | None = None
    done: Consolidated | None = None
