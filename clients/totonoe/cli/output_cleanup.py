"""Answers about what is cleaned up by rule, for people."""

from __future__ import annotations

from totonoe.cleanup_models import BlastRadius, CleanedUp, Decayed, DecayReport, SessionEnded
from totonoe.cli.output import line
from totonoe.cli.output_graph import counted
from totonoe.cli.text import age, snippet

_BAR_CHARS = 30


def session_ended(answer: SessionEnded) -> None:
    """What gave way to what at the end of a session, and what has faded."""
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
        for one in group.superseded:
            line(f"- {one.memory_id} ({one.similarity:.2f}): {snippet(one.snippet)}")
    if answer.left_out_count or answer.unread_pair_count:
        line(
            f"Not looked at: {counted(answer.left_out_count, 'older memory', 'older memories')}, "
            f"{counted(answer.unread_pair_count, 'pair')}. Run it again for them."
        )
    _report(answer.decay)
    if answer.superseded_count and not answer.dry_run:
        _take_back(answer.operation_id, answer.replayed)


def cleaned_up(answer: CleanedUp) -> None:
    """Exact doubles, and what became of them."""
    if not answer.duplicates:
        line("No exact duplicates.")
        return
    for one in answer.duplicates:
        line(f"- {one.memory_id} repeats {one.kept_id}: {snippet(one.snippet)}")
    count = counted(len(answer.duplicates), "duplicate")
    line(f"{'Superseded' if answer.applied else 'Found'} {count}.")
    if answer.more_count:
        line(f"{answer.more_count} more in the next run.")
    _blast(answer.blast)
    if answer.applied:
        _take_back(answer.operation_id, answer.replayed)
    elif not answer.blast.over:
        line("Supersede them with: totonoe clean-up --apply")


def decayed(answer: Decayed) -> None:
    """What has faded, and what was closed."""
    _report(answer.report)
    if answer.blast is None:
        return
    for one in answer.closed:
        recalled = "never" if one.last_access_time is None else age(one.last_access_time)
        line(
            f"- {one.memory_id} {one.confidence:.2f} -> {one.effective_confidence:.2f}, "
            f"recalled {recalled}: {snippet(one.snippet)}"
        )
    verb = "Would close" if answer.dry_run else "Closed"
    line(f"{verb} {counted(len(answer.closed), 'memory', 'memories')}.")
    _blast(answer.blast)
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
    days = ", ".join(f"{one.count} after {one.days} days" for one in report.survival)
    line(f"With {report.threshold:g} or more if nothing were recalled: {days}.")


def _blast(blast: BlastRadius) -> None:
    if blast.recalled_count:
        line(f"{blast.recalled_count} of them were recalled in the last 7 days.")
    if blast.over:
        line(
            f"Too many to be done: {blast.today} went in the last 24 hours, {blast.allowed} a day "
            "may. Take fewer with --limit, or allow more with: "
            "totonoe collections update --set blast.percent=NUMBER"
        )


def _take_back(operation_id: str, replayed: bool) -> None:
    line(f"Take it back with: totonoe undo {operation_id}")
    if replayed:
        line("This operation id was used before: its first answer again, nothing was done now.")
