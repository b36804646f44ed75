"""Clean-up by rule as plain data: commands, plans and answers.

A run is planned away from the writer's thread and carried out on it. The engine fills in `plan`
before the command is decided. Callers leave `plan` empty, and it does not count when requests are
compared. Memories that changed in between stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from totonoe_core.base import limits
from totonoe_core.domain.asking import Previewable
from totonoe_core.domain.blast import Blast
from totonoe_core.domain.decay import DecayReport


class GroupBy(StrEnum):
    """Selects the memories that an EndSession groups."""

    SESSION = "session"
    AGENT = "agent"


class Measure(StrEnum):
    """Similarity measure by which EndSession groups memories."""

    JACCARD = "jaccard"
    COSINE = "cosine"
    VERDICT = "verdict"


THRESHOLDS = {Measure.JACCARD: 0.50, Measure.COSINE: 0.85, Measure.VERDICT: 0.75}
"""Similarities above which two memories may be one.

Jaccard: docs/sources.md, 002, "Consolidation". Cosine: 002, Layer 3. Verdict: the preset `standard`
reads both texts from here.
"""


@dataclass(frozen=True, slots=True)
class PlannedMemory:
    """A memory as a plan found it. `revision` is that of its row."""

    memory_id: str
    row: int
    revision: int


@dataclass(frozen=True, slots=True)
class ReplacedMemory:
    """A memory that another one replaces. `recalled`: recalled in the last 7 days."""

    memory_id: str
    kept_id: str
    similarity: float
    snippet: str
    recalled: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Memories that one of them replaces; `pair_sum` adds up the similarities of all pairs."""

    kept_id: str
    snippet: str
    category: str
    superseded: tuple[ReplacedMemory, ...]
    pair_sum: float


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """Answer to `EndSession`."""

    groups: tuple[Group, ...]
    consolidatable_count: int
    decay: DecayReport
    left_out_count: int = 0
    unread_pair_count: int = 0

    @property
    def superseded_count(self) -> int:
        """Number of superseded memories."""
        return sum(len(group.superseded) for group in self.groups)

    @property
    def compression_ratio(self) -> float:
        """Superseded memories as a share of all that could have been grouped, 0..1."""
        return self.superseded_count / self.consolidatable_count if self.groups else 0.0

    @property
    def avg_similarity(self) -> float:
        """Mean similarity over all pairs inside all groups."""
        sizes = [len(group.superseded) + 1 for group in self.groups]
        pairs = sum(size * (size - 1) // 2 for size in sizes)
        return sum(group.pair_sum for group in self.groups) / pairs if pairs else 0.0


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """The answer that an EndSession would give, and its memories as they were found."""

    ended: SessionEnded
    seen: tuple[PlannedMemory, ...]


@dataclass(frozen=True, slots=True)
class EndSession(Previewable[SessionEnded]):
    """Put one memory in the place of those that a session said several times over.

    `threshold` `None` means the default of the measure (`THRESHOLDS`).
    """

    agent_id: str
    session_id: str = ""
    by: GroupBy = GroupBy.SESSION
    measure: Measure = Measure.JACCARD
    threshold: float | None = None
    reason: str = "end of session"
    plan: SessionPlan | None = None


@dataclass(frozen=True, slots=True)
class CleanedUp:
    """Answer to `CleanUpDuplicates`; `more_count` doubles are left for the next run."""

    duplicates: tuple[ReplacedMemory, ...]
    more_count: int
    blast: Blast


@dataclass(frozen=True, slots=True)
class DoublesPlan:
    """The doubles that a clean-up found, with their revisions."""

    duplicates: tuple[ReplacedMemory, ...]
    more_count: int
    seen: tuple[PlannedMemory, ...]


@dataclass(frozen=True, slots=True)
class CleanUpDuplicates(Previewable[CleanedUp]):
    """Supersede live memories that are equal to another one."""

    agent_id: str
    limit: int = limits.DOUBLES_PER_RUN_MAX
    reason: str = "exact duplicates"
    plan: DoublesPlan | None = None


@dataclass(frozen=True, slots=True)
class FadedMemory:
    """A memory that has faded. `recalled`: recalled in the last 7 days."""

    memory_id: str
    confidence: float
    effective_confidence: float
    last_access_us: int | None
    snippet: str
    recalled: bool = False


@dataclass(frozen=True, slots=True)
class Decayed:
    """Answer to `Decay`. `blast` is `None` if only a report was asked for."""

    report: DecayReport
    closed: tuple[FadedMemory, ...] = ()
    blast: Blast | None = None


@dataclass(frozen=True, slots=True)
class DecayPlan:
    """The faded memories, and those to close as they were found."""

    report: DecayReport
    closing: tuple[FadedMemory, ...]
    seen: tuple[PlannedMemory, ...]


@dataclass(frozen=True, slots=True)
class Decay(Previewable[Decayed]):
    """Report faded memories and, with `close_below`, close those with a lower confidence."""

    agent_id: str
    close_below: float | None = None
    limit: int = limits.DECAY_CLOSED_MAX
    reason: str = "faded"
    plan: DecayPlan | None = None


Planned = EndSession | CleanUpDuplicates | Decay
"""Commands that are planned before the writer decides them."""
