"""Load a topic's models when a call of the topic first needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands in for a module, which is loaded at the first use of a name in it.

    A client has the calls of all topics, and most processes use one or two. To make the frozen
    dataclasses of the others would take a fifth of what a call from the command line costs.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Return what the module has under this name. Raises `AttributeError`, `ImportError`."""
        return getattr(import_module(self._name), name)
