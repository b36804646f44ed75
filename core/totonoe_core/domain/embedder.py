"""Figures of the embedder, apart: each embedding process loads this, and little else."""

from __future__ import annotations

from dataclasses import dataclass

from totonoe_core.base.histogram import Distribution


@dataclass(frozen=True, slots=True)
class EmbedderFigures:
    """Figures of the embedder. `batch_s` is the time of a batch in a child process."""

    state: str
    waiting_count: int
    restarts_count: int
    batch_s: Distribution
