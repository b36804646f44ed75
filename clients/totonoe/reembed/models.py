"""Models of a re-embedding."""

from __future__ import annotations

from dataclasses import dataclass

from totonoe.collections.models import EmbeddingModel
from totonoe.enums import ReembedPhase


@dataclass(frozen=True, slots=True)
class ReembedProgress:
    """Progress in memories: done, in all, done in a second; seconds left. 0: not known."""

    phase: ReembedPhase
    done_count: int
    total_count: int
    per_second: float
    left_s: float


@dataclass(frozen=True, slots=True)
class Reembedded:
    """The model is the collection's.

    Attributes
    ----------
    before, after : EmbeddingModel
        Until now, and from now on.
    memory_count, embedded_count : int
        Memories that have a vector of it, and texts that were embedded for that: of the others
        the vectors were still there.
    calibrated : bool
        What `calibrate` found out for this model before counts again; else call it.
    thresholds_reset : bool
        The guard's cosine thresholds are others now.
    """

    before: EmbeddingModel
    after: EmbeddingModel
    memory_count: int
    embedded_count: int
    calibrated: bool
    thresholds_reset: bool
    operation_id: str
    revision: int
    replayed: bool


@dataclass(frozen=True, slots=True)
class ReembedEvent:
    """One message: progress, or in the end what was done."""

    progress: ReembedProgress | None = None
    done: Reembedded | None = None


@dataclass(frozen=True, slots=True)
class ReembedCancelled:
    """Answer of `cancel_reembed`: if one was under way, and how many vectors it dropped."""

    cancelled: bool
    dropped_count: int
