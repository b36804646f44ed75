"""Models of tidying: updates of a plan, and answers.

As in `totonoe.memories.models`: `revision` of an answer is the collection's newest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from totonoe.enums import StateKind, StateKindWord, TidyFate, TidyOpWord, TidyPhase, Verdict
from totonoe.memories.models import Duplicate, Memory


@dataclass(frozen=True, slots=True)
class TurnRecorded:
    """Answer of `record_turn`: turns so far, and whether the daemon began to tidy.

    `replayed`: the first answer to this operation id again; nothing was counted now.
    """

    turn: int
    began: bool
    revision: int
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class TidyProgress:
    """Progress of a tidy: `done` of `total` clusters are read (0: not known), after `seconds`."""

    phase: TidyPhase
    done: int
    total: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TidyDoubles:
    """States that say exactly the same.

    Attributes
    ----------
    cluster_id : str
        Under `_tidy` in the payload of each; empty if nothing was changed.
    kept : Memory or None
        The one that stays; `None` if it is gone meanwhile.
    closed_ids, protected_ids : tuple of str
        Those that were (or would be) closed, and those that stay because they are protected.
    """

    cluster_id: str
    kept: Memory | None
    closed_ids: tuple[str, ...]
    protected_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TidyMember:
    """One state of a cluster; no plan may close it if it is `protected`."""

    memory: Memory
    protected: bool


@dataclass(frozen=True, slots=True)
class TidyPair:
    """The relation of two states of a cluster.

    Attributes
    ----------
    distance : float
        Cosine distance of their vectors.
    valid_together : bool
        Whether there is a moment at which both are valid.
    about_gap_days : float or None
        Days between the times they are about; `None` where one is about none.
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
class TidyCluster:
    """Near states of one kind, the most wanted first, and every two of them, the nearest first."""

    state_kind: StateKind | None
    members: tuple[TidyMember, ...]
    pairs: tuple[TidyPair, ...]


@dataclass(frozen=True, slots=True)
class TidyDone:
    """The end of a tidy.

    Attributes
    ----------
    closed : bool
        Whether doubles were, or in a dry run would be, closed.
    read_counts, closed_counts : mapping of str to int
        States read, and closed, in search of exact doubles, by state kind.
    merged_count : int
        Groups of doubles of which one state stays.
    complete : bool
        All states to the end of the collection were read; the next run begins anew.
    more : bool
        There are more doubles than this run closes; the next goes on.
    over_blast_radius : bool
        A dry run found doubles of which none may be closed today: `apply` would raise
        `QuotaExceeded`.
    blast_allowed, blast_today : int
        How many a day may be closed by rule, and were in the last 24 hours.
    plan_read_count, cluster_count, left_out_count : int
        Of a plan: states whose neighbours were looked for, clusters told, and not told.
    next_page_token : str
        Of a plan: goes on behind what was read; empty: everything was.
    """

    closed: bool
    dry_run: bool
    read_counts: Mapping[str, int]
    closed_counts: Mapping[str, int]
    merged_count: int
    complete: bool
    more: bool
    over_blast_radius: bool
    blast_allowed: int
    blast_today: int
    plan_read_count: int
    cluster_count: int
    left_out_count: int
    next_page_token: str
    seconds: float
    revision: int
    replayed: bool
    operation_id: str


TidyEvent: TypeAlias = TidyProgress | TidyDoubles | TidyCluster | TidyDone
"""One message of `tidy`; the last is a `TidyDone`."""


@dataclass(frozen=True, slots=True)
class TidyUpdate:
    """One update of a plan; names are those of its JSON form. What is not said stays as it is.

    An upsert without a `state_id` saves a new state. `vector`: where clients bring them.
    """

    op: TidyOpWord
    state_id: str = ""
    kind: StateKindWord | None = None
    body_text: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    confidence: float | None = None
    salience: float | None = None
    valid_from_ts: datetime | None = None
    valid_to_ts: datetime | None = None
    last_confirmed_at: datetime | None = None
    reason: str = ""
    evidence_event_ids: Sequence[str] = ()
    expected_revision: int = 0
    vector: Any = None


@dataclass(frozen=True, slots=True)
class TidyOutcome:
    """The result of the update at a place of the plan; refused: `duplicate` says the same."""

    index: int
    fate: TidyFate
    memory_id: str
    duplicate: Duplicate | None


@dataclass(frozen=True, slots=True)
class PlanApplied:
    """Answer of `apply_tidy_plan`.

    Attributes
    ----------
    outcomes : tuple of TidyOutcome
        One for each update that was asked for, by place.
    merged_count, closed_count, summary_count : int
        Updates that changed or saved a state, states that were closed, and those of the first that
        are summaries.
    """

    outcomes: tuple[TidyOutcome, ...]
    merged_count: int
    closed_count: int
    summary_count: int
    revision: int
    replayed: bool
    operation_id: str
