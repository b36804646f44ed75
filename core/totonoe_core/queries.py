"""The closed set of reads, as plain data, and what each answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from totonoe_core.commands import CollectionInfo
from totonoe_core.guard.policy import DiversityPolicy
from totonoe_core.records import (
    ANY_TIME,
    GuardReport,
    Judgement,
    Kind,
    Memory,
    ModelIdentity,
    StateKind,
    Status,
    TimeRange,
)


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


@dataclass(frozen=True, slots=True)
class Checked:
    """Answer to a Check: what Remember would say now."""

    revision: int
    would_save: bool
    guard: GuardReport


@dataclass(frozen=True, slots=True)
class Gotten:
    """Answer to a Get, in the order asked."""

    revision: int
    memories: tuple[Memory, ...]
    missing_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a List; an empty token means it was the last."""

    revision: int
    memories: tuple[Memory, ...]
    next_page_token: str


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


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Figures of the engine. Processes and clocks are the server's to add."""

    collections: tuple[CollectionStats, ...]
    collection_count: int
    revision: int
    model: ModelIdentity | None
    embedder_state: str
    embedder_cpu_s: float
