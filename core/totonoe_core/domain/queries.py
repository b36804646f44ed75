"""The closed set of reads and their answers, as plain data."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum

from totonoe_core.base import limits
from totonoe_core.domain.asking import Query
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.filter import NO_FILTER, Filter
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.domain.records import (
    ANY_TIME,
    Episode,
    Judgement,
    Link,
    LinkType,
    Memory,
    ModelIdentity,
    StateKind,
    TimeRange,
    Verdict,
)
from totonoe_core.domain.reembed import ReembedState
from totonoe_core.domain.snapshots import SnapshotStats
from totonoe_core.domain.tidy import NEVER_TIDIED, TidyState, TurnCounted
from totonoe_core.domain.undo import OperationInfo
from totonoe_core.domain.verified import NOT_VERIFIED, Verified


@dataclass(frozen=True, slots=True)
class AsOf:
    """A moment of the past: right after a revision or, if `revision` is `None`, at a time."""

    revision: int | None = None
    time_us: int = 0


class RecallMode(StrEnum):
    """Selects the searches that Recall runs."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    LEXICAL = "lexical"


@dataclass(frozen=True, slots=True)
class RecallQuery(Query["Recalled"]):
    """Query of a Recall. `vector` is float32 little-endian bytes, or empty.

    `diversity` `None` means the collection's. `min_relevance`, 0..1, leaves weaker hits out. `fold`
    shows hits that are probably the same as one hit.
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
    min_relevance: float = 0.0
    fold: bool = False


class DiversityEffect(StrEnum):
    """Reason why a hit was moved from its place by relevance."""

    NONE = "none"
    RAISED = "raised"
    LOWERED = "lowered"
    OVER_BUDGET = "over_budget"
    NEWER = "newer"


@dataclass(frozen=True, slots=True)
class FoldedHit:
    """A memory that is probably the same as a hit; `judgement` relates the hit to it."""

    memory: Memory
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class OtherMemory:
    """A memory that speaks against a hit; the text is cut to SNIPPET_CHARS."""

    memory_id: str
    age: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One found memory and the reasons for its place. Ranks count from 1; 0 means absent.

    Hits are ordered by `relevance`, 0..1, before diversity; see `search.relevance`. `context` is
    what of it the neighbours in its thread add; see `search.context`. Both are those of the best
    one if others are folded under this hit: `also_count`, of which `also` has the FOLDED_HITS_MAX
    best.

    `updated_by`, `contradicted_by` and `outdated` are live memories that are linked as newer, that
    are linked as contradicting, or that update another copy of the hit: at most KNOWN_PER_HIT_MAX
    each, newest first. Both may be true: a link is no proof.
    """

    memory: Memory
    relevance: float
    context: float
    cosine_similarity: float | None
    lexical_similarity: float | None
    vector_rank: int
    lexical_rank: int
    fused_rank: int
    diversity: DiversityEffect
    effective_confidence: float
    also: tuple[FoldedHit, ...] = ()
    also_count: int = 0
    updated_by: tuple[OtherMemory, ...] = ()
    contradicted_by: tuple[OtherMemory, ...] = ()
    outdated: tuple[OtherMemory, ...] = ()


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
class GetQuery(Query["Gotten"]):
    """Memories by id or `ext:` external id.

    One unknown id alone is `NotFound`; among several it is listed. `as_of` reads the memories as
    they were then. `follow_superseded` reads the end of the chain in place of a superseded memory.
    """

    agent_id: str
    ids: tuple[str, ...]
    as_of: AsOf | None = None
    follow_superseded: bool = False
    touch: bool = False


@dataclass(frozen=True, slots=True)
class Gotten:
    """Answer to a Get, in the order of the request.

    `redirects` are (requested id, id read instead) of superseded memories, if following was asked
    for.
    """

    revision: int
    memories: tuple[Memory, ...]
    missing_ids: tuple[str, ...]
    redirects: tuple[tuple[str, str], ...] = ()
    as_of_revision: int = 0


@dataclass(frozen=True, slots=True)
class ListQuery(Query["Page"]):
    """One page of memories by (created time, id). Page tokens survive writes.

    A page ends earlier where it would become long; `include_vectors` says that vectors count.
    """

    agent_id: str
    where: Filter = NO_FILTER
    page_size: int = limits.PAGE_SIZE_DEFAULT
    page_token: str = ""
    as_of: AsOf | None = None
    touch: bool = False
    include_vectors: bool = False


