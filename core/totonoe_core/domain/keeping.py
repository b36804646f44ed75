"""Memories that no rule may close, and the choice of the one to keep among several. Pure.

Applies to everything that the daemon proposes itself; callers who name a memory are free.
"""

from __future__ import annotations

from totonoe_core.domain.records import Fields, Memory, StateKind

PROTECTED_CATEGORIES = frozenset({"constraint", "postmortem", "gotcha"})
PROTECTED_FROM = 0.95
"""Base confidence, which never fades, from which a memory is protected."""


def protected(fields: Fields) -> bool:
    """Return whether no rule may close or supersede such a memory (docs/sources.md, 002,
    "Protected").
    """
    return (
        not fields.compared
        or fields.state_kind is StateKind.LONG_MOOD
        or fields.category in PROTECTED_CATEGORIES
        or fields.confidence >= PROTECTED_FROM
        or bool(fields.perception_type)
    )


def rank(memory: Memory) -> tuple[float, int, int, str]:
    """Return a sort key that puts the memory to keep first: confidence, accesses, newest, then id.

    A total order. `memory` has its access count, as `CollectionState.shown` gives it.
    """
    return (-memory.fields.confidence, -memory.access_count, -memory.created_us, memory.id)
