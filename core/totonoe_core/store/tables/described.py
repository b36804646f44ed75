"""Description of a snapshot by its rows, whatever store keeps them."""

from __future__ import annotations

from dataclasses import replace

from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.snapshots import Snapshot
from totonoe_core.store.tables.session import Session


def described(session: Session, draft: Snapshot, info: CollectionInfo, version: int) -> Snapshot:
    """Return a draft with name, model, counts and revision of the session's rows.

    `info` are their settings, `version` that of their tables. A rewrite does not count as a
    revision.
    """
    active, total = session.execute(
        "SELECT count(*) FILTER (WHERE status = 'active'), "
        "count(*) FILTER (WHERE status <> 'purged') FROM memory WHERE uid = $1"
    ).get
    newest = session.execute("SELECT coalesce(max(revision), 0) FROM operation WHERE uid = $1").get
    return replace(
        draft,
        collection=info.name,
        model=info.model,
        revision=newest - draft.rewrite_count,
        active_count=active,
        total_count=total,
        format=version,
    )
