"""Limits on how many memories one rule-based run may close or supersede.

Every rule-based run (clean-up, decay, tidy) checks them first. A run for exact doubles takes as
many as allowed, the oldest first, and goes on next time. All other runs stop before the first
change if they would take too many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from totonoe_core.base.errors import Quota
from totonoe_core.domain.policy import BlastPolicy

DAY_US = 86_400_000_000
OPERATION_KINDS = ("EndSession", "CleanUpDuplicates", "Decay", "Tidy", "ApplyTidyPlan")
"""Kinds of operations that close or supersede memories by a rule."""


@dataclass(frozen=True, slots=True)
class Blast:
    """Number of memories that a run would take, and the number that it may take."""

    closing: int
    today: int
    allowed: int

    @property
    def over(self) -> bool:
        """Return whether the run exceeds what a run or a day allows. An empty run never does."""
        return self.closing > 0 and self.closing + self.today > self.allowed

    def fitted(self) -> Blast:
        """Return the same run cut to the allowed number of memories; it stays `over` if that is
        none.
        """
        left = self.allowed - self.today
        return replace(self, closing=min(self.closing, left)) if left > 0 else self


def check(closing: int, total_live: int, today: int, policy: BlastPolicy) -> Blast:
    """Compare the size of a run with the limits of a policy.

    Parameters
    ----------
    closing : int
        Memories that the run would close or supersede.
    total_live : int
        Live memories of the collection before the run, including private ones.
    today : int
        Memories that runs of `OPERATION_KINDS` took in the 24 hours before. Memories that are live
        again do not count, nor those that a run changed but left live.
    """
    # Rounded down: the percentage is an upper bound.
    share = int(total_live * policy.percent / 100.0)
    return Blast(closing, today, max(policy.rows_min, share))


def refuse_over(blast: Blast, collection: str) -> None:
    """Raise `Quota` (BLAST_RADIUS) if a run on a collection takes too much."""
    if blast.over:
        raise Quota(
            "BLAST_RADIUS",
            f"{blast.closing} memories would go, {blast.today} went in the last 24 hours, and"
            f" {blast.allowed} a day may: nothing was changed. All may if blast.rows_min of"
            f" collection {collection!r} is {blast.closing + blast.today}",
            closing=blast.closing,
            today=blast.today,
            allowed=blast.allowed,
            collection=collection,
        )
