"""Models of collections, of policies, and of the daemon's figures, as frozen dataclasses.

Policies are handed in as well: there `None` means not said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from totonoe.enums import (
    ActionWord,
    Method,
    Preset,
    PresetWord,
    ReembedPhase,
    SourceWord,
    TokenizerWord,
)
from totonoe.memories.models import DiversityPolicy, Judgement


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """Thresholds and actions of the guard. In a request `None` means not said.

    Similarities refuse above or from the threshold on, distances below it. From `judged_from`
    on the texts are compared, and the verdict decides by the five actions. From `likely_from` on
    (a `same_probability`) a saved memory is linked `likely_same` and asked about, from `shown_from`
    on the answer shows one. From `certain_from` on the daemon's own judge refuses a text. With
    `learns` (the default) answers of callers move `likely_from` and `certain_from`, as far as
    nobody set them. Texts of the source `review_from`, and of less trusted ones, wait for a
    `review`.
    """

    preset: PresetWord | None = None
    exact: bool | None = None
    jaccard_above: float | None = None
    cosine_distance_below: float | None = None
    cosine_at_least: float | None = None
    session_cosine_at_least: float | None = None
    judged_from: float | None = None
    likely_from: float | None = None
    shown_from: float | None = None
    certain_from: float | None = None
    similar_above: float | None = None
    link_distance_below: float | None = None
    tokenizer: TokenizerWord | None = None
    on_duplicate: ActionWord | None = None
    on_update: ActionWord | None = None
    on_contradiction: ActionWord | None = None
    on_refinement: ActionWord | None = None
    on_contained: ActionWord | None = None
    refuse_forgotten: bool | None = None
    learns: bool | None = None
    review_from: SourceWord | None = None


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """Rates at which confidence fades while a memory is not recalled. `None`: not said.

    A rate that is named for a state kind, or for a kind of log, takes the place of `rate_per_day`
    there.
    """

    rate_per_day: float | None = None
    min_interval_days: float | None = None
    floor: float | None = None
    fact_rate_per_day: float | None = None
    relation_rate_per_day: float | None = None
    task_rate_per_day: float | None = None
    summary_rate_per_day: float | None = None
    long_mood_rate_per_day: float | None = None
    event_rate_per_day: float | None = None
    affect_rate_per_day: float | None = None


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Rules by which the daemon purges on its own. `None`: not said.

    `purge_forgotten_days`: what has been forgotten for so many days; 0: never, the default.
    """

    purge_forgotten_days: float | None = None


@dataclass(frozen=True, slots=True)
class BlastPolicy:
    """Limits on the memories that clean-up by rule may take a run and a day. `None`: not said.

    The larger of `rows_min` memories (default 20) and `percent` of the live ones (default 1).
    """

    rows_min: int | None = None
    percent: float | None = None


