"""Lines that answers of several topics have in common."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from totonoe.cli.printing import line
from totonoe.cli.text import clean, shown_similarity
from totonoe.memories.models import Duplicate, Judgement, LayerReport, Link


def counted(count: int, one: str, several: str = "") -> str:
    """Return a number of things: "1 memory", "2 memories"."""
    return f"{count} {one if count == 1 else several or one + 's'}"


UPDATE_HINT = (
    "If this is a meaningful update, use recall to review the existing memory "
    "and consider whether the new perspective adds value."
)


def repeated(duplicate: Duplicate) -> None:
    """Print the memory that says the same, and the evidence."""
    line(f"Existing (id: {duplicate.memory_id}, {duplicate.age}): {duplicate.snippet}")
    line(f"Similarity: {shown_similarity(duplicate.similarity)}")
    line(f"Method: {duplicate.method}")
    judgement(duplicate.judgement)
    line(UPDATE_HINT)


def judgement(found: Judgement | None, indent: str = "") -> None:
    """Print the verdict, and one line for each piece of evidence."""
    if found is None:
        return
    line(f"{indent}Verdict: {found.verdict} ({found.same_probability:.2f} same)")
    for one in found.evidence:
        own, other = one.own_text, one.other_text
        both = f"{own!r} against {other!r}" if own and other else repr(own or other)
        line(f"{indent}- {one.finding}" + (f": {both}" if own or other else ""))


def not_read(layers: Sequence[LayerReport]) -> None:
    """Print the layers that could not read all near memories."""
    for one in layers:
        if one.unread_count:
            count = f"{one.unread_count} near {'memory' if one.unread_count == 1 else 'memories'}"
            line(f"Layer {one.layer}: {count} too long to be compared to the end.")


def replay(replayed: bool) -> None:
    """Print that an earlier answer is repeated, if it is."""
    if replayed:
        line("This operation id was used before: its first answer again, nothing was done now.")


def as_of(revision: int) -> None:
    """Print the revision that was read, if it was an earlier one."""
    if revision:
        line(f"As of revision {revision}.")


def more(next_page_token: str) -> None:
    """Print how to get the next page, if there is one."""
    if next_page_token:
        line(f"More with: --page-token {next_page_token}")


def shown_value(value: object) -> str:
    """Return a field of a memory in JSON as text."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def not_found(missing_ids: Sequence[str]) -> None:
    """Print missing ids on standard error."""
    for missing_id in missing_ids:
        sys.stderr.write(f"Memory not found: {clean(missing_id)}\n")


def shown_link(link: Link) -> str:
    """Return one direction of a link as text."""
    note = f": {link.note}" if link.note else ""
    return f"{link.type} {link.target_id} (confidence {link.confidence:.2f}){note}"
