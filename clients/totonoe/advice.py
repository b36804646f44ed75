"""Advice that answers carry for an agent: questions to ask itself, and what to do next.

The one place of these texts. Answers of the client have them as `advice`, the command line prints
them and has them in `--json`, and the MCP server puts them below the data of an answer.
"""

from __future__ import annotations

UPDATE_HINT = (
    "If this is a meaningful update, use recall to review the existing memory "
    "and consider whether the new perspective adds value."
)
REPETITION = (
    "Is there truly something new here, or is this a repetition?\n"
    "If your understanding has deepened, try expressing what changed specifically."
)
CONNECTIONS = "Do any of these connections surprise you? Is there a pattern forming?"
ASKED = "Same, different, or does it replace it?"
_PRESERVE = (
    "Was there anything worth preserving in a new form?\n"
    "If this was part of a merge, save the consolidated version with remember."
)
FORGOT_ONE = f"This memory is gone. {_PRESERVE}"
FORGOT_SEVERAL = f"These memories are gone. {_PRESERVE}"
NOT_FOUND = "Double-check the ID. Use recall to search for the memory you're looking for."
REVIEW_PAIRS = (
    "Review each pair with recall. If one is redundant, use forget to remove it.\n"
    "If both have value, consider which perspective to keep."
)
INTROSPECT = (
    "Reflect on these in your own words. How do you feel right now?\n"
    "If this is a genuinely new insight, save with remember (category: introspection).\n"
    "If memory feels fragmented, run consolidate."
)


def after_remember(refused: bool, connected: bool, asked: bool) -> str:
    """Return the advice after a text was saved or refused; empty: there is none.

    Parameters
    ----------
    refused : bool
        A live memory says the same.
    connected : bool
        The answer names links or similar memories.
    asked : bool
        The answer ends with a question.
    """
    if refused:
        return REPETITION
    said = [CONNECTIONS] if connected else []
    return "\n".join([*said, *([ASKED] if asked else [])])


def after_forget(count: int) -> str:
    """Return the advice after so many memories were forgotten."""
    if not count:
        return ""
    return FORGOT_ONE if count == 1 else FORGOT_SEVERAL
