"""Turns of callers in a shared queue (writer, embedder): the flow that the current call belongs to.

A server sets the turn while it hands a call over. Both keys of it are opaque.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Turn = tuple[str, str]
"""Peer, and flow of that peer. Calls of one flow keep their order."""

TURN: ContextVar[Turn] = ContextVar("turn", default=("", ""))
"""Flow of the current call. The default is the flow of the engine's own work."""


@contextmanager
def taking(turn: Turn) -> Iterator[None]:
    """Run a `with` block in another flow than the current one."""
    before = TURN.set(turn)
    try:
        yield
    finally:
        TURN.reset(before)
