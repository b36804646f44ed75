"""Advice in answers: what an agent does next, and questions that it may ask itself.

The one place of these texts: clients in every language show them as they are. The questions are
those of docs/sources.md, 000 and 001; a host asks for them, since they also invite an agent to
write more.
"""

from __future__ import annotations

from typing import NamedTuple

from totonoe_core.domain.memories import Checked, Remembered, Updated
from totonoe_core.domain.records import Duplicate

ASKED = "Same, different, or does it replace it?"
WOULD_ASK = f"If you save it, you will be asked: {ASKED[0].lower()}{ASKED[1:]}"
CONNECTIONS = "Do any of these connections surprise you? Is there a pattern forming?"
REPETITION = (
    "If this is a meaningful update, use recall to review the existing memory "
    "and consider whether the new perspective adds value.\n"
    "Is there truly something new here, or is this a repetition?\n"
    "If your understanding has deepened, try expressing what changed specifically."
)
_PRESERVE = (
    "Was there anything worth preserving in a new form?\n"
    "If this was part of a merge, save the consolidated version with remember."
)
FORGOT_ONE = f"This memory is gone. {_PRESERVE}"
FORGOT_SEVERAL = f"These memories are gone. {_PRESERVE}"
NOT_FOUND = "Double-check the ID. Use recall to search for the memory you're looking for."
PAIRS = "Answer each pair with resolve: same, different, replaces or replaced_by."
REVIEW_PAIRS = (
    "Review each pair with recall. If one is redundant, use forget to remove it.\n"
    "If both have value, consider which perspective to keep."
)


class Advice(NamedTuple):
    """Texts of an answer; `scaffold` is shown in place of `advice` where a host asks for questions.

    An empty `scaffold` means that `advice` holds there too.
    """

    advice: str = ""
    scaffold: str = ""


def after_save(
    duplicate: Duplicate | None, connected: bool, asked: bool, dry: bool = False
) -> Advice:
    """Return the advice after a text was saved or refused.

    Parameters
    ----------
    duplicate : Duplicate or None
        The live memory that says the same, if one refused it.
    connected : bool
        The answer names links or similar memories.
    asked : bool
        The answer ends with a question.
    dry : bool
        The text was only checked: there is no memory yet that the question could be about.
    """
    if duplicate is not None:
        return Advice(f"Nothing to do: {duplicate.memory_id} says it already.", REPETITION)
    question = (WOULD_ASK if dry else ASKED) if asked else ""
    return Advice(question, f"{CONNECTIONS}\n{question}".rstrip() if connected else "")


def after_remember(result: Remembered) -> Advice:
    """Return the advice after a Remember."""
    report = result.guard
    return after_save(
        None if result.saved else report.duplicate,
        connected=result.saved and bool(result.links or report.similar),
        asked=report.question is not None,
    )


def after_check(value: Checked) -> Advice:
    """Return the advice after a Check."""
    report = value.guard
    return after_save(
        None if value.would_save else report.duplicate,
        connected=value.would_save and bool(report.similar),
        asked=report.question is not None,
        dry=True,
    )


def after_update(result: Updated) -> Advice:
    """Return the advice after a change of a memory."""
    report = result.guard
    if report is None:
        return Advice()
    duplicate = None if result.updated else report.duplicate
    return after_save(duplicate, connected=False, asked=report.question is not None)


def after_forget(count: int) -> str:
    """Return the questions after so many memories were forgotten. There is no other advice."""
    if not count:
        return ""
    return FORGOT_ONE if count == 1 else FORGOT_SEVERAL


def of_error(reason: str, details: dict[str, str]) -> str:
    """Return the advice in the details of an error; empty: there is none."""
    malformed = reason == "BAD_NAME" and details.get("allowed", "").startswith("mem_")
    if reason == "MEMORY_NOT_FOUND" or malformed:
        return NOT_FOUND
    if reason == "NOT_ACTIVE" and (successor := details.get("superseded_by")):
        return f"Use {successor}: it took the place of {details['memory_id']}."
    if reason == "NOT_ACTIVE" and details.get("status") == "pending":
        return "It waits for a review: a person has to confirm it first."
    return ""