@dataclass(frozen=True, slots=True)
class NamespacePattern:
    """Names that one end of a namespace meets; `*` stands for any one name."""

    names: tuple[str, ...]
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class NamespacesQuery(Query["NamespacePage"]):
    """Distinct namespaces of the memories that meet a filter, cut to `max_depth` unless it is 0."""

    agent_id: str
    filter: Filter = NO_FILTER
    patterns: tuple[NamespacePattern, ...] = ()
    max_depth: int = 0
    limit: int = limits.PAGE_SIZE_DEFAULT
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace, and how many memories are in it or, if it was cut, below it."""

    names: tuple[str, ...]
    memory_count: int


@dataclass(frozen=True, slots=True)
class NamespacePage:
    """Answer to a `NamespacesQuery`, in the order of the names; `total_count` is of all."""

    revision: int
    namespaces: tuple[Namespace, ...]
    total_count: int


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a List; an empty token marks the last page."""

    revision: int
    memories: tuple[Memory, ...]
    next_page_token: str
    as_of_revision: int = 0


@dataclass(frozen=True, slots=True)
class NeighborsQuery(Query["Neighborhood"]):
    """Selects the links to follow, their start and the depth; empty `types` means all."""

    agent_id: str
    ids: tuple[str, ...]
    depth: int = 1
    limit: int = 50
    types: tuple[LinkType, ...] = ()
    min_confidence: float = 0.0
    hop_decay: float = 0.5


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A memory reached over links; `via` is the link from `via_id` on its strongest path."""

    memory: Memory
    depth: int
    activation: float
    via_id: str
    via: Link


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """Answer to a `NeighborsQuery`. `truncated` is true if one call cannot follow all links."""

    revision: int
    neighbors: tuple[Neighbor, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Version:
    """State of a memory from one operation on.

    `memory` is `None` where only links changed, or where it was purged. `changed` names the fields
    that differ from the version before.
    """

    operation: OperationInfo
    memory: Memory | None
    changed: tuple[str, ...] = ()
    linked: tuple[Link, ...] = ()
    unlinked: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryQuery(Query["HistoryPage"]):
    """One page of the versions of a memory, newest first. An unknown id is `NotFound`.

    `names_others`: other agents that recalled it are named.
    """

    agent_id: str
    memory_id: str
    page_size: int = limits.PAGE_SIZE_DEFAULT
    page_token: str = ""
    names_others: bool = False


@dataclass(frozen=True, slots=True)
class Recaller:
    """An agent that recalled a memory: how often, and when last."""

    agent_id: str
    count: int
    last_us: int


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """One page of the versions of a memory, newest first.

    The first page says who recalled the memory, by the Recalls that are kept: `recallers`, the
    latest first, and `other_recall_count` of agents that are not named.
    """

    revision: int
    versions: tuple[Version, ...]
    next_page_token: str
    recallers: tuple[Recaller, ...] = ()
    other_recall_count: int = 0


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """Conditions on operations that all hold; values of one tuple are alternatives."""

    agent_ids: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    time: TimeRange = ANY_TIME
    memory_id: str = ""
    reason_contains: str = ""


@dataclass(frozen=True, slots=True)
class OperationsQuery(Query["OperationPage"]):
    """One page of operations, newest first, with what the agent may see of them."""

    agent_id: str
    where: OperationFilter
    page_size: int = limits.PAGE_SIZE_DEFAULT
    page_token: str = ""


@dataclass(frozen=True, slots=True)
class OperationPage:
    """One page of operations, newest first."""

    revision: int
    operations: tuple[OperationInfo, ...]
    next_page_token: str


@dataclass(frozen=True, slots=True)
class EpisodeQuery(Query["EpisodeRead"]):
    """One episode with the memories that are there; `NotFound` (EPISODE_NOT_FOUND)."""

    agent_id: str
    episode_id: str
    include_memories: bool = False


@dataclass(frozen=True, slots=True)
class EpisodeRead:
    """Answer to a GetEpisode; `memories` is filled only on request."""

    revision: int
    episode: Episode
    memories: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class EpisodesQuery(Query["EpisodePage"]):
    """One page of episodes by (start, id) that overlap a time and hold a memory, if named."""

    agent_id: str
    time: TimeRange = ANY_TIME
    memory_id: str = ""
    page_size: int = limits.PAGE_SIZE_DEFAULT
    page_token: str = ""


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """One page of episodes by (start, id)."""

    revision: int
    episodes: tuple[Episode, ...]
    next_page_token: str


class ChangeType(StrEnum):
    """Change of a memory in an operation."""

    CREATED = "created"
    UPDATED = "updated"
    SUPERSEDED = "superseded"
    CLOSED = "closed"
    FORGOTTEN = "forgotten"
    RESTORED = "restored"
    PURGED = "purged"


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """One changed memory; `memory` is `None` if the agent no longer sees it."""

    type: ChangeType
    memory_id: str
    memory: Memory | None


@dataclass(frozen=True, slots=True)
class LinkChange:
    """One changed link; the other direction changes with it."""

    source_id: str
    link: Link
    removed: bool


@dataclass(frozen=True, slots=True)
class Change:
    """Changes of one operation, as far as the agent sees them."""

    operation: OperationInfo
    memories: tuple[MemoryChange, ...]
    links: tuple[LinkChange, ...]


@dataclass(frozen=True, slots=True)
class ChangesQuery(Query["Changes"]):
    """The changes of the next operations after a revision, as far as the agent may see them.

    At most CHANGES_PER_READ_MAX operations; without any, `revision` of the answer is the
    collection's newest. `OutOfRange` for a revision to come.
    """

    agent_id: str
    after_revision: int
    where: Filter | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """Operations after a revision, in order; complete up to `revision`."""

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
    """Decision of one preset on a pair of texts; `method` is the refusing layer."""

    preset: str
    refuses: bool
    method: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two texts as the guard compares them. There is no cosine without an embedder.

    `judgement` relates the second text to the first, by the preset `standard`.
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
    """Answer to a recorded turn; `applied.replayed` if it was recorded before.

    `applied` has one `TurnCounted`; `run` is the tidying that this turn started, or `None`.
    """

    applied: Applied
    run: Future[Applied] | None = None

    @property
    def counted(self) -> TurnCounted:
        """The count of the turn."""
        (result,) = self.applied.results
        assert isinstance(result, TurnCounted)
        return result


@dataclass(frozen=True, slots=True)
class NearQuery(Query["NearGroups"]):
    """Which near states are put into clusters for a plan.

    Attributes
    ----------
    distance_below : float
        Cosine distance, 0 (excluded) to 0.5, exclusive.
    clusters_max : int
        How many of the nearest clusters are returned.
    page_token : str
        Continues after the states that an earlier answer read.
    """

    agent_id: str
    distance_below: float = 0.1
    clusters_max: int = limits.TIDY_CLUSTERS_DEFAULT
    page_token: str = ""


@dataclass(frozen=True, slots=True)
class NearGroups:
    """Ids of near states, each group for a `ClustersQuery`, the nearest first."""

    revision: int
    groups: tuple[tuple[str, ...], ...]
    read_count: int
    left_out_count: int
    next_page_token: str


@dataclass(frozen=True, slots=True)
class ClustersQuery(Query["tuple[NearCluster, ...]"]):
    """The clusters that the texts of one of those groups make: some, or none."""

    agent_id: str
    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NearPair:
    """Relation of two states of a cluster.

    `about_gap_days` is `None` if one of them has no about time.
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
    """Near states of one kind, the one to keep first, and their pairs, the nearest first.

    `protected` holds the ids that no plan may close.
    """

    state_kind: StateKind
    members: tuple[Memory, ...]
    protected: frozenset[str]
    pairs: tuple[NearPair, ...]


