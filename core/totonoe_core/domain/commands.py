"""The closed set of writes and their answers, as plain data.

An operation is a list of commands that `Engine.apply` carries out together or not at all. Commands
are compared decoded, so two requests with equal commands are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from totonoe_core.domain import tidy
from totonoe_core.domain.cleanup import CleanedUp, Decayed, Planned, SessionEnded
from totonoe_core.domain.collections import Calibrate, Calibrated, ChangeSettings, SettingsChanged
from totonoe_core.domain.consolidate import EventsReplayed, ReplayEvents, Score, Scored
from totonoe_core.domain.dismissals import Dismiss, Dismissed, Undismiss, Undismissed
from totonoe_core.domain.expiry import Expire, Expired
from totonoe_core.domain.graph import (
    CreateEpisode,
    DeleteEpisode,
    EpisodeDeleted,
    EpisodeMade,
    Linked,
    LinkMemories,
    Unlinked,
    UnlinkMemories,
)
from totonoe_core.domain.memories import (
    Forget,
    Forgotten,
    Merge,
    Merged,
    Purge,
    Purged,
    Remember,
    Remembered,
    Update,
    Updated,
)
from totonoe_core.domain.questions import Resolve, Resolved, Review, Reviewed
from totonoe_core.domain.reembed import Reembed, Reembedded
from totonoe_core.domain.tidy import (
    ApplyTidyPlan,
    PlanApplied,
    Tidied,
    Tidy,
    TidyUpsert,
    TurnCounted,
)
from totonoe_core.domain.transfer import ImportRows, RowsImported
from totonoe_core.domain.undo import Undo, Undone

Command = (
    Remember
    | Update
    | Forget
    | LinkMemories
    | UnlinkMemories
    | Merge
    | Undo
    | Purge
    | CreateEpisode
    | DeleteEpisode
    | Dismiss
    | Undismiss
    | ChangeSettings
    | Calibrate
    | Planned
    | Tidy
    | ApplyTidyPlan
    | TidyUpsert
    | ReplayEvents
    | Score
    | Resolve
    | Review
    | ImportRows
    | Reembed
    | Expire
)

_KINDS = {
    "ReplayEvents": "Consolidate",
    "Score": "Consolidate",
    "LinkMemories": "Link",
    "UnlinkMemories": "Unlink",
    "ChangeSettings": "UpdateCollection",
    "ImportRows": "Import",
}


def kind_of(command: Command) -> str:
    """Return the kind of the operation that a command makes: the name of its call."""
    name = type(command).__name__
    return _KINDS.get(name, name)


def asked(command: Command) -> Command:
    """Return a command as its caller sent it, without the parts that the engine filled in."""
    if isinstance(command, ImportRows):
        return replace(command, settings=(), records=())
    names = [name for name in ("fitted", "plan", "prepared") if hasattr(command, name)]
    return replace(command, **dict.fromkeys(names)) if names else command  # type: ignore[arg-type]


def reason_of(commands: Sequence[Command]) -> str:
    """Return the reason of an operation: the first that one of its commands gives."""
    match commands[0]:
        case Tidy(reason=why, turn=turn):
            return tidy.reason("tidy" + (f" after turn {turn}" if turn else ""), why)
        case ApplyTidyPlan(reason=why):
            return tidy.reason("tidy plan", why)
    return next(filter(None, (getattr(command, "reason", "") for command in commands)), "")


Result = (
    Remembered
    | Updated
    | Forgotten
    | Linked
    | Unlinked
    | Merged
    | Undone
    | Purged
    | EpisodeMade
    | EpisodeDeleted
    | Dismissed
    | Undismissed
    | SettingsChanged
    | Calibrated
    | SessionEnded
    | CleanedUp
    | Decayed
    | Tidied
    | PlanApplied
    | TurnCounted
    | EventsReplayed
    | Scored
    | Resolved
    | Reviewed
    | RowsImported
    | Reembedded
    | Expired
)


@dataclass(frozen=True, slots=True)
class Applied:
    """Answer of `Engine.apply`.

    `revision` is the collection's after the operation; a refused Remember does not raise it.
    `replayed` is true if these are the kept results of an earlier, equal call.
    """

    operation_id: str
    revision: int
    results: tuple[Result, ...]
    replayed: bool = False
