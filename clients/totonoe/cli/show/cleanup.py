"""Answers about clean-up by rule: end-session, clean-up, decay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from totonoe.cli.printing import line
from totonoe.cli.session import allowing
from totonoe.cli.show.parts import replay
from totonoe.cli.stepping import again, step
from totonoe.words.parts import counted
from totonoe.words.text import age, snippet

if TYPE_CHECKING:
    from totonoe.cleanup.models import BlastRadius, CleanedUp, Decayed, DecayReport, SessionEnded

_BAR_CHARS = 30


def session_ended(answer: SessionEnded) -> None:
    """Print the superseded memories of a session, and the faded ones."""
    count = counted(answer.superseded_count, "memory", "memories")
    groups = counted(answer.merged_groups, "group")
    if not answer.groups:
        line(f"Nothing to group among {answer.consolidatable_count} that could be.")
    else:
        verb = "Would supersede" if answer.dry_run else "Superseded"
        line(f"{verb} {count} in {groups}, of {answer.consolidatable_count} that could be.")
        line(
            f"Compression {answer.compression_ratio:.2f}, "
            f"average similarity {answer.avg_similarity:.2f}."
        )
    for group in answer.groups:
        category = f" [{group.category}]" if group.category else ""
        line(f"{group.kept_id}{category} stays: {snippet(group.snippet)}")
        for memory in group.superseded:
            line(f"- {memory.memory_id} ({memory.similarity:.2f}): {snippet(memory.snippet)}")
    if answer.left_out_count or answer.unread_pair_count:
        line(
            f"Not looked at: {counted(answer.left_out_count, 'older memory', 'older memories')}, "
            f"{counted(answer.unread_pair_count, 'pair')}. Run it again for them."
        )
    _report(answer.decay)
    if answer.superseded_count and not answer.dry_run:
        _take_back(answer.operation_id, answer.replayed)


def cleaned_up(answer: CleanedUp) -> None:
    """Print exact duplicates, and if they were superseded."""
    if not answer.duplicates:
        line("No exact duplicates.")
        return
    for memory in answer.duplicates:
        line(f"- {memory.memory_id} repeats {memory.kept_id}: {snippet(memory.snippet)}")
    count = counted(len(answer.duplicates), "duplicate")
    line(f"{'Superseded' if answer.applied else 'Found'} {count}.")
    if answer.more_count:
        line(f"{answer.more_count} more in the next run.")
    _recalled(answer.blast)
    blast = answer.blast
    if blast.over:
        line("None may be superseded today: --apply would change nothing.")
    if blast.over or (answer.more_count and blast.today + blast.closing >= blast.allowed):
        wanted = blast.closing + answer.more_count
        allowance(blast.allowed, blast.today, wanted)
    if answer.applied:
        _take_back(answer.operation_id, answer.replayed)
    elif not answer.blast.over:
        line(f"Supersede them with: {again(apply=True)}")


def decayed(answer: Decayed) -> None:
    """Print the report on faded memories, and the closed ones."""
    _report(answer.report)
    if answer.blast is None:
        return
    for memory in answer.closed:
        recalled = "never" if memory.last_access_time is None else age(memory.last_access_time)
        line(
            f"- {memory.memory_id} {memory.confidence:.2f} -> {memory.effective_confidence:.2f}, "
            f"recalled {recalled}: {snippet(memory.snippet)}"
        )
    verb = "Would close" if answer.dry_run else "Closed"
    line(f"{verb} {counted(len(answer.closed), 'memory', 'memories')}.")
    _recalled(answer.blast)
    if answer.blast.over:
        line("Too many to be closed at once. Take fewer with --limit.")
        allowance(answer.blast.allowed, answer.blast.today, answer.blast.closing)
    if answer.closed and not answer.dry_run:
        _take_back(answer.operation_id, answer.replayed)


def _report(report: DecayReport) -> None:
    line(
        f"Effective confidence of {counted(report.live_count, 'live memory', 'live memories')}: "
        f"{report.faded_count} faded, {report.at_floor_count} down to the floor, "
        f"{report.below_count} below {report.threshold:g}, {report.protected_count} protected, "
        f"{report.recalled_count} recalled in the last 7 days."
    )
    most = max(report.band_counts, default=0)
    for at, count in enumerate(report.band_counts):
        bar = "#" * round(_BAR_CHARS * count / most) if most else ""
        line(f"  {at / 10:.1f} {count:>8} {bar}".rstrip())
    days = ", ".join(f"{survival.count} after {survival.days} days" for survival in report.survival)
    line(f"With {report.threshold:g} or more if nothing were recalled: {days}.")


def _recalled(blast: BlastRadius) -> None:
    if blast.recalled_count:
        line(f"{blast.recalled_count} of them were recalled in the last 7 days.")


def allowance(allowed: int, today: int, wanted: int) -> None:
    """Print how many memories a day allows, and the command that allows `wanted` more."""
    line(
        f"{allowed} a day may go, and {today} went in the last 24 hours. "
        f"Allow more with: {allowing(max(allowed + 1, today + wanted))}"
    )


def _take_back(operation_id: str, replayed: bool) -> None:
    line(f"Take it back with: {step('undo', operation_id)}")
    replay(replayed)
