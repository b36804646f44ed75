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
        Calibrated,
        Calibration,
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
        PresetOutcome,
        Stats,
    )
    from totonoe.aio import AsyncClient
    from totonoe.client import Client
    from totonoe.drafts import Draft
    from totonoe.enums import (
        Action,
        DiversityEffect,
        Finding,
        Kind,
        LinkType,
        Method,
        Preset,
        RecallMode,
        StateKind,
        Status,
        Tokenizer,
        Verdict,
    )
    from totonoe.errors import TotonoeError
    from totonoe.models import (
        Checked,
        Duplicate,
        Evidence,
        Forgotten,
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
    from totonoe.retry import RetryPolicy

    __version__: str

__all__ = [
    "Action",
    "AsyncClient",
    "Calibrated",
    "Calibration",
    "Checked",
    "ClassFigures",
    "Client",
    "CollectionChange",
    "CollectionDeleted",
    "CollectionInfo",
    "CollectionPage",
    "CollectionStats",
    "Comparison",
    "CurvePoint",
    "DecayPolicy",
    "DiversityEffect",
    "DiversityPolicy",
    "Draft",
    "Duplicate",
    "EmbeddingModel",
    "Evidence",
    "Finding",
    "Forgotten",
    "Found",
    "GuardPolicy",
    "Hit",
    "ItemResult",
    "Judgement",
    "Kind",
    "LayerReport",
    "Link",
    "LinkType",
    "Linked",
    "Memory",
    "Method",
    "Page",
    "Preset",
    "PresetOutcome",
    "RecallMode",
    "Recalled",
    "Remembered",
    "RetryPolicy",
    "Similar",
    "StateKind",
    "Stats",
    "Status",
    "TimeRange",
    "Tokenizer",
    "TotonoeError",
    "TypedKey",
    "Unlinked",
    "Updated",
    "Verdict",
    "__version__",
]

_ROOMS = {
    "admin_models": (
        "Calibrated Calibration ClassFigures CollectionChange CollectionDeleted CollectionInfo "
        "CollectionPage CollectionStats Comparison CurvePoint DecayPolicy DiversityPolicy "
        "EmbeddingModel GuardPolicy PresetOutcome Stats"
    ),
    "aio": "AsyncClient",
    "client": "Client",
    "drafts": "Draft",
    "enums": (
        "Action DiversityEffect Finding Kind LinkType Method Preset RecallMode StateKind Status "
        "Tokenizer Verdict"
    ),
    "errors": "TotonoeError",
    "models": (
        "Checked Duplicate Evidence Forgotten Found Hit ItemResult Judgement LayerReport Link "
        "Linked Memory Page Recalled Remembered Similar TimeRange TypedKey Unlinked Updated"
    ),
    "retry": "RetryPolicy",
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
