"""Texts of other agents, made fit for a terminal."""

from __future__ import annotations

from datetime import UTC, datetime

from totonoe.memories.models import ForgottenMatch, OutdatedMatch
from totonoe.unprintable import STEERING, line_feeds

SNIPPET_CHARS = 120

_UNITS = ((365 * 86400, "y"), (86400, "d"), (3600, "h"), (60, "m"))


def clean(text: str) -> str:
    """Replace all characters that would control a terminal by a visible mark."""
    return STEERING.sub("\ufffd", line_feeds(text))


def snippet(text: str) -> str:
    """Cut to 120 code points on one line, white space folded, with an ellipsis if cut."""
    folded = clean(" ".join(text.split()))
    return folded if len(folded) <= SNIPPET_CHARS else folded[: SNIPPET_CHARS - 1] + "…"


def age(then: datetime, now: datetime | None = None) -> str:
    """Return an age as people read it: "just now", "5m ago", "3h ago", "3d ago", "2y ago"."""
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    for unit_s, suffix in _UNITS:
        if seconds >= unit_s:
            return f"{int(seconds // unit_s)}{suffix} ago"
    return "just now"


def shown_similarity(similarity: float) -> str:
    """Return a similarity with two digits, clamped to 0..1 for display only."""
    return f"{min(1.0, max(0.0, similarity)):.2f}"


def forgot_this(match: ForgottenMatch) -> str:
    """Return when, by whom and why a memory was forgotten."""
    by = f", by {match.agent_id}" if match.agent_id else ""
    why = f': "{match.reason}"' if match.reason else "."
    return f"You forgot this {match.age} ({match.memory_id}{by}){why}"


def says_again(match: OutdatedMatch) -> str:
    """Return which memory a text says again, and which one replaced that."""
    return f"It says again what {match.replaced_by_id} replaced ({match.memory_id}, {match.age})."
