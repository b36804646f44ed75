"""Lines that answers of several topics have in common."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from totonoe.cli.printing import line, lines
from totonoe.cli.stepping import again, step
from totonoe.words.parts import evidence
from totonoe.words.text import clean, existing

if TYPE_CHECKING:
    from totonoe.memories.models import Duplicate, Evidence, Judgement, LayerReport


def repeated(duplicate: Duplicate) -> None:
    """Print the memory that says the same, and the evidence."""
    lines(*existing(duplicate))
    line(f"Method: {duplicate.method}")
    judgement(duplicate.judgement)
    if duplicate.pending:
        answer_review(duplicate.memory_id)


def judgement(
    judgement: Judgement | None,
    indent: str = "",
    only: tuple[str, str] = ("only here", "only there"),
    title: str = "Verdict",
) -> None:
    """Print the verdict, and one line for each piece of evidence, with its weight if it has one.

    Parameters
    ----------
    only : (str, str)
        What to say of words that only the new text has, and only the memory.
    title : str
        What to call the verdict.
    """
    if judgement is None:
        return
    line(f"{indent}{title}: {judgement.verdict} ({judgement.same_probability:.2f} same)")
    shown: dict[str, str] = {}
    for item in judgement.evidence:
        shown.setdefault(evidence(item, only), weight(item))
    for words, moved in shown.items():
        line(f"{indent}- {words}{moved}")


def weight(line: Evidence) -> str:
    """Return how far a finding moves the probability: " (-0.99)"; empty: it is not known."""
    return "" if line.weight is None else f" ({line.weight:+.2f})"


def not_read(layers: Sequence[LayerReport]) -> None:
    """Print the layers that could not read all near memories."""
    for report in layers:
        if report.unread_count:
            count = (
                f"{report.unread_count} near {'memory' if report.unread_count == 1 else 'memories'}"
            )
            line(f"Layer {report.layer}: {count} too long to be compared to the end.")


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
        line(f"More with: {again(page_token=next_page_token)}")


def answer_with(memory_id: str, other_id: str) -> None:
    """Print how to answer the question about two memories."""
    line(f"Answer with: {step('resolve', memory_id, other_id, 'same')}")
    line("In place of same: different, replaces (the first takes the other's place), replaced_by")


def answer_replaces(memory_id: str, other_id: str) -> None:
    """Print how to say whether a memory takes the place of another."""
    line(f"If so: {step('resolve', memory_id, other_id, 'replaces')}")
    line(f"If both are true: {step('resolve', memory_id, other_id, 'different')}")


def answer_review(memory_id: str) -> None:
    """Print how to confirm or reject a memory that waits for a review."""
    line(f"Confirm it with: {step('review', memory_id, 'confirm')}")
    line(f"Reject it with: {step('review', memory_id, 'reject')}")


def not_found(missing_ids: Sequence[str]) -> None:
    """Print missing ids on standard error."""
    for missing_id in missing_ids:
        sys.stderr.write(f"Memory not found: {clean(missing_id)}\n")
