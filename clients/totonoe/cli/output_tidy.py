"""Answers about tidying, for people and for a model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from totonoe.cli.output import line
from totonoe.cli.output_graph import counted
from totonoe.cli.plain import plain
from totonoe.cli.text import clean, snippet
from totonoe.enums import StateKind, TidyFate
from totonoe.models import Memory
from totonoe.tidy_models import (
    PlanApplied,
    TidyDone,
    TidyDoubles,
    TidyMember,
    TidyProgress,
    TurnRecorded,
)


def progress(event: TidyProgress) -> None:
    """How far it is, on standard error: standard output is the answer's."""
    part = f" {event.done} of {event.total}" if event.total else ""
    sys.stderr.write(clean(f"{event.phase}{part}, {event.seconds:.1f} s") + "\n")


def tidied(doubles: Sequence[TidyDoubles], done: TidyDone) -> None:
    """Exact doubles, and what became of them."""
    for one in doubles:
        said = "" if one.kept is None else f": {snippet(one.kept.content)}"
        kept = "a state that is gone" if one.kept is None else one.kept.id
        line(f"{kept} stays{said}")
        line(f"  {'would close' if done.dry_run else 'closed'}: {', '.join(one.closed_ids)}")
        if one.protected_ids:
            line(f"  protected: {', '.join(one.protected_ids)}")
    read, closed = sum(done.read_counts.values()), sum(done.closed_counts.values())
    what = "Would close" if done.dry_run else "Closed"
    line(f"{what} {counted(closed, 'exact double')} of {counted(read, 'state')} read.")
    if done.over_blast_radius:
        line(
            f"Over the blast radius: {done.blast_allowed} may be closed in a day, and"
            f" {done.blast_today} were. --apply would change nothing."
        )
    elif done.dry_run and closed:
        line("Close them: totonoe tidy --apply")
    if done.more:
        line("There are more than one run closes: run it again.")
    elif not done.complete:
        line("There are more states than one run reads: the next goes on behind them.")
    if not done.dry_run and done.closed:
        line(f"Take it back with: totonoe undo {done.operation_id}")
    _replay(done.replayed)


def applied(answer: PlanApplied) -> None:
    """What became of each update of a plan."""
    for one in answer.outcomes:
        what = f"{one.index}: {one.fate} {one.memory_id}"
        if one.fate is TidyFate.REFUSED and one.duplicate is not None:
            other = one.duplicate
            what += f", repeats {other.memory_id} ({other.age}): {other.snippet}"
        line(what)
    line(
        f"{counted(answer.merged_count, 'state')} changed or saved, {answer.closed_count} closed."
        f" Take it back with: totonoe undo {answer.operation_id}"
    )
    _replay(answer.replayed)


def _replay(replayed: bool) -> None:
    if replayed:
        line("This operation id was used before: its first answer again, nothing was done now.")


def turn(answer: TurnRecorded) -> None:
    """The count."""
    line(f"Turn {answer.turn}." + (" Tidying began." if answer.began else ""))
    _replay(answer.replayed)


# -- for a model


def plan_kind(kind: StateKind | None) -> str:
    """The kind as plans name it."""
    return "long_mood_state" if kind is StateKind.LONG_MOOD else str(kind or "")


def state_for_a_model(member: TidyMember) -> dict[str, Any]:
    """A state under the names of a plan, and what else helps to judge it."""
    memory: Memory = member.memory
    return {
        "state_id": memory.id,
        "expected_revision": memory.revision,
        "kind": plan_kind(memory.state_kind),
        "body_text": memory.content,
        "payload": plain({k: v for k, v in memory.payload.items() if k != "_tidy"}),
        "confidence": memory.confidence,
        "salience": memory.salience,
        "importance": memory.importance,
        "category": memory.category,
        "tags": list(memory.tags),
        "entities": list(memory.entities),
        "thread_id": memory.thread_id,
        "about_time": plain(memory.about_time),
        "valid_from_ts": plain(memory.valid_from_time),
        "valid_to_ts": plain(memory.valid_to_time),
        "last_confirmed_at": plain(memory.last_confirmed_time),
        "created_time": plain(memory.created_time),
        "access_count": memory.access_count,
        "evidence_event_ids": list(memory.evidence_ids),
        "protected": member.protected,
    }