@dataclass(frozen=True, slots=True)
class CheckpointFigures:
    """The newest good checkpoint of a collection, and how the collection was opened.

    `revision` is 0 if there is none; `opened_from_revision` is 0 if the collection was opened
    without one. `replayed_count` rows were read then. `bad_count` checkpoints were set aside since;
    `bad` names the last of these and its fault, and is empty if there is none.
    """

    revision: int = 0
    saved_us: int = 0
    bytes: int = 0
    opened_from_revision: int = 0
    replayed_count: int = 0
    opening_s: float = 0.0
    bad_count: int = 0
    bad: str = ""


@dataclass(frozen=True, slots=True)
class CollectionStats:
    """Figures of one open collection; what it saved, refused and recalled since `counted_from_us`.

    `recall_at_k` is the graph's, over the last `recall_rated_count` queries that were compared.
    `recall_low`: it finds too few, so that Recall searches exactly.
    `unscored_count` live states were never compared for questions; Consolidate does it.
    `open_question_count` stops at QUESTIONS_COUNTED_MAX.
    """

    name: str
    active_count: int
    revision: int
    total_count: int
    forgotten_count: int
    link_count: int
    unscored_count: int
    open_question_count: int
    saved_count: int
    refused_counts: dict[str, int]
    recall_count: int
    counted_from_us: int
    hnsw_count: int
    recall_at_k: float
    recall_rated_count: int
    recall_low: bool
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
    """Open collections.

    `idle_closed_count` counts since the engine was opened; bytes are of arrays and graphs.
    """

    count: int
    idle_closed_count: int
    memory_bytes: int
    memory_budget_bytes: int


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Figures of the engine. The server adds those of processes and clocks.

    `open` is `None` for a caller who does not see all collections. `lost_catalogue_revisions` are
    gone from the disk, in the format of `Verified.lost_revisions`.
    """

    collections: tuple[CollectionStats, ...]
    collection_count: int
    revision: int
    model: ModelIdentity | None
    embedder_state: str
    embedder_cpu_s: float
    judge_cpu_s: float
    open: OpenFigures | None
    snapshots: SnapshotStats
    lost_catalogue_revisions: str = ""
