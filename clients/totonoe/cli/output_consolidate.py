"""What a consolidation found, for people."""

from __future__ import annotations

from rich.text import Text

from totonoe.cli.output import judgement, line
from totonoe.cli.output_graph import counted
from totonoe.cli.text import clean, shown_similarity
from totonoe.consolidate_models import Consolidated, MergeCandidate
from totonoe.enums import KeepReason

_WHY = {
    KeepReason.MORE_DETAIL: "says more",
    KeepReason.CONFIDENCE: "higher confidence",
    KeepReason.ACCESS_COUNT: "recalled more often",
    KeepReason.NEWER: "newer",
    KeepReason.ID: "first by id",
}
ADVICE = (
    "Review each pair with recall. If one is redundant, use forget to remove it.\n"
    "If both have value, consider which perspective to keep."
)


def found(candidate: MergeCandidate) -> Text:
    """One line for a pair that was just found."""
    verdict = "" if candidate.judgement is None else f" {candidate.judgement.verdict}"
    return Text(
        clean(
            f"{shown_similarity(candidate.similarity)}{verdict}  "
            f"{candidate.snippet_a}  <->  {candidate.snippet_b}"
        ),
        overflow="ellipsis",
        no_wrap=True,
    )


def figures(done: Consolidated) -> None:
    """What the first phase did, and how much was compared."""
    line(
        f"Consolidation complete. Replayed {counted(done.replay_events, 'event')}, "
        f"updated {counted(done.coactivation_updates, 'co-activation')}, "
        f"made or raised {counted(done.link_updates, 'link')}, "
        f"refreshed {counted(done.refreshed_memories, 'memory', 'memories')}."
    )
    if done.operation_revision:
        line(f"Take its links back with: totonoe undo {done.operation_revision}")
    line(
        f"Compared {counted(done.memory_count, 'memory', 'memories')}; "
        f"next time, only what changed: --since {done.revision}"
    )
    if not done.merge_candidates:
        line("No near-duplicate pairs.")


def pairs(done: Consolidated) -> None:
    """The kept pairs, and what to do with them."""
    kept = done.merge_candidates
    if not kept:
        return
    more = f" (of {done.pair_count} in all)" if done.pair_count > len(kept) else ""
    line()
    line(f"Found {len(kept)} near-duplicate pair(s):{more}")
    for one in kept:
        pair(one)
    line()
    line(ADVICE)


def pair(one: MergeCandidate) -> None:
    """Two memories, what the later one is to the first, and which to keep."""
    line(
        f"- {one.memory_a_id} <-> {one.memory_b_id} "
        f"(similarity: {shown_similarity(one.similarity)})"
    )
    line(f"  A: {one.snippet_a}")
    line(f"  B: {one.snippet_b}")
    judgement(one.judgement, indent="  ")
    why = _WHY.get(one.keep_because, "")
    line(f"  Keep: {one.keep_id}{f' ({why})' if why else ''}")
