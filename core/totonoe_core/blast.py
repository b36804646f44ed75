"""How much one run of something that the daemon proposes itself may take out of sight.

Whatever closes or supersedes memories by a rule (clean-up, decay, tidy) asks first, and stops
before the first change if it is too much (DESIGN.md §8).
"""

from __future__ import annotations

from dataclasses import dataclass

from totonoe_core.errors import Quota
from totonoe_core.guard.policy import BlastPolicy

DAY_US = 86_400_000_000
OPERATION_KINDS = ("EndSession", "CleanUpDuplicates", "Decay", "Tidy", "ApplyTidyPlan")
"""Kinds of operations that take memories by a rule."""


@dataclass(frozen=True, slots=True)
class Blast:
    """What a run would take, and what it may: numbers of memories."""

    closing: int
    today: int
    allowed: int

    @property
    def over(self) -> bool:
        """Whether it is more than a run or a day allows. Nothing at all never is."""
        return self.closing > 0 and self.closing + self.today > self.allowed


def check(closing: int, total_live: int, today: int, policy: BlastPolicy) -> Blast:
    """What a run would take beside what it may.

    Parameters
    ----------
    closing : int
        Memories that the run would close or supersede.
    total_live : int
        Live memories of the collection before it, whoever may see them.
    today : int
        Memories that runs of `OPERATION_KINDS` took in the 24 hours before and that are not live
        again: what was taken back does not count, nor what a run changed and left.
    """
    # Rounded down: p percent is a most.
    share = int(total_live * policy.percent / 100.0)
    return Blast(closing, today, max(policy.rows_min, share))


def refuse_over(blast: Blast) -> None:
    """Raises `Quota` (BLAST_RADIUS) for a run that takes too much."""
    if blast.over:
        raise Quota(
            "BLAST_RADIUS",
            f"{blast.closing} memories would go, {blast.today} went in the last 24 hours, and"
            f" {blast.allowed} a day may: nothing was changed",
            closing=blast.closing,
            today=blast.today,
            allowed=blast.allowed,
        )
