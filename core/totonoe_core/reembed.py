"""Re-embed: a collection gets the vectors of another model while it serves. Plain data.

Models of a collection have numbers, in the order in which it had them, and every vector on disk
says the number of its own (`store/rows.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from totonoe_core.guard.calibration import Calibration
from totonoe_core.guard.policy import PRESETS, GuardPolicy
from totonoe_core.records import ModelIdentity

if TYPE_CHECKING:
    from totonoe_core.commands import CollectionInfo

MODELS_MAX = 65_535


class Phase(StrEnum):
    """What a re-embedding does now."""

    WAITING = "waiting"
    """For an embedder of its model; the daemon runs none, or it loads."""
    EMBEDDING = "embedding"
    INDEXING = "indexing"
    """Prefix and graph of the new vectors are built beside those that answer."""
    SETTLING = "settling"
    """Rows and what lies beside them exchange their vectors; the new ones count already."""
    CANCELLING = "cancelling"


@dataclass(frozen=True, slots=True)
class Reembed:
    """Give a collection the vectors of the daemon's model.

    `prepared` is what the engine made ready beside; callers leave it, and it is no part of what was
    asked.
    """

    agent_id: str
    reason: str = ""
    prepared: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Reembedded:
    """Answer to `Reembed`, once the new model counts.

    `embedded_count` texts were embedded for it; where the model was the collection's before, the
    vectors of the others were still there. `calibrated`: what a Calibrate had found out for the
    model counts again. `thresholds_reset`: the cosine thresholds are others now, those that were
    set for the model, or the preset's.
    """

    before: ModelIdentity
    after: ModelIdentity
    memory_count: int
    embedded_count: int
    calibrated: bool
    thresholds_reset: bool


@dataclass(frozen=True, slots=True)
class ReembedProgress:
    """How far a re-embedding is: memories that have their vector, of all."""

    phase: Phase
    done_count: int
    total_count: int
    per_second: float
    left_s: float


@dataclass(frozen=True, slots=True)
class ReembedTold:
    """One message of a Reembed: progress, or in the end the result."""

    progress: ReembedProgress | None = None
    done: Reembedded | None = None
    operation_id: str = ""
    revision: int = 0
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class ReembedState:
    """A re-embedding that is under way, or waits, for figures.

    `failure` says why it does not go on, if it does not.
    """

    model: ModelIdentity
    progress: ReembedProgress
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """A re-embedding under way, as it lies in the file."""

    model: ModelIdentity
    model_number: int
    command: Reembed
    operation_id: str
    embedded_count: int = 0
    cancelled: bool = False


_COSINE_THRESHOLDS = (
    "cosine_distance_below",
    "cosine_at_least",
    "session_cosine_at_least",
    "judged_from",
    "similar_above",
    "link_distance_below",
)


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that a collection has or had, with what was found out or set for it.

    `thresholds` are those of its guard policy that are about cosines, by name.
    """

    model: ModelIdentity
    calibration: Calibration | None = None
    thresholds: tuple[tuple[str, float | None], ...] = ()


def left(info: CollectionInfo) -> KnownModel:
    """What to keep of a collection's model when it gets another."""
    thresholds = tuple((name, getattr(info.guard, name)) for name in _COSINE_THRESHOLDS)
    return KnownModel(info.model, info.calibration, thresholds)


def guard_for(known: KnownModel, policy: GuardPolicy) -> GuardPolicy:
    """The policy with the cosine thresholds of another model: its own, or the preset's."""
    preset = PRESETS[policy.preset]
    named = dict(known.thresholds) or {name: getattr(preset, name) for name in _COSINE_THRESHOLDS}
    return replace(policy, **named)  # type: ignore[arg-type]
