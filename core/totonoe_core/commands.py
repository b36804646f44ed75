"""The closed set of writes, as plain data, and what each answers.

An operation is a list of commands that `Engine.apply` carries out together or not at
all. Commands are compared decoded: two requests with equal commands are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from totonoe_core import tidy
from totonoe_core.cleanup import (
    CleanedUp,
    Decayed,
    Planned,
    SessionEnded,
)
from totonoe_core.consolidate import EventsReplayed, ReplayEvents
from totonoe_core.guard.calibration import Calibration, Fitted
from totonoe_core.guard.policy import (
    NO_RETENTION,
    STANDARD_BLAST,
    STANDARD_TIDY,
    Action,
    BlastPolicy,
    DecayPolicy,
    DiversityPolicy,
    GuardPolicy,
    RetentionPolicy,
    TidyPolicy,
)
from totonoe_core.records import (
    Episode,
    Fields,
    Finding,
    GuardReport,
    Link,
    LinkType,
    Memory,
    ModelIdentity,
    Verdict,
)
from totonoe_core.reembed import Reembed, Reembedded
from totonoe_core.tidy import ApplyTidyPlan, PlanApplied, Tidied, Tidy, TidyUpsert, TurnCounted
from totonoe_core.transfer import ImportRows, RowsImported
from totonoe_core.undo import OperationInfo, UndoConflict


@dataclass(frozen=True, slots=True)
class Remember:
    """Save a memory unless the guard finds that a live one says the same.

    `vector` is float32 little-endian bytes as the caller gave them, or empty: then the
    text is embedded. `actions` stand in place of the collection's policy for this call. It takes
    the place of the live memories `supersede_ids`, which refuse nothing.
    """

    agent_id: str
    content: str
    fields: Fields
    vector: bytes = b""
    force: bool = False
    actions: tuple[tuple[Verdict, Action], ...] = ()
    supersede_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Update:
    """Change the named parts of one live memory.

    `mask` names fields of `Fields`, or `content` or `vector`; the values stand in
    `fields`, `content` and `vector`. `expected_revision` 0 accepts any.
    """

    agent_id: str
    memory_id: str
    mask: tuple[str, ...]
    fields: Fields
    content: str = ""
    vector: bytes = b""
    expected_revision: int = 0
    reason: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True)
class Forget:
    """Hide memories and take their links away on both sides.

    `expected_revisions` holds (id, revision) of those that must not have changed.
    """

    agent_id: str
    ids: tuple[str, ...]
    reason: str = ""
    expected_revisions: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """Make one memory of several; the removed ones become SUPERSEDED by the one that stays.

    Empty `content` leaves the text; `expected_revisions` holds (id, revision) of those that
    must not have changed.
    """

    agent_id: str
    keep_id: str
    remove_ids: tuple[str, ...]
    content: str = ""
    vector: bytes = b""
    reason: str = ""
    expected_revisions: tuple[tuple[str, int], ...] = ()
    force: bool = False


@dataclass(frozen=True, slots=True)
class Purge:
    """Take the bytes of memories out of everything. `by_retention`: the daemon's own, on all."""

    agent_id: str
    ids: tuple[str, ...]
    reason: str = ""
    by_retention: bool = False


@dataclass(frozen=True, slots=True)
class Undo:
    """Take an operation back, named by its revision or (revision 0) by its id."""

    agent_id: str
    revision: int = 0
    operation_id: str = ""
    reason: str = ""
    force: bool = False
    partial: bool = False


@dataclass(frozen=True, slots=True)
class CreateEpisode:
    """Keep memories together as something that happened.

    Times that are `None` are those of its first and of its last memory.
    """

    agent_id: str
    summary: str
    memory_ids: tuple[str, ...]
    start_us: int | None = None
    end_us: int | None = None
    importance: int = 3
    private: bool = False


@dataclass(frozen=True, slots=True)
class DeleteEpisode:
    """Take an episode away; its memories stay."""

    agent_id: str
    episode_id: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LinkMemories:
    """Link two live memories in both directions, or change the link that is there."""

    agent_id: str
    source_id: str
    target_id: str
    type: LinkType
    confidence: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class UnlinkMemories:
    """Take the link of one type, or (`None`) every link of two memories away."""

    agent_id: str
    source_id: str
    target_id: str
    type: LinkType | None = None


@dataclass(frozen=True, slots=True)
class Dismiss:
    """Two live memories are no duplicates, while their texts are what they are."""

    agent_id: str
    id_a: str
    id_b: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Undismiss:
    """Two memories may be duplicates again."""

    agent_id: str
    id_a: str
    id_b: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ChangeSettings:
    """Change description or policies of the collection itself.

    `changes` holds pairs of path and value, applied in order. Paths are `description`
    and `guard.FIELD`, `diversity.FIELD`, `decay.FIELD`, `retention.FIELD`, `blast.FIELD`,
    `tidy.FIELD` with the field names of the policy classes. `None` switches a guard threshold off
    and takes any other field back to its default (for guard fields: that of the preset).
    `guard.preset` sets every guard field.
    """

    agent_id: str
    changes: tuple[tuple[str, str | float | bool | None], ...]
    expected_revision: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Calibrate:
    """Fit the verdict to the collection's model.

    `fitted` is what the engine works out, away from the writer's thread, before the command is
    decided; callers leave it, and it is no part of what was asked.
    """

    agent_id: str
    false_merge_budget: float
    fitted: Fitted | None = None


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
    | ImportRows
    | Reembed
)

