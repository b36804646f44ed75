"""Answers about pairs that may say the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from totonoe.cli.printing import console, line, lines
from totonoe.cli.show.parts import judgement
from totonoe.cli.stepping import again, step
from totonoe.enums import Finding, KeepReason
from totonoe.words.parts import counted
from totonoe.words.text import age, clean, shown_similarity

if TYPE_CHECKING:
    from totonoe.consolidate.models import Consolidated, MergeCandidate
    from totonoe.memories.models import Judgement, Memory

_WHY = {
    KeepReason.MORE_DETAIL: "says more",
    KeepReason.CONFIDENCE: "higher confidence",
    KeepReason.ACCESS_COUNT: "recalled more often",
    KeepReason.NEWER: "newer",
    KeepReason.ID: "first by id",
    KeepReason.SOURCE: "more trusted source",
}
_UNMARKED = frozenset(
    {Finding.SAME_TEXT, Finding.SAME_WORDS, Finding.SAME_CONTENT, Finding.SYNONYM, Finding.JUDGE}
)
_ENDS = " \t\r\n.!?。！？"
_DIFFERENT = "bold yellow"


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
        line(f"Take its links back with: {step('undo', done.operation_revision)}")
    line(
        f"Compared {counted(done.memory_count, 'memory', 'memories')}. "
        f"Next time, only what changed: {again(since=str(done.revision), resume=False)}"
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
    more = f", of {done.pair_count} that are near" if done.pair_count > len(kept) else ""
    line()
    line(f"Found {counted(len(kept), 'near-duplicate pair')}{more}:")
    for candidate in kept:
        pair(candidate)
    if done.advice:
        lines("", *done.advice.splitlines())


def pair(candidate: MergeCandidate) -> None:
    """Print two memories, the verdict of the later one, and the one to keep."""
    line(
        f"- {candidate.memory_a_id} <-> {candidate.memory_b_id} "
        f"(similarity: {shown_similarity(candidate.similarity)})"
    )
    line(f"  A: {candidate.snippet_a}")
    line(f"  B: {candidate.snippet_b}")
    judgement(candidate.judgement, indent="  ")
    why = _WHY.get(candidate.keep_because, "")
    line(f"  Keep: {candidate.keep_id}{f' ({why})' if why else ''}")


def asked(a: Memory, b: Memory, found: Judgement | None) -> None:
    """Print both texts with what differs in them marked, then the judgement of the later one."""
    evidence = () if found is None else found.evidence
    differing = [difference for difference in evidence if difference.finding not in _UNMARKED]
    for name, memory, spans in (
        ("A", a, [difference.other for difference in differing]),
        ("B", b, [difference.own for difference in differing]),
    ):
        line(f"{name}: {memory.id}, {age(memory.created_time)}")
        screen = console()
        coloured = screen.color_system is not None and not screen.no_color
        screen.print(marked(memory.content, spans, coloured), soft_wrap=True)
    judgement(found, only=("only in B", "only in A"))


def marked(text: str, spans: Iterable[tuple[int, int] | None], coloured: bool) -> Text:
    """Return a text, indented, whose differing stretches have a colour, or else brackets.

    Parameters
    ----------
    spans : iterable of (int, int) or None
        Start and end in characters. One that is the whole text marks nothing.
    """
    shown = Text("    ")
    at = 0
    for start, end in _merged(spans, text):
        shown.append(_shown(text[at:start]))
        different = _shown(text[start:end])
        shown.append(*((different, _DIFFERENT) if coloured else (f"[{different}]",)))
        at = end
    return shown.append(_shown(text[at:]))


def _shown(text: str) -> str:
    return clean(text).replace("\n", "\n    ")


def _merged(spans: Iterable[tuple[int, int] | None], text: str) -> Iterator[tuple[int, int]]:
    """Yield stretches in order that touch no other one; none that is the whole text."""
    whole = text.strip(_ENDS)
    kept: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span is not None):
        end = min(end, len(text))
        if start >= end or text[start:end].strip(_ENDS) == whole:
            continue
        if kept and start <= kept[-1][1]:
            kept[-1] = kept[-1][0], max(end, kept[-1][1])
        else:
            kept.append((start, end))
    yield from kept
