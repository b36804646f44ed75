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


def snapshot(snapshot: Snapshot) -> None:
    """Print one snapshot on two lines."""
    name = f" {snapshot.name}" if snapshot.name else ""
    when = snapshot.created_time.astimezone().isoformat(timespec="seconds")
    gone = "" if snapshot.current_collection == snapshot.collection else _whose(snapshot)
    line(
        f"{snapshot.id}{name}: {snapshot.collection} at revision {snapshot.revision}, {when}, "
        f"{snapshot.active_count} live memories, {snapshot.file_bytes / _MB:.1f} MB{gone}"
    )
    extra = [clean(snapshot.comment)] if snapshot.comment else []
    if snapshot.scheduled:
        extra.append("by the schedule")
    if snapshot.purged_count:
        extra.append(f"{snapshot.purged_count} memories purged since")
    line("  " + "; ".join([*extra, f"sha256 {snapshot.sha256}"]))


def _whose(snapshot: Snapshot) -> str:
    return (
        f", now {snapshot.current_collection}"
        if snapshot.current_collection
        else ", deleted or replaced"
    )


def page(page: SnapshotPage) -> None:
    """Print one page of snapshots."""
    for item in page.snapshots:
        snapshot(item)
    if not page.snapshots:
        line("No snapshots.")
    more(page.next_page_token)


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
