"""Texts of other agents, made fit for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from totonoe.enums import LinkType, Source
from totonoe.unprintable import STEERING, line_feeds

if TYPE_CHECKING:
    from totonoe.memories.models import (
        Duplicate,
        ForgottenMatch,
        Memory,
        OutdatedMatch,
        Remembered,
        Similar,
        TypedKey,
    )

T = TypeVar("T")

SNIPPET_CHARS = 120
NOT_SAVED = "Not saved — very similar memory already exists."
FORGOTTEN = "Not saved — it was forgotten, and this collection refuses what was forgotten."

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


def ending(then: datetime, now: datetime | None = None) -> str:
    """Return how long something lasts: "ends in 3.2 days", "has ended"."""
    days = (then - (now or datetime.now(UTC))).total_seconds() / 86_400
    return f"ends in {days:.1f} days" if days > 0 else "has ended"


def shown_similarity(similarity: float) -> str:
    """Return a similarity with two digits, clamped to 0..1 for display only."""
    return f"{min(1.0, max(0.0, similarity)):.2f}"


def forgot_this(match: ForgottenMatch) -> str:
    """Return when, by whom and why a memory was forgotten."""
    by = f", by {match.agent_id}" if match.agent_id else ""
    why = f': "{match.reason}"' if match.reason else "."
    return f"You forgot this {match.age} ({match.memory_id}{by}){why}"


def key_words(key: TypedKey) -> str:
    """Return a typed key as words: "user / favourite drink"."""
    return f"{key.subject} / {key.attribute}"


def keyed(memory: Memory) -> str:
    """Return the text of a memory behind its typed key, without which it may say nothing."""
    text = memory.content if memory.key is None else f"{key_words(memory.key)}: {memory.content}"
    return sourced(memory, text)


def sourced(memory: Memory | Duplicate | Similar, text: str) -> str:
    """Return a text of a memory behind its source: "[external] ...". The agent's has none."""
    return text if memory.source in (None, Source.AGENT) else f"[{memory.source}] {text}"


def against(
    updated_by: Iterable[T], contradicted_by: Iterable[T], outdated: Iterable[T]
) -> list[tuple[str, T]]:
    """Return what speaks against a hit, each with words that say how."""
    return [
        *(("may be updated by", item) for item in updated_by),
        *(("may be contradicted by", item) for item in contradicted_by),
        *(("may be outdated by", item) for item in outdated),
    ]


def says_again(match: OutdatedMatch) -> str:
    """Return which memory a text says again, and which one replaced that."""
    return f"It says again what {match.replaced_by_id} replaced ({match.memory_id}, {match.age})."


def saved_as(answer: Remembered) -> str:
    """Return under which id a text was saved, and to how many memories it was linked."""
    count = sum(link.type not in _ASKING for link in answer.links)
    linked = f" Linked to {count} existing {'memory' if count == 1 else 'memories'}."
    if answer.pending:
        return f"Saved (id: {answer.memory_id}). {WAITS}"
    if answer.grown_id:
        return f"Saved as the next version of {answer.grown_id}, which this scope had."
    return f"Saved (id: {answer.memory_id}).{linked if count else ''}"


WAITS = "It waits for a review: until somebody confirms it, nothing recalls it."
_ASKING = frozenset({LinkType.LIKELY_SAME, LinkType.MAY_REPLACE})
"""Links that a question is about."""


def existing(duplicate: Duplicate) -> tuple[str, str]:
    """Return two lines: the memory that says the same, and how similar it is."""
    return (
        f"{'Waits for a review' if duplicate.pending else 'Existing'} "
        f"(id: {duplicate.memory_id}, {duplicate.age}): " + sourced(duplicate, duplicate.snippet),
        f"Similarity: {shown_similarity(duplicate.similarity)}",
    )


def similarity_of(near: Similar) -> float:
    """Return the greater of both similarities."""
    return max(near.cosine_similarity, near.jaccard_similarity)


def related(near: Similar) -> str:
    """Return the line of a similar memory."""
    shown = shown_similarity(similarity_of(near))
    text = sourced(near, near.snippet)
    return f"- [{near.age}] {text} (id: {near.memory_id}, similarity: {shown})"


def probably_same(asked: Similar) -> str:
    """Return the question that ends an answer."""
    share = shown_similarity(asked.judgement.same_probability if asked.judgement else 0.0)
    return f"Probably the same as {asked.memory_id} ({share}): {asked.snippet}"


def nearest(shown: Similar) -> str:
    """Return the memory that an answer shows, where it asks nothing."""
    return f"Nearest: {shown.memory_id}, {shown.age}: '{shown.snippet}'."


def brief(memory: Memory) -> str:
    """Return id, age and snippet of a memory."""
    return f"(id: {memory.id}, {age(memory.created_time)}): {snippet(memory.content)}"


def felt(memory: Memory) -> str:
    """Return emotion, if there is one, and importance of a memory."""
    emotion = f"Emotion: {memory.emotion} | " if memory.emotion else ""
    return f"{emotion}Importance: {memory.importance}"
