"""Models of clean-up by rule: ends of sessions, exact duplicates, decay.

As in `totonoe.memories.models`: `revision` of an answer is the collection's newest.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ReplacedMemory:
    """A memory that gives way to another.

    Attributes
    ----------
    similarity : float
        Of both, by the measure of the call; 1 for exact doubles.
    snippet : str
        The beginning of its text.
    recalled : bool
        Whether it was recalled in the last 7 days.
    """

    memory_id: str
    kept_id: str
    similarity: float
    snippet: str
    recalled: bool


@dataclass(frozen=True, slots=True)
class MemoryGroup:
    """Memories of one category that are said by one of them; `snippet` is of the one that stays."""

    kept_id: str
    snippet: str
    category: str
    superseded: tuple[ReplacedMemory, ...]


@dataclass(frozen=True, slots=True)
class Survival:
    """The count of memories at or above the threshold after so many days without any recall."""

    days: int
    count: int


@dataclass(frozen=True, slots=True)
class DecayReport:
    """Counts of faded memories among the live ones that the caller may see.

    Attributes
    ----------
    band_counts : tuple of int
        By effective confidence, in ten bands of 0.1; 1 lies in the last.
    faded_count, at_floor_count : int
        Those that lost confidence at all, and down to the floor of the policy.
    threshold, below_count : float, int
        Those whose effective confidence lies below it, protected ones too.
    protected_count : int
        Those that no rule closes.
    recalled_count : int
        Those recalled in the last 7 days.
    survival : tuple of Survival
        After 7, 30, 90, 180 and 365 days.
    """

    live_count: int
    band_counts: tuple[int, ...]
    faded_count: int
    at_floor_count: int
    threshold: float
    below_count: int
    protected_count: int
    recalled_count: int
    survival: tuple[Survival, ...]


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """Answer of `end_session`.

    Attributes
    ----------
    compression_ratio : float
        `superseded_count` of `consolidatable_count`, 0 to 1.
    avg_similarity : float
        Mean over all pairs inside all groups.
    consolidatable_count : int
        Memories that could have been grouped; below 3 nothing happens.
    left_out_count, unread_pair_count : int
        Memories and similar pairs beyond the limits of one run; another run takes them.
    """

    revision: int
    merged_groups: int
    superseded_count: int
    compression_ratio: float
    avg_similarity: float
    groups: tuple[MemoryGroup, ...]
    consolidatable_count: int
    left_out_count: int
    unread_pair_count: int
    decay: DecayReport
    dry_run: bool
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """The number of memories that a run takes, and the number that it may take.

    Attributes
    ----------
    closing, recalled_count : int
        Memories that go, and how many of them were recalled in the last 7 days.
    today, allowed : int
        Memories that such runs took in the 24 hours before, and how many may go in a run and a day.
    over : bool
        Whether that is too many: then only a dry run answers.
    """

    closing: int
    today: int
    allowed: int
    over: bool
    recalled_count: int


@dataclass(frozen=True, slots=True)
class CleanedUp:
    """Answer of `clean_up_duplicates`; `more_count` doubles are left for the next run."""

    revision: int
    duplicates: tuple[ReplacedMemory, ...]
    more_count: int
    blast: BlastRadius
    applied: bool
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class FadedMemory:
    """A memory that has faded; `last_access_time` is `None` if it was never recalled."""

    memory_id: str
    confidence: float
    effective_confidence: float
    last_access_time: datetime | None
    snippet: str
    recalled: bool


@dataclass(frozen=True, slots=True)
class Decayed:
    """Answer of `decay`; `report` is of the moment before anything was closed.

    `blast` is `None` for a report alone.
    """

    revision: int
    report: DecayReport
    closed: tuple[FadedMemory, ...]
    blast: BlastRadius | None
    dry_run: bool
    replayed: bool
    operation_id: str
