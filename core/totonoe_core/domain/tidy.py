"""Tidying (docs/sources.md, 004): schedule, choice among exact doubles, updates of a plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from totonoe_core.base import plain
from totonoe_core.domain.asking import Previewable
from totonoe_core.domain.keeping import protected
from totonoe_core.domain.policy import TidyPolicy
from totonoe_core.domain.records import TIDY_KEY, Memory, StateKind, said_payload


class TidyOp(StrEnum):
    """Action of a plan on a state."""

    UPSERT = "upsert"
    CLOSE = "close"
    MARK_DONE = "mark_done"


@dataclass(frozen=True, slots=True)
class TidyUpdate:
    """One update of a plan. `None`, empty and 0 mean "not given". Times are UTC microseconds.

    `vector` is float32 little-endian bytes, if clients bring vectors; the JSON form leaves it out.
    """

    op: TidyOp
    state_id: str = ""
    kind: StateKind = StateKind.NONE
    body_text: str = ""
    payload: dict[str, Any] = field(default_factory=dict)
    confidence: float | None = None
    salience: float | None = None
    valid_from_us: int | None = None
    valid_to_us: int | None = None
    last_confirmed_us: int | None = None
    reason: str = ""
    evidence_ids: tuple[str, ...] = ()
    expected_revision: int = 0
    vector: bytes = b""


@dataclass(frozen=True, slots=True)
class Tidy(Previewable["Tidied"]):
    """Close exact doubles of states. `turn`: the daemon's own run after it; 0: asked for.

    `limit` 0 means the policy's `tidy.closes_max`, which is the maximum in any case.
    """

    agent_id: str
    reason: str = ""
    turn: int = 0
    limit: int = 0


@dataclass(frozen=True, slots=True)
class RecordTurn:
    """Count a turn. This is no operation and no command of one; its answer is kept by its id."""

    agent_id: str


@dataclass(frozen=True, slots=True)
class TurnCounted:
    """Answer to `RecordTurn`: turns so far, and whether a run of tidying started because of it."""

    turn: int
    began: bool


@dataclass(frozen=True, slots=True)
class ApplyTidyPlan:
    """Check a plan as a whole, and close its memories.

    `updates` holds (place, update). The command of an upsert follows in the same operation
    (`tidy_plan.commands`).
    """

    agent_id: str
    updates: tuple[tuple[int, TidyUpdate], ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TidyUpsert:
    """Carry out one upsert of the plan that stands in front of it in the operation."""

    agent_id: str
    update: TidyUpdate


@dataclass(frozen=True, slots=True)
class ClosedDoubles:
    """Exact doubles of which one stays. `cluster_id` is empty if nothing was changed."""

    kept_id: str
    closed_ids: tuple[str, ...]
    protected_ids: tuple[str, ...] = ()
    cluster_id: str = ""


@dataclass(frozen=True, slots=True)
class Tidied:
    """Answer to `Tidy`.

    Attributes
    ----------
    clusters : tuple of ClosedDoubles
        Ordered by the one that stays, the highest confidence first.
    read_counts, closed_counts : tuple of (StateKind, int)
        States that were read, and that were (or would be) closed.
    complete : bool
        All states to the end of the collection were read.
    more : bool
        There are more doubles than the run closes.
    over : bool
        True if the blast radius allows nothing more today: nothing was changed.
    allowed, today : int
        Memories that rules may take in one day, and those they took in the last 24 hours.
    """

    clusters: tuple[ClosedDoubles, ...]
    read_counts: tuple[tuple[StateKind, int], ...]
    closed_counts: tuple[tuple[StateKind, int], ...]
    complete: bool
    more: bool
    over: bool
    allowed: int
    today: int


@dataclass(frozen=True, slots=True)
class PlanApplied:
    """Answer to `ApplyTidyPlan`: ids that it closed, by place; the places of its upserts.

    The result of an upsert is that of its own command, in the order of `upserts`.
    """

    closed: tuple[tuple[int, str], ...] = ()
    done: tuple[tuple[int, str], ...] = ()
    upserts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TidyState:
    """State of tidying that a collection keeps between runs and over a restart.

    Attributes
    ----------
    turns : int
        Recorded so far.
    due : int
        Turn whose run has not been carried out yet, or 0.
    cursor : int
        Row number of the last state that was read; the next run goes on after it.
    runs, closed : int
        Runs that closed something, and how many states they closed.
    last_us : int or None
        Time of the last run, whether or not it closed anything.
    over : bool
        True if that run, started by a turn, found doubles but the blast radius allowed nothing.
    """

    turns: int = 0
    due: int = 0
    cursor: int = 0
    runs: int = 0
    closed: int = 0
    last_us: int | None = None
    over: bool = False


NEVER_TIDIED = TidyState()


def begins(turn: int, policy: TidyPolicy) -> bool:
    """Return whether a run is due after a turn: 10, 210, 410 ... by default."""
    since_first = turn - policy.first_turn
    return policy.enabled and since_first >= 0 and since_first % policy.every_turns == 0


@dataclass(frozen=True, slots=True)
class Doubles:
    """States that say exactly the same: the one that stays, and the fate of the others."""

    kept: Memory
    closed: tuple[Memory, ...]
    protected: tuple[Memory, ...]


def doubles(memories: Iterable[Memory]) -> list[Doubles]:
    """Find groups of exact doubles with at least one that may be closed.

    Doubles are equal in state kind, text, payload (without the reserved key), typed key and
    privacy. The highest confidence stays, then the newest, then the smallest id; the order of
    `memories` does not matter.
    """
    groups: dict[tuple[object, ...], list[Memory]] = {}
    for memory in memories:
        groups.setdefault(_said(memory), []).append(memory)
    found = []
    for group in groups.values():
        kept, *others = sorted(group, key=_rank)
        closed = tuple(memory for memory in others if not protected(memory.fields))
        if closed:
            rest = tuple(memory for memory in others if protected(memory.fields))
            found.append(Doubles(kept, closed, rest))
    return sorted(found, key=lambda doubles: _rank(doubles.kept))


def cut(found: Sequence[Doubles], closes_max: int) -> list[Doubles]:
    """Cut groups to at most so many states to close: the oldest of all, ties by id."""
    ages = sorted((memory.created_us, memory.id) for group in found for memory in group.closed)
    oldest = {memory_id for _, memory_id in ages[:closes_max]}
    kept = []
    for group in found:
        closed = tuple(memory for memory in group.closed if memory.id in oldest)
        if closed:
            kept.append(Doubles(group.kept, closed, group.protected))
    return kept


def noted(payload: dict[str, Any], **notes: str) -> dict[str, Any]:
    """Return a payload with these notes in place of earlier ones under the reserved key."""
    return payload | {TIDY_KEY: {key: note for key, note in notes.items() if note}}


def reason(what: str, why: str) -> str:
    """Return the reason of an operation, which names tidy (docs/sources.md, 004)."""
    return f"{what}: {why}" if why else what


def _said(memory: Memory) -> tuple[object, ...]:
    fields = memory.fields
    payload = plain.dumps(said_payload(fields.payload)) + plain.dumps(fields.namespace)
    return fields.state_kind, fields.private, fields.source, memory.content, payload, fields.key


def _rank(memory: Memory) -> tuple[float, int, str]:
    """Source 004 names no accesses, unlike 002 (`keeping.rank`)."""
    return -memory.fields.confidence, -memory.created_us, memory.id
