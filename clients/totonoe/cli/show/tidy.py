"""Answers about tidying, for people and for a language model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from totonoe.cli.printing import line
from totonoe.cli.show.cleanup import allowance
from totonoe.cli.show.parts import replay
from totonoe.cli.stepping import again, step
from totonoe.enums import StateKind, TidyFate
from totonoe.words.parts import counted
from totonoe.words.plain import plain
from totonoe.words.text import clean, snippet

if TYPE_CHECKING:
    from totonoe.memories.models import Memory
    from totonoe.tidy.models import (
        PlanApplied,
        TidyCluster,
        TidyDone,
        TidyDoubles,
        TidyMember,
        TidyProgress,
        TurnRecorded,
    )


def progress(event: TidyProgress) -> None:
    """Print the progress on standard error: standard output belongs to the answer."""
    part = f" {event.done} of {event.total}" if event.total else ""
    sys.stderr.write(clean(f"{event.phase}{part}, {event.seconds:.1f} s") + "\n")


def tidied(doubles: Sequence[TidyDoubles], done: TidyDone) -> None:
    """Print exact duplicates, and if they were closed."""
    for group in doubles:
        said = "" if group.kept is None else f": {snippet(group.kept.content)}"
        kept = "a state that is gone" if group.kept is None else group.kept.id
        line(f"{kept} stays{said}")
        line(f"  {'would close' if done.dry_run else 'closed'}: {', '.join(group.closed_ids)}")
        if group.protected_ids:
            line(f"  protected: {', '.join(group.protected_ids)}")
    read, closed = sum(done.read_counts.values()), sum(done.closed_counts.values())
    what = "Would close" if done.dry_run else "Closed"
    line(f"{what} {counted(closed, 'exact double')} of {counted(read, 'state')} read.")
    spent = done.blast_today + closed >= done.blast_allowed
    if done.over_blast_radius:
        line("None may be closed today: --apply would change nothing.")
    elif done.dry_run and closed:
        line(f"Close them: {again(apply=True)}")
    if done.over_blast_radius or (done.more and spent):
        # How many more there are is not known: twice as much as now.
        wanted = closed if done.over_blast_radius else closed + done.blast_allowed
        allowance(done.blast_allowed, done.blast_today, wanted)
    elif done.more:
        line("There are more than one run closes: run it again.")
    elif not done.complete:
        line("There are more states than one run reads: the next goes on behind them.")
    if not done.dry_run and done.closed:
        line(f"Take it back with: {step('undo', done.operation_id)}")
    replay(done.replayed)


def applied(answer: PlanApplied) -> None:
    """Print the result of each update of a plan."""
    for outcome in answer.outcomes:
        what = f"{outcome.index}: {outcome.fate} {outcome.memory_id}"
        if outcome.fate is TidyFate.REFUSED and outcome.duplicate is not None:
            other = outcome.duplicate
            what += f", repeats {other.memory_id} ({other.age}): {other.snippet}"
        line(what)
    line(
        f"{counted(answer.merged_count, 'state')} changed or saved, {answer.closed_count} closed."
        f" Take it back with: {step('undo', answer.operation_id)}"
    )
    replay(answer.replayed)


def turn(answer: TurnRecorded) -> None:
    """Print the count of turns."""
    line(f"Turn {answer.turn}." + (" Tidying began." if answer.began else ""))
    replay(answer.replayed)


# -- for a model


def plan_kind(kind: StateKind | None) -> str:
    """Return the kind as plans name it."""
    return "long_mood_state" if kind is StateKind.LONG_MOOD else str(kind or "")


def state_for_a_model(member: TidyMember) -> dict[str, Any]:
    """Return a state under the names of a plan, with more data for a decision."""
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


def for_a_model(near: list[TidyCluster], done: TidyDone) -> dict[str, Any]:
    """Return clusters under the names of a plan."""
    return {
        "clusters": [
            {
                "kind": plan_kind(cluster.state_kind),
                "states": [state_for_a_model(member) for member in cluster.members],
                "pairs": plain(cluster.pairs),
            }
            for cluster in near
        ],
        "left_out_count": done.left_out_count,
        "next_page_token": done.next_page_token,
    }
