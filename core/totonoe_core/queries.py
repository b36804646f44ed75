"""The closed set of reads, as plain data, and what each answers."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from totonoe_core import limits
from totonoe_core.commands import Applied, CollectionInfo
from totonoe_core.guard.policy import DiversityPolicy
from totonoe_core.records import (
    ANY_TIME,
    Episode,
    GuardReport,
    Judgement,
    Kind,
    Link,
    LinkType,
    Memory,
    ModelIdentity,
    StateKind,
    Status,
    TimeRange,
    Verdict,
)
from totonoe_core.reembed import ReembedState
from totonoe_core.snapshots import SnapshotStats
from totonoe_core.tidy import NEVER_TIDIED, TidyState, TurnCounted
from totonoe_core.undo import OperationInfo
from totonoe_core.verified import NOT_VERIFIED, Verified


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that all hold; values of one tuple are alternatives.

    Empty `statuses` means ACTIVE only. `tags`, `entities` and `attributes` must all be
    there; attributes are compared at the top level.
    """

    kinds: tuple[Kind, ...] = ()
    state_kinds: tuple[StateKind, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    agent_ids: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    thread_ids: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ()
    created: TimeRange = ANY_TIME
    updated: TimeRange = ANY_TIME
    about: TimeRange = ANY_TIME
    valid: TimeRange = ANY_TIME
    min_confidence: float = 0.0
    min_importance: int = 0
    attributes: dict[str, Any] = field(default_factory=dict)
    entities: tuple[str, ...] = ()


NO_FILTER = Filter()


@dataclass(frozen=True, slots=True)
class AsOf:
    """A moment of the past: right after a revision, or (if that is `None`) at a time."""

    revision: int | None = None
    time_us: int = 0


class RecallMode(StrEnum):
    """Which arms of Recall run."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    LEXICAL = "lexical"


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """What to look for. `vector` is float32 little-endian bytes, or empty.

    `diversity` `None` takes the collection's.
    """

    agent_id: str
    text: str = ""
    vector: bytes = b""
    k: int = 10
    filter: Filter = NO_FILTER
    mode: RecallMode = RecallMode.HYBRID
    diversity: DiversityPolicy | None = None
    touch: bool = True
    as_of: AsOf | None = None


class DiversityEffect(StrEnum):
    """What diversity did with a hit."""

    NONE = "none"
    RAISED = "raised"
    LOWERED = "lowered"
    OVER_BUDGET = "over_budget"


@dataclass(frozen=True, slots=True)
class Hit:
    """One found memory and the reasons for its place. Ranks count from 1; 0 is absent."""

    memory: Memory
    cosine_similarity: float | None
    lexical_similarity: float | None
    vector_rank: int
    lexical_rank: int
    fused_rank: int
    diversity: DiversityEffect
    effective_confidence: float


@dataclass(frozen=True, slots=True)
class Recalled:
    """Answer to a `RecallQuery`; `vector_search` is "exact", "hnsw" or empty."""

    revision: int
    hits: tuple[Hit, ...]
    arms: tuple[str, ...]
    degraded_because: str
    vector_search: str
    filtered_count: int
    as_of_revision: int = 0


@dataclass(frozen=True, slots=True)
class Checked:
    """Answer to a Check: what Remember would say now. `grown_id`: what would grow, if anything."""

    revision: int
    would_save: bool
    guard: GuardReport
    grown_id: str = ""


@dataclass(frozen=True, slots=True)
class Gotten:
    """Answer to a Get, in the order asked.

    `redirects` are (id asked for, id read instead) of superseded ones, where that was asked.
    """

    revision: int
    memories: tuple[Memory, ...]
    missing_ids: tuple[str, ...]
    redirects: tuple[tuple[str, str], ...] = ()
    as_of_revision: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a List; an empty token means it was the last."""

    revision: int
    memories: tuple[Memory, ...]
    next_page_token: str
    as_of_revision: int = 0


@dataclass(frozen=True, slots=True)
class NeighborsQuery:
    """Which links to follow, from where and how far; `types` empty: all."""

    agent_id: str
    ids: tuple[str, ...]
    depth: int = 1
    limit: int = 50
    types: tuple[LinkType, ...] = ()
    min_confidence: float = 0.0
    hop_decay: float = 0.5


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A memory that is reached by links; `via` is the link from `via_id`, on its strongest way."""

    memory: Memory
    depth: int
    activation: float
    via_id: str
    via: Link


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """Answer to a `NeighborsQuery`; truncated: more was near than one call follows."""

    revision: int
    neighbors: tuple[Neighbor, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Version:
    """What a memory was from one operation on.

    `memory` is `None` where only links changed, or where it was purged. `changed` are names of
    fields that differ from the version before.
    """

    operation: OperationInfo
    memory: Memory | None
    changed: tuple[str, ...] = ()
    linked: tuple[Link, ...] = ()
    unlinked: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """One page of the versions of a memory, newest first."""

    revision: int
    versions: tuple[Version, ...]
    next_page_token: str


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """Conditions on operations that all hold; values of one tuple are alternatives."""

    agent_ids: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    time: TimeRange = ANY_TIME
    memory_id: str = ""
    reason_contains: str = ""


@dataclass(frozen=True, slots=True)
class OperationPage:
    """One page of operations, newest first."""

    revision: int
    operations: tuple[OperationInfo, ...]
    next_page_token: str


@dataclass(frozen=True, slots=True)
class EpisodeRead:
    """Answer to a GetEpisode; `memories` only where they were asked for."""

    revision: int
    episode: Episode
    memories: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """One page of episodes by (start, id)."""

    revision: int
    episodes: tuple[Episode, ...]
    next_page_token: str


class ChangeType(StrEnum):
    """What became of a memory."""

    CREATED = "created"
    UPDATED = "updated"
    SUPERSEDED = "superseded"
    CLOSED = "closed"
    FORGOTTEN = "forgotten"
    RESTORED = "restored"
    PURGED = "purged"


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """One memory of a change; `memory` is `None` where the agent no longer sees it."""

    type: ChangeType
    memory_id: str
    memory: Memory | None


@dataclass(frozen=True, slots=True)
class LinkChange:
    """One link of a change; the other direction goes with it."""

    source_id: str
    link: Link
    removed: bool


@dataclass(frozen=True, slots=True)
class Change:
    """What one operation changed, as far as an agent may see it."""

    operation: OperationInfo
    memories: tuple[MemoryChange, ...]
    links: tuple[LinkChange, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """Operations after a revision, in order; all up to `revision` are told."""

    revision: int
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class CollectionPage:
    """One page of the collections, by name."""

    revision: int
    collections: tuple[CollectionInfo, ...]
    next_page_token: str


@dataclass(frozen=True, slots=True)
class PresetOutcome:
    """What one preset would do with a pair of texts; `method` is why it refuses."""

    preset: str
    refuses: bool
    method: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two texts as the guard sees them. No cosine without an embedder.

    `judgement` is what the second text is to the first, by the preset standard.
    """

    same_text: bool
    same_words: bool
    cosine_similarity: float | None
    jaccard_similarity: float
    presets: tuple[PresetOutcome, ...]
    model: ModelIdentity | None
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class TurnRecorded:
    """A turn was counted, or had been before (`applied.replayed`).

    `applied` has one `TurnCounted`; `run` is the tidying that began now because of it, or `None`.
    """

    applied: Applied
    run: Future[Applied] | None = None

    @property
    def counted(self) -> TurnCounted:
        """What was counted."""
        (result,) = self.applied.results
        assert isinstance(result, TurnCounted)
        return result


@dataclass(frozen=True, slots=True)
class NearQuery:
    """Which near states are put into clusters for a plan.

    Attributes
    ----------
    distance_below : float
        Cosine distance, 0 (excluded) to 0.5, exclusive.
    clusters_max : int
        The nearest clusters that are told.
    page_token : str
        Goes on behind the states that an earlier answer read.
    """

    agent_id: str
    distance_below: float = 0.1
    clusters_max: int = limits.TIDY_CLUSTERS_DEFAULT
    page_token: str = ""


@dataclass(frozen=True, slots=True)
class NearGroups:
    """Row numbers of near states, each group for `Engine.tidy_cluster`, the nearest first."""

    revision: int
    groups: tuple[tuple[int, ...], ...]
    read_count: int
    left_out_count: int
    next_page_token: str


@dataclass(frozen=True, slots=True)
class NearPair:
    """How two states of a cluster stand to each other.

    `about_gap_days` is `None` where one of them is about no time.
    """

    a_id: str
    b_id: str
    distance: float
    verdict: Verdict
    valid_together: bool
    about_gap_days: float | None
    same_thread: bool
    shared_entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NearCluster:
    """Near states of one kind, the most wanted first, and each two of them, the nearest first.

    `protected` are the ids of those that no plan may close.
    """

    state_kind: StateKind
    members: tuple[Memory, ...]
    protected: frozenset[str]
    pairs: tuple[NearPair, ...]


@dataclass(frozen=True, slots=True)
class CheckpointFigures:
    """The newest good checkpoint of a collection, and how the collection was opened.

    `revision` 0: there is none; `opened_from_revision` 0: it was opened without one.
    `replayed_count` rows were read then. `bad_count` checkpoints were set aside since.
    """

    revision: int = 0
    saved_us: int = 0
    bytes: int = 0
    opened_from_revision: int = 0
    replayed_count: int = 0
    opening_s: float = 0.0
    bad_count: int = 0


@dataclass(frozen=True, slots=True)
class CollectionStats:
    """Figures of one open collection; `*_counts` since the daemon started.

    `recall_at_k` is the graph's over its last `recall_rated_count` queries compared.
    """

    name: str
    active_count: int
    revision: int
    total_count: int
    forgotten_count: int
    link_count: int
    saved_count: int
    refused_counts: dict[str, int]
    recall_count: int
    hnsw_count: int
    recall_at_k: float
    recall_rated_count: int
    file_bytes: int
    array_bytes: int
    state: str
    queue_length: int
    kind_counts: dict[str, int]
    tidy: TidyState = NEVER_TIDIED
    verified: Verified = NOT_VERIFIED
    checkpoint: CheckpointFigures = CheckpointFigures()
    reembed: ReembedState | None = None


@dataclass(frozen=True, slots=True)
class OpenFigures:
    """What is open. `idle_closed_count` since the engine was opened; bytes of arrays and graphs."""

    count: int
    idle_closed_count: int
    memory_bytes: int
    memory_budget_bytes: int


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Figures of the engine. Processes and clocks are the server's to add."""

    collections: tuple[CollectionStats, ...]
    collection_count: int
    revision: int
    model: ModelIdentity | None
    embedder_state: str
    embedder_cpu_s: float
    open: OpenFigures
    snapshots: SnapshotStats
