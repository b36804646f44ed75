"""Snapshots, as people read them."""

from __future__ import annotations

from totonoe.cli.output import line
from totonoe.cli.text import clean
from totonoe.history_models import Purged
from totonoe.snapshot_models import Snapshot, SnapshotPage, SnapshotRestored

_MB = 1e6


def snapshot(one: Snapshot) -> None:
    """One snapshot on two lines."""
    name = f" {one.name}" if one.name else ""
    when = one.created_time.astimezone().isoformat(timespec="seconds")
    gone = "" if one.current_collection == one.collection else _whose(one)
    line(
        f"{one.id}{name}: {one.collection} at revision {one.revision}, {when}, "
        f"{one.active_count} live memories, {one.file_bytes / _MB:.1f} MB{gone}"
    )
    extra = [clean(one.comment)] if one.comment else []
    if one.scheduled:
        extra.append("by the schedule")
    if one.purged_count:
        extra.append(f"{one.purged_count} memories purged since")
    line("  " + "; ".join([*extra, f"sha256 {one.sha256}"]))


def _whose(one: Snapshot) -> str:
    return f", now {one.current_collection}" if one.current_collection else ", deleted or replaced"


def page(found: SnapshotPage) -> None:
    """One page of snapshots."""
    for one in found.snapshots:
        snapshot(one)
    if not found.snapshots:
        line("No snapshots.")
    if found.next_page_token:
        line(f"More with: --page-token {found.next_page_token}")


def at_stake(name: str, answer: SnapshotRestored) -> str:
    """What is asked before a collection is replaced."""
    assert answer.replaced is not None
    return (
        f"Replace {name!r} (revision {answer.replaced.revision}, {answer.replaced.active_count} "
        f"live memories) by {answer.snapshot.id} (revision {answer.snapshot.revision}, "
        f"{answer.snapshot.active_count} live memories)?"
    )


def restored(name: str, answer: SnapshotRestored) -> None:
    """What a snapshot became."""
    line(f"Restored {answer.snapshot.id} as {name}, at revision {answer.revision}.")
    if answer.purged_again_count:
        line(f"Purged since it was taken, so purged again: {answer.purged_again_count}")
    line(f"Take it back with: totonoe undo {answer.operation_id} --collection {name}")


def holding(answer: Purged) -> None:
    """The snapshots that a purge found."""
    for one in answer.snapshots:
        what = "deleted" if one.deleted else "rewritten" if one.rewritten else "still holds them"
        line(f"Snapshot {one.snapshot.id}, {one.memory_count} of these: {what}")
    if any(not (one.deleted or one.rewritten) for one in answer.snapshots):
        line("The same command with --snapshots rewrite or delete sees to them.")
