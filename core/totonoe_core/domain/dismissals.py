"""Commands Dismiss and Undismiss, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dismiss:
    """Record that two live memories are no duplicates, as long as their texts stay the same."""

    agent_id: str
    id_a: str
    id_b: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Dismissed:
    """Answer to `Dismiss`. `changed` is false if the pair was dismissed before."""

    changed: bool
    memory_ids: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Undismiss:
    """Allow two memories to be duplicates again."""

    agent_id: str
    id_a: str
    id_b: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Undismissed:
    """Answer to `Undismiss`. `changed` is false if nobody had dismissed the pair."""

    changed: bool
    memory_ids: tuple[str, str]
