"""Texts of other agents, made fit for a terminal."""

from __future__ import annotations

import re
from datetime import UTC, datetime

SNIPPET_CHARS = 120

# Control characters but for tab and line feed, C1 included, and the marks that turn the
# direction of writing: a stored text must not steer the terminal that shows it.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_UNITS = ((365 * 86400, "y"), (86400, "d"), (3600, "h"), (60, "m"))


def clean(text: str) -> str:
    """The text with control characters replaced by a visible mark."""
    return _CONTROL.sub("\ufffd", text)


def snippet(text: str) -> str:
    """At most 120 code points on one line, white space folded, with an ellipsis if cut."""
    folded = clean(" ".join(text.split()))
    return folded if len(folded) <= SNIPPET_CHARS else folded[: SNIPPET_CHARS - 1] + "…"


def age(then: datetime, now: datetime | None = None) -> str:
    """Age as people read it: "just now", "5m ago", "3h ago", "3d ago", "2y ago"."""
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    for unit_s, suffix in _UNITS:
        if seconds >= unit_s:
            return f"{int(seconds // unit_s)}{suffix} ago"
    return "just now"


def shown_similarity(similarity: float) -> str:
    """A similarity with two digits, clamped to 0..1 as it is shown and nowhere else."""
    return f"{min(1.0, max(0.0, similarity)):.2f}"
