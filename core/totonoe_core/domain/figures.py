"""Figures that are read often, for monitoring: as plain data, without waiting for any writer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from totonoe_core.base.histogram import Distribution
from totonoe_core.domain.embedder import EmbedderFigures
from totonoe_core.domain.queries import OpenFigures
from totonoe_core.domain.records import Status


@dataclass(frozen=True, slots=True)
class Decision:
    """How a Remember was decided; counted.

    `verdict` is the word of a `Verdict`, or "none". `band` is certain, likely, shown or
    different.
    `action` is refused, superseded, linked or saved: the first of these that applies.
    """

    verdict: str
    band: str
    action: str


@dataclass(frozen=True, slots=True)
class CollectionFigures:
    """Figures of one open collection.

    `missed_share` is the share of the nearest memories that the graph did not find, in the last
    `rated_count` searches that were also answered exactly. `checkpoint_us` is 0 without one.
    """

    name: str
    memory_counts: Mapping[Status, int]
    file_bytes: int
    queue_length: int
    missed_share: float
    rated_count: int
    checkpoint_us: int
    writable: bool


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """Figures of the engine; counts and distributions since it was opened.

    `commit_s` is the time from the last decision of a group to its commit on the disk;
    `commit_operations` the number of operations in a group.
    """

    collections: tuple[CollectionFigures, ...]
    open: OpenFigures
    decisions: Mapping[Decision, int]
    commit_s: Distribution
    commit_operations: Distribution
    embedder: EmbedderFigures | None
