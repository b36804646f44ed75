"""Models of the topics, each loaded when a call of its topic first needs it.

A client has the calls of all topics, and most processes use one or two. To make the frozen
dataclasses of the others would cost a call from the command line a third more.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from totonoe.audit import models as audit_models
    from totonoe.cleanup import models as cleanup_models
    from totonoe.collections import models as collections_models
    from totonoe.consolidate import models as consolidate_models
    from totonoe.graph import models as graph_models
    from totonoe.history import models as history_models
    from totonoe.questions import models as questions_models
    from totonoe.reembed import models as reembed_models
    from totonoe.snapshots import models as snapshots_models
    from totonoe.tidy import models as tidy_models
    from totonoe.tidy import plans as tidy_plans
    from totonoe.transfer import models as transfer_models
    from totonoe.transfer import transfers as transfer_transfers
    from totonoe.watch import models as watch_models
else:

    def __getattr__(name: str) -> LazyModule:
        """Return what stands in for a module: `tidy_plans` for `totonoe.tidy.plans`."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return LazyModule("totonoe." + name.replace("_", "."))


__all__ = [
    "audit_models",
    "cleanup_models",
    "collections_models",
    "consolidate_models",
    "graph_models",
    "history_models",
    "questions_models",
    "reembed_models",
    "snapshots_models",
    "tidy_models",
    "tidy_plans",
    "transfer_models",
    "transfer_transfers",
    "watch_models",
]


class LazyModule:
    """Stands in for a module, which is loaded at the first use of a name in it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Return what the module has under this name. Raises `AttributeError`, `ImportError`."""
        return getattr(import_module(self._name), name)
