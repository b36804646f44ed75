"""A collection's settings, and the writes that change them, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from totonoe_core.domain.asking import Previewable
from totonoe_core.domain.calibration import Calibration, Fitted
from totonoe_core.domain.policy import (
    NO_RETENTION,
    PRESETS,
    STANDARD_BLAST,
    STANDARD_DECAY,
    STANDARD_DIVERSITY,
    STANDARD_TIDY,
    BlastPolicy,
    DecayPolicy,
    DiversityPolicy,
    GuardPolicy,
    Preset,
    RetentionPolicy,
    TidyPolicy,
)
from totonoe_core.domain.records import ModelIdentity

Sees = Callable[[str], bool]
"""Whether a caller may know of the collection of a name. Called from any thread."""


def sees_all(_: str) -> bool:
    """See every collection: what holds for a caller without an identity."""
    return True


@dataclass(frozen=True, slots=True)
class LearnedBounds:
    """Where the answers of callers moved the bounds of a collection's guard.

    Attributes
    ----------
    answer_count, same_count : int
        Pairs that callers answered, and how many of them say the same.
    shift : float
        By how much the answers' log odds of *same* are above `same_probability`.
    likely_from, certain_from : float or None
        The bounds of the policy since then.
    learned_us : int
        Microseconds since the epoch.
    """

    answer_count: int
    same_count: int
    shift: float
    likely_from: float | None
    certain_from: float | None
    learned_us: int

    def holds(self, guard: GuardPolicy) -> bool:
        """Return whether a policy still has these bounds."""
        return (guard.likely_from, guard.certain_from) == (self.likely_from, self.certain_from)


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """Settings of one collection. `model_since` is the revision that set its model.

    In a list, `fault` says why a collection cannot be read, and what can be done; then all but the
    name is unknown. It is never stored.
    """

    name: str
    description: str
    guard: GuardPolicy
    diversity: DiversityPolicy
    decay: DecayPolicy
    model: ModelIdentity
    created_us: int
    revision: int
    settings_revision: int
    calibration: Calibration | None = None
    retention: RetentionPolicy = NO_RETENTION
    blast: BlastPolicy = STANDARD_BLAST
    tidy: TidyPolicy = STANDARD_TIDY
    model_number: int = 0
    model_since: int = 0
    fault: str = ""
    learned: LearnedBounds | None = None


@dataclass(frozen=True, slots=True)
class NewCollection:
    """Settings that a collection is made with.

    `client_vector_dimension` 0: the daemon's model embeds, or the collection has no vectors.
    """

    name: str
    description: str = ""
    guard: GuardPolicy = PRESETS[Preset.STANDARD]
    diversity: DiversityPolicy = STANDARD_DIVERSITY
    decay: DecayPolicy = STANDARD_DECAY
    client_vector_dimension: int = 0
    retention: RetentionPolicy = NO_RETENTION
    blast: BlastPolicy = STANDARD_BLAST
    tidy: TidyPolicy = STANDARD_TIDY


@dataclass(frozen=True, slots=True)
class ChangeSettings:
    """Change description or policies of the collection itself.

    `changes` holds pairs of path and value, applied in order. Paths are `description`
    and `guard.FIELD`, `diversity.FIELD`, `decay.FIELD`, `retention.FIELD`, `blast.FIELD`,
    `tidy.FIELD` with the field names of the policy classes. `None` switches a guard threshold off
    and takes any other field back to its default (for guard fields: that of the preset).
    `guard.preset` sets every guard field. `learned` says why, where the daemon itself asks.
    """

    agent_id: str
    changes: tuple[tuple[str, str | float | bool | None], ...]
    expected_revision: int = 0
    reason: str = ""
    learned: LearnedBounds | None = None


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Answer to `ChangeSettings`."""

    collection: CollectionInfo


@dataclass(frozen=True, slots=True)
class Calibrate(Previewable["Calibrated"]):
    """Fit the verdict to the collection's model.

    The engine fills in `fitted`, away from the writer's thread, before the command is decided.
    Callers leave it empty, and it does not count when requests are compared.
    """

    agent_id: str
    false_merge_budget: float
    fitted: Fitted | None = None


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Answer to `Calibrate`."""

    fitted: Fitted
