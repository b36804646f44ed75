"""The closed set of writes, as plain data, and what each answers.

An operation is a list of commands that `Engine.apply` carries out together or not at
all. Commands are compared decoded: two requests with equal commands are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from totonoe_core.guard.calibration import Calibration, Fitted
from totonoe_core.guard.policy import Action, DecayPolicy, DiversityPolicy, GuardPolicy
from totonoe_core.records import (
    Fields,
    GuardReport,
    Link,
    LinkType,
    Memory,
    ModelIdentity,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class Remember:
    """Save a memory unless the guard finds that a live one says the same.

    `vector` is float32 little-endian bytes as the caller gave them, or empty: then the
    text is embedded. `actions` stand in place of the collection's policy for this call.
    """

    agent_id: str
    content: str
    fields: Fields
    vector: bytes = b""
    force: bool = False
    actions: tuple[tuple[Verdict, Action], ...] = ()


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
    """Hide memories and take their links away on both sides."""

    agent_id: str
    ids: tuple[str, ...]
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
class ChangeSettings:
    """Change description or policies of the collection itself.

    `changes` holds pairs of path and value, applied in order. Paths are `description`
    and `guard.FIELD`, `diversity.FIELD`, `decay.FIELD` with the field names of the policy
    classes. `None` switches a guard threshold off and takes any other field back to its
    default (for guard fields: that of the preset). `guard.preset` sets every guard field.
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


Command = Remember | Update | Forget | LinkMemories | UnlinkMemories | ChangeSettings | Calibrate


@dataclass(frozen=True, slots=True)
class Remembered:
    """Answer to `Remember`. `memory_id` is the existing one's if it was not saved.

    `superseded_ids` are those that the new one took the place of.
    """

    saved: bool
    memory_id: str
    guard: GuardReport
    links: tuple[Link, ...] = ()
    superseded_ids: tuple[str, ...] = ()


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
class SettingsChanged:
    """Answer to `ChangeSettings`."""

    collection: CollectionInfo


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Answer to `Calibrate`."""

    fitted: Fitted


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """Settings of one collection."""

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


Result = Remembered | Updated | Forgotten | Linked | Unlinked | SettingsChanged | Calibrated


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
