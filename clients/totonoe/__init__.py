"""Long-term memory that several agents share: the client.

    from totonoe import Client

    with Client(agent_id="planner") as client:
        client.remember("The staging database listens on port 5433.")

Importing this package loads nothing else: each name is fetched when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from totonoe.admin_models import (
        BlastPolicy,
        Calibrated,
        Calibration,
        CheckpointStats,
        ClassFigures,
        CollectionChange,
        CollectionDeleted,
        CollectionInfo,
        CollectionPage,
        CollectionStats,
        Comparison,
        CurvePoint,
        DecayPolicy,
        DiversityPolicy,
        EmbeddingModel,
        GuardPolicy,
        OpenCollections,
        PresetOutcome,
        ReembedStats,
        RetentionPolicy,
        SnapshotStats,
        Stats,
        TidyPolicy,
        TidyStats,
        VerifyStats,
    )
    from totonoe.aio import AsyncClient
    from totonoe.audit_models import (
        AgentWrites,
        ArmStanding,
        Audit,
        Dismissed,
        NearPair,
        Undismissed,
        UnmetCondition,
        WhyNot,
    )
    from totonoe.cleanup_models import (
        BlastRadius,
        CleanedUp,
        Decayed,
        DecayReport,
        FadedMemory,
        MemoryGroup,
        ReplacedMemory,
        SessionEnded,
        Survival,
    )
    from totonoe.client import Client
    from totonoe.consolidate_models import (
        Consolidated,
        ConsolidateEvent,
        ConsolidateProgress,
        MergeCandidate,
        MergeCluster,
    )
    from totonoe.drafts import Draft
    from totonoe.enums import (
        Action,
        ChangeType,
        DiversityEffect,
        Finding,
        GroupBy,
        KeepReason,
        Kind,
        LinkType,
        Measure,
        Method,
        Preset,
        RecallMode,
        ReembedPhase,
        SnapshotUse,
        StateKind,
        Status,
        TidyFate,
        TidyOp,
        TidyPhase,
        Tokenizer,
        UndoConflictKind,
        Verdict,
        WhyNotOutcome,
    )
    from totonoe.errors import TotonoeError
    from totonoe.graph_models import (
        Episode,
        EpisodeDeleted,
        EpisodeMade,
        EpisodePage,
        EpisodeRead,
        LostDetail,
        Merged,
        Neighbor,
        Neighborhood,
    )
    from totonoe.history_models import (
        HistoryPage,
        Operation,
        OperationPage,
        Purged,
        UndoConflict,
        Undone,
        Version,
    )
    from totonoe.models import (
        Checked,
        Duplicate,
        Evidence,
        Forgotten,
        ForgottenMatch,
        Found,
        Hit,
        ItemResult,
        Judgement,
        LayerReport,
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
    from totonoe.reembed_models import (
        ReembedCancelled,
        Reembedded,
        ReembedEvent,
        ReembedProgress,
    )
    from totonoe.retry import RetryPolicy
    from totonoe.snapshot_models import (
        HoldingSnapshot,
        ReplacedCollection,
        Snapshot,
        SnapshotCreated,
        SnapshotDeleted,
        SnapshotPage,
        SnapshotRestored,
    )
    from totonoe.tidy_models import (
        PlanApplied,
        TidyCluster,
        TidyDone,
        TidyDoubles,
        TidyEvent,
        TidyMember,
        TidyOutcome,
        TidyPair,
        TidyProgress,
        TidyUpdate,
        TurnRecorded,
    )
    from totonoe.transfer_models import ExportProgress, Imported, ImportHeader, ImportItem
    from totonoe.watch_models import Change, LinkChange, MemoryChange, WatchEvent

    __version__: str

__all__ = [
    "Action",
    "AgentWrites",
    "ArmStanding",
    "AsyncClient",
    "Audit",
    "BlastPolicy",
    "BlastRadius",
    "Calibrated",
    "Calibration",
    "Change",
    "ChangeType",
    "Checked",
    "CheckpointStats",
    "ClassFigures",
    "CleanedUp",
    "Client",
    "CollectionChange",
    "CollectionDeleted",
    "CollectionInfo",
    "CollectionPage",
    "CollectionStats",
    "Comparison",
    "ConsolidateEvent",
    "ConsolidateProgress",
    "Consolidated",
    "CurvePoint",
    "DecayPolicy",
    "DecayReport",
    "Decayed",
    "Dismissed",
    "DiversityEffect",
    "DiversityPolicy",
    "Draft",
    "Duplicate",
    "EmbeddingModel",
    "Episode",
    "EpisodeDeleted",
    "EpisodeMade",
    "EpisodePage",
    "EpisodeRead",
    "Evidence",
    "ExportProgress",
    "FadedMemory",
    "Finding",
    "Forgotten",
    "ForgottenMatch",
    "Found",
    "GroupBy",
    "GuardPolicy",
    "HistoryPage",
    "Hit",
    "HoldingSnapshot",
    "ImportHeader",
    "ImportItem",
    "Imported",
    "ItemResult",
    "Judgement",
    "KeepReason",
    "Kind",
    "LayerReport",
    "Link",
    "LinkChange",
    "LinkType",
    "Linked",
    "LostDetail",
    "Measure",
    "Memory",
    "MemoryChange",
    "MemoryGroup",
    "MergeCandidate",
    "MergeCluster",
    "Merged",
    "Method",
    "NearPair",
    "Neighbor",
    "Neighborhood",
    "OpenCollections",
    "Operation",
    "OperationPage",
    "Page",
    "PlanApplied",
    "Preset",
    "PresetOutcome",
    "Purged",
    "RecallMode",
    "Recalled",
    "ReembedCancelled",
    "ReembedEvent",
    "ReembedPhase",
    "ReembedProgress",
    "ReembedStats",
    "Reembedded",
    "Remembered",
    "ReplacedCollection",
    "ReplacedMemory",
    "RetentionPolicy",
    "RetryPolicy",
    "SessionEnded",
    "Similar",
    "Snapshot",
    "SnapshotCreated",
    "SnapshotDeleted",
    "SnapshotPage",
    "SnapshotRestored",
    "SnapshotStats",
    "SnapshotUse",
    "StateKind",
    "Stats",
    "Status",
    "Survival",
    "TidyCluster",
    "TidyDone",
    "TidyDoubles",
    "TidyEvent",
    "TidyFate",
    "TidyMember",
    "TidyOp",
    "TidyOutcome",
    "TidyPair",
    "TidyPhase",
    "TidyPolicy",
    "TidyProgress",
    "TidyStats",
    "TidyUpdate",
    "TimeRange",
    "Tokenizer",
    "TotonoeError",
    "TurnRecorded",
    "TypedKey",
    "Undismissed",
    "UndoConflict",
    "UndoConflictKind",
    "Undone",
    "Unlinked",
    "UnmetCondition",
    "Updated",
    "Verdict",
    "VerifyStats",
    "Version",
    "WatchEvent",
    "WhyNot",
    "WhyNotOutcome",
    "__version__",
]

_ROOMS = {
    "admin_models": (
        "BlastPolicy Calibrated Calibration CheckpointStats ClassFigures CollectionChange "
        "CollectionDeleted CollectionInfo CollectionPage CollectionStats Comparison CurvePoint "
        "DecayPolicy DiversityPolicy EmbeddingModel GuardPolicy OpenCollections PresetOutcome "
        "ReembedStats RetentionPolicy SnapshotStats Stats TidyPolicy TidyStats VerifyStats"
    ),
    "aio": "AsyncClient",
    "cleanup_models": (
        "BlastRadius CleanedUp DecayReport Decayed FadedMemory MemoryGroup ReplacedMemory "
        "SessionEnded Survival"
    ),
    "audit_models": (
        "AgentWrites ArmStanding Audit Dismissed NearPair Undismissed UnmetCondition WhyNot"
    ),
    "client": "Client",
    "reembed_models": "ReembedCancelled ReembedEvent ReembedProgress Reembedded",
    "consolidate_models": (
        "Consolidated ConsolidateEvent ConsolidateProgress MergeCandidate MergeCluster"
    ),
    "drafts": "Draft",
    "enums": (
        "Action ChangeType DiversityEffect Finding GroupBy KeepReason Kind LinkType Measure "
        "Method Preset RecallMode ReembedPhase SnapshotUse StateKind Status TidyFate TidyOp "
        "TidyPhase Tokenizer UndoConflictKind Verdict WhyNotOutcome"
    ),
    "errors": "TotonoeError",
    "graph_models": (
        "Episode EpisodeDeleted EpisodeMade EpisodePage EpisodeRead LostDetail Merged Neighbor "
        "Neighborhood"
    ),
    "history_models": "HistoryPage Operation OperationPage Purged UndoConflict Undone Version",
    "models": (
        "Checked Duplicate Evidence Forgotten ForgottenMatch Found Hit ItemResult Judgement "
        "LayerReport Link Linked Memory Page Recalled Remembered Similar TimeRange TypedKey "
        "Unlinked Updated"
    ),
    "retry": "RetryPolicy",
    "snapshot_models": (
        "HoldingSnapshot ReplacedCollection Snapshot SnapshotCreated SnapshotDeleted SnapshotPage "
        "SnapshotRestored"
    ),
    "tidy_models": (
        "PlanApplied TidyCluster TidyDone TidyDoubles TidyEvent TidyMember TidyOutcome TidyPair "
        "TidyProgress TidyUpdate TurnRecorded"
    ),
    "transfer_models": "ExportProgress Imported ImportHeader ImportItem",
    "watch_models": "Change LinkChange MemoryChange WatchEvent",
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Fetches a public name from its module on first use."""
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
