"""Conditions that memories are chosen by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from totonoe_core.domain.records import (
    ANY_TIME,
    Kind,
    StateKind,
    Status,
    TimeRange,
)


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that all hold; values of one tuple are alternatives.

    Empty `statuses` means ACTIVE only. `tags`, `entities` and `attributes` must all be
    there; attributes are compared at the top level.
    """

    kinds: tuple[Kind, ...] = ()
    state_kinds: tuple[StateKind, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    agent_ids: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    thread_ids: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ()
    created: TimeRange = ANY_TIME
    updated: TimeRange = ANY_TIME
    about: TimeRange = ANY_TIME
    valid: TimeRange = ANY_TIME
    min_confidence: float = 0.0
    min_importance: int = 0
    attributes: dict[str, Any] = field(default_factory=dict)
    entities: tuple[str, ...] = ()


NO_FILTER = Filter()