_KINDS = {
    "ReplayEvents": "Consolidate",
    "LinkMemories": "Link",
    "UnlinkMemories": "Unlink",
    "ChangeSettings": "UpdateCollection",
    "ImportRows": "Import",
}


def kind_of(command: Command) -> str:
    """Kind of the operation that a command makes: the name of the call in the contract."""
    name = type(command).__name__
    return _KINDS.get(name, name)


def asked(command: Command) -> Command:
    """A command as it was asked: without what the engine worked out for it."""
    if isinstance(command, ImportRows):
        return replace(command, settings=(), records=())
    names = [name for name in ("fitted", "plan", "prepared") if hasattr(command, name)]
    return replace(command, **dict.fromkeys(names)) if names else command  # type: ignore[arg-type]


def reason_of(commands: Sequence[Command]) -> str:
    """Why an operation is done: the first reason that one of its commands gives."""
    match commands[0]:
        case Tidy(reason=why, turn=turn):
            return tidy.reason("tidy" + (f" after turn {turn}" if turn else ""), why)
        case ApplyTidyPlan(reason=why):
            return tidy.reason("tidy plan", why)
    return next(filter(None, (getattr(one, "reason", "") for one in commands)), "")


@dataclass(frozen=True, slots=True)
class Remembered:
    """Answer to `Remember`. `memory_id` is the existing one's if it was not saved.

    `superseded_ids` are those that the new one took the place of. `grown_id` is the memory that was
    there and has grown, empty for a new one.
    """

    saved: bool
    memory_id: str
    guard: GuardReport
    links: tuple[Link, ...] = ()
    superseded_ids: tuple[str, ...] = ()
    grown_id: str = ""


@dataclass(frozen=True, slots=True)
class Updated:
    """Answer to `Update`. Not updated: the new text repeats `guard.duplicate`."""

    updated: bool
    memory: Memory
    guard: GuardReport | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Answer to `Forget`: the memories as they were before."""

    memories: tuple[Memory, ...]
    missing_ids: tuple[str, ...]
    unlinked_count: int


@dataclass(frozen=True, slots=True)
class LostDetail:
    """A detail of a source that a merged text no longer has.

    `place` is its start and end in the source, in code points.
    """

    memory_id: str
    finding: Finding
    place: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class Merged:
    """Answer to `Merge`: `sources` as they were before. Not merged: `guard.duplicate` refuses."""

    merged: bool
    memory: Memory
    sources: tuple[Memory, ...]
    guard: GuardReport | None = None
    lost: tuple[LostDetail, ...] = ()
    moved_link_count: int = 0
    dropped_link_count: int = 0


@dataclass(frozen=True, slots=True)
class Purged:
    """Answer to `Purge`."""

    purged_ids: tuple[str, ...]
    missing_ids: tuple[str, ...]
    version_count: int = 0
    reply_count: int = 0
    episode_count: int = 0


@dataclass(frozen=True, slots=True)
class Undone:
    """Answer to `Undo`: memories as they are now.

    Not undone: every conflict is a DUPLICATE, which `force` would pass.
    """

    undone: bool
    operation: OperationInfo
    memories: tuple[Memory, ...] = ()
    episode_ids: tuple[str, ...] = ()
    link_count: int = 0
    collection: CollectionInfo | None = None
    conflicts: tuple[UndoConflict, ...] = ()


@dataclass(frozen=True, slots=True)
class EpisodeMade:
    """Answer to `CreateEpisode`."""

    episode: Episode


@dataclass(frozen=True, slots=True)
class EpisodeDeleted:
    """Answer to `DeleteEpisode`: the episode as it was."""

    episode: Episode


@dataclass(frozen=True, slots=True)
class Linked:
    """Answer to `LinkMemories`."""

    link: Link
    inverse: Link
    created: bool


@dataclass(frozen=True, slots=True)
class Unlinked:
    """Answer to `UnlinkMemories`: the links as the source held them."""

    removed: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Dismissed:
    """Answer to `Dismiss`. Not `changed`: it was so already."""

    changed: bool
    memory_ids: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Undismissed:
    """Answer to `Undismiss`. Not `changed`: nobody had dismissed them."""

    changed: bool
    memory_ids: tuple[str, str]


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Answer to `ChangeSettings`."""

    collection: CollectionInfo


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Answer to `Calibrate`."""

    fitted: Fitted


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """Settings of one collection. It has its model since the revision `model_since`."""

    name: str
    description: str
    guard: GuardPolicy
    diversity: DiversityPolicy
    decay: DecayPolicy
    model: ModelIdentity
    created_us: int
    revision: int
    settings_revision: int
    calibration: Calibration | None = None
    retention: RetentionPolicy = NO_RETENTION
    blast: BlastPolicy = STANDARD_BLAST
    tidy: TidyPolicy = STANDARD_TIDY
    model_number: int = 0
    model_since: int = 0


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
    | RowsImported
    | Reembedded
)


@dataclass(frozen=True, slots=True)
class Applied:
    """What `Engine.apply` answers.

    `revision` is the collection's after the operation; a refused Remember does not
    raise it. `replayed`: these are the results of the first time.
    """

    operation_id: str
    revision: int
    results: tuple[Result, ...]
    replayed: bool = False
