"""Answers about pairs that may say the same."""

from __future__ import annotations

from rich.text import Text

from totonoe.cli.printing import line, lines
from totonoe.cli.show.parts import counted, judgement
from totonoe.cli.text import clean, shown_similarity
from totonoe.consolidate.models import Consolidated, MergeCandidate
from totonoe.enums import KeepReason

_WHY = {
    KeepReason.MORE_DETAIL: "says more",
    KeepReason.CONFIDENCE: "higher confidence",
    KeepReason.ACCESS_COUNT: "recalled more often",
    KeepReason.NEWER: "newer",
    KeepReason.ID: "first by id",
}
ADVICE = (
    "Review each pair with recall. If one is redundant, use forget to remove it.",
    "If both have value, consider which perspective to keep.",
)


def found(candidate: MergeCandidate) -> Text:
    """Return one line for a new pair."""
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
    """Print the result of the first phase, and the number of comparisons."""
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
    if done.scored_count:
        line(
            f"Compared {counted(done.scored_count, 'memory', 'memories')} that no save had "
            f"compared: {counted(done.likely_link_count, 'question')}, "
            f"{done.unscored_count} left for the next run."
        )
    if not done.merge_candidates:
        line("No near-duplicate pairs.")


def pairs(done: Consolidated) -> None:
    """Print the kept pairs, and the next steps."""
    kept = done.merge_candidates
    if not kept:
        return
    more = f" (of {done.pair_count} in all)" if done.pair_count > len(kept) else ""
    line()
    line(f"Found {len(kept)} near-duplicate pair(s):{more}")
    for one in kept:
        pair(one)
    line()
    lines(*ADVICE)


def pair(one: MergeCandidate) -> None:
    """Print two memories, the verdict of the later one, and the one to keep."""
    line(
        f"- {one.memory_a_id} <-> {one.memory_b_id} "
        f"(similarity: {shown_similarity(one.similarity)})"
    )
    line(f"  A: {one.snippet_a}")
    line(f"  B: {one.snippet_b}")
    judgement(one.judgement, indent="  ")
    why = _WHY.get(one.keep_because, "")
    line(f"  Keep: {one.keep_id}{f' ({why})' if why else ''}")
