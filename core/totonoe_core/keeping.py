"""What no rule may take out of sight, and which of several memories stays. Pure.

For whatever the daemon proposes itself; a caller who names a memory may do with it what he likes.
"""

from __future__ import annotations

from totonoe_core.records import Fields, Kind, Memory, StateKind

PROTECTED_CATEGORIES = frozenset({"constraint", "postmortem", "gotcha"})
PROTECTED_FROM = 0.95
"""Base confidence, which never fades (DESIGN.md §10, "Decay")."""


def protected(fields: Fields) -> bool:
    """Whether no rule may close or supersede a memory with these fields (002, "Protected")."""
    return (
        fields.kind is not Kind.STATE
        or fields.state_kind is StateKind.LONG_MOOD
        or fields.category in PROTECTED_CATEGORIES
        or fields.confidence >= PROTECTED_FROM
        or bool(fields.perception_type)
    )


def rank(memory: Memory) -> tuple[float, int, int, str]:
    """Key that sorts the most wanted first: confidence, accesses, newest, then id.

    A total order. `memory` has its access count, as `CollectionState.shown` gives it.
    """
    return (-memory.fields.confidence, -memory.access_count, -memory.created_us, memory.id)