@dataclass(frozen=True, slots=True)
class TidyPolicy:
    """Schedule and limits of automatic tidying. `None`: not said.

    After `first_turn` turns, then every `every_turns`; a run closes at most `closes_max` memories
    and reads at most `read_max` states. Not enabled by default.
    """

    enabled: bool | None = None
    first_turn: int | None = None
    every_turns: int | None = None
    closes_max: int | None = None
    read_max: int | None = None


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The model that makes the vectors; the name `none` means that clients bring them."""

    name: str
    version: str
    weights_sha256: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """The fit of the verdict to a model; shares are 0 to 1 of the pairs that it was made from.

    `created_time` is `None` for the one that ships with the daemon.
    """

    model: EmbeddingModel
    false_merge_budget: float
    false_merge_rate: float
    duplicate_recall: float
    pair_count: int
    created_time: datetime | None


@dataclass(frozen=True, slots=True)
class LearnedBounds:
    """Bounds of a guard that answers of callers (merge, resolve, dismiss) moved.

    Attributes
    ----------
    answer_count, same_count : int
        Pairs that callers answered, and how many of them say the same.
    shift : float
        By how much the log odds of the answers are above those that the guard expected.
    likely_from, certain_from : float or None
        The bounds that the guard has since then; `None`: off.
    learned_time : datetime
    """

    answer_count: int
    same_count: int
    shift: float
    likely_from: float | None
    certain_from: float | None
    learned_time: datetime


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The results of the verdict at one threshold; shares are 0 to 1."""

    at_least: float
    false_merge_rate: float
    duplicate_recall: float


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """One class of pairs in one language: how many of what is there were called duplicates."""

    name: str
    language: str
    same_count: int
    found_count: int
    different_count: int
    merged_count: int


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Answer of `calibrate`: what was found out, the operating curve, figures by class.

    `dismissed_count` and `merged_count` of the pairs are the collection's own, judged by whoever
    dismissed or merged them.
    """

    calibration: Calibration
    curve: tuple[CurvePoint, ...]
    classes: tuple[ClassFigures, ...]
    dismissed_count: int
    merged_count: int
    revision: int
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection's settings. `settings_revision`: of the last change of settings.

    In a list, `fault` says why a collection cannot be read, and what can be done; then only its
    name is known.
    `calibration` is `None` where the verdict is not fitted to the model, and careful for it;
    `learned` where no answers moved bounds of the guard.
    """

    name: str
    description: str
    guard: GuardPolicy
    diversity: DiversityPolicy
    decay: DecayPolicy
    model: EmbeddingModel
    created_time: datetime
    revision: int
    settings_revision: int
    calibration: Calibration | None
    retention: RetentionPolicy
    blast: BlastPolicy
    tidy: TidyPolicy
    fault: str = ""
    learned: LearnedBounds | None = None


@dataclass(frozen=True, slots=True)
class CollectionChange:
    """Answer of `create_collection` and `update_collection`."""

    collection: CollectionInfo
    revision: int
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class CollectionPage:
    """One page of collections by name; `revision` is the catalogue's."""

    collections: tuple[CollectionInfo, ...]
    next_page_token: str
    revision: int


@dataclass(frozen=True, slots=True)
class CollectionDeleted:
    """Answer of `delete_collection`; `revision` is the catalogue's."""

    active_count: int
    revision: int
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class PresetOutcome:
    """The guard's decision under one preset: the first text is stored, the second is new."""

    preset: Preset
    refuses: bool
    method: Method


@dataclass(frozen=True, slots=True)
class Comparison:
    """Answer of `compare`. The cosine is `None` if the daemon has no embedder."""

    same_text: bool
    same_words: bool
    cosine_similarity: float | None
    jaccard_similarity: float
    presets: tuple[PresetOutcome, ...]
    model: EmbeddingModel
    judgement: Judgement | None


@dataclass(frozen=True, slots=True)
class TidyStats:
    """Figures of tidying, kept with the collection.

    `last_over_blast_radius`: the last run, begun by a turn, found more than may be closed, and
    changed nothing.
    """

    turn_count: int
    run_count: int
    closed_count: int
    last_time: datetime | None
    last_over_blast_radius: bool


@dataclass(frozen=True, slots=True)
class VerifyStats:
    """Results of the checks of a collection's rows and indexes.

    Attributes
    ----------
    bad_row_counts : mapping of str to int
        Rows that do not match their checksum, by table. Of `memory` they are set aside.
    bad_memory_ids : tuple of str
        Ids of such memories, where they can be read.
    begun_time, ended_time : datetime or None
        Of the pass under way or the last one, and when the last one ended.
    row_count, damage_count : int
        Rows that the last pass looked at, and what SQLite's own check found.
    index_mismatch_count, reindexed_count : int
        What was made anew in memory, and how often SQLite's indexes were, since the start.
    lost_commit_count : int
        Acknowledged commits that are gone from the disk; while there are any, it is read-only.
    lost_revisions : str
        Their revisions: "12-15", "12-" (no end is known) or "none"; empty: no commit is lost.
    """

    bad_row_counts: Mapping[str, int]
    bad_memory_ids: tuple[str, ...]
    begun_time: datetime | None
    ended_time: datetime | None
    row_count: int
    damage_count: int
    index_mismatch_count: int
    reindexed_count: int
    lost_commit_count: int = 0
    lost_revisions: str = ""

    @property
    def sound(self) -> bool:
        """True if no damage is known."""
        return not (self.bad_row_counts or self.damage_count or self.lost_commit_count)


