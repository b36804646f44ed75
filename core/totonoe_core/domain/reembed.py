"""Re-embedding: a collection gets the vectors of another model while it serves. Plain data.

A collection numbers its models in the order in which it had them, and every vector on disk carries
the number of its model (`store/rows.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from totonoe_core.domain.calibration import Calibration
from totonoe_core.domain.policy import PRESETS, GuardPolicy
from totonoe_core.domain.records import ModelIdentity

if TYPE_CHECKING:
    from totonoe_core.domain.collections import CollectionInfo

MODELS_MAX = 65_535


class Phase(StrEnum):
    """Current phase of a re-embedding."""

    WAITING = "waiting"
    """Waits for an embedder of its model; the daemon runs none, or it loads."""
    EMBEDDING = "embedding"
    INDEXING = "indexing"
    """Builds prefix and graph of the new vectors beside those that answer."""
    SETTLING = "settling"
    """Exchanges the vectors of rows and of the side table; the new ones count already."""
    CANCELLING = "cancelling"


@dataclass(frozen=True, slots=True)
class Reembed:
    """Give a collection the vectors of the daemon's model.

    The engine fills in `prepared`. Callers leave it empty, and it does not count when requests are
    compared.
    """

    agent_id: str
    reason: str = ""
    prepared: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Reembedded:
    """Answer to `Reembed`, once the new model counts.

    `embedded_count` texts were embedded for it. Vectors of an earlier time with the same model are
    used again. `calibrated`: an earlier calibration for the model counts again. `thresholds_reset`:
    the cosine thresholds changed to those once set for the model, or to the preset's.
    """

    before: ModelIdentity
    after: ModelIdentity
    memory_count: int
    embedded_count: int
    calibrated: bool
    thresholds_reset: bool


@dataclass(frozen=True, slots=True)
class ReembedProgress:
    """Progress of a re-embedding: memories with a new vector, of all."""

    phase: Phase
    done_count: int
    total_count: int
    per_second: float
    left_s: float


@dataclass(frozen=True, slots=True)
class ReembedMessage:
    """One message of a Reembed: progress or, at the end, the result."""

    progress: ReembedProgress | None = None
    done: Reembedded | None = None
    operation_id: str = ""
    revision: int = 0
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class ReembedState:
    """Figures of a re-embedding that runs or waits.

    `failure` says why it is stuck, if it is.
    """

    model: ModelIdentity
    progress: ReembedProgress
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """A running re-embedding, as stored in the file."""

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
    "likely_from",
    "shown_from",
    "similar_above",
    "link_distance_below",
)


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A present or past model of a collection, with its calibration and thresholds.

    `thresholds` are the cosine thresholds of its guard policy, by name.
    """

    model: ModelIdentity
    calibration: Calibration | None = None
    thresholds: tuple[tuple[str, float | None], ...] = ()


def left(info: CollectionInfo) -> KnownModel:
    """Return the record of a collection's model to keep when the collection gets another."""
    thresholds = tuple((name, getattr(info.guard, name)) for name in _COSINE_THRESHOLDS)
    return KnownModel(info.model, info.calibration, thresholds)


def guard_for(known: KnownModel, policy: GuardPolicy) -> GuardPolicy:
    """Return the policy with the cosine thresholds of another model: its own, or the preset's."""
    preset = PRESETS[policy.preset]
    named = dict(known.thresholds) or {name: getattr(preset, name) for name in _COSINE_THRESHOLDS}
    return replace(policy, **named).in_order()  # type: ignore[arg-type]
