"""Caches of the process that hold words of texts. Emptied after a purge."""

from __future__ import annotations

from totonoe_core.engine.state import known
from totonoe_core.guard import verdict
from totonoe_core.store import rows
from totonoe_core.text import tokens
from totonoe_core.text.reading import read


def forget_cached() -> None:
    """Empty the caches; they refill by themselves."""
    read.forget_cached()
    tokens.forget_cached()
    verdict.forget_cached()
    known.forget_cached()
    rows.forget_cached()