@dataclass(frozen=True, slots=True)
class CheckpointStats:
    """The newest good checkpoint of a collection (`revision` 0: there is none), and how the
    collection was opened: from the checkpoint of a revision, or (0) from all of its rows.

    `replayed_count` rows were read then; `bad_count` checkpoints were set aside since, and `bad`
    names the last of them and what is wrong with it (empty: there is none).
    """

    revision: int
    time: datetime | None
    bytes: int
    opened_from_revision: int
    replayed_count: int
    opening_s: float
    bad_count: int
    bad: str


@dataclass(frozen=True, slots=True)
class ReembedStats:
    """A re-embedding that is under way; `failure` says why it does not go on, if it does not."""

    model: str
    phase: ReembedPhase
    done_count: int
    total_count: int
    per_second: float
    left_s: float
    failure: str


@dataclass(frozen=True, slots=True)
class CollectionStats:
    """Figures of one collection; what it saved, refused and recalled since `counted_from_time`.

    `unscored_count` live states were never compared for questions; `consolidate` does it.
    `open_question_count` pairs probably say the same; at most 10,000 are counted. `recall_low`: the
    graph finds too few of the nearest (`recall_at_k`), so that Recall searches exactly.
    """

    name: str
    active_count: int
    revision: int
    total_count: int
    forgotten_count: int
    link_count: int
    saved_count: int
    refused_counts: Mapping[str, int]
    recall_count: int
    counted_from_time: datetime | None
    hnsw_count: int
    recall_at_k: float
    recall_rated_count: int
    file_bytes: int
    array_bytes: int
    state: str
    queue_length: int
    kind_counts: Mapping[str, int]
    tidy: TidyStats
    verify: VerifyStats
    checkpoint: CheckpointStats
    reembed: ReembedStats | None
    unscored_count: int
    open_question_count: int
    recall_low: bool


@dataclass(frozen=True, slots=True)
class OpenCollections:
    """Collections that are open. `memory_bytes` of arrays and graphs; `memory_budget_bytes` 0: any.

    `idle_closed_count`: closed since the daemon started because nobody used them, or over the
    budget.
    """

    count: int
    idle_closed_count: int
    memory_bytes: int
    memory_budget_bytes: int


@dataclass(frozen=True, slots=True)
class SnapshotJob:
    """A snapshot that is being created, or restored as a collection.

    `kind` is "create" or "restore", `step` "copying", "sealing", "checking" or "naming";
    `step_share` is the part of the step that is done, 0 to 1.
    """

    kind: str
    snapshot_id: str
    step: str
    step_share: float
    begun_time: datetime


@dataclass(frozen=True, slots=True)
class SnapshotStats:
    """Figures of snapshots; those of the schedule count since the daemon started.

    `newest_time` is `None` where there is no snapshot, `running` while none is created or restored.
    """

    count: int
    file_bytes: int
    newest_time: datetime | None
    scheduled_count: int
    failed_count: int
    running: SnapshotJob | None = None


@dataclass(frozen=True, slots=True)
class Expiry:
    """A certificate or an identity that ends.

    `what` is "daemon_certificate", "client_authority", "client_certificate" or "identity".
    """

    what: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Stats:
    """Figures of the daemon; CPU in seconds, memory in bytes. `revision`: the catalogue's.

    `lost_catalogue_revisions` are gone from the disk, in the words of `VerifyStats.lost_revisions`;
    while there are any, no collection is made, deleted or restored. `expiries`: the earliest end of
    each kind, for who may read all collections. `daemon`: its number among those that were started
    together, from 1 on; 0: it was started by itself.
    """

    collections: tuple[CollectionStats, ...]
    version: str
    started_time: datetime
    cpu_s: float
    embedder_cpu_s: float
    rss_bytes: int
    model: EmbeddingModel
    embedder_state: str
    collection_count: int
    revision: int
    open: OpenCollections
    snapshots: SnapshotStats
    lost_catalogue_revisions: str = ""
    judge_cpu_s: float = 0.0
    expiries: tuple[Expiry, ...] = ()
    daemon: int = 0
