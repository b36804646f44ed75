"""Rules of snapshots: how many a collection may have, and of what names."""

from __future__ import annotations

from collections.abc import Sequence

from totonoe_core.base import limits
from totonoe_core.base.errors import AlreadyExists, Quota
from totonoe_core.domain.snapshots import Snapshot


def check_room(name: str, beside: Sequence[Snapshot]) -> None:
    """Raise `Quota`, or `AlreadyExists`, if there may be no other snapshot, or none of a name.

    `beside` are the snapshots that the collection has; an empty name is never taken.
    """
    if len(beside) >= limits.SNAPSHOTS_PER_COLLECTION_MAX:
        raise Quota(
            "QUOTA_EXCEEDED",
            f"the collection has {limits.SNAPSHOTS_PER_COLLECTION_MAX} snapshots, the most",
        )
    if name and any(snapshot.name == name for snapshot in beside):
        raise AlreadyExists("SNAPSHOT_EXISTS", kind="snapshot", name=name)
