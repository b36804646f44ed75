"""Long-term memory that several agents share: the client.

    from totonoe import Client

    with Client(agent_id="planner") as client:
        client.remember("The staging database listens on port 5433.")

Importing this package loads nothing else: each name is fetched when it is first used. Names that
are rarely typed are in the package of their topic, for instance `totonoe.tidy.models`.

PYTEST_DONT_REWRITE: pytest would warn of this package if it is imported before pytest starts,
because the distribution has a plugin for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any
from warnings import warn

if TYPE_CHECKING:
    from totonoe.aio import AsyncClient
    from totonoe.call.retry import RetryPolicy
    from totonoe.client import Client
    from totonoe.collections.models import (
        BlastPolicy,
        DecayPolicy,
        GuardPolicy,
        RetentionPolicy,
        Stats,
        TidyPolicy,
    )
    from totonoe.enums import (
        Action,
        Kind,
        LinkType,
        Method,
        RecallMode,
        Source,
        StateKind,
        Status,
        Verdict,
    )
    from totonoe.errors import TotonoeError
    from totonoe.graph.models import Merged, Neighborhood
    from totonoe.history.models import Undone
    from totonoe.memories.drafts import Draft
    from totonoe.memories.models import (
        Checked,
        DiversityPolicy,
        Duplicate,
        Forgotten,
        Found,
        Hit,
        ItemResult,
        Judgement,
        Link,
        Linked,
        Memory,
        Page,
        Recalled,
        Remembered,
        Similar,
        TimeRange,
        TypedKey,
        Unlinked,
        Updated,
    )
    from totonoe.tidy.models import TidyUpdate
    from totonoe.watch.models import WatchEvent

    __version__: str

__all__ = [
    "Action",
    "AsyncClient",
    "BlastPolicy",
    "Checked",
    "Client",
    "DecayPolicy",
    "DiversityPolicy",
    "Draft",
    "Duplicate",
    "Forgotten",
    "Found",
    "GuardPolicy",
    "Hit",
    "ItemResult",
    "Judgement",
    "Kind",
    "Link",
    "LinkType",
    "Linked",
    "Memory",
    "Merged",
    "Method",
    "Neighborhood",
    "Page",
    "RecallMode",
    "Recalled",
    "Remembered",
    "RetentionPolicy",
    "RetryPolicy",
    "Similar",
    "Source",
    "StateKind",
    "Stats",
    "Status",
    "TidyPolicy",
    "TidyUpdate",
    "TimeRange",
    "TotonoeError",
    "TypedKey",
    "Undone",
    "Unlinked",
    "Updated",
    "Verdict",
    "WatchEvent",
    "__version__",
]

_MODULES = {
    "aio": "AsyncClient",
    "call.retry": "RetryPolicy",
    "client": "Client",
    "collections.models": "BlastPolicy DecayPolicy GuardPolicy RetentionPolicy Stats TidyPolicy",
    "enums": "Action Kind LinkType Method RecallMode Source StateKind Status Verdict",
    "errors": "TotonoeError",
    "graph.models": "Merged Neighborhood",
    "history.models": "Undone",
    "memories.drafts": "Draft",
    "memories.models": (
        "Checked DiversityPolicy Duplicate Forgotten Found Hit ItemResult Judgement Link Linked "
        "Memory Page Recalled Remembered Similar TimeRange TypedKey Unlinked Updated"
    ),
    "tidy.models": "TidyUpdate",
    "watch.models": "WatchEvent",
}

_MOVED = {
    "audit.models": (
        "AgentWrites ArmStanding Audit Dismissed NearPair Undismissed UnmetCondition WhyNot"
    ),
    "cleanup.models": (
        "BlastRadius CleanedUp DecayReport Decayed FadedMemory MemoryGroup ReplacedMemory "
        "SessionEnded Survival"
    ),
    "collections.models": (
        "Calibrated Calibration CheckpointStats ClassFigures CollectionChange CollectionDeleted "
        "CollectionInfo CollectionPage CollectionStats Comparison CurvePoint EmbeddingModel "
        "LearnedBounds OpenCollections PresetOutcome ReembedStats SnapshotStats TidyStats "
        "VerifyStats"
    ),
    "consolidate.models": (
        "ConsolidateEvent ConsolidateProgress Consolidated MergeCandidate MergeCluster"
    ),
    "enums": (
        "ChangeType DiversityEffect Finding GroupBy KeepReason Measure Preset ReembedPhase "
        "SnapshotUse TidyFate TidyOp TidyPhase Tokenizer UndoConflictKind WhyNotOutcome"
    ),
    "graph.models": (
        "Episode EpisodeDeleted EpisodeMade EpisodePage EpisodeRead LostDetail Neighbor"
    ),
    "history.models": "HistoryPage Operation OperationPage Purged UndoConflict Version",
    "memories.models": "Evidence ForgottenMatch LayerReport OutdatedMatch",
    "reembed.models": "ReembedCancelled ReembedEvent ReembedProgress Reembedded",
    "snapshots.models": (
        "HoldingSnapshot ReplacedCollection Snapshot SnapshotCreated SnapshotDeleted SnapshotPage "
        "SnapshotRestored"
    ),
    "tidy.models": (
        "PlanApplied TidyCluster TidyDone TidyDoubles TidyEvent TidyMember TidyOutcome TidyPair "
        "TidyProgress TurnRecorded"
    ),
    "transfer.models": "ExportProgress ImportHeader ImportItem Imported",
    "watch.models": "Change LinkChange MemoryChange",
}
"""Where names are that were here in version 0.1. They go in version 0.2."""

_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}
_NEW_HOME = {name: module for module, names in _MOVED.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Fetches a public name from its module on first use."""
    if name in _NEW_HOME:
        place = f"totonoe.{_NEW_HOME[name]}"
        warn(f"totonoe.{name} has moved: import it from {place}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(place), name)
    if name == "__version__":
        value: Any = _installed_version()
    elif name in _HOME:
        value = getattr(import_module(f"totonoe.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'totonoe' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _installed_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("totonoe")
    except PackageNotFoundError:
        # Run from a checkout that is on the path but was never installed.
        return "0+unknown"
