"""A memory system as the stage sees it, so that anybody can add one.

`totonoe quality --stage --system MODULE:NAME` calls `NAME(embed)` and measures what it returns.
`bench/stage/hnsw_only.py` is the smallest example.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from totonoe_server.tools.quality.files import FileError

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Return unit vectors of texts by the daemon's embedder, float32[n, dim]."""


class Shown(NamedTuple):
    """A text that a system shows; `outdated` if it says that something newer replaces it."""

    text: str
    outdated: bool = False


class System(Protocol):
    """A memory that refuses what it has, and finds what it is asked for.

    Calls come one after the other. An exception ends the measurement.

    Attributes
    ----------
    name : str
        Of its rows in the tables.
    """

    name: str

    def clear(self) -> None:
        """Forget everything."""

    def remember(self, text: str) -> bool:
        """Save a text, and return whether it was saved; false if it says nothing new."""

    def recall(self, query: str, k: int) -> Sequence[Shown]:
        """Return at most `k` texts, as they were saved, best first."""

    def close(self) -> None:
        """End what was started."""


Make = Callable[[Embed], System]


def load(name: str) -> Make:
    """Return the function that `MODULE:NAME` names. Modules of the current directory count.

    Raises
    ------
    FileError
        There is no such module or function.
    """
    module, colon, function = name.partition(":")
    if not module or not colon or not function:
        raise FileError(f"--system {name}: must be MODULE:NAME")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found: Make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise FileError(f"--system {name}: {error}") from None
    return found
