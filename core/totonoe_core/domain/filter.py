"""Conditions that memories are chosen by."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from totonoe_core.domain.records import (
    ANY_TIME,
    Kind,
    Source,
    StateKind,
    Status,
    TimeRange,
)


class Operator(StrEnum):
    """Comparison of a value in the attributes. The last four hold for numbers only."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"


ORDERING = frozenset({Operator.GT, Operator.GTE, Operator.LT, Operator.LTE})


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition on the value at a path of keys in a memory's attributes.

    NE also holds if there is no value. Lists are not entered.
    """

    path: tuple[str, ...]
    operator: Operator
    value: Any


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that all hold; values of one tuple are alternatives.

    Empty `statuses` means ACTIVE only. `tags`, `entities`, `attributes` and `comparisons` must all
    be there; attributes are compared at the top level. `namespace_prefix` are the first names of a
    memory's namespace. `min_source` is the least trusted source; EXTERNAL means any.
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
    comparisons: tuple[Comparison, ...] = ()
    namespace_prefix: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    min_source: Source = Source.EXTERNAL


NO_FILTER = Filter()
