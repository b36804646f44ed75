"""Answers about snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from totonoe.cli.printing import line
from totonoe.cli.show.parts import more
from totonoe.cli.stepping import again, step
from totonoe.words.text import clean

if TYPE_CHECKING:
    from totonoe.collections.models import SnapshotJob
    from totonoe.snapshots.models import Snapshot, SnapshotPage, SnapshotRestored

_MB = 1e6


def snapshot(one: Snapshot) -> None:
    """Print one snapshot on two lines."""
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
    """Print one page of snapshots."""
    for one in found.snapshots:
        snapshot(one)
    if not found.snapshots:
        line("No snapshots.")
    more(found.next_page_token)


def at_stake(name: str, answer: SnapshotRestored) -> str:
    """Return the question before a collection is replaced."""
    assert answer.replaced is not None
    return (
        f"Replace {name!r} (revision {answer.replaced.revision}, {answer.replaced.active_count} "
        f"live memories) by {answer.snapshot.id} (revision {answer.snapshot.revision}, "
        f"{answer.snapshot.active_count} live memories)?"
    )


def restored(name: str, answer: SnapshotRestored) -> None:
    """Print the restored collection."""
    line(f"Restored {answer.snapshot.id} as {name}, at revision {answer.revision}.")
    if answer.purged_again_count:
        line(f"Purged since it was taken, so purged again: {answer.purged_again_count}")
    if answer.unread_uids:
        line(
            "These collections cannot be read, so what was purged in them since may be back: "
            + ", ".join(answer.unread_uids)
        )
    line(f"Take it back with: {step('undo', answer.operation_id, collection=name)}")


def running(job: SnapshotJob) -> str:
    """Describe work on a snapshot, and how far it is."""
    done = "created" if job.kind == "create" else "restored"
    return f"Snapshot {job.snapshot_id} is being {done}: {job.step}, {job.step_share:.0%}"


def goes_on(job: SnapshotJob | None, operation_id: str) -> str:
    """Describe work whose caller's deadline has passed, and how to follow it."""
    now = "" if job is None else f" ({running(job)})"
    return (
        f"the daemon goes on{now}. It shows how far it is with: {step('stats')}; and gives the "
        f"answer with: {again(operation_id=operation_id)}"
    )
